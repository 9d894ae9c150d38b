"""How a program ended is said, with what is known: by a signal, by a limit of its own, by the kernel for
want of memory. And the first line of a report says whether the recording is whole.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import wait_until
from control_groups import control_group

SECOND = 1_000_000_000
perl = pytest.mark.skipif(not shutil.which("perl"), reason="perl is not installed")


def killed(known):
    lines = [line["text"] for line in known["quality"]["sentences"] if line["id"] == "killed"]
    assert len(lines) <= 1
    return lines[0] if lines else None


def first_line(recording):
    return recording.report().splitlines()[0]


def assert_whole(recording):
    assert recording.json()["quality"]["verdict"] == "recording complete"
    assert "   recording complete   " in first_line(recording), first_line(recording)


def test_a_normal_end_is_no_news(tools):
    for status in (0, 3):
        recording = tools.record("sh", "-c", f"exit {status}")
        assert recording.status == status
        assert killed(recording.json()) is None
        assert recording.json()["program"]["end_reason"] is None
        assert_whole(recording)


@pytest.mark.parametrize("name", ["SEGV", "TERM", "KILL", "ABRT", "INT", "USR1"])
def test_signals(tools, name):
    recording = tools.record("sh", "-c", f"kill -{name} $$")
    number = getattr(signal, f"SIG{name}")
    assert recording.status == 128 + number, repr(recording)
    sentence = killed(recording.json())
    assert re.fullmatch(rf"the program was ended by SIG{name} at [\d.]+ (ms|s): \"never freed\" is what "
                        "was live then", sentence), sentence
    assert f"was ended by SIG{name}" in recording.stderr
    assert_whole(recording)


@perl
@pytest.mark.parametrize("limit, sentence", [
    ("-t 1", r"was ended by SIG(XCPU|KILL) at .* s: it had reached its limit of CPU time, 1 s "
             r"\(ulimit -t\)"),
    ("-f 8", r"was ended by SIGXFSZ at .*: it had reached its limit of file size, 8\.2 kB "
             r"\(ulimit -f\)|was ended by SIGXFSZ at .* file size, 4\.1 kB \(ulimit -f\)"),
    ("-v 200000", r"(exited with status \d+|was ended by SIG\w+) at .*; 1 allocation failed: its memory "
                  r"is limited to 204\.8 MB \(ulimit -v or -d\)"),
])
def test_limits_of_its_own(tools, tmp_path, limit, sentence):
    what = {"t": "1 while 1", "f": "open F, '>', shift; print F 'x' x 1e6; close F",
            "v": "$x = 'x' x 4e8"}[limit[1]]
    recording = tools.record("sh", "-c", f'ulimit {limit}; exec perl -e "$0" "$1"', what,
                             tmp_path / "file")
    known = recording.json()
    assert recording.status != 0
    assert known["program"]["end_reason"] == "limit", known["quality"]
    assert re.fullmatch(f"the program (?:{sentence})", killed(known)), killed(known)


def test_limits_that_are_not_reached_are_not_named(tools):
    recording = tools.record("sh", "-c", "ulimit -t 100; ulimit -f 1000; kill -KILL $$")
    assert "ended by SIGKILL" in killed(recording.json())
    assert recording.json()["program"]["end_reason"] is None


HUNGRY = 'push @x, "x" x 1e5 while 1'


@perl
@pytest.mark.parametrize("how", ["moves itself", "moves late", "is started there"])
def test_killed_by_the_kernel_for_memory(tools, how):
    limit = 96 << 20
    with control_group(limit) as group:
        procs = group / "cgroup.procs"
        if how == "is started there":  # heaptrack as well: the kernel takes the largest
            recording = tools.record("perl", "-e", HUNGRY, preexec_fn=lambda: procs.write_text("0"))
        else:
            wait = "sleep 1;" if how == "moves late" else ""
            recording = tools.record(
                "sh", "-c", f"{wait} echo $$ > {procs}; exec perl -e '{HUNGRY}'")
        assert recording.status == 128 + signal.SIGKILL, repr(recording)
        known = recording.json()
    assert known["program"]["end_reason"] == "memory", known["quality"]
    sentence = killed(known)
    assert re.fullmatch(
        r"the kernel killed the program at [\d.]+ (ms|s) \(SIGKILL\), because its control group had used "
        r"up its memory limit of 100\.7 MB; the heap was [\d.]+ MB then(; [\d.]+ m?s before, RSS was [\d.]+ MB: "
        r"[\d.]+ [kM]B [a-z, ]+(, [\d.]+ [kM]B [a-z, ]+){2,4}(; its control group used [\d.]+ MB of 100\.7 MB(, of that .*)?)?|"
        r", the last RSS seen [\d.]+ MB)",  # it takes 0.1 s
        sentence), sentence
    assert "the kernel killed the program" in recording.stderr


EATER = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *volatile last;
__attribute__((noinline)) void map_more(size_t n) {
	last = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(last, 1, n);
}
__attribute__((noinline)) void take_more(size_t n) { last = malloc(n); memset(last, 1, n); }
int main(int argc, char **argv) {
	if (argc > 2) {
		take_more(atoi(argv[2]) << 20);
		pause();
	}
	for (;;) {
		for (int i = 0; i < 10; i++) { take_more(10000); }
		map_more(100 * 1024);
		usleep(atoi(argv[1]));
	}
}
"""


@pytest.fixture(scope="module")
def eater(tmp_path_factory):
    folder = tmp_path_factory.mktemp("eater")
    (folder / "eater.c").write_text(EATER)
    subprocess.run(["gcc", "-O1", "-g", "-w", "-fno-builtin", "-o", folder / "eater", folder / "eater.c"], check=True)
    return folder / "eater"


@pytest.mark.parametrize("attached", [False, pytest.param(True, marks=pytest.mark.attach)], ids=["launched", "attached"])
def test_what_there_was_just_before_a_kill(tools, eater, attached, request):
    """Of most kills a look is known that is at most 0.3 s older, and its parts are what the program did."""
    limit, ages = 160 << 20, []
    n = 20 if request.config.getoption("--long") else 3
    for _ in range(n):
        with control_group(limit) as group:
            # 0.2 MB in some 2 ms: it takes a second or more
            inside = ["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec {eater} 2000"]
            if attached:
                victim = tools.start(*inside)
                time.sleep(0.3)
                recording = tools.record("-p", str(victim.process.pid), options=("--force",))
            else:
                recording = tools.record(*inside, options=("--force",))
            known = recording.json("--limit", "0")
        if attached and known["program"]["exit_status"] is None:
            pytest.skip("this kernel does not tell how a program ended that is no child")
        assert known["program"]["end_reason"] == "memory", known["quality"]
        looks = [look for look in known["memory"]["looks"] if look["at"] == "trigger"]
        ages.append(known["summary"]["duration_ns"] - looks[-1]["time_ns"] if looks else float("inf"))
        if looks:
            parts = {part["id"]: part["bytes"] for part in looks[-1]["parts"]}
            assert 0.88 * limit < looks[-1]["rss_bytes"] < 1.02 * limit, parts
            assert 0.9 < parts["heap_live"] / parts["mapped"] < 1.1, parts
            assert re.search(r"; [\d.]+ m?s before, RSS was 1\d\d\.\d MB: [\d.]+ MB ", killed(known)), killed(known)
    assert sum(age <= 0.3e9 for age in ages) >= 0.9 * n - 0.5, ages


def use_of(group):
    """What the files of a control group say, in either version."""
    def number(name):
        return int((group / name).read_text())
    stat = {name: int(value) for name, value in (line.split() for line in (group / "memory.stat").read_text().splitlines())}
    if "total_rss" in stat:
        return {"used_bytes": number("memory.usage_in_bytes"), "limit_bytes": number("memory.limit_in_bytes"),
                "anonymous_bytes": stat["total_rss"], "file_bytes": stat["total_cache"], "shared_bytes": stat["total_shmem"],
                "inactive_bytes": stat["total_inactive_file"], "kernel_bytes": number("memory.kmem.usage_in_bytes")}
    return {"used_bytes": number("memory.current"), "limit_bytes": number("memory.max"), "anonymous_bytes": stat["anon"],
            "file_bytes": stat["file"], "shared_bytes": stat["shmem"], "inactive_bytes": stat["inactive_file"],
            **({"kernel_bytes": stat["kernel"]} if "kernel" in stat else {})}


def test_what_else_is_in_the_control_group(tools, eater):
    """Another process of 40 MB, and 20 MB of page cache: as its files say, and in the sentence after the kill."""
    limit, mb = 160 << 20, 1 << 20
    file = Path(f"/var/tmp/heaptrack-page-cache-{os.getpid()}")  # on a disk
    with control_group(limit) as group:
        inside = f"echo $$ > {group}/cgroup.procs;"
        try:
            other = tools.start("sh", "-c", f"{inside} dd if=/dev/zero of={file} bs=1M count=20; exec {eater} 0 40")
            wait_until(lambda: use_of(group)["anonymous_bytes"] >= 40 * mb, what="the other process")
            running = tools.start_record("sh", "-c", f"{inside} exec {eater} 0 30", options=("--force",))
            wait_until(lambda: use_of(group)["anonymous_bytes"] >= 70 * mb, what="the program")
            program = running.program()
            wait_until(lambda: os.readlink(f"/proc/{program}/exe") == str(eater), what="the program")
            time.sleep(0.5)
            assert tools.run(tools.heaptrack, "--ctl", str(program), "look").status == 0
            truth = use_of(group)
            os.kill(program, signal.SIGTERM)
            running.wait()
            look, = [look for look in tools.json(running.file)["memory"]["looks"] if look["at"] == "request"]
            said = look["control_group"]
            wrong = {key: (said[key], value) for key, value in truth.items() if abs(said[key] - value) > truth["used_bytes"] / 100}
            assert not wrong and truth["file_bytes"] - truth["shared_bytes"] > 19 * mb, (truth, said)
            assert 39.5 * mb < said["other_processes_bytes"] < 41 * mb, said
            assert "  its control group used " in tools.print(running.file, "--memory").stdout

            recording = tools.record("sh", "-c", f"{inside} exec {eater} 2000", options=("--force",))
            known = recording.json()
            assert known["program"]["end_reason"] == "memory", known["quality"]
            assert re.search(r"; its control group used 1[45678]\d\.\d MB of 167\.8 MB, of that 4[123]\.\d MB other processes",
                             killed(known)), killed(known)
            assert other.process.poll() is None
        finally:
            other.end()
            file.unlink(missing_ok=True)


@pytest.mark.attach
def test_the_end_of_a_program_that_is_attached_to(tools):
    """As it was, or not known; never that all was well."""
    for script, status in (("exit 3", 3), ("kill -TERM $$", 128 + signal.SIGTERM), ("exit 0", 0)):
        victim = tools.start("sh", "-c", f"echo ready; read x; {script}", stdin=subprocess.PIPE)
        running = tools.start_record("-p", str(victim.process.pid), options=("--force",))
        running.wait_for_attach()
        victim.process.stdin.close()
        assert running.wait().status == 0
        program = tools.json(running.file)["program"]
        assert program["exit_status"] in (status, None), program
        if [int(n) for n in re.findall(r"\d+", os.uname().release)[:2]] >= [6, 15]:
            assert program["exit_status"] == status


def test_a_group_whose_limit_is_far_is_left_alone(tools, eater):
    with control_group(4 << 30) as group:
        recording = tools.record("sh", "-c", f"echo $$ > {group}/cgroup.procs; exec timeout 1 {eater} 2000",
                                 options=("--force",))
    assert [look for look in recording.json()["memory"]["looks"] if look["at"] == "trigger"] == []


@perl
def test_kill_in_a_group_where_others_were_killed_for_memory(tools):
    """Some seconds before: it is not that what ended the program."""
    with control_group(96 << 20) as group:
        procs = group / "cgroup.procs"
        running = tools.start_record("sh", "-c", f"echo $$ > {procs}; perl -e '{HUNGRY}'; echo gone; sleep 60")
        output = running.outputs[0].name
        end = time.monotonic() + 60
        while Path(output).read_text() != "gone\n":
            assert time.monotonic() < end, "the child was not killed"
            time.sleep(0.05)
        time.sleep(4)
        os.kill(running.program(), signal.SIGKILL)
        assert running.wait().status == 128 + signal.SIGKILL
    known = tools.json(running.file)
    assert known["program"]["end_reason"] is None
    assert "was ended by SIGKILL" in killed(known)


def test_killed_collector_leaves_what_says_so(tools, helpers):
    running = tools.start_record("sleep", "30")
    helpers.wait_until(lambda: running.file.exists() and
                       tools.run(tools.heaptrack_print, running.file).status == 0, what="a file that can be read")
    program = running.program()
    os.kill(running.pid, signal.SIGKILL)
    try:
        running.wait()
        report = tools.print(running.file).stdout
        assert "   incomplete: the recording has no end   " in report.splitlines()[0], report
        assert "or the collector was killed then" in report
        assert not tools.json(running.file)["summary"]["complete"]
    finally:
        os.kill(program, signal.SIGKILL)


def test_collector_that_was_stopped_for_long(tools):
    """The program takes it for dead and goes on without: what is there is not called whole."""
    running = tools.start_record(tools.victim("steady"), 40_000_000)  # for longer than the pause below
    program = running.program()
    time.sleep(0.3)
    os.kill(running.pid, signal.SIGSTOP)
    stopped_ns = (time.monotonic() - running.started) * SECOND
    try:
        end = time.monotonic() + 60
        while state(program) not in ("Z", None):
            assert time.monotonic() < end, "the program hangs"
            time.sleep(0.1)
    finally:
        os.kill(running.pid, signal.SIGCONT)
    finished = running.wait()
    assert finished.status == 0, repr(finished)
    known = tools.json(running.file)
    assert not known["summary"]["complete"]
    verdict = known["quality"]["verdict"]
    assert re.fullmatch(r"incomplete: recorded to [\d.]+ (ms|s) of [\d.]+ s", verdict), verdict
    line, = [line for line in known["quality"]["sentences"] if line["id"] == "stopped-early"]
    assert line["value"] < stopped_ns + 2 * SECOND < known["summary"]["duration_ns"], "when it was stopped"
    assert "the program ran on to" in line["text"]
    assert "recording ended at" in finished.stderr, repr(finished)
    assert f"   {verdict}   " in tools.print(running.file).stdout.splitlines()[0]


def state(pid):
    """None: it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return None
