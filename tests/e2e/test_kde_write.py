"""Files of KDE's kind that ours writes: its own tools open them, and find the same in them."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import kde
import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
DAVID = SHARED / "heaptrack.david.18594.gz"
EMBEDDED = SHARED / "heaptrack.embedded_lsan_suppressions.84207.zst"

needs_shared = pytest.mark.skipif(not DAVID.exists(), reason="upstream's files are not here")

RUST = """
use std::collections::HashMap;
#[inline(never)]
fn make(n: usize) -> HashMap<usize, String> { (0..n).map(|i| (i, format!("{:>40}", i))).collect() }
fn main() { for n in 0..40 { let m = make(n * 10); std::mem::forget(m.get(&0).cloned()); } }
"""

NODE = "const a = []; for (let i = 0; i < 3000; i++) a.push({i, b: Buffer.alloc(100)})"


@pytest.fixture(scope="session")
def rust_program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rust")
    (folder / "made.rs").write_text(RUST)
    subprocess.run(["rustc", "-g", "-O", "-o", folder / "made", folder / "made.rs"], check=True,
                   timeout=110)
    return folder / "made"


@pytest.fixture(params=["c++", "python", "node", "rust"])
def program(request, tools):
    return {
        "c++": lambda: [tools.victim("demo")],
        "python": lambda: ["/usr/bin/python3", "-c",
                           "import json; x = [json.dumps([i] * 5) for i in range(2000)]"],
        "node": lambda: ["node", "-e", NODE],
        "rust": lambda: [request.getfixturevalue("rust_program")],
    }[request.param]()


def export(tools, file, kind, out):
    assert tools.print(file, "--disable-builtin-suppressions", "--export",
                       f"heaptrack{kind}={out}").status == 0
    return out


def ours(tools, file):
    return kde.reported(tools.print(file, "--disable-builtin-suppressions").stdout)


# ---- round trips of ours

def same_runtime(*figures):
    """Taken out of each: the files know ms, and the second digit is rounded from them."""
    seconds = [float(f.pop("total runtime").rstrip("s.")) for f in figures]
    assert max(seconds) - min(seconds) < 0.011, seconds


def assert_same_sites(tools, recording, found):
    """Every site with its figures and its whole stack, inlined calls in their order."""
    known = kde.sites(recording, tools.heaptrack_print)
    for title in ("MOST CALLS TO ALLOCATION FUNCTIONS", "PEAK MEMORY CONSUMERS", "MEMORY LEAKS"):
        assert found[title] == known[title], title


def test_from_intervals_every_figure_is_the_recordings(tools, program, tmp_path):
    recording = tools.record(*program)
    out = export(tools, recording.file, "", tmp_path / "out.zst")
    exported, recorded = kde.totals(out), ours(tools, recording.file)
    assert ours(tools, out) == exported  # and back again
    found = kde.sites(out)
    assert_same_sites(tools, recording.file, found)
    summary = recording.json("--disable-builtin-suppressions")["summary"]
    assert sum_of(found["MOST CALLS TO ALLOCATION FUNCTIONS"]) == summary["allocations"]
    # Near the peak a few blocks can only be placed so that they look temporary
    temporary = int(exported.pop("temporary memory allocations"))
    expected = int(recorded.pop("temporary memory allocations"))
    assert abs(temporary - expected) <= max(20, expected // 50)
    same_runtime(exported, recorded)
    assert exported == recorded


def test_event_by_event(tools, program, tmp_path):
    """Temporary is by KDE's definition then: two independent ways must agree on it."""
    recording = tools.record(*program, options=["--events=1G"])
    out = export(tools, recording.file, "", tmp_path / "out.zst")
    raw = export(tools, recording.file, "-raw", tmp_path / "out.raw")
    theirs = tmp_path / "theirs"
    with open(raw, "rb") as stream, open(theirs, "wb") as result:
        subprocess.run([kde.INTERPRET], stdin=stream, stdout=result, check=True,
                       stderr=subprocess.DEVNULL, timeout=110)
    exported, recorded = kde.totals(out), ours(tools, recording.file)
    same_runtime(exported, recorded)
    temporary = exported.pop("temporary memory allocations")
    recorded.pop("temporary memory allocations")
    assert exported == recorded
    by_address = kde.totals(theirs)
    # Number 0 is somebody's there, and its free behind another free counts as temporary
    assert 0 <= int(by_address.pop("temporary memory allocations")) - int(temporary) <= 1
    by_address.pop("total runtime")
    assert by_address == exported
    assert_same_sites(tools, recording.file, kde.sites(out))


def sum_of(entries):
    """Of the first numbers of all sites."""
    return sum(int(entry.split()[0]) * n for entry, n in entries.items())


def test_inlined_frames(tools, tmp_path):
    """An `i` line with two triples: a frame inlined into another, the innermost first."""
    recording = tools.record(tools.victim("demo"), options=["--events"])
    out = export(tools, recording.file, "", tmp_path / "out")
    chains = [line for line in kde.lines(out) if line.startswith("i ") and len(line.split()) > 6]
    assert chains
    texts = [""] + [line.split(" ", 2)[2] for line in kde.lines(out) if line.startswith("s ")]
    pairs = [[texts[int(line.split()[at], 16)] for at in (3, 6)] for line in chains]
    report = kde.run(kde.PRINT, "-n", "1000", "-s", "1000", "-l1", "-t0", out).stdout
    shown = [pair for pair in pairs if re.search(
        rf"{re.escape(pair[0])}\n +at .*\n( +in .*\n)? *{re.escape(pair[1])}\n", report)]
    assert any(inner != outer for inner, outer in shown), (pairs[:5], report[:2000])


def test_what_is_exported_from_a_lens_is_refused(tools, tmp_path):
    recording = tools.record("perl", "-e", "1")
    done = tools.print(recording.file, "--lens", "q=main", "--export",
                       f"heaptrack={tmp_path / 'out'}", status=1)
    assert "whole recording" in done.stderr


# ---- their files through ours

@needs_shared
@pytest.mark.parametrize("file", [DAVID, EMBEDDED], ids=["david", "embedded"])
def test_every_site_of_upstreams_files_survives_the_way_through_ours(tools, tmp_path, file):
    out = tmp_path / "out.zst"
    assert tools.print(file, "--export", f"heaptrack={out}").status == 0
    assert kde.sites(out) == kde.sites(file)
    assert kde.totals(out) == kde.totals(file)


def test_every_site_survives_the_way_through_ours(tools, tmp_path):
    recorded = kde.record(tmp_path, "/usr/bin/python3", "-c", "import json")
    out = tmp_path / "out.gz"
    assert tools.print(recorded, "--export", f"heaptrack={out}").status == 0
    assert kde.sites(out) == kde.sites(recorded)


def test_stacks_that_never_reach_main_end(tools, tmp_path):
    """Their massif output recurses without end on them."""
    if not DAVID.exists():
        pytest.skip("upstream's files are not here")
    out = tmp_path / "massif.out"
    done = tools.print(DAVID, "-M", out)
    assert done.status == 0, repr(done)
    assert out.stat().st_size < 10_000_000
    assert kde.run("ms_print", out).returncode == 0


# ---- the window

@pytest.mark.skipif(not kde.has_gui or not shutil.which("Xvfb"), reason="no heaptrack_gui, no Xvfb")
def test_the_window_opens_ours(tools, build, tmp_path):
    """Debian's heaptrack_gui on a screen of its own; what it shows is looked at."""
    recording = tools.record(tools.victim("demo"))
    out = export(tools, recording.file, "", tmp_path / "heaptrack.demo.zst")
    read, write = os.pipe()
    screen = tools.start("Xvfb", "-displayfd", str(write), "-screen", "0", "1400x900x24",
                         "-nolisten", "tcp", pass_fds=[write])
    os.close(write)
    with open(read) as told:
        display = ":" + told.readline().strip()  # to its end: it stops if nobody reads that
    env = {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    gui = tools.start(kde.GUI, out, env=env)
    picture, colours = tmp_path / "window.png", 0
    for _ in range(60):
        time.sleep(1)
        assert gui.process.poll() is None, repr(gui.finished(gui.process.returncode))
        done = subprocess.run(["import", "-window", "root", picture], env={**os.environ, **env},
                              capture_output=True, timeout=30)
        if done.returncode == 0:
            colours = int(kde.run("identify", "-format", "%k", picture).stdout or 0)
        # The summary has texts and heat bars from green to red; an empty window, or one with the
        # message of a failure, has a few greys
        if colours > 300:
            break
    assert colours > 300, f"{colours} colours in {picture}"
    titles = kde.run("xwininfo", "-root", "-tree", env={**os.environ, **env}).stdout
    assert "heaptrack" in titles.lower()
    (build / "screenshots").mkdir(exist_ok=True)
    shutil.copy(picture, build / "screenshots" / "heaptrack_gui.png")
    gui.end()
    screen.end()
