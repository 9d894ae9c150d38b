"""The page's first screen answers, before anything is scrolled: is the recording whole, what holds most, what
grows, and how fast. Of programs that others wrote (tests/wild/test_first_screen.py has the terminal's).
"""

import re
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("wild", "referee")]

import programs
import recorders
from figures import BYTES, SPAN, TIME

BRIEFLY = {"node", "convert", "sqlite3", "redis", "clang", "ffmpeg-video"}
ANSWERS = {
    "head": r"recording whole|incomplete: ",
    "peak": rf"{BYTES}\n+.*\b(holds?|held|were allocated once)\b",
    "growing": rf"([+≤] ?{BYTES}(/s| in {SPAN})|0 B in {SPAN})\n+(.|\n)*({BYTES}/s|from {TIME} to {TIME}|stopped growing|\bgrew\b)",
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("program", [
    param for param in programs.params() if param.id in BRIEFLY])
def test_answers_before_anything_is_scrolled(browse, tools, helpers, tmp_path, program):
    stage, page = recorders.Stage(program, tools, tmp_path, helpers), tmp_path / "page.html"
    recording = stage.ours(0)
    stage.finish()
    tools.run(tools.heaptrack_print, "--html", page, recording.file)
    seen = browse("first_screen.mjs", page.as_uri())
    missing = [name for name, pattern in ANSWERS.items() if not re.search(pattern, seen[name], re.I)]
    assert missing == [], seen
