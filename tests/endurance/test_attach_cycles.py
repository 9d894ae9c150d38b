"""`heaptrack -p PID` again and again, on programs that notice when they are harmed.

tests/attach/pattern.c checks each byte of its blocks, each signal and each sleep; the others check
what they compute, or serve clients that do. The short form attaches a few times to each; --long: 200
times. HEAPTRACK_CYCLES=N sets another number.
"""

import http.client
import os
import random
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from attaching import attach, known, target  # noqa: F401

pytestmark = pytest.mark.attach

PATTERNS = {
    "threads": ("pattern", "4 signals waits old"),
    "spin": ("pattern", "2 spin"),
    "fork": ("pattern", "3 fork"),
    "vfork": ("pattern", "3 vfork"),
    "static": ("pattern_static", "4 signals"),
    "static-pie": ("pattern_static_pie", "4 signals"),
    "stripped": ("pattern_static", "4 signals old"),
    "musl": ("pattern_musl", "4 signals waits"),
    "musl-static": ("pattern_musl_static", "4 signals"),
    "60-threads": ("pattern", "60"),
    "static-jemalloc": ("pattern_jemalloc", "4 signals old"),
}
PRELOADED = {
    "jemalloc": "libjemalloc.so.2",
    "mimalloc": "libmimalloc.so.2*",
    "tcmalloc": "libtcmalloc_minimal.so.4",
}

NODE = """
const { Worker, isMainThread } = require('worker_threads');
const zlib = require('zlib');
if (isMainThread) { for (let i = 0; i < 2; i++) new Worker(__filename); }
setInterval(() => {
  const parts = [];
  for (let i = 0; i < 100; i++) parts.push(Buffer.alloc(1000 + i, i));
  const all = Buffer.concat(parts);
  if (!zlib.inflateSync(zlib.deflateSync(all)).equals(all)) process.exit(3);
}, 5);
if (isMainThread) { process.on('SIGTERM', () => process.exit(0)); console.log('ready'); }
"""

RUST = """
use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashMap;
use std::ffi::c_void;

extern "C" {
    fn _rjem_mallocx(size: usize, flags: i32) -> *mut c_void;
    fn _rjem_rallocx(at: *mut c_void, size: usize, flags: i32) -> *mut c_void;
    fn _rjem_sdallocx(at: *mut c_void, size: usize, flags: i32);
}

struct Jemalloc;
fn flags(layout: &Layout) -> i32 { layout.align().trailing_zeros() as i32 }
unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 { _rjem_mallocx(l.size(), flags(&l)) as *mut u8 }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        _rjem_sdallocx(p as *mut c_void, l.size(), flags(&l))
    }
    unsafe fn realloc(&self, p: *mut u8, l: Layout, n: usize) -> *mut u8 {
        _rjem_rallocx(p as *mut c_void, n, flags(&l)) as *mut u8
    }
}
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn churn(seed: u64) {
    let mut map: HashMap<u64, String> = HashMap::new();
    let mut state = seed;
    loop {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let key = state >> 33 & 0x3ff;
        match map.remove(&key) {
            Some(text) => if text != format!("{:>1$}", key, (key % 300) as usize) {
                std::process::abort();
            },
            None => { map.insert(key, format!("{:>1$}", key, (key % 300) as usize)); }
        }
        if state >> 40 & 0xff == 0 { std::thread::sleep(std::time::Duration::from_micros(300)); }
    }
}

fn main() {
    for i in 1..3 { std::thread::spawn(move || churn(i)); }
    println!("ready");
    churn(7);
}
"""

NIM = """
import std/[tables, strutils, os]
var counts = initTable[int, string]()
var state = 7'u64
echo "ready"
stdout.flushFile()
while true:
  for i in 0 ..< 1000:
    state = state * 6364136223846793005'u64 + 1442695040888963407'u64
    let key = int(state shr 33 and 0x3ff)
    if key in counts:
      if counts[key] != repeat($key, key mod 50): quit(3)
      counts.del(key)
    else:
      counts[key] = repeat($key, key mod 50)
  sleep(1)
"""


def needs(*commands):
    for command in commands:
        if not shutil.which(command):
            pytest.skip(f"{command} is not installed")


def library(pattern):
    found = sorted(Path("/usr/lib").glob(f"*/{pattern}"))
    if not found:
        pytest.skip(f"{pattern} is not installed")
    return found[0]


@pytest.fixture
def endure(build, tmp_path, request):
    """endure(target, short): attach again and again; it lives, and the last file is whole."""

    def run(victim, short=3):
        n = 200 if request.config.getoption("--long") else short
        n = int(os.environ.get("HEAPTRACK_CYCLES", n))
        for i in range(n):
            attach(build, victim.pid, tmp_path / "cycle", "-q", duration=f"{20 + i % 5 * 10}ms")
            assert victim.is_alive(), f"after cycle {i}: {victim!r}"
        subprocess.run(["zstd", "-tq", tmp_path / "cycle.zst"], check=True, timeout=60)
        assert victim.status("TracerPid") == "0"
        return known(build, tmp_path / "cycle.zst")

    return run


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(build, target, endure, tmp_path, name):
    program, arguments = PATTERNS[name]
    path = build / "tests" / "attach" / program
    if not path.exists():
        pytest.skip(f"{program} is not built")
    if name == "stripped":
        subprocess.run(["strip", "-o", tmp_path / program, path], check=True, timeout=60)
        path = tmp_path / program
    # Sixty busy threads leave a heaptrack of equal priority a sixtieth of the processors
    polite = ["nice", "-n", "10"] if name == "60-threads" else []
    victim = target([*polite, path, *arguments.split()])
    seen = endure(victim)
    assert seen["summary"]["allocations"] > 0 and seen["summary"]["lost_events"] == 0
    # A call that gives out a block when the recording is over is not in it
    assert seen["quality"]["double_allocations"] == 0
    assert victim.end() == 0, repr(victim)
    assert "bad 0 eintr 0" in repr(victim)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", PRELOADED)
def test_preloaded_allocators(build, target, endure, name):
    victim = target([build / "tests/attach/pattern", "4", "signals"],
                    env={"LD_PRELOAD": str(library(PRELOADED[name]))})
    assert endure(victim)["summary"]["allocations"] > 0
    assert victim.end() == 0, repr(victim)


@pytest.mark.timeout(7200)
def test_rust_with_its_own_jemalloc(target, endure, tmp_path):
    needs("rustc", "objcopy")
    own = tmp_path / "libown.a"
    names = subprocess.run(["nm", "-g", "--defined-only", library("libjemalloc_pic.a")],
                           capture_output=True, text=True, check=True).stdout.split("\n")
    public = [line.split()[2] for line in names if " T " in line and " je_" not in line]
    (tmp_path / "names").write_text("".join(f"{name} _rjem_{name}\n" for name in public))
    subprocess.run(["objcopy", f"--redefine-syms={tmp_path}/names", library("libjemalloc_pic.a"),
                    own], check=True)
    (tmp_path / "churn.rs").write_text(RUST)
    subprocess.run(["rustc", "-O", "-g", "-o", tmp_path / "churn", tmp_path / "churn.rs",
                    "-C", f"link-arg={own}", "-C", "link-arg=-lm", "-C", "link-arg=-lc"],
                   check=True, timeout=300)
    victim = target([tmp_path / "churn"])
    assert endure(victim)["summary"]["allocations"] > 0
    victim.process.kill()


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("manager", ["orc", "arc", "refc"])
def test_nim(target, endure, tmp_path, manager):  # noqa: F811
    needs("nim", "gcc")
    (tmp_path / "churn.nim").write_text(NIM)
    subprocess.run(["nim", "c", "-d:release", f"--gc:{manager}", "--hints:off",
                    f"--nimcache:{tmp_path}/cache", f"-o:{tmp_path}/churn", tmp_path / "churn.nim"],
                   check=True, timeout=300, capture_output=True)
    victim = target([tmp_path / "churn"])
    seen = endure(victim)
    assert seen["summary"]["allocations"] > 0
    victim.process.kill()


@pytest.mark.timeout(7200)
def test_node(target, endure, tmp_path):
    needs("node")
    (tmp_path / "work.js").write_text(NODE)
    victim = target(["node", tmp_path / "work.js"])
    endure(victim)
    assert victim.end() == 0, repr(victim)


@pytest.mark.timeout(7200)
def test_redis(target, endure, tmp_path):
    needs("redis-server", "redis-benchmark")
    port = str(random.randrange(20000, 30000))
    victim = target(["redis-server", "--port", port, "--save", "", "--bind", "127.0.0.1",
                     "--io-threads", "2"], ready="Ready to accept connections", cwd=tmp_path)
    load = subprocess.Popen(["redis-benchmark", "-p", port, "-c", "20", "-n", "100000000", "-q",
                             "-t", "set,get,lpush"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)
    try:
        endure(victim)
        answer = subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True, text=True,
                                timeout=60, check=True).stdout
        assert answer.strip() == "PONG"
        assert load.poll() is None, "the benchmark met an error"
    finally:
        load.kill()
        load.communicate()
    assert victim.end() == 0, repr(victim)


class Client(threading.Thread):
    """Asks for a page again and again; every answer must be right."""

    def __init__(self, port, page):
        super().__init__(daemon=True)
        self.port, self.page, self.errors, self.answers, self.is_over = port, page, [], 0, False
        self.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.is_over:
            try:
                connection.request("GET", "/page.html")
                right = connection.getresponse().read() == self.page
                self.answers += 1
            except OSError as error:
                right = error
            if right is not True:
                self.errors.append(right)


@pytest.mark.timeout(7200)
def test_nginx(target, endure, tmp_path):
    needs("nginx")
    port = random.randrange(30000, 32000)
    page = random.Random(1).randbytes(20000).hex().encode()
    (tmp_path / "page.html").write_bytes(page)
    (tmp_path / "conf").write_text(f"""
        daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;
        events {{}}
        http {{
            access_log off; gzip on; gzip_types text/html; client_body_temp_path {tmp_path}/body;
            proxy_temp_path {tmp_path}/proxy; fastcgi_temp_path {tmp_path}/fcgi;
            uwsgi_temp_path {tmp_path}/uwsgi; scgi_temp_path {tmp_path}/scgi;
            server {{ listen 127.0.0.1:{port}; root {tmp_path}; }}
        }}""")
    victim = target(["nginx", "-p", tmp_path, "-c", tmp_path / "conf", "-e", tmp_path / "log"],
                    ready="")
    until = time.monotonic() + 60
    while True:
        try:
            http.client.HTTPConnection("127.0.0.1", port, timeout=60).connect()
            break
        except ConnectionRefusedError:
            assert time.monotonic() < until and victim.is_alive(), repr(victim)
            time.sleep(0.05)
    clients = [Client(port, page) for _ in range(4)]
    try:
        seen = endure(victim)
    finally:
        for client in clients:
            client.is_over = True
        for client in clients:
            client.join(60)
    assert not [error for client in clients for error in client.errors]
    assert all(client.answers > 0 for client in clients) and seen["summary"]["allocations"] > 0
    assert victim.end() == 0, repr(victim)
