"""heaptrack --children: each process of a tree by itself to the byte, and their sum as what it was.

tests/victims/tree.c counts itself; what a program does not count is compared with a recording of it alone.
"""

import collections
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

import foreign

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "random"))

import events

FIELDS = ("pid", "ppid", "allocations", "allocated_bytes", "never_freed_bytes", "never_freed_blocks", "peak_bytes",
          "inherited_bytes", "inherited_blocks", "inherited_freed_blocks")
COMPARED = FIELDS[2:]


def record(tools, *command, **more):
    return tools.record(*command, options=("--children", *more.pop("options", ())), **more)


def told(output):
    """What the processes of tree.c have said of themselves, by pid."""
    return {numbers[0]: dict(zip(FIELDS, numbers)) for numbers in
            (tuple(map(int, line.split())) for line in output.splitlines())}


def check(recording, counted=None):
    """Each process as it has counted itself, and the sums. Gives the document."""
    known = recording.json()
    counted = told(recording.stdout) if counted is None else counted
    processes = {p["pid"]: p for p in known["processes"]}
    assert set(processes) == set(counted), (processes, counted)
    ids = {p["id"]: p for p in known["processes"]}
    for pid, truth in counted.items():
        found = processes[pid]
        assert {k: found[k] for k in COMPARED} == {k: truth[k] for k in COMPARED}, (found, truth)
        if found["parent"] is not None and ids[found["parent"]]["ended_ns"] is None:
            assert ids[found["parent"]]["pid"] == truth["ppid"]
    summary = known["summary"]
    for ours, theirs in (("allocations", "allocations"), ("allocated_bytes", "allocated_bytes"),
                         ("never_freed_bytes", "never_freed_bytes"), ("never_freed_blocks", "never_freed_blocks")):
        assert summary[ours] == sum(p[theirs] for p in counted.values()), (ours, summary)
    assert sum(site["bytes"] for site in known["sites"]["never_freed"]) == summary["never_freed_bytes"]
    assert known["quality"].get("unknown_frees", 0) == 0
    assert known["quality"].get("lost_events", 0) == 0
    assert known["quality"].get("double_allocations", 0) == 0
    assert_exact(known)
    return known


def assert_exact(known):
    """No event came late, whichever process executed, forked or ended meanwhile."""
    summary = known["summary"]
    assert summary.get("peak_bytes_low") is None and summary.get("peak_bytes_high") is None, summary


@pytest.fixture
def tree(tools):
    program = tools.victim("tree")

    def run(script, **more):
        recording = record(tools, program, script, **more)
        assert recording.status in (0, 137) or more.get("any"), repr(recording)
        return recording
    return run


# ---- one after the other: the peak of the sum is known, too

class Heap:
    """What a script does if each fork is waited for at once: live bytes of all, and their peak."""

    def __init__(self):
        self.live = self.peak = 0

    def run(self, script, held):
        own = 0
        at = 0
        while at < len(script):
            what, at = script[at], at + 1
            digits = at
            while at < len(script) and script[at].isdigit():
                at += 1
            n = int(script[digits:at] or 0)
            if what in "at":
                own, self.live = own + n, self.live + n
                self.peak = max(self.peak, self.live)
                if what == "a":
                    held.append((n, True))
                else:
                    own, self.live = own - n, self.live - n
            elif what in "dr":
                bytes_, is_own = held.pop()
                if is_own:
                    own, self.live = own - bytes_, self.live - bytes_
                if what == "r":
                    held.append((n, True))
                    own, self.live = own + n, self.live + n
                    self.peak = max(self.peak, self.live)
            elif what in "fx":
                end, depth = at + 1, 1
                while depth:
                    depth += {"{": 1, "}": -1}.get(script[end], 0)
                    end += 1
                child = [(b, False) for b, _ in held] if what == "f" else []
                self.run(script[at + 1:end - 1], child)
                at = end
        self.live -= own  # its memory goes with it


def make_script(draw, depth, n_held=0):
    """A copy either forks, or frees what it has inherited: its copies are not said to have less than it had."""
    parts = []
    forks = depth < 4 and draw.random() < 0.7
    for _ in range(draw.randint(1, 12)):
        what = draw.choice("aaattffx" if forks and n_held else "aaattdrffx" if forks else "aaattdr")
        if what in "at":
            parts.append(f"{what}{draw.choice([1, 16, 24, 1000, 70000, 3000001])}")
            n_held += what == "a"
        elif what in "dr" and n_held:
            parts.append("d" if what == "d" else f"r{draw.randint(1, 200000)}")
            n_held -= what == "d"
        elif what in "fx":
            parts.append(f"{what}{{{make_script(draw, depth + 1, n_held if what == 'f' else 0)}}}w")
    return "".join(parts)


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(12, 300))])
def test_generated_trees_are_exact_with_their_peak(tree, seed):
    script = make_script(random.Random(seed), 0)
    heap = Heap()
    heap.run(script, [])
    known = check(tree(script))
    assert known["summary"]["peak_bytes"] == heap.peak, script


def test_a_copy_frees_what_it_has_inherited(tree):
    known = check(tree("a1000a2000a3000f{dda50r70}wd"))
    parent, child = known["processes"]
    assert (child["inherited_bytes"], child["inherited_freed_blocks"]) == (6000, 2)
    assert (child["allocations"], child["never_freed_bytes"]) == (2, 70)
    assert parent["never_freed_bytes"] == 3000  # it freed one itself; what its copy freed is its own still
    assert child["parent"] == parent["id"]


def test_grandchildren_inherit_what_their_parents_had(tree):
    known = check(tree("a1000f{a500f{a7f{t9}w}w}w"))
    assert [p["inherited_bytes"] for p in known["processes"]] == [0, 1000, 1500, 1507]
    assert [p["parent"] for p in known["processes"]] == [None, 1, 2, 3]


# ---- side by side

def test_what_fifty_processes_hold_at_once_is_the_peak(tree):
    known = check(tree("a100" + "".join(f"f{{a{1000 + i}t5000b50}}" for i in range(50)) + "w"))
    assert known["summary"]["peak_bytes"] >= 100 + sum(1000 + i for i in range(50))
    assert known["summary"]["peak_bytes"] <= 100 + sum(1000 + i for i in range(50)) + 50 * 5000
    assert len(known["processes"]) == 51


def test_fifty_programs_at_once(tree):
    known = check(tree("".join(f"x{{a{100 + i}t10s20d}}" for i in range(50)) + "w"))
    assert len(known["processes"]) == 51


def test_a_server_that_forks_its_workers_first(tree):
    """Its table is inherited by each worker, and counts once."""
    worker = "f{" + "t4096" * 200 + "a10000ddd}"
    known = check(tree("a1000000" + "a50" * 3 + worker * 8 + "w"))
    workers = known["processes"][1:]
    assert len(workers) == 8
    assert {(p["inherited_bytes"], p["inherited_freed_blocks"]) for p in workers} == {(1000150, 2)}
    assert known["summary"]["peak_bytes"] < 1000150 + 8 * (10000 + 4096)


def test_how_each_has_ended(tree):
    known = check(tree("f{a10q3}f{a20k}x{a30q4}wa5"))
    ends = {p["never_freed_bytes"]: p["exit_status"] for p in known["processes"]}
    assert ends == {10: 3, 20: 128 + signal.SIGKILL, 30: 4, 5: 0}


def test_one_that_outlives_the_program_is_said_to_go_on(tree):
    recording = tree("a10f{a20s1500q0}s100")
    assert "what it started goes on, unrecorded: 1 of 1" in recording.stderr, repr(recording)
    known = recording.json()
    child = known["processes"][1]
    assert child["ended_ns"] is None and child["exit_status"] is None and child["never_freed_bytes"] == 20
    assert known["summary"]["never_freed_bytes"] == 30
    assert recording.seconds < 1.4
    assert still_running(known) == ["1 process still ran when the recording ended: what it held then counts as never freed"]
    assert not still_running(tree("a10f{a20}w").json())


def still_running(known):
    return [line["text"] for line in known["quality"]["sentences"] if line["id"] == "still-running"]


UNDER_SIGNALS = """
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void handle(int signal) { (void)signal; }
int main(void) {
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	sigaction(SIGUSR1, &action, 0);
	setpgid(0, 0);
	pid_t storm = fork();
	while (storm == 0) {
		kill(0, SIGUSR1);
	}
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			_exit(malloc(1000) == 0);
		}
		while (waitpid(pid, 0, 0) != pid) {}
	}
	kill(storm, SIGKILL);
	return waitpid(storm, 0, 0) != storm;
}
"""


def test_copies_under_a_storm_of_signals_join(tools, tmp_path):
    """A handler that runs while one waits for its segment does not end the wait."""
    source, program = tmp_path / "signals.c", tmp_path / "signals"
    source.write_text(UNDER_SIGNALS)
    subprocess.run(["gcc", "-o", program, source], check=True)
    recording = record(tools, program)
    assert recording.status == 0, repr(recording)
    known = recording.json()
    assert len(known["processes"]) == 202 and not known["quality"]["children_forked"], known["quality"]
    assert sum(p["never_freed_bytes"] == 1000 for p in known["processes"]) == 200


STORMS = {"one after the other": "for i in $(seq {}); do /bin/true; done", "at once": "seq {} | xargs -n 1 -P 40 /bin/true"}


@pytest.mark.parametrize("n", [500, pytest.param(5000, marks=pytest.mark.long)])
@pytest.mark.parametrize("way", STORMS)
def test_a_storm_of_short_ones(tools, way, n):
    recording = record(tools, "bash", "-c", STORMS[way].format(n), timeout=600)
    assert recording.status == 0, repr(recording)
    known = recording.json()
    assert [c["processes"] for c in known["commands"] if c["name"] == "true"] == [n]
    assert known["quality"].get("lost_events", 0) == 0 and not known["children"]
    assert_exact(known)


# ---- programs of others, against recordings of each alone

def figures(tools, known_or_command):
    """(allocations, bytes, never freed) of a program recorded by itself."""
    summary = tools.record(*known_or_command, name=f"alone{time.monotonic_ns()}").json()["summary"]
    return summary["allocations"], summary["allocated_bytes"], summary["never_freed_bytes"]


def test_a_shell_and_what_it_runs(tools):
    known = record(tools, "sh", "-c", "sort /etc/passwd >/dev/null; sort /etc/group > /dev/null; true").json()
    sorts = [p for p in known["processes"] if p["command"] == "sort"]
    alone = [figures(tools, ("sort", f"/etc/{name}")) for name in ("passwd", "group")]
    assert [(p["allocations"], p["allocated_bytes"], p["never_freed_bytes"]) for p in sorts] == alone


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_a_compiler_and_its_parts(tools, tmp_path):
    source = tmp_path / "one.c"
    source.write_text("#include <stdio.h>\nint main(void) { return printf(\"%d\\n\", 3); }\n")
    recording = record(tools, "gcc", "-c", source, "-o", tmp_path / "one.o")
    known = recording.json()
    assert {"cc1"} < {p["command"] for p in known["processes"]}, known["processes"]
    assert known["summary"]["allocations"] == sum(p["allocations"] for p in known["processes"])
    assert known["summary"]["peak_bytes"] >= max(p["peak_bytes"] for p in known["processes"])
    text = recording.report("--by", "command")
    assert "cc1" in text
    text = recording.report("--processes")
    assert "    cc1 (" in text, text  # below gcc
    assert "processes: sums" in recording.report(), recording.report()
    cost = recording.report("--by", "command", "--lens", "m=allocations", "--json")
    parts = {p["label"]: p["allocations"] for p in json.loads(cost)["parts"]}
    by_command = {}
    for p in known["processes"]:
        by_command[p["command"]] = by_command.get(p["command"], 0) + p["allocations"]
    assert parts == {name: n for name, n in by_command.items() if n}
    whole = recording.report()
    assert re.search(r"  commands    cc1 \(largest peak \d+\.\d MB\), .*gcc", whole), whole


def test_threads_have_the_names_of_what_they_ran(tools):
    """Of a shell's short copies, each of which is another program a moment later, and gone soon."""
    recording = record(tools, "bash", "-c", "for ((i = 0; i < 40; i++)); do (: | sort /etc/passwd; :) > /dev/null; done")
    def parts(lens, by):
        return json.loads(recording.report("--by", by, "--lens", lens, "--json"))["parts"]
    by_command = {p["label"]: p["allocations"] for p in parts("m=allocations", "command")}
    by_thread = {p["label"]: (p["allocations"], p.get("threads")) for p in parts("m=allocations", "thread")}
    assert by_thread["sort"] == (by_command["sort"], 40), (by_thread, by_command)
    assert set(by_thread) == set(by_command), (by_thread, by_command)


def test_commands_are_compared(tools):
    program = tools.victim("tree")
    base, this = (record(tools, "sh", "-c", f"{program} a{n}; cat /dev/null", name=f"c{n}") for n in (1000, 5000))
    nodes = json.loads(tools.print(this.file, "-d", base.file, "--by", "command", "--json", "--lens", "m=bytes").stdout)["nodes"]
    row = next(node for node in nodes if node["label"] == "tree")
    assert (row["base"], row["this"]) == (1000, 5000), nodes
    assert {node["label"] for node in nodes[1:]} >= {"tree", "cat"}
    gate = ("--fail-if", "allocated>2k", "--lens", "process=tree")
    assert "FAIL  allocated>2k: allocated are 5.0 kB" in tools.print(this.file, *gate, status=3).stdout
    tools.print(base.file, *gate)


def test_which_processes_held_the_peak(tools):
    program = tools.victim("tree")
    known = record(tools, "sh", "-c", f"{program} t500; {program} f{{a4000000b3}}f{{a3000000b3}}a90000b3w; "
                                       f"{program} t500; cat /dev/null").json()
    found = next(f for f in known["findings"] if f["id"] == "processes-at-peak")
    pids = {p["peak_bytes"]: p["pid"] for p in known["processes"]}
    shell_bytes = known["summary"]["peak_bytes"] - 7090000
    assert found["text"].startswith(
        f"at the peak, 3 tree processes held 7.1 MB (99 %), the largest 4.0 MB (pid {pids[4000000]})"), found
    assert found["numbers"] == {"largest_bytes": 4000000, "bytes": 7090000, "processes": 3 + (shell_bytes > 0)}
    assert found["lens"] == "process=tree"


def many_are_told_apart(tools, program):
    """However soon a copy of the shell allocates after it has become another program."""
    recording = record(tools, "sh", "-c", f"for i in $(seq 60); do {program} a1000 & done; wait", name="many")
    cost = json.loads(recording.report("--by", "command", "--json", "--lens", "m=bytes&process=tree"))
    assert cost["totals"]["bytes"] == 60 * 1000, cost
    return True


def test_the_lens_selects_processes(tools, tmp_path):
    program = tools.victim("tree")
    recording = record(tools, "sh", "-c", f"{program} a100a200 & {program} a300; cat /dev/null; wait")
    known = recording.json()
    made = {p["id"]: p["allocated_bytes"] for p in known["processes"]}
    assert len(made) == 4

    def selected(term):
        return json.loads(recording.report("--tree", "--json", "--lens", f"m=bytes&process={term}"))["totals"]["bytes"]
    for place, p in enumerate(known["processes"], 1):
        assert selected(p["pid"]) == made[p["id"]], p
        assert selected(f"%23{place}") == selected(f"#{place}") == made[p["id"]], p
    # By what was executed at that moment: the shell's copies allocate before they become another program
    by_command = json.loads(recording.report("--by", "command", "--json", "--lens", "m=bytes"))["parts"]
    made_by = {part["label"]: part["bytes"] for part in by_command}
    shell = known["processes"][0]["command"]
    assert set(made_by) == {shell, "tree", "cat"} and made_by["tree"] == 600
    assert {name: selected(name) for name in made_by} == made_by
    assert selected(f"tree,cat,{shell}") == known["summary"]["allocated_bytes"]
    first = next(p for p in known["processes"] if p["command"] == "tree")
    assert selected(f"cat,{first['pid']}") == made_by["cat"] + made[first["id"]]
    assert many_are_told_apart(tools, program)

    for term, why in (("tre", "no such process, or its stacks are not told apart"), ("999999999", "no such process")):
        assert why in tools.print(recording.file, "--tree", "--lens", f"process={term}", status=1).stderr
    alone = tools.record(program, "a100", name="alone")
    assert "use heaptrack --children" in tools.print(alone.file, "--tree", "--lens", "process=tree", status=1).stderr

    # Exports: of one command, and all with the command as a label
    path = tmp_path / "out.pprof"
    recording.report("--export", f"pprof={path}")
    by_label = foreign.pprof_by_label(path, "command")
    assert {name: values["alloc_space"] for name, values in by_label.items()} == {
        name: selected(name) for name in (shell, "tree", "cat")}
    recording.report("--export", f"pprof={path}", "--lens", "process=tree")
    assert set(foreign.pprof_by_label(path, "command")) == {"tree"}


COUNTED = ("allocations", "allocated_bytes", "never_freed_bytes", "peak_bytes")
MAKEFILE = """
all: $(patsubst %,f%.o,$(shell seq {n}))
%.o: %.c
\t@echo $$$$ $*; exec gcc $(MORE) -w -O1 -c -o $@ $<
"""


def write_sources(folder, n):
    draw = random.Random(24)
    (folder / "Makefile").write_text(MAKEFILE.format(n=n))
    for i in range(1, n + 1):
        functions = "\n".join(f"static long step{k}(long a) {{ while (a % {draw.randrange(3, 99)}) a ^= a * {draw.randrange(10**6)};"
                              f" return a + (long)strlen(\"{draw.randrange(10**9)}\"); }}" for k in range(draw.randrange(1, 40)))
        (folder / f"f{i}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n{functions}\n"
                                        f"long f{i}(long a) {{ return step0(a) + printf(\"%ld\", a); }}\n")


def alone(tools, folder, name):
    """What the compiler's parts take for a file, recorded one by one, in the environment that make and gcc give them."""
    for old in folder.glob("alone.*"):
        old.unlink()
    made = tools.run("make", "-s", "-B", f"{name}.o", f"MORE=-wrapper {tools.heaptrack},-q,-o,{folder}/alone.%p", cwd=folder)
    assert made.status == 0, repr(made)
    known = [tools.json(file) for file in folder.glob("alone.*")]
    return {os.path.basename(one["program"]["executable"]): {k: one["summary"][k] for k in COUNTED} for one in known}


def is_but_for_tables(one, other):
    """gcc keeps a table of 32,768 bytes for each 16 MB, and one of 2,064 for each 4 GB, in which it has pages: how many
    that are differs from run to run, with the addresses that it gets."""
    fewer, *less = (one[k] - other[k] for k in COUNTED)
    return len(set(less)) == 1 and any(less[0] == i * 32768 + (fewer - i) * 2064 for i in range(-4, 5))


@pytest.mark.skipif(not shutil.which("gcc") or not shutil.which("make"), reason="needs gcc and make")
def test_make_and_what_each_compiler_takes_alone(tools, tmp_path, is_long):
    n, n_alone = (2000, 50) if is_long else (8, 2)
    write_sources(tmp_path, n)
    recording = record(tools, "make", "-s", "-j2", cwd=tmp_path, timeout=1800)
    assert recording.status == 0, repr(recording)
    known = recording.json()
    counts = {c["name"]: c["processes"] for c in known["commands"]}
    assert counts["gcc"] == counts["cc1"] == counts["as"] == n, counts  # two of these are links
    assert counts["make"] == counts["seq"] == 1 and len(known["processes"]) == 3 * n + 2, counts
    assert known["quality"].get("lost_events", 0) == 0 and not known["children"]
    if not is_long:  # within minutes on a busy machine, a thread stalls for 100 ms in a hook: then the peak is a range
        assert_exact(known)
    assert recording.file.stat().st_size < 20_000_000
    for key in COUNTED[:3]:
        assert known["summary"][key] == sum(p[key] for p in known["processes"]), key
    said = dict(reversed(line.split()) for line in recording.stdout.splitlines())
    assert len(said) == n
    pids = collections.Counter(p["pid"] for p in known["processes"])
    files = {c["name"]: os.path.basename(c["executable"]) for c in known["commands"]}
    drivers = {str(p["pid"]): p["id"] for p in known["processes"] if pids[p["pid"]] == 1}  # others were given out again
    for name in random.Random(n).sample([name for name in sorted(said) if said[name] in drivers], n_alone):
        parts = {files[p["command"]]: {k: p[k] for k in COUNTED} for p in known["processes"] if p["parent"] == drivers[said[name]]}
        by_itself = alone(tools, tmp_path, name)
        assert set(parts) == set(by_itself) and is_but_for_tables(parts.pop("cc1"), by_itself.pop("cc1")), name
        assert parts == by_itself, name


POOL = """
import multiprocessing, os, sys
def work(n):
    return sum(len(bytes(100000 + i)) for i in range(n))
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(3) as pool:
        print(sum(pool.map(work, [50] * 12)))
"""


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_pools_of_python(tools, tmp_path, way):
    script = tmp_path / "pool.py"
    script.write_text(POOL)
    recording = record(tools, os.path.realpath(sys.executable), "-S", "-E", script, way)
    assert recording.status == 0, repr(recording)
    known = recording.json()
    workers = [p for p in known["processes"] if p["parent"] is not None]
    assert len(workers) >= 3
    assert known["summary"]["allocated_bytes"] == sum(p["allocated_bytes"] for p in known["processes"])
    assert sum(p["allocated_bytes"] for p in workers) > 12 * 50 * 100000
    if way == "fork":
        assert all(p["inherited_bytes"] > 100000 for p in workers)


# ---- functions of Python

AFTER_THE_FORK = """
import os, sys
def keep(n):
    kept.append(bytearray(n))
def before():
    keep(1000000)
def first_seen_in_a_copy():
    exec("def made_there():\\n    keep(3000000)", globals())
    made_there()
def copy(depth):
    if os.fork():
        os.wait()
        return
    before()
    first_seen_in_a_copy()
    if depth:
        copy(depth - 1)
    os._exit(0)
kept = []
before()
for i in range(4):
    copy(3)
if os.fork():
    os._exit(0)
before()
"""


def test_functions_of_python_have_their_names_in_copies(tools, tmp_path):
    """What the parent had called, what only a copy calls, and copies of copies."""
    script = tmp_path / "copies.py"
    script.write_text(AFTER_THE_FORK)
    recording = record(tools, os.path.realpath(sys.executable), "-S", "-E", script)
    assert len(recording.json()["processes"]) >= 17
    stacks = json.loads(recording.report("--tree", "--json", "--lens", "m=bytes&fold=0&q=/keep/"))["tree"]
    names = {row["function"] for row in stacks}
    assert {"before", "first_seen_in_a_copy", "made_there", "keep", "copy", "<module>"} <= names, names

    def bytes_below(name):
        tree = json.loads(recording.report("--tree", "--json", "--lens", f"m=bytes&focus={name}&q=keep"))
        return tree["totals"]["bytes"]
    assert bytes_below("before") // 1000000 in (17, 18)  # the last copy may outlive the recording
    assert bytes_below("made_there") // 3000000 == 16


PREFORK = """
import os, socket, sys
table = [bytes(50000 + i) for i in range(100)]
door = socket.create_server(("127.0.0.1", 0))
workers = []
for i in range(4):
    pid = os.fork()
    if pid == 0:
        for k in range(25):
            with door.accept()[0] as one:
                one.sendall(b"%d %d" % (os.getpid(), len(bytes(200000) + one.recv(100))))
        sys.exit(0)
    workers.append(pid)
for k in range(100):
    with socket.create_connection(door.getsockname()) as one:
        one.sendall(b"x" * 10)
        assert one.recv(100).split()[1] == b"200010"
for pid in workers:
    os.waitpid(pid, 0)
"""


def test_a_server_in_python_that_forks_its_workers_first(tools, tmp_path):
    script = tmp_path / "prefork.py"
    script.write_text(PREFORK)
    recording = record(tools, os.path.realpath(sys.executable), "-S", "-E", script)
    assert recording.status == 0, repr(recording)
    first, *workers = recording.json()["processes"]
    assert len(workers) == 4 and {p["parent"] for p in workers} == {first["id"]}
    assert all(p["inherited_bytes"] > 5_000_000 and p["allocated_bytes"] > 25 * 200_000 for p in workers), workers
    assert first["peak_bytes"] > 5_000_000 > max(p["peak_bytes"] for p in workers)
    assert_exact(recording.json())


@pytest.mark.skipif(not shutil.which("npm"), reason="needs npm")
def test_a_script_of_npm(tools, tmp_path):
    (tmp_path / "package.json").write_text(json.dumps({"name": "x", "version": "1.0.0", "scripts": {
        "work": "node -e 'console.log(Buffer.alloc(3000000, 1).length)'"}}))
    recording = record(tools, "npm", "run", "--silent", "work", cwd=tmp_path)
    assert recording.status == 0 and "3000000" in recording.stdout, repr(recording)
    known = recording.json()
    nodes = [p for p in known["processes"] if p["command"] == "node"]
    assert len(nodes) >= 2 and nodes[-1]["allocated_bytes"] >= 3_000_000, known["processes"]
    assert not known["children"] and known["quality"].get("lost_events", 0) == 0


@pytest.mark.skipif(not shutil.which("ccache"), reason="needs ccache")
def test_a_compiler_behind_ccache(tools, tmp_path):
    write_sources(tmp_path, 6)
    env = {"CCACHE_DIR": str(tmp_path / "cache")}
    text = (tmp_path / "Makefile").read_text().replace("exec gcc", "exec ccache gcc")
    (tmp_path / "Makefile").write_text(text)
    for n_compiled in (6, 0):  # the second time all is in the cache
        known = record(tools, "make", "-s", "-j2", "-B", cwd=tmp_path, env=env, name=f"of{n_compiled}").json()
        counts = {c["name"]: c["processes"] for c in known["commands"]}
        assert counts["ccache"] == 6, counts
        assert sum(n for name, n in counts.items() if re.fullmatch(r"(.*-)?as", name)) == n_compiled, counts
        assert not known["children"] and known["quality"].get("lost_events", 0) == 0


def test_what_executes_another_program_stays_one_process(tools):
    program = tools.victim("tree")
    recording = record(tools, "sh", "-c", f"{program} a100 & exec {program} a200t300s500")
    known = recording.json()
    first = known["processes"][0]
    assert (first["command"], first["never_freed_bytes"], first["exit_status"]) == ("tree", 200, 0)
    assert sorted(p["never_freed_bytes"] for p in known["processes"]) == [100, 200]


# ---- who gets a cell

def ask(token, join=struct.pack("III", 0, 0, 0)):
    """What the door hands out to this process: how many descriptors."""
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(5)
        door.connect(f"\0heaptrack-{token}")
        n = 0
        while True:
            try:
                door.send(join if n == 0 else b"")
                fds = socket.recv_fds(door, 1, 4)[1]
            except ConnectionError:  # closed, whatever was said
                fds = []
            if not fds:
                return n
            n += len(fds)
            for fd in fds:
                os.close(fd)


def token_of(running, helpers):
    pid = running.program()

    def find():
        entry = next((e for e in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                      if e.startswith(b"HEAPTRACK_SEGMENT=")), None)
        return entry.decode().rpartition(":")[2] if entry else None
    return helpers.wait_until(find)


def test_a_stranger_gets_no_cell(tools, helpers):
    running = tools.start_record(tools.victim("tree"), "a100s1500", options=("--children",))
    assert ask(token_of(running, helpers)) == 0  # started by the test, not by the program
    finished = running.wait()
    assert len(tools.json(running.file)["processes"]) == 1, repr(finished)


def test_a_process_that_the_program_has_left_behind_gets_one(tools):
    """A daemon: its parent has ended before it executes its program."""
    program = tools.victim("tree")
    recording = record(tools, "sh", "-c", f"(setsid sh -c 'sleep 0.2; {program} a12345' &) ; sleep 1")
    known = recording.json()
    assert [p["never_freed_bytes"] for p in known["processes"] if p["command"] == "tree"] == [12345]


def test_nonsense_at_the_door_ends_nothing(tools, helpers):
    running = tools.start_record(tools.victim("tree"), "a100s1500f{a200}w", options=("--children",))
    token = token_of(running, helpers)
    for join in (b"", b"\xff" * 3, b"\xff" * 4096):
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(f"\0heaptrack-{token}")
            with contextlib.suppress(ConnectionError):
                door.send(join)
    finished = running.wait()
    assert sorted(p["never_freed_bytes"] for p in tools.json(running.file)["processes"]) == [100, 200], repr(finished)


def test_when_what_a_process_left_was_allocated_is_not_said(tree):
    """It is never freed, and yet gone from the heap long before the recording's end."""
    said = [f["text"] for f in tree("f{" + "a100000" * 60 + "}ws700").json()["findings"] if f["id"] == "never-freed"]
    assert len(said) == 1 and "60 blocks, 6.0 MB" in said[0] and "allocated" not in said[0], said


def test_an_allocator_of_a_programs_own_is_named(tools, tmp_path):
    """Also if the process has allocated before, as rustup has that becomes rustc."""
    source, program = tmp_path / "brings.c", tmp_path / "brings"
    source.write_text("""#include <stddef.h>
        #include <unistd.h>
        static char pool[1 << 20], *next = pool;
        void *malloc(size_t n) { return (next += (n + 15) & ~15ul) - ((n + 15) & ~15ul); }
        void free(void *p) { (void)p; }
        int main(void) { *(volatile char *)malloc(100) = 1; return usleep(200000); }""")
    subprocess.run(["gcc", "-O0", "-fno-builtin", "-rdynamic", "-o", program, source], check=True)
    for command in (f"exec {program}", f"{program}; exit 5"):
        known = record(tools, "bash", "-c", command, name=command[:4].strip("/")).json()
        lines = {line["id"]: line["text"] for line in known["quality"]["sentences"]}
        assert lines["not-hooked"] == ("malloc of brings was seen but not hooked: an allocator that a program brings is "
                                       "recorded only without --children. What it does is missing here")
        assert "silent-process" not in lines and known["quality"]["verdict"].startswith("incomplete"), known["quality"]


def test_a_process_of_which_nothing_is_seen_is_named(tools, tmp_path):
    source, program = tmp_path / "silent.c", tmp_path / "silent"
    source.write_text("#include <unistd.h>\nint main(void) { return usleep(300000); }\n")
    subprocess.run(["gcc", "-o", program, source], check=True)
    known = record(tools, "sh", "-c", f"{program}; exit 5").json()
    lines = [line["text"] for line in known["quality"]["sentences"] if line["id"] == "silent-process"]
    assert len(lines) == 1 and re.match(r"silent \(pid \d+\) made no allocation that was recorded: if it", lines[0]), lines
    assert "silent-process" not in str(record(tools, "sh", "-c", "sleep 0.05; exit 5", name="brief").json()["quality"])


IN_A_SANDBOX = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
	struct sock_filter all[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, all};
	if (argc == 1) {
		return malloc(1000) == 0 || usleep(300000);
	}
	if (fork() == 0) {
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ||
				execl(argv[0], "sandboxed", NULL);
	}
	int status;
	wait(&status);
	return status != 0;
}
"""


def test_one_whose_sandbox_forbids_to_ask_for_memory_is_named(tools, tmp_path):
    source, program = tmp_path / "sandbox.c", tmp_path / "sandbox"
    source.write_text(IN_A_SANDBOX)
    subprocess.run(["gcc", "-o", program, source], check=True)
    recording = record(tools, program, "and-start")
    assert [child["executable"] for child in recording.json()["children"]] == [str(program)]
    said = " ".join(tools.run(tools.heaptrack_print, recording.file).stdout.split())
    assert "got no memory from heaptrack to be recorded into (a sandbox may forbid to ask for it)" in said, said


COPIES_IN_A_SANDBOX = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
	struct sock_filter all[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, all};
	free(malloc(10));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		return 99;
	}
	if (fork() == 0) {
		free(malloc(20));
		_exit(3);
	}
	int status;
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
"""


BY_PRCTL = "prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)"


@pytest.mark.parametrize("options", [(), ("--children",)])
@pytest.mark.parametrize("call", ["socket", "openat", "readlinkat", "close"])
@pytest.mark.parametrize("way", [BY_PRCTL, "syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)"])
def test_a_copy_that_may_not_ask_lives_on(tools, tmp_path, way, call, options):
    """It was killed at the system call by which the recorder asks for its memory, or at those by which it
    reads its own name. libseccomp calls seccomp."""
    source, program = tmp_path / "sandbox.c", tmp_path / "sandbox"
    assert BY_PRCTL in COPIES_IN_A_SANDBOX
    source.write_text(COPIES_IN_A_SANDBOX.replace(BY_PRCTL, way).replace("SYS_socket", f"SYS_{call}"))
    subprocess.run(["gcc", "-o", program, source], check=True)
    recording = tools.record(program, options=options)
    assert recording.status == 3, repr(recording)
    known = recording.json()
    assert known["quality"]["children_forked"] == 1 and not known["children"]
    assert "1 child process was not recorded" in tools.print(recording.file).stdout


@pytest.mark.parametrize("limit", ["ulimit -f 8", "ulimit -v 1000000"])
def test_copies_join_whatever_the_program_limits(tools, limit):
    """What they write would be a file's end, and what they map is in pieces."""
    words = ("bash", "-c", f"{limit}; for i in 1 2 3; do (: ; x=$(/bin/true)); done; echo $?")
    recording = record(tools, *words)
    assert recording.status == 0 and recording.stdout == "0\n", repr(recording)
    # bash, and each time a subshell and a copy of it that becomes true
    names = [process["command"] for process in recording.json()["processes"]]
    assert sorted(names) == ["bash"] * 4 + ["true"] * 3, names


@pytest.mark.parametrize("n", [0, 3])
def test_what_processes_leave_is_told_by_process(tools, n):
    """15 MB that 60 compilers leave are no leak of 15 MB."""
    known = record(tools, tools.victim("tree"), "a1000000" + n * "x{a200000}" + "w").json()
    said = " ".join(f["text"] for f in known["findings"] if f["id"] in ("never-freed", "allocated-once", "at-start"))
    assert known["summary"]["never_freed_bytes"] == 1000000 + n * 200000
    if n == 0:
        assert "1.0 MB" in said and "left by" not in said, said
    else:
        assert "4 of 4 blocks, 1.6 MB, left by 4 processes at their ends, at most 1.0 MB by one" in said, said


def test_processes_that_are_merged_are_not_one(tools):
    """What more than 1,024 groups of ended threads left was said to be left by one process."""
    loop = f"i=0; while [ $i -lt 1600 ]; do {tools.victim('tree')} a20000w; i=$((i+1)); done"
    recording = record(tools, "sh", "-c", loop)
    known = recording.json()
    left, = (f for f in known["findings"] if f["numbers"].get("bytes") == 1600 * 20000)
    n = re.search(r"1,600 of 1,600 blocks, 32\.0 MB, left by at least ([\d,]+) processes at their ends\.", left["text"])
    assert n and 500 <= int(n[1].replace(",", "")) < 1600, left["text"]
    pids = [process["pid"] for process in known["processes"] if process["command"] == "tree"]
    lens = f"m=never-freed&process={pids[-1]}"
    refused = tools.print(recording.file, "--by", "site", "--lens", lens, status=1).stderr
    assert "or its stacks are not told apart from those of others; --processes lists" in refused, refused
    assert "20.0K" in recording.report("--by", "site", "--lens", f"m=never-freed&process={pids[0]}")


@pytest.mark.parametrize("options", [(), ("--children",)])
def test_who_limits_its_address_space_has_what_is_left(tools, options):
    """Room for functions of runtimes took 70 MB of it, and no allocation succeeded."""
    recording = tools.record(tools.victim("limited"), 80, 1000, options=options)
    assert recording.status == 0, repr(recording)


def test_each_program_of_a_tree_is_not_a_library(tools, tmp_path):
    """cc1 lies in /usr/lib, and had no function of its own."""
    (tmp_path / "a.c").write_text("int f(int a) { return a + 1; }\n")
    recording = record(tools, "bash", "-c", f"gcc -c -o {tmp_path}/a.o {tmp_path}/a.c; {sys.executable} -S -c 'x = [{{}} for i in range(100)]'")
    owners = collections.defaultdict(set)
    for site in recording.json("--limit", "0")["sites"]["allocations"]:
        for frame in site["stack"]:
            owners[Path(frame["module"] or "").name].add(frame["owner"])
    assert "yours" in owners["cc1"] and "yours" in owners["bash"], owners
    python = Path(sys.executable).resolve().name
    assert owners[python] == {"library"}, owners


@pytest.mark.skipif(not shutil.which("dpkg"), reason="needs Debian's packages")
def test_programs_that_another_starts_have_their_packages(tools, tmp_path):
    """They were looked up only where the first program was one of the system's."""
    source, program = tmp_path / "own.c", tmp_path / "own"
    source.write_text("#include <stdlib.h>\nint main(void) { return system(\"exec sort /etc/passwd > /dev/null\"); }\n")
    subprocess.run(["gcc", "-o", program, source], check=True)
    assert "coreutils" in events.Events(record(tools, program).file).strings


def test_a_runtime_of_a_tree_has_its_own_libraries_only(tools, tmp_path):
    """The JDK's libraries were a dependency's below a shell; those of ld Python's own below Python."""
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    linked = record(tools, sys.executable, "-S", "-c",
                    f"import subprocess; subprocess.run(['gcc', '-o', '{tmp_path}/a', '{tmp_path}/a.c'])")
    assert "libbfd" in linked.report("--by", "site", "--lens", "m=allocations", "--limit", "0"), linked.report()
    if not shutil.which("java"):
        pytest.skip("no java here")
    page = record(tools, "sh", "-c", "java -version; true").report().split("more:")[0]
    assert "JavaMain" not in page and "libjvm.so" in page, page


MAPS_WITHOUT_UNWIND_TABLES = """
#include <stdlib.h>
#include <sys/mman.h>
__attribute__((noinline)) static long maps(int n) {
	volatile char room[4000];
	room[n] = 1;
	char *p = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return (n ? maps(n - 1) : 0) + p[0] + room[n];
}
int main(void) { return malloc(100) == 0 || maps(300) != 301; }
"""


def test_calls_that_map_are_not_counted_where_they_are_not_recorded(tools, tmp_path):
    """Their stacks were said to have found no room."""
    source, program = tmp_path / "maps.c", tmp_path / "maps"
    source.write_text(MAPS_WITHOUT_UNWIND_TABLES)
    subprocess.run(["gcc", "-O1", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-o", program, source], check=True)
    known = record(tools, program).json()
    assert known["summary"]["allocations"] >= 1
    assert "folded-stacks" not in str(known["quality"]), known["quality"]


MAPS_IN_TREE = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define MB (1 << 20)
#define MAP(name) __attribute__((noinline)) char *name(int n) { \\
	char *p = mmap(0, n * MB, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); *p = 1; return p; }
MAP(in_program) MAP(in_copy) MAP(in_other)
int main(int n, char **words) {
	if (n > 1) {
		munmap(in_other(6) + 2 * MB, MB); // 5 of 6 MB stay at its end
		return malloc(10) == 0;
	}
	char *first = in_program(8), *own;
	if (fork() == 0) {
		own = in_copy(4);
		munmap(first, 8 * MB); // its parent's, which stay mapped there
		munmap(own, 4 * MB);
		in_copy(16);
		execl(words[0], words[0], "again", (char *)0);
	}
	wait(0);
	munmap(first, MB);
	in_program(1);
	return 0;
}
"""


def test_what_processes_map_is_told_by_command(tools, tmp_path):
    source, program = tmp_path / "maps.c", tmp_path / "maps"
    source.write_text(MAPS_IN_TREE)
    subprocess.run(["gcc", "-g", "-O1", "-o", program, source], check=True)
    recording = record(tools, "bash", "-c", f"{program} & wait; true")
    told = collections.defaultdict(lambda: [0, 0, 0, 0])
    for row in recording.json()["memory"]["mappings"]:
        of = told[row["stack"][0]["function"]]
        for i, key in enumerate(("maps", "mapped_bytes", "peak_bytes", "never_unmapped_bytes")):
            of[i] += row[key] / (1 << 20 if i else 1)
    told = {name: of for name, of in told.items() if (name or "").startswith("in_")}
    # Not all at once: 8 with 16; an exec and munmap unmap, an end does not
    assert told == {"in_program": [2, 9, 8, 8], "in_copy": [2, 20, 16, 0], "in_other": [1, 6, 0, 5]}
    assert "no-mappings" not in str(recording.json()["quality"])
    assert "in_copy" in recording.report("--lens", f"m=mapped&process={program.name}")
    assert "in_copy" not in recording.report("--lens", "m=mapped&process=bash")
    for lens in ("threads=maps", "process=#1"): # "0 B" would not be true
        refused = tools.run(tools.heaptrack_print, "--lens", f"m=mapped&{lens}", recording.file)
        assert refused.status == 1 and "which thread mapped what is not recorded" in refused.stderr, repr(refused)


FORKS_BETWEEN = """
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int n, char **words) {
	void *first = mmap(0, 1 << 23, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = atoi(words[n - 1]); i > 0; i--) {
		if (fork() == 0) {
			_exit(0);
		}
		wait(0);
	}
	return munmap(first, 1 << 23);
}
"""


@pytest.mark.parametrize("n", [100, pytest.param(65540, marks=pytest.mark.long)])
def test_what_one_maps_is_not_another_ones_however_many_there_are(tools, tmp_path, n):
    """The end of process 65,537 was the end of what process 1 had mapped."""
    source, program = tmp_path / "maps.c", tmp_path / "maps"
    source.write_text(FORKS_BETWEEN)
    subprocess.run(["gcc", "-o", program, source], check=True)
    row, = record(tools, program, n, timeout=600).json()["memory"]["mappings"]
    assert (row["maps"], row["never_unmapped_bytes"]) == (1, 0)


def test_an_interpreter_is_not_said_to_map_what_it_maps(tools):
    """"Of 2.2 GB that node mapped in all, node mapped 100 %."""
    node = shutil.which("node")
    if not node:
        pytest.skip("node is not installed")
    script = "let a = []; for (let i = 0; i < 500; i++) a.push(Buffer.alloc(1e4, 1)); setTimeout(() => 0, 300)"
    known = record(tools, "bash", "-c", f"{node} -e '{script}'; true").json()
    text = next(f["text"] for f in known["findings"] if f["id"] == "processes-at-peak")
    assert "; node (pid" in text and "in memory (RSS)" in text, text
    assert "mapped or reserved in all" not in text, text


# ---- what it is not combined with, and what stays as it was

@pytest.mark.parametrize("other", [("--leaks",), ("--leaks-every", "1s"), ("--events",), ("--raw",), ("-p", "1", "--max-pause", "5ms"),
                                   ("--look", "1")])
def test_what_it_is_not_combined_with_is_refused(tools, other):
    finished = tools.run(tools.heaptrack, "--children", *other, "true")
    assert finished.status == 1
    assert "--children is for a program to start or -p PID, without --leaks, --events, --raw and --max-pause" in finished.stderr


def test_a_look_is_refused_with_its_reason(tools):
    """It was said that calls that map are not recorded, which they are."""
    running = tools.start_record("sh", "-c", "sleep 20; true", options=("--children",))
    asked = tools.run(tools.heaptrack, "--ctl", running.program(), "look")
    assert asked.status == 1 and "looks are made of one process, not of a tree" in asked.stderr, repr(asked)
    os.kill(running.program(), signal.SIGKILL)
    running.wait()


def test_a_program_that_cannot_load_the_recorder_is_refused(tools):
    finished = tools.run(tools.heaptrack, "--children", tools.victim("stands_alone"))
    assert finished.status == 1 and finished.stdout == ""
    assert "cannot load the recorder; record it without --children" in finished.stderr, repr(finished)


def test_without_it_one_process_is_recorded(tools):
    recording = tools.record(tools.victim("tree"), "a100f{a200}x{a300}w")
    known = recording.json()
    assert "processes" not in known and "commands" not in known
    assert known["summary"]["never_freed_bytes"] == 100
    assert known["quality"]["children_forked"] + known["quality"]["children_executed"] == 2
    assert "only one process was recorded" in recording.report("--processes")


def test_a_killed_collector_leaves_all_running(tools, helpers, tmp_path):
    done = tmp_path / "done"
    running = tools.start_record("bash", "-c", f"for i in $(seq 300); do /bin/true; (:); done; touch {done}",
                                 options=("--children",))
    helpers.wait_until(lambda: running.file.exists() and running.file.stat().st_size > 0)
    time.sleep(0.3)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    helpers.wait_until(done.exists, what="the end of the program without its collector")


def test_children_killed_at_any_moment(tools):
    """Whatever they were doing: the others go on, the file is whole, and nothing is lost."""
    program = tools.victim("tree")
    busy = "a100" * 50 + "t3000" * 20000 + "s40" # on a quiet machine all had ended before
    script = f"for i in $(seq 24); do {program} {busy} & p=$!; sleep 0.0$((i % 4))$i; kill -9 $p; wait $p; done 2>&-"
    recording = record(tools, "bash", "-c", script + "; true")
    known = recording.json()
    assert recording.status == 0 and known["quality"]["verdict"] == "recording complete", repr(recording)
    killed = [p for p in known["processes"] if p["command"] == "tree" and p["exit_status"] == 137]
    assert killed, known["processes"]
    assert known["summary"]["allocations"] == sum(p["allocations"] for p in known["processes"])
    assert known["quality"].get("double_allocations", 0) == 0


def descendants(pid):
    """Pids below a process, which may end meanwhile."""
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield int(child)
            yield from descendants(child)


@pytest.mark.long
def test_killed_at_two_hundred_random_moments(tools, helpers, tmp_path):
    """A process, or the collector: what is left goes on to its end, and the file can be read, whole unless that died."""
    draw = random.Random(24)
    part = "a100t5000a200r700" * 150
    script = f"{part}f{{{part}f{{{part}}}{part}w}}x{{{part}}}{part}w"
    many = f"for i in $(seq 10); do {tools.victim('tree')} '{script}' & done; wait; touch "
    for i in range(200):
        done = tmp_path / f"done{i}"
        running = tools.start_record("bash", "-c", many + str(done), options=("--children",), name=f"r{i}")
        is_collectors = i % 4 == 0
        time.sleep(draw.uniform(0, 1.5 if is_collectors else 0.25))
        below = list(descendants(running.pid))[1:]  # the first is the program
        if is_collectors or not below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(running.pid, signal.SIGKILL)
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(below), signal.SIGKILL)
        finished = running.wait()
        if finished.status != 137:
            known = tools.json(running.file)
            assert finished.status == 0 and known["quality"]["verdict"] == "recording complete", (i, repr(finished))
            assert known["summary"]["allocations"] == sum(p["allocations"] for p in known["processes"]), i
            assert known["quality"].get("double_allocations", 0) == 0, i
        elif running.file.exists() and running.file.stat().st_size > 0:
            read = tools.run(tools.heaptrack_print, "--json", running.file)
            assert read.status == 0 or "it holds no whole checkpoint" in read.stderr, repr(read)
        if below:
            helpers.wait_until(done.exists, what=f"the end of the program, {i}")
        helpers.goes_on()


NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


@pytest.mark.skipif(subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode != 0,
                    reason="pid namespaces need rights")
def test_two_hundred_processes_are_stopped_as_by_docker(tools, helpers, tmp_path):
    """SIGTERM to process 1, which is heaptrack: the file is whole within two seconds."""
    program = tools.victim("tree")
    script = (f"trap 'exit 0' TERM; for i in $(seq 200); do {program} a1000b1s60000 & done; while :; do sleep 0.05; done")
    file = tmp_path / "t.zst"
    running = tools.start(*NAMESPACE, tools.heaptrack, "-o", file, "--children", "sh", "-c", script)
    heaptrack = helpers.wait_until(lambda: next(descendants(running.pid), None))
    helpers.wait_until(lambda: len(list(descendants(heaptrack))) > 200)
    time.sleep(0.5)
    start = time.monotonic()
    os.kill(heaptrack, signal.SIGTERM)
    finished = running.wait()
    seconds = time.monotonic() - start
    known = tools.json(file)
    assert finished.status == 0 and seconds < 2, (seconds, repr(finished))
    assert [p["never_freed_bytes"] for p in known["processes"] if p["command"] == "tree"] == [1000] * 200
    assert known["quality"]["verdict"] == "recording complete"


def test_more_at_once_than_there_are_cells(tools):
    """1,100 that live at the same time: those that got none run as well, and are counted."""
    program = tools.victim("tree")
    recording = record(tools, program, "f{a10s4000}" * 1100 + "w")
    known = recording.json()
    n = len(known["processes"])
    assert 1000 < n <= 1024
    assert f"{1101 - n} processes were not recorded: at most 1024 are at a time" in recording.stderr.replace(",", ""), \
        repr(recording)
    assert known["summary"]["never_freed_bytes"] == 10 * (n - 1)
