"""What the tests of `heaptrack -p PID` share: targets that run until SIGTERM, and attaching to them."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest


# The beginning of a program in C: an allocator that cannot be hooked
UNHOOKABLE = r"""
#include <stddef.h>
// It jumps into its first bytes, in the place of which a jump to the recorder would have to stand
__asm__(".type je_malloc, @function\n"
        "je_malloc: nop\n1: dec %rdi\n test %rdi, %rdi\n jns 1b\n xor %eax, %eax\n ret\n"
        ".size je_malloc, . - je_malloc\n");
void *je_malloc(size_t size);
"""


class Target:
    """A program that runs until SIGTERM, its output in a file."""

    def __init__(self, folder, command, env=None, ready="ready", cwd=None):
        self.out = folder / f"target.{time.monotonic_ns()}"
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen([str(word) for word in command], stdout=out,
                                            stderr=out, stdin=subprocess.DEVNULL, cwd=cwd,
                                            env={**os.environ, **(env or {})})
        self.pid = self.process.pid
        until = time.monotonic() + 60
        while ready not in self.said():
            if time.monotonic() > until or self.process.poll() is not None:
                self.process.kill()
                self.process.wait()
                pytest.fail(f"not ready: {self!r}")
            time.sleep(0.02)

    def said(self):
        return self.out.read_text(errors="replace")

    def __repr__(self):
        return f"status {self.process.poll()}: {self.said()[-2000:]}"

    def status(self, name, pid=None):
        return re.search(rf"^{name}:\s*(\S+)", Path(f"/proc/{pid or self.pid}/status").read_text(),
                         re.MULTILINE)[1]

    def is_alive(self):
        return self.process.poll() is None and self.status("State") not in "ZX"

    def end(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        return self.process.wait(60)


@pytest.fixture
def target(tmp_path):
    """target(command, env=, ready=, cwd=) starts one; it ends with the test at the latest."""
    started = []

    def start(*args, **more):
        started.append(Target(tmp_path, *args, **more))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def attach_command(build, pid, file, *options):
    """Copying memory may take its time, for on a busy machine it does; who tests that says otherwise."""
    if not (build / "libheaptrack_inject.so").exists():
        pytest.skip("built without attaching (-Dattach=false)")
    return [str(word) for word in (build / "heaptrack", "--max-pause", "30s", *options, "-f", "-o", file,
                                   "-p", pid)]


def attach(build, pid, file, *options, duration="60ms"):
    """Record for a while; what heaptrack said."""
    done = subprocess.run(attach_command(build, pid, file, "--duration", duration, *options),
                          capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def known(build, file):
    """All that heaptrack_print knows of a file."""
    out = subprocess.run([build / "heaptrack_print", "--json", "--limit", "3000", file], check=True,
                         capture_output=True, text=True, timeout=120).stdout
    return json.loads(out)


def start_listening(build, pid, file, *options):
    """An attached heaptrack in the background, once it says that it is attached."""
    process = subprocess.Popen(attach_command(build, pid, file, *options), text=True,
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    lines = []
    while "attached to process" not in (lines[-1] if lines else ""):
        lines.append(process.stderr.readline())
        assert lines[-1], f"{process.wait(10)}: {lines}"
    process.said = "".join(lines)
    return process


def finish(process, sig=signal.SIGINT):
    process.send_signal(sig)
    _, err = process.communicate(timeout=900)
    return process.returncode, err


def changed_code(pid):
    """Where the code of a process differs from its files: nowhere, unless something is hooked."""
    changed = []
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            words = line.split(maxsplit=5)
            if "x" not in words[1] or len(words) < 6 or not words[5].startswith("/"):
                continue
            start, end = (int(word, 16) for word in words[0].split("-"))
            memory.seek(start)
            now = memory.read(end - start)
            with open(words[5], "rb") as file:
                file.seek(int(words[2], 16))
                made = file.read(end - start)
            if now[:len(made)] != made:
                changed += [f"{words[5]}+{i:x}" for i in range(len(made)) if now[i] != made[i]]
    return changed


def assert_once_is_whole(recording, helpers):
    """All that attach/once.c does is recorded, from its constructor on. Its allocations in make()."""
    assert recording.status == 7, repr(recording)
    known_of_it = recording.json()
    assert known_of_it["summary"]["complete"] and known_of_it["summary"]["lost_events"] == 0
    sites = helpers.through(known_of_it["sites"]["allocations"], "make")
    assert helpers.total(sites, "allocations") == 100
    kept = helpers.through(known_of_it["sites"]["never_freed"], "make")
    assert helpers.total(kept, "blocks") == 60
    assert helpers.total(kept, "bytes") == 10 * 1000 + 50 * 2000
    assert known_of_it["quality"]["unknown_frees"] == 0
    return sites
