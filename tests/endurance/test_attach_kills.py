"""heaptrack is ended in every way at random moments, also in the middle of attaching and detaching.

The target must live and see nothing of it, its code be as it was within a second, each file be
readable, and the next attach work. The short form does it 16 times, --long: 300 times.
HEAPTRACK_KILLS=N sets another number.
"""

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from attaching import attach, attach_command, changed_code, start_listening, target  # noqa: F401
from conftest import wait_until

pytestmark = pytest.mark.attach

WAYS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
PATIENCE_S = 1.0


def set_nice(pid, nice):
    for tid in os.listdir(f"/proc/{pid}/task"):
        os.setpriority(os.PRIO_PROCESS, int(tid), nice)


@pytest.fixture
def go_first():
    """go_first(pid): it and this process come before others: what those do is not measured then."""
    before = os.getpriority(os.PRIO_PROCESS, 0)

    def go(pid):
        try:
            set_nice(pid, -5)
            set_nice(os.getpid(), -15)
            return True
        except PermissionError:
            return False  # only root may

    yield go
    if os.getpriority(os.PRIO_PROCESS, 0) < before:
        set_nice(os.getpid(), before)


def wait_until_restored(victim, patience_s):
    until = time.monotonic() + patience_s
    looked = 0
    while changed_code(victim.pid):
        assert looked < until, f"still hooked after {patience_s} s"
        time.sleep(0.02)
        looked = time.monotonic()  # what is seen may be as old as that


def check_files(build, folder):
    for path in folder.glob("killed*.zst"):
        if path.stat().st_size > 0:
            shown = subprocess.run([build / "heaptrack_print", path], capture_output=True, text=True,
                                   timeout=60, check=False)
            # One that was killed before its first checkpoint says just that
            assert shown.returncode == 0 or "ended before its first" in shown.stderr, shown.stderr
        path.unlink()


def attached_once(build, target, folder):
    """A victim that has been attached to, and how long that took."""
    victim = target([build / "tests/attach/pattern", "3", "signals", "old"])
    began = time.monotonic()
    attach(build, victim.pid, folder / "first", "-q", duration="10ms")
    return victim, time.monotonic() - began


def start_attach(build, victim, folder, duration):
    return subprocess.Popen(
        attach_command(build, victim.pid, folder / "killed", "-q", "--duration", duration),
        stderr=subprocess.PIPE, text=True)


@pytest.mark.serial
@pytest.mark.timeout(3600)
def test_any_end_at_any_moment(build, target, tmp_path, is_long, go_first):  # noqa: F811
    n = int(os.environ.get("HEAPTRACK_KILLS", 300 if is_long else 16))
    victim, whole_s = attached_once(build, target, tmp_path)
    is_quiet = go_first(victim.pid) or os.getloadavg()[0] < 2 * os.cpu_count()
    patience_s = PATIENCE_S if is_quiet else 10
    rng = random.Random(n)
    for i in range(n):
        process = start_attach(build, victim, tmp_path, "50ms")
        time.sleep(rng.uniform(0, whole_s + 0.05))
        process.send_signal(WAYS[i % len(WAYS)])
        _, err = process.communicate(timeout=60)
        assert victim.is_alive(), f"{i}: {victim!r} {err}"
        wait_until_restored(victim, patience_s)
        check_files(build, tmp_path)
    repaired = subprocess.run([build / "heaptrack", "--detach", str(victim.pid)],
                              capture_output=True, text=True, timeout=60, check=False)
    assert repaired.returncode == 0 and "nothing was changed" in repaired.stderr, repaired.stderr
    attach(build, victim.pid, tmp_path / "after", "-q")
    assert victim.end() == 0, repr(victim)


def children_of(pid):
    try:
        return [int(word) for word in
                Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def is_traced(victim):
    return any(victim.status("TracerPid", f"{victim.pid}/task/{tid}") != "0"
               for tid in os.listdir(f"/proc/{victim.pid}/task"))


def kill_family(tracer, victim):
    """strace, the heaptrack below it and the helper below that: from the last on."""
    family = [tracer.pid]
    for pid in family:
        family += children_of(pid)
    for pid in reversed(family):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    tracer.wait()
    # On a busy machine it takes a while until it is the helper's turn to die; until then it traces
    wait_until(lambda: not is_traced(victim), 10, "the killed helper's end")


def kill_with_helper(process):
    try:
        for pid in [*children_of(process.pid), process.pid]:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has ended by itself
    process.wait()
    process.stderr.close()


@pytest.mark.serial
@pytest.mark.timeout(3600)
def test_all_of_heaptrack_killed_at_any_moment(build, target, tmp_path, is_long):  # noqa: F811
    """The helper, too: a thread that works for it then finds its way back by itself."""
    n = int(os.environ.get("HEAPTRACK_KILLS", 300 if is_long else 12))
    victim, whole_s = attached_once(build, target, tmp_path)
    rng = random.Random(n)
    for i in range(n):
        process = start_attach(build, victim, tmp_path, "20ms")
        time.sleep(rng.uniform(0, whole_s))
        kill_with_helper(process)
        assert victim.is_alive(), f"{i}: {victim!r}"
    attach(build, victim.pid, tmp_path / "after", "-q")
    assert not changed_code(victim.pid)
    assert victim.end() == 0, repr(victim)


def blocks_all(victim):
    """Threads that have signals blocked which the program itself never blocks."""
    threads = sorted(os.listdir(f"/proc/{victim.pid}/task"))
    return [tid for tid in threads
            if int(victim.status("SigBlk", f"{victim.pid}/task/{tid}"), 16) & 1 << signal.SIGHUP - 1]


@pytest.mark.serial
@pytest.mark.timeout(3600)
def test_all_of_heaptrack_killed_between_its_steps(build, target, tmp_path, is_long):  # noqa: F811
    """The helper is held up at each of its calls of ptrace, so most kills come in between two, and at each wait,
    so some come when it knows of a signal that it has not passed on."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    n = int(os.environ.get("HEAPTRACK_KILLS", 300 if is_long else 6))
    victim, _ = attached_once(build, target, tmp_path)
    rng = random.Random(n)
    for i in range(n):
        slow = ["strace", "-f", "-o", "/dev/null", "-e", "trace=ptrace,wait4,waitid", "-e",
                "inject=ptrace,wait4,waitid:delay_exit=4000"]
        tracer = subprocess.Popen([*slow, *attach_command(build, victim.pid, tmp_path / "killed",
                                                          "-q", "--duration", "20ms")])
        time.sleep(rng.uniform(0.1, 1.2))
        kill_family(tracer, victim)
        assert victim.is_alive(), f"{i}: {victim!r}"
        # It is attached to again while a thread may still wait for the one that was killed
        attach(build, victim.pid, tmp_path / "after", "-q", duration="1ms")
    # Who has waited in vain for five seconds goes back
    wait_until(lambda: not blocks_all(victim) and not changed_code(victim.pid), 60, "all of it gone")
    assert victim.end() == 0, repr(victim)


@pytest.mark.parametrize("way", ["detach", "attach"])
def test_a_killed_helper_is_repaired(build, target, tmp_path, way):  # noqa: F811
    """Both processes are killed: the hooks stay, go quiet, and --detach or an attach removes them."""
    victim = target([build / "tests/attach/pattern", "3", "signals"])
    kill_with_helper(start_listening(build, victim.pid, tmp_path / "both"))
    time.sleep(0.3)
    assert victim.is_alive() and changed_code(victim.pid)
    if way == "detach":
        done = subprocess.run([build / "heaptrack", "--detach", str(victim.pid)],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0 and "was undone" in done.stderr, done.stderr
    else:
        attach(build, victim.pid, tmp_path / "again")
    assert not changed_code(victim.pid)
    assert victim.end() == 0, repr(victim)
