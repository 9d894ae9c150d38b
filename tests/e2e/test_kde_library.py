"""libheaptrack_preload.so with DUMP_HEAPTRACK_OUTPUT and no `heaptrack` around it."""

import os
import re
import signal
import subprocess
from pathlib import Path

import kde
import pytest

COUNTED = 3000
PERL = ["/usr/bin/perl", "-e", "my @a = map { 'x' x $_ } 1 .. 3000"]


def alone(tools, output, *command, **more):
    """The library by itself around a command."""
    env = {"LD_PRELOAD": str(tools.preload), "DUMP_HEAPTRACK_OUTPUT": str(output)}
    return tools.run(*command, env={**env, **more.pop("env", {})}, **more)


def interpreted(tools, folder, raw):
    """Raw lines through Debian's filter: a file that its other tools read."""
    out = folder / "interpreted"
    with open(out, "wb") as result:
        subprocess.run([kde.INTERPRET], input=raw, stdout=result, check=True, timeout=110,
                       stderr=subprocess.DEVNULL)
    return out


def is_whole(raw, lasts_a_millisecond=True):
    lines = raw.decode(errors="replace").splitlines()
    kinds = "".join(line[0] for line in lines)
    assert re.match(r"vxXI", kinds), kinds[:20]
    assert lines[-1].startswith("R ")
    assert any(line.startswith("c ") for line in lines) or not lasts_a_millisecond
    return lines


def test_a_file_is_there_when_the_program_has_ended(tools, tmp_path):
    out = tmp_path / "trace"
    done = alone(tools, out, *PERL)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    raw = out.read_bytes()
    is_whole(raw)
    assert not list(tmp_path.glob("*.recording*"))
    theirs = kde.totals(interpreted(tools, tmp_path, raw))
    calls = int(theirs["calls to allocation functions"])
    assert calls > COUNTED
    assert tools.json(out)["summary"]["allocations"] == calls


def test_the_figures_are_those_of_a_recording_by_heaptrack(tools, tmp_path):
    out = tmp_path / "trace"
    program = [tools.victim("blocks")]
    assert alone(tools, out, *program).status == 0
    theirs = kde.totals(interpreted(tools, tmp_path, out.read_bytes()))
    recorded = tools.record(*program).json()["summary"]
    assert int(theirs["calls to allocation functions"]) == recorded["allocations"]


def test_two_dollars_are_the_pid(tools, tmp_path):
    done = alone(tools, tmp_path / "100% $$.raw", "/usr/bin/perl", "-e", "print $$")
    is_whole((tmp_path / f"100% {done.stdout}.raw").read_bytes())


@pytest.mark.parametrize("name, stream", [("-", "stdout_bytes"), ("stdout", "stdout_bytes"),
                                          ("stderr", "stderr_bytes")])
def test_streams(tools, tmp_path, name, stream):
    done = subprocess.run(PERL, cwd=tmp_path, capture_output=True, timeout=60,
                          env={"LD_PRELOAD": str(tools.preload), "DUMP_HEAPTRACK_OUTPUT": name,
                               "TMPDIR": str(tmp_path)})
    raw = done.stdout if stream == "stdout_bytes" else done.stderr
    assert done.returncode == 0
    is_whole(raw)
    assert not list(tmp_path.iterdir())


def test_a_pipe_with_a_name_and_their_filter(tools, tmp_path):
    fifo, out = tmp_path / "fifo", tmp_path / "out"
    os.mkfifo(fifo)
    reader = subprocess.Popen(f"'{kde.INTERPRET}' < '{fifo}' > '{out}'", shell=True,
                              stderr=subprocess.DEVNULL)
    assert alone(tools, fifo, *PERL).status == 0
    assert reader.wait(60) == 0
    assert int(kde.totals(out)["calls to allocation functions"]) > COUNTED


def test_the_program_and_its_children_are_as_they_were(tools, tmp_path):
    """No child that it does not know, no descriptor, its own exit status; children stay quiet."""
    code = ("import os, subprocess, sys\n"
            "fds = sorted(os.listdir('/proc/self/fd'))\n"
            "try:\n    os.waitpid(-1, 0)\n"
            "except ChildProcessError:\n    print('no child')\n"
            "subprocess.run(['/usr/bin/perl', '-e', '1'])\n"
            "print(len(fds), 'DUMP_HEAPTRACK_OUTPUT' in os.environ)\n"
            "sys.exit(7)\n")
    plain = tools.run("/usr/bin/python3", "-c", code)
    out = tmp_path / "trace"
    done = alone(tools, out, "/usr/bin/python3", "-c", code)
    assert done.status == 7
    assert done.stdout.split("\n")[0] == "no child"
    assert done.stdout.split()[2] == plain.stdout.split()[2]
    is_whole(out.read_bytes())
    assert b"python3" in out.read_bytes().split(b"\n")[1]
    assert sorted(path.name for path in tmp_path.glob("trace*")) == ["trace"]


def test_exec_in_the_same_process_is_followed(tools, tmp_path):
    out = tmp_path / "trace"
    assert alone(tools, out, "/bin/sh", "-c", "exec \"$0\" \"$@\"", *PERL).status == 0
    summary = tools.json(out)["summary"]
    assert summary["allocations"] > COUNTED


def test_a_killed_program_leaves_all_it_did(tools, tmp_path, helpers):
    out = tmp_path / "trace"
    done = alone(tools, out, "/usr/bin/perl", "-e",
                 "my @a = map { 'x' x $_ } 1 .. 3000; kill 9, $$")
    assert done.status == 128 + signal.SIGKILL
    helpers.wait_until(lambda: out.exists() and b"\nR" in out.read_bytes()[-12:], timeout=60,
                       what="the file of a killed program")
    assert tools.json(out)["summary"]["allocations"] > COUNTED


def test_what_cannot_be_written_is_said_and_the_program_runs(tools, tmp_path):
    done = alone(tools, tmp_path, "/usr/bin/perl", "-e", "print 'ran'")
    assert done.stdout == "ran" and done.status == 0
    assert "is a folder" in done.stderr and "unrecorded" in done.stderr


def through_begin(tools, file):
    sites = tools.json(file)["sites"]["allocations"]
    return sum(site["allocations"] for site in sites
               if site["stack"] and site["stack"][0]["function"] == "begin")


@pytest.mark.parametrize("how", ["preloaded", "linked"])
def test_a_program_starts_pauses_and_stops_by_itself(tools, tmp_path, how):
    program, env = tools.victim("allocators"), {"LD_PRELOAD": str(tools.preload)}
    if how == "linked":
        source = Path(__file__).resolve().parents[1] / "victims" / "allocators.c"
        program, env = tmp_path / "program", {}
        subprocess.run(["cc", "-g", "-O1", "-fno-builtin", "-I", source.parents[2] / "include",
                        "-o", program, source, "-lpthread", tools.preload,
                        f"-Wl,-rpath,{tools.preload.parent}"], check=True, timeout=60)
    done = tools.run(program, "begin", env=env, cwd=tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "there", "")
    is_whole((tmp_path / "inside").read_bytes(), lasts_a_millisecond=False)
    assert through_begin(tools, tmp_path / "inside") == 10
    assert not list(tmp_path.glob("*.recording*"))


def test_a_program_that_starts_by_itself_under_heaptrack(tools, tmp_path):
    """It is being recorded: there is one recording, from the beginning to the stop."""
    recording = tools.record(tools.victim("allocators"), "begin", cwd=tmp_path)
    assert recording.stdout == "missing"
    assert through_begin(tools, recording.file) == 20


def test_the_classic_way_to_start_and_stop(tools, tmp_path):
    source = tmp_path / "classic.c"
    source.write_text('''
#include <stdio.h>
#include <stdlib.h>
typedef void (*callback)(void);
void heaptrack_init(const char *, callback, void (*)(FILE *), callback);
void heaptrack_stop(void);
static void before(void) { puts("before"); }
static void stopped(void) { puts("stopped"); }
static void *volatile kept[100];
int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    heaptrack_init("classic.$$", before, NULL, stopped);
    for (int i = 0; i < 100; i++) { kept[i] = malloc(1000); }
    heaptrack_stop();
    heaptrack_init("again", NULL, NULL, NULL);
    return 0;
}
''')
    program = tmp_path / "program"
    subprocess.run(["cc", "-g", "-O0", "-o", program, source, tools.preload,
                    f"-Wl,-rpath,{tools.preload.parent}"], check=True, timeout=60)
    done = tools.run(program, cwd=tmp_path)
    assert (done.status, done.stdout) == (0, "before\nstopped\n")
    file, = (path for path in tmp_path.glob("classic.*") if path != source)
    assert re.fullmatch(r"classic\.\d+", file.name) and not (tmp_path / "again").exists()
    summary = tools.json(file)["summary"]
    assert (summary["allocations"], summary["never_freed_bytes"]) == (100, 100_000)


def test_without_the_variable_nothing_happens(tools, tmp_path):
    done = tools.run(*PERL, env={"LD_PRELOAD": str(tools.preload)}, cwd=tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.glob("*.zst")) + list(tmp_path.glob("heaptrack.*"))
