"""Programs that begin themselves anew (exec) while they are attached to: seen, and said to be the reason."""

import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from attaching import attach_command, finish, known, start_listening, target  # noqa: F401
from conftest import let_look, wait_until
from ways import build_way

pytestmark = pytest.mark.attach


def unrecorded(got):
    return [s["text"] for s in got["quality"]["sentences"] if s["id"] == "unrecorded-image"]


@pytest.mark.parametrize("way", ["glibc", "static", "musl"])
def test_the_same_file_with_an_empty_environment(build, target, tmp_path, way):  # noqa: F811
    """At ten moments after the attach: at some of them the new program once counted as never seen."""
    why = "is linked statically" if way == "static" else "the recorder did not get into"
    program = build_way("execs.c", way, tmp_path)
    victims = [target([program]) for _ in range(10)]
    running = []
    for victim in victims:
        running.append(start_listening(build, victim.pid, tmp_path / f"{victim.pid}"))
        victim.process.send_signal(signal.SIGUSR1)
        wait_until(lambda victim=victim: "again" in victim.said(), what=repr(victim))
    with ThreadPoolExecutor(len(running)) as pool:  # with nothing to do, each looks every two seconds
        list(pool.map(lambda process: let_look(process.pid, 2.5), running))
    for victim, process in zip(victims, running):
        victim.end()
        process.communicate(timeout=60)
        said = unrecorded(known(build, tmp_path / f"{victim.pid}.zst"))
        assert len(said) == 1, said
        assert re.search(rf"became .*/execs-\S+, which {why}", said[0]), said


def test_launched(tools, tmp_path):
    running = tools.start_record(build_way("execs.c", "static", tmp_path))
    pid = running.program()
    wait_until(lambda: b"ready" in open(running.outputs[0].name, "rb").read(), what="its wait")
    os.kill(pid, signal.SIGUSR1)
    wait_until(lambda: b"again" in open(running.outputs[0].name, "rb").read(), what="the exec")
    let_look(running.pid, 2.5)
    os.kill(pid, signal.SIGTERM)
    running.wait()
    assert len(unrecorded(tools.json(running.file))) == 1


@pytest.mark.parametrize("way", ["glibc", "static"])
def test_fifty_a_second(build, target, tmp_path, way):  # noqa: F811
    """Attached or not, the program lives on, and what is said of a failure is what happened."""
    victim = target([build_way("execs.c", way, tmp_path), "often"])
    for i in range(8):
        done = subprocess.run(attach_command(build, victim.pid, tmp_path / f"{i}", "--duration", "50ms"),
                              capture_output=True, text=True, timeout=120, check=False)
        last = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 0 or "has executed another program in the meantime (exec)" in last, done.stderr
        assert victim.is_alive(), repr(victim)
