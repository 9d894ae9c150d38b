"""Where resident memory goes: each part of a look against what the program knows of itself.

tests/victims/resident.c makes memory in known ways; other programs are compared with sums of their
smaps, and their unknown part has a limit.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import attaching
import conftest
from attaching import target  # noqa: F401
from control_groups import control_group
from memory_truth import MIB, differences, last_look, slack_of, sums, truth_of

WAYS = ["kept", "arenas", "pinned", "live", "cache", "zeros", "raw", "called", "grown", "file", "copied", "shared",
        "memfd", "sysv", "lazy", "huge", "stacks", "reserve", "untouched", "by_hand", "bss"]
QUICK = {"kept", "pinned", "cache", "grown", "lazy", "stacks", "untouched", "by_hand"}
# What depends on the allocator
OF_HEAP = ["kept", "arenas", "pinned", "live", "untouched"]
LIBRARIES = {"jemalloc": "libjemalloc.so.2", "mimalloc": "libmimalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}



def library(name):
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"):
        if (Path(folder) / LIBRARIES[name]).exists():
            return Path(folder) / LIBRARIES[name]
    pytest.skip(f"no {LIBRARIES[name]} here")


def record_to_the_end(tools, *command, **more):
    """The program's end waits 50 ms to be looked at: on a busy machine it may be missed."""
    for _ in range(6):
        recording = tools.record(*command, **more)
        assert recording.status == 0, repr(recording)
        document = recording.json()
        ends = [look for look in document["memory"]["looks"] if look["at"] == "end"]
        if ends and all(part["id"] != "heap" for part in ends[0]["parts"]):  # and all blocks were known
            return recording, document
    pytest.fail(f"no look at the end in six recordings: {recording!r}")


@pytest.mark.parametrize("way", WAYS)
def test_parts_are_as_the_program_made_them(tools, way, is_long):
    if not is_long and way not in QUICK:
        pytest.skip("only with --long")
    recording, document = record_to_the_end(tools, tools.victim("resident"), way)
    truth = truth_of(recording.stdout)
    found = differences(truth, last_look(document), slack_of(way, truth))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("allocator", LIBRARIES)
@pytest.mark.parametrize("way", OF_HEAP + ["cache", "stacks"])
def test_parts_with_other_allocators(tools, way, allocator, is_long):
    if not is_long and way not in ("kept", "pinned"):
        pytest.skip("only with --long")
    recording, document = record_to_the_end(tools, tools.victim("resident"), way,
                                            env={"LD_PRELOAD": str(library(allocator))})
    truth = truth_of(recording.stdout)
    assert truth.get("allocator", allocator) == allocator
    found = differences(truth, last_look(document), slack_of(way, truth))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("way", ["storm", "flood", "churn", "regions", "vast", "device"])
def test_hostile_ones(tools, way, is_long):
    """Looked at all the time, it ends in time, whole; nobody has what is another's; and heaptrack stays small."""
    if not is_long and way not in ("churn", "vast"):
        pytest.skip("only with --long")
    running = tools.start_record(tools.victim("resident"), way, "wait")
    program = running.program()
    wait_for(lambda: "rss" in Path(running.outputs[0].name).read_text())
    truth = truth_of(Path(running.outputs[0].name).read_text())
    for _ in range(5):
        asked = tools.run(tools.heaptrack, "--ctl", program, "look", "--json", timeout=60)
        assert asked.status == 0, repr(asked)
    status = Path(f"/proc/{conftest.heaptrack_below(running.pid)}/status").read_text()
    os.kill(program, signal.SIGTERM)
    recording = conftest.Recording(running.wait(), running.file, tools)
    assert recording.status == 0, repr(recording)
    document = recording.json()
    assert document["summary"]["complete"] and document["summary"]["lost_events"] == 0
    assert int(re.search(r"VmHWM:\s+(\d+)", status)[1]) < 100 << 10, status
    assert running.file.stat().st_size < 4 * MIB
    assert truth.get("reserved", 100 << 40) >= 100 << 40
    looks = document["memory"]["looks"]
    assert [look["at"] for look in looks].count("request") == 5
    comes = 20 * MIB if way == "churn" else 0
    for look in looks:
        parts, mapped = sums(look), truth["parts"]["mapped"]
        assert parts["mapped"] <= mapped * 1.02 + MIB + comes
        assert parts["unknown"] <= look["rss_bytes"] * 0.02 + look["changed_bytes"] * 2 + MIB + comes
        assert sum(bytes_of for part, bytes_of in parts.items() if part not in ("mapped", "unknown", "files", "ours")) < 4 * MIB
        rings = [row["bytes"] for part in look["parts"] for row in part["rows"] if "socket:" in (row["name"] or "")]
        assert look["at"] != "request" or sum(rings) == truth.get("ring", 0)
        if look["at"] in ("request", "end"):  # then all is there
            found = differences(truth, look, MIB) if not comes else []
            assert parts["mapped"] >= mapped * 0.98 and not found, "\n".join(found)


# What an attach does not know: makers, and blocks from before, of which some are found
OTHER_NAMES = {"mapped": "mapped+unknown", "heap_free": "heap+heap_free", "heap_live": "heap+heap_live",
               "heap_partly_free+heap_rounding": "heap+heap_partly_free+heap_rounding"}


@pytest.mark.parametrize("way", ["file", "shared", "memfd", "sysv", "stacks", "bss", "raw", "cache", "live"])
def test_parts_after_an_attach(build, target, tmp_path, way, tools, is_long):
    if not is_long and way not in ("stacks", "cache"):
        pytest.skip("only with --long")
    running = target([tools.victim("resident"), way, "wait"], ready="}\n")
    attaching.attach(build, running.pid, tmp_path / "attached.zst", duration="300ms")
    truth = truth_of(running.said())
    truth["parts"] = {OTHER_NAMES.get(name, name): of for name, of in truth["parts"].items()}
    truth.pop("maker", None)
    look = last_look(tools.json(tmp_path / "attached.zst"), "detach")
    truth["rss"] = look["rss_bytes"]
    found = differences(truth, look, slack_of(way, truth))
    assert not found, "\n".join(found)


# ---- real programs


def smaps(pid):
    """Bytes by what smaps alone can say: files, shared memory, stack, and all."""
    found, kind, sizes = {"rss": 0, "files": 0, "shared": 0}, None, {}
    text = Path(f"/proc/{pid}/smaps").read_text()
    for line in text.splitlines():
        head = re.match(r"[0-9a-f]+-[0-9a-f]+ (....) \S+ \S+ (\d+) *(.*)", line)
        if head:
            name = head[3]
            kind = "shared" if re.match(r"/memfd:|/dev/shm/|/SYSV|/dev/zero|\[anon_shmem", name) else \
                "files" if int(head[2]) and not name.startswith("/dev/") else None
            continue
        field, _, value = line.partition(":")
        if field in ("Rss", "Anonymous"):
            sizes[field] = int(value.split()[0]) * 1024
        if field == "Rss":
            found["rss"] += sizes[field]
        if field == "Anonymous" and kind:
            found[kind] += sizes["Rss"] - (sizes[field] if kind == "files" else 0)
    return found


def check_unknown(document, at, most=0.02):
    look = last_look(document, at)
    parts = sums(look)
    # Nobody's is what it had when its lines were read and not when its pages were: a running program's
    share = max(0, parts["unknown"] - look["changed_bytes"]) / look["rss_bytes"]
    print(f"{share:.2%} of RSS at {at} is unknown")
    assert share <= most, f"{share:.1%} of RSS at {at} is unknown: {parts}"
    return look, parts


PYTHON = "d = [{i: str(i)} for i in range(60000)]; import json, decimal; s = json.dumps(d[0]); print(len(s))"
NODE = "const a = []; for (let i = 0; i < 300000; i++) a.push({i}); console.log(a.length)"
PROGRAMS = {
    "python3": ["/usr/bin/python3", "-c", PYTHON],
    "node": ["node", "-e", NODE],
    "clang": ["clang-14", "-fsyntax-only", "-x", "c", "-include", "stdlib.h", "-include", "pthread.h", "/dev/null"],
    "bat": ["batcat", "--color=always", "--paging=never", str(conftest.SOURCE / "docs" / "trace-format.md")],
    "ripgrep": ["rg", "-c", "memory", str(conftest.SOURCE / "docs")],
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_little_is_unknown_of_programs(tools, program, is_long):
    if not is_long and program != "python3":
        pytest.skip("only with --long")
    command = PROGRAMS[program]
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} here")
    _, document = record_to_the_end(tools, *command)
    check_unknown(document, "end")
    if any(look["at"] == "rss-peak" for look in document["memory"]["looks"]):
        check_unknown(document, "rss-peak")


def redis(folder):
    return ["redis-server", "--port", "0", "--unixsocket", str(folder / "socket"), "--save", "", "--dir", str(folder)]


POSTGRES = Path("/usr/lib/postgresql/15/bin")
AS_NOBODY = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]


def postgres(folder):
    """It serves nobody who is root."""
    if os.getuid() != 0 or not (POSTGRES / "initdb").exists():
        pytest.skip("no postgres, or not root, who makes its folder")
    data = folder / "data"
    shutil.chown(folder, "nobody")
    subprocess.run([*AS_NOBODY, POSTGRES / "initdb", "-D", data, "-A", "trust", "-N"], check=True, timeout=120,
                   cwd=folder, stdout=subprocess.DEVNULL)
    return [*AS_NOBODY, str(POSTGRES / "postgres"), "-D", str(data), "-k", str(folder), "-h", ""]


RUST = r"""
use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
fn serve(mut peer: UnixStream, cache: Arc<Mutex<HashMap<u32, String>>>) {
    let mut word = [0u8; 4];
    while peer.read_exact(&mut word).is_ok() {
        let key = u32::from_le_bytes(word);
        let mut all = cache.lock().unwrap();
        let page = all.entry(key % 20000).or_insert_with(|| "x".repeat(300 + key as usize % 700));
        peer.write_all(&page.as_bytes()[..4]).unwrap();
    }
}
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    let cache = Arc::new(Mutex::new(HashMap::new()));
    for i in 0..4u32 {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut server = UnixStream::connect(path).unwrap();
            for k in 0..20000u32 {
                server.write_all(&(k * 7 + i).to_le_bytes()).unwrap();
                server.read_exact(&mut [0u8; 4]).unwrap();
            }
            println!("served {}", i);
            loop { std::thread::park() }
        });
    }
    for peer in listener.incoming() {
        let (cache, peer) = (cache.clone(), peer.unwrap());
        std::thread::spawn(move || serve(peer, cache));
    }
}
"""


def rust(folder):
    """Eight threads, and a cache of pages that four clients have filled."""
    if not shutil.which("rustc"):
        pytest.skip("no rustc here")
    (folder / "server.rs").write_text(RUST)
    subprocess.run(["rustc", "-g", "-Copt-level=2", "-o", folder / "server", folder / "server.rs"], check=True, timeout=120)
    return [str(folder / "server"), str(folder / "socket")]


@pytest.fixture
def open_folder():
    """Where other users may go."""
    folder = Path(tempfile.mkdtemp(prefix="ht", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


SLEEPERS = {
    "postgres": (postgres, "ready to accept"),
    "rust": (rust, r"(?s)(?:served.*){4}"),
    "redis": (redis, "Ready to accept|connections"),
    "python3": (lambda folder: ["/usr/bin/python3", "-uc", PYTHON + "\nimport os, signal, time\n"
                                 "signal.signal(signal.SIGTERM, lambda *_: os._exit(0))\ntime.sleep(600)"], r"\d"),
    "node": (lambda folder: ["node", "-e", NODE + "; setInterval(() => 0, 1000); process.on('SIGTERM', () => process.exit())"], r"\d"),
}


@pytest.mark.parametrize("is_attached", [False, True], ids=["launched", "attached"])
@pytest.mark.parametrize("program", SLEEPERS)
def test_parts_are_sums_of_smaps(tools, build, target, tmp_path, open_folder, program, is_attached, is_long):
    """A program that stands still: what smaps says of it now is what a look must have found."""
    if not is_long and (program != "redis" or is_attached):
        pytest.skip("only with --long")
    make, ready = SLEEPERS[program]
    command = make(open_folder)
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} here")
    file = tmp_path / "recording.zst"
    if is_attached:
        running = target(command, ready="")
        wait_for(lambda: re.search(ready, running.said()))
        time.sleep(1)
        recorder = subprocess.Popen(attaching.attach_command(build, running.pid, file, "--duration", "2s"),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        expected = smaps(running.pid)
        assert recorder.wait(120) == 0
        moved = abs(smaps(running.pid)["rss"] - expected["rss"])  # it did not quite stand still
        look, parts = check_unknown(tools.json(file), "detach")
    else:
        recorder = tools.start_record(*command)
        wait_for(lambda: any(re.search(ready, Path(one.name).read_text(errors="replace")) for one in recorder.outputs))
        time.sleep(1)
        pid = recorder.program()
        before = smaps(pid)
        assert tools.run(tools.heaptrack, "--ctl", pid, "look").status == 0
        expected = smaps(pid)
        moved = abs(expected["rss"] - before["rss"])
        os.kill(pid, signal.SIGTERM)  # at its end it does more
        recorder.wait()
        document = tools.json(recorder.file)
        look, parts = check_unknown(document, "request")
        if any(one["at"] == "end" for one in document["memory"]["looks"]):  # a busy machine may miss it
            check_unknown(document, "end")
    # The recorder's segment is shared memory, or a file's, in smaps
    ours = parts["ours"]
    assert abs(look["rss_bytes"] - expected["rss"]) <= expected["rss"] * 0.01 + 40 * 4096 + moved, \
        (look["rss_bytes"], expected, moved)
    got = parts["files"] + parts["shared"]
    assert expected["files"] + expected["shared"] - ours - expected["rss"] * 0.01 - moved <= got
    assert got <= expected["files"] + expected["shared"] + expected["rss"] * 0.01 + moved


FILL = "for i = 1, 200000 do redis.call('set', 'k' .. i, string.rep('x', 100 + i % 300)) end"
SORT = "select count(distinct md5(i::text)) from generate_series(1, 200000) i;"


@pytest.mark.parametrize("program", ["redis-launched", "redis-attached", "postgres-launched", "rust-launched"])
def test_little_is_unknown_at_the_peak_of_servers(tools, build, target, tmp_path, open_folder, program, is_long):
    """Its last new peak of RSS is looked at while the server works."""
    if not is_long:
        pytest.skip("only with --long")
    name, _, way = program.partition("-")
    make, ready = SLEEPERS[name]
    command = make(open_folder)
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} here")
    file = tmp_path / "recording.zst"
    if name == "postgres":  # the one process that does the work
        (open_folder / "work.sql").write_text(SORT + "\n")
        at = command.index(str(POSTGRES / "postgres"))
        command = [*command[:at + 1], "--single", "-D", str(open_folder / "data"), "postgres"]
        with open(open_folder / "work.sql") as work:
            recording = tools.record(*command, stdin=work)
        assert "200000" in recording.stdout, repr(recording)
        document = recording.json()
    elif way == "attached":
        running = target(command, ready="")
        wait_for(lambda: re.search(ready, running.said()))
        recorder = subprocess.Popen(attaching.attach_command(build, running.pid, file, "--duration", "20s"),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(2)
        fill_redis(open_folder)
        assert recorder.wait(120) == 0
        document = tools.json(file)
    else:
        recorder = tools.start_record(*command)
        wait_for(lambda: any(re.search(ready, Path(one.name).read_text(errors="replace")) for one in recorder.outputs))
        if name == "redis":
            fill_redis(open_folder)
        os.kill(recorder.program(), signal.SIGTERM)
        recorder.wait()
        document = tools.json(recorder.file)
    check_unknown(document, "rss-peak")


def fill_redis(folder):
    subprocess.run(["redis-cli", "-s", str(folder / "socket"), "eval", FILL, "0"], check=True, timeout=120,
                   stdout=subprocess.DEVNULL)
    time.sleep(1)


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.05)


def test_what_finds_millions_of_stacks_is_not_the_programs(tools):
    """Its private memory lies in few enough pieces to be told, and no finding takes it for growth."""
    document = tools.record(tools.victim("diverse"), "250000").json("--limit", "1")
    looks = [(look["rss_bytes"], {part["id"]: part["bytes"] for part in look["parts"]})
             for look in document["memory"]["looks"]]
    assert max(parts["ours"] for _, parts in looks) >= 80_000_000, looks
    assert all(parts["unknown"] <= rss / 100 + 100_000 for rss, parts in looks), looks
    assert not [finding for finding in document["findings"] if finding["id"] == "outside-growing"], document["findings"]


def test_the_trie_leaves_room_in_a_control_group(tools):
    """It would be three times as large as the limit."""
    limit = 64 << 20
    with control_group(limit) as group:
        recording = tools.record("sh", "-c", 'exec "$0" 250000', tools.victim("diverse"),
                                 preexec_fn=lambda: (group / "cgroup.procs").write_text("0"))
        assert recording.status == 0, repr(recording)
        document = recording.json("--limit", "1")
        assert document["summary"]["truncated_stacks"] > 0
        assert document["summary"]["allocations"] >= 250_000
        lines = {line["id"]: line for line in document["quality"]["sentences"]}
        assert 0.9 * 250_000 <= lines["folded-stacks"]["value"] <= document["summary"]["truncated_stacks"], lines
        ours = [part["bytes"] for look in document["memory"]["looks"] for part in look["parts"] if part["id"] == "ours"]
        assert max(ours, default=0) <= limit / 4, document["memory"]
