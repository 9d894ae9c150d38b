"""A recorded program that becomes one that cannot load the recorder, or has an allocator of its own: that is
recorded from its first instruction, as if it had been started by heaptrack.

tests/attach/once.c says what it allocates, half of it before main.
"""

import os
import shutil
import stat
import subprocess
import textwrap

import pytest

from attaching import assert_once_is_whole


def program(build, name):
    path = build / "tests" / "attach" / name
    if not path.exists():
        pytest.skip(f"{name} is not built")
    return path


def script(path, text):
    path.write_text(textwrap.dedent(text))
    path.chmod(0o755)
    return path


OWN = ["once_static", "once_static_pie", "once_jemalloc", "once_musl"]


@pytest.mark.parametrize("name", OWN)
def test_shell_execs_it(build, tools, helpers, name):
    recording = tools.record("sh", "-c", f"cd /; exec {program(build, name)}")
    sites = assert_once_is_whole(recording, helpers)
    for caller in ("early", "main"):
        assert helpers.total(helpers.through(sites, caller), "allocations") == 50
    assert recording.json()["program"]["images"] == 2


@pytest.mark.parametrize("words, images", [
    (["env", "X=1"], 2), (["nice", "-n", "1"], 2), (["env", "-u", "HOME", "nice"], 3),
    (["setsid"], 2), (["/usr/bin/python3", "-c", "import os, sys; os.execv(sys.argv[1], ['x'])"], 2),
    (["perl", "-e", "exec { $ARGV[0] } 'x'"], 2)])
def test_other_programs_exec_it(build, tools, helpers, words, images):
    if not shutil.which(words[0]):
        pytest.skip(f"no {words[0]} here")
    recording = tools.record(*words, program(build, "once_static"))
    assert_once_is_whole(recording, helpers)
    assert recording.json()["program"]["images"] == images


@pytest.mark.parametrize("n", [1, 2])
def test_of_one_that_allocates_nothing(tools, tmp_path, n):
    """Its exec is all that is known of it, and the recording is as any other."""
    (tmp_path / "quiet.c").write_text("#include <unistd.h>\nint main(int argc, char **argv) "
                                      "{ return !argc || execvp(argv[1], argv + 1); }\n")
    subprocess.run(["gcc", "-o", tmp_path / "quiet", tmp_path / "quiet.c"], check=True, timeout=60)
    quiet = [tmp_path / "quiet"] * n
    recording = tools.record(*quiet, "perl", "-e", "my $x = 'y' x 3e6; exit 5")
    known = recording.json()
    assert recording.status == 5 and known["program"]["images"] == n + 1
    assert known["quality"]["verdict"] == "recording complete"
    between = tools.record("perl", "-e", "exec @ARGV", *quiet, "perl", "-e", "exit 5", name="between")
    assert between.status == 5 and between.json()["program"]["images"] == n + 2


def test_scripts_of_scripts(build, tools, helpers, tmp_path):
    last = script(tmp_path / "last", f"""\
        #!/bin/sh
        exec {program(build, "once_jemalloc")}
        """)
    first = script(tmp_path / "first", f"""\
        #!/usr/bin/env sh
        exec nice {last}
        """)
    assert_once_is_whole(tools.record(first), helpers)


def test_found_through_path(build, tools, helpers, tmp_path):
    """The shell tries each folder: what fails is not followed, and holds nobody up."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "own").symlink_to(program(build, "once_static"))
    path = f"{tmp_path}/empty:{tmp_path}/full:{os.environ['PATH']}"
    recording = tools.record("sh", "-c", "exec nice own", env={"PATH": path})
    assert_once_is_whole(recording, helpers)


def test_without_its_environment(build, tools, helpers):
    """env -i: nothing is preloaded in what follows."""
    assert_once_is_whole(tools.record("env", "-i", program(build, "once")), helpers)


def test_exec_that_fails(tools, tmp_path):
    """It goes on, is recorded, and may exec after all."""
    (tmp_path / "broken").write_bytes(b"\x7fELF and no more")
    (tmp_path / "broken").chmod(0o755)
    code = f"""
import os
for i in range(3):
    try:
        os.execv({str(tmp_path / "broken")!r}, ["broken"])
    except OSError as error:
        print(error.errno, flush=True)
print(open("/proc/self/status").read().split("TracerPid:")[1].split()[0], flush=True)
os.execv("/bin/echo", ["echo", "done"])
"""
    recording = tools.record("/usr/bin/python3", "-c", code)
    lines = recording.stdout.split()
    assert lines[:3] == ["8"] * 3 and lines[-1] == "done", repr(recording)
    known = recording.json()
    assert known["program"]["images"] == 2 and known["summary"]["complete"]


def test_child_is_not_followed(build, tools, helpers):
    """A child that borrows the memory of the program, or is a copy of it, execs as ever."""
    code = f"""
import subprocess
for spawns in (True, False):
    subprocess._USE_VFORK = subprocess._USE_POSIX_SPAWN = spawns
    print(subprocess.run([{str(program(build, "once_static"))!r}]).returncode)
"""
    recording = tools.record("/usr/bin/python3", "-c", code)
    assert (recording.status, recording.stdout) == (0, "7\n7\n"), repr(recording)
    assert recording.json()["program"]["images"] == 1


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, for a file of another user")
def test_set_uid_program_keeps_its_rights(tools, tmp_path):
    source = tmp_path / "who.c"
    source.write_text("#include <stdio.h>\n#include <unistd.h>\n"
                      'int main(void) { printf("%d\\n", (int)geteuid()); usleep(300000); }')
    who = tmp_path / "who"
    subprocess.run(["gcc", "-static", "-o", who, source], check=True, timeout=60)
    os.chown(who, 65534, 65534)
    who.chmod(stat.S_ISUID | 0o755)
    recording = tools.record("sh", "-c", f"exec {who}")
    assert (recording.status, recording.stdout) == (0, "65534\n"), repr(recording)
    sentences = recording.json()["quality"]["sentences"]
    assert any(line["id"] == "unrecorded-image" for line in sentences), sentences
