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
    said = subprocess.run([build / "heaptrack_print", "--lens", lens, *options, file],
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
        shown = [line for line in text if re.match(r" +[\d.]+[kKMG]? +[\d.]+ +[\d,]+  ", line)]
        assert len(shown) == min(30, len([row for row in theirs["functions"] if row["blocks"]])), lens


@pytest.mark.timeout(300)
def test_threads_and_sizes(build, pages, modules):
    recording, page = pages.recording("threads"), pages.page("threads")
    mine, = ask_page(modules, ["m=bytes"], page)
    for what, key in (("tid", "tid"), ("size", "least")):
        said = json.loads(ask_list(build, recording, "m=bytes", "--by", what, "--json", "--limit", "0"))
        parts = sorted([p[key], p["blocks"], p["bytes"]] for p in said["parts"] if p.get(key) and p["blocks"])
        assert sorted(row for row in mine[what] if row[0] and row[1]) == parts and parts, what
