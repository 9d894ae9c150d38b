"""`heaptrack PROGRAM` where the preloaded recorder does not get in: it is put in at the start.

Static programs, those of musl, and those with an allocator of their own. tests/attach/once.c says what
it allocates, half of it before main: all of it must be seen.
"""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from attaching import Target, assert_once_is_whole, changed_code

pytestmark = pytest.mark.attach

PROGRAMS = ["once_static", "once_static_pie", "once_jemalloc", "once_musl", "once_musl_static"]


def program(build, name):
    path = build / "tests" / "attach" / name
    if not path.exists():
        pytest.skip(f"{name} is not built")
    return path


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_is_recorded_from_the_first_instruction(build, tools, helpers, name):
    sites = assert_once_is_whole(tools.record(program(build, name)), helpers)
    for caller in ("early", "main"):
        assert helpers.total(helpers.through(sites, caller), "allocations") == 50


@pytest.mark.parametrize("name", ["once_static", "once_static_pie"])
def test_without_names_glibc_is_recognized(build, tools, name):
    whole, stripped = tools.folder / "with", tools.folder / "less"  # paths are allocated, too
    shutil.copy(program(build, name), whole)
    subprocess.run(["strip", "-o", stripped, whole], check=True, timeout=60)
    truth, recording = tools.record(whole).json(), tools.record(stripped)
    assert recording.status == 7, repr(recording)
    assert ": malloc, free, calloc, realloc, memalign" in recording.stderr
    seen = recording.json()
    for what in ("allocations", "allocated_bytes", "frees", "never_freed_bytes", "peak_bytes"):
        assert seen["summary"][what] == truth["summary"][what], what
    assert seen["summary"]["allocations"] >= 100 and seen["summary"]["truncated_stacks"] == 0
    assert seen["quality"]["unknown_frees"] == seen["quality"]["double_allocations"] == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_stacks_are_whole(build, tools, name):
    known = tools.record(program(build, name)).json()
    assert known["summary"]["truncated_stacks"] == 0


SNMALLOC = """\
#include <stddef.h>
#include <string.h>
static char memory[1 << 20];
static size_t used;
#define OURS __attribute__((noinline, used))
OURS void *sn_rust_alloc(size_t alignment, size_t size) {
	used = (used + alignment - 1) / alignment * alignment + size;
	return memory + used - size;
}
OURS void sn_rust_dealloc(void *block, size_t alignment, size_t size) {
	memset(block, (int)alignment, size);
}
OURS void *sn_rust_realloc(void *block, size_t alignment, size_t old, size_t size) {
	void *moved = sn_rust_alloc(alignment, size);
	return memcpy(moved, block, old < size ? old : size);
}
OURS void *sn_malloc(size_t size) { return sn_rust_alloc(16, size); }
OURS void sn_free(void *block) { memset(block, 0xdd, 32); }
int main(void) {
	for (int i = 0; i < 100; i++) {
		void *a = sn_rust_alloc(16, 48), *b = sn_malloc(32);
		a = sn_rust_realloc(a, 16, 48, 96);
		if (i < 30) sn_rust_dealloc(a, 16, 96);
		if (i < 40) sn_free(b);
	}
	return 0;
}
"""


def test_snmallocs_names_are_known(tools, tmp_path):
    """By a stand-in with its names and signatures: the library itself is in no distribution."""
    (tmp_path / "sn.c").write_text(SNMALLOC)
    subprocess.run(["gcc", "-O1", "-g", "-o", tmp_path / "sn", tmp_path / "sn.c"], check=True,
                   timeout=60)
    recording = tools.record(tmp_path / "sn")
    assert "sn_rust_alloc" in recording.stderr, repr(recording)
    seen = recording.json()
    assert seen["summary"]["never_freed_blocks"] == 70 + 60
    assert seen["summary"]["never_freed_bytes"] == 70 * 96 + 60 * 32
    assert seen["summary"]["allocations"] == 300 and seen["quality"]["unknown_frees"] == 0


def test_what_is_hooked_is_told(build, tools):
    recording = tools.record(program(build, "once_jemalloc"))
    assert "hooked in" in recording.stderr
    assert "mallocx" in recording.stderr and "libc.so.6" in recording.stderr


@pytest.mark.parametrize("name", ["pattern_static", "pattern_musl", "pattern_jemalloc"])
def test_threads_and_signals_are_unharmed(build, tools, helpers, name):
    running = tools.start_record(program(build, name), "4", "signals")
    helpers.wait_until(lambda: "ready" in running.finished(0).stdout, what="its start")
    time.sleep(0.5)
    running.process.send_signal(signal.SIGTERM)  # passed on to the program
    done = running.wait()
    assert done.status == 0, repr(done)
    assert "bad 0 eintr 0" in done.stdout
    known = tools.json(running.file)
    assert known["summary"]["allocations"] > 1000 and known["summary"]["lost_events"] == 0


def test_without_an_allocator_it_runs_unrecorded(build, tools):
    recording = tools.record(program(build, "bare"))
    assert recording.status == 9
    assert "runs unrecorded" in recording.stderr
    assert "no allocation functions found" in recording.stderr and "written to" not in recording.stderr
    assert not recording.file.exists()


def test_the_programs_environment_is_its_own(build, tools):
    static_env = tools.folder / "environment"
    source = tools.folder / "environment.c"
    source.write_text('#include <stdio.h>\n#include <stdlib.h>\nextern char **environ;\n'
                      'int main(void) { free(malloc(1)); for (char **e = environ; *e; e++) puts(*e); }')
    subprocess.run(["gcc", "-static", "-o", static_env, source], check=True, timeout=60)
    recording = tools.record(static_env)
    assert recording.status == 0, repr(recording)
    assert "LD_PRELOAD" not in recording.stdout and "HEAPTRACK_SEGMENT" not in recording.stdout


def test_a_killed_heaptrack_leaves_it_running(build, tools, helpers):
    running = tools.start_record(program(build, "once_static"), "wait")
    pid = running.program()
    helpers.wait_until(lambda: changed_code(pid), 60, "the hooks")
    helpers.wait_until(lambda: "S" in Target.status(None, "State", pid), 60, "its wait")
    running.process.kill()
    helpers.wait_until(lambda: not changed_code(pid), 60, "the end of the hooks")
    assert Path(f"/proc/{pid}/status").exists()


AT_ONCE = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, CHILDREN = 50 };
static _Atomic int waiting;

__attribute__((noinline)) void *make_block(void) {
	void *at = malloc(100);
	__asm__ volatile("" : : : "memory"); // no tail call
	return at;
}

static void *make(void *unused) {
	(void)unused;
	atomic_fetch_sub(&waiting, 1);
	while (atomic_load(&waiting) > 0) {}
	return make_block();
}

static void make_at_once(int n) {
	pthread_t threads[THREADS];
	atomic_store(&waiting, n);
	for (int i = 0; i < n; i++) {
		(void)pthread_create(&threads[i], NULL, make, NULL);
	}
	for (int i = 0; i < n; i++) {
		(void)pthread_join(threads[i], NULL);
	}
}

int main(int argc, char **argv) {
	(void)argc;
	if (strcmp(argv[1], "threads") == 0) {
		make_at_once(THREADS);
		return 0;
	}
	(void)make_block();
	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0) {
			make_at_once(2);
			_exit(0);
		}
		(void)wait(NULL);
	}
	return 0;
}
"""


@pytest.fixture
def at_once(tools):
    """Threads whose first allocations come together. Of musl, whose pthread_create makes none itself."""
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed")
    (tools.folder / "at_once.c").write_text(AT_ONCE)
    path = tools.folder / "at_once"
    subprocess.run(["musl-gcc", "-static", "-O1", "-pthread", "-o", path, tools.folder / "at_once.c"], check=True,
                   timeout=60)
    return path


def test_first_stacks_of_threads_that_come_at_once(tools, helpers, at_once):
    for _ in range(20):
        recording = tools.record(at_once, "threads", options=("-f",))
        sites = recording.json()["sites"]["allocations"]
        assert helpers.total(helpers.through(sites, "make_block"), "allocations") == 8, sites


def test_a_child_whose_threads_come_at_once_is_one_child(tools, at_once):
    recording = tools.record(at_once, "forks")
    assert recording.json()["quality"]["children_forked"] == 50, repr(recording)
