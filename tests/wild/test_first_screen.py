"""On a terminal of 80 columns and 24 lines the report answers, without a line scrolling away: is the recording
whole, what holds most, what grows, and how fast. tests/web/test_page_screen.py has the page's.
"""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "referee"))

import documents
import programs
import recorders

BRIEFLY = {"node", "convert", "sqlite3", "redis", "clang", "python", "git-log", "bash"}
COLUMNS, LINES = 80, 24


def on_terminal(*command):
    """What a command writes to a terminal of that size; it is read to the end."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        said += part
    os.close(ours)
    assert child.wait(60) == 0
    return said.decode().replace("\r\n", "\n")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("program", [pytest.param(p, id=p.name, marks=[] if p.name in BRIEFLY else [pytest.mark.long])
                                     for p in (*programs.SHORT, *programs.LONG)])
def test_answers_on_one_screen(tools, helpers, tmp_path, program):
    stage = recorders.Stage(program, tools, tmp_path, helpers)
    recording = stage.ours(0)
    lines = on_terminal(str(tools.heaptrack_print), str(recording.file)).splitlines()
    stage.finish()
    screen = "\n".join(lines)
    # Only a path may be longer than a line; a prompt comes below
    too_long = [line for line in lines if len(line) > COLUMNS and not line.startswith("  file ")
                and len(line.split()) > 1]
    rows = sum(-(-max(len(line), 1) // COLUMNS) for line in lines)
    assert rows < LINES + 1 and too_long == [], screen
    if recording.calls > 0:
        assert documents.missing_answers(screen) == [], screen
