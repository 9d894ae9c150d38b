"""The twelve things that a person can do with the page, in Debian's Chromium.

Each on eight recordings, from the file system and served. What is seen is held against what
heaptrack_print says of the same recording under the same lens; of those recordings whose truth is
known beforehand, against that as well.
"""

import base64
import collections
import json
import os
import re
import zlib
from contextlib import nullcontext

import pytest
from page_recordings import EIGHT

pytestmark = pytest.mark.timeout(900)

TASKS = ["peak_owner", "leak", "range_of_peak", "drag_range", "kept", "callers", "unfold", "source",
         "link", "one_file", "keyboard_only", "compare", "compare_marks", "understand"]
FILE, SERVED = "file", "served"
LOOKS = {  # the short form; --long adds the other two of each
    FILE: {"theme": "light", "width": 1440, "height": 900},
    SERVED: {"theme": "dark", "width": 1024, "height": 700},
}
MORE_LOOKS = {
    FILE: [{"theme": "dark", "width": 1440, "height": 900},
           {"theme": "light", "width": 1024, "height": 700}],
    SERVED: [{"theme": "light", "width": 1440, "height": 900}],
}

# What is known of these programs because we wrote them
OWNERS = {"demo": "spike()", "killed": "new_site"}
LEAKS = {"demo": ["leakyParse", "1,000 of 1,500"], "killed": ["new_site"]}
LINES = {"demo": "new char[512 + line % 64]", "killed": "return kept[i] = malloc(50000)"}
SENTENCES = {
    "empty": ["The recorder saw no allocation", "maps memory itself"],
    "killed": ["was ended by SIGKILL", "is what was live then"],
    "stripped": ["stripped+0x", "without names"],
}


def human(n):
    for unit in ("B", "kB", "MB", "GB"):
        if n < (1000 if unit == "B" else 999.95) or unit == "GB":
            return f"{n} B" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000
    return None


class Truth:
    """What heaptrack_print says of a recording."""

    def __init__(self, name, recording, ask):
        self.name, self.recording, self.ask = name, recording, ask
        self.whole = ask(recording)
        self.is_empty = self.whole["summary"]["allocations"] == 0

    def total(self, lens):
        return human(self.ask(self.recording, lens)["totals"]["bytes"])

    def function(self):
        """A function to look for: of the user's own if there is one, of some weight, and none other is called so."""
        if self.name == "demo":
            return "leakyParse(int)"
        frames = [frame for site in self.whole["sites"]["peak"] for frame in site["stack"]
                  if frame["function"] and "/" not in frame["function"]]
        files = collections.defaultdict(set)
        for frame in frames:
            files[frame["function"]].add((frame["file"], frame["module"]))
        frames = [frame for frame in frames if len(files[frame["function"]]) == 1]
        own = [frame for frame in frames if frame["owner"] == "yours"]
        return (own or frames)[0]["function"] if frames else ""


@pytest.fixture(scope="session")
def truth(pages, ask):
    known = {}

    def of(name):
        if name not in known:
            known[name] = Truth(name, pages.recording(name), ask)
        return known[name]
    return of


@pytest.fixture(scope="session")
def do(pages, browse, serve, truth):
    """do(task, name, mode, look): what the person saw. Nothing may go wrong on the way.

    One browser does all tasks of a recording, when the first is asked for; what it saw is kept for
    all workers.
    """
    def do_all(name, mode, look):
        file = pages.page(name, *(["--with-source"] if name in LINES else []))
        at = serve(pages.recording(name)) if mode == SERVED else nullcontext(f"file://{file}")
        options = {**look, "folder": str(pages.folder), "of": truth(name).function(),
                   "other": str(pages.page("before"))}
        with at as address:
            return browse("tasks.mjs", address, ",".join(TASKS), json.dumps(options), timeout=850)

    def run(task, name, mode, look):
        key = f"tasks-{name}-{mode}-{look['theme']}-{look['width']}"
        truth(name)  # a program that is not installed skips the test here
        seen = pages.seen(key, lambda: do_all(name, mode, look))[task]
        assert not seen["wrong"], seen["wrong"]
        assert not seen["foreign"], seen["foreign"]
        assert mode == SERVED or seen["requests"] == 1, "the page alone"
        return seen
    return run


def pytest_generate_tests(metafunc):
    """All eight; the demo in both ways, the others by turns, and with --long in both."""
    if {"name", "mode"} <= set(metafunc.fixturenames):
        is_long = metafunc.config.getoption("--long")
        metafunc.parametrize("name,mode", [
            (name, mode) for turn, name in enumerate(EIGHT) for side, mode in enumerate((FILE, SERVED))
            if is_long or name == "demo" or turn % 2 == side])


@pytest.fixture
def see(do, truth, name, mode, is_long):
    """see(task): what was seen with each look; of an empty recording, its sentence is enough."""
    def looks(task):
        for look in [LOOKS[mode]] + (MORE_LOOKS[mode] if is_long else []):
            seen = do(task, name, mode, look)
            if truth(name).is_empty and task not in ("understand", "one_file"):
                assert "The recorder saw no allocation" in seen["text"]
            else:
                yield seen
    return looks


def test_1_say_who_owns_the_peak(see, truth, name):
    for seen in see("peak_owner"):
        assert seen["isOnScreen"]
        assert human(truth(name).whole["summary"]["peak_bytes"]) in seen["text"], seen
        assert OWNERS.get(name, "") in seen["text"], seen


def test_2_say_what_was_never_freed_and_how_fast_it_grew(see, truth, name):
    for seen in see("leak"):
        summary = truth(name).whole["summary"]
        left = summary["never_freed_bytes"] - summary["suppressed_bytes"]
        assert human(left) in seen["text"], (seen, summary)
        assert all(words in seen["text"] for words in LEAKS.get(name, [])), seen
        if name == "demo":  # it grows to its end, unless the machine holds its last rounds back
            said = next(found["text"] for found in truth(name).whole["findings"]
                        if found["id"] == "never-freed" and "leakyParse" in found["text"])
            measured = said.split("1,000 of 1,500")[1]
            assert re.search("kB/s to the end|stopped growing after", measured), said
            assert measured in seen["text"], (seen, said)


def check_total(seen, truth):
    """The root of the flame graph says what the program says under the same words."""
    total = truth.total(seen["lens"])
    if total == "0 B":
        assert ": nothing" in seen["total"], seen
    else:
        assert f", {total}, 100 %" in seen["total"], (seen, total)


@pytest.mark.parametrize("task", ["range_of_peak", "drag_range"])
def test_3_see_the_heap_in_a_range_of_time(see, truth, name, task):
    for seen in see(task):
        assert name != "demo" or "t=" in seen["lens"], seen
        check_total(seen, truth(name))


def test_4_see_what_a_range_kept(see, truth, name):
    for seen in see("kept"):
        assert "m=kept" in seen["lens"] and "t=" in seen["lens"], seen
        check_total(seen, truth(name))


def check_callers(seen, truth):
    function = truth.function()
    total = truth.total(f"{seen['lens'].split('&sel=')[0]}&focus={function}")
    assert total in seen["callers"][1] and total in seen["callees"][1], (seen, total)
    assert "%" in seen["callers"][0] and len(seen["callers"]) > 1, seen


def test_5_find_all_paths_into_a_function(see, truth, name):
    for seen in see("callers"):
        check_callers(seen, truth(name))
        if name == "demo":
            names = [row.split("\n")[0].strip() for row in seen["callers"]]
            assert "parseConfig()" in names and "main" in names, seen


def test_6_unfold_one_run_of_library_frames(see, name):
    for seen in see("unfold"):
        assert seen["before"] == seen["after"], seen
        assert not seen["folded"] or seen["unfolded"] != seen["folded"], seen
        assert name not in ("demo", "clang++") or re.search(r" \+\d", seen["folded"]), seen


def test_7_read_the_line_in_two_actions(see, truth, name):
    for seen in see("source"):
        assert LINES.get(name, "") in seen["source"], seen
        site = next(iter(truth(name).whole["sites"]["never_freed"]), None)
        assert site is None or "stack" in seen["source"], seen


def test_8_send_the_exact_view(see):
    for seen in see("link"):
        assert seen["isSame"] and not seen["hasToken"], seen
        assert "m=never-freed" in seen["lens"] and "fold=0" in seen["lens"], seen


def test_9_save_one_file_and_use_it_without_a_network(see):
    for seen in see("one_file"):
        assert not seen["wrongThere"] and seen["requestsThere"] == 1, seen
        assert len(seen["seen"]) == 9 and all(n > 40 for n in seen["seen"].values()), seen


def test_10_do_it_all_by_keyboard(see, truth, name):
    for seen in see("keyboard_only"):
        assert OWNERS.get(name, "") in seen["peak"], seen
        assert len(set(seen["walked"])) > 1 or name not in OWNERS, seen
        assert "m=kept" in seen["kept"], seen
        function = truth(name).function().split("(")[0]
        assert any(function[:12] in row for row in seen["callers"]), seen
        assert LINES.get(name, "") in seen["source"], seen
        assert "Bottom-up" in seen["help"] and seen["heading"] == "Threads"
        if name == "demo":
            assert any(box.startswith("spike()") for box in seen["walked"]), seen["walked"]


def test_11_compare_two_recordings_and_name_the_new_site(see, truth, name):
    for seen in see("compare"):
        assert any(row.startswith("peak") and human(truth(name).whole["summary"]["peak_bytes"]) in row
                   for row in seen["totals"]), seen
        if name == "killed":
            assert "new_site" in seen["rows"][1] and "+5.0 MB" in seen["rows"][1], seen
            assert "new" in seen["rows"][1].split(), seen
            assert any("new_site" in box and "difference +5.0 MB" in box for box in seen["boxes"]), seen
            assert not any("old_site" in row for row in seen["rows"]), seen
        else:
            assert any("new" in row.split() for row in seen["rows"]), seen
            assert any("old_site" in row and "gone" in row.split() for row in seen["rows"]), seen


def test_11_compare_two_moments(see, truth, name):
    for seen in see("compare_marks"):
        if seen["said"] != "one moment":
            growth = seen["said"].split("\t")[2].strip()
            alive = next(row for row in seen["totals"] if row.startswith("alive")).split("\t")
            assert alive[3].strip() == growth, seen
            assert "cmp=@" in seen["lens"]
        elif name == "demo":
            raise AssertionError(seen)


def test_12_understand_what_kind_of_recording_it_is(see, truth, name):
    for seen in see("understand"):
        words = SENTENCES.get(name, [human(truth(name).whole["summary"]["peak_bytes"])])
        assert all(word in seen["text"] for word in words), seen


# ---- the file by itself

def packed(page, *parts):
    """The profile in a page, as docs/page-format.md describes it."""
    html = page.read_text(encoding="utf-8")
    return b"".join(base64.b64decode(html.split(f'id="{part}">')[1].split("</script>")[0])
                    for part in parts or ("profile", "rest"))


def unpacked(page, *parts):
    blob, sections = packed(page, *parts)[12:], b""
    while blob:
        size = int.from_bytes(blob[8:16], "little")
        sections += zlib.decompress(blob[16:16 + size], -15)
        blob = blob[16 + size:]
    return sections


def test_read_it_without_scripts(pages):
    html = pages.page("demo").read_text(encoding="utf-8")
    plain = html[html.index("<pre>"):html.index("</pre>")]
    assert "total memory leaked" in plain and "spike()" in plain


@pytest.mark.parametrize("part", ["profile", "rest"])
def test_damaged_page_still_has_its_report(pages, browse, part):
    html = pages.page("demo").read_text(encoding="utf-8")
    start = html.index(f'id="{part}">') + len(f'id="{part}">')
    end = html.index("</script>", start)
    cut = pages.folder / f"cut-{part}.html"
    cut.write_text(html[:start + (end - start) // 8 * 4] + html[end:], encoding="utf-8")
    seen = browse("cut.mjs", f"file://{cut}")
    assert "cannot show this profile" in seen["why"] and "cut" in seen["why"], seen
    assert seen["isShown"] and "total memory leaked" in seen["report"]


def test_redacted_page_tells_neither_argument_nor_host(pages):
    secrets = (b"opensesame", f'"host":"{os.uname().nodename}"'.encode(), str(pages.folder).encode())
    for options in [(), ("--redact",)]:
        page = pages.page("argued", *options)
        for secret in secrets:
            is_told = secret in unpacked(page) or secret in page.read_bytes()
            assert is_told == (not options), (options, secret)


LINKAGE = re.compile(rb"\b_(?:Z[NL]?\d|R[NIMXY])\w+")


def told(page):
    """What a page says of folders, host and linkage names: in the profile, its base, and the report as text."""
    html = page.read_bytes()
    body = unpacked(page) + unpacked(page, "base")
    text = html[html.index(b"<pre>"):html.index(b"</pre>")]
    folders = re.compile(rb"(?<![\w.+-])/(?:usr|lib|bin|tmp|home|root|work|%s)(?:/[\w.+-]+)+" %
                         re.escape(str(page.parent).encode().lstrip(b"/")))
    host = f'"host":"{os.uname().nodename}"'.encode()
    return {*folders.findall(body + text), *(word for word in (host, b"opensesame") if word in body + text),
            *LINKAGE.findall(body)}


@pytest.mark.parametrize("name", ["demo", "argued", "started", "forked", "attached", "marked", "python3", "cc1plus", "tree"])
def test_redacted_page_tells_nothing_of_where_it_was_made(pages, name):
    assert told(pages.page(name)), "nothing to leave out"
    assert told(pages.page(name, "--redact")) == set()
    assert told(pages.page(name, "--redact", "--with-source")) == set()


def test_redacted_comparison_tells_nothing_of_either(pages):
    assert told(pages.page("argued", "-d", pages.recording("started")))
    assert told(pages.page("argued", "--redact", "-d", pages.recording("started"))) == set()
    assert b"demo.cpp" in unpacked(pages.page("demo", "--redact"))


def test_it_says_which_allocators_it_speaks_of(pages, browse, ask):
    """A static program has its own: hooked where they stand."""
    module, = ask(pages.recording("static"))["allocators"]
    seen = browse("tasks.mjs", f"file://{pages.page('static')}", "allocators", json.dumps(LOOKS[FILE]))
    assert not seen["allocators"]["wrong"], seen
    assert seen["allocators"]["said"] == f"Recorded: {len(module['functions'])} functions of static"
    assert seen["allocators"]["rows"][1].split("\t") == ["static", ", ".join(module["functions"]), "yes"]
    redacted = pages.page("static", "--redact")
    assert str(pages.folder).encode() not in unpacked(redacted)


def test_a_line_costs_no_more_than_all(pages, browse, ask):
    """In a recursion each stack passes the same line many times."""
    peak = ask(pages.recording("recursive"))["summary"]["peak_bytes"]
    page = pages.page("recursive", "--with-source")
    pane = browse("tasks.mjs", f"file://{page}", "source", json.dumps(LOOKS[FILE]))["source"]["source"]
    line = re.search(r"([\d.]+) (kB|MB)\s+\d+\s+n->left = grow", pane)
    assert line, pane
    cost = float(line[1]) * {"kB": 1e3, "MB": 1e6}[line[2]]
    assert peak * 0.9 < cost <= peak * 1.05, (cost, peak, pane)


def test_what_massif_does_not_say_is_not_said(pages, browse):
    page = pages.page("massif")
    seen = browse("tasks.mjs", f"file://{page}", "leak,understand", json.dumps(LOOKS[FILE]))
    assert "unknown" in seen["leak"]["text"] and "Every block" not in seen["leak"]["text"], seen
    assert "all functions (not told apart over time in this file)" in seen["understand"]["text"], seen


def test_limit_is_kept_and_said(pages, browse, truth):
    whole = pages.page("clang++").stat().st_size
    limit = whole - len(base64.b64encode(packed(pages.page("clang++")))) // 4
    page = pages.page("clang++", "--html-limit", str(limit))
    assert page.stat().st_size <= limit
    seen = browse("tasks.mjs", f"file://{page}", "understand", json.dumps(LOOKS[FILE]))["understand"]
    assert not seen["wrong"]
    assert "To keep this file small" in seen["text"]
    assert human(truth("clang++").whole["summary"]["peak_bytes"]) in seen["text"]


# ---- two recordings from the start

@pytest.mark.parametrize("mode", [FILE, SERVED])
def test_opens_what_is_compared(pages, browse, serve, mode):
    base = pages.recording("before")
    at = serve(base, pages.recording("killed")) if mode == SERVED else \
        nullcontext(f"file://{pages.page('killed', '-d', base)}")
    with at as address:
        seen = browse("tasks.mjs", address, "base", json.dumps(LOOKS[mode]))["base"]
    assert not seen["wrong"] and not seen["foreign"], seen
    assert "new_site" in seen["rows"][1] and "+5.0 MB" in seen["rows"][1], seen
    assert any("new_site" in box for box in seen["boxes"]), seen
    assert f"cmp={base.name}" in seen["lens"]
