"""Callers whose stack is eight bytes off, as in hand-written assembly: they run as they would without us."""

import signal

import pytest

from attaching import finish, known, start_listening, target  # noqa: F401
from conftest import wait_until
from ways import WAYS, build_way

FUNCTIONS = ["malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc"]


def assert_whole(got, helpers):
    """What tests/victims/misaligned.c says of its rounds."""
    assert got["summary"]["complete"] and got["summary"]["lost_events"] == 0
    assert got["quality"]["double_allocations"] == 0
    sites = helpers.through(got["sites"]["allocations"], "rounds")
    kept = helpers.through(got["sites"]["never_freed"], "rounds")
    assert helpers.total(sites, "allocations") == 2 * (6 * 100 + 1)
    assert (helpers.total(kept, "blocks"), helpers.total(kept, "bytes")) == (200, 200 * 640)


@pytest.mark.parametrize("first", FUNCTIONS)
def test_whatever_comes_first(tools, helpers, first):
    recording = tools.record(tools.victim("misaligned"), first)
    assert recording.status == 0 and "done" in recording.stdout, repr(recording)
    assert_whole(recording.json(), helpers)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "glibc"])
def test_however_it_is_linked(tools, helpers, way, tmp_path):
    recording = tools.record(build_way("misaligned.c", way, tmp_path), "free")
    assert recording.status == 0 and "done" in recording.stdout, repr(recording)
    assert_whole(recording.json(), helpers)


@pytest.mark.parametrize("first", ["malloc", "free"])
def test_attached(build, target, tmp_path, helpers, first):  # noqa: F811
    victim = target([build / "tests/victims/misaligned", "wait", first])
    process = start_listening(build, victim.pid, tmp_path / "attached")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "done" in victim.said(), what=repr(victim))
    status, err = finish(process)
    assert status == 0, err
    assert_whole(known(build, tmp_path / "attached.zst"), helpers)
    assert victim.is_alive()

