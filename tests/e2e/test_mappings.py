"""Calls that map memory: who mapped how much, apart from the heap, which they leave as it is."""

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "random"))

import attaching
import conftest
import events
from attaching import target  # noqa: F401

PAGE = 4096
MIB = 1 << 20
HEAD = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define OURS __attribute__((noinline))
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
enum { PAGE = 4096, MIB = 1 << 20 };
OURS static char *make(size_t bytes) {
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__asm__ volatile("" : : "r"(at) : "memory");
	return at;
}
OURS static char *ask(size_t bytes) {
	char *at = (char *)syscall(SYS_mmap, NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__asm__ volatile("" : : "r"(at) : "memory");
	return at;
}
OURS static char *grow(long bytes) {
	char *at = sbrk(bytes);
	__asm__ volatile("" : : "r"(at) : "memory");
	return at;
}
OURS static char *attach(int id) {
	char *at = shmat(id, NULL, 0);
	__asm__ volatile("" : : "r"(at) : "memory");
	return at;
}
OURS static int give(void *at, size_t bytes, int how) {
	int result = madvise(at, bytes, how);
	__asm__ volatile("" : : "r"(result) : "memory");
	return result;
}
OURS static int lock(void *at, size_t bytes) {
	int result = mlock(at, bytes);
	__asm__ volatile("" : : "r"(result) : "memory");
	return result;
}
OURS static int create(const char *name) {
	int fd = memfd_create(name, 0);
	__asm__ volatile("" : : "r"(fd) : "memory");
	return fd;
}
OURS static void name(void *at, size_t bytes) {
	int result = prctl(PR_SET_VMA, 0 /* PR_SET_VMA_ANON_NAME */, at, bytes, "cache");
	__asm__ volatile("" : : "r"(result) : "memory");
}
OURS static void leave(void) {
	syscall(SYS_exit, 7);
}
"""
# Name: body of main, then per function: maps, mapped bytes, mappings and bytes never unmapped
TRUTHS = {
    "parts": (r"""
	char *a = make(10 * MIB);
	munmap(a + MIB, MIB);
	munmap(a + 4 * MIB + 5, MIB); // refused
	munmap(a, 0);                 // likewise
	munmap(a, (size_t)1 << 63);   // likewise
	munmap(a + 9 * MIB, MIB - 1);
	char *b = make(3 * MIB - 1);
	munmap(b, 3 * MIB);
	""", {"make": (2, 13 * MIB, 1, 8 * MIB)}),
    "moved": (r"""
	char *a = make(4 * MIB), *wall = mmap(a + 4 * MIB, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	a = mremap(a, 4 * MIB, 64 * MIB, MREMAP_MAYMOVE); // perhaps in place
	a = mremap(a, 64 * MIB, 16 * MIB, 0);             // the end goes
	if (mremap(a, 16 * MIB, (size_t)1 << 46, MREMAP_MAYMOVE) != MAP_FAILED || wall == MAP_FAILED) return 2;
	""", {"make": (1, 4 * MIB, 0, 0), "main": (3, 64 * MIB + 16 * MIB + PAGE, 2, 16 * MIB + PAGE)}),
    "over": (r"""
	char *a = make(8 * MIB);
	if (mmap(a + MIB, 2 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != a + MIB) return 2;
	mprotect(a, MIB, PROT_NONE);
	""", {"make": (1, 8 * MIB, 1, 6 * MIB), "main": (1, 2 * MIB, 1, 2 * MIB)}),
    "failed": (r"""
	if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED || errno != EINVAL) return 2;
	if (munmap((void *)1, PAGE) != -1 || errno != EINVAL) return 3;
	errno = 42;
	char *a = make(MIB);
	munmap(a, MIB);
	if (errno != 42) return 4;
	""", {"make": (1, MIB, 0, 0)}),
    "called": (r"""
	char *a = ask(8 * MIB);
	if (syscall(SYS_munmap, a + MIB, MIB) || syscall(SYS_mprotect, a, PAGE, PROT_READ)) return 2;
	if (syscall(SYS_mremap, a, MIB, PAGE, 0) != (long)a) return 3;
	if (syscall(SYS_mmap, NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != -1 || errno != EINVAL) return 4;
	if (syscall(SYS_getpid) != getpid()) return 5;
	// A thread that begins on another stack returns to what lies there
	static _Alignas(16) char stack[64 << 10];
	void (**top)(void) = (void (**)(void))(stack + sizeof stack - 64);
	*top = leave;
	int status = 0;
	long child = syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, top, 0, 0, 0);
	if (waitpid((pid_t)child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) return 6;
	""", {"ask": (1, 8 * MIB, 1, 6 * MIB + PAGE)}),
    "break": (r"""
	char *at = grow(3 * MIB);
	if (sbrk(0) != at + 3 * MIB || sbrk(-MIB) != at + 3 * MIB) return 2;
	if (brk(at + 4 * MIB) != 0 || sbrk(0) != at + 4 * MIB) return 3;
	if (brk((char *)2 + ((uintptr_t)1 << 47)) == 0 || errno != ENOMEM) return 4;
	(void)brk((char *)PAGE); // 0, but the heap begins above it
	if (sbrk(0) != at + 4 * MIB) return 5;
	""", {"grow": (1, 3 * MIB, 1, 2 * MIB), "main": (1, 2 * MIB, 1, 2 * MIB)}),
    "attached": (r"""
	int id = shmget(IPC_PRIVATE, 5 * MIB - 1, IPC_CREAT | 0600), other = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
	char *a = attach(id), *b = attach(id), *c = (char *)syscall(SYS_shmat, other, NULL, SHM_RDONLY);
	if (shmat(-1, NULL, 0) != MAP_FAILED || errno != EINVAL) return 2;
	if (shmctl(id, IPC_RMID, NULL) || shmctl(other, IPC_RMID, NULL)) return 3;
	char *d = attach(id); // Linux lets one, as long as somebody has it
	memset(a, 1, 5 * MIB - 1);
	char *plain = make(8 * MIB);
	// None of these detaches anything
	if (shmdt(plain) != -1 || shmdt(a + PAGE) != -1 || shmdt(a + 1) != -1 || errno != EINVAL) return 4;
	mprotect(b + MIB, MIB, PROT_READ);
	munmap(b + 2 * MIB, 2 * PAGE);
	if (mmap(b + 2 * MIB, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != b + 2 * MIB) return 7;
	munmap(b, PAGE);
	if (shmdt(b) || syscall(SYS_shmdt, c) || d[5 * MIB - 2] != 1) return 5;
	if (shmat(id, plain, SHM_REMAP | SHM_RDONLY) != plain || shmdt(d)) return 6;
	""", {"attach": (3, 15 * MIB, 1, 5 * MIB), "main": (3, 6 * MIB + PAGE, 2, 5 * MIB + PAGE),
          "make": (1, 8 * MIB, 1, 3 * MIB)}),
    "threads": (r"""
	void *run(void *n) {
		for (int i = 0; i < 2000; i++) {
			char *a = make(16 * PAGE);
			memset(a, 1, PAGE);
			free(malloc(10));
			munmap(a, 16 * PAGE);
		}
		return make(MIB), n;
	}
	pthread_t threads[6];
	for (int i = 0; i < 6; i++) pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 6; i++) pthread_join(threads[i], NULL);
	""", {"make": (12006, 12000 * 16 * PAGE + 6 * MIB, 6, 6 * MIB)}),
    "fork": (r"""
	make(MIB);
	if (fork() == 0) {
		make(100 * MIB);
		_exit(0);
	}
	wait(NULL);
	make(2 * MIB);
	""", {"make": (2, 3 * MIB, 2, 3 * MIB)}),
}


# What is changed besides: body of main, then per function and sort: calls, bytes
CHANGES = r"""
	char *a = make(8 * MIB);
	errno = 42;
	if (give(a, 3 * MIB, MADV_DONTNEED) || give(a, PAGE + 1, MADV_DONTNEED) || give(a + MIB, MIB, MADV_FREE)) return 2;
	if (give(a, 5 * MIB, MADV_WILLNEED) || errno != 42) return 3;       // gives nothing back
	if (give(a + 1, PAGE, MADV_FREE) != -1 || errno != EINVAL) return 4; // refused
	if (lock(a + 5, 2 * PAGE) || lock((void *)PAGE, PAGE) != -1) return 5;  // three pages; refused
	if (mlock2(a + MIB, 1, MLOCK_ONFAULT) || munlock(a + PAGE, PAGE)) return 6;
	if (syscall(SYS_munlock, a, PAGE) || syscall(SYS_mlock, a, PAGE) || syscall(SYS_madvise, a + 6 * MIB, MIB, MADV_FREE)) return 7;
	if (syscall(SYS_madvise, a, MIB, MADV_NORMAL) || syscall(SYS_mlock2, a, PAGE, 0)) return 8;
	int fd = create("one"), other = (int)syscall(SYS_memfd_create, "two", MFD_CLOEXEC);
	if (fd < 0 || other < 0 || memfd_create("three", ~0u) != -1 || errno != EINVAL) return 9;
	name(a + 2 * PAGE, 3 * PAGE), syscall(SYS_prctl, PR_SET_VMA, 0, a, PAGE, "by hand"); // the kernel may refuse
	char thread[16] = "";
	if (prctl(PR_SET_NAME, "renamed") || prctl(PR_GET_NAME, thread) || strcmp(thread, "renamed")) return 10;
"""
CHANGED = {("give", "given-back"): (2, 3 * MIB + 2 * PAGE), ("give", "given-back-lazily"): (1, MIB),
           ("lock", "locked"): (1, 3 * PAGE), ("main", "locked"): (3, 3 * PAGE), ("main", "unlocked"): (2, 2 * PAGE),
           ("main", "given-back-lazily"): (1, MIB), ("create", "memfd-created"): (1, 0), ("main", "memfd-created"): (1, 0),
           ("name", "named"): (1, 3 * PAGE), ("main", "named"): (1, PAGE)}


def changes_of(memory):
    """Calls and bytes by the innermost function and by what they have changed; of the program's."""
    sums = {}
    for row in memory["changes"]:
        assert row["first_ns"] <= row["last_ns"]
        if row["stack"][0]["function"] in ("main", "give", "lock", "create", "name"):
            calls, size = sums.get((row["stack"][0]["function"], row["what"]), (0, 0))
            sums[row["stack"][0]["function"], row["what"]] = (calls + row["calls"], size + row["bytes"])
    return sums


def build_program(tmp_path, body, *flags):
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(f"{HEAD}\nint main(void) {{\n{body}\n\treturn 0;\n}}\n")
    subprocess.run(["gcc", "-O1", "-g", *flags, "-o", program, source, "-pthread"], check=True, timeout=60)
    return program


def by_function(memory):
    """Maps, mapped bytes, mappings and bytes never unmapped, by the innermost function."""
    sums = {}
    for row in memory["mappings"]:
        caller = next(frame["function"] for frame in row["stack"] if frame["function"] not in ("sbrk", "__sbrk"))
        of = sums.setdefault(caller, [0] * 4)
        for i, key in enumerate(("maps", "mapped_bytes", "never_unmapped", "never_unmapped_bytes")):
            of[i] += row[key]
    return {name: tuple(of) for name, of in sums.items()}


def assert_adds_up(memory):
    for key in ("peak_bytes", "never_unmapped_bytes"):
        total = memory["mapped_peak_bytes" if key == "peak_bytes" else key]
        assert sum(row[key] for row in memory["mappings"]) == total


@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["preloaded", "injected"])
@pytest.mark.parametrize("name", TRUTHS)
def test_what_was_mapped_is_known(tools, tmp_path, name, flags):
    body, truth = TRUTHS[name]
    recording = tools.record(build_program(tmp_path, body, *flags))
    assert recording.status == 0, repr(recording)
    memory = recording.json("--limit", "0")["memory"]
    got = by_function(memory)
    if flags:  # the C library's own calls are seen, too
        got = {name: got.get(name) for name in truth}
    assert got == truth
    assert_adds_up(memory)
    assert recording.json()["summary"]["lost_events"] == 0


@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["preloaded", "injected"])
def test_what_was_given_back_or_locked_is_known(tools, tmp_path, flags):
    recording = tools.record(build_program(tmp_path, CHANGES, *flags))
    assert recording.status == 0, repr(recording)
    assert changes_of(recording.json("--limit", "0")["memory"]) == CHANGED
    text = recording.report("--memory")
    assert re.search(r"^given back: 3\.2 MB in 2 calls, the most by give program\.c:\d+$", text, re.M), text
    assert re.search(r"^locked: 24\.6 kB in 4 calls, the most by lock program\.c:\d+$", text, re.M), text


HUGE = Path("/proc/sys/vm/nr_hugepages")


@pytest.fixture
def huge_pages():
    """A few, as long as the test runs."""
    before = HUGE.read_text() if HUGE.exists() else "0"
    try:
        HUGE.write_text(str(int(before) + 4))
    except OSError:
        pytest.skip("huge pages cannot be reserved")
    if int(HUGE.read_text()) < int(before) + 4:
        HUGE.write_text(before)
        pytest.skip("there are no huge pages")
    yield
    HUGE.write_text(before)


@pytest.mark.serial
@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["preloaded", "injected"])
def test_a_segment_of_huge_pages_has_whole_ones(tools, tmp_path, huge_pages, flags):
    recording = tools.record(build_program(tmp_path, """
	int id = shmget(IPC_PRIVATE, 3 * MIB, IPC_CREAT | SHM_HUGETLB | 0600);
	char *a = id < 0 ? MAP_FAILED : attach(id);
	if (shmctl(id, IPC_RMID, NULL) || a == MAP_FAILED) return 2;
	memset(a, 1, 4 * MIB);
	char *b = shmat(id, NULL, SHM_RDONLY);
	if (shmdt(b)) return 3;
	""", *flags))
    assert recording.status == 0, repr(recording)
    memory = recording.json("--limit", "0")["memory"]
    got = by_function(memory)
    assert (got["attach"], got["main"]) == ((1, 4 * MIB, 1, 4 * MIB), (1, 4 * MIB, 0, 0))


def test_ranges_are_those_of_the_kernel(tools, tmp_path):
    """What is mapped at the end, by the file's own tables, is what the program sees of it."""
    body = r"""
	char *a = make(64 * PAGE);
	for (int i = 1; i < 64; i += 5) munmap(a + i * PAGE, (i % 3 + 1) * PAGE);
	mprotect(a + 2 * PAGE, PAGE, PROT_READ);
	for (int i = 0; i < 64; i++) {
		unsigned char in_core;
		printf("%lx %d\n", (unsigned long)a + (unsigned long)i * PAGE, mincore(a + i * PAGE, PAGE, &in_core) == 0);
	}
	"""
    recording = tools.record(build_program(tmp_path, body))
    is_mapped = {int(at, 16): yes == "1" for at, yes in map(str.split, recording.stdout.splitlines())}
    assert len(is_mapped) == 64
    rows = events.Events(Path(recording.file)).tables["ranges"]
    pages = {at for row in rows for at in range(row["start"], row["end"], PAGE)}
    assert pages == {at for at, yes in is_mapped.items() if yes}


def test_an_allocators_own_mappings_are_not_in_the_heap(tools, tmp_path):
    jemalloc = shutil.which("true") and sorted(Path("/usr/lib").glob("*/libjemalloc.so.2"))
    if not jemalloc:
        pytest.skip("libjemalloc2 is missing")
    program = build_program(tmp_path, "char *volatile block = malloc(30 * MIB); memset(block, 1, MIB); make(MIB);",
                            "-fno-builtin")
    recording = tools.record(program, env={"LD_PRELOAD": str(jemalloc[0])})
    data = recording.json("--limit", "0")
    inside = [row for row in data["memory"]["mappings"] if row["by_allocator"]]
    assert inside and all(any("malloc" in f["function"] for f in row["stack"]) for row in inside)
    assert sum(row["maps"] for row in inside) > 0
    assert data["summary"]["peak_bytes"] < 31 * MIB
    assert by_function(data["memory"])["make"] == (1, MIB, 1, MIB)


def test_no_memory_turns_it_off(tools, tmp_path):
    recording = tools.record(build_program(tmp_path, "make(MIB);"), options=["--no-memory"])
    assert recording.status == 0
    assert recording.json()["memory"] is None


# How a program comes to its C library: compiler, and what of it is known
INJECTED = {
    "own": ("gcc", ["-fno-builtin", "-l:libjemalloc.a", "-lm", "-ldl"]),
    "static": ("gcc", ["-static"]),
    "static-pie": ("gcc", ["-static-pie"]),
    "musl": ("musl-gcc", []),
    "musl-static": ("musl-gcc", ["-static"]),
    "stripped": ("gcc", ["-static", "-s"]),
}
# Its functions that map, each as often as TRUTHS has it, a thread's stack and a block of malloc's
ALL_WAYS = r"""
	char *before = make(7 * MIB);
	signal(SIGUSR1, go_on);
	puts("ready"), fflush(stdout);
	while (waits && !goes_on) usleep(1000);
	munmap(before, MIB);
	char *a = make(10 * MIB), *volatile block;
	munmap(a + MIB, MIB);
	if (make_again(a, MIB, 3 * MIB) == MAP_FAILED || mprotect(a + 2 * MIB, MIB, PROT_NONE)) return 2;
	if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED || errno != EINVAL) return 3;
	if (munmap((void *)1, PAGE) != -1 || errno != EINVAL) return 4;
	int id = shmget(IPC_PRIVATE, 2 * MIB, IPC_CREAT | 0600);
	char *shared = attach(id);
	if (attach(-1) != MAP_FAILED || attach(id) == MAP_FAILED || shmctl(id, IPC_RMID, NULL) || shmdt(shared)) return 5;
	if (give(a + 5 * MIB, MIB, MADV_DONTNEED) || lock(a + 5 * MIB, PAGE)) return 6;
	block = malloc(5 * MIB);
	pthread_t thread;
	pthread_create(&thread, NULL, run, NULL), pthread_join(thread, NULL);
	puts("done"), fflush(stdout);
	while (waits) usleep(1000);
	return block == NULL;
}
"""
ALL_WAYS_HEAD = r"""
static volatile sig_atomic_t goes_on, waits;
static void go_on(int n) { goes_on = n; }
static void *run(void *n) { return n; }
OURS static char *make_again(char *at, size_t was, size_t bytes) {
	at = mremap(at, was, bytes, MREMAP_MAYMOVE);
	__asm__ volatile("" : : "r"(at) : "memory");
	return at;
}
int main(int n, char **words) {
	waits = n > 1 && words[1][0] == 'w';
"""


@pytest.fixture
def every_way(tmp_path):
    """Build a program that maps in all ways: `own` and so on of INJECTED, or `plain`."""
    def build(way):
        compiler, flags = INJECTED.get(way, ("gcc", []))
        source, program = tmp_path / "ways.c", tmp_path / way
        source.write_text(HEAD + ALL_WAYS_HEAD + ALL_WAYS)
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is missing")
        words = [compiler, "-O1", "-g", "-o", program, source, "-pthread", *flags]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        if way == "own" and "libjemalloc" in done.stderr:
            pytest.skip("libjemalloc2 is missing")
        assert done.returncode == 0, done.stderr
        return program
    return build


def sentences_of(data):
    return {line["id"] for line in data["quality"]["sentences"]}


def assert_knows_every_way(memory, is_attached, is_inner):
    """`is_inner`: what the C library maps for itself is seen as well."""
    got = by_function(memory)
    before = 0 if is_attached else 1
    assert got["make"] == (1 + before, (10 + 7 * before) * MIB, 1 + before, (8 + 6 * before) * MIB)
    assert got["make_again"] == (1, 3 * MIB, 1, 3 * MIB)
    assert got["attach"] == (2, 4 * MIB, 1, 2 * MIB)
    changes = changes_of(memory)
    assert (changes["give", "given-back"], changes["lock", "locked"]) == ((1, MIB), (1, PAGE))
    assert_adds_up(memory)
    frames = [{frame["function"] for frame in row["stack"]} for row in memory["mappings"] if not row["by_allocator"]]
    assert any({"pthread_create", "__pthread_create", "__pthread_create_2_1"} & names for names in frames) == is_inner


@pytest.mark.parametrize("way", ["plain", *INJECTED])
def test_each_kind_of_recorder_records_or_says(tools, every_way, way):
    recording = tools.record(every_way(way))
    assert recording.status == 0, repr(recording)
    data = recording.json("--limit", "0")
    assert data["summary"]["lost_events"] == 0 and data["summary"]["allocations"] >= 1
    if way == "stripped":
        assert data["memory"] is None and "no-mappings" in sentences_of(data)
        assert "what is mapped is not recorded" in recording.stderr
        return
    assert_knows_every_way(data["memory"], False, way != "plain")
    assert not {"no-mappings", "mapped-before"} & sentences_of(data)
    # musl's own malloc in a static program takes what brk gives
    if way in ("own", "static", "static-pie", "musl"):
        assert sum(row["mapped_bytes"] for row in data["memory"]["mappings"] if row["by_allocator"]) > 5 * MIB


@pytest.mark.attach
@pytest.mark.parametrize("way", ["plain", *INJECTED])
def test_so_does_attaching(build, target, every_way, tmp_path, way):
    victim = target([every_way(way), "wait"])
    process = attaching.start_listening(build, victim.pid, tmp_path / "attached")
    victim.process.send_signal(signal.SIGUSR1)
    conftest.wait_until(lambda: "done" in victim.said(), what="its work")
    status, said = attaching.finish(process)
    assert status == 0 and victim.is_alive(), said
    assert not attaching.changed_code(victim.pid)
    data = attaching.known(build, tmp_path / "attached.zst")
    assert data["summary"]["lost_events"] == 0
    if way == "stripped":
        assert data["memory"] is None and "no-mappings" in sentences_of(data)
        return
    assert_knows_every_way(data["memory"], True, True)
    assert "mapped-before" in sentences_of(data)


# In a process whose maps are known before and after; what is imported later is mapped by the loader
ATTACHED = r"""
import gc, mmap, signal, sys, threading, time
goes_on = []
signal.signal(signal.SIGUSR1, lambda *_: goes_on.append(1))
early = [mmap.mmap(-1, 1 << 20) for _ in range(8)]
print("ready", flush=True)
while not goes_on:
	time.sleep(0.01)
early[3].close(), early[5].close()
kept = [str(i) * 20 for i in range(100000)]
late = [mmap.mmap(-1, (i + 1) << 12) for i in range(40)]
for one in late[::3]:
	one.close()
late[1].resize(1 << 22)
late[4].resize(1 << 12)
threads = [threading.Thread(target=lambda: kept.append("a" * 100000)) for _ in range(8)]
[one.start() for one in threads], [one.join() for one in threads]
del kept[::2]
gc.collect()
print("done", flush=True)
while True:
	time.sleep(1)
"""


def pages_of(pid):
    """All that a process has mapped by calls: a stack grows by itself."""
    pages = set()
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if "[stack]" not in line and "[v" not in line:
            start, end = (int(word, 16) for word in line.split(maxsplit=1)[0].split("-"))
            pages.update(range(start, end, PAGE))
    return pages


@pytest.mark.attach
def test_an_attach_sees_what_the_kernel_sees(build, target, tmp_path):
    """Page by page: what a real program maps from the attach on, and nothing else."""
    victim = target([sys.executable, "-c", ATTACHED])
    attaching.attach(build, victim.pid, tmp_path / "first")  # what stays of heaptrack is there already
    before = pages_of(victim.pid)
    process = attaching.start_listening(build, victim.pid, tmp_path / "attached")
    victim.process.send_signal(signal.SIGUSR1)
    conftest.wait_until(lambda: "done" in victim.said(), what="its work")
    status, said = attaching.finish(process)
    assert status == 0 and victim.is_alive(), said
    after = pages_of(victim.pid)
    rows = events.Events(tmp_path / "attached.zst").tables["ranges"]
    recorded = {at for row in rows for at in range(row["start"], row["end"], PAGE)}
    assert len(after - before) > 100
    assert not recorded - after, "it is not mapped"
    assert not after - before - recorded, "it was not seen"


def test_injected_recorders_take_part_in_no_memory(tools, every_way):
    data = tools.record(every_way("static"), options=["--no-memory"]).json()
    assert data["memory"] is None and "no-mappings" in sentences_of(data)


def test_mappings_of_signal_handlers_and_of_vfork(tools, tmp_path):
    """A handler that maps while the program maps; a child of vfork maps into its parent's memory."""
    body = r"""
	void on_tick(int n) {
		char *at = make(3 * PAGE);
		munmap(at, 3 * PAGE);
		(void)n;
	}
	struct sigaction act = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	sigaction(SIGPROF, &act, NULL);
	struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; i < 30000; i++) {
		char *at = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		free(malloc(300000));
		munmap(at, 2 * PAGE);
	}
	setitimer(ITIMER_PROF, &never, NULL);
	if (vfork() == 0) {
		make(5 * MIB);
		_exit(0);
	}
	wait(NULL);
	"""
    head = "#include <sys/time.h>\n"
    source, program = tmp_path / "handlers.c", tmp_path / "handlers"
    source.write_text(f"{HEAD}{head}int main(void) {{\n{body}\n\treturn 0;\n}}\n")
    for flags in ([], ["-static"]):
        subprocess.run(["gcc", "-O1", "-g", *flags, "-fno-builtin", "-o", program, source], check=True, timeout=60)
        recording = tools.record(program)
        data = recording.json("--limit", "0")
        assert recording.status == 0 and data["summary"]["lost_events"] == 0, repr(recording)
        got = by_function(data["memory"])
        maps, mapped, left, left_bytes = got["make"]
        assert (left, left_bytes) == (1, 5 * MIB) and mapped == (maps - 1) * 3 * PAGE + 5 * MIB
        assert got["main"] == (30000, 30000 * 2 * PAGE, 0, 0)
        inside = [row for row in data["memory"]["mappings"] if row["by_allocator"]
                  and not any("sbrk" in frame["function"] for frame in row["stack"])]
        assert all(row["never_unmapped"] == 0 for row in inside)
        # glibc raises its threshold of mmap with the first block of its own mapping that is freed
        assert sum(row["maps"] for row in inside) == (1 if flags else 0)


def test_nothing_is_lost_at_the_kernels_pace(tools, tmp_path):
    """Two threads that map and unmap as fast as the kernel does, which is a pair in some 4 us."""
    body = r"""
	void *run(void *n) {
		for (int i = 0; i < 50000; i++) {
			char *a = make(16 * PAGE);
			if (a == MAP_FAILED || munmap(a, 16 * PAGE)) _exit(3);
		}
		return n;
	}
	pthread_t threads[2];
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.0f\n", 100000 / ((double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9));
	"""
    recording = tools.record(build_program(tmp_path, body))
    assert recording.status == 0, repr(recording)
    data = recording.json("--limit", "0")
    print(f"{recording.stdout.strip()} pairs of mmap and munmap per second")
    assert by_function(data["memory"])["make"] == (100000, 100000 * 16 * PAGE, 0, 0)
    assert data["summary"]["lost_events"] == 0 and data["memory"]["mapped_peak_bytes"] <= 2 * 16 * PAGE


@pytest.mark.parametrize("flag", ["address", "thread", "undefined"])
def test_sanitizers_run_as_without(tools, tmp_path, flag):
    program = build_program(tmp_path, "char *a = make(MIB); memset(a, 1, MIB); munmap(a, MIB); puts(\"well\");",
                            f"-fsanitize={flag}")
    recording = tools.record(program)
    assert (recording.status, recording.stdout) == (0, "well\n"), repr(recording)


CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(mmap|mremap|munmap|shmget|shmat|shmdt|madvise|mlock|mlock2|munlock|memfd_create)\((.*)\) += (\S+)")


def calls_of(trace):
    """Each call that a program's code made by the C library: name, arguments, result, where from."""
    found, frames = [], None
    for line in trace.splitlines():
        match = CALL.match(line)
        if match:
            frames = []
            found.append((match[1], match[2].split(", "), match[3], frames))
        elif line.startswith(" > ") and frames is not None:
            frames.append(line[3:])
        else:
            frames = None
    return found


def is_heaptrack(call):
    """Before its exec the program's process is heaptrack."""
    return any(re.search(r"/heaptrack\(", frame) for frame in call[3])


# By the call's third argument or its name: row of table 47
CHANGE = {"MADV_DONTNEED": 1, "MADV_REMOVE": 1, "MADV_FREE": 2, "mlock": 3, "mlock2": 3, "munlock": 4, "memfd_create": 5}


@pytest.mark.long  # strace takes half a second to show a stack
@pytest.mark.parametrize("command", [
    ("luajit", "-e", "local t = {} for i = 1, 200000 do t[i] = {i} end print(#t)"),
    ("/usr/bin/python3", "-c", "kept = [str(i) * 20 for i in range(200000)]; print(len(kept))"),
    ("/usr/bin/python3", "-c", """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype, libc.shmat.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]
for i in range(1, 9):
	segment = libc.shmget(0, i * 100000, 0o1600)
	kept = [libc.shmat(segment, None, 0o10000 * (i & 1)) for _ in range(3)]
	libc.shmctl(segment, 0, None)
	assert None not in kept and libc.shmdt(kept[i % 3]) == 0 and libc.shmdt(kept[i % 3] + 4096) == -1
	at = ctypes.c_void_p(kept[(i + 1) % 3])
	assert libc.memfd_create(b"shared", 0) > 2
	assert libc.mlock(at, 5000) == 0 and libc.munlock(at, 100) == 0 and libc.madvise(ctypes.c_void_p(at.value + 8192), 8192, i % 2 * 4) == 0
"""),
    ("redis-server", "--check-system"),
    ("clang", "-fsyntax-only", "-x", "c", "/usr/include/stdlib.h"),
    ("gawk", "BEGIN { for (i = 0; i < 100000; i++) kept[i] = i; print length(kept) }"),
    ("nginx", "-t"),
    ("git", "--no-pager", "-C", str(Path(__file__).parent), "log", "--oneline", "-100"),
], ids=["luajit", "python", "shared", "redis", "clang", "gawk", "nginx", "git"])
def test_calls_are_those_that_strace_sees(tools, tmp_path, command):
    """Of the same run, so that addresses are the same: calls, bytes, and what is left at the end."""
    for program in ("strace", command[0]):
        if not shutil.which(program):
            pytest.skip(f"{program} is missing")
    file, trace = tmp_path / "recording.zst", tmp_path / "trace"
    done = tools.run("strace", "-ff", "-k", "-e", "trace=mmap,mremap,munmap,shmget,shmat,shmdt,madvise,mlock,mlock2,munlock,memfd_create", "-o", trace, tools.build / "heaptrack",
                     "-q", "-o", file, *command)
    assert done.status == 0 or command[0] in ("redis-server", "nginx"), repr(done)  # the machine may not please them
    tables = events.Events(file).tables
    seen = calls_of(Path(f"{trace}.{tables['meta'][0]['pid']}").read_text())
    calls = [call for call in seen if len(call[3]) > 1 and "libc.so" in call[3][0] and "preload.so(" in call[3][1]]
    others = [call for call in seen if len(call[3]) > 1 and call[0] != "shmget" and "libc.so" in call[3][0]
              and not re.search(r"/(ld-linux|libc\.so|libheaptrack)", call[3][1]) and not is_heaptrack(call)]
    assert not others, "went past the recorder"
    sizes = {call[2]: int(call[1][1]) for call in seen if call[0] == "shmget"}
    left, maps, mapped, attached, changes = set(), 0, 0, {}, {}
    for name, arguments, result, _ in calls:
        if result.startswith("-"):
            continue
        if name[:2] in ("ma", "ml", "me") or name == "munlock":
            what = CHANGE.get(arguments[2] if name == "madvise" else name)
            at, n = (0, 0) if name == "memfd_create" else (int(arguments[0], 16), int(arguments[1]))
            done = changes.setdefault(what, [0, 0])
            done[0] += 1
            done[1] += (at + n + PAGE - 1) // PAGE * PAGE - at // PAGE * PAGE
            continue
        if name == "shmat":
            at = int(result, 16)
            attached[at] = set(range(at, at + sizes[arguments[0]], PAGE))
            left |= attached[at]
            maps, mapped = maps + 1, mapped + len(attached[at]) * PAGE
        if name == "shmdt":
            left -= attached.pop(int(arguments[0], 16))
        if name.startswith("shm"):
            continue
        at, size = int(arguments[0], 16) if arguments[0] != "NULL" else 0, int(arguments[1])
        end = at + (size + PAGE - 1) // PAGE * PAGE
        if name != "mmap":
            left -= set(range(at, end, PAGE))
        is_smaller = name == "mremap" and int(result, 16) == at and int(arguments[2]) <= size
        if is_smaller:
            left |= set(range(at, at + int(arguments[2]), PAGE))
        elif name != "munmap":
            size, at = int(arguments[1 if name == "mmap" else 2]), int(result, 16)
            pages = set(range(at, at + size, PAGE))
            left |= pages
            maps, mapped = maps + 1, mapped + len(pages) * PAGE
    assert maps > 0
    changes.pop(None, None)  # other advice
    recorded = {}
    for row in tables["changes"]:
        done = recorded.setdefault(row["what"], [0, 0])
        done[0], done[1] = done[0] + row["calls"], done[1] + row["bytes"]
    assert recorded == changes
    assert sum(row["maps"] for row in tables["mappings"]) == maps
    assert sum(row["mapped_bytes"] for row in tables["mappings"]) == mapped
    assert {at for row in tables["ranges"] for at in range(row["start"], row["end"], PAGE)} == left
