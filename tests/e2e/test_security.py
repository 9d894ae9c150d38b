"""What our processes have open is what docs/security.md lists, and each door keeps out whom it says."""

import os
import re
import socket
import stat
from pathlib import Path

import pytest

from attaching import attach_command, target  # noqa: F401 (a fixture)

DOC = Path(__file__).resolve().parents[2] / "docs" / "security.md"
DOORS = set(re.findall(r"^\| `([a-z-]+)` \|", DOC.read_text(), re.MULTILINE))
LISTENS = "00010000"  # of /proc/net/unix: __SO_ACCEPTCON


def unix_sockets():
    """inode -> (listens, name)"""
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return {line[6]: (line[3] == LISTENS, line[7] if len(line) > 7 else "") for line in lines}


def tcp_listeners():
    """inode -> address, for both families."""
    lines = [line.split() for name in ("tcp", "tcp6")
             for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {line[9]: line[1] for line in lines if line[3] == "0A"}


def door_of_socket(inode, own_pids):
    if inode in tcp_listeners():
        assert tcp_listeners()[inode].startswith("0100007F:"), "loopback only"
        return "page-port"
    listens, name = unix_sockets().get(inode, (False, ""))
    if re.fullmatch(r"@heaptrack-[0-9a-f]{32}", name):
        return "segment-socket"
    if re.fullmatch(r"@heaptrack-ctl-\d+-\d+", name):
        return "control-socket"
    if listens and name:
        assert stat.S_IMODE(os.stat(name).st_mode) == 0o600
        is_control = re.search(r"/heaptrack/\d+\.sock$", name)
        return "control-socket" if is_control else "page-socket"
    return "guardian" if not name else f"unknown socket {name}"


def doors_of(pid, inherited, recording=None):
    """The doors among what a process has open."""
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            opened = os.readlink(entry)
            flags = int(re.search(r"flags:\s+(\d+)",
                                  Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text())[1], 8)
        except OSError:
            continue  # closed meanwhile
        if opened in inherited or opened.startswith(("pipe:", "anon_inode:", "/dev/null")):
            continue
        if opened.startswith("socket:["):
            found.add(door_of_socket(opened[8:-1], [pid]))
        elif opened.startswith("/memfd:"):
            found.add("segment")
        elif re.fullmatch(r"/proc/\d+/mem", opened):
            found.add("attach")
        elif flags & os.O_ACCMODE != os.O_RDONLY:
            is_recording = recording and opened.split(" ")[0].startswith(str(recording))
            found.add("recording" if is_recording else f"written: {opened}")
    return found


def link_of(entry):
    """What a link in /proc names; nothing if it has gone since it was listed."""
    try:
        return os.readlink(entry)
    except OSError:
        return ""


def children_of(task):
    try:
        return [int(word) for word in (task / "children").read_text().split()]
    except OSError:  # a thread that has ended since it was listed
        return []


def descendants(pid):
    try:
        children = [each for task in Path(f"/proc/{pid}/task").iterdir() for each in children_of(task)]
    except OSError:
        return []
    return [pid] + [each for child in children for each in descendants(child)]


def ours(pid):
    own = os.readlink(f"/proc/{pid}/exe")
    return [each for each in descendants(pid) if link_of(f"/proc/{each}/exe") == own]


def inherited_by(pid):
    """What we ourselves have open, and the outputs that we gave it."""
    names = set()
    for process, numbers in ((os.getpid(), None), (pid, ("0", "1", "2"))):
        for entry in Path(f"/proc/{process}/fd").iterdir():
            if numbers is None or entry.name in numbers:
                names.add(link_of(entry))
    return names


def assert_size_is_kept(pid):
    segment = next(entry for entry in Path(f"/proc/{pid}/fd").iterdir()
                   if link_of(entry).startswith("/memfd:heaptrack"))
    before = os.stat(segment).st_size
    for size in (0, before - 1, before + 1):
        with pytest.raises(PermissionError):
            os.truncate(segment, size)
    assert os.stat(segment).st_size == before


@pytest.fixture
def launched(tools, helpers):
    running = tools.start_record("sh", "-c", "echo; exec sleep 60")
    program = running.program()
    helpers.wait_until(lambda: os.readlink(f"/proc/{program}/exe").endswith("sleep"))
    yield running, program
    running.end()


def all_doors(running):
    found = set()
    for pid in ours(running.pid):
        found |= doors_of(pid, inherited_by(running.pid), running.file)
    return found


def test_the_list_is_whole_for_a_launched_program(launched):
    running, program = launched
    found = all_doors(running)
    assert found <= DOORS, found - DOORS
    assert {"segment", "segment-socket", "control-socket", "guardian", "recording"} <= found
    mine = {line.partition(b"=")[0] for line in Path("/proc/self/environ").read_bytes().split(b"\0")}
    its = {line.partition(b"=")[0] for line in
           Path(f"/proc/{program}/environ").read_bytes().split(b"\0")}
    added = its - mine - set(os.environb) - {b"HEAPTRACK_TEST", b"_", b"OLDPWD", b"PWD", b"SHLVL"}
    assert added == {b"HEAPTRACK_SEGMENT", b"LD_PRELOAD", b"ASAN_OPTIONS"} - set(os.environb)


def test_the_list_is_whole_for_an_attached_program(tools, build, target, helpers):  # noqa: F811
    program = target(["perl", "-e", '$| = 1; print "ready\n"; push @a, "x" x 99 while !select undef, '
                      'undef, undef, 0.05'])
    file = tools.folder / "attached.zst"
    running = tools.start(*attach_command(build, program.process.pid, file))
    running.file = file
    running.wait_for_attach()
    found = all_doors(running)
    assert found <= DOORS, found - DOORS
    assert {"segment", "control-socket", "guardian", "recording", "attach"} <= found
    assert_size_is_kept(running.pid)


@pytest.mark.parametrize("options, door", [((), "page-port"), (("--socket", "door"), "page-socket")])
def test_the_list_is_whole_for_the_page(tools, helpers, monkeypatch, options, door):
    recording = tools.record("true")
    running = tools.start(tools.build / "heaptrack_gui", "--no-browser", *options, recording.file,
                          cwd=tools.folder)
    out = Path(running.outputs[0].name)
    helpers.wait_until(lambda: running.process.poll() is not None or b"Ctrl+C" in out.read_bytes())
    if b"without" in Path(running.outputs[1].name).read_bytes():
        pytest.skip("built without the served page")
    monkeypatch.chdir(tools.folder)  # the socket's name in /proc/net/unix is as it was given
    found = doors_of(running.pid, inherited_by(running.pid))
    assert found <= DOORS and door in found, found


def segment_socket(pid):
    """Its own: recordings of tests beside this one have theirs."""
    opened = [link_of(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    names = unix_sockets()
    name, = [names[inode][1] for inode in (text[8:-1] for text in opened if text.startswith("socket:["))
             if inode in names and re.fullmatch(r"@heaptrack-[0-9a-f]{32}", names[inode][1])]
    return name


def test_nobody_else_is_given_the_segment(launched):
    running, _program = launched
    token = segment_socket(running.pid)
    with socket.socket(socket.AF_UNIX) as visitor:
        visitor.settimeout(20)
        visitor.connect("\0" + token[1:])
        data, control, _flags, _from = visitor.recvmsg(1, socket.CMSG_SPACE(4))
    assert data == b"" and control == []


def test_a_thousand_visitors_harm_nothing(launched):
    running, _program = launched
    token = segment_socket(running.pid)
    visitors = []
    try:
        for _ in range(1000):
            visitor = socket.socket(socket.AF_UNIX)
            visitors.append(visitor)
            visitor.setblocking(False)
            try:
                visitor.connect("\0" + token[1:])
            except BlockingIOError:
                pass  # the row is full
    finally:
        for visitor in visitors:
            visitor.close()
    running.process.terminate()
    finished = running.wait()
    assert finished.status == 128 + 15, repr(finished)


def test_the_segment_keeps_its_size(launched):
    assert_size_is_kept(launched[0].pid)


def test_what_is_written_is_the_users_own(launched):
    running, _program = launched
    for path in running.file.parent.iterdir():
        if path.name.startswith("recording"):
            assert stat.S_IMODE(path.stat().st_mode) & ~0o644 == 0
