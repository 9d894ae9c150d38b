"""Whose frame on a thread's stack holds blocks, by programs whose functions know what they hold."""

import random
import re
import shutil
import subprocess

import pytest

SIZE = 120  # of a node, in bytes

HEAD = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct node { struct node *next; char rest[112]; };
static pthread_barrier_t ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile int is_over;
static int ends[2];
__attribute__((noinline)) static struct node *make(int n) {
	struct node *all = NULL;
	while (n-- > 0) {
		struct node *one = calloc(1, sizeof *one);
		one->next = all;
		all = one;
	}
	return all;
}
static int compare(const void *a, const void *b);
/* What make() and others have left on the stack, and in registers that need not be kept */
__attribute__((noinline)) static void wipe(void) {
	volatile char room[8192];
	memset((char *)room, 0, sizeof room);
	__asm__ volatile("xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi; xor %%edi, %%edi;"
	                 "xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d; xor %%r11d, %%r11d"
	                 ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}
__attribute__((noinline)) static void wait_in(int how) {
	char byte;
	wipe();
	pthread_barrier_wait(&ready);
	if (how == 0) {
		pthread_mutex_lock(&lock);
		while (!is_over) { pthread_cond_wait(&never, &lock); }
		pthread_mutex_unlock(&lock);
	} else if (how == 1) {
		while (read(ends[0], &byte, 1) < 0) {}
	} else {
		while (!is_over) {}
	}
}
/* Lists of their own are alive behind the call: in a frame, or in a register that what is called has saved */
__attribute__((noinline)) static void done(struct node *all) { __asm__ volatile("" :: "r"(all) : "memory"); }
"""


def function(name, n, calls, arguments=""):
    """Holds n nodes of its own while it calls; and what it is given."""
    given = "if (given) { done(given->next); }" if arguments else ""
    return (f"__attribute__((noinline)) static void {name}(struct node *given, int how) {{\n"
            f"\tstruct node *own = make({n});\n\t{calls}\n\tdone(own);\n\t{given}\n\t(void)given;\n}}\n")


def program(seed):
    """The source, and by thread and function the nodes that each holds."""
    choose = random.Random(seed)
    source, truth, mains = HEAD, {}, []
    source += "static int (*volatile sort_with)(const void *, const void *) = compare;\n"
    source += ("static __thread int its_way;\nstatic void by_library(struct node *given, int how);\n"
               "static int compare(const void *a, const void *b) { (void)a; (void)b;\n"
               "\tif (its_way >= 0) { int way = its_way; its_way = -1; wait_in(way); }\n\treturn 0; }\n"
               "__attribute__((noinline)) static void by_library(struct node *given, int how) {\n"
               "\tint pair[2] = {2, 1};\n\t(void)given;\n\tits_way = how;\n"
               "\tqsort(pair, 2, sizeof *pair, sort_with);\n}\n")
    n_threads = choose.randint(2, 5)
    for thread in range(n_threads):
        # The innermost first: what waits, perhaps in a call back from a library
        inner = choose.choice(["wait_in(how);", "by_library(NULL, how);"])
        for depth in range(choose.randint(1, 5)):
            name, n = f"f{thread}_{depth}", choose.randint(5, 300)
            passes = choose.choice(["own", "own->next", "given", "NULL"]) if depth else None
            calls = inner if not depth else f"{inner}({passes}, how);"
            source += function(name, n, calls, choose.choice(["", "given"]))
            truth[f"frame of {name} in thread w{thread}"] = n
            inner = name
        source += (f"static void *main{thread}(void *unused) {{\n\tpthread_setname_np(pthread_self(), \"w{thread}\");\n"
                   f"\t{inner}(NULL, {choose.randrange(3)});\n\treturn unused;\n}}\n")
        mains.append(f"main{thread}")
    source += (f"int main(void) {{\n\tpthread_t t;\n\tif (pipe(ends)) {{ return 1; }}\n"
               f"\tpthread_barrier_init(&ready, NULL, {n_threads + 1});\n"
               + "".join(f"\tpthread_create(&t, NULL, {it}, NULL);\n" for it in mains)
               + "\tpthread_barrier_wait(&ready);\n\tusleep(50000);\n\t_exit(0);\n}\n")
    return source, truth


COMPILERS = {
    "gcc -O0": ["gcc", "-O0"],
    "gcc -O2": ["gcc", "-O2", "-fomit-frame-pointer"],
    "gcc -O3": ["gcc", "-O3", "-fno-inline-functions", "-fno-ipa-cp"],
    "clang -O1": ["clang", "-O1"],
}


def holders(run):
    return {row["name"]: row for row in run.json()["leaks"]["holders"]}


def build(tmp_path, source, compiler, *more):
    if not shutil.which(compiler[0]):
        pytest.skip(f"{compiler[0]} is not installed")
    (tmp_path / "frames.c").write_text(source, encoding="utf-8")
    subprocess.run([*compiler, "-g", "-pthread", "-o", "frames", "frames.c", *more], cwd=tmp_path, check=True)
    return tmp_path / "frames"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_function_holds_what_it_knows(tools, tmp_path, compiler, seed):
    source, truth = program(seed)
    run = tools.record(build(tmp_path, source, COMPILERS[compiler]), options=("--leaks", "--force"))
    assert run.status == 0, repr(run)
    found = holders(run)
    lines = source.splitlines()
    for name, n in truth.items():
        row = found[name]
        assert (row["kind"], row["retained_blocks"], row["retained_bytes"]) == ("stack", n, n * SIZE), (name, found)
        assert row["file"].endswith("frames.c") and ("how)" in lines[row["line"] - 1]), (row, lines[row["line"] - 1])
    others = {name: row["retained_blocks"] for name, row in found.items() if name.startswith("frame of f")}
    assert others.keys() == truth.keys()


def test_a_stripped_program_has_no_false_names(tools, tmp_path):
    source, truth = program(1)
    run = tools.record(build(tmp_path, source, COMPILERS["gcc -O2"], "-s"), options=("--leaks", "--force"))
    found = holders(run)
    assert not [name for name in found if name.startswith("frame of f") or "main" in name], found
    for thread in {name.split()[-1] for name in truth}:
        n = sum(n for name, n in truth.items() if name.endswith(f" {thread}"))
        assert found[f"stack of thread {thread}"]["retained_blocks"] == n, (thread, found)


GROWS = HEAD + """
static int compare(const void *a, const void *b) { return (a > b) - (a < b); }
__attribute__((noinline)) static void serve(int n, int again) {
	struct node *own = make(n);
	(void)compare;
	if (again) {
		serve(n, 0);
	} else if (n == 30) {
		wait_in(0);
	} else {
		wait_in(1);
	}
	done(own);
}
static void *worker(void *n) {
	pthread_setname_np(pthread_self(), "worker");
	serve(*(int *)n, *(int *)n == 50);
	return NULL;
}
int main(int argc, char **argv) {
	pthread_t t;
	int n = atoi(argv[argc - 1]);
	if (pipe(ends)) { return 1; }
	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&t, NULL, worker, &n);
	pthread_barrier_wait(&ready);
	usleep(50000);
	_exit(0);
}
"""


def test_a_frame_is_the_same_whatever_it_waits_for(tools, tmp_path):
    """Of a function in its thread there is one row; where it has several frames that wait elsewhere, without a line."""
    path = build(tmp_path, GROWS, COMPILERS["gcc -O0"])
    runs = {n: tools.record(path, str(n), options=("--leaks", "--force"), name=f"recording-{n}") for n in (30, 40, 50)}
    name = "frame of serve in thread worker"
    rows = {n: holders(run)[name] for n, run in runs.items()}
    lines = GROWS.splitlines()
    assert {n: row["retained_blocks"] for n, row in rows.items()} == {30: 30, 40: 40, 50: 100}
    assert "wait_in(0)" in lines[rows[30]["line"] - 1] and "wait_in(1)" in lines[rows[40]["line"] - 1], rows
    assert (rows[50]["file"], rows[50]["line"]) == (None, None)
    for n in 40, 50:
        nodes = tools.json(runs[n].file, "--holders", "-d", runs[30].file)["nodes"]
        found = [(node["base_blocks"], node["this_blocks"]) for node in nodes if node["parent"] == 0 and node["function"] == name]
        assert found == [(30, rows[n]["retained_blocks"])], nodes


ENDS = HEAD + """
static void *worker(void *unused) {
	void *volatile blocks[100];
	for (int i = 0; i < 100; i++) { blocks[i] = malloc(1000); }
	usleep(100000);
	return (void)unused, blocks[0];
}
int main(void) {
	pthread_t t;
	pthread_setname_np(pthread_self(), "main");
	for (int i = 0; i < 3; i++) { pthread_create(&t, NULL, worker, NULL); }
	usleep(99900);
	exit(0);
}
"""


def test_threads_that_end_meanwhile_are_not_nameless(tools, tmp_path):
    path = build(tmp_path, ENDS, COMPILERS["gcc -O0"])
    found = holders(tools.record(path, options=("--leaks", "--force")))
    roots = [name for name in found if "stack of" in name or "frame of" in name]
    assert roots, found
    for name in roots:
        assert re.search(r"(stack of|frame of \w+ in) (thread main|a thread that has ended)", name), found
        assert "thread  " not in name and not name.endswith("thread "), found
