"""A treemap opens what runtimes have of their own: a tile says whose memory it is, and no figure of it is cut."""

import re
import shutil

import pytest


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
@pytest.mark.parametrize("name,file", [("node", r"node › (?!native code)"), ("python3", r"python › .*\.py")])
def test_runtimes_are_opened(name, file, browser, pages, browse):
    if browser == "firefox" and not shutil.which("firefox-esr"):
        pytest.skip("firefox-esr is not installed")
    for width, seen in browse("treemap.mjs", pages.page(name).as_uri(), browser).items():
        assert not seen["wrong"] and not seen["cut"], (width, seen)
        functions = [tile["title"].split("\n")[0] for tile in seen["tiles"]]
        assert name not in functions and len(functions) > 50, (width, functions)
        assert max(tile["share"] for tile in seen["tiles"]) < 0.9, (width, seen["tiles"][:3])
        # package, file, function
        assert any(re.match(file, tile["title"].split("\n")[1]) for tile in seen["tiles"]), (width, seen["tiles"])
        counts = [text.replace("\u00a0", " ") for text in seen["counted"]]
        assert len(counts) > 100 and all(re.match(r"[\d.,]+[kMG]? calls?( · |$)", text) for text in counts), counts
        assert re.search(r"Allocations\s+[\d,]+ calls\s+100 %", seen["tip"]), seen["tip"]
        assert seen["selected"].split("(")[0] in functions[0], (seen["selected"], functions[0])
