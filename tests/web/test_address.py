"""The address and a saved file hold what is shown: Back, Forward, a reload and a copy show it again."""

import re
import shutil

import pytest
from test_lens import ask_page


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_the_view_is_in_the_address_and_in_a_saved_file(browser, pages, browse, tmp_path):
    if browser == "firefox" and not shutil.which("firefox-esr"):
        pytest.skip("firefox-esr is not installed")
    seen = browse("address.mjs", pages.page("demo").as_uri(), browser, tmp_path)
    assert not seen["wrong"], seen["wrong"]
    steps = {what: (set(words.split("&")), crumbs) for what, words, crumbs in seen["steps"]}
    zoom = next(word for word in steps["zoom"][0] if word.startswith("zoom="))
    crumbs = steps["zoom"][1]
    assert len(crumbs) == 3, crumbs
    all_of_it = {zoom, "flip=1", "colour=module", "rec=1"}
    for what in ("rec", "reload"):
        assert all_of_it <= steps[what][0] and steps[what][1] == crumbs, what
    assert seen["sameAfterReload"]
    for last, what in (("rec=1", "rec"), ("colour=module", "colour"), ("flip=1", "flip"), (zoom, "zoom")):
        all_of_it -= {last}
        words, shown = steps[f"back from {what}"]
        assert all_of_it <= words and last not in words, (what, words)
        assert shown == (crumbs if what != "zoom" else []), what
    assert steps["forward"][1] == crumbs and zoom in steps["forward"][0]
    assert steps["bottom-up"][1] == [], "the same box is not in another graph"
    assert "Copy link" not in seen["buttons"], "a link to a file works for nobody else"
    assert seen["sameWhenSaved"] and seen["savedCrumbs"] == crumbs
    assert seen["isWholeFile"] == [True, True]
    assert "v=flame" not in seen["overview"] and seen["viewOfSecond"] == "Overview"


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_a_range_is_typed(browser, pages, browse, modules):
    if browser == "firefox" and not shutil.which("firefox-esr"):
        pytest.skip("firefox-esr is not installed")
    texts = {"0.5 s - 2.1 s": "0.5-2.1", "500 ms – 2100ms": "0.5-2.1", "peak": "peak", "10 % - 50 %": "10%-50%",
             "start-1s": "start-1", "-1s-end": "-1s-end"}
    refused = ["soon", "3 s - 1 s", "2 s"]
    page = pages.page("demo")
    found = browse("typed.mjs", page.as_uri(), browser, *texts, *refused, "")
    assert not found["wrong"], found["wrong"]
    said = {seen["text"]: seen for seen in found["seen"]}
    for answer, text in zip(ask_page(modules, [f"t={lens}" for lens in texts.values()], page), texts, strict=True):
        assert answer["text"] == f"t={said[text]['range']}", text
        assert said[text]["again"] == said[text]["range"] and not said[text]["isRefused"], said[text]
        assert re.fullmatch(r"(start|[\d.]+ s) - (end|[\d.]+ s)", said[text]["shown"]), said[text]
        assert said[text]["chips"] == [f"time {said[text]['shown']} ×"], said[text]
    last = said["-1s-end"]["range"]
    for text in refused:
        assert said[text]["isRefused"] and said[text]["range"] == last and said[text]["shown"] == text, said[text]
    assert said[""]["range"] is None and not said[""]["isRefused"]
