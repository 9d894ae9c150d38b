"""The recorder by itself: its events, drained by a plain collector, are those that happened.

tests/victims/plain_collector.c stands in for heaptrack: it puts the events of each region in
order and checks them against the blocks that are alive. What a program does besides what the test
asks of it (the loader's, libc's own blocks) is known from a run of the same program that is asked
to do nothing.
"""

import json
import os
import signal
import subprocess
import time

import pytest

ERRORS = ["wrong_allocs", "orphan_frees", "stray_answers", "labels_back", "lost",
          "lost_no_slot", "lost_early", "abandoned", "voids"]
LIBRARIES = "/usr/lib/x86_64-linux-gnu"


@pytest.fixture
def start(tools):
    """Start a program under the plain collector; .counts() afterwards is its report."""
    def start(*command, options=(), **more):
        report = tools.folder / f"report.{time.monotonic_ns()}"
        running = tools.start(tools.victim("plain_collector"), *options, tools.preload, report,
                              *command, **more)
        running.counts = lambda: json.loads(report.read_text())
        return running
    return start


@pytest.fixture
def collect(start):
    """Run to the end; its counts. Nothing may be wrong or lost but what `but` names."""
    def collect(*command, status=0, but=(), timeout=60, **more):
        running = start(*command, **more)
        finished = running.wait(timeout)
        assert finished.status == status, repr(finished)
        counts = running.counts()
        wrong = {name: counts[name] for name in ERRORS if counts[name] and name not in but}
        assert not wrong, counts
        return counts
    return collect


def difference(more, less):
    return {name: more[name] - less[name] for name in more if type(more[name]) is int}


# ---- each function

@pytest.mark.parametrize("options", [(), ("--free-stacks",), ("--exact-time",)])
def test_every_function_is_counted(tools, collect, options):
    calls = tools.victim("calls")
    nothing = collect(calls, 0, options=options)
    counts = difference(collect(calls, 1000, "plain", options=options), nothing)
    assert counts["allocs"] == 8 * 1000
    assert counts["frees"] == 6 * 1000 + 1000 + 900
    assert counts["reallocs"] == counts["moved"] == 3 * 1000
    assert counts["bytes"] == 1000 * (
        7 + 15 + 11 + 13 + 100000 + 17 * 19 + 23 + 128 + 29 + 31 + 37)
    assert counts["live_blocks"] == 100 and counts["live_bytes"] == 700
    if "--exact-time" in options:
        assert counts["times"] >= counts["allocs"] + counts["frees"]


def test_failed_calls_are_counted_apart(tools, collect):
    nothing = collect(tools.victim("calls"), 0)
    counts = difference(collect(tools.victim("calls"), 100, "fail"), nothing)
    assert counts["failed"] == 5 * 100
    assert counts["allocs"] == counts["frees"] == 100
    assert counts["reallocs"] == counts["stayed"] == 2 * 100 and counts["moved"] == 0
    assert counts["live_blocks"] == 0


def test_sizes_above_the_field_are_exact(tools, collect):
    nothing = collect(tools.victim("calls"), 0)
    counts = difference(collect(tools.victim("calls"), 10, "large"), nothing)
    assert counts["wide"] == 2 * 10
    assert counts["bytes"] == 10 * (2 * (300 << 20) + 43)


def test_errno_stays(tools, collect):
    collect(tools.victim("calls"), 1000, "errno")


@pytest.mark.parametrize("allocator", [
    "libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_another_allocator_behind_us(tools, collect, allocator):
    env = {"MORE_PRELOAD": f"{LIBRARIES}/{allocator}"}
    nothing = collect(tools.victim("many_threads"), "exchange", 0, env=env)
    counts = difference(
        collect(tools.victim("many_threads"), "exchange", 50_000, env=env), nothing)
    assert counts["allocs"] == counts["frees"] == 8 * 50_000
    assert counts["live_blocks"] == 0


# ---- threads

def test_exchange_between_threads(tools, collect, is_long):
    n = 6_000_000 if is_long else 200_000
    nothing = collect(tools.victim("many_threads"), "exchange", 0)
    counts = difference(collect(tools.victim("many_threads"), "exchange", n, timeout=600), nothing)
    assert counts["allocs"] == counts["frees"] == 8 * n
    assert counts["reallocs"] == counts["moved"] > 3 * n
    assert counts["live_blocks"] == 0


def test_a_thousand_threads_at_once(tools, collect):
    counts = collect(tools.victim("many_threads"), "at-once", 1000)
    assert counts["threads"] == 1001
    assert counts["allocs"] >= 100 * 1000 and counts["live_blocks"] >= 1000


@pytest.mark.parametrize("page", [4096, 16384, 65536])
def test_short_threads(tools, collect, is_long, page):
    n = 100_000 if is_long else 8_000 if page == 4096 else 2_000
    counts = collect(tools.victim("many_threads"), "short", n, timeout=100,
                     options=("--page", str(page)))
    assert counts["threads"] == n + 1
    # Each: its block, and from time to time what libc keeps for a thread
    assert n <= counts["frees"] < 2 * n and n <= counts["allocs"] < 2 * n


def test_too_few_slots_are_counted(tools, collect):
    counts = collect(tools.victim("many_threads"), "at-once", 100, options=("--slots", "64"),
                     but=("lost_no_slot", "orphan_frees", "wrong_allocs"))
    assert counts["lost_no_slot"] >= 36 * 199
    assert counts["allocs"] + counts["frees"] + counts["lost_no_slot"] >= 199 * 100


# ---- processes

@pytest.mark.parametrize("mode", ["fork", "clone"])
def test_forked_children_are_quiet_and_counted(tools, collect, mode):
    counts = collect(tools.victim("processes"), mode)
    assert counts["allocs"] == 10 and counts["images"] == 1
    assert counts["children_forked"] == 1 and counts["children_executed"] == 0
    assert counts["children"] == [[1, "processes", str(tools.victim("processes"))]]


@pytest.mark.parametrize("mode", ["vfork", "spawn"])
def test_executed_children_are_counted(tools, collect, mode):
    counts = collect(tools.victim("processes"), mode, tools.victim("calls"), 1000,
                     but=("lost_no_slot",))
    assert counts["allocs"] < 10 and counts["children_forked"] == 0
    assert counts["children"] == [[0, "calls", str(tools.victim("calls"))]]


@pytest.mark.parametrize("mode", ["exec", "thread-exec"])
def test_exec_goes_on_as_a_new_image(tools, collect, mode):
    alone = collect(tools.victim("calls"), 1000, "plain")
    counts = collect(tools.victim("processes"), mode, tools.victim("calls"), 1000, "plain")
    assert counts["images"] == 2 and counts["children"] == []
    assert 10 <= counts["allocs"] - alone["allocs"] <= 12
    assert counts["frees"] == alone["frees"]


# ---- signals

@pytest.mark.parametrize("mode", ["handler", "altstack", "stack-array", "reenter"])
def test_handlers_that_allocate(tools, collect, is_long, mode):
    told = tools.folder / "told"
    counts = collect(tools.victim("interrupted"), mode, 30 if is_long else 2, told, timeout=100)
    allocations, frees, signals, *_ = map(int, told.read_text().split())
    assert signals > 1000
    # Besides them: the stream that it tells by (two blocks), and the signal stack
    assert counts["frees"] == frees + 2
    assert counts["allocs"] == allocations + 2 + (mode == "altstack")


def test_handlers_that_jump_out(tools, collect, is_long):
    told = tools.folder / "told"
    counts = collect(tools.victim("interrupted"), "jump", 30 if is_long else 2, told, timeout=100,
                     but=("abandoned", "voids"))
    allocations, frees, _, jumps, returned = map(int, told.read_text().split())
    assert jumps > 300
    # A jump costs at most the event that it interrupted: every call that returned is there, and of those
    # that did not, the hooks that were left are counted. (Before a call and behind it nothing is left)
    recorded = counts["allocs"] + counts["frees"]
    assert returned <= recorded <= allocations + frees + 2  # the stream that it tells by
    assert jumps // 10 < counts["abandoned"] <= jumps
    assert counts["voids"] <= counts["abandoned"]


# ---- ends

def rounds(file, n_threads):
    words = file.read_bytes()
    return [int.from_bytes(words[64 * i:64 * i + 8], "little") for i in range(n_threads)]


@pytest.mark.parametrize("mode, status", [
    ("return", 7), ("exit", 7), ("_exit", 7), ("abort", 128 + 6), ("segv", 128 + 11)])
def test_nothing_is_lost_at_the_end(tools, collect, mode, status):
    nothing = collect(tools.victim("ends"), mode, tools.folder / "none", 3, 0, status=status)
    counts = difference(
        collect(tools.victim("ends"), mode, tools.folder / "n", 3, 10_000, status=status), nothing)
    assert counts["allocs"] == 2 * 3 * 10_000
    assert counts["frees"] == 3 * 10_000


def test_kill_9_loses_nothing(tools, start, helpers, is_long):
    victim = tools.victim("ends")
    for attempt in range(100 if is_long else 10):
        file = tools.folder / f"n{attempt}"
        running = start(victim, "kill", file, 3)
        helpers.wait_until(lambda: file.exists() and all(rounds(file, 3)))  # all threads are there
        time.sleep(0.013 * attempt)
        os.kill(running.program(), signal.SIGKILL)
        assert running.wait().status == 128 + 9
        counts, told = running.counts(), sum(rounds(file, 3))
        # Per round two allocations and a free; one round of each thread may be half done
        assert 0 <= counts["allocs"] - 2 * told - 2 <= 2 * 3, (counts, told)
        assert 0 <= counts["frees"] - told <= 3
        assert counts["lost"] == 0 and counts["wrong_allocs"] == 0


# ---- a collector that dies, or does not get on

@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_program_survives_its_collector(tools, start, helpers, how):
    file = tools.folder / "n"
    running = start(tools.victim("ends"), "exit", file, 2, 3_000_000)
    helpers.wait_until(lambda: file.exists() and len(file.read_bytes()) and sum(rounds(file, 2)))
    os.kill(running.pid, how)
    helpers.wait_until(lambda: sum(rounds(file, 2)) == 2 * 3_000_000)


@pytest.mark.waits
def test_full_rings_wait_and_then_give_up(tools, start):
    running = start(tools.victim("ends"), "exit", tools.folder / "n", 2, 100_000,
                    options=("--stop-after", "10000"))
    finished = running.wait(90)
    counts = running.counts()
    assert finished.status == 7, repr(finished)
    assert 29 < finished.seconds < 60  # the heart beats, nothing is drained: 30 s
    assert counts["state"] == 2 and counts["lost"] >= 1


# ---- hostile programs

@pytest.mark.parametrize("how", ["close", "wipe", "fsize", "as", "nofile", "lock", "rename"])
def test_hostile_programs(tools, collect, how):
    nothing = collect(tools.victim("hostile"), how, 0)
    counts = difference(collect(tools.victim("hostile"), how, 1000), nothing)
    assert counts["allocs"] == 2 * 1000 and counts["bytes"] == 2 * 1000 * 50


def test_address_space_limited_before(tools, collect):
    """By a shell, so that the limit is there when the program is mapped: fewer slots."""
    counts = collect("sh", "-c", f"ulimit -v 1000000; exec {tools.victim('calls')} 1000")
    assert counts["allocs"] >= 8000
    assert counts["images"] == 2 and counts["mapped_slots"] < 2048


@pytest.mark.parametrize("megabytes", [300, 2000])
def test_address_space_limited_by_the_program(tools, collect, megabytes):
    counts = collect(tools.victim("limited"), megabytes, 1000)
    assert counts["live_blocks"] >= 1000 and counts["failed"] == 0


@pytest.mark.parametrize("page", [16384, 65536])
def test_larger_pages(tools, collect, page):
    options = ("--page", str(page))
    nothing = collect(tools.victim("hostile"), "lock", 0, options=options)
    counts = difference(collect(tools.victim("hostile"), "lock", 1000, options=options), nothing)
    assert counts["allocs"] == 2 * 1000
    counts = collect(tools.victim("limited"), 300, 1000, options=options)
    assert counts["live_blocks"] >= 1000 and counts["failed"] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root")
def test_privileges_dropped(tools, collect):
    hostile = tools.victim("hostile")
    for folder in [tools.preload, *tools.preload.parents, *hostile.parents]:
        if not folder.stat().st_mode & 0o001:
            pytest.skip(f"{folder} is closed to other users")
    counts = collect(hostile, "drop", 1000, tools.victim("calls"), 10)
    assert counts["images"] == 2 and counts["live_blocks"] >= 2000


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root")
def test_exec_in_another_root(tools, collect):
    """Neither /proc nor the collector's files there: the descriptor comes by the socket."""
    root = tools.folder / "root"
    calls = tools.victim("calls")
    libraries = [word for line in subprocess.run(["ldd", calls], capture_output=True, text=True)
                 .stdout.splitlines() for word in line.split() if word.startswith("/")]
    for path in [str(calls), str(tools.preload), *libraries]:
        copy = root / path.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(open(path, "rb").read())
        copy.chmod(0o755)
    counts = collect(tools.victim("hostile"), "chroot", 0, root, calls, 1000)
    assert counts["images"] == 2 and counts["allocs"] >= 8000


def test_socket_alone(tools, collect):
    counts = collect(tools.victim("calls"), 1000, options=("--socket",))
    assert counts["images"] == 1 and counts["allocs"] >= 8000


def test_without_a_collector_we_are_not_there(tools):
    alone = tools.run(tools.victim("calls"), 1000, env={"LD_PRELOAD": str(tools.preload)})
    assert alone.status == 0 and alone.stderr == "" and alone.stdout == ""


@pytest.mark.parametrize("command", [
    ["python3", "-c", "import json, threading; print(len(json.dumps(list(range(100000)))))"],
    ["perl", "-e", "my %h = map { $_ => 1 } 1 .. 50000; print scalar(keys %h)"],
    ["sh", "-c", "ls / | sort | head -3; echo done"],
    ["g++", "--version"], ["node", "-e", "console.log([1, 2].map(x => x * 2))"],
])
def test_real_programs_as_without_us(tools, start, command):
    alone = tools.run(*command, env={"PYTHONMALLOC": "malloc"})
    running = start(*command, env={"PYTHONMALLOC": "malloc"})
    recorded = running.wait(60)
    counts = running.counts()
    assert (recorded.status, recorded.stdout) == (alone.status, alone.stdout), repr(recorded)
    assert counts["wrong_allocs"] == counts["orphan_frees"] == 0
    assert counts["lost"] == counts["lost_no_slot"] == 0 and counts["allocs"] > 0
