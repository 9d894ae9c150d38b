"""The page writes figures as the report does."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/referee"))

from figures import in_bytes, in_percent, in_time

# Around each change of the unit, up to days
DURATIONS_NS = [1_000_000, 9_940_000, 12_300_000, 999_400_000, 999_600_000, 59_990_000_000, 60_000_000_000,
                75_250_000_000, 119_990_000_000, 119_996_000_000, 125_900_000_000, 3_599_900_000_000,
                3_600_000_000_000, 86_399_900_000_000, 200_000_900_000_000]
# As near to one as to the other
TIES_NS = [2_250_000, 2_750_000, 412_500_000, 413_500_000, 1_125_000_000, 1_375_000_000, 90_625_000_000]
TIES_BYTES = [1_250, 1_750, 2_250, 125_250, 8_750_000]
TIES_PERCENT = [(1, 8), (3, 8), (9, 400), (11, 400), (21, 200), (399, 400)]


@pytest.fixture(scope="module")
def format_of(web, tmp_path_factory):
    """What a function of the page says of some arguments: with a plain space between a figure and its unit, unless it is `raw`."""
    module = tmp_path_factory.mktemp("format") / "format.mjs"
    subprocess.run([web / "node_modules/.bin/esbuild", SOURCE / "web/src/ui/format.ts", "--bundle",
                    "--format=esm", f"--outfile={module}", "--log-level=warning"], check=True, timeout=120)

    def say(function, arguments, raw=False, imported=None):
        program = f"import {{{imported or function}}} from {json.dumps(str(module))}; " \
                  f"console.log(JSON.stringify({json.dumps(arguments)}.map((all) => {function}(...all))))"
        said = subprocess.run(["node", "--input-type=module", "-e", program], check=True, capture_output=True,
                              text=True, timeout=60)
        return json.loads(said.stdout if raw else said.stdout.replace("\u00a0", " "))
    return say


def test_no_figure_stands_apart_from_its_unit(format_of):
    all_ns = [[ns] for ns in [0, 17, 12_345] + DURATIONS_NS]
    figures = [text for function in ("duration", "moment", "span", "bytes", "inBinary")
               for text in format_of(function, all_ns, raw=True)]
    figures += format_of("percent", [[0, 1], [1, 1], *TIES_PERCENT, [-1, 3], [1, 10 ** 6], [-1, 10 ** 6]], raw=True)
    assert [text for text in figures if " " in text.replace("less than 1", "")] == []
    [said] = format_of("unbroken", [["3 blocks, < 0.1 % of 12.5 kB/s in 1 ms, 4 blobs of main 2 B"]], raw=True)
    assert said == "3 blocks, <\u00a00.1\u00a0% of 12.5\u00a0kB/s in 1\u00a0ms, 4 blobs of main 2\u00a0B"


def test_a_duration_is_written_as_in_the_report(format_of):
    all_ns = DURATIONS_NS + TIES_NS
    assert format_of("duration", [[ns] for ns in all_ns]) == [in_time(ns) for ns in all_ns]


def test_ties_are_rounded_as_in_the_report(format_of):
    assert format_of("bytes", [[n] for n in TIES_BYTES]) == [in_bytes(n) for n in TIES_BYTES]
    assert format_of("percent", TIES_PERCENT) == [in_percent(*pair) for pair in TIES_PERCENT]


def test_names_of_operators_are_shortened_as_in_the_report(format_of):
    """Without what stands in brackets, where the page has a "…"."""
    table = (SOURCE / "tests/unit/test_shorten.c").read_text(encoding="utf-8")
    pairs = re.findall(r'\{"(.*)",\s*"(.*)"\},', table[:table.index("keeps_parameters")])
    pairs = [(name, short) for name, short in pairs if re.search("operator|decltype|main", name) and "{" not in name]
    assert len(pairs) >= 10, pairs
    said = format_of("shortName", [[name] for name, _ in pairs])
    assert [short.replace("…", "") for short in said] == [short for _, short in pairs]


def test_what_python_calls_its_functions_is_no_template(format_of):
    name = "load.<locals>.<listcomp>"
    assert format_of("shortName", [[name]]) == [name]


def test_a_moment_has_one_form(format_of):
    """That of the report, wherever it stands by itself; among near ones, the digits that tell them apart."""
    said = format_of("moment", [[ns] for ns in DURATIONS_NS] + [[0], [4_091_200_000, 100_000_000], [4_091_200_000, 12_000_000_000]])
    assert said == [*map(in_time, DURATIONS_NS), "0 s", "4.091 s", "4.09 s"]


def test_a_class_of_sizes_is_written_in_units_of_its_powers(format_of):
    assert format_of("inBinary", [[512], [1024], [65536], [2 ** 31]]) == ["512 B", "1 KiB", "64 KiB", "2 GiB"]


def test_each_finding_on_what_is_held_has_a_card():
    cards = re.findall(r"ids: (/.+/),", (SOURCE / "web/src/views/cards.tsx").read_text())
    ids = re.findall(r"^\| (`[^|]+`) \|[^|]+\|[^|]+\|[^|]+\| `[^|]*focus=", (SOURCE / "docs/findings.md").read_text(), re.M)
    # What was never in memory is not held, nor what is free on pages, nor a rise of RSS, and who points to blocks is
    # no list of them: "Also seen" has them
    ids = {name for cell in ids for name in re.findall(r"`([\w-]+)`", cell)} - {"wrapper", "handed-over", "untouched", "pins", "rss-step",
                                                                                       "unreachable", "held-by"}
    assert {"peak", "steady", "bursts", "churn"} <= ids, ids
    for name in ids:
        assert any(re.search(card.strip("/"), name) for card in cards), (name, cards)


def test_rows_of_one_short_name_say_what_differs(format_of):
    """Instances of a template, overloads, instances in Rust; what is alike in full, and others, stay as they are."""
    names = ["llvm::Tree<llvm::Block, false>::grow(llvm::Block*)", "llvm::Tree<llvm::Machine<int>, false>::grow(int)",
             "f(int)", "f(char)", "f()", "<a::Slot<u8>>::init::<[u8; 8]>", "<a::Slot<u8>>::init::<[u16; 8]>", "main", "main",
             "g<Table>()", "g<Tables>()", "h<" + 50 * "a" + ">()", "h<b>()"]
    told = ["llvm::Tree<…>::grow() [Block, false]", "llvm::Tree<…>::grow() [Machine<i…t>, false]",
            "f() [int]", "f() [char]", "f()", "<a::Slot<u8>>::init::<…> [u8; 8]", "<a::Slot<u8>>::init::<…> [u16; 8]",
            "main", "main", "g<…>() [Table]", "g<…>() [Tables]", "h<…>() [aaaaaaaaa…aaaaaaaaa]", "h<…>() [b]"]
    assert format_of("((all, name) => namesApart(all)(name))", [[names, name] for name in names], imported="namesApart") == told


def test_what_a_closure_is_in_is_its_own_name(format_of):
    assert format_of("ownFrom", [["a::b::{closure#0}"], ["<a::T as b::C>::init::<…>"], ["a::f() [b::c]"], ["a::b"]]) == [3, 16, 3, 3]
