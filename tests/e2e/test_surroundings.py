"""What lies around a recording, and around heaptrack: files that were not asked for, names in use,
limits that are low."""

import os
import resource
import socket
import subprocess

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


# --- .heaptrackrc


@pytest.fixture
def recording(tools):
    made = tools.record(tools.victim("blocks"), "10")
    assert made.status == 0, repr(made)
    return made


def fifo(path):
    os.mkfifo(path)


def link(path):
    other = path.with_name("secret")
    other.write_text("the password is 1234\n")
    path.symlink_to(other)


def listener(path):
    with socket.socket(socket.AF_UNIX) as s:
        os.chdir(path.parent)
        s.bind(path.name)


def large(path):
    path.write_text("#" * (1 << 20) + "\nfold x\n")


def of_another(path):
    path.write_text("fold x\n")
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize("make, why", [
    (fifo, "not a regular file"), (link, "a symbolic link"), (listener, "No such device"),
    (os.mkdir, "not a regular file"), (large, "larger than"),
    pytest.param(of_another, "owned by user 65534", marks=needs_root)])
def test_rules_that_are_not_to_be_read(tools, recording, tmp_path, monkeypatch, make, why):
    """A warning, and the report is what it is without the file."""
    plain = recording.report()
    monkeypatch.chdir(tmp_path)
    make(tmp_path / ".heaptrackrc")
    for options in ([], ["--json"], ["--tree"], ["--export", "folded=-"], ["--fail-if", "peak>1G"]):
        shown = tools.print(recording.file, *options)
        assert len(shown.stderr.splitlines()) == 1, repr(shown)
        assert f".heaptrackrc: {why}" in shown.stderr and "password" not in shown.stderr, repr(shown)
    assert recording.report() == plain
    again = tools.run(tools.heaptrack, "-q", "-o", tmp_path / "more", "true")
    assert again.status == 0, repr(again)


def test_a_line_that_is_no_rule(tools, recording, tmp_path):
    """It is named, and the others hold."""
    (tmp_path / ".heaptrackrc").write_text("forget allocate\nfold allocate\n")
    shown = tools.print(recording.file)
    assert "line 1: \"forget allocate\" is not a rule" in shown.stderr, repr(shown)
    assert "\n  allocate " not in shown.stdout and "\n  main " in shown.stdout, repr(shown)


def test_a_linked_file_at_home(tools, recording, tmp_path):
    """People keep these in a repository of their own."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "kept").write_text("fold allocate\nnonsense\n")
    (home / ".heaptrackrc").symlink_to(tmp_path / "kept")
    shown = tools.run(tools.heaptrack_print, recording.file, env={"HOME": str(home)})
    assert shown.status == 0 and 'line 2: "nonsense"' in shown.stderr, repr(shown)


@pytest.mark.parametrize("command", [["heaptrack"], ["heaptrack", "-a"], ["heaptrack_print"],
                                     ["heaptrack_gui"], ["heaptrack", "--interpret"]])
def test_a_fifo_is_no_recording(tools, tmp_path, command):
    os.mkfifo(tmp_path / "fifo")
    shown = tools.run(tools.build / command[0], *command[1:], tmp_path / "fifo", timeout=20)
    assert shown.status in (1, 126) and len(shown.stderr.splitlines()) == 1, repr(shown)
