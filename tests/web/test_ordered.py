"""Every table is ordered by a press on the head of a column, and the address keeps the order."""

import re
import shutil

import pytest

UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "%": 1}
UNORDERED = re.compile(": Freed blocks by")  # a matrix


def value(text):
    """What a cell says, as far as it is rounded."""
    found = re.match(r"([−<>+ ]*)([\d,.]+) ?(B|kB|MB|GB|KiB|MiB|ns|µs|ms|s|%)?", text)
    if not found:
        return text
    number = float(found[2].replace(",", "")) * UNITS.get(found[3], 1)
    return -number if "−" in found[1] else 0.09 if "<" in found[1] else number


def is_rising(values):
    return all(a <= b for a, b in zip(values, values[1:]))


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_every_table_is_ordered_by_its_heads(browser, pages, browse):
    if browser == "firefox" and not shutil.which("firefox-esr"):
        pytest.skip("firefox-esr is not installed")
    seen = browse("ordered.mjs", pages.page("demo").as_uri(), browser)
    assert not seen["wrong"], seen["wrong"]
    assert [name for name in seen["unordered"] if not UNORDERED.search(name)] == []
    views = {table["view"] for table in seen["tables"]}
    assert {"Overview", "Tree", "Functions", "Sizes & lifetimes", "Never freed & growth", "Threads", "Memory"} <= views, \
        views
    assert seen["byKey"] and all(click == key for click, key in seen["byKey"]), seen["byKey"]
    reordered = set()
    for table in seen["tables"]:
        (first, one), (second, other), (_, own) = table["said"]
        where = table["view"], table["title"], table["head"]
        assert {first, second} == {"ascending", "descending"}, where
        assert sorted(one) == sorted(other) == sorted(own), where
        for order, cells in ((first, one), (second, other)):
            values = [value(cell) for cell in cells if cell and not cell.startswith("(the runtime")]
            assert is_rising(values if order == "ascending" else values[::-1]), (where, order, values)
        if one != other:
            reordered.add(table["view"])
    assert {"Overview", "Tree", "Functions", "Sizes & lifetimes", "Never freed & growth", "Memory"} <= reordered
    assert "sort=never-freed:" in seen["address"] and seen["kept"] == "descending"


def test_rows_of_the_comparison_open_their_function(pages, browse):
    comparison = pages.page("killed", "-d", pages.recording("before"))
    seen = browse("changed.mjs", comparison.as_uri(), "new_site")
    assert not seen["wrong"], seen["wrong"]
    assert "v=tree" in seen["hash"] and "sel=new_site" in seen["hash"], seen
    assert seen["row"].startswith("new_site"), seen
