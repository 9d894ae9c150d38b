"""A recording of several processes (heaptrack --children): who they were, and each of them alone."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/referee"))

from figures import in_bytes



@pytest.fixture(scope="module")
def known(ask, pages):
    return ask(pages.recording("tree"))


@pytest.fixture(scope="module")
def seen(pages, browse):
    seen = browse("tree.mjs", pages.page("tree").as_uri(), "program")
    assert not seen["wrong"], seen["wrong"]
    return seen


@pytest.fixture(scope="module")
def first(known):
    """The one that is clicked: the first of its command in the tree."""
    return next(p for p in known["processes"] if p["command"] == "program")


def number(text):
    return int(text.replace(",", ""))


def breakdown(build, pages, by, lens):
    said = subprocess.run([build / "heaptrack_print", "--json", "--limit", "0", "--by", by, "--lens", lens,
                           pages.recording("tree")], capture_output=True, timeout=300, check=True).stdout
    return json.loads(said)["parts"]


def test_the_page_says_what_it_is(seen, known):
    n = len(known["processes"])
    names = ", ".join(c["name"] for c in known["commands"])
    assert f"{n} processes" in seen["header"] and f"of {names}" in seen["header"], seen["header"]
    assert seen["view"] == "v=threads"
    listed = ", ".join(f"{c['processes']} {c['name']}" for c in known["commands"])
    assert listed in seen["overview"].replace("\n", " "), seen["overview"]
    assert seen["chosen"]["flame"].startswith("tree of sh,"), seen["chosen"]["flame"]
    assert re.search(r"peak RSS, added up\n\d+\.\d MB", seen["overview"]), seen["overview"]
    assert "Recorded with --children or" in seen["memory"]


def test_each_process_has_its_figures(seen, known, build, pages):
    rows = seen["processes"]
    assert len(rows) == len(known["processes"]) > 6
    peak = {part["label"] + f" ({part['tid']})": part["bytes"] for part in breakdown(build, pages, "process", "")
            if not part["is_rest"]}
    by_name = {f"{p['command']} ({p['pid']})": p for p in known["processes"]}
    ids = {p["id"]: p for p in known["processes"]}
    above = {}
    curves = []
    for row in rows:
        p = by_name[row["process"]]
        status = "still running" if p["ended_ns"] is None else str(p["exit_status"])
        assert row["exit status"] == status, (row, p)
        assert number(row["allocations"]) == p["allocations"]
        for head, key in (("own peak", "peak_bytes"), ("never freed", "never_freed_bytes"), ("inherited", "inherited_bytes")):
            assert row[head] == in_bytes(p[key]), (head, row, p)
        assert row["at the peak"] == in_bytes(peak.get(row["process"], 0)), row
        for head, key in (("no longer shared", "dirtied_bytes"), ("most RSS seen", "peak_rss_bytes"), ("last PSS", "pss_bytes")):
            is_there = any(other[key] for other in known["processes"])
            assert row.get(head) == (in_bytes(p[key]) if p[key] else "not seen" if is_there else None), (head, row, p)
        has_curve = len(set(re.findall(r"L[\d.]+ ([\d.]+)h", row["curve"]))) > 1
        assert has_curve <= (p["peak_bytes"] > 0), (row, p)
        curves.append((p["command"], has_curve))  # of a short one there may be nothing at an edge
        above[row["indent"]] = row["process"]
        if p["parent"] is not None:  # it stands below its parent
            parent = ids[p["parent"]]
            outer = max(indent for indent in above if indent < row["indent"])
            assert above[outer] == f"{parent['command']} ({parent['pid']})", (row, above)
    assert ("program", True) in curves and ("cc1", True) in curves, curves
    assert any(p["exit_status"] == 3 for p in known["processes"]) and any(p["inherited_bytes"] for p in known["processes"])


def test_each_command_has_its_figures(seen, known, build, pages):
    counts = {c["name"]: c["processes"] for c in known["commands"]}
    for metric, head in (("peak", "at the peak"), ("never-freed", "never freed"), ("bytes", "allocated")):
        parts = {part["label"]: part["bytes"] for part in breakdown(build, pages, "command", f"m={metric}")}
        for row in seen["commands"]:
            assert row[head] == in_bytes(parts.get(row["command"], 0)), (metric, row)
            assert number(row["processes"]) == counts[row["command"]]
    assert sum(number(row["allocations"]) for row in seen["commands"]) == known["summary"]["allocations"]


def test_threads_say_whose_they_are(seen, known):
    """Those that are called alike in several processes; and what they left when those ended."""
    pids = {p["pid"] for p in known["processes"]}
    for row in seen["threads"]:
        tid = int(re.search(r"\((\d+)\)", row["thread"])[1])
        assert tid in pids or re.search(r" of \S+ \(\d+\)$", row["thread"]), row
    assert any(" of python" in row["thread"] for row in seen["threads"]), seen["threads"]
    assert any(row["never freed"] != "0 B" for row in seen["threads"])


def test_a_click_shows_one_process_in_every_view(seen, ask, pages, first, build):
    chosen = seen["chosen"]
    lens = f"process={first['pid']}"
    assert lens in chosen["hash"] and chosen["isPressed"] == "true"
    assert re.match(rf"process\s+program \({first['pid']}\)", chosen["chip"][0]), chosen["chip"]
    assert {int(re.search(r"\((\d+)\)", row["thread"])[1]) for row in chosen["threads"]} == {first["pid"]}
    peak = ask(pages.recording("tree"), lens)["totals"]
    assert in_bytes(peak["bytes"]) in chosen["flame"], (peak, chosen["flame"])
    never = ask(pages.recording("tree"), f"m=never-freed&{lens}")["totals"]
    rows = chosen["neverFreed"]
    assert sum(number(row["blocks never freed"].split(" of ")[0]) for row in rows) == never["blocks"] > 0
    assert "alive over time" in rows[0] and "never freed over time" not in rows[0]
    assert re.search(rf"largest {re.escape(in_bytes(first['peak_bytes']))} at", chosen["charts"][0]), chosen["charts"]
    assert f"--lens '{lens}'" in chosen["copied"], chosen["copied"]
    assert "process=" not in seen["removed"] and lens in seen["back"]
    assert f"{lens},program" in seen["both"]["hash"], seen["both"]


def test_the_one_that_is_chosen_is_seen(seen):
    colours = seen["chosen"]["colours"]
    assert [pressed for pressed, _ in colours].count("true") == 1
    assert len({colour for _, colour in colours}) == 2 and len(set(map(tuple, colours))) == 2, colours


def test_a_range_of_time(seen, build, pages):
    """What ended processes left is not told apart by time."""
    made = {f"{part['label']} ({part['tid']})": part["blocks"]
            for part in breakdown(build, pages, "process", "m=allocations&t=start-peak") if not part["is_rest"]}
    for row in seen["ranged"]["processes"]:
        assert number(row["allocations"]) == made.get(row["process"], 0), row
        assert not {"never freed", "own peak", "inherited"} & set(row), row
    made = {part["label"]: part["bytes"] for part in breakdown(build, pages, "command", "m=bytes&t=start-peak")}
    for row in seen["ranged"]["commands"]:
        assert row["allocated"] == in_bytes(made.get(row["command"], 0)) and "never freed" not in row, row


def test_bands_are_links_to_processes_and_commands(seen, known):
    names = {f"{p['command']} ({p['pid']})" for p in known["processes"]}
    labels = {re.match(r"Only (.*), at most", label)[1] for label in seen["bands"]["process"]["labels"]}
    assert labels <= names and len(labels) > 3, labels
    assert re.search(r"process=\d+", seen["bands"]["process"]["hash"]), seen["bands"]
    commands = {re.match(r"Only (.*), at most", label)[1] for label in seen["bands"]["command"]["labels"]}
    assert commands <= {c["name"] for c in known["commands"]} and len(commands) > 2
    assert re.search(r"process=\w", seen["bands"]["command"]["hash"]), seen["bands"]
    threads = seen["bands"]["thread"]["labels"]
    assert len(threads) == len(set(threads)), "threads that are called alike are one band"


def test_no_such_process_is_no_lens(seen):
    assert seen["unknown"] == []


def test_a_phone_shows_it_whole(seen):
    assert max(seen["overflow"]) <= 1, seen["overflow"]


def test_one_process_is_not_called_a_tree(pages, browse):
    views = browse("under_lens.mjs", pages.page("threads").as_uri(), "threads:")["views"]
    assert [name for name, _ in views[0]["tables"]] == ["Threads"], views


ALIKE = """
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept;
__attribute__((noinline)) void work(void) { kept = malloc(%d); usleep(20000); }
int main(void) { work(); return kept == NULL; }
"""


def test_functions_of_one_name_in_two_programs_are_two(build, tmp_path, browse):
    """Neither program has debug data: it stands beside each."""
    for name, size in (("early", 100_000), ("later", 300_000)):
        (tmp_path / f"{name}.c").write_text(ALIKE % size)
        subprocess.run(["cc", "-O1", "-o", tmp_path / name, tmp_path / f"{name}.c"], check=True, timeout=60)
    subprocess.run([build / "heaptrack", "-q", "--children", "-o", tmp_path / "a.zst", "sh", "-c",
                    f"{tmp_path}/early; {tmp_path}/later; true"], check=True, timeout=60)
    said = subprocess.run([build / "heaptrack_print", "--by", "function", tmp_path / "a.zst"], capture_output=True,
                          text=True, timeout=60, check=True).stdout
    assert set(re.findall(r" work  (\w+)$", said, re.M)) >= {"later"}, said
    subprocess.run([build / "heaptrack_print", "--html", tmp_path / "a.html", tmp_path / "a.zst"],
                   check=True, timeout=60)
    seen = browse("alike.mjs", (tmp_path / "a.html").as_uri(), "work")
    assert not seen["wrong"], seen["wrong"]
    assert sorted(row.split()[-1] for row in seen["rows"]) == ["early", "later"], seen
    assert [band for band in seen["bands"] if band.endswith("/early")] and \
        [band for band in seen["bands"] if band.endswith("/later")], seen


def test_processes_that_are_not_told_apart_are_refused(pages, browse, build):
    """The page showed nothing of them, without a word, and 0 B at the peak."""
    crowd = pages.recording("crowd")
    known = json.loads(subprocess.run([build / "heaptrack_print", "--json", crowd], capture_output=True, timeout=300,
                                      check=True).stdout)
    pids = [str(process["pid"]) for process in known["processes"] if process["command"] == "tree"]
    assert len(pids) == 1200
    seen = browse("crowd.mjs", pages.page("crowd").as_uri(), pids[0], pids[-1])
    assert not seen["wrong"], seen["wrong"]
    said = subprocess.run([build / "heaptrack_print", "--tree", "--lens", f"process={pids[-1]}", crowd],
                          capture_output=True, text=True, timeout=300, check=False)
    sentence = f"process={pids[-1]}: no such process, or its stacks are not told apart from those of others"
    assert said.returncode and sentence in said.stderr.replace('"', ""), said.stderr
    assert any(sentence in note for note in seen["notes"][pids[-1]]) and not seen["chips"][pids[-1]], seen
    assert not any("told apart" in note for note in seen["notes"][pids[0]]), seen
    assert f"tree ({pids[0]})" in seen["chips"][pids[0]][0], seen
    whole, part = seen["latest"][""], seen["latest"]["&t=10%-90%"]
    assert f"tree ({pids[-1]})" in whole["text"] and "not told apart" in whole["text"] and not whole["links"], seen
    assert part["links"] == 1 and "told apart" not in part["text"], "in a range it has no row"
    assert not seen["afterwards"], "what another address said is gone"


def test_threads_live_within_their_process(seen, known):
    """What ends with a process is seen a little later, and was said to live on."""
    ends = {p["pid"]: (p["started_ns"] / 1e6, (p["ended_ns"] or known["summary"]["duration_ns"]) / 1e6)
            for p in known["processes"]}
    short = 0
    for row in seen["threads"]:
        pid = int(re.findall(r"\((\d+)\)", row["thread"])[-1])
        first, last = (float(n) * (1000 if unit == "s" else 1) for n, unit in re.findall(r"([\d.]+)\s(m?s)", row["from – to"]))
        started, ended = ends[pid]
        assert started - 5 <= first <= last <= max(ended + 5, ended * 1.005), (row, started, ended)
        short += ended < known["summary"]["duration_ns"] / 1e6 - 10
    assert short > 3, "others end before the last"
