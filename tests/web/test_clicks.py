"""What is clicked or typed is what happens, and Back takes it away."""

import json
import re
import shlex
import subprocess

import pytest


@pytest.fixture(scope="module")
def seen(pages, browse):
    demo = pages.page("demo").as_uri()
    found = pages.seen("clicks", lambda: browse("clicks.mjs", demo))
    assert not found["wrong"], found["wrong"]
    return found


def test_a_double_click_zooms_the_box_of_its_first_click(seen):
    assert seen["hasDetails"], "nothing has moved the graph"
    assert seen["zoomedTo"], seen
    name = re.match(r"\w+", seen["zoomedTo"])[0]
    assert seen["selected"].startswith(name), seen
    assert seen["box"].startswith(name), seen


def test_the_peak_is_selected_in_all_that_the_heap_held(seen):
    words = dict(word.split("=", 1) for word in seen["peak"].split("&"))
    assert words["v"] == "flame" and words["sel"].startswith("spike()@") and "focus" not in words, seen["peak"]
    assert ", 100 %" in seen["peakRoot"] and seen["peakRoot"].startswith("demo"), seen["peakRoot"]


def test_the_key_of_a_view_gives_it_the_focus(seen):
    assert seen["focusInFlame"] == "tree"
    assert seen["focusInTree"] == "treegrid"
    assert seen["focusInSearch"] == "search", "what is typed at once goes to where it was meant"
    assert seen["focusInThreads"] == "MAIN"


def test_a_thread_is_chosen_by_a_click_and_back_takes_it_away(seen):
    assert seen["withThread"]
    assert "v=threads" in seen["back"]
    assert "&threads=" not in seen["back"]
    assert seen["forward"] == seen["withThread"]


def test_no_view_scrolls_sideways_on_a_phone(seen):
    assert seen["tooWide"] == [] and seen["cut"] == []


def test_the_command_that_is_copied_prints_the_same(seen, build, ask, pages):
    command = seen["copied"].removeprefix("Copied: ").replace("FILE", shlex.quote(str(pages.recording("demo"))))
    said = subprocess.run(f"{build}/{command} --json --limit 0 --tree", shell=True, capture_output=True, timeout=60,
                          check=True).stdout
    assert json.loads(said)["totals"] == ask(pages.recording("demo"), "m=allocations&q=!o'b&t=0.5-2.1")["totals"]
