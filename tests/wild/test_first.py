"""The first finding of a program that nobody prepared names a function that KDE's stacks name, too.

wild_truth.py makes the lists from KDE's recordings and dpkg's packages alone; this test records with ours
and looks whether the first finding is about a function of the list of its cost. Where the program's own
functions have names, no address, no module and no "generated code" may stand in their place.
"""

import json
import re

import pytest

import programs
import recorders
import wild_truth as truth

SHORT = ("bc", "clang", "convert", "git-log", "gold", "jq", "redis", "sqlite3", "troff", "xz")
LISTS = json.loads(truth.FILE.read_text())
COSTS = {"never-freed": "never freed", "churn": "allocations", "one-size": "allocations",
         "handed-over": "allocations", "wrapper": "allocations"}  # else the peak
WITHOUT_NAME = re.compile(r"\+0x[0-9a-f]|^0x|, no symbols|generated code|<unknown>|^\?")

# Whose first finding names another function than the list, and why
DEVIATE = {
    "gdb": "Python's library, which it calls, has names", "gdb-python": "as gdb",
    "cwebp": "what grew was gone at the peak, and is in no list",
    "aspell": "the list counts what libstdc++ has first, without it Language holds more than 60 %",
    "msgfmt": "message_alloc, called from one place, is work by docs/findings.md (in some runs first)",
    "llvm-dwarfdump": "constructors without names hold a third of its peak, no function as much",
}


def test_few_deviate():
    assert len(DEVIATE) * 20 <= len(LISTS)


def params():
    rows = [row for row in programs.with_names() if row.name in LISTS]
    return [pytest.param(row, id=row.name, marks=[] if row.name in SHORT else [pytest.mark.long])
            for row in rows]


@pytest.fixture
def stage(program, tools, helpers, tmp_path):
    stage = recorders.Stage(program, tools, tmp_path, helpers)
    yield stage
    stage.finish()


def verdict(finding, known):
    """"" if the finding names whom it may name, else what is wrong."""
    cost = COSTS.get(finding["id"], "peak")
    lists = known[cost]
    allowed = {*lists["holds"], *lists["split"], *lists["foreign"]}
    if finding["id"] != "peak" and cost != "allocations":  # about what one function made
        allowed |= {*known["sites"]}
    if truth.plain(finding["function"]) in allowed:
        return ""
    is_nameless = WITHOUT_NAME.search(finding["function"]) and lists["unnamed"] >= 0.5
    return "" if is_nameless else f"not in {sorted(allowed)}"


@pytest.mark.parametrize("program", params())
def test_the_first_finding_names_whom_kdes_stacks_name(program, stage, tools):
    ours = stage.ours(0)
    assert ours.status == program.status, ours.stderr[-4000:]
    about = [finding for finding in ours.known["findings"] if finding["function"]]
    if not about:
        assert LISTS[program.name]["peak"]["own"] == 0, ours.known["findings"]
        return
    first = about[0]
    wrong = verdict(first, LISTS[program.name])
    assert not wrong or program.name in DEVIATE, (first["id"], first["function"], wrong, first["text"])
    # The text names the same one
    last = re.split(r"::|[ .]", truth.plain(first["function"]))[-1]
    report = " ".join(tools.print(ours.file).stdout.partition("FINDINGS")[2].split())
    assert last in first["text"] and first["text"][:60] in report, report[:2000]
