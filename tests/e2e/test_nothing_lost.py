"""Nothing is lost, however a program ends, and whoever else is killed with it.

The victim `counted` keeps its own count of each thread in a mapped file that outlives any death. The
binaries are moved away before a file is opened: names must be inside it.
"""

import contextlib
import ctypes
import os
import random
import shutil
import signal
import struct
import time
from pathlib import Path

import pytest

N_THREADS, SIZE_MAX = 4, 1000
CALM = 100  # calls per millisecond and thread: leaves the collector its share of a busy machine
DONE = 2  # bit of the last word: the victim came to its normal end


class Truth:
    """What the threads of `counted` say they did, at one moment."""

    def __init__(self, path):
        data = path.read_bytes().ljust(32 * N_THREADS + 8, b"\0")
        words = struct.unpack(f"<{4 * N_THREADS + 1}Q", data)
        self.threads = [dict(zip(("allocations", "allocated_bytes", "frees", "freed_bytes"),
                                 words[4 * k:4 * k + 4])) for k in range(N_THREADS)]
        self.state = words[-1]
        self.when = time.monotonic()

    def allocations(self):
        return sum(thread["allocations"] for thread in self.threads)


class Victim:
    """A copy of `counted` that can be moved away, and its recording."""

    def __init__(self, tools, helpers, folder, how, milliseconds, at_a_time=0):
        self.tools, self.helpers = tools, helpers
        self.folder = folder / "here"
        self.folder.mkdir()
        program = shutil.copy(tools.victim("counted"), self.folder / "counted")
        self.truth_path = folder / "truth"
        self.running = tools.start_record(program, self.truth_path, how, milliseconds,
                                          at_a_time)
        self.file = self.running.file
        helpers.wait_until(self.is_working, what="the victim's start")

    def truth(self):
        return Truth(self.truth_path)

    def is_working(self):
        return self.truth_path.exists() and self.truth().state & 1

    def watch(self, seconds, is_enough=lambda noted: True):
        """Let it work, and note its truth again and again."""
        noted, end = [], time.monotonic() + seconds
        while time.monotonic() < end or not is_enough(noted):
            noted.append(self.truth())
            noted[-1].waited = waited_for_a_cpu(self.running.pid)
            time.sleep(0.02)
        return noted

    def watch_for_long(self, seconds):
        """The same, until what has to be in the file is more than nothing, and the names are there,
        which come at low priority: slow machines wait."""
        give_up = time.monotonic() + 30
        noted = self.watch(seconds, lambda noted: time.monotonic() > give_up or
                           old_notes(noted, time.monotonic() - 1))
        while time.monotonic() < give_up and not self.has_names():
            noted += self.watch(0.3)
        return noted

    def has_names(self):
        copy = shutil.copyfile(self.file, self.folder.with_name("copy.zst"))
        shown = self.tools.run(self.tools.heaptrack_print, "--by", "function", copy)
        return shown.status == 0 and "worker_0" in shown.stdout

    def opened(self, file=None):
        """What the file knows when the program is nowhere to be found."""
        away = self.folder.with_name("moved away")
        if self.folder.exists():
            self.folder.rename(away)
        known = self.tools.json(file or self.file)
        if self.truth().threads[0]["allocations"] > 1:  # killed earlier, it has none to name
            assert_has_names(known, self.helpers)
        return known


def assert_has_names(known, helpers):
    sites = helpers.through(known["sites"]["allocations"], "worker_0")
    assert sites, "no site of worker_0 has a name"
    for site in sites[:5]:
        frame = next(frame for frame in site["stack"] if frame["function"] == "worker_0")
        assert frame["file"].endswith("counted.c") and frame["line"] > 0
        assert frame["module"].endswith("counted")


def recorded_of(known, helpers, k):
    allocated = helpers.through(known["sites"]["allocations"], f"worker_{k}")
    live = helpers.through(known["sites"]["never_freed"], f"worker_{k}")
    allocations, live_blocks = helpers.total(allocated, "blocks"), helpers.total(live, "blocks")
    allocated_bytes, live_bytes = helpers.total(allocated, "bytes"), helpers.total(live, "bytes")
    return {"allocations": allocations, "allocated_bytes": allocated_bytes,
            "frees": allocations - live_blocks, "freed_bytes": allocated_bytes - live_bytes}


def assert_counts_everything(known, truth, helpers):
    """Each thread within one event of its own truth: the one during which it was killed."""
    assert known["summary"]["complete"] and known["summary"]["lost_events"] == 0
    assert known["quality"]["unknown_frees"] == known["quality"]["double_allocations"] == 0
    for k, thread in enumerate(truth.threads):
        recorded = recorded_of(known, helpers, k)
        for what, allowed in [("allocations", 1), ("frees", 1), ("allocated_bytes", SIZE_MAX),
                              ("freed_bytes", SIZE_MAX)]:
            assert abs(recorded[what] - thread[what]) <= allowed, f"worker_{k}: {what}"


def waited_for_a_cpu(pid):
    """For how many seconds the threads of a process had work, and no processor; but for the one that is
    lower in priority, which finds names."""
    seconds = 0
    for tid in map(int, os.listdir(f"/proc/{pid}/task")):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # the thread has ended meanwhile
            if os.getpriority(os.PRIO_PROCESS, tid) <= os.getpriority(os.PRIO_PROCESS, pid):
                seconds += int(Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split()[1]) / 1e9
    return seconds


def old_notes(noted, end):
    """Those of more than two seconds before the end. Where the machine lets us sleep for longer than we
    want, or the collector wait for a processor, of so much longer."""
    noted = [note for note in noted if note.when <= end]
    late = max((b.when - a.when for a, b in zip(noted, noted[1:])), default=0)
    return [note for note in noted if note.when <= end - 2.0 - 2 * late - (noted[-1].waited - note.waited)]


def assert_at_most_two_seconds_missing(known, noted, end, truth, helpers):
    """Everything that had been noted two seconds before the end is there, and nothing invented."""
    old = old_notes(noted, end)
    if not old:
        pytest.skip("the machine was too busy to be watched for two seconds")
    for k in range(N_THREADS):
        recorded = recorded_of(known, helpers, k)["allocations"]
        assert old[-1].threads[k]["allocations"] <= recorded
        assert recorded <= truth.threads[k]["allocations"] + 1


def assert_frames_are_whole(tools, file):
    done = tools.run("zstd", "-q", "-t", file)
    assert done.status == 0, repr(done)


@pytest.mark.parametrize("how, status", [
    ("return", 7), ("exit", 5), ("_exit", 6), ("abort", 134), ("segv", 139), ("finish", 7)])
def test_every_end(tools, helpers, tmp_path, how, status):
    victim = Victim(tools, helpers, tmp_path, how, 400)
    finished = victim.running.wait()
    assert finished.status == status, repr(finished)
    known = victim.opened()
    assert known["program"]["exit_status"] == status
    assert_counts_everything(known, victim.truth(), helpers)
    assert_frames_are_whole(tools, victim.file)


def test_child_of_vfork_leaves_its_parents_blocks_alone(tools, helpers):
    """What it allocates itself is counted as lost, not what its thread does afterwards."""
    recording = tools.record(tools.victim("processes"), "vfork-first")
    assert recording.status == 0
    known = recording.json()
    assert known["summary"]["lost_events"] == 1000
    assert any(s["id"] == "lost-events" and s["value"] == 1000 for s in known["quality"]["sentences"])
    made = helpers.through(known["sites"]["allocations"], "allocate_after_child")
    assert helpers.total([s for s in made if s["bytes"] == 123 * s["blocks"]], "blocks") == 100


def test_stacks_that_nobody_can_follow_are_counted(tools, helpers):
    recording = tools.record(tools.victim("no_way_out"))
    assert recording.status == 0
    known = recording.json()
    assert known["summary"]["truncated_stacks"] == 700
    assert known["summary"]["lost_events"] == 0
    sites = known["sites"]["never_freed"]
    assert helpers.total(helpers.through(sites, "from_outside"), "blocks") == 700
    assert helpers.total(helpers.through(sites, "directly"), "blocks") == 300
    assert helpers.total(helpers.through(sites, "main"), "blocks") == 300


def victims(tools, helpers, folder, n, *about):
    """One after the other, in folders of their own; the recordings are large, and do not stay."""
    for i in range(n):
        own = folder / str(i)
        own.mkdir()
        victim = Victim(tools, helpers, own, *about)
        yield victim
        victim.file.unlink()


def assert_lost_with_its_collector(tools, victim, noted, end, helpers):
    known = victim.opened()
    assert not known["summary"]["complete"]
    assert_at_most_two_seconds_missing(known, noted, end, victim.truth(), helpers)
    assert_frames_are_whole(tools, victim.file)


@pytest.mark.timeout(1800)
def test_killed_program(tools, helpers, tmp_path, is_long):
    for victim in victims(tools, helpers, tmp_path, 100 if is_long else 10, "return", 60_000):
        time.sleep(random.uniform(0, 0.6))
        os.kill(victim.running.program(), signal.SIGKILL)
        finished = victim.running.wait()
        assert finished.status == 137, repr(finished)
        assert_counts_everything(victim.opened(), victim.truth(), helpers)
        assert_frames_are_whole(tools, victim.file)


@pytest.mark.timeout(3600)
def test_killed_program_and_collector(tools, helpers, tmp_path, is_long):
    for victim in victims(tools, helpers, tmp_path, 100 if is_long else 4, "return", 60_000, CALM):
        both = [victim.running.pid, victim.running.program()]
        random.shuffle(both)
        noted = victim.watch_for_long(random.uniform(3.0, 4.5))
        end = time.monotonic()
        for pid in both:
            os.kill(pid, signal.SIGKILL)
        victim.running.wait()
        helpers.wait_until(lambda: not os.path.exists(f"/proc/{both[0]}") or
                           not os.path.exists(f"/proc/{both[1]}"))
        assert_lost_with_its_collector(tools, victim, noted, end, helpers)


@pytest.mark.timeout(3600)
def test_killed_collector_leaves_the_program_alone(tools, helpers, tmp_path, is_long):
    killed, n = 0, 100 if is_long else 1
    for victim in victims(tools, helpers, tmp_path, n + 10, "finish", 6000, CALM):
        noted = victim.watch_for_long(random.uniform(2.8, 3.6))
        if victim.truth().state & DONE:  # on a busy machine that takes longer than the program runs
            continue
        end = time.monotonic()
        os.kill(victim.running.pid, signal.SIGKILL)
        time.sleep(0.3)  # the death is seen within 50 ms
        assert_runs_on(victim)
        helpers.wait_until(lambda: victim.truth().state & DONE, 20, "the program's normal end")
        assert_lost_with_its_collector(tools, victim, noted, end, helpers)
        if (killed := killed + 1) == n:
            return
    pytest.fail(f"only {killed} of {n} collectors were killed before the program's end")


def assert_runs_on(victim):
    """Until it comes to its own end, that is."""
    for _ in range(3):
        before = victim.truth()
        time.sleep(0.2)
        if victim.truth().state & DONE:
            return
        assert victim.truth().allocations() > before.allocations(), "the program hangs"


@pytest.mark.timeout(3600)
def test_stopped_collector_leaves_the_program_alone(tools, helpers, tmp_path, is_long):
    for i in range(100 if is_long else 1):
        folder = tmp_path / str(i)
        folder.mkdir()
        victim = Victim(tools, helpers, folder, "finish", 1500)
        time.sleep(random.uniform(0.1, 1))
        os.kill(victim.running.pid, signal.SIGSTOP)
        try:
            # Full rings wait five seconds for a heartbeat, then the program goes on without us
            helpers.wait_until(lambda: victim.truth().state & DONE, 20, "the program's normal end")
        finally:
            os.kill(victim.running.pid, signal.SIGCONT)
        finished = victim.running.wait()
        assert finished.status == 7, repr(finished)
        known = victim.opened()
        truth = victim.truth()
        for k in range(N_THREADS):
            recorded = recorded_of(known, helpers, k)["allocations"]
            assert 0 < recorded <= truth.threads[k]["allocations"] + 1
        # What is missing is said
        assert known["summary"]["lost_events"] > 0 or not known["summary"]["complete"]
        assert known["quality"]["sentences"]
        assert_frames_are_whole(tools, victim.file)
        victim.file.unlink()


PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 17, 0x4206, 0x4207, 0x40000000


class StoppedThread:
    """One thread of another process stands still, the others run on."""

    def __init__(self, tid):
        self.tid, self.libc = tid, ctypes.CDLL(None, use_errno=True)

    def ask(self, request):
        done = self.libc.ptrace(ctypes.c_long(request), self.tid, None, None)
        assert done == 0, os.strerror(ctypes.get_errno())

    def __enter__(self):
        self.ask(PTRACE_SEIZE)
        self.ask(PTRACE_INTERRUPT)
        os.waitpid(self.tid, WALL)

    def __exit__(self, *_):
        self.ask(PTRACE_DETACH)


def test_busy_collector_is_waited_for(tools, helpers, tmp_path):
    """A large checkpoint on a slow machine: no event is taken for long, but the collector lives."""
    victim = Victim(tools, helpers, tmp_path, "finish", 1500)
    with StoppedThread(victim.running.pid):
        time.sleep(8)
    assert victim.running.wait().status == 7
    assert_counts_everything(victim.opened(), victim.truth(), helpers)


def copy_of(file, path):
    """The copy, since when, and whether it is of one moment. The file is a row of whole frames after
    every write; a copy that was begun before a write and ended after it need not be one, and is read
    all the same."""
    when, written = time.monotonic(), os.stat(file).st_mtime_ns
    shutil.copyfile(file, path)
    return path, when, os.stat(file).st_mtime_ns == written


def test_copies_taken_meanwhile(tools, helpers, tmp_path, is_long):
    victim = Victim(tools, helpers, tmp_path, "return", 60_000, CALM)
    noted, copies = victim.watch_for_long(3.0), []
    for i in range(50 if is_long else 5):
        noted += victim.watch(random.uniform(0, 0.7))
        copies.append(copy_of(victim.file, tmp_path / f"copy{i}.zst"))
    os.kill(victim.running.program(), signal.SIGKILL)
    assert victim.running.wait().status == 137
    for path, when, is_of_one_moment in copies:
        known = victim.opened(path)
        assert not known["summary"]["complete"]
        assert_at_most_two_seconds_missing(known, noted, when, victim.truth(), helpers)
        if is_of_one_moment:
            assert_frames_are_whole(tools, path)
    assert_counts_everything(victim.opened(), victim.truth(), helpers)
