"""Looks where the kernel refuses what newer ones tell: PAGEMAP_SCAN, PROCMAP_QUERY and perf.

sandbox.py answers these calls as a kernel does that does not have them.
"""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "referee"))

import referee
from conftest import SOURCE, Recording
from memory_truth import MIB, differences, last_look, slack_of, sums, truth_of
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
    parts = []
    for is_refused in (False, True):
        recording = record(is_refused, tools.victim("resident"), way)
        truth, look = truth_of(recording.stdout), last_look(recording.json())
        found = differences(truth, look, slack_of(way, truth))
        assert not found, "\n".join(found)
        parts.append(sums(look))
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


@pytest.mark.long
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("subject", OF_MEMORY)
def test_all_tests_pass_without_them(subject):
    done = subprocess.run([*SANDBOX, sys.executable, "-m", "pytest", "-c", SOURCE / "tests/pytest.ini", "-q", "--long",
                           f"{SOURCE}/tests/e2e/test_{subject}.py"], capture_output=True, text=True,
                          check=False, timeout=2900)
    assert done.returncode == 0, done.stdout[-10000:]
