"""Upstream's own test files: each figure that its tests assert, and those of an independent reader."""

import collections
from pathlib import Path

import kde
import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
DAVID = SHARED / "heaptrack.david.18594.gz"
EMBEDDED = SHARED / "heaptrack.embedded_lsan_suppressions.84207.zst"

pytestmark = pytest.mark.skipif(not DAVID.exists(), reason="upstream's files are not here")

STOPS = {"main", "__libc_start_main", "__static_initialization_and_destruction_0"}
NEW = {f"operator new{array}(unsigned {word})" for array in ("", "[]") for word in ("long", "int")}


# ---- totals

def test_totals_of_david(tools):
    rules = SHARED / "suppressions.txt"
    document = tools.json(DAVID, "--suppressions", rules)
    s = document["summary"]
    assert (s["allocations"], s["temporary"]) == (2896, 729)
    assert (s["never_freed_bytes"] - s["suppressed_bytes"], s["suppressed_bytes"]) == (0, 30463)
    assert (s["peak_bytes"], s["peak_time_ns"] // 1_000_000) == (996970, 0)
    assert (s["duration_ns"], s["peak_rss_bytes"]) == (80_000_000, 76042240)
    assert s["system_memory_bytes"] == 16715239424
    assert document["program"]["command"] == ["./david"]
    assert document["program"]["attached"] is False
    assert "Debuggee command was: ./david" in tools.print(DAVID, "--full").stdout
    printed = tools.print(DAVID, "--suppressions", rules).stdout
    assert kde.reported(printed)["total memory leaked"] == "0B"


def test_totals_of_david_with_built_in_suppressions(tools):
    s = tools.json(DAVID)["summary"]
    assert s["never_freed_bytes"] - s["suppressed_bytes"] == 25259
    assert s["suppressed_bytes"] == 5204


def test_totals_of_embedded_suppressions(tools):
    s = tools.json(EMBEDDED)["summary"]
    assert (s["allocations"], s["temporary"], s["peak_bytes"]) == (5, 0, 72714)
    assert (s["never_freed_bytes"] - s["suppressed_bytes"], s["suppressed_bytes"]) == (5, 5)
    assert s["system_memory_bytes"] == 33643876352
    s = tools.json(EMBEDDED, "--disable-embedded-suppressions")["summary"]
    assert (s["never_freed_bytes"], s["suppressed_bytes"]) == (10, 0)


# ---- tables

def test_tables_of_david(tools, tmp_path):
    """Sites and sizes; and the tables of the file, as far as a copy of it needs them."""
    assert len(tools.json(DAVID, "--limit", "0")["sites"]["allocations"]) == 274
    sizes, theirs, copy = tmp_path / "sizes", tmp_path / "theirs", tmp_path / "copy"
    assert tools.print(DAVID, "-H", sizes).status == 0
    assert kde.run(kde.PRINT, "-H", theirs, DAVID).returncode == 0
    assert len(sizes.read_text().splitlines()) == 325
    assert sizes.read_text() == theirs.read_text()
    assert tools.print(DAVID, "--export", f"heaptrack={copy}").status == 0
    kinds = [collections.Counter(line[:1] for line in kde.lines(file)) for file in (DAVID, copy)]
    assert [kinds[0][kind] for kind in "sita"] == [476, 515, 990, 671]
    assert [kinds[1][kind] for kind in "ita+-"] == [kinds[0][kind] for kind in "ita+-"]


# ---- rows of their window

class Row:
    def __init__(self):
        self.allocations = self.peak = 0
        self.below = {}

    def add(self, symbols, site):
        row = self
        for symbol in symbols:
            row = row.below.setdefault(symbol, Row())
            row.allocations += site["allocations"]
            row.peak += site["peak"]


def symbol_of(frame):
    """Function and module; a function without a name has "", whatever we call it."""
    module = frame["module"] or ""
    is_named = not frame["function"].startswith((f"{Path(module).name}+0x", "0x")) \
        and frame["function"] != "generated code"
    return frame["function"] if is_named else "", module


def key_of(stack):
    return tuple((frame["address"], frame["function"]) for frame in stack)


def by_address(stack):
    """The frames of each address: what was inlined there, then the function itself."""
    group = []
    for frame in stack:
        group.append(symbol_of(frame))
        if not frame["inlined"]:
            yield group
            group = []


def walked(stack):
    """As their window walks: from behind operator new to the first address where it stops."""
    symbols = []
    for group in by_address(stack):
        if symbols or group[0][0] not in NEW:
            symbols += group
        if group[0][0] in STOPS:
            break
    return symbols or [("", "")]


@pytest.fixture
def rows(tools):
    """Bottom-up and top-down trees, and all symbols, made of our JSON."""
    sites = tools.json(DAVID, "--limit", "0")["sites"]
    peaks = {key_of(site["stack"]): site["bytes"] for site in sites["peak"]}
    up, down, symbols = Row(), Row(), set()
    for site in sites["allocations"]:
        site["peak"] = peaks.get(key_of(site["stack"]), 0)
        walk = walked(site["stack"])
        up.add(walk, site)
        down.add(reversed(walk), site)
        symbols.update(walk)
    return up, down, sorted(symbols)


def of_library(row, name):
    """The row of functions without a name in a library."""
    (found,) = [below for (function, module), below in row.below.items()
                if not function and name in module]
    return found


def test_rows_of_david(rows):
    up, down, symbols = rows
    assert (len(up.below), len(down.below), len(symbols)) == (54, 5, 365)
    assert symbols[0] == ("", "")
    assert symbols[1][0] == "" and "ld-linux" in symbols[1][1]
    assert symbols[25][0] == "QByteArray::constData() const"
    assert symbols[-1][0] == "~QVarLengthArray" and "libQt5Core" in symbols[-1][1]
    glib = of_library(up, "libglib")
    assert (len(glib.below), glib.allocations, glib.peak) == (2, 17, 2020)
    assert any(function == "QThreadPool::QThreadPool(QObject*)" for function, _ in up.below)
    loader = of_library(down, "ld-linux")
    assert (len(loader.below), loader.allocations, loader.peak) == (1, 15, 94496)
