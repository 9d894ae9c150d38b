"""Programs that are linked statically, or with musl: what tests/victims/linked.c does is recorded exactly.

The recorder is put into these; with "glibc" it is preloaded, and says the same.
"""

import signal

import pytest

from attaching import finish, known, start_listening, target  # noqa: F401
from conftest import wait_until
from ways import WAYS, build_way

pytestmark = pytest.mark.attach

THREADS, COROUTINES = 8, 20

# kind: in function, allocations, blocks never freed, their bytes
TRUTH = {
    "plain": ("plain", 40, 20, 400),
    "overflow": ("overflow", 10, 10, 300),
    "threads": ("in_thread", 50 * THREADS, 10 * THREADS, 1000 * THREADS),
    "coroutines": ("at_depth", 10 * COROUTINES, 5 * COROUTINES, 500 * COROUTINES),
    "both": ("at_depth", 10 * COROUTINES * THREADS, 5 * COROUTINES * THREADS, 500 * COROUTINES * THREADS),
}
FREES = {"plain": 20, "overflow": 0, "threads": 40 * THREADS, "coroutines": 6 * COROUTINES,
         "both": 6 * COROUTINES * THREADS}


def assert_true(got, kind, way, helpers):
    function, allocations, blocks, size = TRUTH[kind]
    summary, quality = got["summary"], got["quality"]
    assert summary["complete"] and summary["lost_events"] == summary["truncated_stacks"] == 0
    assert summary["failed"] == (30 if kind == "overflow" else 0)
    assert quality["unknown_frees"] == quality["double_allocations"] == 0, quality
    sites = helpers.through(got["sites"]["allocations"], function)
    kept = helpers.through(got["sites"]["never_freed"], function)
    assert helpers.total(sites, "allocations") == allocations
    assert (helpers.total(kept, "blocks"), helpers.total(kept, "bytes")) == (blocks, size)
    # glibc frees what it made for a thread
    assert 0 <= summary["frees"] - FREES[kind] <= (0 if "musl" in way else THREADS), summary


@pytest.mark.parametrize("kind", TRUTH)
@pytest.mark.parametrize("way", WAYS)
def test_launched(tools, helpers, way, kind, tmp_path):
    recording = tools.record(build_way("linked.c", way, tmp_path), kind)
    assert recording.status == 0 and "done" in recording.stdout, repr(recording)
    assert_true(recording.json(), kind, way, helpers)


@pytest.mark.parametrize("way", WAYS)
def test_the_end_of_a_thread_frees_nothing_of_the_programs(build, target, helpers, way, tmp_path):  # noqa: F811
    """Attached: glibc's own free is patched, and the thread's list of free blocks goes through it."""
    victim = target([build_way("named_threads.c", way, tmp_path), "wait"])
    process = start_listening(build, victim.pid, tmp_path / "threads")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "done" in victim.said(), what=repr(victim))
    status, err = finish(process)
    assert status == 0, err
    got = known(build, tmp_path / "threads.zst")
    assert got["quality"]["unknown_frees"] == got["quality"]["double_allocations"] == 0
    assert got["summary"]["frees"] == 3 * 40 * 39 // 2
    sites = helpers.through(got["sites"]["allocations"], "one_block")
    assert helpers.total(sites, "allocations") == 3 * 40 * 41 // 2


@pytest.mark.parametrize("n", range(4))
def test_threads_that_come_at_once_know_the_modules(tools, helpers, n, tmp_path):
    """What was known of modules may be void just then: each finds out for itself."""
    recording = tools.record(build_way("linked.c", "musl", tmp_path), "both")
    frames = [f for site in recording.json()["sites"]["allocations"] for f in site["stack"]]
    assert frames and not [f for f in frames if f["function"] == "generated code"]


CALLBACKS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <search.h>
void *kept[64];
int n_kept;
static int compare(const void *a, const void *b) {
	if (n_kept < 40) kept[n_kept++] = malloc(100);
	return *(const int *)a - *(const int *)b;
}
static void at_the_end(void) { kept[n_kept++] = malloc(100); }
int main(void) {
	int numbers[16];
	for (int i = 0; i < 16; i++) numbers[i] = i * 7 % 16;
	atexit(at_the_end);
	qsort(numbers, 16, sizeof *numbers, compare);
	void *root = NULL;
	for (int i = 0; i < 16; i++) tsearch(&numbers[i], &root, compare);
	return 0;
}
"""


@pytest.mark.parametrize("way", WAYS)
def test_stacks_go_through_the_c_library(tools, helpers, way, tmp_path):
    """musl has no unwind tables: the recorder gets some that are made from its code."""
    (tmp_path / "callbacks.c").write_text(CALLBACKS)
    recording = tools.record(build_way(tmp_path / "callbacks.c", way, tmp_path))
    got = recording.json()
    assert got["summary"]["truncated_stacks"] == 0
    sites = got["sites"]["allocations"]
    of_ours = helpers.through(sites, "compare") + helpers.through(sites, "at_the_end")
    assert helpers.total(of_ours, "allocations") >= 17
    for site in helpers.through(sites, "compare"):
        assert helpers.through([site], "main"), site["stack"]
    # A node of the tree and its stack's main: 16 of them
    assert helpers.total([site for site in helpers.through(sites, "main")
                          if not helpers.through([site], "compare")], "allocations") >= 16


GENERATED_THEN_DLOPEN = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv) {
	void *allocate = (void *)malloc;
	unsigned char *at = mmap(0, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 50; i++, at += 18) { // push %rbp; mov %rsp,%rbp; mov $malloc,%rax; call *%rax; pop %rbp; ret
		memcpy(at, "\x55\x48\x89\xe5\x48\xb8", 6);
		memcpy(at + 6, &allocate, 8);
		memcpy(at + 14, "\xff\xd0\x5d\xc3", 4);
		free(((void *(*)(size_t))at)(10));
	}
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		void *(*make)(int) = (void *(*)(int))dlsym(library, "make");
		for (int k = 0; k < 25; k++) make(k);
	}
	return 0;
}
"""
LIBRARY = r"""
#include <stdlib.h>
__attribute__((noinline)) void *make(int n) { void *block = malloc(n + 1); __asm__ volatile("" ::: "memory"); return block; }
"""


@pytest.mark.parametrize("way", ["glibc", "musl"])
def test_a_library_that_is_loaded_beside_generated_code(tools, helpers, way, tmp_path):
    for name, text in (("program.c", GENERATED_THEN_DLOPEN), ("library.c", LIBRARY)):
        (tmp_path / name).write_text(text)
    program = build_way(tmp_path / "program.c", way, tmp_path, "-w")
    libraries = [tmp_path / f"{i}.so" for i in range(3)]
    for library in libraries:
        build_way(tmp_path / "library.c", way, tmp_path, "-shared", "-fPIC").rename(library)
    recording = tools.record(program, *libraries)
    assert recording.status == 0, repr(recording)
    sites = recording.json()["sites"]["allocations"]
    assert helpers.total(helpers.through(sites, "make"), "allocations") == 75
