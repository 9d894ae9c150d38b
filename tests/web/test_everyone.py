"""Names of any kind, wrong files, forced colours and a window at 200 %."""

import re
import subprocess

import pytest

LONG = "ns::" + "a_very_long_template_parameter_" * 650 + "f"
HEBREW = "\u05e9\u05dc\u05d5\u05dd_f"


@pytest.fixture(scope="module")
def seen(build, pages, browse, tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    stacks = folder / "names.folded"
    stacks.write_text(f"main;{LONG} 5000\nmain;{HEBREW} 4000\nmain;evil\u202eexe\x1b[31m;leaf 3000\n", encoding="utf-8")
    subprocess.run([build / "heaptrack_print", "--html", folder / "names.html", stacks], check=True, timeout=60)
    them = pages.page("demo").as_uri(), (folder / "names.html").as_uri(), pages.page("threads").as_uri()
    found = pages.seen("everyone", lambda: browse("everyone.mjs", *them))
    assert not found["wrong"], found["wrong"]
    return found


def test_names_keep_to_themselves(seen):
    for said in (seen["rows"], [box.split(",")[0] for box in seen["boxes"]]):
        assert "evil\\u202eexe\\u001b[31m" in said, said
        assert f"\u2068{HEBREW}\u2069" in said, said
        assert not any("\u202e" in text or "\x1b" in text for text in said), said


def test_long_names_leave_room(seen):
    assert len(LONG) > 20_000
    assert seen["cardHeight"] < 450 and seen["tipHeight"] < 450, seen


def test_nothing_scrolls_sideways_at_200_percent_or_with_long_names(seen):
    assert seen["tooWide"] == []


def test_on_a_phone_tables_do_not_scroll_sideways(seen):
    assert {view.split("&")[0] for view, wide in seen["scrolls"].items() if wide and not any(wide)} == \
        {"threads", "timeline", "memory", "compare"}, seen["scrolls"]


def test_a_wrong_file_says_what_it_is(seen):
    refused = seen["refused"]
    assert "a picture" in refused["a.png"] and "a program" in refused["a.out"], refused
    assert "heaptrack_print --html" in refused["a.zst"], refused
    assert refused["a.txt"] == "a.txt: these bytes are no profile of heaptrack"


def test_forced_colours(seen):
    forced = seen["forced"]
    assert forced["bar"].startswith("linear-gradient(rgb(219, 125, 51)"), forced["bar"]
    assert [forced[part] for part in ("pill", "tab", "row", "other")] == ["solid", "solid", "solid", "none"], forced
    assert forced["ink"] == "CanvasText", "charts are drawn in the colours that were chosen"


def test_marks_are_seen_in_the_dark(seen):
    """Bars, curves and cells were as dark as what they stand on."""
    dark = seen["dark"]
    assert all(contrast >= 3 for contrast in dark["marks"].values()), dark["marks"]
    assert all(contrast >= 4.5 for *_, contrast in dark["texts"]), dark["texts"]
    assert dark["lens"] >= 2, "what the lens leaves, on the whole heap"
    assert dark["bar"].startswith("linear-gradient(rgb(159, 86, 22)"), dark["bar"]
    assert max(dark["cells"]) == 1 and min(dark["cells"]) >= 0.2, dark["cells"]


def test_on_a_phone_each_figure_has_its_head(seen):
    """Heads stood above the first of hundreds of rows."""
    figures = {"threads": {"allocated", "allocations", "at the peak", "from – to", "frees"},
               "never-freed": {"bytes", "% of never freed", "blocks never freed"}}
    for view, heads in figures.items():
        labelled = seen["heads"][view]
        told = {head for head, said in zip(labelled["heads"], labelled["said"], strict=True) if said == f'"{head}"'}
        assert heads <= told, labelled
    above = seen["heads"]["compare&cmp=@0-50%"]
    table, head = above["tops"]
    assert table < 0 <= head < 5 and set(above["said"]) == {"none"}, above


def test_on_a_phone_callees_are_no_scroll_away(seen):
    """They stood in a panel that ended below the callers."""
    assert len(seen["below"]) == 3 and max(seen["below"]) <= 1, seen["below"]
