"""`heaptrack -p PID`: what is recorded, how it ends, what is refused.

tests/attach/pattern.c says what it checks: each byte of its blocks, each signal, each sleep.
tests/endurance/test_attach_cycles.py attaches again and again.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from attaching import (attach, attach_command, finish, known, start_listening,  # noqa: F401
                       target)

# ---- what is recorded


@pytest.mark.parametrize("n_threads", [1, 8])
def test_counts_are_exact(build, target, tmp_path, n_threads):
    victim = target([build / "tests/attach/exact", str(n_threads)])
    process = start_listening(build, victim.pid, tmp_path / "exact")
    victim.process.send_signal(signal.SIGUSR1)
    until = time.monotonic() + 60
    while "done" not in victim.out.read_text():
        assert time.monotonic() < until and victim.is_alive()
        time.sleep(0.02)
    status, err = finish(process)
    assert status == 0, err
    got = known(build, tmp_path / "exact.zst")
    summary = got["summary"]
    # by_realloc makes a block of 16 bytes first
    assert summary["allocations"] == 1000 * 6 * n_threads, summary
    assert summary["lost_events"] == 0 and summary["truncated_stacks"] == 0
    assert summary["never_freed_bytes"] == 100 * 1000 * n_threads, summary
    assert got["quality"]["unknown_frees"] == 1000, "blocks from before the attach"
    assert victim.is_alive() and victim.end() == 0


def test_stacks_are_whole(build, target, tmp_path):
    victim = target([build / "tests/attach/exact"])
    process = start_listening(build, victim.pid, tmp_path / "exact")
    victim.process.send_signal(signal.SIGUSR1)
    time.sleep(0.5)
    assert finish(process)[0] == 0
    subprocess.run([build / "heaptrack_print", "-f", tmp_path / "exact.zst",
                    "-F", tmp_path / "folded"], capture_output=True, timeout=60, check=True)
    lines = (tmp_path / "folded").read_text().splitlines()
    deep = [line for line in lines if line.count("deeper") == 101]
    assert len(deep) == 1 and "main;use;deeper" in deep[0] and deep[0].endswith(" 1000"), lines[:20]


# ---- ends


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_recording(build, target, tmp_path, sig):
    victim = target([build / "tests/attach/pattern", "2"])
    process = start_listening(build, victim.pid, tmp_path / "ended")
    time.sleep(0.2)
    status, err = finish(process, sig)
    assert status == 0 and "detached" in err, err
    assert known(build, tmp_path / "ended.zst")["summary"]["complete"]
    assert victim.is_alive() and victim.end() == 0


def test_the_end_of_the_program_ends_the_recording(build, target, tmp_path):
    victim = target([build / "tests/attach/pattern", "2"])
    process = start_listening(build, victim.pid, tmp_path / "ended")
    time.sleep(0.2)
    assert victim.end() == 0
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert known(build, tmp_path / "ended.zst")["summary"]["complete"]


def test_exec_ends_what_is_recorded(build, target, tmp_path):
    """The hooks are gone with the old program: the new one is left alone."""
    script = f"trap 'exec {build}/tests/attach/pattern 2' USR1; echo ready; while :; do sleep 0.05; done"
    victim = target(["bash", "-c", script])
    process = start_listening(build, victim.pid, tmp_path / "exec")
    victim.process.send_signal(signal.SIGUSR1)
    time.sleep(2.5)  # the helper looks for new libraries once a second
    assert victim.is_alive() and finish(process)[0] == 0
    assert victim.end() == 0, repr(victim)


def test_stopped_program_stays_stopped(build, target, tmp_path):
    victim = target([build / "tests/attach/pattern", "2"])
    victim.process.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    attach(build, victim.pid, tmp_path / "stopped", "-q")
    assert victim.status("State") == "T"
    victim.process.send_signal(signal.SIGCONT)
    assert victim.end() == 0


# ---- refusals


def refused(build, *arguments):
    done = subprocess.run([str(word) for word in (build / "heaptrack", *arguments)],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    return done.stderr


def test_refusals_say_why(build, target, tmp_path):
    assert "there is no process" in refused(build, "-p", 4194303)
    assert "no process id" in refused(build, "-p", "me")
    assert "thread of the kernel" in refused(build, "-p", 2) or os.getpid() < 3
    ended = subprocess.Popen(["true"])
    time.sleep(0.3)
    assert "has ended" in refused(build, "-p", ended.pid)
    ended.wait()


def test_a_second_attach_is_refused(build, target, tmp_path):
    victim = target([build / "tests/attach/pattern", "2"])
    process = start_listening(build, victim.pid, tmp_path / "first")
    err = refused(build, "-p", victim.pid, "-o", tmp_path / "second")
    assert "being recorded already" in err
    assert not list(tmp_path.glob("second*"))
    assert finish(process)[0] == 0
    assert victim.end() == 0


def test_a_traced_program_is_refused(build, target, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    victim = target([build / "tests/attach/pattern", "1"])
    tracer = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(victim.pid)],
                              stderr=subprocess.PIPE, text=True)
    tracer.stderr.readline()
    assert re.search(r"traced already, by process \d+ \(strace\)", refused(build, "-p", victim.pid))
    tracer.terminate()
    tracer.communicate()
    assert victim.end() == 0
