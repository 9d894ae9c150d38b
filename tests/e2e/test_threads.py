"""Threads that hand blocks to each other, are stopped at bad moments, or come by the thousand."""

import collections
import os
import random
import time

import pytest

from conftest import Recording

NUMBERS = ("allocations", "allocated_bytes", "frees", "lost_blocks", "lost_bytes")


class Handover:
    """A recording of `handover` and the truth that it printed: of its threads, of its handler."""

    def __init__(self, recording, helpers):
        assert recording.status == 0, repr(recording)
        numbers = [int(word) for word in recording.stdout.split()]
        self.truths = dict(zip(("trade", "interrupted"),
                               (dict(zip(NUMBERS, numbers[i:i + 5])) for i in (0, 5))))
        self.known, self.helpers = recording.json(), helpers

    def recorded(self, function):
        """The same numbers from the sites. A handler's stacks go on with what it interrupted."""
        numbers = {}
        for name in ("allocations", "never_freed"):
            sites = self.known["sites"][name]
            of_handler = self.helpers.through(sites, "interrupted")
            if function == "interrupted":
                chosen = of_handler
            else:
                chosen = [site for site in self.helpers.through(sites, function)
                          if site not in of_handler]
            numbers[name] = [self.helpers.total(chosen, what) for what in ("blocks", "bytes")]
        allocations, live = numbers["allocations"], numbers["never_freed"]
        return dict(zip(NUMBERS, (*allocations, allocations[0] - live[0], *live)))

    def assert_right(self):
        summary, quality = self.known["summary"], self.known["quality"]
        assert summary["complete"] and summary["lost_events"] == 0
        assert quality["double_allocations"] == quality["unknown_frees"] == 0
        for function, truth in self.truths.items():
            assert self.recorded(function) == truth, function


def preloaded(build, allocator):
    return {"LD_PRELOAD": str(build / "tests" / "tools" / "lifo.so")} if allocator == "lifo" else {}


# A handler that allocates may interrupt malloc itself only where malloc stands it
@pytest.mark.parametrize("allocator, signals", [
    ("glibc", "none"), ("glibc", "outside"), ("lifo", "none"), ("lifo", "inside")])
@pytest.mark.timeout(1800)
def test_blocks_change_hands(tools, build, helpers, is_long, allocator, signals):
    recording = tools.record(tools.victim("handover"), 2_000_000 if is_long else 100_000, signals,
                             env=preloaded(build, allocator), timeout=900)
    Handover(recording, helpers).assert_right()


@pytest.mark.parametrize("allocator, signals", [("glibc", "outside"), ("lifo", "inside")])
@pytest.mark.timeout(1800)
def test_a_thread_is_stopped_meanwhile(tools, build, helpers, is_long, allocator, signals):
    """Two seconds, by ptrace, at random moments: in the middle of a hook as well."""
    running = tools.start_record(tools.victim("handover"), 2_500_000 if is_long else 500_000,
                                 signals, env=preloaded(build, allocator))
    stops = tools.run(build / "tests" / "tools" / "freeze", running.program(), 2, 20 if is_long else 2)
    recording = Recording(running.wait(900), running.file, tools)
    assert int(stops.stdout) >= 1, repr(stops)
    Handover(recording, helpers).assert_right()


@pytest.mark.parametrize("signals", ["none", "inside"])
def test_many_short_stops(tools, build, helpers, is_long, signals):
    """Stops of a moment, many: far more of them hit the few instructions that matter."""
    running = tools.start_record(tools.victim("handover"), 1_000_000 if is_long else 300_000,
                                 signals, env=preloaded(build, "lifo"))
    stops = tools.run(build / "tests" / "tools" / "freeze", running.program(),
                      round(random.uniform(0.12, 0.3), 2), 100 if is_long else 10)
    recording = Recording(running.wait(900), running.file, tools)
    assert int(stops.stdout) >= 1, repr(stops)
    Handover(recording, helpers).assert_right()


def test_a_thousand_threads_at_once(tools, helpers):
    recording = tools.record(tools.victim("many_threads"), "at-once", 1000)
    assert recording.status == 0, repr(recording)
    known = recording.json()
    assert known["summary"]["lost_events"] == 0
    sites = known["sites"]
    made = helpers.through(sites["allocations"], "be_one_of_many")
    kept = helpers.through(sites["never_freed"], "be_one_of_many")
    assert helpers.total(made, "blocks") == 100_000
    assert helpers.total(kept, "blocks") == 1000
    assert known["summary"]["threads"] == 1001


def test_a_hundred_thousand_short_threads(tools, helpers):
    recording = tools.record(tools.victim("many_threads"), "short", 100_000, timeout=110)
    assert recording.status == 0, repr(recording)
    known = recording.json()
    assert known["summary"]["lost_events"] == 0
    made = helpers.through(known["sites"]["allocations"], "be_short")
    assert helpers.total(made, "blocks") == 100_000
    assert helpers.total(helpers.through(known["sites"]["never_freed"], "be_short"), "blocks") == 0


def staying_threads(running):
    """How many of heaptrack's own are there for more than a quarter of the time."""
    seen, n = collections.Counter(), 0
    while running.process.poll() is None:
        try:
            seen.update(os.listdir(f"/proc/{running.pid}/task"))
            n += 1
        except OSError:
            pass
        time.sleep(0.005)
    return sum(times > n / 4 for times in seen.values())


def test_a_second_thread_comes_under_pressure_alone(tools, build, helpers):
    """Where three cores are allowed: as here, by a library that says so."""
    four_cores = {"LD_PRELOAD": str(build / "tests" / "tools" / "cores.so")}
    threads = {}
    for name, command, stages in (("calm", ("sleep", "0.5"), {}),
                                  ("one", (tools.victim("handover"), 400_000, "none"), {"HEAPTRACK_STAGES": "1"}),
                                  ("two", (tools.victim("handover"), 400_000, "none"), {})):
        running = tools.start_record(*command, env={**four_cores, **stages}, name=name)
        threads[name] = staying_threads(running)
        recording = Recording(running.wait(), running.file, tools)
        if name != "calm":
            Handover(recording, helpers).assert_right()
    assert threads["calm"] == threads["one"] == threads["two"] - 1, threads


@pytest.mark.parametrize("allocator, signals", [("glibc", "outside"), ("lifo", "inside")])
def test_slow_replay_agrees(tools, build, is_long, allocator, signals):
    """Each figure, each edge of the curve and each stack at it, from the single events."""
    recording = tools.record(tools.victim("handover"), 50_000 if is_long else 8_000, signals,
                             options=["--events"], env=preloaded(build, allocator))
    replay = tools.run(build / "tests" / "replay" / "replay", recording.file, timeout=600)
    assert recording.status == replay.status == 0, repr(replay)
