"""A build without what can be left out (meson -Dattach=false -Dweb=disabled) records and reports as any
other, and says what it lacks when that is asked for."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import let_look

ATTACH = "this heaptrack was built without support for attaching (meson -Dattach=false)"
PAGE = "this heaptrack was built without the web page (meson -Dweb=enabled)"


@pytest.fixture
def small(tools):
    """The tools of the small build; the programs that they record are those of the usual one."""
    tools.build = Path(os.environ["HEAPTRACK_SMALL"])
    tools.heaptrack = tools.build / "heaptrack"
    tools.heaptrack_print = tools.build / "heaptrack_print"
    return tools


def test_it_records_and_reports(small, build, helpers):
    recording = small.record(build / "tests/victims/steady", "10000", "6")
    assert recording.status == 6 and recording.stdout == "steady\n", repr(recording)
    known = recording.json()
    assert known["summary"]["complete"] and known["summary"]["lost_events"] == 0
    sites = helpers.through(known["sites"]["allocations"], "allocate_blocks")
    assert helpers.total(sites, "blocks") == 10000
    kept = helpers.through(known["sites"]["never_freed"], "allocate_blocks")
    assert helpers.total(kept, "bytes") == 10000
    full = json.loads(subprocess.run([build / "heaptrack_print", "--json", "--limit", "0", recording.file],
                                     capture_output=True, check=True, timeout=120).stdout)
    assert full == known
    assert "PEAK" in recording.report()
    running = small.start_record("sleep", "60", name="running")
    assert small.run(small.heaptrack, "--ctl", running.program()).status == 0


def test_what_is_left_out_is_named(small, build):
    file = small.record("true").file
    small.start("sleep", "60")
    program = small.started[-1].pid
    for command, says in [
            (("heaptrack", "-p", program), ATTACH),
            (("heaptrack", "--detach", program), ATTACH),
            (("heaptrack_print", "--html", small.folder / "page.html", file), PAGE),
            (("heaptrack_print", "--viewer", small.folder / "page.html"), PAGE),
            (("heaptrack_gui", file), PAGE)]:
        finished = small.run(small.build / command[0], *command[1:])
        assert finished.status == 1 and finished.stderr == f"{command[0]}: {says}\n", repr(finished)
    assert not list(small.folder.glob("page.html*"))


def test_what_it_would_have_been_put_into_runs_unrecorded(small, build):
    program = build / "tests/attach/once_static"
    if not program.exists():
        pytest.skip("once_static is not built")
    recording = small.record(program)
    assert recording.status == 7 and not recording.file.exists()
    assert recording.stderr == f"heaptrack: {ATTACH}; it runs unrecorded\n", repr(recording)


def test_what_a_recorded_program_becomes_is_named(small, build, helpers):
    program = build / "tests/attach/pattern_static"  # until SIGTERM
    if not program.exists():
        pytest.skip("pattern_static is not built")
    running = small.start_record("sh", "-c", f"exec {program} 1")
    helpers.wait_until(lambda: b"ready" in Path(running.outputs[0].name).read_bytes())
    let_look(running.pid, 2)
    running.process.terminate()
    assert running.wait().status == 0
    sentence, = [each["text"] for each in small.json(running.file)["quality"]["sentences"]
                 if each["id"] == "unrecorded-image"]
    assert str(program) in sentence


def test_nothing_of_it_is_installed(small):
    assert not list(small.build.glob("**/libheaptrack_inject*"))
    needed = subprocess.run(["ldd", small.heaptrack], capture_output=True, text=True, check=True,
                            timeout=60).stdout
    assert "Zydis" not in needed and "microhttpd" not in needed
