"""One answer, whoever gives it: page, text and JSON, and a slow count by the documents alone.

Random lenses over nine files of every kind. The trees of page and JSON are compared path by path with the
one counted by tests/random/counted.py, to the byte; the text row by row with the JSON.
"""

import collections
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_lens import ask_page

TESTS = Path(__file__).resolve().parents[1]
for folder in ("random", "referee"):
    sys.path.insert(0, str(TESTS / folder))

import counted
import figures
import lenses

SHORT, LONG = 10, 200
NINE = ["demo", "threads", "attached", "forked", "kde", "massif", "pprof", "events", "cc1plus"]
NOT_SAID = {"massif": set(lenses.METRICS) - {"peak"}}  # by the file: its view is refused
UNNAMED = re.compile(r"(.*\+)?0x[0-9a-f]+$|\(unknown\)$")
ALL = (*lenses.COSTS, "own_bytes", "own_blocks")


def count_slowly(name, recording, build):
    if name == "kde":
        return counted.OfKde(recording, lenses.ask(build, recording)["timeline"])
    if name in ("massif", "pprof"):
        return getattr(counted, f"of_{name}")(recording)
    return (counted.OfEvents if name == "events" else counted.OfTables)(recording)


def label(function):
    """Without a name there is a module and an address, or nothing."""
    return "?" if not function or UNNAMED.match(function) else function


def tree_of(nodes, name):
    """Costs by the names from the root. Of equal paths the sum, in the order of ALL."""
    paths, found = {None: ()}, collections.defaultdict(lambda: [0] * len(ALL))
    for node in nodes:
        path = paths[node["id"]] = () if node["parent"] is None else \
            (*paths[node["parent"]], label(node[name]))
        for i, word in enumerate(ALL):
            found[path][i] += node[word] or 0  # null: another program's file does not say that
    return found


def tree_by_hand(lens, recorded, by_stack):
    found = collections.defaultdict(lambda: [0] * len(ALL))
    for stack, costs in by_stack.items():
        frames = lenses.shown(lens, recorded, stack) if any(costs.values()) else None
        if frames is None:
            continue
        path = tuple(label(frame[0]) for frame in reversed(frames))
        for depth in range(len(path) + 1):
            for i, word in enumerate(lenses.COSTS):
                found[path[:depth]][i] += costs.get(word, 0)
        found[path][-2] += costs["bytes"]
        found[path][-1] += costs.get("blocks", 0)
    return found


def columns_known(lens, name):
    """Which of ALL the slow count has: massif knows bytes of the peak alone; the bytes of temporary
    blocks are an estimate in ranges (docs/lens.md), and in profiles."""
    if name == "massif":
        return [0, 5] if lens.metric == "peak" else []
    if lens.metric != "temporary":
        return range(len(ALL))
    return [] if name == "pprof" else [1, 2, 3, 4, 6] if lens.time else range(len(ALL))


def only(tree, columns):
    """What costs anything in these columns."""
    cut = {path: [costs[i] for i in columns] for path, costs in tree.items()}
    return {path: costs for path, costs in cut.items() if any(costs)}


def first_difference(one, other):
    for path in sorted(set(one) | set(other)):
        if one.get(path) != other.get(path):
            return path, one.get(path), other.get(path)
    return None


def sorted_by(metric):
    return {"allocations": "blocks", "temporary": "temporary"}.get(metric, "bytes")


def row_of(item, metric):
    """The figures of a row of text."""
    own = item["own"][sorted_by(metric)]
    blocks = item["temporary" if metric == "temporary" else "blocks"]
    return [figures.in_table(item["bytes"]), "" if blocks is None else f"{blocks:,}",
            figures.in_table(own) if sorted_by(metric) == "bytes" else f"{own:,}"]


def rows_of(text, has_blocks):
    found = []
    for line in text.splitlines():
        row = re.match(rf" *(\S+) +(?:< ?)?[\d.]+ {'+' if has_blocks else '{12}'}(\S{'+' if has_blocks else '{0}'}) +(\S+)  (\S.*)", line)
        if row and row[1] != "bytes":
            found.append(([row[1], row[2], row[3]], row[4]))
    return found


def ask(build, recording, lens, *how):
    done = subprocess.run([build / "heaptrack_print", "--limit", "0", *how, "--lens", lens, recording],
                          capture_output=True, timeout=300, check=True)
    return done.stdout.decode()


def check_text(build, recording, lens):
    """Rows and first line of the text are those of the JSON; what the JSON says of functions."""
    text = ask(build, recording, lens.text(), "--by", "function")
    known = json.loads(ask(build, recording, lens.text(), "--by", "function", "--json"))
    totals = known["totals"]
    blocks = totals["temporary" if lens.metric == "temporary" else "blocks"]
    rows, items = rows_of(text, blocks is not None), [item for item in known["functions"] if item[sorted_by(lens.metric)]]
    more = re.search(r"^ *… ([\d,]+) more$", text, re.MULTILINE)
    n_shown = len(items) - (int(more[1].replace(",", "")) if more else 0)
    assert [row for row, _ in rows] == [row_of(item, lens.metric) for item in items[:n_shown]]
    for (_, name), item in zip(rows, items):
        stem = re.split(r"[(<]|  ", name)[0].strip()
        assert stem in (item["function"] or stem) or "…" in name, (name, item["function"])
    said = f": {figures.in_bytes(totals['bytes'])}"
    said += "" if blocks is None else f" in {blocks:,} block{'s' * (blocks != 1)}"
    assert said in text.splitlines()[0], (said, text.splitlines()[0])
    return known


def check_functions(known, lens, recorded, by_stack, columns):
    total, whole, _ = lenses.by_function(lens, recorded, by_stack)
    words = [lenses.COSTS[i] for i in columns if i < len(lenses.COSTS)]
    found = collections.defaultdict(collections.Counter)
    for item in known["functions"]:
        found[item["function"]].update({word: item[word] for word in words})
    for function, costs in whole.items():
        if function and not UNNAMED.match(function):
            assert all(found[function][word] == costs[word] for word in words), (function, costs)
    assert all(known["totals"][word] == total[word] for word in words), (known["totals"], total)


def some_lens(dice, name, recorded, functions):
    """Profiles are read without their files and modules here, so texts are names from end to end."""
    lens = lenses.some_lens(dice, recorded, functions)
    if isinstance(recorded, counted.OfProfile):
        lens.texts = [f"{dice.choice(('', '!'))}/^{re.escape(text)}$/" for text in
                      dice.sample(functions, dice.choice((0, 0, 1))) if len(text) < 60]
        if name == "massif" and dice.random() < 0.7:
            lens.metric = "peak"
    return lens


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", NINE)
def test_all_say_the_same(name, build, pages, modules, is_long):
    recording, page = pages.recording(name), pages.page(name)
    recorded = count_slowly(name, recording, build)
    if name == "kde":
        for edge in recorded.edges[::40]:
            assert recorded.heap_at(edge["time_ns"]) == edge["bytes"]
    dice = random.Random(f"four ways {name}")
    functions = lenses.functions_of(recorded)
    asked = [some_lens(dice, name, recorded, functions) for _ in range(LONG if is_long else SHORT)]
    asked += [lenses.Lens("peak", focus=one, hide=one) for one in dice.sample(functions, 1)]
    n_counted = 0
    for lens, mine in zip(asked, ask_page(modules, [lens.text() for lens in asked], page), strict=True):
        text = lens.text()
        if lens.metric in NOT_SAID.get(name, ()):
            with pytest.raises(subprocess.CalledProcessError) as refused:
                ask(build, recording, text, "--tree", "--json")
            assert refused.value.returncode == 1, text
            continue
        theirs = json.loads(ask(build, recording, text, "--tree", "--json"))
        told = {word: n for word, n in theirs["totals"].items() if n is not None}
        assert told == {word: mine["totals"][word] for word in told} and not mine["rest"], text
        assert (set(told) == set(theirs["totals"])) == (name not in NOT_SAID), (name, theirs["totals"])
        assert theirs["lens"]["moment_ns"] in (None, mine["moment_ns"]), text
        said = [i for i, word in enumerate(ALL) if theirs["tree"] and theirs["tree"][0][word] is not None]
        trees = tree_of(mine["tree"], "label"), tree_of(theirs["tree"], "function")
        assert only(trees[0], said) == only(trees[1], said), (text, first_difference(*trees))
        first, last = lenses.snapped(lens, recorded)
        is_whole = (first, last) == (-1, len(recorded.edges))
        assert is_whole or (theirs["lens"]["from_edge"], theirs["lens"]["to_edge"]) == (first, last), text
        known = check_text(build, recording, lens)
        columns = columns_known(lens, name)
        if columns:
            by_stack = recorded.count(lens.metric, first, last)
            slow = only(tree_by_hand(lens, recorded, by_stack), columns)
            assert only(trees[1], columns) == slow, (text, first_difference(only(trees[1], columns), slow))
            if name != "massif":
                check_functions(known, lens, recorded, by_stack, columns)
            n_counted += bool(slow)
    assert n_counted >= len(asked) // 4, "most lenses select nothing"
