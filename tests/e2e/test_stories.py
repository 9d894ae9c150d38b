"""The guides that projects wrote for their people, followed to the letter with stand-ins.

A Rust node with jemalloc, a Nim node with Nim's own allocator, a Node.js node with an addon: started
under heaptrack and attached to, each with stacks that name its own functions, and the lines that the
guides have people type.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from attaching import attach, known, target  # noqa: F401
from conftest import through, total, wait_until


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")


def compiled(folder, *command):
    subprocess.run([str(word) for word in command], cwd=folder, check=True, timeout=300,
                   stdout=subprocess.DEVNULL)


# ---- Rust, its global allocator jemalloc, linked in

RUST = """
use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashMap;
use std::os::raw::{c_int, c_void};

extern "C" {
    fn mallocx(size: usize, flags: c_int) -> *mut c_void;
    fn rallocx(block: *mut c_void, size: usize, flags: c_int) -> *mut c_void;
    fn sdallocx(block: *mut c_void, size: usize, flags: c_int);
}

fn align(layout: Layout) -> c_int {
    layout.align().trailing_zeros() as c_int
}

struct Jemalloc;
unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        mallocx(layout.size(), align(layout)) as *mut u8
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        sdallocx(block as *mut c_void, layout.size(), align(layout))
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        rallocx(block as *mut c_void, size, align(layout)) as *mut u8
    }
}

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[inline(never)]
fn import_snapshot(headers: usize) -> HashMap<usize, Vec<u8>> {
    let mut store = HashMap::new();
    for i in 0..headers {
        store.insert(i, vec![i as u8; 1000]);
    }
    store
}

#[inline(never)]
fn sync_headers(store: &mut HashMap<usize, Vec<u8>>, rounds: usize) {
    for i in 0..rounds {
        let name = format!("header {}", i).repeat(20);
        store.get_mut(&(i % 5000)).unwrap()[0] = name.len() as u8;
    }
}

fn main() {
    let serve = std::env::args().any(|word| word == "--serve");
    let mut store = import_snapshot(5000);
    println!("ready");
    loop {
        sync_headers(&mut store, 2000);
        if !serve {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::mem::forget(store);
}
"""


@pytest.fixture(scope="module")
def forest(tmp_path_factory):
    need("rustc")
    archive = next(Path("/usr/lib").glob("*/libjemalloc_pic.a"), None)
    if archive is None:
        pytest.skip("no libjemalloc_pic.a here")
    folder = tmp_path_factory.mktemp("forest")
    (folder / "forest.rs").write_text(RUST)
    compiled(folder, "rustc", "-O", "-g", "forest.rs", "-L", archive.parent, "-l",
             "static=jemalloc_pic", "-l", "m")
    return folder / "forest"


def test_rust_guide(tools, forest, tmp_path):
    """heaptrack <normal forest command>, then heaptrack --analyze with the file that it names."""
    done = tools.run(tools.heaptrack, forest, "--encrypt-keystore=false", "--chain", "calibnet",
                     cwd=tmp_path)
    assert done.status == 0, done
    file = re.search(r'^  heaptrack --analyze "(.*)"$', done.stderr, re.M)[1]
    assert re.fullmatch(r"heaptrack\.forest\.\d+\.zst", Path(file).name)
    assert "hooked in" in done.stderr and "mallocx" in done.stderr, done
    report = tools.run(tools.heaptrack, "--analyze", file).stdout
    assert "import_snapshot" in report and "forest.rs:" in report, report
    sites = tools.json(file)["sites"]
    kept = through(sites["never_freed"], "forest::import_snapshot")
    assert total(kept, "blocks") in (5001, 5002), "the headers and what holds them"
    assert total(through(sites["temporary"], "forest::sync_headers"), "temporary") > 1900
    owners = {frame["function"] for site in kept for frame in site["stack"]
              if frame["owner"] == "yours"}
    assert "forest::import_snapshot" in owners, owners


def test_rust_attached(build, target, forest, tmp_path):
    victim = target([forest, "--serve"])
    attach(build, victim.pid, tmp_path / "forest", duration="700ms")
    sites = known(build, tmp_path / "forest.zst")["sites"]
    assert total(through(sites["allocations"], "forest::sync_headers"), "allocations") > 1000
    assert victim.is_alive()
    victim.end()


# ---- Nim, with its own allocator and the compiler that everybody has

NIM = """
import std/[os, tables, strutils]
type Message = ref object
  topic: string
  payload: seq[byte]
var store = initTable[int, Message]()
proc archiveMessage(i: int) {.noinline.} =
  store[i mod 5000] = Message(topic: "topic " & $i, payload: newSeq[byte](1000))
proc relayMessage(i: int): int {.noinline.} =
  result = repeat("message " & $i, 10).len
proc main() =
  let serve = paramCount() > 0 and paramStr(1) == "--serve"
  var i, total = 0
  echo "ready"
  flushFile(stdout)
  while serve or i < 5000:
    archiveMessage(i)
    total += relayMessage(i)
    inc i
    if serve and i mod 100 == 0:
      sleep(2)
  echo total
main()
"""


@pytest.fixture(scope="module", params=["orc", "refc"])
def wakunode(request, tmp_path_factory):
    need("nim", "gcc")
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "wakunode2.nim").write_text(NIM)
    compiled(folder, "nim", "c", "-d:release", f"--gc:{request.param}", "--hints:off",
             f"--nimcache:{folder}/cache", "wakunode2.nim")
    return folder / "wakunode2"


def test_nim_guide(tools, wakunode, tmp_path):
    """heaptrack wakunode2 ..., without a compiler of its own."""
    done = tools.run(tools.heaptrack, wakunode, cwd=tmp_path)
    assert done.status == 0, done
    assert "rawAlloc__system" in done.stderr, done
    file = next(tmp_path.glob("heaptrack.wakunode2.*.zst"))
    data = tools.json(file)
    assert data["summary"]["peak_bytes"] > 100_000, data["summary"]
    sites = through(data["sites"]["peak"], "archiveMessage")
    assert total(sites, "bytes") > data["summary"]["peak_bytes"] * 0.4, data["summary"]
    report = tools.print(file).stdout
    assert re.search(r"^  archiveMessage +wakunode2", report, re.M), report
    if wakunode.parent.name.startswith("orc"):
        # The store is destroyed at the end. Frees of objects and of payloads are seen where the compiler
        # has put them; those of strings it has put elsewhere, too, and that is said
        kept = through(data["sites"]["never_freed"], "archiveMessage")
        assert total(kept, "bytes") < data["summary"]["peak_bytes"] * 0.1, data["summary"]
        assert "handed out twice" in done.stderr, done
    else:
        assert data["quality"]["double_allocations"] == data["quality"]["unknown_frees"] == 0


def test_nim_attached(build, target, wakunode, tmp_path):
    victim = target([wakunode, "--serve"])
    attach(build, victim.pid, tmp_path / "waku", duration="2s")
    sites = known(build, tmp_path / "waku.zst")["sites"]
    assert through(sites["allocations"], "archiveMessage")
    assert victim.is_alive()
    victim.end()


COUNTED = """
type Node = ref object
  pad: array[6, int]
var nodes: array[1000, Node]
var texts: seq[string]
proc makeNode(): Node {.noinline.} =
  new(result)
  result.pad[0] = 1
proc makeText(): string {.noinline.} =
  result = newString(100)
  result[0] = 'x'
proc makeBlock(n: int): pointer {.noinline.} =
  result = alloc(n)
  cast[ptr int](result)[] = 1
proc dropBlock(p: pointer) {.noinline.} = dealloc(p)
proc work() {.noinline.} =
  for i in 0 ..< 1000: nodes[i] = makeNode()
  for i in 0 ..< 500: nodes[i] = nil
  for i in 0 ..< 300: texts.add(makeText())
  var blocks: array[200, pointer]
  for i in 0 ..< 200: blocks[i] = makeBlock(48)
  for i in 0 ..< 150: dropBlock(blocks[i])
  for round in 0 ..< 50: # the collector runs within allocations
    var some: seq[Node]
    for i in 0 ..< 1000: some.add(makeNode())
work()
GC_fullCollect()
"""


@pytest.mark.parametrize("manager", ["orc", "refc"])
def test_nim_is_counted_exactly(tools, tmp_path, manager):
    """In a release build, which has Nim's allocator in many places."""
    need("nim", "gcc")
    (tmp_path / "counted.nim").write_text(COUNTED)
    compiled(tmp_path, "nim", "c", "-d:release", f"--gc:{manager}", "--hints:off",
             f"--nimcache:{tmp_path}/cache", "counted.nim")
    done = tools.run(tools.heaptrack, "-o", tmp_path / "counted", tmp_path / "counted")
    assert done.status == 0, done
    data = tools.json(tmp_path / "counted.zst")
    sites = data["sites"]
    head = 16 if manager == "refc" else 0
    # The collector has tables of its own, which may grow in the midst of it
    nodes = [site for site in through(sites["allocations"], "makeNode")
             if site["bytes"] == site["allocations"] * (16 + 48)]
    made = {name: total(through(sites["allocations"], name), "allocations")
            for name in ("makeText", "makeBlock")}
    assert (made, total(nodes, "allocations")) == ({"makeText": 300, "makeBlock": 200}, 51000)
    kept = through(sites["never_freed"], "makeBlock")
    assert total(kept, "blocks") == 50 and total(kept, "bytes") == 50 * (48 + head), kept
    if manager == "refc":
        # A word on the stack may look like a pointer to a node
        assert 500 <= total(through(sites["never_freed"], "makeNode"), "blocks") < 510
        copies = through(sites["never_freed"], "copyStringRC1")  # which is what refc adds
        assert total(copies, "bytes") == 300 * (16 + 16 + 101)
        assert data["quality"]["double_allocations"] == data["quality"]["unknown_frees"] == 0


# ---- Node.js, attached to under load, with an addon

ADDON = """
#include <node_api.h>
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void verify_signature(size_t bytes) { kept = malloc(bytes); }
static napi_value verify(napi_env env, napi_callback_info info) {
	(void)env, (void)info;
	verify_signature(4321);
	return NULL;
}
NAPI_MODULE_INIT() {
	napi_value f;
	napi_create_function(env, "verify", NAPI_AUTO_LENGTH, verify, NULL, &f);
	napi_set_named_property(env, exports, "verify", f);
	return exports;
}
"""
SERVER = """
const kept = [];
let addon;
function onGossipBlock(size) {
  kept.push(Buffer.allocUnsafeSlow(size));
  if (kept.length > 500) kept.shift();
  if (addon) checkBlock();
}
function checkBlock() { addon.verify(); }
require("http").createServer((request, response) => {
  if (request.url === "/addon") addon = require("./addon.node"); // later than the attach
  for (let i = 0; i < 20; i++) onGossipBlock(20000 + i);
  response.end("ok");
}).listen(0, "127.0.0.1", function () { console.log("ready " + this.address().port); });
"""


def headers_of_node():
    for folder in ("/usr/include/node", "/usr/include/nodejs/src"):
        if (Path(folder) / "node_api.h").exists():
            return folder
    return pytest.skip("no headers of node here")


def test_an_addons_leak_names_the_script(tools, tmp_path):
    need("node", "gcc")
    (tmp_path / "addon.c").write_text(ADDON)
    compiled(tmp_path, "gcc", "-g", "-O1", "-shared", "-fPIC", "-I", headers_of_node(), "addon.c", "-o", "addon.node")
    (tmp_path / "app.js").write_text("""
const addon = require("./addon.node");
function checkBlock() { addon.verify(); }
let n = 0;
const timer = setInterval(() => { for (let i = 0; i < 300; i++) checkBlock(); if (++n > 30) clearInterval(timer); }, 10);
""")
    recording = tools.record("node", "app.js", cwd=tmp_path)
    assert recording.status == 0, repr(recording)
    first = recording.json()["findings"][0]["text"]
    assert first.startswith("verify_signature addon.c:5 <- verify <- checkBlock app.js:3"), first


def test_node_guide_attached_under_load(build, target, tmp_path):
    need("node", "gcc", "curl")
    (tmp_path / "addon.c").write_text(ADDON)
    (tmp_path / "lodestar.js").write_text(SERVER)
    compiled(tmp_path, "gcc", "-g", "-O1", "-shared", "-fPIC", "-I", headers_of_node(), "addon.c",
             "-o", "addon.node")
    victim = target(["node", "--perf-basic-prof", "--interpreted-frames-native-stack",
                     "lodestar.js"], cwd=tmp_path)
    url = f"http://127.0.0.1:{victim.said().split()[1]}"
    load = subprocess.Popen(["sh", "-c", f"curl -s {url}/; sleep 2; while curl -s {url}/addon; do "
                             "sleep 0.01; done"], stdout=subprocess.DEVNULL)
    try:
        attach(build, victim.pid, tmp_path / "lodestar", duration="6s")
    finally:
        victim_is_alive = victim.is_alive()
        victim.end()
        load.wait(60)
        Path(f"/tmp/perf-{victim.pid}.map").unlink(missing_ok=True)
    assert victim_is_alive
    sites = known(build, tmp_path / "lodestar.zst")["sites"]
    blocks = through(sites["allocations"], "onGossipBlock")
    assert total(blocks, "allocations") > 100
    frame = next(f for f in blocks[0]["stack"] if f["function"] == "onGossipBlock")
    assert (Path(frame["file"]).name, frame["line"]) == ("lodestar.js", 5), frame
    ours = through(sites["allocations"], "verify_signature")
    assert total(ours, "allocations") > 20 and through(ours, "checkBlock"), "the addon's, by script"
    assert total(ours, "bytes") == 4321 * total(ours, "allocations")


KILL = ("ps -ef | grep '[h]eaptrack --pid' | awk '$3 == '$(ps -ef | grep '[h]eaptrack --pid' | "
        "awk '$3 != 1 {print $2}' | head -n 1)' {print $2}' | xargs -r kill")


def test_the_kill_line_of_the_node_guide(build, target, tmp_path):
    """It ends what heaptrack has started, and by that the recording: the file is whole."""
    others = subprocess.run("ps -ef | grep '[h]eaptrack --pid'", shell=True, check=False,
                            capture_output=True).stdout
    if others:
        pytest.skip("another heaptrack --pid runs: the line would end that one")
    victim = target([build / "tests/attach/pattern", "2"])
    env = {**os.environ, "PATH": f"{build}:{os.environ['PATH']}"}
    process = subprocess.Popen(["heaptrack", "--pid", str(victim.pid)], cwd=tmp_path, env=env,
                               stderr=open(tmp_path / "said", "w"))
    wait_until(lambda: "attached to process" in (tmp_path / "said").read_text(), 60, "the attach")
    time.sleep(0.5)
    subprocess.run(["bash", "-c", KILL], check=False, timeout=60)
    try:
        assert process.wait(60) == 0, (tmp_path / "said").read_text()
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    said = (tmp_path / "said").read_text()
    assert "detached" in said and "heaptrack --analyze" in said, said
    data = known(build, next(tmp_path.glob("heaptrack.pattern.*.zst")))
    assert data["summary"]["complete"]
    assert victim.is_alive() and victim.end() == 0
