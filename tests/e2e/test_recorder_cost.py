"""What the recorder takes from the program besides time: memory and system calls, and no change."""

import re
import subprocess

import pytest

KIB_PER_RARE_THREAD = 16
KIB_PER_BUSY_THREAD = 360  # 256 of it the big ring; docs/recorder.md
KIB_BASE = 8 << 10


@pytest.fixture
def added(tools):
    """KiB that recording adds to tests/victims/footprint.c: before, with and after its threads."""
    def added(n_threads, n_pairs):
        command = [tools.victim("footprint"), str(n_threads), str(n_pairs)]
        output = tools.folder / f"footprint.{n_threads}.{n_pairs}"
        bare = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        recorded = subprocess.run([tools.build / "heaptrack", "-q", "-o", output] + command, capture_output=True,
                                  text=True, check=True, timeout=100).stdout
        return [int(r) - int(b) for r, b in zip(recorded.split(), bare.split())]
    return added


def test_memory_of_a_thread_that_rarely_allocates(added):
    before, with_threads, after = added(600, 10)
    assert before < KIB_BASE
    assert (with_threads - before) / 600 <= KIB_PER_RARE_THREAD + 4  # 4: of its own stack, on which we run
    assert after < KIB_BASE, "memory is given back when threads end"


def test_memory_of_a_busy_thread(added):
    before, with_threads, after = added(16, 40000)
    assert before < KIB_BASE
    assert (with_threads - before) / 16 <= KIB_PER_BUSY_THREAD
    assert with_threads < KIB_BASE + 16 * 256, "8 MiB and 256 KiB per thread"
    assert after < KIB_BASE


def test_blocks_are_where_they_would_be(tools):
    command = ["setarch", "-R", tools.victim("blocks"), "5000"]
    bare = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    recorded = subprocess.run(
        ["setarch", "-R", tools.build / "heaptrack", "-q", "-o", tools.folder / "blocks"] + command[2:],
        capture_output=True, check=True, timeout=60).stdout
    assert bare.count(b"\n") == 5000
    assert recorded == bare


def system_calls(tools, command, name, by=()):
    """The number of system calls of the program but for futex, all threads together."""
    log = tools.folder / f"strace.{name}"
    subprocess.run([*by, "strace", "-f", "-qq", "-o", log, "-e", "trace=!futex"] + command, check=True,
                   timeout=100, stdout=subprocess.DEVNULL)
    return len([line for line in log.read_text(errors="replace").splitlines()
                if re.match(r"\d+ +\w+\(", line)])


def test_hardly_a_system_call(tools):
    # 16 threads: each event beyond the first thousands of a thread makes none, but for the bell
    command = [tools.victim("footprint"), "16", "60000"]
    bare = system_calls(tools, command, "bare")
    recorded = system_calls(tools, command, "recorded",
                            by=[tools.build / "heaptrack", "-q", "-o", tools.folder / "calls"])
    per_start = 400  # mapping the segment, the modules, each thread's first event
    n_events = 2 * 16 * 60000
    assert recorded - bare <= per_start + n_events / 4096


def test_locking_all_memory_does_not_fill_the_reserve(tools):
    # The segment reserves 32 MiB for each thread, and far more for nodes
    program = ("import ctypes, re; failed = ctypes.CDLL(None).mlockall(1);"
               "print(failed, re.search(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read()).group(1))")
    python = ["/usr/bin/python3", "-c", program]
    bare = subprocess.run(python, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    if bare[0] != "0":
        pytest.skip("this user may not lock memory")
    recorded = subprocess.run([tools.build / "heaptrack", "-q", "-o", tools.folder / "lock"] + python,
                              capture_output=True, text=True, check=True, timeout=100).stdout.split()
    assert recorded[0] == "0"
    assert int(recorded[1]) - int(bare[1]) < 32 << 10
