"""The peak of programs with threads that put their allocations in order themselves: exact, always.

tests/victims/ordered.c knows its own peak to the byte. Short: once each; --long: a hundred times,
while 16 others want the processors.
"""

import contextlib
import shutil
import signal
import subprocess
import sys

import pytest

from attaching import known, start_listening, target  # noqa: F401
from conftest import SOURCE, Recording

WAYS = ["lock 2 3000", "lock 8 1000", "lock 64 300", "atomic 8 500", "pipe 8 500", "queue 8 1000",
        "join 1 200", "phase 4 30", "migrate 8 200", "pin 8 500"]


@contextlib.contextmanager
def others(n):
    """So many processes that do nothing but run."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def assert_exact(recording, helpers):
    assert recording.status == 0, repr(recording)
    known = recording.json()
    held = helpers.total(helpers.through(known["sites"]["peak"], "hold"), "bytes")
    assert held == int(recording.stdout.split()[-1])
    assert known["summary"]["lost_events"] == 0
    assert known["quality"]["double_allocations"] == known["quality"]["unknown_frees"] == 0


@pytest.mark.parametrize("stamps", ["clock", "counted"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.timeout(3600)
def test_of_a_program_that_is_recorded_from_its_start(tools, helpers, is_long, way, stamps):
    env = {"HEAPTRACK_STAMPS": stamps}
    with others(16 if is_long else 4):
        for _ in range(100 if is_long else 1):
            recording = tools.record(tools.victim("ordered"), *way.split(), env=env, timeout=300)
            assert_exact(recording, helpers)


@pytest.mark.parametrize("way", ["lock 8 1000", "join 1 200", "queue 8 1000", "atomic 8 500"])
def test_of_one_process_of_a_tree(tools, way):
    """Beside another that allocates all the time, so that no epoch is one thread's. The processes need
    no exact order, but these threads do: the first of them alone takes stamps without a fence."""
    beside = f'{sys.executable} -c "while True: bytearray(600)" & "$@"; status=$?; kill $!; exit $status'
    ordered = [tools.victim("ordered"), *way.split()]
    alone = tools.record(*ordered)
    rest = alone.json()["summary"]["peak_bytes"] - int(alone.stdout.split()[-1])
    tree = tools.record("sh", "-c", beside, "sh", *ordered, options=("--children",), timeout=300)
    assert tree.status == 0, repr(tree)
    known = tree.json()
    process = next(p for p in known["processes"] if p["command"] == "ordered")
    assert process["peak_bytes"] == int(tree.stdout.split()[-1]) + rest
    assert known["summary"]["lost_events"] == 0
    assert known["quality"]["double_allocations"] == known["quality"]["unknown_frees"] == 0


@pytest.mark.timeout(900)
def test_of_threads_that_are_stopped(tools, build, helpers, is_long):
    """By ptrace, at random moments: in the midst of a hook as well. Exact, or said to be in a range."""
    for _ in range(20 if is_long else 1):
        running = tools.start_record(tools.victim("ordered"), "lock", 8, 60_000)
        tools.run(build / "tests" / "tools" / "freeze", running.program(), 0.15, 10)
        recording = Recording(running.wait(300), running.file, tools)
        assert recording.status == 0, repr(recording)
        known = recording.json()
        summary, truth = known["summary"], int(recording.stdout.split()[-1])
        held = helpers.total(helpers.through(known["sites"]["peak"], "hold"), "bytes")
        others = summary["peak_bytes"] - held
        low = summary.get("peak_bytes_low", summary["peak_bytes"])
        high = summary.get("peak_bytes_high", summary["peak_bytes"])
        assert low <= truth + others <= high, summary


def test_under_faketime(tools, helpers):
    """The clocks that the program sees are no concern of the recorder's."""
    if not shutil.which("faketime"):
        pytest.skip("faketime is missing")
    file = tools.folder / "faked.zst"
    running = tools.start("faketime", "-f", "-3000d x10", tools.heaptrack, "-o", file,
                          tools.victim("ordered"), "lock", 8, 1000)
    assert_exact(Recording(running.wait(60), file, tools), helpers)


@pytest.mark.parametrize("when", ["forbid", "forbid-midway"])
def test_where_the_clock_is_forbidden(tools, helpers, when):
    """A program that may not read the time stamp counter lives, and its order holds."""
    recording = tools.record(tools.victim("ordered"), "lock", 8, 1000, when)
    assert_exact(recording, helpers)


def test_where_the_clock_is_forbidden_in_a_static_program(tools, helpers, tmp_path):
    """The recorder was put into it; its prctl is patched."""
    subprocess.run(["gcc", "-static", "-O1", "-D_GNU_SOURCE", "-fno-builtin", "-pthread",
                    SOURCE / "tests/victims/ordered.c", "-o", tmp_path / "ordered"], check=True,
                   timeout=60)
    assert_exact(tools.record(tmp_path / "ordered", "lock", 8, 1000, "forbid-midway"), helpers)


@pytest.mark.parametrize("way", ["lock 8 1000 wait", "queue 8 1000 wait", "pipe 8 300 wait",
                                 "lock 8 1000 forbid-wait", "lock 8 1000 wait-forbid"])
@pytest.mark.timeout(3600)
def test_after_an_attach(build, target, tmp_path, helpers, is_long, way):
    for i in range(100 if is_long else 1):
        victim = target([build / "tests/victims/ordered", *way.split()])
        process = start_listening(build, victim.pid, tmp_path / "ordered")
        victim.process.send_signal(signal.SIGUSR1)
        assert victim.process.wait(120) == 0, repr(victim)
        assert process.wait(120) == 0
        got = known(build, tmp_path / "ordered.zst")
        held = helpers.total(helpers.through(got["sites"]["peak"], "hold"), "bytes")
        assert held == int(victim.said().split()[-1]), f"attach {i}"
        assert got["summary"]["lost_events"] == 0
