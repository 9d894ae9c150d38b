"""Lists hold the same rows with the same numbers on the page, in JSON and as text."""

import json
import re
import subprocess

import pytest
from page_recordings import EIGHT
from test_lens import ask_page

WEIGHTS = {"peak": "bytes", "allocations": "blocks", "bytes": "bytes", "never-freed": "bytes"}
GROUPS = ["function", "package", "module", "file"]


def ask_list(build, file, lens, *options):
    """Without a lens: the report."""
    about = ("--lens", lens) if lens else ()
    said = subprocess.run([build / "heaptrack_print", *about, *options, file],
                          capture_output=True, text=True, timeout=300, check=True).stdout
    return said


def bag(rows):
    return sorted(row for row in rows if row[1] or row[2])


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", EIGHT)
def test_lists_by_function_package_module_and_file(name, build, pages, modules):
    recording, page = pages.recording(name), pages.page(name)
    lenses = [f"m={metric}&group={group}" for group in GROUPS for metric in WEIGHTS]
    for lens, mine in zip(lenses, ask_page(modules, lenses, page), strict=True):
        group, weight = lens.split("group=")[1], WEIGHTS[lens.split("&")[0][2:]]
        theirs = json.loads(ask_list(build, recording, lens, "--by", group, "--json", "--limit", "0"))
        rows = [(f[group], f["own"][weight], f[weight]) for f in theirs["functions"] if f[group]]
        assert bag(tuple(f) for f in mine["functions"]) == bag(rows), lens
        ranked = [own if group != "function" else total for _, own, total in mine["functions"]]
        assert ranked == sorted(ranked, reverse=True), lens
        text = ask_list(build, recording, lens, "--by", group).splitlines()
        shown = [line for line in text if re.match(r" +[\d.]+[kKMG]? +<?[\d.]+ +[\d,]+  ", line)]
        assert len(shown) == min(30, len([row for row in theirs["functions"] if row["blocks"]])), lens


@pytest.mark.timeout(300)
def test_threads_and_sizes(build, pages, modules):
    recording, page = pages.recording("threads"), pages.page("threads")
    mine, = ask_page(modules, ["m=bytes"], page)
    for what, key in (("tid", "tid"), ("size", "least")):
        said = json.loads(ask_list(build, recording, "m=bytes", "--by", what, "--json", "--limit", "0"))
        parts = sorted([p[key], p["blocks"], p["bytes"]] for p in said["parts"] if p.get(key) and p["blocks"])
        assert sorted(row for row in mine[what] if row[0] and row[1]) == parts and parts, what


TITLES = {"PEAK": "peak", "NEVER FREED": "never-freed", "TEMPORARY": "temporary", "ALLOCATIONS": "allocations"}


def tables_of(text):
    """{metric: (rows of (name, bytes, share, blocks), of how many)}, as the report prints them."""
    found, rows = {}, []
    for line in text.splitlines():
        title = re.match("|".join(TITLES), line)
        form = re.fullmatch(r"  (.*?)(?:  .*)? +([\d.]+[KMGT]?) +(<1|\d+) +([\d,]+)", line)
        if title:
            found[TITLES[title[0]]] = rows = []
        elif form:
            rows.append(form.groups())
    return found


def is_same(mine, theirs):
    """A row of the report, whose name may be cut and whose "1.2K" is "1.2 kB", and one of the page."""
    function, first, _, second = theirs[:4]
    size, number = (first, second) if first.endswith("B") else (second, first)
    names = [re.sub(r"<[^<>]*>", "", name) for name in (function, mine[0])]
    is_named = re.fullmatch(re.escape(names[1]).replace("…", ".*"), names[0].replace("…", ""))
    return is_named and number == mine[3] and \
        size.removesuffix("B").replace(" ", "").upper() == mine[1].upper()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [*EIGHT, "threads", "keeping"])
def test_the_tables_of_the_overview_are_those_of_the_report(name, build, pages, browse):
    if name == "empty":
        pytest.skip("nothing was allocated")
    seen = browse("tables.mjs", pages.page(name).as_uri())
    assert not seen["wrong"], seen["wrong"]
    report = tables_of(ask_list(build, pages.recording(name), ""))
    assert {"peak"} <= set(report) <= set(seen["tables"])
    for metric, mine in report.items():
        theirs, below = seen["tables"][metric]["rows"], seen["tables"][metric]["below"]
        functions, runtime = ([row for row in mine if row[0].startswith("(the runtime") is is_so] for is_so in (False, True))
        more = [int(row[0].split()[1]) for row in functions if row[0].startswith("… ")]
        shown = [row for row in functions if not row[0].startswith("… ")]
        own = [row for row in theirs if row[0].startswith("(the runtime")]
        also = re.match(r"… ([\d,]+) more", below)
        assert len(theirs) - len(own) + int(also[1].replace(",", "") if also else 0) == len(shown) + sum(more), (metric, mine, theirs)
        assert len(own) == len(runtime) and all(map(is_same, runtime, own)), (metric, runtime, own)
        lost = [row for row in shown[:10] if not any(is_same(row, other) for other in theirs)]
        assert not lost, (metric, lost, theirs)
    if name == "keeping":
        assert "start" not in str(report["never-freed"]) and "keep" in str(report["never-freed"]), report


FILES = {
    "main.py": "import other, os\nkept = [bytearray(100000 + i) for i in range(30)]\nos._exit(0)  # all of it is kept\n",
    "other.py": "kept = [bytearray(3000 + i) for i in range(30)]\n",
}


def test_what_is_said_of_a_file_stands_beside_it_alone(build, tmp_path, browse):
    """The top levels of all files are called alike."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    subprocess.run([build / "heaptrack", "-q", "-o", tmp_path / "a.zst", "python3", tmp_path / "main.py"], check=True, timeout=60)
    subprocess.run([build / "heaptrack_print", "--html", tmp_path / "a.html", tmp_path / "a.zst"], check=True, timeout=60)
    seen = browse("tables.mjs", (tmp_path / "a.html").as_uri())
    alike = [row for row in seen["told"] if row[0] == "<module>"]
    assert len(alike) >= 2 and any(text for _, _, text in alike), seen["told"]
    assert all(place in text for _, place, text in alike if text), alike
