"""A tree as a table: only the rows on the screen are there, and their elements show one node after the other."""

import re
import shutil

import pytest


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_rows_on_the_screen_are_there_in_their_order(browser, pages, browse):
    if browser == "firefox" and not shutil.which("firefox-esr"):
        pytest.skip("firefox-esr is not installed")
    found = browse("rows.mjs", pages.page("clang++").as_uri(), browser)
    assert not found["wrong"]
    assert found["seen"][0]["all"] > 300
    for seen in found["seen"]:
        rows = seen["stand"]
        assert rows == list(range(rows[0], rows[-1] + 1)), seen
        assert seen["told"] == rows, "and screen readers are told so"
        assert seen["tops"] == [24 * row for row in rows], seen
        assert seen["outside"] == [], "names are as long as there is room"
        assert rows[0] <= seen["first"] and min(seen["last"], seen["all"] - 1) <= rows[-1], seen
    shortened = [pair for seen in found["seen"] for pair in seen["shortened"]]
    assert shortened, "deep rows have little room"
    assert all(len(whole) > len(shown) for whole, shown in shortened), "all of a name is in its title"


def test_a_tree_of_library_frames_alone_offers_to_show_them(pages, browse):
    seen = browse("unfolded.mjs", pages.page("python3").as_uri())
    assert not seen["wrong"] and not seen["isLeft"], seen
    assert seen["flame"] == seen["tree"] and "show library frames" in seen["tree"], seen
    runs = [[row for row in seen[when] if re.search(r" \+\d+$", row.split("\n")[0])] for when in ("before", "after")]
    assert runs[0] and not runs[1] and len(seen["after"]) > len(seen["before"]), seen
