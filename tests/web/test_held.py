"""The Memory view of a recording with --leaks: grades, who holds what, and classes, as in --json."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/referee"))

from figures import in_bytes


def test_what_was_never_freed_says_what_is_unreachable(pages, browse, ask):
    seen = browse("held.mjs", pages.page("leaks").as_uri(), "chromium")
    assert not seen["wrong"], seen["wrong"]
    leaks = ask(pages.recording("leaks"), None)["leaks"]
    lost = [site for site in leaks["sites"] if site["grade"] in ("unreachable", "owned", "cycle")]
    assert len(lost) > 0, leaks
    by_function = {}
    for site in lost:
        name = site["stack"][0]["function"]
        by_function[name] = by_function.get(name, 0) + site["bytes"]
    shown = {row[0].split()[0]: row[4] for row in seen["neverFreed"]}
    assert len(shown) > len(by_function)
    for name, text in shown.items():
        assert text == in_bytes(by_function.get(name, 0)), (name, text, by_function)


HELD = """
#include <stdlib.h>
static void *volatile kept[100];
int main(void) { for (int i = 0; i < 100; i++) { kept[i] = malloc(1000); } return 0; }
"""


def test_no_column_of_what_is_unreachable_where_nothing_is(build, tmp_path, browse):
    (tmp_path / "held.c").write_text(HELD)
    subprocess.run(["cc", "-g", "-o", tmp_path / "held", tmp_path / "held.c"], check=True, timeout=60)
    subprocess.run([build / "heaptrack", "-q", "--leaks", "-o", tmp_path / "a.zst", tmp_path / "held"], check=True, timeout=60)
    subprocess.run([build / "heaptrack_print", "--html", tmp_path / "a.html", tmp_path / "a.zst"], check=True, timeout=60)
    view, tree = browse("under_lens.mjs", (tmp_path / "a.html").as_uri(), "never-freed:", "tree:")["views"]
    assert "Graded" in tree["costs"] and "Unreachable" not in tree["costs"], tree["costs"]
    (_, rows), = view["tables"]
    assert "main" in rows[0]["function"] and "unreachable" not in rows[0], rows
    assert "none of it was unreachable" in view["hints"], view["hints"]


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_tables_are_those_of_json(browser, pages, browse, ask):
    if browser == "firefox" and not shutil.which("firefox-esr"):
        pytest.skip("firefox-esr is not installed")
    seen = browse("held.mjs", pages.page("classes").as_uri(), browser)
    leaks = ask(pages.recording("classes"), None)["leaks"]
    assert not seen["wrong"], seen["wrong"]
    holders = sorted(leaks["holders"], key=lambda row: -row["retained_bytes"])
    assert [row[0] for row in seen["holders"]] == [row["name"] for row in holders]
    assert [row[1] for row in seen["holders"]] == [in_bytes(row["retained_bytes"]) for row in holders]
    classes = sorted(leaks["classes"], key=lambda row: -row["bytes"])
    assert [row[1:] for row in seen["classes"]] == [
        [in_bytes(row["bytes"]), f"{row['blocks']:,}", in_bytes(row["retained_bytes"]), f"{row['objects_in_arenas']:,}"]
        for row in classes]
    assert seen["classes"][0][0] == "zoo::Parrot" and len(seen["classes"]) >= 6
    grades = [row for row in leaks["looks"][0]["grades"] if row["blocks"]]
    assert [row[1] for row in seen["grades"]] == [in_bytes(row["bytes"]) for row in grades]
    assert seen["holder"] == "v=flame&m=held&focus=g_animals of classes", seen["holder"]
    assert seen["grade"] == "v=flame&m=graded", seen["grade"]


CAT, DOG, OWL = 120, 216, 320  # bytes

# Of tests/victims/animals.cpp, before its change and after: blocks, and the bytes of one
ROOTS = {"g_grows": (100, 150, CAT), "g_shrinks": (300, 180, DOG), "g_gone": (7, 0, OWL), "g_new": (0, 5, OWL),
         "g_same": (10, 10, CAT), "g_arena": (1, 1, 2500)}
CLASSES = {"Cat": (110, 160, CAT), "Dog": (300, 180, DOG), "Owl": (7, 5, OWL)}


def rows_of(of, suffix="", is_back=False):
    rows = {}
    for name, (before, after, size) in of.items():
        now, gain = (before, before - after) if is_back else (after, after - before)
        sign = "−" if gain < 0 else "+" if gain > 0 else ""
        rows[name + suffix] = [in_bytes(now * size), f"{now:,}", f"{sign}{in_bytes(abs(gain) * size)}", f"{sign}{abs(gain):,}"]
    return rows


def test_what_was_gained_since_another_look(pages, browse, ask):
    """By itself the newest look is compared with the one before it; then the other way round; then with itself."""
    leaks = ask(pages.recording("looks"), None)["leaks"]
    assert [look["at"] for look in leaks["looks"]] == ["end", "request"]
    address = pages.page("looks").as_uri()
    for choices, is_back in (((), False), (("The look at=1", "compared with that at=0"), True)):
        seen = browse("held.mjs", address, "chromium", *choices)
        assert not seen["wrong"], seen["wrong"]
        holders = {row[0]: [row[1], *row[3:]] for row in seen["holders"] if row[0].startswith("g_")}
        assert holders == rows_of(ROOTS, " of animals", is_back)
        assert {row[0]: [*row[1:3], *row[5:]] for row in seen["classes"]} == rows_of(CLASSES, "", is_back)
        assert seen["heads"][4].startswith("since ") and seen["heads"][5] == "blocks since then"
    assert len(browse("held.mjs", address, "chromium", "compared with that at=0")["heads"]) == 4
