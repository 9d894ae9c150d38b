"""Looks where the kernel refuses what newer ones tell: PAGEMAP_SCAN, PROCMAP_QUERY and perf.

sandbox.py answers these calls as a kernel does that does not have them.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "referee"))

import attaching
import referee
from attaching import target  # noqa: F401
from conftest import SOURCE, Recording, wait_until
from memory_truth import MIB, differences, kernel_tells_of_mappings, last_look, slack_of, sums, truth_of
from test_resident import WAYS

SANDBOX = [sys.executable, Path(__file__).with_name("sandbox.py"), "unknown", "witnesses"]
OF_MEMORY = ["looks", "memory", "mappings", "resident", "killed"]
ASKS = "import fcntl; fcntl.ioctl(open('/proc/self/pagemap', 'rb'), 0xc0606610, bytes(96))"
# Two callers' mappings, which the kernel joins
JOINED = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
static const size_t bytes = 1ul << 40;
static char *const at = (char *)0x200000000000;
__attribute__((noinline)) char *reserve(char *where) {
	return mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}
__attribute__((noinline)) char *low(void) { char *p = reserve(at); __asm__ volatile(""); return p; }
__attribute__((noinline)) char *high(void) { char *p = reserve(at + bytes); __asm__ volatile(""); return p; }
int main(void) {
	char *a = low(), *b = high();
	madvise(a, 2 * bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < 20 << 20; i += 4096) { a[i] = b[i] = 1; }
	free(malloc(9));
	return 0;
}
"""

UCX = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile sig_atomic_t goes_on;
static void go_on(int n) { goes_on = n; }
static volatile int is_done;
static void *map(void) {
	long result = -1;
#ifdef __x86_64__
	register long flags __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS, fd __asm__("r8") = -1, at __asm__("r9") = 0;
	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_mmap), "D"(0L), "S"(40L << 20), "d"(3L), "r"(flags), "r"(fd), "r"(at)
	                 : "rcx", "r11", "memory");
#endif
	return (void *)result;
}
static void *work(void *waits) {
	pthread_setname_np(pthread_self(), "uct_mm");
	printf("thread %d\nready\n", gettid()), fflush(stdout);
	while (waits && !goes_on) { usleep(1000); }
	free(malloc(100));
	for (int i = 0; i < 100; i++) { usleep(5000), free(malloc(100)); }
	memset(map(), 1, 40 << 20);
	puts("done"), fflush(stdout);
	is_done = 1;
	while (waits) { usleep(1000); }
	return waits;
}
int main(int n, char **words) {
	pthread_t thread;
	void *waits = n > 1 ? words : NULL;
	signal(SIGUSR1, go_on);
	free(malloc(50));
	pthread_create(&thread, NULL, work, waits);
	do { sleep(1); } while (waits || !is_done); // the thread is there until the end
	return 0;
}
"""


@pytest.fixture(name="record")
def fixture_record(tools):
    """record(is_refused, program, *words): a recording whose end was looked at."""
    def record(is_refused, *command):
        before = SANDBOX if is_refused else []
        file = tools.folder / f"recording{is_refused}.zst"
        for _ in range(10):  # on a busy machine a program does not wait long enough
            done = tools.run(*before, tools.heaptrack, "-f", "--events", "-o", file, *command)
            assert done.status == 0, repr(done)
            recording = Recording(done, file, tools)
            looks = recording.json()["memory"]["looks"]
            if looks and looks[-1]["at"] == "end" and not sums(looks[-1])["heap"]:
                return recording
        pytest.fail("no look at the end")
    return record


def test_they_are_refused():
    done = subprocess.run([*SANDBOX, sys.executable, "-c", ASKS], capture_output=True, text=True, check=False)
    assert "Inappropriate ioctl for device" in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_the_parts_are_the_same(tools, record, way, is_long):
    if not is_long and way not in ("zeros", "reserve"):
        pytest.skip("only with --long")
    parts, told_by_perf = [], way == "raw" and kernel_tells_of_mappings()
    for is_refused in (False, True):
        recording = record(is_refused, tools.victim("resident"), way)
        truth, look = truth_of(recording.stdout), last_look(recording.json())
        found = differences(truth, look, slack_of(way, truth))
        assert not found, "\n".join(found)
        parts.append(sums(look))
        if told_by_perf:  # then its owner is known
            assert parts[-1]["unknown" if is_refused else "mapped"] >= 40 * MIB
            parts[-1]["mapped"], parts[-1]["unknown"] = parts[-1]["mapped"] + parts[-1]["unknown"], 0
    for part, of in parts[0].items():
        assert abs(of - parts[1][part]) <= of * 0.02 + MIB // 2, f"{part}: {of} and {parts[1][part]}"


def test_what_is_not_listed_is_said(build, tools, record):
    """It costs one line; nobody gets what may be another's."""
    source = tools.folder / "joined.c"
    source.write_text(JOINED)
    program = tools.folder / "joined"
    subprocess.run(["gcc", "-O1", "-g", "-w", "-fno-builtin", "-o", program, source], check=True, timeout=60)
    known, less = record(False, program), record(True, program)
    parts = sums(last_look(less.json()))
    assert sums(last_look(known.json()))["mapped"] == 40 * MIB
    assert parts["mapped"] == 0 and 40 * MIB <= parts["unknown"] < 41 * MIB
    unknown = next(part for part in last_look(less.json())["parts"] if part["id"] == "unknown")
    assert "large mappings that old kernels do not list" in [row["name"] for row in unknown["rows"]]
    text = less.report()
    assert text.count("owner not known (large mappings that old kernels do not list 41.9 MB)") == 1, text
    assert referee.Referee(less.file, build).judge() == []


@pytest.mark.parametrize("is_attached", [False, pytest.param(True, marks=pytest.mark.attach)], ids=["launched", "attached"])
def test_a_mapping_that_no_hook_saw_has_its_thread(build, tools, target, tmp_path, is_attached):
    """As UCX maps, by an instruction of its own, in a thread that was there before an attach."""
    if not kernel_tells_of_mappings():
        pytest.skip("the kernel does not permit perf_event_open")
    (tmp_path / "ucx.c").write_text(UCX)
    program = tmp_path / "ucx"
    subprocess.run(["gcc", "-O1", "-g", "-w", "-o", program, tmp_path / "ucx.c", "-pthread"], check=True, timeout=60)
    if is_attached:
        victim = target([program, "wait"])
        process = attaching.start_listening(build, victim.pid, tmp_path / "recording")
        victim.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: "done" in victim.said(), what="its work")
        status, said = attaching.finish(process)
        assert status == 0 and victim.is_alive(), said
        said, file = victim.said(), tmp_path / "recording.zst"
    else:
        recording = tools.record(program, options=["--events"])
        assert recording.status == 0, repr(recording)
        said, file = recording.stdout, recording.file
    tid = next(line.split()[1] for line in said.splitlines() if line.startswith("thread"))
    document = tools.json(file)
    look = last_look(document, "detach" if is_attached else "end")
    rows = {row["name"]: row["bytes"] for part in look["parts"] if part["id"] == "mapped" for row in part["rows"]}
    own = {name: of for name, of in rows.items() if name and name.startswith(f"thread {tid} (uct_mm)")}
    assert own == {f"thread {tid} (uct_mm), by system calls of its own": 40 * MIB}, rows
    assert sums(look)["unknown"] <= look["rss_bytes"] * 0.02 + look["changed_bytes"]
    text = tools.print(file).stdout
    assert f"mapped by {next(iter(own))}" in text, text
    found = next(f["text"] for f in document["findings"] if f["id"] == "resident")
    assert f" were mapped by {next(iter(own))}." in found
    assert referee.Referee(file, build).judge() == []


MAPS_ON = UCX[UCX.index("#define"):UCX.index("static void *work")].replace("static void *map", "void *map") + r"""
#ifndef LIBRARY
void *map(void);
int main(void) {
	usleep(300000); // until it is watched
	for (int i = 0; i < 4; i++) {
		memset(map(), 1, 40 << 20);
		for (int k = 0; k < 60; k++) { usleep(10000), free(malloc(100)); }
	}
	sleep(1);
	return 0;
}
#endif
"""
TRACED = ["unshare", "--mount", "sh", "-c", 'mount -t tracefs tracefs /sys/kernel/tracing && exec "$@"', "sh"]
TRACEPOINT = "/sys/kernel/tracing/events/syscalls/sys_exit_mmap/id"


def test_code_that_maps_has_its_module(tools, build, tmp_path):
    """Once a look has found such memory: root is told of the rest by the kernel's tracepoint."""
    if subprocess.run([*TRACED, "cat", TRACEPOINT], capture_output=True, check=False).returncode != 0:
        pytest.skip("no tracepoints for system calls here")
    library, main = MAPS_ON.replace("#ifndef LIBRARY", "#if 0"), MAPS_ON.replace("void *map(void) {", "void *unused(void) {")
    (tmp_path / "library.c").write_text(library)
    (tmp_path / "main.c").write_text(main)
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", tmp_path / "libuct.so", tmp_path / "library.c"], check=True, timeout=60)
    subprocess.run(["gcc", "-w", "-o", tmp_path / "ucx", tmp_path / "main.c", tmp_path / "libuct.so", "-Wl,-rpath,$ORIGIN"],
                   check=True, timeout=60)
    file = tools.folder / "recording.zst"
    for _ in range(10):  # under load, looks come late
        done = tools.run(*TRACED, tools.heaptrack, "-f", "--events", "-o", file, tmp_path / "ucx")
        assert done.status == 0, repr(done)
        rows = {row["name"]: row["bytes"] for part in last_look(tools.json(file))["parts"] if part["id"] == "mapped"
                for row in part["rows"] if row["name"]}
        named = sum(size for name, size in rows.items() if name.endswith(", by system calls of its own in libuct.so"))
        grown = tools.json(file)["findings"][0]
        if named and grown["id"] == "mapped-growing":
            break
    unnamed = sum(size for name, size in rows.items() if name.endswith(", by system calls of its own"))
    assert named + unnamed == 160 * MIB and unnamed <= 80 * MIB, rows
    assert re.match(r"what thread \d+ \(ucx\), by system calls of its own in libuct.so, has mapped grew by ", grown["text"]), grown
    assert referee.Referee(file, build).judge() == []


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("subject", OF_MEMORY)
def test_all_tests_pass_without_them(subject):
    done = subprocess.run([*SANDBOX, sys.executable, "-m", "pytest", "-c", SOURCE / "tests/pytest.ini", "-q", "--long",
                           f"{SOURCE}/tests/e2e/test_{subject}.py"], capture_output=True, text=True,
                          check=False, timeout=2900)
    assert done.returncode == 0, done.stdout[-10000:]


REPLACED = r"""
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
static long call(long n, long a, long b, long c, long d, long e, long f) {
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return n;
}
int main(void) {
	const int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
	long large = call(SYS_mmap, 0, 8 << 20, access, kind, -1, 0);
	call(SYS_munmap, large, 8 << 20, 0, 0, 0, 0);
	long small = call(SYS_mmap, large + (1 << 20), 300000, access, kind | MAP_FIXED, -1, 0);
	memset((void *)small, 1, 300000);
	return 0;
}
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="its own system calls are x86-64's")
def test_what_lies_where_a_mapping_was_is_not_it(tools, tmp_path):
    """The loader reserves more than a library needs, gives some back, and maps small ones there."""
    if not kernel_tells_of_mappings():
        pytest.skip("the kernel does not permit perf_event_open")
    (tmp_path / "replaced.c").write_text(REPLACED)
    program = tmp_path / "replaced"
    subprocess.run(["gcc", "-O1", "-g", "-o", program, tmp_path / "replaced.c"], check=True, timeout=60)
    recording = tools.record(program)
    assert recording.status == 0, repr(recording)
    parts = last_look(recording.json())["parts"]
    assert not [row for part in parts for row in part["rows"] if "of its own" in (row["name"] or "")], parts
    assert sums(last_look(recording.json()))["unknown"] >= 300000
