"""What people come for takes at most three steps, in Chromium and in Firefox, and says what the program says."""

import json
import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest

LONG = "ns::" + "a_very_long_template_parameter_" * 650 + "f"
STEPS_MOST = 3


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def seen(request, build, pages, browse, tmp_path_factory):
    if request.param == "firefox" and not shutil.which("firefox-esr"):
        pytest.skip("firefox-esr is not installed")
    folder = tmp_path_factory.mktemp("steps")
    stacks = folder / "long.folded"
    stacks.write_text(f"main;{LONG} 5000\n", encoding="utf-8")
    subprocess.run([build / "heaptrack_print", "--html", folder / "long.html", stacks], check=True, timeout=60)
    them = (pages.page("demo", "--with-source").as_uri(), (folder / "long.html").as_uri(), pages.page("before"),
            pages.page("classes").as_uri())
    found = pages.seen(f"steps-{request.param}", lambda: browse("steps.mjs", request.param, *them))
    assert not found["wrong"], "\n".join(found["wrong"])
    return found["seen"]


def human(n):
    return f"{n / 1e6:.1f} MB" if n >= 999_950 else f"{n / 1e3:.1f} kB"


def test_each_takes_at_most_three_steps(seen):
    assert len(seen) == 19 and {task: did["steps"] for task, did in seen.items() if did["steps"] > STEPS_MOST} == {}


@pytest.mark.parametrize("task", ["grew_from_30_to_60_percent", "one_thread", "never_freed_by_file"])
def test_the_total_is_the_programs(seen, task, ask, pages):
    did = seen[task]
    total = ask(pages.recording("demo"), did["lens"])["totals"]["bytes"]
    assert f", {human(total)}, 100 %" in did["said"], (did, total)
    word = {"grew_from_30_to_60_percent": r"m=kept&t=\d", "one_thread": "threads=demo", "never_freed_by_file": "group=file"}
    assert re.search(word[task], did["lens"]), did


def test_the_line_of_the_peak(seen):
    assert re.search(r"16\.0 MB\s+\d+\s+std::vector<char> request", seen["peak_to_source_line"]["said"]), seen


def test_stacks_that_only_map_have_no_first_allocation(seen):
    """The malloc below spike() maps: of that no time of an allocation is known."""
    first = re.search(r"first allocation at ([\d.]+) (ms|s), last at", seen["peak_to_source_line"]["said"])
    assert first and float(first[1]) > 0, seen["peak_to_source_line"]


def test_arrows_go_from_line_to_line(seen):
    lines = seen["next_line_that_costs_something"]["said"]
    assert lines["before"] == "line 37, 16.0 MB" and lines["after"] == "line 38, 16.0 MB", lines
    assert re.search(r"16\.0 MB\s+38\s+std::vector<char> answer", lines["here"]), lines


def test_lifetimes_become_a_lens(seen):
    did = seen["who_allocated_what_lived_so_long"]
    assert "leakyParse()" in did["said"] and "makeSession()" in did["said"] and "that lived" in did["said"], did
    assert re.search(r"t=\d+\.\d+-\d+\.\d+", did["lens"]) and "focus=leakyParse" in did["lens"], did


def test_compare_and_callers(seen):
    assert re.search(r"spike\(\) demo.cpp\s+new", seen["compare_builds"]["said"]), seen["compare_builds"]
    assert "parseConfig()" in seen["callers_by_name"]["said"]


def test_back_takes_away_a_zoom_and_a_filter(seen):
    assert "spike()" in seen["zoom_and_back"]["said"]["zoomed"] and seen["zoom_and_back"]["said"]["left"] == 0
    assert "q=leakyParse" in seen["undo"]["said"]["filtered"] and "q=" not in seen["undo"]["said"]["undone"]


def test_take_it_away(seen, ask, pages):
    assert seen["share"]["said"] in ("demo---with-source.html", "demo-with-source.html", "not told of downloads")
    assert seen["picture"]["said"].startswith("<svg ") and "spike()" in seen["picture"]["said"]
    rows = [line.split(",") for line in seen["csv"]["said"].splitlines()]
    allocated = rows[0].index("allocated")
    assert sum(int(row[allocated]) for row in rows[1:]) == ask(pages.recording("demo"))["summary"]["allocated_bytes"]


def test_the_treemap_is_copied_as_it_is_drawn(seen):
    svg = ElementTree.fromstring(seen["picture_of_the_treemap"]["said"])
    texts = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert "spike()" in texts and "32.0 MB · 85 %" in texts, texts
    heaviest = max(float(rect.get("width")) * float(rect.get("height")) for rect in svg.iter("{http://www.w3.org/2000/svg}rect")
                   if rect.get("fill") == "rgb(240, 178, 122)")
    width, height = float(svg.get("width")), float(svg.get("height")) - 26
    assert 0.7 < heaviest / (width * height) < 0.9, heaviest  # 85 %, below the head of its package


def test_a_long_name_is_read(seen):
    assert LONG[:3000] in seen["long_name"]["said"]


def test_what_a_package_costs(seen, ask, pages):
    """Tiles are what the program lists, in their package, and the arrow keys go from one to the next."""
    said = seen["cost_of_a_package"]["said"]
    tiles = dict(re.fullmatch(r"(.+)\n.+\n(.+) · .+", tile).groups() for tile in said["tiles"])
    sites = ask(pages.recording("demo"))["sites"]["peak"]
    spike = sum(site["bytes"] for site in sites if any(frame["function"] == "spike()" for frame in site["stack"]))
    assert tiles["spike()"] == human(spike) and said["groups"][0].startswith("demo 37."), json.dumps(said)
    assert said["focused"] == said["tiles"][1]


def test_who_holds_this(seen, ask, pages):
    holders = ask(pages.recording("classes"))["leaks"]["holders"]
    heaviest = max(holders, key=lambda row: row["retained_bytes"])
    did = seen["who_holds_this"]
    assert f"focus={heaviest['name']}" in did["lens"] and "m=held" in did["lens"], did
    assert human(heaviest["retained_bytes"]) in did["said"], (did, heaviest)


def test_where_the_rest_of_rss_is(seen):
    assert "free, kept by malloc" in seen["the_rest_of_rss"]["said"]


def test_rss_is_switched(seen):
    did = seen["rss_beside_the_heap"]["said"]
    assert {did["before"], did["after"]} == {"true", "false"}
