"""The page's first screen answers, before anything is scrolled: is the recording complete, what holds most, what
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
    "head": r"recording complete|incomplete: ",
    "peak": rf"{BYTES}\n+.*\b(holds?|held|were allocated)\b",
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


PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static char *make(int n) { return malloc(n); }
int main(void) {
	char *volatile before = malloc(50000);
	usleep(250000);
	free(before);
	usleep(20000);
	char *volatile after = make(40000);
	usleep(130000);
	return after == NULL;
}
"""


def test_a_function_keeps_its_name_at_the_begin_of_a_part(browse, tools, tmp_path):
    """What follows a ";" begins anew on a card; make() is no Make()."""
    source, page = tmp_path / "parts.c", tmp_path / "page.html"
    source.write_text(PROGRAM)
    assert tools.run("gcc", "-g", "-O1", "-o", tmp_path / "parts", source).status == 0
    recording = tools.record(tmp_path / "parts")
    assert "grew most" in " ".join(recording.report().split())
    tools.run(tools.heaptrack_print, "--html", page, recording.file)
    said = browse("first_screen.mjs", page.as_uri())["growing"]
    assert "make parts.c:4 grew most" in said, said


ONE_PLACE = """
#include <stdlib.h>
#define APART __attribute__((noinline))
APART static void *make(void) { void *volatile p = malloc(500000); return p; }
APART static void *load(void) { void *volatile all[18]; for (int i = 0; i < 18; i++) all[i] = make(); return all[17]; }
APART static void *store(void) { void *volatile one[2] = {make(), make()}; return one[1]; }
int main(void) { return load() == store(); }
"""


def test_a_sentence_is_not_parted_within_parentheses(browse, tools, tmp_path):
    source, page = tmp_path / "place.c", tmp_path / "page.html"
    source.write_text(ONE_PLACE)
    assert tools.run("gcc", "-O1", "-s", "-o", tmp_path / "place", source).status == 0
    recording = tools.record(tmp_path / "place")
    tools.run(tools.heaptrack_print, "--html", page, recording.file)
    said = browse("first_screen.mjs", page.as_uri())["peak"]
    assert re.search(r"\(100 % at place\+\w+; 90 % through place\+\w+\) holds 10\.0 MB", said), said
