"""`heaptrack --ctl` and the socket behind it: docs/control.md, held to the letter."""

import json
import os
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from attaching import attach_command, target  # noqa: F401 (a fixture)
from conftest import wait_until

NOBODY = 65534
BOUND = 10  # seconds that --ctl waits at most
WAITS = ["perl", "-e", '$| = 1; @a = map { "x" x 1000 } 1 .. 5000; print "ready\n"; sleep 600']
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
FIELDS = {"pid", "collector_pid", "state", "attached", "command", "command_is_cut", "file",
          "file_bytes", "started_ns", "duration_ns", "live_bytes", "live_blocks", "peak_bytes",
          "allocations", "events", "lost_events", "rss_bytes"}


@pytest.fixture
def runtime():
    """A runtime folder of ours, short enough for a socket's name."""
    folder = Path(tempfile.mkdtemp(prefix="ht", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


class Asker:
    """heaptrack --ctl, with the runtime folder of a test."""

    def __init__(self, tools, runtime):
        self.tools, self.env = tools, {"XDG_RUNTIME_DIR": str(runtime)}

    def record(self, *command, ready=True, **more):
        """Until the program is ready, and the recording answers."""
        running = self.tools.start_record(*command, env=self.env, **more)
        own = str((self.tools.build / "heaptrack").resolve())
        wait_until(lambda: os.readlink(f"/proc/{running.pid}/exe") == own)
        program = running.program()
        running.socket = Path(self.env["XDG_RUNTIME_DIR"]) / f"heaptrack/{program}.sock"
        while ready and (b"ready" not in Path(running.outputs[0].name).read_bytes() or
                         self.ask(program).status != 0):
            assert time.monotonic() < running.started + 60 and running.process.poll() is None
        return running

    def ask(self, *words, **more):
        return self.tools.run(self.tools.heaptrack, "--ctl", *words, timeout=60,
                              **{"env": self.env, **more})

    def status(self, *words):
        finished = self.ask(*words, "--json")
        assert finished.status == 0, repr(finished)
        return [json.loads(line) for line in finished.stdout.splitlines()]

    def listed(self, *words):
        """Of all recordings of this user those of this test: others may run beside it."""
        return [each for each in map(json.loads, self.ask(*words, "--json").stdout.splitlines())
                if str(self.tools.folder) in each["file"]]


@pytest.fixture
def asker(tools, runtime):
    return Asker(tools, runtime)


def talk(path, data=b"status\n", ends=False, seconds=20):
    """What the socket says to these bytes, until it hangs up. `ends`: nothing more will come from us."""
    answer = b""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(seconds)
        try:
            s.connect(str(path))
            s.sendall(data)
            if ends:
                s.shutdown(socket.SHUT_WR)
            while chunk := s.recv(65536):
                answer += chunk
        except (BrokenPipeError, ConnectionResetError):
            pass
    return answer.splitlines()


def assert_is_whole(running, status=128 + signal.SIGTERM):
    running.process.terminate()
    finished = running.wait()
    assert finished.status == status, repr(finished)
    known = json.loads(running.tools.print(running.file, "--json").stdout)
    assert known["summary"]["lost_events"] == 0 and known["summary"]["complete"]
    return known


@pytest.fixture
def recorded(asker):
    running = asker.record(*WAITS)
    running.tools = asker.tools
    return running


def test_what_is_known_of_a_launched_program(asker, recorded, helpers):
    program = recorded.program()
    status, = asker.status(program, "status")
    assert set(status) == FIELDS
    assert status["pid"] == program and status["collector_pid"] == recorded.pid
    assert status["state"] == "recording" and not status["attached"]
    assert status["command"] == WAITS and not status["command_is_cut"]
    assert status["file"] == str(recorded.file)
    assert abs(status["started_ns"] / 1e9 + status["duration_ns"] / 1e9 - time.time()) < 60
    assert 5000 * 1000 < status["live_bytes"] <= status["peak_bytes"] < status["rss_bytes"]
    assert 5000 < status["live_blocks"] <= status["allocations"] < status["events"]
    assert status["lost_events"] == 0
    # it stands still, so the file will say the same
    helpers.wait_until(lambda: asker.tools.json(recorded.file)["summary"]["never_freed_bytes"] ==
                       status["live_bytes"])
    assert asker.status(program)[0]["file_bytes"] == recorded.file.stat().st_size
    known = assert_is_whole(recorded)
    assert known["summary"]["never_freed_blocks"] == status["live_blocks"]
    assert known["program"]["started_ns"] == status["started_ns"]
    assert not recorded.socket.exists()


def test_every_way_to_ask(asker, recorded):
    program = recorded.program()
    asked = [asker.listed(*words) for words in
             ((), ("status",), (program,), (program, "status"), (recorded.file,),
              (os.path.relpath(recorded.file), "status"))]
    assert all(len(each) == 1 and each[0]["pid"] == program for each in asked)
    line, = [each for each in asker.ask().stdout.splitlines() if str(recorded.file) in each]
    assert re.fullmatch(rf' *{program}  recording for .*, heap .* in .* blocks, RSS .*, .* events, '
                        rf'0 lost, file .* "{re.escape(str(recorded.file))}": perl -e .*', line)


def test_what_is_wrong_is_said(asker, recorded, tmp_path):
    (tmp_path / "other.zst").touch()
    for words, says in [
            (("statsu",), 'unknown command "statsu"; did you mean "status"?'),
            (("statsu", "status"), '"statsu" is neither a process ID nor a file'),
            ((recorded.program(), "stauts"), 'unknown command "stauts"; did you mean "status"?'),
            ((recorded.program(), "status", "now"), '"status" takes no arguments'),
            ((os.getpid(),), f"process {os.getpid()} is not being recorded\n"),
            ((2 ** 31 - 1,), "is not being recorded\n"),
            ((tmp_path / "other.zst",), "this user has no recording to"),
            (("--jsno",), 'unknown option "--jsno"; did you mean "--json"?')]:
        finished = asker.ask(*words)
        assert finished.status == 1 and says in finished.stderr and not finished.stdout, \
            repr(finished)
    assert "Usage" in asker.ask("--help").stdout


@needs_root
def test_nothing_recorded(asker):
    """With a /run and a network of its own, so that what others record is not there."""
    alone = ["unshare", "--mount", "--net", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh"]
    if subprocess.run([*alone, "true"], check=False).returncode != 0:
        pytest.skip("no namespaces here")
    for words, says in (((), "No recordings in progress.\n"), (("--json",), "")):
        finished = asker.tools.run(*alone, asker.tools.heaptrack, "--ctl", *words, env=asker.env)
        assert finished.status == 0 and finished.stdout == says, repr(finished)


def test_no_subcommand_is_a_bare_word(tools, tmp_path):
    program = tmp_path / "status"
    program.write_text("#!/bin/sh\necho recorded\n")
    program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    recording = tools.record("status", env={"PATH": path})
    assert recording.status == 0 and recording.stdout == "recorded\n", repr(recording)
    assert recording.json()["summary"]["allocations"] > 0


def test_an_attached_program(asker, target, helpers):  # noqa: F811
    program = target(WAITS)
    file = asker.tools.folder / "attached.zst"
    running = asker.tools.start(*attach_command(asker.tools.build, program.pid, file), env=asker.env)
    running.wait_for_attach()
    status, = asker.status(program.pid)
    assert status["attached"] and status["pid"] == program.pid and status["command"] == WAITS
    running.process.send_signal(signal.SIGINT)
    assert running.wait().status == 0
    assert asker.ask(program.pid).status == 1 and program.is_alive()


@pytest.mark.attach
def test_a_program_with_the_recorder_put_into_it(asker):
    program = asker.tools.build / "tests/attach/pattern_static"
    if not program.exists():
        pytest.skip("pattern_static is not built")
    running = asker.record(program, "1")
    assert asker.status(running.program())[0]["events"] > 0


def test_two_recordings(asker):
    one, other = (asker.record(*WAITS, name=name) for name in ("one", "other"))
    assert {each["pid"] for each in asker.listed()} == {one.program(), other.program()}
    assert asker.status(other.file)[0]["pid"] == other.program()
    one.process.terminate()
    one.wait()
    assert [each["pid"] for each in asker.listed()] == [other.program()]


def test_the_answers_go_on_to_the_end(asker):
    """However it is asked while the program ends and the file is finished: an answer or no socket."""
    running = asker.record(asker.tools.build / "tests/victims/demo", ready=False)
    states = []
    while running.process.poll() is None:
        try:
            lines = talk(running.socket)
        except (FileNotFoundError, ConnectionRefusedError):
            continue  # not yet, or no longer
        states.append(json.loads(lines[1]).get("state") if len(lines) == 2 else None)
    assert states and set(states) <= {"recording", "finishing", None}
    assert states.count(None) <= 1  # one may be in the middle of it at the end
    assert not running.socket.exists()


# ---- the protocol


def test_the_lines(recorded):
    first, answer = talk(recorded.socket)
    assert list(json.loads(first).items())[0] == ("version", 1)
    assert set(json.loads(first)) == {"version", "heaptrack"} and set(json.loads(answer)) == FIELDS
    assert talk(recorded.socket, b" status \r\nand more\n")[1].startswith(b'{"pid":')
    assert talk(recorded.socket, b"statsu\n")[1] == \
        rb'{"error":"unknown command \"statsu\"; did you mean \"status\"?"}'
    assert talk(recorded.socket, b"status", ends=True)[1] == b'{"error":"incomplete line"}'
    assert talk(recorded.socket, b"x" * 65537)[1] == \
        b'{"error":"the line is longer than 65536 bytes"}'
    assert talk(recorded.socket, b"status".ljust(65536) + b"\n")[1].startswith(b'{"pid":')
    start = time.monotonic()
    assert talk(recorded.socket, b"stat") == [first]  # and is dropped, since nothing more comes
    assert 0.4 < time.monotonic() - start < 15


def malformed(random, kind):
    some = random.randbytes(random.randrange(1, 60))
    return {"random": some + b"\n", "half": some.replace(b"\n", b""), "empty": b"\n",
            "zeros": b"\0" * random.randrange(1, 100) + b"\n", "zero": b"status\0\n",
            "long": b"s" * 65537, "command": some.replace(b"\n", b"").hex().encode() + b"\n"}[kind]


def test_ten_thousand_malformed_lines(asker, recorded):
    chance = random.Random(1)
    kinds = ["random"] * 5 + ["half", "empty", "zeros", "zero", "command"]
    for i in range(10000):
        kind = "long" if i % 100 == 0 else chance.choice(kinds)
        lines = talk(recorded.socket, malformed(chance, kind), ends=True)
        assert len(lines) == 2 and list(json.loads(lines[1])) == ["error"], (kind, lines)
    assert len(os.listdir(f"/proc/{recorded.pid}/fd")) < 64
    assert asker.status(recorded.program())[0]["lost_events"] == 0
    assert_is_whole(recorded)


def test_a_thousand_silent_connections(asker, recorded):
    def n_open():
        return len(os.listdir(f"/proc/{recorded.pid}/fd"))

    before, visitors, refused = n_open(), [], 0
    for _ in range(1000):
        visitor = socket.socket(socket.AF_UNIX)
        visitors.append(visitor)
        visitor.setblocking(False)
        try:
            visitor.connect(str(recorded.socket))
        except BlockingIOError:
            refused += 1
    assert refused > 900
    # One is served, a few wait in the kernel; heaptrack has files of its own open now and then
    wait_until(lambda: n_open() <= before + 1, what="no more descriptors")
    start = time.monotonic()
    assert asker.status(recorded.program())[0]["state"] == "recording"
    assert time.monotonic() - start < BOUND
    for visitor in visitors:
        visitor.close()
    assert_is_whole(recorded)


def test_who_takes_no_answer_is_dropped(asker):
    command = [*WAITS, *["x" * 1000] * 15]
    running = asker.record(*command)
    with socket.socket(socket.AF_UNIX) as visitor:
        visitor.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        visitor.connect(str(running.socket))
        visitor.sendall(b"status\n")
        assert asker.status(running.program())[0]["command"] == command


def test_a_long_command_is_cut(asker):
    running = asker.record(*WAITS, "x" * 100, *["y" * 1000] * 100)
    status, = asker.status(running.program())
    assert status["command_is_cut"] and status["command"][:4] == [*WAITS, "x" * 100]
    assert len(status["command"]) < 50


# ---- when the other end is not well


def test_a_stopped_collector(asker, recorded):
    os.kill(recorded.pid, signal.SIGSTOP)
    try:
        for words in ((), (recorded.program(),)):
            start = time.monotonic()
            finished = asker.ask(*words)
            assert finished.status == 1 and time.monotonic() - start < BOUND + 5
            assert f"heaptrack (process {recorded.pid}) is stopped" in finished.stderr, repr(finished)
    finally:
        os.kill(recorded.pid, signal.SIGCONT)
    assert asker.status(recorded.program())[0]["state"] == "recording"
    assert_is_whole(recorded)


@pytest.mark.parametrize("asks_for_it", [True, False])
def test_a_killed_collector(asker, recorded, asks_for_it):
    program = recorded.program()
    os.kill(recorded.pid, signal.SIGKILL)
    recorded.process.wait()
    assert recorded.socket.exists()
    finished = asker.ask(*([program] if asks_for_it else []))
    assert "heaptrack was killed; removed its socket" in finished.stderr, repr(finished)
    assert not recorded.socket.exists() and (finished.status == 1 or not asks_for_it)
    assert asker.ask(program).status == 1 and str(recorded.socket) not in asker.ask().stderr
    os.kill(program, signal.SIGKILL)


# ---- who may not


VISIT = r"""
import os, socket, sys
def visit(name):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    try:
        s.connect("\0" + name[1:] if name[0] == "@" else name)
        s.sendall(b"status\n")
        return str(s.recv(1000))
    except (PermissionError, ConnectionResetError, BrokenPipeError) as why:
        return type(why).__name__
"""
REFUSED = {"PermissionError", "ConnectionResetError", "BrokenPipeError", "b''"}


def record_at(asker, kind, *command, **more):
    """In a folder that everybody can reach, but for its own mode; or at an abstract name."""
    if kind == "abstract":
        hide_folders(asker)
    else:
        os.chmod(asker.env["XDG_RUNTIME_DIR"], 0o755)
    running = asker.record(*command, **more)
    if kind == "abstract":
        running.socket = f"@heaptrack-ctl-{os.geteuid()}-{running.program()}"
    return running


def hide_folders(asker):
    """For root: heaptrack in /run is no folder of a recording's, as seen by what the test starts."""
    asker.tools.heaptrack = asker.tools.folder / "hidden"
    asker.tools.heaptrack.write_text(
        '#!/bin/sh\nexec unshare --mount sh -c \'mount -t tmpfs none /run && touch /run/heaptrack && '
        f'exec "$@"\' sh {asker.tools.build}/heaptrack "$@"\n')
    asker.tools.heaptrack.chmod(0o755)
    asker.env["XDG_RUNTIME_DIR"] = "/nonexistent"


@needs_root
@pytest.mark.parametrize("kind", ["file", "abstract"])
def test_another_user_gets_nothing(asker, kind):
    running = record_at(asker, kind, *WAITS)
    status, = asker.status(running.program())
    assert status["pid"] == running.program()
    visit = [sys.executable, "-c", VISIT + "print(visit(sys.argv[1]))", running.socket]
    mine, others = (subprocess.run([str(word) for word in visit], user=user, group=user,
                                   extra_groups=[], capture_output=True, text=True, timeout=60,
                                   check=True).stdout.strip() for user in (0, NOBODY))
    assert '"version":1' in mine and others in REFUSED
    finished = subprocess.run([asker.tools.build / "heaptrack", "--ctl", str(running.program())],
                              user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True,
                              text=True, timeout=60, check=False, env={**os.environ, **asker.env})
    assert finished.returncode == 1 and not finished.stdout, finished


@needs_root
@pytest.mark.parametrize("kind", ["file", "abstract"])
def test_the_target_and_its_child_as_another_user_get_nothing(asker, kind, tmp_path):
    names = tmp_path / "names"
    script = VISIT + f"""
import time
print("ready", flush=True)
while not os.path.exists({str(names)!r}):
    time.sleep(0.02)
name = open({str(names)!r}).read()
def lose():
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
if os.fork() == 0:
    lose()
    print("child", visit(name), flush=True)
    os._exit(0)
os.wait()
print("same", visit(name), flush=True)
lose()
print("target", visit(name), flush=True)
"""
    running = record_at(asker, kind, sys.executable, "-c", script)
    (tmp_path / "names.part").write_text(str(running.socket))
    (tmp_path / "names.part").rename(names)
    finished = running.wait()
    assert finished.status == 0, repr(finished)
    said = dict(line.split(" ", 1) for line in finished.stdout.splitlines()[1:])
    assert said["child"] in REFUSED and said["target"] in REFUSED, said
    assert '"version":1' in said["same"]


@needs_root
def test_root_may_ask_for_another_users(asker, tmp_path):
    """The owner's folder is where his program says it is."""
    folder = Path(tempfile.mkdtemp(prefix="ht", dir="/tmp"))
    try:
        os.chown(folder, NOBODY, NOBODY)
        running = asker.tools.start(
            asker.tools.build / "heaptrack", "-o", folder / "a.zst", *WAITS, user=NOBODY,
            group=NOBODY, extra_groups=[], cwd=folder, env={"XDG_RUNTIME_DIR": str(folder)})
        program = running.program()
        end = time.monotonic() + 60
        while not (folder / f"heaptrack/{program}.sock").exists():
            assert time.monotonic() < end and running.process.poll() is None
            time.sleep(0.01)
        assert asker.status(program)[0]["pid"] == program
        assert asker.listed() == []  # those of this user
        running.end()
    finally:
        shutil.rmtree(folder)


# ---- where it is


@pytest.mark.parametrize("how", ["whole", "missing", "a file", "writable by others", "a link",
                                 "no name", "too long"])
def test_the_runtime_folder(asker, runtime, how, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    inner = runtime / "heaptrack"
    if how == "missing":
        asker.env["XDG_RUNTIME_DIR"] = str(runtime / "none")
    elif how == "a file":
        inner.touch()
    elif how == "writable by others":
        os.chmod(runtime, 0o777)
    elif how == "a link":
        inner.symlink_to(elsewhere)
    elif how == "no name":
        asker.env["XDG_RUNTIME_DIR"] = ""
    elif how == "too long":
        long = runtime / ("x" * 90)
        long.mkdir(mode=0o700)
        asker.env["XDG_RUNTIME_DIR"] = str(long)
    running = asker.record(*WAITS)
    program = running.program()
    assert asker.status(program)[0]["pid"] == program
    assert program in {each["pid"] for each in asker.listed()}
    assert not list(elsewhere.iterdir())
    used = inner / f"{program}.sock"
    assert used.exists() == (how == "whole")
    if how == "whole":
        assert stat.S_IMODE(inner.stat().st_mode) == 0o700
        assert stat.S_IMODE(used.stat().st_mode) == 0o600
    running.process.terminate()
    running.wait()
    os.chmod(runtime, 0o700)


@needs_root
@pytest.mark.parametrize("how", ["the runtime folder", "the folder in it", "a link"])
def test_another_users_folder_is_not_used(asker, runtime, how):
    inner = runtime / "heaptrack"
    if how == "the runtime folder":
        os.chown(runtime, NOBODY, NOBODY)
    elif how == "the folder in it":
        inner.mkdir(mode=0o755)
        os.chown(inner, NOBODY, NOBODY)
    else:
        (runtime / "trap").mkdir()
        inner.symlink_to(runtime / "trap")
        os.chown(inner, NOBODY, NOBODY, follow_symlinks=False)
    running = asker.record(*WAITS)
    assert asker.status(running.program())[0]["pid"] == running.program()
    assert not list(runtime.glob("**/*.sock"))


@needs_root
def test_without_any_folder_the_name_is_abstract(asker):
    """One that cannot be written to, one that all can."""
    for mode in (0o500, 0o777):
        place = Path(tempfile.mkdtemp(prefix="ht", dir="/tmp"))
        os.chown(place, NOBODY, NOBODY)
        os.chmod(place, mode)
        running = asker.tools.start(
            asker.tools.build / "heaptrack", "-o", "/dev/shm/heaptrack-test-%p.zst", *WAITS,
            user=NOBODY, group=NOBODY, extra_groups=[], env={"XDG_RUNTIME_DIR": str(place)})
        program = running.program()
        name = f"@heaptrack-ctl-{NOBODY}-{program}"
        end = time.monotonic() + 60
        while name not in Path("/proc/net/unix").read_text():
            assert time.monotonic() < end and running.process.poll() is None
            time.sleep(0.01)
        finished = subprocess.run([asker.tools.build / "heaptrack", "--ctl", "--json"],
                                  user=NOBODY, group=NOBODY, extra_groups=[], timeout=60, check=True,
                                  capture_output=True, text=True,
                                  env={**os.environ, "XDG_RUNTIME_DIR": str(place)})
        assert [json.loads(each)["pid"] for each in finished.stdout.splitlines()] == [program]
        assert asker.status(program)[0]["pid"] == program
        running.end()
        Path(f"/dev/shm/heaptrack-test-{program}.zst").unlink()
        shutil.rmtree(place)


@needs_root
def test_somebody_else_at_the_name(asker, helpers):
    """Whoever took an abstract name before us is not believed, and keeps nobody from recording."""
    hide_folders(asker)
    trap = VISIT + """
s = socket.socket(socket.AF_UNIX)
s.bind("\\0" + sys.argv[1])
s.listen(5)
print("ready", flush=True)
while True:
    c, _ = s.accept()
    c.sendall(b'{"version":1}\\n{"pid":1,"command":[],"state":"recording"}\\n')
    c.close()
"""
    running = asker.tools.start(
        sys.executable, "-c", trap, f"heaptrack-ctl-0-{os.getpid()}", user=NOBODY, group=NOBODY,
        extra_groups=[])
    helpers.wait_until(lambda: b"ready" in Path(running.outputs[0].name).read_bytes())
    finished = asker.ask(os.getpid())
    assert finished.status == 1 and not finished.stdout, repr(finished)
    assert re.search(
        rf"@heaptrack-ctl-0-\d+ belongs to another user \(uid {NOBODY}\)", finished.stderr)


@needs_root
def test_from_outside_of_a_container(asker, helpers):
    """By the pid that it has here; its /run is its own."""
    spaces = ["unshare", "--pid", "--mount-proc", "--mount", "--fork", "--kill-child"]
    if subprocess.run([*spaces, "true"], check=False).returncode != 0:
        pytest.skip("no namespaces here")
    file = asker.tools.folder / "inside.zst"
    running = asker.tools.start(
        *spaces, "sh", "-c", 'mount -t tmpfs -o mode=755 none /run && exec "$@"', "sh",
        asker.tools.heaptrack, "-o", file, *WAITS)
    helpers.wait_until(lambda: b"ready" in Path(running.outputs[0].name).read_bytes())

    def named(name):
        for path in Path("/proc").glob("[0-9]*"):
            try:
                is_it = (path / "comm").read_text() == f"{name}\n" and \
                    str(file) in (path.parent / Path((path / "stat").read_text().split()[3]) /
                                  "cmdline").read_text()
            except OSError:
                continue
            if is_it:
                return int(path.name)
        return None
    program = helpers.wait_until(lambda: named("perl"))
    status, = asker.status(program)
    assert status["command"] == WAITS and status["pid"] != program
    assert status["collector_pid"] == 1 and status["file"] == str(file)
    assert asker.listed() == []
