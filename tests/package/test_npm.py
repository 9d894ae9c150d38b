"""The packages of npm: installed without a registry, they do what the command itself does."""

import json
import os
import pty
import shutil
import signal
import subprocess
import tarfile
import time

import pytest

from starts import cpu_ms

MACHINE_MAX_BYTES = 2_000_000
SHIM_MAX_BYTES = 5_000
ADDED_MAX_MS = 20  # to the time that node itself takes to start
ADDED_MAX_SHARE = 0.5  # of it, where caches are others' and node takes a multiple of its 40 ms


@pytest.fixture
def heaptrack(project):
    return project / "node_modules/.bin/heaptrack"


def test_what_is_published(npm):
    machine, shim = sorted(npm.glob("*.tgz"), key=lambda path: "linux" not in path.name)
    assert machine.stat().st_size <= MACHINE_MAX_BYTES and shim.stat().st_size <= SHIM_MAX_BYTES
    about = {}
    for file in (machine, shim):
        with tarfile.open(file) as tar:
            about[file] = json.load(tar.extractfile("package/package.json"))
            assert "scripts" not in about[file]
            modes = {row.name: row.mode for row in tar.getmembers()}
    assert modes["package/bin/heaptrack.js"] & 0o111
    assert about[shim]["optionalDependencies"] == {about[machine]["name"]: about[machine]["version"]}


def test_npx_records_a_program(project):
    (project / "app.js").write_text("const kept = []; for (let i = 0; i < 50; i++) kept.push(Buffer.alloc(1 << 20, 1));")
    for old in project.glob("*.zst"):
        old.unlink()
    done = subprocess.run(["npx", "--offline", "--no-install", "heaptrack", "node", "app.js"], cwd=project,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and done.stdout == "", done.stdout + done.stderr
    file = next(project.glob("heaptrack.node.*.zst"))
    said = subprocess.run(["npx", "--offline", "--no-install", "-p", "heaptrack", "heaptrack_print", "--json", file.name],
                          cwd=project, capture_output=True, timeout=120, check=True)
    assert json.loads(said.stdout)["summary"]["peak_bytes"] > 50 << 20


def test_status_and_output(heaptrack, tmp_path):
    done = subprocess.run([heaptrack, "-q", "-o", tmp_path / "a", "sh", "-c", "cat; echo out; exit 42"], input=b"in\n",
                          capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (42, b"in\nout\n", b"")
    done = subprocess.run([heaptrack, "-q", "-o", tmp_path / "b", "sh", "-c", "kill -SEGV $$"], timeout=60, check=False,
                          capture_output=True)
    assert done.returncode == 128 + signal.SIGSEGV


# For a minute, or a second more: a signal that comes twice comes soon
UNTIL_CAUGHT = "i=0; echo ready; while [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done; exit 5"


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "USR1", "USR2"])
def test_signals_reach_the_program_once(heaptrack, tmp_path, name):
    program = f"trap 'echo caught; i=590' {name}; {UNTIL_CAUGHT}"
    running = subprocess.Popen([heaptrack, "-q", "-o", tmp_path / "a", "sh", "-c", program], text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
    assert running.stdout.readline() == "ready\n"
    running.send_signal(getattr(signal, f"SIG{name}"))
    assert running.communicate(timeout=60)[0] == "caught\n" and running.returncode == 5


def test_a_terminal_stays_one_and_its_ctrl_c_arrives_once(heaptrack, tmp_path):
    program = f"trap 'echo caught; i=590' INT; test -t 0 && test -t 1 && {UNTIL_CAUGHT}"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(heaptrack, [str(heaptrack), "-q", "-o", str(tmp_path / "a"), "sh", "-c", program])
    said = b""
    end = time.monotonic() + 60
    sent = False
    while time.monotonic() < end:
        try:
            said += os.read(terminal, 1000)
        except OSError:
            break
        if b"ready" in said and not sent:
            sent = True
            os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 5 and said.count(b"caught") == 1, said


def test_without_the_package_of_the_machine_one_sentence(project, tmp_path):
    copy = tmp_path / "project"
    shutil.copytree(project, copy, symlinks=True)
    shutil.rmtree(copy / "node_modules/@heaptrack")
    done = subprocess.run([copy / "node_modules/.bin/heaptrack", "true"], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "@heaptrack/linux-x64" in done.stderr


@pytest.mark.serial
def test_what_it_adds(heaptrack):
    direct = heaptrack.parents[1] / "@heaptrack/linux-x64/bin/heaptrack"
    node = [shutil.which("node"), "-e", "0"]
    whole, by_node, by_itself = cpu_ms([heaptrack, "--version"], node, [direct, "--version"])
    assert whole - by_node - by_itself <= max(ADDED_MAX_MS, ADDED_MAX_SHARE * by_node)
