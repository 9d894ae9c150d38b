"""Exports under random lenses: each sums to the totals of --json, and what is read back is the same."""

import csv
import gzip
import json
import random
import re
import urllib.parse

import foreign
import pytest
from test_exports import export, made  # noqa: F401  (made is a fixture)

KNOWN = {  # what the formats that can be read carry
    "pprof": ["allocations", "allocated_bytes", "temporary", "peak_blocks", "peak_bytes",
              "never_freed_blocks", "never_freed_bytes"],
    "dhat": ["allocations", "allocated_bytes", "peak_blocks", "peak_bytes", "never_freed_blocks",
             "never_freed_bytes"],
    "massif": ["peak_bytes", "never_freed_bytes"],
}
SPEEDSCOPE = {"peak, bytes": "peak_bytes", "never freed, bytes": "never_freed_bytes",
              "allocated, bytes": "allocated_bytes", "allocations": "allocations",
              "temporary allocations": "temporary"}
CALLGRIND = {"PeakBytes": "peak_bytes", "NeverFreedBytes": "never_freed_bytes",
             "AllocatedBytes": "allocated_bytes", "Allocations": "allocations",
             "Temporary": "temporary"}
SHOWN = {"peak": "peak_bytes", "never-freed": "never_freed_bytes", "kept": "never_freed_bytes",
         "allocations": "allocations", "bytes": "allocated_bytes", "temporary": "temporary"}


def random_lens(rng):
    functions = ["table", "recurse", "churn", "main", "worker", "row", "cell", "nothing"]
    words = [f"m={rng.choice(list(SHOWN))}"]
    if rng.random() < 0.4:
        a, b = sorted(rng.sample(range(0, 101, 5), 2))
        words.append(rng.choice([f"t={a}%-{b}%", f"t={a}%-end", "t=peak", f"t=start-{b}%"]))
    for key in ("q", "focus", "hide"):
        if rng.random() < 0.3:
            words.append(f"{key}={rng.choice(functions)}")
    words += [word for word in ("q=!churn", "q=/^t.*e$|row/", "fold=0", "threads=program")
              if rng.random() < 0.15]
    if rng.random() < 0.2:
        words.append(f"group={rng.choice(['package', 'module', 'file'])}")
    return "&".join(urllib.parse.quote(word, safe="=-") for word in words)


def answer(tools, file, lens, metric):
    words = "&".join([word for word in lens.split("&") if not word.startswith("m=")] + [f"m={metric}"])
    return json.loads(tools.print(file, "--json", "--lens", words).stdout)


def expected_of(tools, file, lens):
    """What --json says, metric by metric."""
    peak, live, bytes_ = (answer(tools, file, lens, metric) for metric in
                          ("peak", "kept" if "m=kept" in lens else "never-freed", "bytes"))
    moment_ns = peak["lens"]["moment_ns"]
    peak, live, bytes_ = peak["totals"], live["totals"], bytes_["totals"]
    return moment_ns, {"allocations": bytes_["allocations"], "temporary": bytes_["temporary"],
            "allocated_bytes": bytes_["allocated_bytes"], "peak_blocks": peak["blocks"],
            "peak_bytes": peak["bytes"], "never_freed_blocks": live["blocks"],
            "never_freed_bytes": live["bytes"]}


def stacks_of(document):
    """An empty stack, all of whose frames are hidden, has a name where a format needs one."""
    names = [frame["function"] for frame in document["frames"]]
    stacks = [(tuple(names[i] for i in reversed(stack["frames"])), stack)
              for stack in document["stacks"]]
    return [(() if frames == ("(no stack)",) else frames, stack) for frames, stack in stacks]


def with_inlining(document, what):
    """{stack of (function, is it inlined): sum}: equal only if inlined frames stand in their order.

    Of a frame that a focus made the outermost one there is nothing left that it is inlined into.
    """
    frames = [(frame["function"], frame["inlined"]) for frame in document["frames"]]
    outermost = [(name, False) for name, _ in frames]
    return foreign.summed([((*(frames[i] for i in stack["frames"][:-1]),
                             *(outermost[i] for i in stack["frames"][-1:])), stack)
                           for stack in document["stacks"]], what)


def check_exports(paths, expected, moment_ns, lens):
    document = json.loads(paths["json"].read_bytes())
    stacks = stacks_of(document)
    assert document["totals"] == expected, lens
    for what in expected:
        assert sum(values[what] for _, values in stacks) == expected[what], (lens, what)
    with open(paths["csv"], newline="") as file:
        rows = list(csv.DictReader(file))
    for what in expected:
        assert sum(int(row[what]) for row in rows) == expected[what], (lens, what)
    profiles = foreign.speedscope(json.loads(paths["speedscope"].read_bytes()))
    for theirs, ours in SPEEDSCOPE.items():
        assert dict(profiles[theirs]) == foreign.summed(stacks, ours), (lens, theirs)
    shown = SHOWN[re.search("m=([a-z-]+)", lens)[1]]
    weights = foreign.folded(paths["folded"].read_text())
    assert sum(weights.values()) == expected[shown], lens
    text = paths["callgrind"].read_text()
    events = re.search(r"^events: (.+)$", text, re.MULTILINE)[1].split()
    sums = map(int, re.search(r"^summary: (.+)$", text, re.MULTILINE)[1].split())
    assert dict(zip(events, sums)) == {key: expected[ours] for key, ours in CALLGRIND.items()}, lens
    check_firefox(paths["firefox"], expected, moment_ns, lens)


def check_firefox(path, expected, moment_ns, lens):
    """What its blocks held at the peak; without a range, what is left was never freed."""
    table, left = foreign.firefox(json.loads(gzip.decompress(path.read_bytes())))
    at_peak = sum(weight for weight, ms in zip(table["weight"], table["time"])
                  if round(ms * 1e6) <= moment_ns)
    assert at_peak == expected["peak_bytes"], lens
    if "t=" not in lens:
        assert left == expected["never_freed_bytes"], lens
        made_here = sum(weight for weight in table["weight"] if weight > 0)
        assert made_here == expected["allocated_bytes"], lens


def check_read_back(name, read, document, lens):
    """A range may hold at its peak what was made before it: read back, that was allocated as well."""
    ours, theirs = stacks_of(document), stacks_of(read)
    for what in KNOWN[name]:
        if "t=" in lens and what.startswith("alloc"):
            assert read["totals"][what] >= document["totals"][what], (lens, name, what)
            continue
        assert read["totals"][what] == document["totals"][what], (lens, name, what)
        assert foreign.summed(theirs, what) == foreign.summed(ours, what), (lens, name, what)
        if name == "pprof":
            assert with_inlining(read, what) == with_inlining(document, what), (lens, what)


@pytest.mark.timeout(1800)
def test_exports_under_random_lenses(made, tmp_path, is_long):  # noqa: F811
    tools, recording = made
    rng = random.Random(20261121)
    for _ in range(200 if is_long else 14):
        lens = random_lens(rng)
        paths = export(tools, recording.file, tmp_path, "--lens", lens, "--massif-threshold", "0",
                       json=1, csv=1, pprof=1, dhat=1, massif=1, speedscope=1, callgrind=1, folded=1,
                       firefox=1)
        moment_ns, expected = expected_of(tools, recording.file, lens)
        check_exports(paths, expected, moment_ns, lens)
        document = json.loads(paths["json"].read_bytes())
        for name in KNOWN:
            back = tmp_path / "back.json"
            tools.print(paths[name], "--export", f"json={back}")
            check_read_back(name, json.loads(back.read_bytes()), document, lens)
