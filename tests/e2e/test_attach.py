"""`heaptrack -p PID`: what is recorded, how it ends, what is refused.

tests/attach/pattern.c says what it checks: each byte of its blocks, each signal, each sleep.
tests/endurance/test_attach_cycles.py attaches again and again.
"""

import os
import shutil
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from attaching import (UNHOOKABLE, attach, changed_code, finish, known, start_listening,  # noqa: F401
                       target)
from conftest import wait_until

pytestmark = pytest.mark.attach

# ---- what is recorded


@pytest.mark.quick
@pytest.mark.parametrize("n_threads", [1, 8])
def test_counts_are_exact(build, target, tmp_path, n_threads):
    victim = target([build / "tests/attach/exact", str(n_threads)])
    process = start_listening(build, victim.pid, tmp_path / "exact")
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
    assert summary["before_attach_freed_blocks"] == 1000 and not got["quality"]["unknown_frees"]
    assert victim.is_alive() and victim.end() == 0


def test_stacks_are_whole(build, target, tmp_path):
    victim = target([build / "tests/attach/exact"])
    process = start_listening(build, victim.pid, tmp_path / "exact")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "done" in victim.said(), what="its work")
    assert finish(process)[0] == 0
    subprocess.run([build / "heaptrack_print", "-f", tmp_path / "exact.zst",
                    "-F", tmp_path / "folded"], capture_output=True, timeout=60, check=True)
    lines = (tmp_path / "folded").read_text().splitlines()
    deep = [line for line in lines if line.count("deeper") == 101]
    assert len(deep) == 1 and "main;use;deeper" in deep[0] and deep[0].endswith(" 1000"), lines[:20]


def test_all_code_is_as_it_was_afterwards(build, target, tmp_path):
    victim = target([build / "tests/attach/pattern", "2"])
    assert not changed_code(victim.pid)
    process = start_listening(build, victim.pid, tmp_path / "hooked")
    assert changed_code(victim.pid)
    assert finish(process)[0] == 0
    assert not changed_code(victim.pid)
    assert victim.end() == 0, repr(victim)


def test_the_user_is_told_what_it_cost_and_covers(build, target, tmp_path):
    victim = target([build / "tests/attach/pattern_jemalloc", "7"])
    said = attach(build, victim.pid, tmp_path / "told")
    assert "pattern_jemalloc: " in said and "mallocx" in said and "hooked in" in said
    shown = subprocess.run([build / "heaptrack_print", tmp_path / "told.zst"], capture_output=True,
                           text=True, timeout=60, check=True).stdout
    assert re.search(r"hooked +12 functions of pattern_jemalloc, 9 of libc.so.6\n", shown), shown
    hooked = {os.path.basename(one["module"]): one for one in
              known(build, tmp_path / "told.zst")["allocators"]}
    assert "mallocx" in hooked["pattern_jemalloc"]["functions"]
    assert all(one["hooked"] and one["why"] is None for one in hooked.values())
    pauses = re.search(r"stopped (\d+) times, for ([\d.]+) ms in all, at most ([\d.]+) ms at a time; "
                       r"one thread for ([\d.]+) ms more", said)
    assert pauses and 0 < float(pauses[3]) <= float(pauses[2])
    assert victim.end() == 0, repr(victim)


UNHOOKED = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>


int main(void) {
	puts("ready");
	fflush(stdout);
	for (;;) {
		free(malloc(10));
		je_malloc(5);
		usleep(1000);
	}
}
"""


def test_what_is_seen_but_not_hooked_is_told(build, target, tmp_path):
    (tmp_path / "unhookable.c").write_text(UNHOOKABLE + UNHOOKED)
    subprocess.run(["gcc", "-o", tmp_path / "unhookable", tmp_path / "unhookable.c"], check=True,
                   timeout=60)
    victim = target([tmp_path / "unhookable"])
    said = attach(build, victim.pid, tmp_path / "seen")
    assert re.search("je_malloc of .*/unhookable cannot be hooked: .*its own beginning", said), said
    got = known(build, tmp_path / "seen.zst")
    assert [one["functions"] for one in got["allocators"] if not one["hooked"]] == [["je_malloc"]]
    assert got["summary"]["allocations"] > 0
    sentences = {one["id"]: one["text"] for one in got["quality"]["sentences"]}
    assert "je_malloc of unhookable was seen but not hooked" in sentences["not-hooked"], sentences


STAYS = r"""
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static void *(*volatile allocate)(size_t size) = malloc; // else a register might keep it, and be saved
static void end(int signal) { is_over = signal; }

int main(void) {
	volatile uintptr_t returns_to = 0; // as a signal handler would that runs in malloc's beginning
	signal(SIGTERM, end);
	puts("ready");
	fflush(stdout);
	while (!is_over) {
		returns_to = (uintptr_t)allocate + 2;
		usleep(600000);
		returns_to = 0;
		usleep(200000);
		free(malloc(10));
	}
	return 0;
}
"""


def test_a_thread_that_stays_where_a_patch_must_be_written(build, target, tmp_path):
    """It is waited for: on a busy machine a thread in a handler may not have its turn for long."""
    (tmp_path / "stays.c").write_text(STAYS)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", tmp_path / "stays", tmp_path / "stays.c"],
                   check=True, timeout=60)
    victim = target([tmp_path / "stays"])
    for i in range(3):
        attach(build, victim.pid, tmp_path / f"{i}")
    assert not changed_code(victim.pid) and victim.end() == 0


# ---- namespaces


@pytest.mark.parametrize("spaces", [["--pid", "--mount-proc", "--mount"],
                                    ["--user", "--map-root-user", "--pid", "--mount-proc", "--mount"]])
@pytest.mark.parametrize("program", ["pattern", "pattern_musl_static"])
def test_from_outside_of_a_container(build, target, tmp_path, spaces, program):
    path = build / "tests" / "attach" / program
    if not path.exists():
        pytest.skip(f"{program} is not built")
    if subprocess.run(["unshare", *spaces, "--fork", "true"], check=False).returncode != 0:
        pytest.skip("no namespaces here")
    outer = target(["unshare", *spaces, "--fork", "--kill-child", path, "2", "signals"])
    children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
    inner = int(children[0])
    for _ in range(3):
        said = attach(build, inner, tmp_path / "inner")
    assert f"attached to process {inner}" in said
    summary = known(build, tmp_path / "inner.zst")["summary"]
    assert summary["allocations"] > 0 and summary["lost_events"] == 0
    assert not changed_code(inner)
    os.kill(inner, signal.SIGTERM)
    assert outer.process.wait(60) == 0, repr(outer)
    assert "bad 0 eintr 0" in repr(outer)


def test_a_root_with_nothing_but_musl(build, target, tmp_path):
    """As in a container of Alpine's: nothing of glibc, of heaptrack or of a shell is there."""
    program, loader = build / "tests/attach/pattern_musl", Path("/lib/ld-musl-x86_64.so.1")
    if not program.exists() or not loader.exists() or os.getuid() != 0:
        pytest.skip("needs musl-tools and root")
    root = tmp_path / "root"
    (root / "lib").mkdir(parents=True)
    shutil.copy(loader, root / "lib")
    (root / "proc").mkdir()
    shutil.copy(program, root / "program")
    spaces = ["unshare", "--pid", "--mount", "--fork", f"--mount-proc={root}/proc"]
    if subprocess.run([*spaces, "true"], check=False).returncode != 0:
        pytest.skip("no namespaces here")
    outer = target([*spaces, "--kill-child", "chroot", root, "/program", "2"])
    inner = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()[0])
    attach(build, inner, tmp_path / "musl", duration="300ms")
    seen = known(build, tmp_path / "musl.zst")
    assert seen["summary"]["allocations"] > 100 and seen["summary"]["lost_events"] == 0
    names = {frame["function"] for site in seen["sites"]["allocations"] for frame in site["stack"]}
    assert "allocate" in names or "churn" in names, names
    assert not changed_code(inner)
    assert sorted(path.name for path in root.iterdir()) == ["lib", "proc", "program"]
    os.kill(inner, signal.SIGTERM)
    assert outer.process.wait(60) == 0, repr(outer)


def test_waits_of_a_program_that_forks_are_not_interrupted(build, target, tmp_path):
    """SIGCHLD, which it does not handle, is no reason to: each stop used to show, one time in six."""
    victim = target([build / "tests/victims/forks"])
    for i in range(10):
        attach(build, victim.pid, tmp_path / f"{i}", duration="10ms")
    assert victim.end() == 0 and "eintr 0\n" in victim.said(), repr(victim)


# ---- ends


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_the_recording(build, target, tmp_path, sig):
    victim = target([build / "tests/attach/pattern", "2"])
    process = start_listening(build, victim.pid, tmp_path / "ended")
    time.sleep(0.2)
    status, err = finish(process, sig)
    assert status == 0 and "detached" in err, err
    assert known(build, tmp_path / "ended.zst")["summary"]["complete"]
    assert victim.is_alive() and victim.end() == 0


def test_the_end_of_the_program_ends_the_recording(build, target, tmp_path):
    victim = target([build / "tests/attach/pattern", "2"])
    process = start_listening(build, victim.pid, tmp_path / "ended")
    time.sleep(0.2)
    assert victim.end() == 0
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert known(build, tmp_path / "ended.zst")["summary"]["complete"]


def test_exec_ends_what_is_recorded(build, target, tmp_path):
    """The hooks are gone with the old program: the new one is left alone."""
    script = f"trap 'exec {build}/tests/attach/pattern 2' USR1; echo ready; while :; do sleep 0.05; done"
    victim = target(["bash", "-c", script])
    process = start_listening(build, victim.pid, tmp_path / "exec")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: os.readlink(f"/proc/{victim.pid}/exe").endswith("/pattern") and
               victim.said().count("ready") == 2, what="the exec")
    time.sleep(2.5)  # the helper looks for new libraries once a second
    assert victim.is_alive() and finish(process)[0] == 0
    assert victim.end() == 0, repr(victim)


def test_a_program_whose_loader_has_only_begun(build, tools):
    """A machine at work leaves it there for a while; a preload that is a pipe keeps it there."""
    pipe = tools.folder / "preload.so"
    os.mkfifo(pipe)
    victim = tools.start("sh", "-c", "read x; exit 3", stdin=subprocess.PIPE, env={**os.environ, "LD_PRELOAD": pipe})
    recording = tools.start_record("-p", str(victim.process.pid), options=("--force",))
    time.sleep(0.5)
    assert "libc" not in Path(f"/proc/{victim.process.pid}/maps").read_text()
    open(pipe, "wb").close()
    recording.wait_for_attach()
    victim.process.stdin.close()
    assert recording.wait().status == 0 and victim.wait().status == 3


def test_stopped_program_stays_stopped(build, target, tmp_path):
    victim = target([build / "tests/attach/pattern", "2"])
    victim.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: victim.status("State") == "T", what="its stop")
    attach(build, victim.pid, tmp_path / "stopped", "-q")
    # It goes back to its stop, without an instruction, when it is its turn
    wait_until(lambda: victim.status("State") == "T", 60, "its stop")
    victim.process.send_signal(signal.SIGCONT)
    assert victim.end() == 0
