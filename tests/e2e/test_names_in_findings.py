"""Whom findings name in programs that nobody prepared: the line that weighs, the function that holds.

Real programs of the system are thin starters of libraries; real projects have allocators of their
own. No sentence names a place for another reason than its own number.
"""

import re
import shutil
import subprocess

import pytest


def build(folder, source, *flags, name="prog", language="c"):
    file = folder / f"{name}.{language}"
    file.write_text(source)
    compiler = "g++" if language == "cpp" else "gcc"
    subprocess.run([compiler, "-O1", "-g", file, "-o", folder / name, *flags], check=True, timeout=120)
    return folder / name


def finding(recording, kind):
    found = [f for f in recording.json()["findings"] if f["id"] == kind]
    assert found, recording.report()
    return found[0]


# In one function one line keeps what it allocates, another allocates ten times as much for a moment
TWO_LINES = """
#include <stdlib.h>
#include <string.h>
#include <time.h>
void *kept[2000];
__attribute__((noinline)) void work(int i) {
	kept[i] = malloc(4000);
	for (int k = 0; k < 10; k++) {
		char *moment = malloc(6000);
		memset(moment, k, 6000);
		__asm__ volatile("" : : "r"(moment) : "memory");
		free(moment);
	}
}
int main(void) {
	for (int i = 0; i < 2000; i++) {
		work(i);
		nanosleep(&(struct timespec){0, 200000}, NULL);
	}
	return 0;
}
"""


def test_a_finding_names_the_line_that_weighs_by_its_own_number(tools, tmp_path):
    lines = TWO_LINES.splitlines()
    keeps = 1 + next(i for i, line in enumerate(lines) if "kept[i] =" in line)
    churns = 1 + next(i for i, line in enumerate(lines) if "*moment =" in line)
    recording = tools.record(build(tmp_path, TWO_LINES))
    kept, churn = finding(recording, "never-freed"), finding(recording, "churn")
    for found, line in ((kept, keeps), (churn, churns)):
        assert found["place"] == f"prog.c:{line}", found
        assert f"work prog.c:{line}" in found["text"], found
    assert churn["numbers"]["size"] == 6000, churn
    assert "always 6,000 bytes" in churn["text"], churn


# One allocator of the project's own for three modules; a second function only sounds like one
OWN_ALLOCATOR = """
#include <stdlib.h>
#include <string.h>
struct pool { size_t used; };
#define APART __attribute__((noinline))
APART void *pool_alloc_raw(struct pool *p, size_t n) { p->used += n; return malloc(n + 8); }
APART void *pool_alloc(struct pool *p, size_t n) { void *x = pool_alloc_raw(p, n); if (x) memset(x, 1, n); return x; }
void *kept[3000];
APART void load_users(struct pool *p) { for (int i = 0; i < 1000; i++) kept[i] = pool_alloc(p, 9000); }
APART void load_groups(struct pool *p) { for (int i = 1000; i < 2000; i++) kept[i] = pool_alloc(p, 700); }
APART void load_rights(struct pool *p) { for (int i = 2000; i < 2900; i++) kept[i] = pool_alloc(p, 300); }
APART void allocate_sessions(void) { for (int i = 2900; i < 3000; i++) kept[i] = malloc(500); }
int main(void) {
	struct pool p = {0};
	load_users(&p);
	load_groups(&p);
	load_rights(&p);
	allocate_sessions();
	return (int)(p.used & 1);
}
"""


@pytest.mark.parametrize("debug", ["-g", "-g0"])
def test_allocators_of_a_project_name_no_site(tools, tmp_path, debug):
    recording = tools.record(build(tmp_path, OWN_ALLOCATOR, debug))
    table = re.search(r"^NEVER FREED.*?\n(.*?)\n\n", recording.report(), re.M | re.S)[1]
    sites = {line.split()[0]: line.split()[-3:] for line in table.splitlines()}
    assert sites == {"load_users": ["9.0M", "90", "1,000"], "load_groups": ["708.0K", "7", "1,000"],
                     "load_rights": ["277.2K", "3", "900"],
                     "allocate_sessions": ["50.0K", "<1", "100"]}, table  # called by one: it is work
    assert finding(recording, "peak")["function"] == "load_users"


# A library without symbols of its own: what its allocation functions call has no name
STRIPPED_LIBRARY = """
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline))
void *kept[400];
int n;
APART static void *refill(size_t size) { return memset(malloc(size), 1, size); }
APART void *pool_alloc_vector(size_t size) { return (char *)refill(size + 8) + 8; }
APART void *ReallocateThingMemory(size_t size) { return (char *)refill(size + 8) + 8; }
APART void add_user(void) { kept[n++] = memset(malloc(700), 1, 700); }
APART static void add_users(void) { for (int i = 0; i < 10; i++) add_user(); }
APART void allocate_users(void) { kept[n++] = memset(malloc(3000), 1, 3000); add_users(); n++; }
void load_one(void) { kept[n++] = pool_alloc_vector(50000); allocate_users(); n++; }
void load_two(void) { kept[n++] = pool_alloc_vector(40000); allocate_users(); n++; }
void load_three(void) { kept[n++] = pool_alloc_vector(30000); allocate_users(); n++; }
void load_four(void) { kept[n++] = ReallocateThingMemory(20000); n++; }
"""
USER_OF_LIBRARY = """
void load_one(void), load_two(void), load_three(void), load_four(void);
int main(void) { load_one(); load_two(); load_three(); load_four(); return 0; }
"""


def test_what_an_allocator_calls_without_a_name_is_a_part_of_it(tools, tmp_path):
    library = build(tmp_path, STRIPPED_LIBRARY, "-shared", "-fPIC", "-s", name="libloads.so")
    recording = tools.record(build(tmp_path, USER_OF_LIBRARY, library, f"-Wl,-rpath,{tmp_path}"))
    table = re.search(r"^PEAK.*?\n(.*?)\n\n", recording.report(), re.M | re.S)[1]
    sites = {line.split()[0]: line.split()[-1] for line in table.splitlines()}
    # allocate_users has three callers, too, but calls work, behind a function without a name
    assert sites == {"load_one": "1", "load_two": "1", "load_three": "1", "load_four": "1",
                     "add_user": "30", "allocate_users": "3"}, table


FAR_LIBRARY = """
#include <stdlib.h>
int deflateInit_(void *stream, int level, const char *version, int size);
__attribute__((noinline)) void compress_it(void) { deflateInit_(calloc(1, 112), 6, "1.2", 112); }
int main(void) { compress_it(); return 0; }
"""


def test_a_library_of_the_system_is_nobodys_own_however_it_was_found(tools, tmp_path):
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout
    folder = f"/usr/bin/../lib/{machine.strip()}"
    program = build(tmp_path, FAR_LIBRARY, f"-Wl,--disable-new-dtags,-rpath,{folder}", "-l:libz.so.1")
    recording = tools.record(program)
    frames = [frame for site in recording.json()["sites"]["allocations"] for frame in site["stack"]
              if "libz" in (frame["module"] or "")]
    assert frames and all(frame["module"].startswith(folder) for frame in frames), frames
    assert {frame["owner"] for frame in frames} == {"library"}, frames
    assert finding(recording, "peak")["function"] == "compress_it"


BEHIND_NO_NAME = """
#include <stdlib.h>
#include <unistd.h>
int deflateInit_(void *stream, int level, const char *version, int size);
void *xmalloc(size_t size);
static void *kept[60];
__attribute__((noinline)) static void *apart(void *stream, int i) {
	kept[i] = xmalloc(i < 30 ? 400 : 500);
	return deflateInit_(stream, 6, "1.2", 112) == 0 ? stream : NULL;
}
__attribute__((noinline)) int run(void) { for (int i = 0; i < 60; i++, usleep(300)) apart(calloc(1, 112), i); return kept[0] == 0; }
int main(void) { return run() + (kept[59] == 0); }
"""


def test_what_code_without_a_name_called_stands_beside_it(tools, tmp_path):
    library = build(tmp_path, "#include <stdlib.h>\nvoid *xmalloc(size_t n) { return malloc(n); }\n",
                    "-shared", "-fPIC", "-fno-optimize-sibling-calls", "-s", name="libown.so")
    flags = [library, f"-Wl,-rpath,{tmp_path}", "-l:libz.so.1", "-s"]
    # run() has a name, what it calls has none
    text = finding(tools.record(build(tmp_path, BEHIND_NO_NAME, "-rdynamic", *flags)), "peak")["text"]
    assert text.startswith("run prog via deflateInit_ (libz.so.1) <- main holds "), text
    # Nothing of the program has a name: it is zlib that has one, and an allocation function
    recording = tools.record(build(tmp_path, BEHIND_NO_NAME, *flags))
    texts = " ".join(found["text"] for found in recording.json()["findings"])
    assert "deflateInit2_ (libz.so.1)" in texts and "libz.so.1 (" not in texts, texts
    assert "xmalloc libown.so <- prog, no symbols: 60 of 60 blocks" in texts, texts
    assert "+0x" not in texts and "line 0" not in texts, texts


# zlib takes its memory through a function of the program's, the only one that has a name
HANDED_IN = """
#include <stdlib.h>
int deflateInit_(void *stream, int level, const char *version, int size);
void *own_calloc(void *own, unsigned n, unsigned size) { void *p = calloc(n, size); return p ? p : own; }
static void drop(void *own, void *p) { free(own ? NULL : p); }
int main(void) {
	void **stream = calloc(1, 112);
	stream[8] = (void *)own_calloc;
	stream[9] = (void *)drop;
	return deflateInit_(stream, 6, "1.2", 112);
}
"""


def test_the_library_that_asked_is_named_not_the_hook_that_it_asked(tools, tmp_path):
    program = build(tmp_path, HANDED_IN, "-l:libz.so.1", "-s", "-Wl,--export-dynamic-symbol=own_calloc")
    found = finding(tools.record(program), "peak")
    assert found["function"].startswith("deflateInit") and "own_calloc" not in found["text"], found


# As servers are called by libevent: the library has names, the program that it calls back has none
CALLED_BACK = """
#include <stdlib.h>
int inflateBackInit_(void *stream, int bits, unsigned char *window, const char *version, int size);
int inflateBack(void *stream, unsigned (*in)(void *, unsigned char **), void *, int (*out)(void *, void *, unsigned), void *);
void *kept[500];
__attribute__((noinline)) static void grow(int i) { kept[i] = malloc(4000); }
static unsigned feed(void *n, unsigned char **next) { for (int i = 0; i < *(int *)n; i++) grow(i); return 0 * !next; }
int main(int argc, char **argv) {
	static unsigned char window[1 << 15];
	int n = 499 + argc;
	void *stream = calloc(1, 112);
	return inflateBackInit_(stream, 15, window, "1.2", 112) || inflateBack(stream, feed, &n, NULL, NULL) == 0 || !argv;
}
"""


def test_a_library_that_calls_back_is_not_accused(tools, tmp_path):
    recording = tools.record(build(tmp_path, CALLED_BACK, "-l:libz.so.1", "-s"))
    assert recording.status == 0
    found = recording.json()
    assert [f["function"] for f in found["findings"] if f["id"] == "peak"] == ["prog, no symbols"], found["findings"]
    kept = next(f for f in found["findings"] if "501 of" in f["text"])
    assert kept["function"] == "prog, no symbols" and "inflateBack" not in kept["text"].split(":")[0], kept
    # What the library allocates itself is still called after its function
    owners = {site["stack"][0]["function"]: site for site in found["sites"]["allocations"]}
    assert "inflateBackInit_" in tools.print(recording.file).stdout, owners


# As openscad is built: of a program without symbols, main() is exported
BELOW_MAIN = """
#include <stdlib.h>
void *kept[600];
__attribute__((noinline)) static void grow(int i) { kept[i] = malloc(4000); __asm__ volatile(""); }
__attribute__((noinline)) static void churn(void) { void *p = malloc(100); __asm__ volatile("" :: "r"(p)); free(p); }
int main(int argc, char **argv) {
	for (int i = 0; i < 500; i++) grow(i);
	for (int i = 0; i < 20000; i++) churn();
	kept[500] = malloc(100000);
	return argc == 7 && argv;
}
"""


def test_main_does_not_stand_for_code_without_names(tools, tmp_path):
    program = build(tmp_path, BELOW_MAIN, "-s", "-Wl,--export-dynamic-symbol=main")
    recording = tools.record(program)
    assert finding(recording, "peak")["function"] == "prog, no symbols"
    assert finding(recording, "churn")["function"] == "prog, no symbols"
    found = recording.json()
    assert any(s["id"] == "unnamed" and "come from code without names" in s["text"] for s in found["quality"]["sentences"])
    # What main() allocates itself is its own
    report = recording.report()
    assert re.search(r"^  main  .* 100\.0K ", report[report.index("PEAK"):], re.M), report


# Code without names holds two thirds, a half of it where a library called it back; `drawn` of it a library
TWO_WAYS = """
#include <stdlib.h>
void *draw(size_t n);
void parse(void (*hook)(void));
void *kept[2];
static void start(void) { kept[1] = malloc(3000000); __asm__ volatile(""); }
int main(void) {
	kept[0] = malloc(3500000);
	parse(start);
	return !draw(DRAWN);
}
"""
DRAWS = """
#include <stdlib.h>
void *draw(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
void parse(void (*hook)(void)) { hook(); __asm__ volatile(""); }
"""


@pytest.mark.parametrize("drawn, named", [(2500000, "draw"), (1000000, "prog, no symbols")])
def test_who_has_a_name_goes_before_code_without_that_holds_no_three_fifths_itself(tools, tmp_path, drawn, named):
    folder = tmp_path / "_deps" / "drawing"
    folder.mkdir(parents=True)
    library = build(folder, DRAWS, "-shared", "-fPIC", name="libdraw.so")
    program = build(tmp_path, TWO_WAYS, f"-DDRAWN={drawn}", library, f"-Wl,-rpath,{folder}", "-s")
    peak = finding(tools.record(program), "peak")
    assert peak["function"] == named, peak


# One stack of the library's is the heaviest; most is allocated by the function itself
MOSTLY_ITSELF = """
#include <stdlib.h>
int deflateInit_(void *stream, int level, const char *version, int size);
void *kept[10];
__attribute__((noinline)) int work(void) {
""" + "".join(f"\tkept[{i}] = malloc(60000);\n" for i in range(10)) + """
	return deflateInit_(calloc(1, 112), 6, "1.2", 112);
}
int main(void) { return work(); }
"""


def test_via_is_said_only_of_most(tools, tmp_path):
    peak = finding(tools.record(build(tmp_path, MOSTLY_ITSELF, "-l:libz.so.1")), "peak")
    assert peak["function"] == "work" and " via " not in peak["text"], peak


# Several functions of one library hold what the function had from it
FROM_A_LIBRARY = """
#include <stdlib.h>
int inflateInit_(void *stream, const char *version, int size);
int inflateBackInit_(void *stream, int bits, unsigned char *window, const char *version, int size);
static unsigned char window[1 << 15];
__attribute__((noinline)) int work(void) {
	int failed = 0;
	for (int i = 0; i < 30; i++) {
		failed |= inflateInit_(calloc(1, 112), "1.2", 112) | inflateBackInit_(calloc(1, 112), 15, window, "1.2", 112);
	}
	return failed;
}
int main(void) { return work(); }
"""


def test_via_is_the_library_where_it_is_no_one_function(tools, tmp_path):
    peak = finding(tools.record(build(tmp_path, FROM_A_LIBRARY, "-l:libz.so.1")), "peak")
    assert peak["function"] == "work" and peak["text"].startswith("work prog.c:9 via libz.so.1 <- main holds "), peak


# Two libraries' allocator hooks and a callback: the program has no names
HOOKS = """
#include <stdlib.h>
""" + "".join(f"void *first_{name}(void *(*hook)(size_t)); " for name in "abcdef") + """
void *first_loop(void *(*work)(size_t));
void *kept[9];
__attribute__((noinline)) static void *hand_out(size_t n) { void *p = malloc(n + 16); __asm__ volatile(""); return p; }
__attribute__((noinline)) static void *serve(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
int main(void) {
	int n = 0;
	""" + "".join(f"kept[n++] = first_{name}(hand_out); " for name in "abcdef") + """
	kept[n++] = first_loop(serve);
	return kept[0] == 0;
}
"""
HOOKED = "#include <stddef.h>\n" + "".join(
    f"void *first_{name}(void *(*hook)(size_t)) {{ void *p = hook({size}); __asm__ volatile(\"\"); return p; }}\n"
    for name, size in (*((letter, 5000) for letter in "abcdef"), ("loop", 12000)))


def test_a_library_that_asks_for_memory_is_named(tools, tmp_path):
    """A hook that it has memory from is called by many of its functions, a callback by one."""
    folder = tmp_path / "_deps" / "hooked-src"
    folder.mkdir(parents=True)
    library = build(folder, HOOKED, "-shared", "-fPIC", name="libhooked.so")
    recording = tools.record(build(tmp_path, HOOKS, library, f"-Wl,-rpath,{folder}", "-s"))
    report = recording.report()
    peak = report[report.index("PEAK"):report.index("NEVER FREED")]
    assert all(f"first_{name} " in peak for name in "abcdef") and "first_loop" not in peak, report
    assert re.search(r"^  prog\+0x\S+ .* 12\.0K ", peak, re.M), report


# Each of its tables is twice as large as the one before, and all of them are kept: nothing grew
TABLES = """
#include <stdlib.h>
void *kept[12];
__attribute__((noinline)) void set_up(void) {
""" + "".join(f"\tkept[{i}] = malloc({4096 << i});\n" for i in range(12)) + """
}
int main(void) { set_up(); return kept[0] == 0; }
"""


def test_tables_of_many_sizes_did_not_grow(tools, tmp_path):
    peak = finding(tools.record(build(tmp_path, TABLES)), "peak")
    assert peak["function"] == "set_up" and "doubling" not in peak["text"], peak
    assert "saved_bytes" not in peak["numbers"], peak


# What is held is split among four, none of which holds three fifths
SPLIT = """
#include <stdlib.h>
void *kept[4];
#define APART __attribute__((noinline))
APART void first(void) { kept[0] = malloc(4000000); }
APART void second(void) { kept[1] = malloc(3000000); }
APART void third(void) { kept[2] = malloc(2000000); }
APART void fourth(void) { kept[3] = malloc(1000000); }
APART void load(void) { first(); second(); third(); fourth(); __asm__ volatile(""); }
int main(void) { void *own = malloc(500000); load(); __asm__ volatile("" : : "r"(own)); return 0; }
"""


def test_a_peak_that_is_split_names_who_shares_it(tools, tmp_path):
    peak = finding(tools.record(build(tmp_path, SPLIT)), "peak")
    assert peak["function"] == "load", peak
    assert ("hold 10.0 MB (95 % of the peak), of it first 4.0 MB, second 3.0 MB, third 2.0 MB and the "
            "rest 1.0 MB") in peak["text"], peak


# Three hold the same, one after the other, the third a little more
IN_TURN = """
#include <stdlib.h>
#include <time.h>
#define APART __attribute__((noinline))
APART void *get_surface(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
APART void *get_copy(size_t n) { void *p = malloc(n); __asm__ volatile(""); return p; }
#define PAUSE nanosleep(&(struct timespec){0, 30000000}, NULL)
#define WORK(more) void *a = get_surface(4000000 + more), *b = get_copy(4000000 + more); PAUSE; free(a); free(b); PAUSE
APART void first(void) { WORK(0); }
APART void second(void) { WORK(0); }
APART void third(void) { WORK(MORE); }
int main(void) { first(); second(); third(); return 0; }
"""


@pytest.mark.parametrize("more, named", [(100, "get_surface"), (2000000, "third")])
def test_whoever_has_the_peak_by_little_is_not_named_for_what_others_do_too(tools, tmp_path, more, named):
    peak = finding(tools.record(build(tmp_path, IN_TURN, f"-DMORE={more}")), "peak")
    assert peak["function"] == named, peak


# One thread frees what another allocates in the same stack: it grew by nothing, main by its block
IN_BOTH = """
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#define PAUSE(ms) nanosleep(&(struct timespec){0, ms * 1000000}, NULL)
static const volatile int times[2][3] = {{0, 250, 150}, {230, 170, 0}};
static void *work(void *is_late) {
	const volatile int *ms = times[is_late != NULL];
	PAUSE(ms[0]);
	void *volatile p = malloc(50000);
	PAUSE(ms[1]);
	free(p);
	PAUSE(ms[2]);
	return NULL;
}
int main(void) {
	pthread_t early, late;
	pthread_create(&early, NULL, work, NULL);
	pthread_create(&late, NULL, work, &late);
	PAUSE(270);
	void *volatile own = malloc(40000);
	pthread_join(early, NULL);
	pthread_join(late, NULL);
	return own == NULL;
}
"""


def test_a_stack_of_two_threads_grew_by_the_sum_of_both(tools, tmp_path):
    found = finding(tools.record(build(tmp_path, IN_BOTH, "-s", "-pthread")), "no-growth")
    assert found["function"] == "prog, no symbols" and found["numbers"]["grown_bytes"] == 40000, found
    assert re.search(r"no symbols \(100 % at prog\+0x\w+\) grew most", found["text"]), found


# The largest holds its block for a moment; what lived before its rise is gone by then
GONE_BEFORE = """
#include <stdlib.h>
#include <time.h>
#define PAUSE nanosleep(&(struct timespec){0, 30000000}, NULL)
__attribute__((noinline)) void spike(void) { void *volatile p = malloc(9000000); PAUSE; free(p); }
int main(void) {
	void *volatile rest = malloc(1000000), *volatile before = malloc(7000000);
	PAUSE;
	free(before);
	spike();
	PAUSE;
	PAUSE;
	PAUSE;
	free(rest);
	return 0;
}
"""


def test_what_a_peak_is_on_top_of_lives_at_the_peak(tools, tmp_path):
    peak = finding(tools.record(build(tmp_path, GONE_BEFORE)), "peak")
    assert peak["function"] == "spike" and "on top of 1.0 MB" in peak["text"], peak
    assert peak["numbers"]["bytes"] + peak["numbers"]["base_bytes"] == peak["numbers"]["peak_bytes"], peak


def functions_at(program, text):
    """Addresses of a stripped program in a sentence, as functions of the same program with names."""
    return re.sub(r"prog\+(0x[0-9a-f]+)", lambda m: subprocess.run(
        ["addr2line", "-f", "-e", program, m[1]], capture_output=True, text=True,
        check=True).stdout.split("\n")[0], text)


@pytest.mark.parametrize("source, said", [
    (OWN_ALLOCATOR, "(99 % at pool_alloc_raw; 90 % through load_users) holds 10.0 MB (100 % of the peak)."),
    (SPLIT, "(38 % at first, 29 % at second, 19 % at third, 14 % elsewhere; 95 % through main) holds "),
], ids=["one", "split"])
def test_a_program_without_symbols_has_its_largest_addresses_named(tools, tmp_path, source, said):
    (tmp_path / "named").mkdir()
    named = build(tmp_path / "named", source)
    recording = tools.record(build(tmp_path, source, "-s"))
    peak = finding(recording, "peak")
    assert peak["function"] == "prog, no symbols" and peak["place"] == "", peak
    assert peak["lens"] == "m=peak", peak
    assert functions_at(named, peak["text"]).startswith(f"prog, no symbols {said}"), peak
    for found in recording.json()["findings"]:
        assert re.sub(r" \(.*?\)", "", found["text"]).count("+0x") == 0, found


# One line holds nearly all until the end, another leaves a little
HOLDS_AND_LEAVES = """
#include <stdlib.h>
#include <time.h>
static void *held[60], *volatile left;
__attribute__((noinline)) static void load(int i) {
	held[i] = malloc(50000);
	if (i == 30) left = malloc(20000);
}
int main(void) {
	for (int i = 0; i < 60; i++) load(i);
	for (int i = 0; i < 100; i++) nanosleep(&(struct timespec){0, 2000000}, NULL);
	for (int i = 0; i < 60; i++) free(held[i]);
	return 0;
}
"""


@pytest.mark.parametrize("how", ["-g", "-s"])
def test_what_was_held_is_where_it_was_held_not_where_a_little_is_left(tools, tmp_path, how):
    (tmp_path / "named").mkdir()
    named = build(tmp_path / "named", HOLDS_AND_LEAVES)
    recording = tools.record(build(tmp_path, HOLDS_AND_LEAVES, "-g", *([how] if how == "-s" else [])))
    text = finding(recording, "at-start")["text"]
    line = 1 + next(i for i, line in enumerate(HOLDS_AND_LEAVES.splitlines()) if "held[i] =" in line)
    if how == "-g":
        assert text.startswith(f"load prog.c:{line} "), text
    else:
        where = re.match(r"prog, no symbols \(at the peak, 99 % at prog\+(0x\w+)\): 3\.0 MB were allocated once", text)
        assert where, text
        place = subprocess.run(["addr2line", "-e", named, where[1]], capture_output=True, text=True, check=True).stdout
        assert place.split()[0].endswith(f"prog.c:{line}"), place


def test_a_compiler_names_a_function_of_its_libraries(tools, tmp_path):
    clang = shutil.which("clang")
    if clang is None:
        pytest.skip("no clang here")
    source = tmp_path / "some.cpp"
    source.write_text("#include <map>\n#include <string>\n"
                      "int main() { std::map<std::string, int> m; m[\"a\"] = 1; return m.size(); }\n")
    recording = tools.record(clang, "-cc1", "-emit-obj", "-O1", "-x", "c++", source, "-o",
                             tmp_path / "some.o", *includes_of(clang))
    peak = finding(recording, "peak")
    assert "clang::" in peak["function"], peak
    assert "cc1_main" not in peak["text"] and "+0x" not in peak["text"], peak


def includes_of(clang):
    """What the driver tells its compiler about headers."""
    said = subprocess.run([clang, "-###", "-c", "-x", "c++", "/dev/null"], capture_output=True,
                          text=True, check=True, timeout=60).stderr
    words = said.replace('"', "").split()
    keep = ("-internal-isystem", "-internal-externc-isystem", "-resource-dir", "-triple")
    return [word for i, w in enumerate(words[:-1]) if w in keep for word in (w, words[i + 1])]


# Nearly all is of the function itself: the table beside the sentence says how much
WITH_A_LITTLE = """
#include <stdlib.h>
void *volatile kept[2];
__attribute__((noinline)) static void index_rows(void) { kept[1] = malloc(600000); }
__attribute__((noinline)) static void load_rows(void) { kept[0] = malloc(9400000); index_rows(); }
int main(void) { load_rows(); return kept[1] == NULL; }
"""


def test_what_it_calls_is_not_said_to_be_its_own(tools, tmp_path):
    peak = finding(tools.record(build(tmp_path, WITH_A_LITTLE, "-fno-optimize-sibling-calls")), "peak")
    assert "load_rows prog.c:5 and what it calls hold 10.0 MB" in peak["text"], peak
    assert ", of it itself 9.4 MB, index_rows 600.0 kB" in peak["text"], peak


def test_what_it_calls_is_said_where_it_shows(tools, tmp_path):
    """A hundredth changes the figure that is printed: 5.651 MB are 5.7 MB, and 5.63 MB are not."""
    source = WITH_A_LITTLE.replace("9400000", "5630000").replace("600000", "21000")
    peak = finding(tools.record(build(tmp_path, source, "-fno-optimize-sibling-calls")), "peak")
    assert "load_rows prog.c:5 and what it calls hold 5.7 MB" in peak["text"], peak
    assert ", of it itself 5.6 MB" in peak["text"], peak


# Two functions of one name, each of its own file: the one calls the other
SAME_NAME = """
#include <stdlib.h>
void *kept[4];
extern void (*inner)(void);
__attribute__((noinline)) static void set_up(void) { kept[0] = malloc(5000000); inner(); kept[1] = kept[0]; }
int main(void) { set_up(); return kept[0] == 0; }
"""
OTHER_FILE = """
#include <stdlib.h>
extern void *kept[4];
__attribute__((noinline)) static void set_up(void) { kept[2] = malloc(3000000); __asm__ volatile(""); }
void (*inner)(void) = set_up;
"""


def test_functions_of_one_name_are_not_one(tools, tmp_path):
    other = tmp_path / "other.c"
    other.write_text(OTHER_FILE)
    peak = finding(tools.record(build(tmp_path, SAME_NAME, other)), "peak")
    assert "set_up prog.c:5 and what it calls hold 8.0 MB (100 % of the peak), of it itself 5.0 MB, set_up other.c 3.0 MB" \
        in peak["text"], peak


def test_each_module_of_python_has_its_own_body(tools, tmp_path):
    (tmp_path / "held.py").write_text("kept = [bytearray(4000000)]\n")
    (tmp_path / "more.py").write_text("import held\nkept = [bytearray(3000000)]\n")
    (tmp_path / "script.py").write_text("import more\nkept = [bytearray(2000000)]\n")
    peak = finding(tools.record(shutil.which("python3"), tmp_path / "script.py"), "peak")
    assert re.search(r"<module> script\.py:\d and what it calls hold .* <module> more\.py 7\.\d MB", peak["text"]) or \
        re.search(r"<module> more\.py:\d and what it calls hold .* <module> held\.py 4\.\d MB, itself 3\.\d MB", peak["text"]), peak
