"""JavaScript's functions in recordings of node without options: each stack against what the program knows of it.

The short form takes the node that is installed, the long one the official ones of npm.
"""

import json
import os
import re
import shutil
import subprocess
import time
from collections import defaultdict
from pathlib import Path

import pytest

from attaching import attach, known, target  # noqa: F401
from conftest import through, wait_until
from test_v8_frames import OFFICIAL, official, version_of  # noqa: F401

RUNTIMES = Path(__file__).resolve().parents[1] / "runtimes"
BASE = 4_000_000  # more than any of node's own: Debian's reads a library of 1.2 MB
LINES = 0.97  # of frames that have the right one; 98.9 % in the worst of 36 runs on a busy machine
COLLECTIONS = ["--stress-compaction", "--gc-interval=5000"]


@pytest.fixture
def node():
    path = shutil.which("node")
    if not path or not version_of(path).startswith(("10.2.", "11.3.", "12.4.", "13.6.")):
        pytest.skip("no node is installed whose V8 is known")
    return path


def stacks_of(tools, file, least):
    """Functions, files and lines of JavaScript of blocks of so many bytes, innermost first, how often and how much."""
    out = Path(file).with_suffix(".json")
    tools.print(file, "--export", f"json={out}")
    data = json.loads(out.read_text())
    for stack in data["stacks"]:
        if stack["allocated_bytes"] >= least * stack["allocations"]:
            frames = [data["frames"][i] for i in stack["frames"]]
            yield [(f["function"], f["file"], f["line"]) for f in frames if f["module"] == "[v8]"], \
                stack["allocations"], stack["allocated_bytes"]


def is_same(found, truth):
    """What V8 does not name is named by the source. Computed names are known by their expression alone."""
    return found[1:] == truth[1:] and \
        (found[0] == truth[0] or not truth[0] or truth[0] == "computed" or truth[0][0] + found[0][0] == "[[")


def is_part(found, truth):
    """Frames whose functions were gone before they could be read are missing, but none is another one."""
    left = iter(truth)
    return all(any(is_same(f, t) for t in left) for f in found)


def is_part_inside(found, truth, insides):
    """Where stop itself is missing, what lies inside of it comes first: what other stacks have there, and the truth has not."""
    return any(is_part(found[i:], truth) and any(is_part(found[:i], inside) for inside in insides) for i in range(len(found) + 1))


def test_judge_finds_functions_that_were_not_there():
    inside = (("createUnsafeBuffer", "node:internal/buffer", 1083), ("allocUnsafeSlow", "node:buffer", 412))
    truth = (("stop", "/frames.js", 28), ("deep", "/frames.js", 71), ("", "/frames.js", 90))
    top, wrong = ("(top level)", "/frames.js", 90), ("other", "/frames.js", 71)
    for found in [], [top], [*inside, top], [inside[0], top], [inside[1], truth[1], top], [*inside], [*truth]:
        assert is_part_inside(found, truth, {inside}), found
    for found in [wrong, top], [inside[0], wrong, top], [wrong, inside[0], top], [inside[0], top, truth[1]], [*inside[::-1], top], \
            [truth[1], inside[0], top], [inside[0], inside[0], top], [("createUnsafeBuffer", "node:internal/buffer", 1084), top], \
            [*inside, ("deep", "/frames.js", 70), top], [("fill", "node:buffer", 412), top]:
        assert not is_part_inside(found, truth, {inside}), found
    assert not is_part_inside([inside[0], top], truth, set())


def check_truth(tools, node, script, whole, parent=None):
    words = [parent, RUNTIMES / script] if parent else [RUNTIMES / script]
    recording = tools.record(node, *words, env={"ALLOCATE": str(BASE)}, options=["--children"] if parent else [])
    assert recording.status == 0, recording
    truth = defaultdict(lambda: [0, 0])
    for stop in map(json.loads, re.findall(r"^{.*", recording.stdout, re.MULTILINE)):
        key = tuple((name or "", (file or "<eval>").removeprefix("file://"), line) for name, file, line, _ in stop["stack"] if line)
        truth[key][0] += 1
        truth[key][1] += BASE + stop["stop"]
    n_whole = n_all = n_frames = n_right = 0
    sums = {key: [0, 0] for key in truth}
    insides, parts = set(), []
    for frames, n, size in stacks_of(tools, recording.file, BASE):
        n_all += n
        at = next((i for i, f in enumerate(frames) if f[0] == "stop"), None)
        insides |= {tuple(f for f in frames[:at] if f[2])} if at is not None else set()
        frames = [f for f in frames[at or 0:] if f[2]]
        key = next((t for t in truth if len(t) == len(frames) and all(map(is_same, frames, t))), None)
        if at is None or key is None:
            parts.append((frames, at is None))
            shortest = min([len(t) for t in truth if is_part(frames, t)] or map(len, truth))
            n_frames += n * shortest
            n_right += n * min(len(frames), shortest)
            continue
        n_whole += n
        n_frames += n * len(key)
        n_right += n * len(key)
        sums[key][0] += n
        sums[key][1] += size
    for frames, is_inside in parts:
        assert any(is_part_inside(frames, t, insides if is_inside else {()}) for t in truth), (frames, insides)
    assert n_all == sum(n for n, _ in truth.values()) > 10
    wrong = {key: (n, sums[key]) for key, n in truth.items() if sums[key][0] > n[0] or (sums[key][0] == n[0] and sums[key] != n)}
    assert not wrong, list(wrong.items())[:2]
    assert n_whole >= whole * n_all, (n_whole, n_all)
    assert n_right >= LINES * n_frames, (n_right, n_frames)


SCRIPTS = ["frames.js", "module.mjs", "workers.js"]


@pytest.mark.parametrize("script", SCRIPTS)
def test_stacks_are_those_of_errors_stack(tools, node, script):
    check_truth(tools, node, script, 0.9)


PARENT = f"""\
const {{ fork }} = require('child_process');
function parentKeeps() {{ return Buffer.allocUnsafeSlow({BASE // 2}); }}
const kept = parentKeeps();
fork(process.argv[2], process.argv.slice(3)).on('exit', (status) => process.exit(status));
"""


@pytest.mark.parametrize("script", SCRIPTS)
def test_stacks_in_a_tree_are_those_of_errors_stack(tools, tmp_path, node, script):
    (tmp_path / "parent.js").write_text(PARENT)
    check_truth(tools, node, script, 0.9, tmp_path / "parent.js")


CLUSTER = f"""\
const cluster = require('cluster');
const kept = [];
function serve(n) {{ for (let i = 0; i < n; i++) kept.push(Buffer.allocUnsafeSlow({BASE})); }}
function begin() {{ for (let i = 0; i < 3; i++) cluster.fork(); }}
if (cluster.isPrimary) {{ serve(1); begin(); if (process.argv[2]) setTimeout(begin, 2000); }}
else setTimeout(() => {{ serve(5); process.exit(0); }}, Number(process.argv[2] || 0));
"""


def served(tools, file, path):
    """How often functions of each chain allocated, as far as they are in the file."""
    chains = defaultdict(int)
    for frames, n, _ in stacks_of(tools, file, BASE):
        chains[tuple((f[0], f[2]) for f in frames if f[1] == path)] += n
    return dict(chains)


def test_workers_of_a_cluster_have_names(tools, tmp_path, node):
    (tmp_path / "cluster.js").write_text(CLUSTER)
    (tmp_path / "package.json").write_text('{"name": "served", "version": "1.0.0", "scripts": {"serve": "node cluster.js"}}')
    truth = {(("serve", 3), ("(top level)", 5)): 1, (("serve", 3), ("(anonymous, in setTimeout)", 6)): 15}
    recording = tools.record(node, tmp_path / "cluster.js", options=["--children"])
    assert served(tools, recording.file, str(tmp_path / "cluster.js")) == truth
    if shutil.which("npm"):
        recording = tools.record("npm", "run", "serve", "--prefix", tmp_path, options=["--children"], cwd=tmp_path)
        assert served(tools, recording.file, str(tmp_path / "cluster.js")) == truth


@pytest.mark.attach
def test_workers_have_names_that_live_and_that_come_later(tools, build, tmp_path, node):
    if not (build / "libheaptrack_inject.so").exists():
        pytest.skip("built without attaching (-Dattach=false)")
    (tmp_path / "cluster.js").write_text(CLUSTER)
    with subprocess.Popen([node, tmp_path / "cluster.js", "2500"]) as program:
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        wait_until(lambda: len(children.read_text().split()) == 3, what="its workers")
        time.sleep(0.3)
        subprocess.run([build / "heaptrack", "--children", "-f", "-o", tmp_path / "tree", "-p", str(program.pid)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = served(tools, tmp_path / "tree.zst", str(tmp_path / "cluster.js"))
    assert found == {(("serve", 3), ("(anonymous, in setTimeout)", 6)): 30}, found


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_stacks_of_official_nodes(tools, official, script):
    check_truth(tools, official, script, 0.9)


def check_entries(tools, tmp_path, node):
    """V8's own code has names wherever it runs: builds from 22 on copy it to where they compile to."""
    (tmp_path / "short.js").write_text(SHORT)
    recording = tools.record(node, tmp_path / "short.js")
    out = recording.file.with_suffix(".json")
    tools.print(recording.file, "--export", f"json={out}")
    data, n_all, n_unknown = json.loads(out.read_text()), 0, 0
    for stack in data["stacks"]:
        frames = [data["frames"][i] for i in stack["frames"]]
        if any(frame["module"] == "[v8]" for frame in frames):
            n_all += stack["allocations"]
            n_unknown += stack["allocations"] * any(f["module"] is None for f in frames)
    assert n_all > 100 and n_unknown < 0.01 * n_all, (n_unknown, n_all)


def test_entries_of_v8_have_names(tools, tmp_path, node):
    check_entries(tools, tmp_path, node)


@pytest.mark.long
def test_entries_of_official_nodes_have_names(tools, tmp_path, official):
    check_entries(tools, tmp_path, official)


LATE = f"""\
const {{ spawn }} = require('child_process');
const collector = process.ppid;
process.kill(collector, 'SIGSTOP');
spawn('sh', ['-c', `sleep ${{process.argv[2]}}; kill -CONT ${{collector}}`], {{ stdio: 'ignore' }}).unref();
const kept = [];
function keep() {{ kept.push(Buffer.allocUnsafeSlow({BASE})); }}
while (kept.length < 10) keep();
"""


def test_functions_are_read_before_the_heap_goes(tools, tmp_path, node):
    """The collector gets no CPU time from a function's first call to its program's end, where node frees its heap."""
    (tmp_path / "late.js").write_text(LATE)
    for _ in range(3):  # busy machines may wake it later than is waited for
        recording = tools.record(node, tmp_path / "late.js", "0.1", options=["-f"])
        assert recording.status == 0, recording
        found = list(stacks_of(tools, recording.file, BASE))
        late = [n for frames, n, _ in found if ("keep", str(tmp_path / "late.js"), 6) in frames]
        if late:
            break
    assert late == [10], found


def test_functions_that_were_not_read_are_said(tools, tmp_path, node):
    """A collector without CPU time is not waited for longer than a second."""
    (tmp_path / "late.js").write_text(LATE)
    recording = tools.record(node, tmp_path / "late.js", "2")
    assert recording.status == 0, recording
    (line,) = [line for line in recording.json()["quality"]["sentences"] if line["id"] == "unread"]
    assert re.fullmatch(r"\d\d % of the bytes at the peak have callers without names: functions of a runtime "
                        r"that could not be read", line["text"])
    assert line["value"] >= 10 * BASE, line
    assert "(function not read)" in tools.print(recording.file, "--tree", "--lens", "fold=0").stdout


KNOWN = f"""\
const {{ spawnSync }} = require('child_process');
const kept = [];
function keep(bytes) {{ if (bytes) kept.push(new ArrayBuffer(bytes)); }}
function rest(ms) {{ Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms); }}
keep({BASE});
rest(1000);
process.kill(process.ppid, 'SIGSTOP');
for (let i = 0; i < 200000; i++) keep(0);
for (let i = 0; i < 9; i++) keep({BASE});
spawnSync('sh', ['-c', `(sleep 3; kill -CONT ${{process.ppid}}) > /dev/null 2>&1 &`]);
"""


def test_functions_read_once_are_named_everywhere(tools, tmp_path, node):
    """The collector sees a function in bytecode, and gets no CPU time when that is compiled: the place is unknown, not the function."""
    (tmp_path / "known.js").write_text(KNOWN)
    recording = tools.record(node, tmp_path / "known.js")
    assert recording.status == 0, recording
    found = list(stacks_of(tools, recording.file, BASE))
    named = [(frame, n) for frames, n, _ in found for frame in frames if frame[0] == "keep"]
    assert {frame[1] for frame, _ in named} == {str(tmp_path / "known.js")} and {frame[2] for frame, _ in named} <= {None, 3}, found
    assert sum(n for _, n in named) == 10, found


AWAITING = f"""\
const kept = [];
async function load() {{ await null; kept.push(Buffer.allocUnsafeSlow({BASE})); }}
async function all() {{ for (let i = 0; i < 5; i++) await load(); }}
all();
setTimeout(() => 0, 1000); // for a collector that has little of the machine
"""


def check_awaiting(tools, tmp_path, node):
    """What goes on after an await is called by a function of V8's that has no name, which is none that was not read."""
    (tmp_path / "awaiting.js").write_text(AWAITING)
    recording = tools.record(node, tmp_path / "awaiting.js")
    assert recording.json()["quality"]["verdict"] == "recording complete"
    assert not [line for line in recording.json()["quality"]["sentences"] if line["id"] == "unread"]
    assert [n for frames, n, _ in stacks_of(tools, recording.file, BASE) if ("load", str(tmp_path / "awaiting.js"), 2) in frames] == [5]


def test_functions_of_v8_without_names_are_read(tools, tmp_path, node):
    check_awaiting(tools, tmp_path, node)


@pytest.mark.long
def test_functions_of_official_v8_without_names_are_read(tools, tmp_path, official):
    check_awaiting(tools, tmp_path, official)


def check_chains(tools, tmp_path, node, words, rounds):
    recording = tools.record(node, *words, RUNTIMES / "chains.js", rounds, tmp_path / "truth")
    assert recording.status == 0, recording
    truth = json.loads((tmp_path / "truth").read_text())
    n_whole = n_all = n_frames = 0
    for frames, n, size in stacks_of(tools, recording.file, truth["base"]):
        names = [f[0][1:] for f in frames if f[1] == "/made/functions.js"]
        c = size // n - truth["base"]
        if c < len(truth["chains"]):
            chain = [str(k) for k in truth["chains"][c]][::-1]
            left = iter(chain)
            assert size % n == 0 and (names == chain or all(name in left for name in names)), (names, chain)
            n_whole += n if names == chain else 0
            n_all += n
            n_frames += n * len(names)
    assert n_all == rounds
    return n_whole / n_all, n_frames


def test_no_function_is_taken_for_another(tools, tmp_path, node):
    """None of so many frames: fewer than 1 in 100,000 are wrong, which 19 of 20 such runs would otherwise show."""
    whole, n_frames = check_chains(tools, tmp_path, node, [], 70000)
    assert whole > 0.99 and n_frames > 300_000, (whole, n_frames)


@pytest.mark.long
def test_no_function_is_taken_for_another_while_they_move(tools, tmp_path, official):
    whole, n_frames = check_chains(tools, tmp_path, official, [], 100000)
    assert whole > 0.999 and n_frames > 400_000, (whole, n_frames)
    check_chains(tools, tmp_path, official, COLLECTIONS, 50000)


SHORT = """'use strict';
const kept = [];
function grow(i) { kept.push(Buffer.allocUnsafeSlow(40000 + i % 7)); }
function handle(i) { grow(i); }
const until = Date.now() + 400;
let i = 0;
(function tick() {
	for (let k = 0; k < 5; k++) { handle(i++); }
	if (Date.now() < until) { setTimeout(tick, 4); } else { console.log(i); }
})();
"""


@pytest.fixture
def busy():
    """As on a machine that has other work."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(4)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


def check_short(tools, tmp_path, node, n_runs):
    (tmp_path / "short.js").write_text(SHORT)
    for k in range(n_runs):
        recording = tools.record(node, tmp_path / "short.js")
        data = recording.json()
        sites = [site for site in through(data["sites"]["allocations"], "grow")
                 if [f["line"] for f in site["stack"] if f["function"] in ("grow", "handle")] == [3, 4]]
        named = sum(site["bytes"] for site in sites)
        assert named >= 0.95 * 40000 * int(recording.stdout), (k, named, recording.stdout)


def test_short_runs_have_names_on_a_busy_machine(tools, tmp_path, node, busy):
    check_short(tools, tmp_path, node, 3)


@pytest.mark.long
def test_short_runs_of_official_nodes_have_names_on_a_busy_machine(tools, tmp_path, official, busy):
    check_short(tools, tmp_path, official, 10)


def is_javascript(frame):
    return re.search(r"^node:|\.[cm]?js$", frame["file"] or "") is not None


def said_by(*command):
    return subprocess.run(command, check=True, timeout=60, text=True, stdout=subprocess.PIPE).stdout


def with_wrong_layout(node, folder):
    """A copy of node, or of its library, whose data for debuggers are wrong in one number: V8 itself uses none of these."""
    library = re.search(r"(/\S*libnode\S*)", said_by("ldd", node))
    copy = folder / Path(library[1] if library else node).name
    shutil.copy(library[1] if library else node, copy)
    address, _ = re.search(r"^(\w+) \w (v8dbg_class_Script__source__\w+)$", said_by("nm", "-D", copy), re.MULTILINE).groups()
    for line in re.findall(r"LOAD +(\w+) (\w+) \w+ (\w+)", said_by("readelf", "-lW", copy)):
        offset, start, size = (int(word, 16) for word in line)
        if 0 <= int(address, 16) - start < size:
            with copy.open("r+b") as file:
                file.seek(offset + int(address, 16) - start)
                value = int.from_bytes(file.read(4), "little")
                file.seek(-4, os.SEEK_CUR)
                file.write((value + 8).to_bytes(4, "little"))
    return (node if library else copy), {"LD_LIBRARY_PATH": str(folder)}


def test_a_layout_that_does_not_fit_is_withdrawn(tools, tmp_path, node):
    wrong, env = with_wrong_layout(node, tmp_path)
    (tmp_path / "short.js").write_text(SHORT)
    recording = tools.record(wrong, tmp_path / "short.js", env=env)
    assert recording.status == 0 and int(recording.stdout) > 50, recording
    assert "JavaScript functions have no names: V8 " in recording.stderr, recording.stderr
    data = recording.json()
    frames = [f for site in data["sites"]["allocations"] for f in site["stack"] if is_javascript(f)]
    assert not frames, frames[:3]
    assert sum(s["bytes"] for s in data["sites"]["allocations"]) >= 40000 * int(recording.stdout), "nothing is lost but names"


GROWING = """'use strict';
const cache = new (require('lru'))();
function onRequest(i) { cache.set('k' + i, 20000); }
let i = 0;
const timer = setInterval(() => { for (let k = 0; k < 10; k++) { onRequest(i++); } if (i > 3000) { clearInterval(timer); } }, 2);
"""
PACKAGE = """class LRU { constructor() { this.m = new Map(); }
	set(k, n) { this.m.set(k, Buffer.alloc(n)); } }
module.exports = LRU;
"""


def test_first_finding_names_the_programs_own_function(tools, tmp_path, node):
    (tmp_path / "node_modules/lru").mkdir(parents=True)
    (tmp_path / "node_modules/lru/index.js").write_text(PACKAGE)
    (tmp_path / "main.js").write_text(GROWING)
    recording = tools.record(node, tmp_path / "main.js")
    finding = recording.json()["findings"][0]
    assert finding["id"] == "growing" and finding["text"].startswith("onRequest main.js:3 via set (lru)"), finding
    assert "perf-basic-prof" not in recording.report(), "names are there: no advice on how to get them"


UPLOADS = Path(__file__).resolve().parents[2] / "docs/guide/node-rss/uploads.js"


STARTS = "node:internal/main/", "node:internal/bootstrap/", "node:internal/per_context/"


def check_own(data, script):
    """Of what is asked for below JavaScript after node's start, at least 95 % have a function of the script, with line."""
    own, below = [], []
    for site in data["sites"]["allocations"]:
        frames = [f for f in site["stack"] if is_javascript(f)]
        is_own = any(f["file"] == str(script) and f["line"] and f["function"] for f in frames)
        own += [site] if is_own else []
        below += [site] if is_own or (frames and not frames[-1]["file"].startswith(STARTS)) else []
    named, every = (sum(site["bytes"] for site in sites) for sites in (own, below))
    assert every > 10_000_000 and named >= 0.95 * every, (named, every)


def test_guides_story_is_the_scripts_own(tools, node):
    recording = tools.record(node, UPLOADS)
    assert recording.status == 0, recording
    check_own(recording.json(), UPLOADS)


def test_guides_story_is_the_scripts_own_when_attached(build, target, tmp_path, node):
    script = tmp_path / "uploads.js"
    script.write_text(UPLOADS.read_text().replace("number < 1000", "number < 1e6") + "console.log('ready');\n")
    victim = target([node, script])
    attach(build, victim.pid, tmp_path / "at.zst", duration="1s")
    check_own(known(build, tmp_path / "at.zst"), script)


SERVER = """'use strict';
const cache = new Map();
function remember(i) { cache.set(i, Buffer.allocUnsafeSlow(9000)); }
function handle(i) { remember(i); }
let i = 0;
console.log('ready');
setInterval(() => handle(i++), 1);
"""


def test_attach_detach_attach(build, target, tmp_path, node):
    (tmp_path / "server.js").write_text(SERVER)
    victim = target([node, tmp_path / "server.js"])
    for k in range(3):
        for seconds in (1, 4, 16):  # until it has remembered more than V8 needs for itself, on a busy machine, too
            attach(build, victim.pid, tmp_path / f"at{k}.zst", duration=f"{seconds}s")
            data = known(build, tmp_path / f"at{k}.zst")
            sites = through(data["sites"]["peak"], "remember")
            if is_most := sum(site["bytes"] for site in sites) > 0.8 * data["summary"]["peak_bytes"]:
                break
        assert is_most, (k, sites)
        for site in sites[:2]:
            frames = [f["function"] for f in site["stack"] if re.search(r"server\.js$", f["file"] or "")]
            assert frames[:2] == ["remember", "handle"], frames


def check_collecting(tools, target, tmp_path, node, n_times, whole):
    """Attached at any time of a collection, and again and again: stacks are those of Error's stack from the first one on."""
    truth, file = tmp_path / "truth", tmp_path / "at.zst"
    victim = target([node, "--expose-gc", RUNTIMES / "collecting.js", BASE, truth])
    n_all, n_whole, threads = 0, 0, set()
    for k in range(n_times):
        attach(tools.build, victim.pid, file, duration="400ms")
        stacks = {stop["size"]: stop["stack"] for stop in map(json.loads, truth.read_text().splitlines())}
        n_before = n_all
        for frames, n, size in stacks_of(tools, file, BASE):
            told = [(name or "", where or "<eval>", line) for name, where, line in stacks[size // n] if line]
            found = [f for f in frames if f[2] and not (f[1] or "").startswith("node:internal/buffer") and f[1] != "node:buffer"]
            assert size % n == 0 and is_part(found, told) and found, (k, found, told)
            n_whole += n if len(found) == len(told) else 0
            n_all += n
            threads.add(size // n >= 2 * BASE)
        assert n_all > n_before, k
    inside = [int(part) for part in re.findall(r"(\d+) % in collections", victim.said())]
    assert threads == {False, True} and max(inside) > 60 and victim.is_alive(), (threads, inside, victim)
    assert n_whole >= whole * n_all, (n_whole, n_all)  # the others have functions that moved before they could be read


def test_attached_again_and_again_during_collections(tools, target, tmp_path, node):
    check_collecting(tools, target, tmp_path, node, 3, 0.95)


@pytest.mark.long
def test_official_nodes_attached_again_and_again_during_collections(tools, target, tmp_path, official):
    check_collecting(tools, target, tmp_path, official, 50, 0.99)


@pytest.mark.parametrize("n", [500_000, pytest.param(100_000_000, marks=[pytest.mark.long, pytest.mark.timeout(3500)])])
def test_very_many_captures(tools, tmp_path, node, n):
    """Beside workers that come and go, collections, signals, and code that is made again and again: no stack of nobody's."""
    recording = tools.record(node, "--expose-gc", RUNTIMES / "many.js", n // 5, timeout=3300)  # some six events each
    assert recording.status == 0 and int(re.search(r"(\d+) signals", recording.stdout)[1]) > n / 100_000, recording
    summary = recording.json("--limit", "1")["summary"]
    assert summary["allocations"] >= n and summary["lost_events"] == 0 and summary["complete"], summary
    functions, n_all, n_named = set(), 0, 0
    for frames, times, size in stacks_of(tools, recording.file, 0):
        own = [f[0] for f in frames if (f[1] or "").endswith("many.js") or f[1] == "<eval>"]
        at = next((i for i, f in enumerate(frames) if f[0] == "allocUnsafeSlow"), None)
        if at is not None:
            functions |= set(own)
            n_all += times
            n_named += times if own[:1] == ["leaf"] else 0
    assert functions <= {"leaf", "deep", "stepping", "get value", "value", "(anonymous)", "made", "work", "turn", "part", "(top level)",
                         "(anonymous, in .map)", "(anonymous, in process.on)", "closure"}, functions
    assert n_named > 0.95 * n_all > 0.5 * n, (n_named, n_all)
