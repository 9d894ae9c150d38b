"""`heaptrack -p PID --children`: a tree of processes that runs already, and what is born in it later.

tests/victims/tree.c counts itself, each process from the moment on at which it is told to go on.
"""

import contextlib
import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from attaching import changed_code, known
from conftest import wait_until
from test_children import COMPARED, told
from test_children_memory import PSS, STANDS, events, in_memory, near, near_pss

pytestmark = pytest.mark.attach

FORETOLD = "programs that they execute from now on are recorded from shortly after their start"


def children_of(pid):
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def family(pid):
    return [pid] + [p for child in children_of(pid) for p in family(child)]


class Tree:
    """A program in a session of its own, all of which ends with the test."""

    def __init__(self, folder, command, n_children=0, cwd=None):
        self.out = folder / f"said.{time.monotonic_ns()}"
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen([str(word) for word in command], stdout=out, stdin=subprocess.DEVNULL,
                                            stderr=subprocess.STDOUT, start_new_session=True, cwd=cwd)
        self.pid = self.process.pid
        wait_until(lambda: len(family(self.pid)) > n_children, what="its children")
        time.sleep(0.05)

    def go_on(self):
        self.process.send_signal(signal.SIGUSR1)

    def wait(self):
        return self.process.wait(60)

    def told(self):
        return told(self.out.read_text())


@pytest.fixture
def grow(build, tmp_path):
    """grow(script) starts tree.c, grow([command, ...]) another one."""
    if not (build / "libheaptrack_inject.so").exists():
        pytest.skip("built without attaching (-Dattach=false)")
    started = []

    def start(command, n_children=0, **more):
        command = [build / "tests/victims/tree", command] if isinstance(command, str) else command
        started.append(Tree(tmp_path, command, n_children, **more))
        return started[-1]
    yield start
    for one in started:
        with contextlib.suppress(OSError):
            os.killpg(one.pid, signal.SIGKILL)
        one.process.wait(60)


@pytest.fixture
def listen(build, tmp_path):
    """listen(pid) attaches and gives the process, once it has said how far it got."""
    started = []

    def start(pid, *options, name="tree"):
        process = subprocess.Popen([build / "heaptrack", "--children", *options, "-f", "-o", tmp_path / name, "-p", str(pid)],
                                   text=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        started.append(process)
        process.said = ""
        while FORETOLD not in process.said:
            line = process.stderr.readline()
            assert line, f"{process.wait(10)}: {process.said}"
            process.said += line
        return process
    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def finish(process, sig=signal.SIGINT):
    process.send_signal(sig)
    process.said += process.communicate(timeout=120)[1]
    assert process.returncode == 0, process.said


def end(process):
    """It ends with the program."""
    process.said += process.communicate(timeout=120)[1]
    assert process.returncode == 0, process.said


def is_as_before(pid):
    maps = Path(f"/proc/{pid}/maps").read_text()
    return not changed_code(pid) and "memfd:heaptrack" not in maps


def check(build, tmp_path, tree):
    """Each process as it has counted itself."""
    document = known(build, tmp_path / "tree.zst")
    found = {p["pid"]: p for p in document["processes"]}
    counted = tree.told()
    assert set(found) == set(counted), (found, counted)
    for pid, truth in counted.items():
        assert {k: found[pid][k] for k in COMPARED} == {k: truth[k] for k in COMPARED}, (found[pid], truth)
    summary = document["summary"]
    for ours in ("allocations", "allocated_bytes", "never_freed_bytes", "never_freed_blocks"):
        assert summary[ours] == sum(p[ours] for p in counted.values()), (ours, summary)
    quality = document["quality"]
    assert not quality["unknown_frees"] and not quality.get("lost_events", 0) and not quality.get("double_allocations", 0)
    assert summary.get("peak_bytes_low") is None and summary.get("peak_bytes_high") is None, summary
    return document


# ---- what they have in memory

def test_the_memory_of_a_tree_that_runs_already(build, grow, listen, tmp_path):
    """Copies that have written to part of what they share; one of them ends."""
    script = tmp_path / "stands.py"
    script.write_text(STANDS)
    tree = grow([os.path.realpath(sys.executable), "-S", "-E", script, tmp_path, "80", "0", "40"], 2)
    wait_until(lambda: all((tmp_path / f"is.{name}").exists() for name in (0, 1, "all")))
    process, started = listen(tree.pid), time.monotonic()
    truth, pss = in_memory(family(tree.pid)), in_memory(family(tree.pid), *PSS)
    time.sleep(time.monotonic() - started + 2.3)
    (tmp_path / "go.1").touch()
    time.sleep(4)  # when nothing happens, there is a sample every 2 s
    less = in_memory([tree.pid, family(tree.pid)[1]])
    finish(process)
    rss = [s["rss_bytes"] for s in events.Events(tmp_path / "tree.zst").tables["samples"]]
    summary = known(build, tmp_path / "tree.zst")["summary"]
    assert rss[-1] == near(less) and summary["peak_rss_bytes"] == max(rss) == near(truth), (rss, less, truth)
    assert summary["peak_pss_bytes"] == near_pss(pss), (summary, pss)
    for name in (0, "all"):
        (tmp_path / f"go.{name}").touch()
    assert tree.wait() == 0


# ---- what is recorded

def test_those_that_live_are_exact(build, grow, listen, tmp_path):
    tree = grow("f{g1a1000a50t70dr30}f{f{g1a9t99}g1a5t6a3000w}f{g2}g1a77t5w", 4)
    process = listen(tree.pid)
    assert "and to 4 of its descendants;" in process.said, process.said
    tree.go_on()
    time.sleep(0.5)  # two signals at once are one
    tree.go_on()
    end(process)
    assert tree.wait() == 0
    document = check(build, tmp_path, tree)
    assert len(document["processes"]) == 5
    assert [p["parent"] for p in document["processes"]].count(1) >= 3


def test_copies_that_are_born_later_are_exact(build, grow, listen, tmp_path):
    tree = grow("f{g1a100a200f{dt7a11r44}wf{a9f{a3d}w}wa6}g1a1000a2000f{a30f{a5}w}f{d}f{k}wt9", 1)
    process = listen(tree.pid)
    tree.go_on()
    end(process)
    document = check(build, tmp_path, tree)
    copies = [p for p in document["processes"] if p["inherited_bytes"]]
    assert sorted(p["inherited_bytes"] for p in copies) == [300, 300, 309, 3000, 3000, 3000, 3030], copies
    assert sum(p["inherited_freed_blocks"] for p in copies) == 2


@pytest.mark.parametrize("seed", range(4))
def test_generated_trees_are_exact(build, grow, listen, tmp_path, seed):
    draw = random.Random(seed)

    def work(depth):
        parts = [draw.choice("at") + str(draw.choice([1, 16, 24, 1000, 70000, 3000001])) for _ in range(draw.randint(1, 9))]
        if depth < 3:
            parts += ["f{" + work(depth + 1) + "}" + draw.choice(["", "w"]) for _ in range(draw.randint(0, 2))]
        return "".join(parts) + "w"
    n = draw.randint(1, 4)
    tree = grow("".join("f{g1" + work(1) + "}" for _ in range(n)) + "g1" + work(0), n)
    process = listen(tree.pid)
    tree.go_on()
    end(process)
    check(build, tmp_path, tree)


PTRACE = ctypes.CDLL(None, use_errno=True).ptrace
PTRACE.argtypes = [ctypes.c_long] * 4
CONT, DETACH, GETEVENTMSG, SEIZE, TRACEFORK = 7, 17, 0x4201, 0x4206, 2


def hold_copies(pid, n):
    """The next n copies of the process stop before their first instruction. Gives their pids."""
    held = []
    for _ in range(n):
        _, status = os.waitpid(pid, 0x40000000)
        while status >> 8 != signal.SIGTRAP | 1 << 8:  # a signal on its way
            assert os.WIFSTOPPED(status), status
            PTRACE(CONT, pid, 0, status >> 8 & 0xff)
            _, status = os.waitpid(pid, 0x40000000)
        copy = ctypes.c_ulong()
        assert PTRACE(GETEVENTMSG, pid, 0, ctypes.addressof(copy)) == 0
        os.waitpid(copy.value, 0x40000000)
        os.kill(copy.value, signal.SIGSTOP)
        assert PTRACE(DETACH, copy.value, 0, 0) == 0
        held.append(copy.value)
        PTRACE(CONT if len(held) < n else DETACH, pid, 0, 0)
    return held


def test_copies_that_get_no_processor_at_first_are_exact(build, grow, listen, tmp_path):
    """They are seen long before they ask for their segment: nobody attaches to them meanwhile."""
    n = 4
    tree = grow("g1a100" + "f{a1000f{a20d}w}" * n + "s100w", 0)
    process = listen(tree.pid)
    assert PTRACE(SEIZE, tree.pid, 0, TRACEFORK) == 0, os.strerror(ctypes.get_errno())
    tree.go_on()
    held = hold_copies(tree.pid, n)
    time.sleep(0.8)  # copies that are not recorded after 0.3 s are attached to
    for pid in held:
        os.kill(pid, signal.SIGCONT)
    end(process)
    tree.wait()
    assert len(check(build, tmp_path, tree)["processes"]) == 1 + 2 * n


def test_those_that_heaptrack_is_too_late_for_are_named(build, grow, listen, tmp_path):
    """Copies wait 5 s for their segment. What they start is counted, too."""
    tree = grow("g1f{a1000f{a20}w}f{a30}w", 0)
    process = listen(tree.pid)
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.1)
    tree.go_on()
    time.sleep(6)
    process.send_signal(signal.SIGCONT)
    end(process)
    document = known(build, tmp_path / "tree.zst")
    counted = tree.told()
    lost = set(counted) - {p["pid"] for p in document["processes"]}
    assert len(counted) == 4 and len(lost) == 3, (counted, document["processes"])
    assert document["quality"]["children_forked"] == 3 and {c["pid"] for c in document["children"]} <= lost, document
    assert len(document["processes"]) == 1


def test_blocks_from_before_are_never_counted_wrongly(build, grow, listen, tmp_path):
    """Frees of them are unknown, or, in a copy, of what it has inherited."""
    tree = grow("a1000a2000a3000g1df{da10a20}wa7", 0)
    process = listen(tree.pid)
    assert "blocks allocated before the attach are not known: they are not looked for with --children" in process.said
    tree.go_on()
    end(process)
    document = known(build, tmp_path / "tree.zst")
    parent, copy = document["processes"]
    assert (parent["allocations"], parent["never_freed_bytes"], parent["peak_bytes"]) == (1, 7, 7)
    assert (copy["allocations"], copy["never_freed_bytes"], copy["peak_bytes"]) == (2, 30, 30)
    assert (copy["inherited_bytes"], copy["inherited_blocks"], copy["inherited_freed_blocks"]) == (0, 0, 1)
    assert document["summary"]["peak_bytes"] == 30 and document["quality"]["unknown_frees"] == 1
    sentences = {line["id"]: line["text"] for line in document["quality"]["sentences"]}
    assert "before-attach-unknown" in sentences and sentences["unknown-frees"].startswith("1 free was"), sentences
    assert "silent-process" not in sentences


def test_programs_that_are_executed_later(build, grow, listen, tmp_path):
    """They are recorded from a moment after their start on; what ends before is counted."""
    program = build / "tests/victims/tree"
    tree = grow(["bash", "-c", f"read -t 1.5 < /dev/zero; read -t 2 <> <(:); {program} s1000a12345 & /bin/true; {program} s1000a777; "
                 f"wait; exec {program} s1000a4000"])
    process = listen(tree.pid)
    end(process)
    document = known(build, tmp_path / "tree.zst")
    left = [p["never_freed_bytes"] for p in document["processes"] if p["command"] == "tree"]
    assert sorted(left)[:3] == [777, 4000, 12345], document["processes"]
    first = document["processes"][0]
    assert first["command"] == "tree" and first["pid"] == tree.pid and first["exit_status"] in (0, None)
    was_in_time = any(p["command"] == "true" for p in document["processes"])
    assert document["quality"]["children_executed"] >= 1 or was_in_time, document["processes"]  # true
    assert document["quality"].get("double_allocations", 0) == 0
    assert document["summary"]["never_freed_bytes"] >= 777 + 4000 + 12345


SHORT = """
import os, subprocess, time
def copies(path, seconds=0):
    for k in range(20):
        if os.fork() == 0:
            time.sleep(k * seconds / 20)
            os.execl(path, path)
    [os.wait() for _ in range(20)]
def spawns(path):
    [os.waitpid(os.posix_spawnp(path, [path], {}), 0) for _ in range(20)]
def run(path):
    try:
        subprocess.run([path], close_fds=False)
    except OSError:
        pass
WAIT
[run('/no/such/program') for _ in range(20)]
DOES
time.sleep(0.5)
"""
WAYS = {"fork": "copies('FILE')", "fork-and-wait": "copies('FILE', 0.6)", "vfork": "[run('FILE') for _ in range(20)]",
        "posix_spawn": "spawns('FILE')", "posix_spawnp": "spawns(os.path.basename('FILE'))"}


def until_told(tmp_path):
    """A statement that waits until tell() is called, however long an attach takes on a busy machine."""
    return f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)"


def tell(tmp_path):
    (tmp_path / "go").touch()


def short(way, file, wait="pass"):
    """A program that executes another one twenty times, which ends at once, after as many failures to."""
    return [os.path.realpath(sys.executable), "-S", "-E", "-c",
            SHORT.replace("DOES", WAYS[way]).replace("FILE", str(file)).replace("WAIT", wait)]


def count_short(build, tmp_path):
    document = known(build, tmp_path / "tree.zst")
    n = sum(p["command"] in ("true", "short") for p in document["processes"])  # seen in time
    quality = document["quality"]
    assert quality["children_executed"] + n == 20 and quality["children_forked"] == 0, (quality, document["processes"])
    assert not any(c["forked"] for c in document["children"]), document["children"]
    assert n == 20 or any(s["id"] == "children" for s in quality["sentences"])


@pytest.mark.parametrize("way", WAYS)
def test_programs_that_end_at_once_are_counted(build, grow, listen, tmp_path, way):
    tree = grow(short(way, "/bin/true", until_told(tmp_path)))
    process = listen(tree.pid)
    tell(tmp_path)
    end(process)
    count_short(build, tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_so_are_static_ones_of_a_program_that_is_started(build, tmp_path, way):
    (tmp_path / "short.c").write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-static", "-o", tmp_path / "short", tmp_path / "short.c"], check=True)
    process = subprocess.run([build / "heaptrack", "--children", "-f", "-o", tmp_path / "tree", *short(way, tmp_path / "short")],
                             env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
    assert process.returncode == 0, process.stderr
    count_short(build, tmp_path)


ALONE = """
import ctypes, os, time
WAIT
if os.fork() == 0:
    if ctypes.CDLL(None).unshare(0x10000000 | 0x40000000) != 0:
        os._exit(9)
    for _ in range(20):
        if os.fork() == 0:
            os._exit(0)
    [os.wait() for _ in range(20)]
    os._exit(0)
how = os.waitstatus_to_exitcode(os.wait()[1])
time.sleep(0.3)
os._exit(how)
"""


def test_copies_that_cannot_join_are_counted(build, grow, listen, tmp_path):
    """Their parent has left the network of heaptrack's socket. They end at once."""
    tree = grow([os.path.realpath(sys.executable), "-S", "-E", "-c", ALONE.replace("WAIT", until_told(tmp_path))])
    process = listen(tree.pid)
    tell(tmp_path)
    end(process)
    if tree.wait() == 9:
        pytest.skip("may not make namespaces")
    document = known(build, tmp_path / "tree.zst")
    assert len(document["processes"]) == 2 and document["quality"]["children_forked"] == 20, document["quality"]


DAEMON = """
import os, sys, time
WAIT
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        block = bytes(1234567)
        time.sleep(60)
    os._exit(0)
os.wait()
time.sleep(60)
"""


def last_argument(folder):
    with contextlib.suppress(OSError):  # it ended meanwhile
        return (folder / "cmdline").read_bytes().split(b"\0")[-2:-1]


def test_a_daemon_is_recorded_and_left(build, grow, listen, tmp_path):
    """Its parent has ended, perhaps before it asks for its segment."""
    script = DAEMON.replace("WAIT", until_told(tmp_path))
    tree = grow([os.path.realpath(sys.executable), "-S", "-E", "-c", script])
    process = listen(tree.pid)
    tell(tmp_path)

    def daemons():
        return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and int(p.name) not in family(tree.pid)
                and last_argument(p) == [script.encode()]]
    wait_until(lambda: daemons() and not is_as_before(daemons()[0]))
    daemon, = daemons()
    try:
        assert not is_as_before(daemon)
        finish(process)
        assert is_as_before(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)
    held = {p["pid"]: p["never_freed_bytes"] for p in known(build, tmp_path / "tree.zst")["processes"]}
    assert 1234567 < held[daemon] < 1300000, held


# ---- how it ends

def test_all_are_left_as_they_were(build, grow, listen):
    tree = grow("f{s400f{s60000}s60000}f{s60000}s60000", 2)
    process = listen(tree.pid)
    wait_until(lambda: len(family(tree.pid)) == 4, what="the copy that is born later")
    time.sleep(0.1)
    assert not any(is_as_before(pid) for pid in family(tree.pid))
    finish(process)
    assert all(is_as_before(pid) for pid in family(tree.pid))
    assert "detached; 4 processes go on" in process.said, process.said
    assert "! 4 processes still ran when the recording ended" in process.said, process.said
    again = listen(tree.pid, "--duration", "200ms")
    assert "to 3 of its descendants" in again.said, again.said
    end(again)
    assert all(is_as_before(pid) for pid in family(tree.pid)) and len(family(tree.pid)) == 4


def test_a_killed_collector_leaves_nothing_in_them(grow, listen):
    tree = grow("f{s400f{s60000}s60000}f{s60000}s60000", 2)
    process = listen(tree.pid)
    wait_until(lambda: len(family(tree.pid)) == 4, what="the copy that is born later")
    time.sleep(0.1)
    process.kill()
    wait_until(lambda: all(is_as_before(pid) for pid in family(tree.pid)), what="the helper's leaving")
    assert len(family(tree.pid)) == 4


def test_a_child_that_is_killed_and_a_program_that_ends_first(build, grow, listen, tmp_path):
    tree = grow("f{s60000}f{a20s60000}g1a5", 2)
    process = listen(tree.pid)
    killed, lives = family(tree.pid)[1:]
    os.kill(killed, signal.SIGKILL)
    time.sleep(0.3)
    tree.go_on()
    end(process)
    assert "detached; 1 process goes on" in process.said and is_as_before(lives), process.said
    found = {p["pid"]: p for p in known(build, tmp_path / "tree.zst")["processes"]}
    assert found[killed]["ended_ns"] is not None and found[lives]["ended_ns"] is None
    assert found[tree.pid]["never_freed_bytes"] == 5


STORM = r"""
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static void end(int signal) { is_over = signal; }

static void work(unsigned n) { // each byte of its blocks is checked
	static _Thread_local unsigned char *blocks[64];
	static _Thread_local size_t sizes[64];
	static _Thread_local unsigned seed;
	for (; n > 0; n--) {
		seed = seed * 1103515245 + 12345;
		unsigned k = seed >> 16 & 63;
		for (size_t i = 0; blocks[k] && i < sizes[k]; i++) {
			if (blocks[k][i] != k) {
				abort();
			}
		}
		free(blocks[k]);
		blocks[k] = seed & 1024 ? malloc(sizes[k] = (seed >> 8) % 3000 + 1) : NULL;
		if (blocks[k]) {
			memset(blocks[k], (int)k, sizes[k]);
		}
	}
}

static void *spin(void *none) {
	while (!is_over) {
		work(2000);
		usleep(500);
	}
	return none;
}

static int fork_once(int status) {
	int how;
	pid_t child = fork();
	if (child == 0) {
		work(300);
		if (status == 0) {
			execl("/bin/true", "true", (char *)NULL);
		}
		_exit(status);
	}
	return waitpid(child, &how, 0) != child || !WIFEXITED(how) || WEXITSTATUS(how) != status;
}

int main(void) {
	pthread_t thread;
	int n_bad = 0;
	signal(SIGTERM, end);
	pthread_create(&thread, NULL, spin, NULL);
	pid_t child = fork();
	while (!is_over) {
		n_bad += fork_once(rand() % 3);
		work(100);
		usleep(2000);
	}
	if (child != 0) {
		kill(child, SIGTERM);
		waitpid(child, &n_bad, 0);
	}
	return n_bad;
}
"""


def test_a_storm_of_forks_survives_heaptracks_that_come_and_go(build, grow, tmp_path):
    """At any moment, by a signal or a kill, while the last one's helper is still leaving."""
    (tmp_path / "storm.c").write_text(STORM)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", tmp_path / "storm", tmp_path / "storm.c"], check=True)
    draw = random.Random(1)
    tree = grow([tmp_path / "storm"], 1)
    for _ in range(16):
        process = subprocess.Popen([build / "heaptrack", "--children", "-f", "-o", tmp_path / "tree", "-p", str(tree.pid)],
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(draw.random() * draw.choice([0.05, 0.2, 0.8]))
        process.send_signal(draw.choice([signal.SIGINT, signal.SIGKILL]))
        said = process.communicate(timeout=120)[1]
        assert process.returncode in (0, -signal.SIGINT, -signal.SIGKILL) or said.endswith("interrupted\n"), said
        assert tree.process.poll() is None, said
    tree.process.terminate()
    assert tree.wait() == 0, tree.out.read_text()


# ---- what it does not get into

LONE = r"""
void _start(void) {
	for (;;) {
		long result = 34; // pause
		__asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
	}
}
"""


def test_those_that_cannot_be_recorded_are_named(build, grow, listen, tmp_path):
    (tmp_path / "lone.c").write_text(LONE)
    subprocess.run(["gcc", "-nostdlib", "-static", "-o", tmp_path / "lone", tmp_path / "lone.c"], check=True)
    tree = grow(["bash", "-c", f"{tmp_path}/lone & {build}/tests/victims/tree s8000a10 & sleep 9; kill %1; wait"], 3)
    process = listen(tree.pid)
    assert "and to 2 of its descendants, but not to 1" in process.said, process.said
    assert re.search(r"process \d+ \(lone\) is not recorded: no allocation functions found", process.said), process.said
    end(process)
    document = known(build, tmp_path / "tree.zst")
    assert [p["never_freed_bytes"] for p in document["processes"] if p["command"] == "tree"] == [10]
    assert [c["why"] for c in document["children"] if c["name"] == "lone"] in (["static"], ["stripped"], ["refused"])
    assert "lone" not in str(document["processes"])


def test_one_that_is_recorded_is_left_to_whoever_records_it(build, grow, listen, tmp_path):
    tree = grow("f{s60000}s60000", 1)
    child = family(tree.pid)[1]
    process = listen(tree.pid)
    for options in ((), ("--children",)):
        second = subprocess.run([build / "heaptrack", *options, "-o", tmp_path / "second", "-p", str(child)], text=True,
                                capture_output=True, timeout=60, check=False)
        assert second.returncode == 1 and "already being recorded" in second.stderr, second.stderr
    undone = subprocess.run([build / "heaptrack", "--detach", str(child)], text=True, capture_output=True, timeout=60, check=False)
    assert "is being recorded" in undone.stderr and changed_code(child), undone.stderr
    finish(process)
    assert is_as_before(child)


def test_heaptrack_may_be_in_the_tree_itself(build, grow, tmp_path):
    tree = grow(["bash", "-c", f"{build}/heaptrack -p $$ --children --duration 300ms -f -o {tmp_path}/tree; echo status $?"])
    assert tree.wait() == 0
    said = tree.out.read_text()
    assert said.endswith("status 0\n") and f"attached to process {tree.pid}" in said, said
    document = known(build, tmp_path / "tree.zst")
    assert not document["children"] and "heaptrack" not in str(document["processes"]), document


# ---- programs of others

POSTGRES = Path("/usr/lib/postgresql/15/bin")
AS_NOBODY = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]


def test_postgres_and_its_backends(build, grow, listen, tmp_path, request):
    """Equal backends have equal figures, whether they lived already or came later."""
    if os.getuid() != 0 or not (POSTGRES / "initdb").exists():
        pytest.skip("no postgres, or not root, who makes its folder")
    home = Path(tempfile.mkdtemp(prefix="heaptrack-"))  # where nobody may look
    request.addfinalizer(lambda: shutil.rmtree(home, ignore_errors=True))
    shutil.chown(home, "nobody")
    subprocess.run([*AS_NOBODY, POSTGRES / "initdb", "-D", home / "data", "-A", "trust", "-N"], check=True, timeout=120,
                   cwd=home, stdout=subprocess.DEVNULL)
    tree = grow([*AS_NOBODY, POSTGRES / "postgres", "-D", home / "data", "-k", home, "-h", ""], 5, cwd=home)
    wait_until(lambda: "ready to accept" in tree.out.read_text(), what="postgres")

    def client():
        return subprocess.Popen([POSTGRES / "psql", "-q", "-h", home, "-U", "nobody", "postgres"], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    def ask(psql, then):
        psql.stdin.write(f"select count(*) from (select a from generate_series(1, 100000) a order by a desc) s;\n{then}\n")
        psql.stdin.close()
        assert psql.wait(60) == 0
    n = len(family(tree.pid))
    before = [client() for _ in range(3)]
    wait_until(lambda: len(family(tree.pid)) == n + 3, what="backends")
    time.sleep(0.3)
    process = listen(tree.pid)
    for psql in before:
        ask(psql, "")
    for _ in range(3):
        ask(client(), "")
    finish(process)
    assert all(is_as_before(pid) for pid in family(tree.pid))
    processes = known(build, tmp_path / "tree.zst")["processes"]
    old = [p for p in processes if p["allocations"] > 50 and not p["inherited_blocks"]]
    new = [p for p in processes if p["allocations"] > 50 and p["inherited_blocks"]]
    assert len(old) >= 3 and len(new) == 3, processes
    for alike in (old[:3], new):
        assert max(p["peak_bytes"] for p in alike) < 1.1 * min(p["peak_bytes"] for p in alike), alike
    assert all(p["exit_status"] in (0, None) for p in processes)
    assert not [c for c in known(build, tmp_path / "tree.zst")["children"] if c["name"] == "postgres"]


PRE_FORK = """
import os, time
def work(n):
    return sum(len(bytes(100000 + i)) for i in range(n))
def child(status):
    pid = os.fork()
    if pid == 0:
        while not os.path.exists("go"):
            time.sleep(0.01)
        work(30)
        os._exit(status)
    return pid
pids = [child(i) for i in range(3)]
while not os.path.exists("go"):
    time.sleep(0.01)
pids += [child(i) for i in range(3, 6)]
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids])
"""


def test_a_pre_fork_server_in_python(build, grow, listen, tmp_path):
    tree = grow([os.path.realpath(sys.executable), "-S", "-E", "-c", PRE_FORK], 3, cwd=tmp_path)
    time.sleep(0.3)
    process = listen(tree.pid)
    (tmp_path / "go").touch()
    end(process)
    assert tree.wait() == 0 and "[0, 1, 2, 3, 4, 5]" in tree.out.read_text(), tree.out.read_text()
    document = known(build, tmp_path / "tree.zst")
    workers = document["processes"][1:]
    assert len(workers) == 6
    assert all(3000000 < p["allocated_bytes"] < 3300000 and 100000 < p["peak_bytes"] < 200000 for p in workers), workers


def test_nginx_and_its_workers(build, grow, listen, tmp_path):
    """A worker frees what it has allocated for a request, and goes when the others come."""
    if os.getuid() != 0 or not shutil.which("nginx"):
        pytest.skip("no nginx, or not root")
    conf = tmp_path / "conf"
    conf.write_text(f"daemon off; worker_processes 3; user root; pid {tmp_path}/pid; error_log {tmp_path}/log;\n"
                    f"events {{}} http {{ access_log off; server {{ listen unix:{tmp_path}/door; location / {{ return 200 hello; }} }} }}")
    tree = grow(["nginx", "-c", conf, "-e", tmp_path / "log"], 3)

    def ask(n):
        for _ in range(n):
            done = subprocess.run(["curl", "-s", "--unix-socket", tmp_path / "door", "http://x/"], capture_output=True, check=True)
            assert done.stdout == b"hello"
    first = family(tree.pid)[1:]
    process = listen(tree.pid)
    assert "and to 3 of its descendants" in process.said
    ask(20)
    tree.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(family(tree.pid)) == 4 and not set(first) & set(family(tree.pid)), what="new workers")
    ask(20)
    finish(process)
    ask(1)
    assert all(is_as_before(pid) for pid in family(tree.pid))
    processes = known(build, tmp_path / "tree.zst")["processes"]
    workers = [p for p in processes if p["pid"] != tree.pid]
    assert len(workers) == 6 and {p["pid"] for p in workers} == {*first, *family(tree.pid)[1:]}, processes
    assert sum(p["allocations"] > 0 for p in workers) >= 4
    assert all(p["exit_status"] == 0 for p in workers if p["pid"] in first)
