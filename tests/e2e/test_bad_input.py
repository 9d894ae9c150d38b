"""Programs that cannot run or cannot be recorded, and files that are none: one clear line each."""

import os
import shutil
import signal
import stat
import struct
import subprocess
import sys

import pytest


def refused(finished, status, *words):
    assert finished.status == status, repr(finished)
    assert finished.stdout == ""
    lines = finished.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("heaptrack"), repr(finished)
    for word in words:
        assert str(word) in lines[0], lines[0]
    return lines[0]


@pytest.fixture
def heaptrack(tools, tmp_path):
    def run(*words, **more):
        more.setdefault("cwd", tmp_path)
        return tools.run(tools.heaptrack, *words, **more)
    return run


@pytest.fixture
def executable(tmp_path):
    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o755)
        return path
    return make


def compiled(tmp_path, *options, name="program", text="int main(void) { return 7; }\n"):
    source = tmp_path / f"{name}.c"
    source.write_text(text)
    path = tmp_path / name
    if subprocess.run(["gcc", *options, "-o", path, source], capture_output=True).returncode:
        pytest.skip(f"gcc {' '.join(options)} does not work here")
    return path


def nothing_left(tmp_path):
    return not [name for name in os.listdir(tmp_path) if name.startswith("heaptrack.")]


def of_another(tmp_path, mode):
    """A program that gives whoever starts it rights of somebody else."""
    if os.geteuid() == 0:
        path = tmp_path / "rights"
        shutil.copy(shutil.which("true"), path)
        os.chown(path, 65534, 65534)
        path.chmod(mode)
        return path
    for path in filter(None, map(shutil.which, ("passwd", "chsh", "chage", "expiry"))):
        if os.stat(path).st_mode & mode & (stat.S_ISUID | stat.S_ISGID):
            return path
    return pytest.skip("only root can make such a program, and the system has none that we know")


def test_not_found(heaptrack, tmp_path):
    refused(heaptrack("no-such-program"), 127, "no-such-program", "PATH")
    refused(heaptrack("./no-such-program"), 127, "./no-such-program")
    refused(heaptrack(""), 127)
    assert nothing_left(tmp_path)


def test_not_executable(heaptrack, tmp_path):
    (tmp_path / "data").write_text("text")
    refused(heaptrack("./data"), 126, "./data", "not executable")
    refused(heaptrack(tmp_path), 126, tmp_path, "folder")
    assert nothing_left(tmp_path)


def test_interpreter_missing(heaptrack, executable):
    script = executable("script", "#!/no/such/interpreter\n")
    refused(heaptrack(script), 127, script, "/no/such/interpreter")
    refused(heaptrack(executable("by-env", "#!/usr/bin/env no-such-program\n")), 127,
            "no-such-program")


@pytest.mark.parametrize("mode, word", [(0o4755, "set-uid"), (0o2755, "set-gid")])
def test_set_uid(heaptrack, tmp_path, mode, word):
    path = of_another(tmp_path, mode)
    refused(heaptrack(path), 126, path, word)
    assert nothing_left(tmp_path)


@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_set_uid_to_oneself(tools, tmp_path, mode):
    """Who is the file's user or group gains nothing by it: the loader lets the recorder in."""
    path = tmp_path / "rights"
    shutil.copy(tools.victim("blocks"), path)
    os.chown(path, os.getuid(), os.getgid())
    path.chmod(mode)
    recording = tools.record(path, "1000")
    assert recording.status == 0 and "set-" not in recording.stderr, repr(recording)
    assert recording.json()["summary"]["allocations"] >= 1000


def test_another_architecture(heaptrack, executable):
    bytes_of = bytearray(open(shutil.which("true"), "rb").read())
    struct.pack_into("<H", bytes_of, 18, 243)  # e_machine: RISC-V
    refused(heaptrack(executable("foreign", bytes(bytes_of))), 126, "RISC-V")


def test_torn_elf_files(heaptrack, executable):
    """Refused, by us or by the kernel; what it does start ends as it does without us."""
    whole = open(shutil.which("true"), "rb").read()
    for size in (4, 5, 16, 20, 52, 63, 64, 100, 500, 4096):
        path = executable(f"torn{size}", whole[:size])
        try:
            status = subprocess.run([path]).returncode
            expected = [128 - status if status < 0 else status]
        except OSError:
            expected = [126, 127]
        finished = heaptrack("-q", path)
        assert finished.status in expected, repr(finished)


def test_static_interpreter(heaptrack, tmp_path, executable):
    path = compiled(tmp_path, "-static")
    finished = heaptrack(executable("script", f"#!{path}\n"))
    assert finished.status == 7 and "static" in finished.stderr, repr(finished)


def test_32_bit_programs_run_unrecorded(heaptrack, tmp_path):
    finished = heaptrack(compiled(tmp_path, "-m32"))
    assert finished.status == 7 and "32-bit" in finished.stderr, repr(finished)


def test_thread_sanitizer_runs_unrecorded(heaptrack, tmp_path):
    finished = heaptrack(compiled(tmp_path, "-fsanitize=thread"))
    assert finished.status == 7 and "ThreadSanitizer" in finished.stderr, repr(finished)


def test_static_after_exec(tools, tmp_path, executable):
    """The shell is recorded, what it becomes cannot be: its status is passed on."""
    path = compiled(tmp_path, "-static")
    recording = tools.record(executable("script", f"#!/bin/sh\nexec {path}\n"))
    assert recording.status == 7, repr(recording)
    assert recording.json()["summary"]["complete"]


def test_options(heaptrack):
    for words, word in ((["--no-such-option", "true"], "--no-such-option"),
                        (["-o"], "-o"),
                        (["-o", "", "true"], "-o"),
                        (["--events=much", "true"], "much"),
                        (["-p", "self"], "self"),
                        (["-a"], "analyze")):
        refused(heaptrack(*words), 1, word)


def test_help_and_version(heaptrack):
    for option in ("-h", "--help"):
        finished = heaptrack(option)
        assert finished.status == 0 and "Usage: heaptrack" in finished.stdout
    assert heaptrack("--version").stdout.startswith("heaptrack ")
    finished = heaptrack()
    assert finished.status == 1 and "Usage: heaptrack" in finished.stderr


def test_files_that_are_no_recordings(tools, tmp_path):
    files = {"missing.zst": None, "empty.zst": b"", "text.zst": b"hello\n" * 100,
             "noise.zst": bytes(range(256)) * 64}
    for name, content in files.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        for command in ([tools.heaptrack_print], [tools.heaptrack, "--analyze"]):
            finished = tools.run(*command, tmp_path / name)
            refused(finished, 1, name)


def test_without_its_recorder_it_says_so(tools, tmp_path):
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(tools.heaptrack, alone)
    refused(tools.run(alone / "heaptrack", "true", cwd=tmp_path), 1, "libheaptrack_preload.so")
    assert nothing_left(tmp_path)


DEEP = """
def f(n, k):
    return [bytearray(300 + k), f(n - 1, k)] if n else []
kept = [f(60, k) for k in range(400)]
"""


@pytest.mark.parametrize("options", [["--json"], [], ["--tree"], ["--full"]], ids=str)
def test_where_there_is_too_little_memory_that_is_said(tools, tmp_path, options):
    """Whatever the limit, there is the whole answer, or one sentence: from as little as programs start with."""
    file = tools.record(sys.executable, "-c", DEEP).file
    whole = tools.print(file, *options).stdout
    seen = set()
    for limit in range(1 << 20, 64 << 20, 256 << 10):
        answer = tools.run("prlimit", f"--data={limit}", tools.heaptrack_print, *options, file)
        if answer.status in (127, -signal.SIGSEGV) and not seen:  # its libraries do not fit in
            continue
        seen.add(answer.status)
        if answer.status:
            assert answer.status == 1 and "memory" in answer.stderr and answer.stderr.count("\n") == 1, repr(answer)
        else:
            assert answer.stdout == whole
            break
    assert seen == {0, 1}, seen
