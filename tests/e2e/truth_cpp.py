"""The cases in C++: a function `scenario()`, called by main or by a script of node."""

from truth import leaking_library

HEAD = """
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#define APART __attribute__((noinline))
static volatile size_t used;
static void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
"""

MAIN = """
int main() { scenario(); return 0; }
"""

# The few declarations of Node-API that an addon needs (nodejs.org/api/n-api.html)
ADDON = """
extern "C" {
typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
static napi_value run(napi_env, napi_callback_info) { scenario(); return nullptr; }
__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value) {
    napi_value function;
    napi_create_function(env, "run", 3, run, nullptr, &function);
    return function;
}
}
"""


def copied(draw):
    size, base = draw.number(9_000_000, 30_000_000), draw.number(1_000_000, 4_000_000)
    return draw.case(HEAD, """
APART static void $a(int round) {
    std::vector<char> $b($n, char(round));
    std::vector<char> $c($b);
    nap(150);
    used = used + $b.size() + $c.size();
}
APART static std::vector<char> $d() { return std::vector<char>($m, 'x'); }
static void scenario() { auto keep = $d(); nap(400); $a(1); nap(450); used = used + keep.size(); }
""", ("peak",), {"bytes": 2 * size, "equal_size": size, "equal_blocks": 2},
        ("2 blocks of exactly", "it lasted", "without it"), n=size, m=base)


def doubled(draw):
    count = draw.number(1_100_000, 6_000_000)
    capacities = [1]
    while capacities[-1] < count:
        capacities.append(capacities[-1] * 2)
    return draw.case(HEAD, """
struct $b { std::vector<uint32_t> items; APART void $a(size_t n); };
APART void $b::$a(size_t n) { for (size_t i = 0; i < n; i++) { items.push_back(uint32_t(i)); } }
static void scenario() {
    nap(300);
    { $b all; all.$a($n); nap(200); used = used + all.items.size(); }
    nap(300);
}
""", ("peak",), {"bytes": 4 * (capacities[-1] + capacities[-2]),
                 "saved_allocations": len(capacities) - 1, "saved_bytes": 4 * sum(capacities[:-1])},
        ("grew by doubling",), function="$b::$a", n=count)


def bounded_cache(draw):
    size, limit = draw.number(4_000, 9_000), draw.number(400, 800)
    return draw.case(HEAD, """
struct $b { std::deque<std::unique_ptr<char[]>> items; };
APART static void $a($b &cache) {
    cache.items.push_back(std::unique_ptr<char[]>(new char[$n]));
    memset(cache.items.back().get(), 1, $n);
    if (cache.items.size() > $m) { cache.items.pop_front(); }
}
APART static void $c($b &cache) { for (int i = 0; i < 5; i++) { $a(cache); } nap(2); }
static void scenario() { $b cache; for (int i = 0; i < $m / 2; i++) { $c(cache); } }
""", ("stopped-growing",), {"bytes": size * (limit + 1)}, ("stopped growing at", "<- $c()"),
        n=size, m=limit)


def unbounded_log(draw):
    size, lines = draw.number(1_000, 4_000), draw.number(500, 900)
    return draw.case(HEAD, """
static std::vector<char *> *entries;
APART static void $a(int i) {
    char *line = (char *)malloc($n);
    memset(line, i, $n);
    entries->push_back(line);
}
APART static void $b() { for (int i = 0; i < $m; i++) { $a(i); nap(1); } }
APART static void $c() { for (char *line : *entries) { free(line); } }
static void scenario() { entries = new std::vector<char *>; entries->reserve($m); $b(); $c(); delete entries; }
""", ("growing",), {"bytes": size * lines}, ("freed only at the end",), n=size, m=lines)


def one_path(draw):
    size, rounds = draw.number(1_000, 3_000), draw.number(300, 500)
    return draw.case(HEAD, """
APART static char *$a(int i) { char *p = new char[$n]; memset(p, i, $n); return p; }
APART static void $b(int i) { char *p = $a(i); used = used + size_t(p[7]); delete[] p; }
APART static void $c(int i) { char *p = $a(i); used = used + size_t(p[9]); }
static void scenario() { for (int i = 0; i < $m; i++) { $b(i); $c(i); $b(i); nap(1); } }
""", ("never-freed",), {"bytes": size * rounds, "blocks": rounds, "allocations": 3 * rounds},
        ("freed when called from $b(), not from $c()",), n=size, m=rounds)


def at_start(draw):
    size, tables = draw.number(100_000, 200_000), draw.number(6, 12)
    is_freed = draw.number(0, 1)
    return draw.case(HEAD, """
APART static void $a(std::vector<int *> &out) {
    for (int i = 0; i < $m; i++) { out.push_back((int *)calloc($n, 4)); }
}
APART static size_t $b(const int *t, int i) { std::string s(30 + i % 5, 'x'); return s.size() + size_t(t[i]); }
static void scenario() {
    std::vector<int *> tables;
    tables.reserve($m);
    $a(tables);
    for (int i = 0; i < 700; i++) { used = used + $b(tables[size_t(i) % $m], i); nap(2); }
    if ($f) { for (int *t : tables) { free(t); } }
}
""", ("at-start", "allocated-once"), {"bytes": 4 * size * tables}, ("allocated once",),
        n=size, m=tables, f=is_freed)


def bursts(draw):
    size, count = draw.number(5_000_000, 20_000_000), draw.number(5, 8)
    return draw.case(HEAD, """
APART static void $a(int i) { std::vector<char> page($n, char(i)); nap(20); used = used + page.size(); }
APART static void $b() { for (int i = 0; i < $m; i++) { nap(110); $a(i); } }
static void scenario() { $b(); nap(110); }
""", ("bursts",), {"bytes": size, "bursts": count}, (f"{count} bursts", "<- $b()"), n=size, m=count)


def churn(draw):
    length, count = draw.number(60, 300), draw.number(60_000, 120_000)
    return draw.case(HEAD, """
APART static size_t $a(size_t i) { std::string line($n, char('a' + i % 26)); return line.size() + size_t(line[3]); }
APART static size_t $b(size_t i) { return $a(i) + 1; }
static void scenario() {
    for (size_t i = 0; i < $m; i++) { used = used + $b(i); if (i % 1000 == 0) { nap(4); } }
}
""", ("churn",), {"short_lived": count, "allocations": count, "size": length + 1},
        (f"always {length + 1} bytes", "std::string", "<- $b()"), n=length, m=count)


def handed_over(draw):
    size, count = draw.number(300, 900), draw.number(8_000, 15_000)
    return draw.case(HEAD, """
struct Message { char text[$n]; };
struct Queue { // of a fixed size
    Message *items[256]; size_t first = 0, n = 0;
    void push(Message *m) { items[(first + n++) % 256] = m; }
    Message *pop() { n--; return items[first++ % 256]; }
};
static Queue queue;
static std::mutex guard;
static std::condition_variable there;
APART static Message *$a(int i) { Message *m = new Message; memset(m->text, i, sizeof m->text); return m; }
APART static void $b() {
    for (int i = 0; i < $m; i++) {
        std::unique_lock<std::mutex> lock(guard);
        there.wait(lock, [] { return queue.n < 200; });
        queue.push($a(i));
        there.notify_all();
        if (i % 100 == 0) { lock.unlock(); nap(3); }
    }
}
APART static void $c() {
    for (int i = 0; i < $m; i++) {
        std::unique_lock<std::mutex> lock(guard);
        there.wait(lock, [i] { return queue.n > 100 || (i >= $m - 101 && queue.n > 0); });
        Message *m = queue.pop();
        there.notify_all();
        lock.unlock();
        used = used + size_t(m->text[1]);
        delete m;
    }
}
static void scenario() { std::thread one($b), two($c); one.join(); two.join(); }
""", ("handed-over",), {"allocated_blocks": count, "allocated_bytes": size * count},
        ("were freed by thread", "; $a() "), accuses=("$b",),
        n=size, m=count)


def slow_leak(draw):
    size, rounds = draw.number(100, 400), draw.number(500, 800)
    return draw.case(HEAD, """
struct $b { APART static char *$a(int i); };
APART char *$b::$a(int i) { char *p = new char[$n]; memset(p, i, $n); return p; }
APART static size_t $c(int i) { std::string s(size_t(40 + i % 9), 'c'); return s.size() + size_t(s[1]); }
static void scenario() {
    for (int i = 0; i < $m; i++) {
        used = used + size_t($b::$a(i)[3]);
        for (int k = 0; k < 80; k++) { used = used + $c(k); }
        nap(1);
    }
}
""", ("never-freed",), {"bytes": size * rounds, "blocks": rounds}, ("grew",), function="$b::$a",
        accuses=("$c",), n=size, m=rounds)


def of_a_library(draw):
    size, rounds = draw.number(500, 2_000), draw.number(400, 700)
    library = draw.name()
    return draw.case(HEAD, """
extern "C" size_t $l(int i);
APART static void $a(int i) { used = used + $l(i); }
static void scenario() { for (int i = 0; i < $m; i++) { $a(i); nap(1); } }
""", ("never-freed",), {"bytes": size * rounds, "blocks": rounds}, ("via $l (", "grew"),
        library=leaking_library(library, size), m=rounds, l=library)


def healthy(draw):
    return draw.case(HEAD, """
APART static size_t $a(int i) {
    std::map<int, std::string> m;
    for (int k = 0; k < 20; k++) { m[k * i % 31] = std::string(60, 'm'); }
    nap(1);
    return m.size();
}
APART static void $b(std::vector<double> &v) { for (size_t i = 0; i < v.size(); i++) { v[i] += double(i); } }
static void scenario() {
    std::vector<double> state($n);
    for (int i = 0; i < 250; i++) { $b(state); used = used + $a(i + 1); nap(1); }
}
""", (), function="", n=draw.number(20_000, 60_000))


CASES = {function.__name__: function for function in (
    copied, doubled, bounded_cache, unbounded_log, one_path, at_start, bursts, churn, handed_over,
    slow_leak, of_a_library, healthy)}
