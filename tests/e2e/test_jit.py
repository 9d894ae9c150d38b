"""Code that programs make while they run: its names are those of the map, or the dump, that is written for perf.

tests/victims/jit.c makes code and gives its place to other code; node does so for real.
"""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from attaching import attach, finish, known, start_listening, target  # noqa: F401
from conftest import through, total, wait_until

FLAGS = ("--perf-basic-prof", "--interpreted-frames-native-stack")
DUMPS = ("--perf-prof", "--interpreted-frames-native-stack")
SERVER = """
const kept = [];
function onGossipBlock(size) {
  kept.push(Buffer.allocUnsafeSlow(size));
  if (kept.length > 500) kept.shift();
}
const handle = (i) => onGossipBlock(20000 + i % 7);
let i = 0;
function tick() {
  for (let k = 0; k < 20; k++) handle(i++);
  if (process.argv[2] === "serve") setTimeout(tick, 2);
  else if (i < 2000) setImmediate(tick);
}
tick();
console.log("ready");
"""


def is_written_below(path, folder):
    """Is it the map of a script in this folder? Those of tests beside this one are theirs."""
    try:
        return f"{folder}/" in path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return False


@pytest.fixture
def node(tmp_path):
    program = shutil.which("node")
    if program is None:
        pytest.skip("no node here")
    (tmp_path / "srv.js").write_text(SERVER)
    yield program
    for path in Path("/tmp").glob("perf-*.map"):
        if is_written_below(path, tmp_path):
            path.unlink(missing_ok=True)


def sites_by(data, function):
    return through(data["sites"]["allocations"], function)


def frame_of(site, function):
    return next(frame for frame in site["stack"] if frame["function"] == function)


def check_victim(data):
    """Each name has exactly its blocks, though both stood at one address."""
    for name, file, line, n, size in [("first", "/srv/a.js", 3, 1000, 100),
                                      ("second", "/srv/b.js", 7, 500, 200)]:
        sites = sites_by(data, name)
        assert total(sites, "allocations") == n, (name, sites)
        assert total(sites, "bytes") == n * size, (name, sites)
        frame = frame_of(sites[0], name)
        assert (frame["file"], frame["line"]) == (file, line), frame
        assert frame["symbol"].startswith(f"JS:~{name} "), frame


def test_code_that_takes_the_place_of_other_code(tools):
    recording = tools.record(tools.victim("jit"))
    assert recording.status == 0, recording
    check_victim(recording.json())


def test_also_when_attached(build, target, tmp_path):
    victim = target([build / "tests/victims/jit", "wait"])
    process = start_listening(build, victim.pid, tmp_path / "jit")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "done" in victim.said(), 60, "the program's last block")
    status, err = finish(process)
    assert status == 0, err
    check_victim(known(build, tmp_path / "jit.zst"))
    assert victim.end() == 0


def test_an_old_map_is_not_read(tools, tmp_path):
    """A process of the same number, long ago, may have left one: its time tells."""
    running = tools.start_record("sh", "-c", "kill -STOP $$; exec " + str(tools.victim("jit")))
    pid = running.program()
    wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().split()[2] == "T", 30)
    old = Path(f"/tmp/perf-{pid}.map")
    old.write_text("0 7fffffffffff JS:~old /srv/old.js:1:1\n")
    os.utime(old, (time.time() - 86400,) * 2)
    os.kill(pid, signal.SIGCONT)
    assert running.wait().status == 0
    data = tools.json(running.file)
    check_victim(data)
    assert not sites_by(data, "old")


@pytest.mark.parametrize("flags", [FLAGS, DUMPS], ids=["map", "dump"])
def test_node_names_its_functions(tools, node, tmp_path, flags):
    recording = tools.record(node, *flags, "srv.js", cwd=tmp_path)
    assert recording.status == 0, recording
    data = recording.json()
    sites = sites_by(data, "onGossipBlock")
    assert total(sites, "allocations") > 2000
    frame = frame_of(sites[0], "onGossipBlock")
    assert (Path(frame["file"]).name, frame["line"]) == ("srv.js", 4), frame
    assert not any("to name the" in finding["text"] for finding in data["findings"])
    report = recording.report()
    assert "onGossipBlock srv.js:4" in " ".join(report.split()), report


def test_node_needs_no_option(tools, node, tmp_path):
    recording = tools.record(node, "srv.js", cwd=tmp_path)
    report = " ".join(recording.report().split())
    assert "onGossipBlock srv.js:4" in report and "--perf-basic-prof" not in report, report
    data = recording.json()
    names = {frame["function"] for site in data["sites"]["peak"]
             for frame in site["stack"]}
    assert not [name for name in names if name.startswith("generated code 0x")]


@pytest.mark.parametrize("flags", [FLAGS, DUMPS], ids=["map", "dump"])
def test_node_that_is_attached_to(build, target, node, tmp_path, flags):
    victim = target([node, *flags, "srv.js", "serve"], cwd=tmp_path)
    attach(build, victim.pid, tmp_path / "node", duration="1500ms")
    data = known(build, tmp_path / "node.zst")
    sites = sites_by(data, "onGossipBlock")
    assert total(sites, "allocations") > 100, data["summary"]
    assert frame_of(sites[0], "onGossipBlock")["line"] == 4
    assert victim.is_alive()
    victim.end()
