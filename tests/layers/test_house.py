"""The source tree as tools/house sees it: no circles, no crowded rooms, every file says what it is for.

A folder is held to it from the day on which it has a README.md, its map.
"""

import os
from pathlib import Path

import pytest

import scripts

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HEAPTRACK_BUILD", SOURCE / "build"))


house = scripts.load("tools/house")
MAPPED = [folder for folder in house.folders() if (house.SRC / folder / "README.md").exists()]


@pytest.mark.parametrize("folder", MAPPED)
def test_folder_is_in_order(folder):
    found = house.faults(folder, BUILD)
    assert {title: lines for title, lines in found.items() if lines} == {}


def test_circle_is_found():
    a, b, c = "a", "b", "c"
    assert house.loops({a: {b}, b: {c}, c: {b}}) == [[b, c]]
    assert house.loops({a: {b}, b: {c}, c: set()}) == []


def test_page_has_no_wide_lines():
    files = [path for path in (SOURCE / "web").rglob("*") if path.suffix in (".ts", ".tsx", ".mjs", ".css")]
    assert len(files) > 50
    wide = [f"{path.relative_to(SOURCE)}:{number}" for path in files
            for number, line in enumerate(path.read_text().splitlines(), 1)
            if len(line.expandtabs(4)) > house.MOST_COLUMNS]
    assert wide == []
