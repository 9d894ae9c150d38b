"""libheaptrack_preload.so with DUMP_HEAPTRACK_OUTPUT and no `heaptrack` around it."""

import os
import re
import signal
import subprocess

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


def is_whole(raw):
    lines = raw.decode(errors="replace").splitlines()
    kinds = "".join(line[0] for line in lines)
    assert re.match(r"vxXI", kinds), kinds[:20]
    assert lines[-1].startswith("R ") and any(line.startswith("c ") for line in lines)
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


def test_without_the_variable_nothing_happens(tools, tmp_path):
    done = tools.run(*PERL, env={"LD_PRELOAD": str(tools.preload)}, cwd=tmp_path)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.glob("*.zst")) + list(tmp_path.glob("heaptrack.*"))
