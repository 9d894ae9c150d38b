"""The river of the timeline: each band says whose it is, and leads to a lens that shows it alone."""

import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/referee"))

from figures import in_bytes


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def seen(request, pages, browse):
    if request.param == "firefox" and not shutil.which("firefox-esr"):
        pytest.skip("firefox-esr is not installed")
    seen = browse("river.mjs", pages.page("demo").as_uri(), request.param)
    assert not seen["wrong"], seen["wrong"]
    return {**seen, "browser": request.param}


def held(ask, pages, function, lens=None):
    sites = ask(pages.recording("demo"), lens)["sites"]["peak"]
    return sum(site["bytes"] for site in sites if any(frame["function"] == function for frame in site["stack"]))


def test_bands_say_whose_they_are(seen, ask, pages):
    most = in_bytes(held(ask, pages, "spike()"))
    assert f"Only spike(), at most {most}" in seen["bands"] and len(seen["bands"]) >= 4, seen["bands"]
    assert "makeSession()" in seen["texts"], seen["texts"]
    assert re.fullmatch(r"spike\(\) (16|32)\.0 MB \(\d\d %\) at [\d.]+ m?s", seen["hovered"]), seen["hovered"]
    largest = re.match(r"makeSession\(\) ([\d.]+ MB) \(\d", seen["focused"])[1]
    assert f"Only makeSession(), at most {largest}" in seen["bands"], seen["focused"]
    assert seen["left"].startswith("Click a band")


def test_bands_are_links(seen):
    assert seen["address"] == "v=timeline&river=1" == seen["back"]
    assert "focus=spike" in seen["clicked"] and "river=1" in seen["clicked"] and "spike()" in seen["chip"], seen
    assert "focus=makeSession" in seen["entered"] and "makeSession()" in seen["elsewhere"], seen
    assert "threads=demo" in seen["thread"], seen["thread"]


def test_the_legend_switches_bands(seen):
    assert len(seen["switched"]) == len(seen["bands"]) - 1 and not any("spike()" in band for band in seen["switched"])


def test_it_fills_its_width_with_the_range(seen):
    """After half of the run spike() holds nothing any more, or less."""
    assert re.search(r"by band, [1-9]\S* m?s to", seen["late"]["title"]), seen["late"]
    assert seen["late"]["bands"] != seen["bands"] and seen["overflow"] <= 0, seen["late"]


def test_bands_are_told_apart_without_colours(seen):
    is_forced = seen["browser"] == "chromium"  # Playwright does not force colours in Firefox
    assert seen["hasForcedColours"] == is_forced and (seen["stroke"] != "none") == is_forced, seen["stroke"]
