"""Servers of which everything is known, made from a seed: names, sizes and counts are random.

A server answers one request for each byte of its input and ends with it; it takes a millisecond for
each, and writes a byte when it is done. So a run is as many requests, whatever the machine.
`server_programs.py NAME SEED` prints one.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from truth import Draw, leaking_library

REQUESTS, BEFORE = 600, 300  # of a recording; before heaptrack is attached

HEAD = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define APART __attribute__((noinline))
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
static volatile unsigned used;
static unsigned dice = 1;
static inline unsigned roll(void) { return (dice = dice * 1103515245u + 12345u) >> 8; }
static inline void nap(void) { struct timespec t = {0, 1000000}; nanosleep(&t, NULL); }
static void serve(void (*handle)(int)) {
	char c;
	for (int i = 0; read(0, &c, 1) == 1; i++) {
		handle(i);
		nap();
		used += (unsigned)write(1, "x", 1);
	}
}
"""


@dataclass
class Truth:
    """What must be said of a recording, and what may be."""
    ids: tuple = ()       # the first finding is one of these rules'; (): nothing must be said
    function: str = ""    # whom it is about
    says: tuple = ()      # parts of the first sentence
    rate: int = 0         # bytes per request that are kept; a sentence that gives a rate agrees
    grows: tuple = ()     # functions that may be said to grow or to be a matter of what is never freed
    page: tuple = ()      # parts of the page


@dataclass
class Server:
    source: str
    launched: Truth = field(default_factory=Truth)
    attached: Truth = field(default_factory=Truth)
    library: str = ""     # source of libother.so
    is_dependency: bool = False  # it lies where a build system keeps what it fetched
    language: str = "c"


ALWAYS = "REQUESTS", "BEFORE"


def server(draw, body, launched=None, attached=None, library="", **more):
    """Fills names and numbers into the source and into both truths."""
    values = {name: more.pop(name) for name in list(more) if len(name) == 1}
    text, drawn = draw.text(body, N=REQUESTS, W=BEFORE, **values)
    library = draw.text(library, **drawn)[0] if library else ""

    def fill(part):
        for name, value in drawn.items():
            part = part.replace(f"${name}", str(value))
        return part

    def truth(given):
        return Truth(**{key: value if key == "rate" else fill(value) if isinstance(value, str)
                        else tuple(map(fill, value)) if key != "ids" else value
                        for key, value in (given or {}).items()})
    return Server(HEAD + text, truth(launched), truth(attached), library, **more)


KEEPS = ("steady", "at-start", "allocated-once", "stopped-growing", "peak", "never-freed")
LEAKS = {"ids": ("never-freed",), "function": "$a", "grows": ("$a",), "says": ("grew ",)}


# ---- what is kept, and steady

def warm_cache(draw):
    return server(draw, """
static char *entries[30 * 8];
APART static char *$a(int k) { char *p = malloc($s); memset(p, k, $s); return p; }
APART static unsigned $b(const char *e) { char *p = malloc(300); memcpy(p, e, 300); unsigned n = (unsigned)p[7]; free(p); return n; }
static void $c(int i) {
	for (int k = 0; i < 30 && k < 8; k++) { entries[i * 8 + k] = $a(k); }
	used += $b(entries[roll() % 240 % (unsigned)((i + 1) * 8)]);
}
int main(void) { serve($c); return 0; }
""", {"ids": ("at-start", "allocated-once"), "function": "$a", "says": ("never freed",)}, s=draw.number(2000, 9000))


def refilled_cache(draw):
    """Emptied on request, just after heaptrack is attached, and filled anew."""
    return server(draw, """
static char *entries[40 * 8];
APART static char *$a(int k) { char *p = malloc($s); memset(p, k, $s); return p; }
APART static void $b(void) { for (int k = 0; k < COUNT(entries); k++) { free(entries[k]); entries[k] = NULL; } }
static void $c(int i) {
	int at = i % $W;
	if (i == $W) { $b(); }
	for (int k = 0; i < $W + 40 && at < 40 && k < 8; k++) { entries[at * 8 + k] = $a(k); }
}
int main(void) { serve($c); return 0; }
""", {"ids": KEEPS, "function": "$a"}, {"ids": ("at-start", "allocated-once"), "function": "$a"},
        s=draw.number(2000, 9000))


def bounded_cache(draw):
    """Holds so many entries; the oldest goes when a new one comes."""
    return server(draw, """
static char *entries[$m];
APART static char *$a(int k) { char *p = malloc($s); memset(p, k, $s); return p; }
APART static void $b(int k) { int at = k % $m; free(entries[at]); entries[at] = $a(k); }
static void $c(int i) { for (int k = 0; k < 4; k++) { $b(i * 4 + k); } }
int main(void) { serve($c); return 0; }
""", {"ids": ("stopped-growing",), "function": "$a", "says": ("stopped growing", "came and went")},
        {"ids": ("steady",), "function": "$a", "says": ("came and went",)}, s=draw.number(2000, 9000), m=draw.number(700, 1000))


def initial_tables(draw):
    """All there is is made first; requests need nothing."""
    return server(draw, """
static int *tables[$m];
APART static int *$a(void) { int *p = calloc($s, 4); p[5] = 1; return p; }
static void $b(int i) { used += (unsigned)tables[i % $m][i % $s]; }
int main(void) { for (int k = 0; k < $m; k++) { tables[k] = $a(); } serve($b); return 0; }
""", {"ids": ("at-start",), "function": "$a", "says": ("allocated once",)},
        {"page": ("allocated nothing",)}, s=draw.number(20000, 40000), m=draw.number(5, 20))


def levelled(draw):
    """Interned strings: what is new grows rare."""
    return server(draw, """
static char *strings[4000];
static int n;
APART static char *$a(int k) { char *p = malloc($s); memset(p, k, $s); return p; }
static void $b(int i) {
	int known = (int)(1500.0 * i / (i + 40.0));
	while (i < $N / 2 && n < known) { strings[n] = $a(n); n++; }
}
int main(void) { serve($b); return 0; }
""", {"ids": KEEPS, "function": "$a"}, s=draw.number(300, 900))


def arena(draw):
    """Chunks of an arena; requests get pieces of them and give them back."""
    return server(draw, """
struct piece { struct piece *next; };
static struct piece *free_pieces;
static char *$b;
static size_t left;
APART static char *$a(void) { left = 65536; return malloc(left); }
APART static void *$c(void) {
	struct piece *p = free_pieces;
	if (p) { free_pieces = p->next; return p; }
	if (left < $s) { $b = $a(); }
	left -= $s;
	p = (struct piece *)($b + left);
	return p;
}
static void $d(int i) {
	struct piece *held[300];
	int n = i < 40 ? i * 7 : 200 + i % 80;
	for (int k = 0; k < n; k++) { held[k] = $c(); }
	for (int k = 0; k < n; k++) { held[k]->next = free_pieces; free_pieces = held[k]; }
}
int main(void) { serve($d); return 0; }
""", {"ids": KEEPS, "function": "$a"}, s=draw.number(1000, 3000) // 16 * 16)


# ---- nothing kept

def steady(draw):
    return server(draw, """
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
APART static void $b(int i) { char *q = malloc(4000), *p = $a(i); memcpy(q, p, 100); used += (unsigned)q[9]; free(p); free(q); }
static void $c(int i) { for (int k = 0; k < 10; k++) { $b(i + k); } }
int main(void) { serve($c); return 0; }
""", s=draw.number(200, 3000))


def spike(draw):
    return server(draw, """
static char *table;
APART static char *$a(void) { char *p = malloc($s); memset(p, 1, $s); return p; }
APART static void $b(int i) { char *p = malloc(900); memset(p, i, 900); used += (unsigned)p[3]; free(p); }
APART static void $c(void) { char *p = $a(); for (int i = 0; i < 20; i++) { nap(); } used += (unsigned)p[77]; free(p); }
static void $d(int i) { $b(i); if (i == $W + 100) { $c(); } }
int main(void) { table = calloc(300, 1000); serve($d); return 0; }
""", *[{"ids": ("peak",), "function": "$a", "says": ("it lasted",)}] * 2, s=draw.number(8_000_000, 30_000_000))


def idle(draw):
    return server(draw, """
static char *line;
APART static char *$a(void) { return malloc($s); }
static void $b(int i) { line[i % $s] = (char)i; }
int main(void) { line = $a(); serve($b); free(line); return 0; }
""", {}, {"page": ("allocated nothing",)}, s=draw.number(4000, 60000))


# ---- renewed: what is there at the end is only the last generation

def reloaded(draw):
    """The configuration is read anew all the time, and replaces the old one."""
    return server(draw, """
static char *settings[60];
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
APART static void $b(int i) {
	char *old[60];
	memcpy(old, settings, sizeof old);
	for (int k = 0; k < 60; k++) { settings[k] = $a(i); }
	for (int k = 0; k < 60; k++) { free(old[k]); }
}
static void $c(int i) { if (i % $m == 0) { $b(i); } }
int main(void) { serve($c); return 0; }
""", s=draw.number(1000, 6000), m=draw.number(10, 60))


def connections(draw):
    """Connections close and open, each with its buffers."""
    return server(draw, """
struct $b { char *in, *out; };
static struct $b open[$m];
APART static void $a(struct $b *c, int i) { c->in = malloc($s); c->out = malloc($s); memset(c->in, i, $s); }
APART static void $c(struct $b *c) { free(c->in); free(c->out); }
static void $d(int i) { for (int k = 0; k < 3; k++) { struct $b *c = &open[roll() % $m]; $c(c); $a(c, i); } }
int main(void) { for (int k = 0; k < $m; k++) { $a(&open[k], k); } serve($d); return 0; }
""", s=draw.number(4000, 16000), m=draw.number(100, 300))


def double_buffer(draw):
    return server(draw, """
static char *front, *back;
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, 4000); return p; }
static void $b(int i) { free(back); back = front; front = $a(i); }
int main(void) { serve($b); return 0; }
""", s=draw.number(200_000, 900_000))


def ring(draw):
    """The last messages."""
    return server(draw, """
static char *last[$m];
static int at;
APART static char *$a(unsigned n) { char *p = malloc(n); memset(p, 'x', n); return p; }
APART static void $b(void) { free(last[at]); last[at] = $a($s + roll() % 200); at = (at + 1) % $m; }
static void $c(int i) { for (int k = 0; k < 2 + i % 3; k++) { $b(); } }
int main(void) { serve($c); return 0; }
""", s=draw.number(500, 2000), m=draw.number(150, 500))


def sessions(draw):
    """A session ends so many requests after its last one."""
    return server(draw, """
struct $b { char *user; char *state; };
static struct $b *live[$m];
APART static struct $b *$a(int i) {
	struct $b *s = malloc(sizeof *s);
	s->user = malloc(40 + (unsigned)i % 30);
	s->state = malloc($s);
	memset(s->state, i, $s);
	return s;
}
APART static void $c(struct $b *s) { if (s) { free(s->user); free(s->state); free(s); } }
static void $d(int i) { $c(live[i % $m]); live[i % $m] = $a(i); }
int main(void) { serve($d); return 0; }
""", s=draw.number(3000, 20000), m=draw.number(60, 150))


def mixed(draw):
    """Sizes and lives of all kinds."""
    return server(draw, """
static char *blocks[900];
APART static char *$a(unsigned n) { char *p = malloc(n); memset(p, 1, n); return p; }
static void $b(int i) {
	(void)i;
	for (int k = 0; k < 6; k++) {
		unsigned at = roll() % 8 ? roll() % 300 : roll() % 900;
		free(blocks[at]);
		blocks[at] = $a(roll() % 16 ? 16 + roll() % $s : 4 * $s);
	}
}
int main(void) { for (int k = 0; k < 900; k++) { blocks[k] = $a(16 + roll() % $s); } serve($b); return 0; }
""", s=draw.number(1000, 5000))


def renewed_slowly(draw):
    """Each block is replaced only once or twice in a run."""
    return server(draw, """
static char *pages[$N];
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
static void $b(int i) { free(pages[i % $W]); pages[i % $W] = $a(i); }
int main(void) { for (int k = 0; k < $W; k++) { pages[k] = $a(k); } serve($b); return 0; }
""", s=draw.number(2000, 20000))


# ---- leaks

def leak(draw):
    size = draw.number(1000, 9000)
    return server(draw, """
static char *volatile last;
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
APART static void $b(int i) { char *p = malloc(700); memset(p, i, 700); used += (unsigned)p[5]; free(p); }
static void $c(int i) { last = $a(i); $b(i); }
int main(void) { serve($c); return 0; }
""", *[LEAKS | {"rate": size}] * 2, s=size)


def slow_leak(draw):
    """A little of every twentieth request, beside much that is well kept."""
    size, every = draw.number(900, 2000), draw.number(3, 9)
    return server(draw, """
static char *volatile last;
static char *tables[20];
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
APART static char *$b(void) { return calloc(1, 90000); }
APART static void $c(int i) { char *p = malloc(3000); memset(p, i, 3000); used += (unsigned)p[5]; free(p); }
static void $d(int i) { if (i % $m == 0) { last = $a(i); } $c(i); }
int main(void) { for (int k = 0; k < 20; k++) { tables[k] = $b(); } serve($d); return 0; }
""", *[LEAKS | {"rate": size // every}] * 2, s=size, m=every)


def leak_beside_renewal(draw):
    """Some of the connections are forgotten, not closed."""
    size, every = draw.number(3000, 9000), draw.number(2, 6)
    return server(draw, """
static char *open[100];
APART static char *$b(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
static void $c(int i) {
	free(open[i % 100]);
	open[i % 100] = $b(i);
	if (i % $m == 0) { used += (unsigned)$a(i)[3]; }
}
int main(void) { serve($c); return 0; }
""", *[LEAKS | {"rate": size // every}] * 2, s=size, m=every)


def leak_in_wrapper(draw):
    """The project's own allocation function is not the culprit: who calls it is."""
    size = draw.number(500, 3000)
    return server(draw, """
static char *volatile last;
APART static void *$f_alloc(size_t n) { void *p = malloc(n); if (!p) { abort(); } return p; }
APART static void $a(int i) { char *p = $f_alloc($s); memset(p, i, $s); last = p; used++; }
APART static void $b(int i) { char *p = $f_alloc(400); memset(p, i, 400); used += (unsigned)p[5]; free(p); }
APART static void $c(int i) { char *p = $f_alloc(100); memset(p, i, 100); used += (unsigned)p[7]; free(p); }
static void $d(int i) { $a(i); $b(i); $c(i); }
int main(void) { serve($d); return 0; }
""".replace("$f_alloc", "${f}_alloc"), *[LEAKS | {"rate": size}] * 2, s=size)


def leak_in_dependency(draw):
    function, size = draw.name(), draw.number(500, 3000)
    found = {"ids": ("never-freed",), "function": "$a", "grows": ("$a",), "rate": size,
             "says": (f"via {function}", "grew ")}
    return server(draw, f"size_t {function}(int i);" """
APART static void $a(int i) { used += (unsigned)$l(i); used++; }
static void $b(int i) { $a(i); char *p = malloc(300); memset(p, i, 300); used += (unsigned)p[3]; free(p); }
int main(void) { serve($b); return 0; }
""", *[found] * 2, library=leaking_library(function, size), is_dependency=True, l=function)


def thin_main(draw):
    """The program is a library beside it."""
    size = draw.number(500, 3000)
    return server(draw, """
void $b(int i);
int main(void) { serve($b); return 0; }
""", *[LEAKS | {"rate": size}] * 2, s=size, library="""
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline))
static char *volatile last;
static volatile unsigned used;
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
APART static void $c(int i) { char *p = malloc(100); memset(p, i, 100); used += (unsigned)p[7]; free(p); }
void $b(int i);
void $b(int i) { last = $a(i); $c(i); }
""")


POOL = """
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void *queue[4096];
static unsigned put, got;
static void push(void *item) {
	pthread_mutex_lock(&lock);
	queue[put++ % 4096] = item;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}
static void *pop(void) {
	pthread_mutex_lock(&lock);
	while (got == put) { pthread_cond_wait(&changed, &lock); }
	void *item = queue[got++ % 4096];
	pthread_mutex_unlock(&lock);
	return item;
}
"""


def leaking_threads(draw):
    size = draw.number(500, 3000)
    return server(draw, POOL + """
static char *volatile last;
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
static void *$b(void *none) {
	for (char *item; (item = pop()) != (char *)-1;) {
		char *p = malloc(200);
		memset(p, 1, 200);
		last = $a((int)(size_t)item);
		used += (unsigned)p[9];
		free(p);
	}
	return none;
}
static void $c(int i) { push((void *)(size_t)(i + 1)); }
int main(void) {
	pthread_t workers[4];
	for (int k = 0; k < 4; k++) { pthread_create(&workers[k], NULL, $b, NULL); }
	serve($c);
	for (int k = 0; k < 4; k++) { push((void *)-1); }
	for (int k = 0; k < 4; k++) { pthread_join(workers[k], NULL); }
	return 0;
}
""", *[LEAKS | {"rate": size}] * 2, s=size)


def between_threads(draw):
    """What one thread makes, another frees."""
    return server(draw, POOL + """
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
static void *$b(void *none) { for (char *p; (p = pop()) != (char *)-1;) { used += (unsigned)p[9]; free(p); } return none; }
static void $c(int i) { for (int k = 0; k < 5; k++) { push($a(i)); } }
int main(void) {
	pthread_t consumer;
	pthread_create(&consumer, NULL, $b, NULL);
	serve($c);
	push((void *)-1);
	pthread_join(consumer, NULL);
	return 0;
}
""", s=draw.number(500, 3000))


# ---- what grows by its nature

def log(draw):
    """Kept in memory, and freed only at the end."""
    size = draw.number(500, 3000)
    grows = {"function": "$a", "grows": ("$a",), "rate": size, "says": ("grew ",)}
    return server(draw, """
static char *lines[100000];
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
static void $b(int i) { lines[i] = $a(i); }
APART static void $c(void) { for (int k = 0; lines[k]; k++) { free(lines[k]); } }
int main(void) { serve($b); $c(); return 0; }
""", grows | {"ids": ("growing",)}, grows | {"ids": ("never-freed", "growing")}, s=size)


def doubling(draw):
    """One list, appended to for ever."""
    return server(draw, """
static long *items;
static size_t n, room;
APART static void $a(long item) {
	if (n == room) { room = room ? room * 2 : 64; items = realloc(items, room * sizeof *items); }
	items[n++] = item;
}
static void $b(int i) { for (int k = 0; k < $s; k++) { $a(i); } }
int main(void) { serve($b); return 0; }
""", {"ids": (*KEEPS, "growing"), "function": "$a", "grows": ("$a",)}, {"grows": ("$a",)}, s=draw.number(300, 900))


def rehashed(draw):
    """A table that is rehashed while it fills, then steady; entries come and go."""
    return server(draw, """
#include <string>
#include <unordered_map>
static std::unordered_map<unsigned, std::string> *table;
APART static void $a(unsigned key) { (*table)[key] = std::string($s, 'x'); }
APART static void $b(unsigned key) { table->erase(key); }
static void $c(int i) { for (unsigned k = 0; k < 5; k++) { unsigned key = (unsigned)i * 5 + k; $a(key); if (key >= $m) { $b(key - $m); } } }
int main() { table = new std::unordered_map<unsigned, std::string>; serve($c); return 0; }
""", {"ids": KEEPS, "function": "$a"}, s=draw.number(200, 900), m=draw.number(700, 1200), language="c++")


# ---- other processes

def batched(draw):
    """Gathered, and given back together from time to time."""
    return server(draw, """
static char *items[4000];
static int n;
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
APART static void $b(void) { while (n > 0) { free(items[--n]); } }
static void $c(int i) { for (int k = 0; k < 4; k++) { items[n++] = $a(i); } if (i % $m == $m - 1) { $b(); } }
int main(void) { serve($c); return 0; }
""", s=draw.number(500, 3000), m=draw.number(70, 150))


def launcher(draw):
    """What matters is the program that it starts."""
    return server(draw, """
static char *volatile last;
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
static void $b(int i) { last = $a(i); }
int main(int argc, char **argv) {
	if (argc > 1) { serve($b); return 0; }
	char *name = strdup(argv[0]);
	pid_t child = fork();
	if (child == 0) { execl("/proc/self/exe", name, "worker", NULL); _exit(127); }
	free(name);
	return waitpid(child, NULL, 0) != child;
}
""", {"page": ("process",)}, {}, s=draw.number(500, 3000))


def workers(draw):
    """Forked before the first request, and they answer all of them."""
    return server(draw, """
static char *volatile last;
APART static char *$a(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
APART static char *$d(void) { return calloc(1, 200000); }
static void $b(int i) { free(last); last = $a(i); }
int main(void) {
	char *settings = $d();
	for (int k = 0; k < 3; k++) { if (fork() == 0) { serve($b); _exit(0); } }
	while (wait(NULL) > 0) {}
	free(settings);
	return 0;
}
""", {"page": ("process",)}, {}, s=draw.number(500, 3000))


def long_runner(draw):
    """Healthy: tables, connections, a cache with a bound, rotated statistics, and work for each request."""
    return server(draw, """
static char *tables[10], *open[80], *cache[200], *statistics;
APART static char *$a(void) { return calloc(1, $t); }
APART static char *$b(int i) { char *p = malloc($s); memset(p, i, $s); return p; }
APART static char *$c(int i) { char *p = malloc(1500); memset(p, i, 1500); return p; }
APART static char *$d(int i) { char *p = malloc(70000); memset(p, i, 300); return p; }
APART static void $e(int i) { char *p = malloc(500); memset(p, i, 500); used += (unsigned)p[5]; free(p); }
static void $f(int i) {
	free(open[i % 80]);
	open[i % 80] = $b(i);
	unsigned at = roll() % 200;
	free(cache[at]);
	cache[at] = $c(i);
	if (i % 50 == 0) { free(statistics); statistics = $d(i); }
	for (int k = 0; k < 4; k++) { $e(i); }
}
int main(void) { for (int k = 0; k < 10; k++) { tables[k] = $a(); } serve($f); return 0; }
""", s=draw.number(1000, 4000), t=draw.number(20000, 100000))


SERVERS = {f.__name__: f for f in (
    batched, warm_cache, refilled_cache, bounded_cache, initial_tables, levelled, arena, steady, spike, idle,
    reloaded, connections, double_buffer, ring, sessions, mixed, renewed_slowly, leak, slow_leak,
    leak_beside_renewal, leak_in_wrapper, leak_in_dependency, thin_main, leaking_threads,
    between_threads, log, doubling, rehashed, launcher, workers, long_runner)}


def make(name, seed):
    return SERVERS[name](Draw(f"{name} {seed}"))


if __name__ == "__main__":
    print(make(sys.argv[1], sys.argv[2]).source)
