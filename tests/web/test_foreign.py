"""What a file of another program does not contain is "not in this file" on the page, never 0."""

import re
import subprocess
from pathlib import Path

import pytest

CORPUS = Path(__file__).resolve().parents[1] / "fuzz/corpus"
ABSENT = "not in this file"
INSTRUCTIONS = "desc: x\ncmd: x\ntime_unit: i\n" + "".join(
    f"snapshot={i}\ntime={1000000 * i}\nmem_heap_B={100 * i}\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree={tree}\n"
    for i, tree in enumerate(("empty", "empty", "peak\nn0: 200 0x0: main", "empty")))


@pytest.fixture(scope="module")
def seen(build, pages, browse, tmp_path_factory):
    folder = tmp_path_factory.mktemp("foreign")
    files = []
    for name in ("massif/small", "folded/two"):
        files.append(folder / f"{name.replace('/', '-')}.html")
        subprocess.run([build / "heaptrack_print", "--html", files[-1], CORPUS / name], check=True, timeout=60)
    files.append(pages.page("pprof"))
    (folder / "massif.out").write_text(INSTRUCTIONS)
    files.append(folder / "instructions.html")
    subprocess.run([build / "heaptrack_print", "--html", files[-1], folder / "massif.out"], check=True, timeout=60)
    found = pages.seen("foreign", lambda: browse("foreign.mjs", *(file.as_uri() for file in files)))
    assert not found["wrong"], found["wrong"]
    return dict(zip(("massif", "folded", "pprof", "instructions"), found["all"], strict=True))


def test_a_comparison_has_no_numbers_that_a_file_lacks(seen):
    """Folded stacks say one number of each, and no time."""
    rows = {row.split("\t")[0]: row.split("\t")[1:] for row in seen["pprof"]["totals"]}
    for name in ("allocations", "never freed", "temporary"):
        assert rows[name][0] == ABSENT and re.match(r"\d", rows[name][1]) and rows[name][2:] == ["", ""], rows
    assert "runtime" not in rows, rows
    assert f"Never freed: {ABSENT}, folded-two.html." in seen["pprof"]["changed"], seen["pprof"]["changed"]


def run_of(overview):
    """The facts of the run, by name."""
    lines = overview.split("The run\n")[1].splitlines()
    return dict(zip(lines[::2], lines[1::2]))


def test_numbers_of_the_run(seen):
    for kind in ("massif", "folded"):
        assert not re.search(r"\b0 ns\b|\d allocations", seen[kind]["head"]), kind
        assert "The recording ends at 0 ns" not in seen[kind]["Overview"], kind
        run = run_of(seen[kind]["Overview"])
        for fact in ("runtime", "allocations", "allocated", "frees", "reallocations"):
            assert run[fact] == ABSENT, (kind, fact, run)


def test_tables(seen):
    for kind, absent in (("massif", ["Temporary allocations", "Allocations"]),
                         ("folded", ["Never freed, by function", "Temporary allocations", "Allocations"])):
        overview = seen[kind]["Overview"]
        for title in absent:
            assert f"{title}\n{ABSENT}" in re.sub(r"\n+", "\n", overview), (kind, title)
        rows = re.findall(r"make_row\t5\.0 kB\t98 %\t(.*)", overview)
        assert rows == [ABSENT], (kind, rows)


def test_views(seen):
    assert ABSENT in seen["folded"]["Never freed & growth"]
    assert "Every block was freed" in seen["massif"]["Never freed & growth"], "massif says how much is left"
    for kind in ("massif", "folded"):
        for view in ("Sizes & lifetimes", "Threads"):
            assert ABSENT in seen[kind][view], (kind, view)
        assert "Allocated bytes" not in seen[kind]["Flame graph"], "no metric that is not there"
        assert "allocations" not in seen[kind]["Tree"].split("Not in this file")[1].split("\n", 1)[1]


def test_the_card_of_growth_denies_no_curve_that_is_there(seen):
    for kind, said in (("massif", f"Which functions grew is {ABSENT}; the chart below shows the whole heap."), ("folded", ABSENT)):
        assert f"Growing\nunknown\n{said}\n" in re.sub(r"\n+", "\n", seen[kind]["Overview"]), (kind, seen[kind]["Overview"])


def test_an_address_shows_no_cost_that_is_not_there(seen):
    for kind in ("massif", "folded"):
        assert "Allocations" not in seen[kind]["asked"] and "5.0 kB" in seen[kind]["asked"], seen[kind]["asked"]
    assert "\nAllocations\n" in seen["pprof"]["asked"] and "50,000" in seen["pprof"]["asked"], seen["pprof"]["asked"]


def test_without_a_peak_another_cost_is_shown_first(build, browse, tmp_path):
    page = tmp_path / "gperftools.html"
    subprocess.run([build / "heaptrack_print", "--html", page, CORPUS / "heap_dump/gperftools"], check=True, timeout=60)
    overview = browse("foreign.mjs", page.as_uri())["all"][0]["Overview"]
    assert "What was never freed" in overview and "its peak" not in overview and "Heap at the peak" not in overview


@pytest.mark.parametrize("kind,unit", [("massif", "millisecond"), ("pprof", "second")])
def test_no_rates_where_no_moments_are_known(seen, kind, unit):
    said = re.sub(r"\n+", "\n", seen[kind]["Timeline"])
    for title in (f"Allocations per {unit}", f"Temporary allocations per {unit}"):
        assert f"{title}\n{ABSENT}" in said, said
    time, _, *kept_and_made = said.split("\nstart – end\t")[1].split("\t")[:5]
    assert kept_and_made == [ABSENT] * 3 and (time == ABSENT) == (kind == "massif"), said


@pytest.mark.parametrize("kind", ["folded", "pprof"])
def test_without_moments_there_is_no_chart_of_time(seen, kind):
    for view, title in (("Overview", "Heap over time"), ("Timeline", "Consumed")):
        assert f"{title}\n{ABSENT}" in re.sub(r"\n+", "\n", seen[kind][view]), (kind, view)
    for view in ("Overview", "Flame graph", "Never freed & growth", "Memory"):
        for words in ("heap over time ·", "drag to select", "over time\t", "0 ns", "0.0 ms", "Select range"):
            assert words not in seen[kind][view], (kind, view, words)
    assert f"The size of each block is {ABSENT}" in seen[kind]["Sizes & lifetimes"]
    assert f"Growing\nunknown\n{ABSENT}" in re.sub(r"\n+", "\n", seen[kind]["Overview"])


def test_what_a_profile_does_not_count(seen):
    assert run_of(seen["pprof"]["Overview"])["reallocations"] == ABSENT
    temporary = seen["pprof"]["Overview"].split("Temporary allocations\n")[1]
    assert re.search(rf"temp\(\)[^\t]*\t50,000\t99 %\t{ABSENT}", temporary), temporary


def test_the_time_of_day_is_offered_where_it_is_known(seen):
    assert not [kind for kind in ("massif", "instructions") if "Time of day" in seen[kind]["Timeline"]]


def test_moments_are_in_the_unit_of_the_file(seen):
    for view in ("Overview", "Timeline"):
        assert "peak 200 B · 2.0M instr." in seen["instructions"][view], seen["instructions"][view]
    assert "heap over time · peak 200 B at 2.0M instr." in seen["instructions"]["Flame graph"]
    assert not re.search(r"\d m?s\b", "".join(seen["instructions"].values())), seen["instructions"]
