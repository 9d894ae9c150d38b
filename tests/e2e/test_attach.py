"""`heaptrack -p PID`: programs that notice when they are harmed are attached to again and again.

tests/attach/pattern.c says what it checks: each byte of its blocks, each signal, each sleep. The short
form attaches some times to each target; --long: 200 times, and 300 kills.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

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


def library(pattern):
    found = sorted(Path("/usr/lib").glob(f"*/{pattern}"))
    return str(found[0]) if found else None


class Target:
    """A program that runs until SIGTERM, its output in a file."""

    def __init__(self, tmp_path, command, env=None, ready="ready", cwd=None):
        self.out = tmp_path / f"target.{time.monotonic_ns()}"
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen([str(word) for word in command], stdout=out,
                                            stderr=out, stdin=subprocess.DEVNULL, cwd=cwd,
                                            env={**os.environ, **(env or {})})
        self.pid = self.process.pid
        until = time.monotonic() + 30
        while ready not in self.out.read_text(errors="replace"):
            assert time.monotonic() < until and self.process.poll() is None, repr(self)
            time.sleep(0.02)

    def __repr__(self):
        return f"status {self.process.poll()}: {self.out.read_text(errors='replace')[-2000:]}"

    def status(self, name):
        return re.search(rf"^{name}:\s*(\S+)", Path(f"/proc/{self.pid}/status").read_text(),
                         re.MULTILINE)[1]

    def is_alive(self):
        return self.process.poll() is None and self.status("State") not in "ZX"

    def end(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        return self.process.wait(60)


@pytest.fixture
def target(tmp_path):
    started = []

    def start(*args, **more):
        started.append(Target(tmp_path, *args, **more))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def attach_command(build, target, file, *options):
    return [str(word) for word in (build / "heaptrack", *options, "-f", "-o", file, "-p", target.pid)]


def attach(build, target, file, *options, duration="60ms"):
    done = subprocess.run(attach_command(build, target, file, "--duration", duration, *options),
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def known(build, file):
    out = subprocess.run([build / "heaptrack_print", "--json", "--limit", "3000", file], check=True,
                         capture_output=True, text=True, timeout=120).stdout
    return json.loads(out)


def start_listening(build, target, file, *options):
    """An attached heaptrack in the background, once it says that it is attached."""
    process = subprocess.Popen(attach_command(build, target, file, *options), text=True,
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    lines = []
    while "attached to process" not in (lines[-1] if lines else ""):
        lines.append(process.stderr.readline())
        assert lines[-1], f"{process.wait(10)}: {lines}"
    return process


def finish(process, sig=signal.SIGINT):
    process.send_signal(sig)
    _, err = process.communicate(timeout=120)
    return process.returncode, err


# ---- cycles


PATTERNS = {
    "waits": ("pattern", "4 signals waits old"),
    "spin": ("pattern", "2 spin"),
    "fork": ("pattern", "3 fork"),
    "vfork": ("pattern", "3 vfork"),
    "static": ("pattern_static", "4 signals"),
    "static-pie": ("pattern_static_pie", "4 signals"),
    "musl": ("pattern_musl", "4 signals waits"),
    "musl-static": ("pattern_musl_static", "4 signals"),
    "60-threads": ("pattern", "60"),
}
ALLOCATORS = {
    "jemalloc": "libjemalloc.so.2",
    "mimalloc": "libmimalloc.so.2*",
    "tcmalloc": "libtcmalloc_minimal.so.4",
}


def cycles(request, short):
    return 200 if request.config.getoption("--long") else short


def endure(build, target, tmp_path, n):
    for i in range(n):
        attach(build, target, tmp_path / "cycle", "-q", duration=f"{20 + i % 5 * 10}ms")
        assert target.is_alive(), f"after cycle {i}: {target!r}"
    subprocess.run(["zstd", "-tq", tmp_path / "cycle.zst"], check=True, timeout=60)
    assert target.status("TracerPid") == "0"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", PATTERNS)
def test_cycles(build, target, tmp_path, request, name):
    program, arguments = PATTERNS[name]
    path = build / "tests" / "attach" / program
    if not path.exists():
        pytest.skip(f"{program} is not built: no musl-gcc")
    victim = target([path, *arguments.split()])
    endure(build, victim, tmp_path, cycles(request, 5))
    assert victim.end() == 0, repr(victim)
    assert "bad 0 eintr 0" in repr(victim)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ALLOCATORS)
def test_cycles_with_another_allocator(build, target, tmp_path, request, name):
    preloaded = library(ALLOCATORS[name])
    if not preloaded:
        pytest.skip(f"{name} is not installed")
    victim = target([build / "tests/attach/pattern", "4", "signals"], env={"LD_PRELOAD": preloaded})
    endure(build, victim, tmp_path, cycles(request, 3))
    assert victim.end() == 0, repr(victim)
    assert known(build, tmp_path / "cycle.zst")["summary"]["allocations"] > 0


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_cycles_on_node(build, target, tmp_path, request):
    script = tmp_path / "work.js"
    script.write_text(NODE)
    victim = target(["node", script])
    endure(build, victim, tmp_path, cycles(request, 3))
    assert victim.end() == 0, repr(victim)


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not shutil.which("redis-benchmark"), reason="redis is not installed")
def test_cycles_on_redis(build, target, tmp_path, request):
    port = str(random.randrange(20000, 30000))
    victim = target(["redis-server", "--port", port, "--save", "", "--bind", "127.0.0.1",
                     "--io-threads", "2"], ready="Ready to accept connections", cwd=tmp_path)
    load = subprocess.Popen(["redis-benchmark", "-p", port, "-c", "20", "-n", "100000000", "-q",
                             "-t", "set,get,lpush"], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)
    try:
        endure(build, victim, tmp_path, cycles(request, 3))
        answer = subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True, text=True,
                                timeout=60, check=True).stdout
        assert answer.strip() == "PONG"
        assert load.poll() is None, "the benchmark met an error"
    finally:
        load.kill()
        load.communicate()
    assert victim.end() == 0, repr(victim)


# ---- what is recorded


@pytest.mark.parametrize("n_threads", [1, 8])
def test_counts_are_exact(build, target, tmp_path, n_threads):
    victim = target([build / "tests/attach/exact", str(n_threads)])
    process = start_listening(build, victim, tmp_path / "exact")
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
    process = start_listening(build, victim, tmp_path / "exact")
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
    process = start_listening(build, victim, tmp_path / "ended")
    time.sleep(0.2)
    status, err = finish(process, sig)
    assert status == 0 and "detached" in err, err
    assert known(build, tmp_path / "ended.zst")["summary"]["complete"]
    assert victim.is_alive() and victim.end() == 0


def test_the_end_of_the_program_ends_the_recording(build, target, tmp_path):
    victim = target([build / "tests/attach/pattern", "2"])
    process = start_listening(build, victim, tmp_path / "ended")
    time.sleep(0.2)
    assert victim.end() == 0
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert known(build, tmp_path / "ended.zst")["summary"]["complete"]


def test_exec_ends_what_is_recorded(build, target, tmp_path):
    """The hooks are gone with the old program: the new one is left alone."""
    script = f"trap 'exec {build}/tests/attach/pattern 2' USR1; echo ready; while :; do sleep 0.05; done"
    victim = target(["bash", "-c", script])
    process = start_listening(build, victim, tmp_path / "exec")
    victim.process.send_signal(signal.SIGUSR1)
    time.sleep(2.5)  # the helper looks for new libraries once a second
    assert victim.is_alive() and finish(process)[0] == 0
    assert victim.end() == 0, repr(victim)


def test_stopped_program_stays_stopped(build, target, tmp_path):
    victim = target([build / "tests/attach/pattern", "2"])
    victim.process.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    attach(build, victim, tmp_path / "stopped", "-q")
    assert victim.status("State") == "T"
    victim.process.send_signal(signal.SIGCONT)
    assert victim.end() == 0


def test_kills_at_any_moment(build, target, tmp_path, request):
    """heaptrack is ended in every way, at random moments: the target lives, the file can be read."""
    victim = target([build / "tests/attach/pattern", "3", "signals", "old"])
    rng = random.Random(request.config.getoption("--long") or 7)
    for i in range(300 if request.config.getoption("--long") else 20):
        file = tmp_path / "killed"
        process = subprocess.Popen(attach_command(build, victim, file, "-q"),
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(rng.uniform(0, 0.12))
        process.send_signal([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT][i % 4])
        _, err = process.communicate(timeout=60)
        assert victim.is_alive(), f"{i}: {victim!r} {err}"
        found = [path for path in tmp_path.glob("killed*.zst") if path.stat().st_size > 0]
        for path in found:
            shown = subprocess.run([build / "heaptrack_print", path], capture_output=True, text=True,
                                   timeout=60, check=False)
            # One that was killed before its first checkpoint says just that
            assert shown.returncode == 0 or "ended before its first" in shown.stderr, shown.stderr
            path.unlink()
    time.sleep(1)
    repaired = subprocess.run([build / "heaptrack", "--detach", str(victim.pid)],
                              capture_output=True, text=True, timeout=60, check=False)
    assert repaired.returncode == 0 and "nothing was changed" in repaired.stderr, repaired.stderr
    attach(build, victim, tmp_path / "after", "-q")
    assert victim.end() == 0, repr(victim)


def test_a_killed_helper_is_repaired(build, target, tmp_path):
    """Both processes are killed: the hooks stay, go quiet, and --detach or an attach removes them."""
    victim = target([build / "tests/attach/pattern", "3", "signals"])
    for ways in ("detach", "attach"):
        process = start_listening(build, victim, tmp_path / "both")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for pid in [process.pid, *map(int, children)]:
            os.kill(pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()
        time.sleep(0.3)
        assert victim.is_alive()
        if ways == "detach":
            done = subprocess.run([build / "heaptrack", "--detach", str(victim.pid)],
                                  capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0 and "as it was" in done.stderr, done.stderr
        else:
            attach(build, victim, tmp_path / "again")
    assert victim.end() == 0, repr(victim)


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
    process = start_listening(build, victim, tmp_path / "first")
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
