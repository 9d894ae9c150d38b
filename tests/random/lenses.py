#!/usr/bin/python3
"""Random lenses over a recording made with --events, against blocks counted one by one.

    lenses.py FILE [--lenses N] [--seed SEED]

What `heaptrack_print --json --lens` says in totals and by function is counted again over the events
of the file (events.py): by the moments of births and deaths, stack by stack. Prints each lens whose
figures differ; exit status 0: none does.
"""

import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import events

METRICS = ("peak", "never-freed", "kept", "allocations", "bytes", "temporary")
COSTS = ("bytes", "blocks", "allocations", "allocated_bytes", "temporary")


class Lens:
    """One question: its words, and by which of them a stack is left out."""

    def __init__(self, metric, time=None, texts=(), focus=None, hide=None, threads=()):
        self.metric, self.time, self.texts = metric, time, texts
        self.focus, self.hide, self.threads = focus, hide, threads

    def text(self):
        words = [f"m={self.metric}", "fold=0"]
        quote = urllib.parse.quote
        if self.time:
            words.append("t=" + "-".join(
                at if isinstance(at, str) else f"{at // 10**9}.{at % 10**9:09}" for at in self.time))
        words += [f"q={quote(text, safe='/!')}" for text in self.texts]
        words += [f"{word}={quote(name, safe='')}"
                  for word, name in (("focus", self.focus), ("hide", self.hide)) if name]
        if self.threads:
            words.append("threads=" + ",".join(quote(name, safe="") for name in self.threads))
        return "&".join(words)


def functions_of(recorded):
    """Names to ask for, of some of the stacks."""
    return sorted({frame[0] for node in {node for node, _ in recorded.stacks()[::7]}
                   for frame in recorded.frames(node) if frame[0]}) or ["main"]


def some_moment(dice, edges):
    """Anywhere, at an edge, or a nanosecond beside one."""
    last = edges[-1]["time_ns"]
    at = dice.choice(edges)["time_ns"] + dice.randint(-1, 1)
    return at if at >= 0 and dice.random() < 0.5 else dice.randrange(last + last // 50)


def some_lens(dice, recorded, functions):
    name = dice.choice(functions)
    texts = []
    if dice.random() < 0.5:
        part = re.sub(r"[()*&<>\[\].+?^$|\\{}!/ ,]", "", name)[:dice.randint(1, 8)]
        texts = [dice.choice((part, part.upper(), f"!{part}", "/^fn_[1-5]/", "!/[02468]$/", "program"))]
    time = None
    if recorded.edges:
        start, end = sorted(some_moment(dice, recorded.edges) for _ in range(2))
        time = dice.choice((None, (start, end), (start, end), ("start", end), (start, "end"),
                            ("peak", "end"), ("start", "peak")))
    threads = sorted(set(recorded.threads) - {""})
    return Lens(dice.choice(METRICS), time, texts,
                dice.choice(functions) if dice.random() < 0.3 else None,
                dice.choice(functions) if dice.random() < 0.3 else None,
                dice.sample(threads, dice.randint(1, len(threads)))
                if threads and dice.random() < 0.3 else ())


# ---- by hand


def is_named(function, name):
    """By its whole name, or by what stands before the first bracket."""
    return function == name or re.split(r"[(<]", function)[0] == re.split(r"[(<]", name)[0] == name


def holds(frames, text):
    is_negated = text.startswith("!")
    text = text.removeprefix("!")
    if text.startswith("/"):
        found = any(re.search(text[1:-1], word) for frame in frames for word in frame)
    else:
        found = any(text.lower() in word.lower() for frame in frames for word in frame)
    return found != is_negated


def shown(lens, recorded, stack):
    """The frames of a stack under a lens; None if it is left out."""
    node, thread = stack
    frames = recorded.frames(node)
    if not all(holds(frames, text) for text in lens.texts):
        return None
    if lens.threads and recorded.threads[thread] not in lens.threads:
        return None
    if lens.focus:
        calls = [i for i, frame in enumerate(frames) if is_named(frame[0], lens.focus)]
        if not calls:
            return None
        frames = frames[:calls[-1] + 1]
    return [frame for frame in frames if not (lens.hide and is_named(frame[0], lens.hide))]


def moments(recorded, first, last):
    """Blocks count as made that are born after the first, up to the second; live at the third.
    None: the end."""
    edges = recorded.edges
    start = edges[first]["time_ns"] if first >= 0 else -1
    end = edges[last]["time_ns"] if last < len(edges) else None
    within = range(first + 1, min(last, len(edges) - 1) + 1)
    at = max(within, key=lambda i: (edges[i]["bytes"], -i), default=None)
    return start, end, None if at is None else edges[at]["time_ns"]


def count(metric, recorded, first, last):
    """Costs of every stack in the range between two edges, by a metric."""
    start, end, at = moments(recorded, first, last)
    by_stack = collections.defaultdict(lambda: dict.fromkeys(COSTS, 0))
    for b in recorded.blocks:
        is_made = b.birth > start and (end is None or b.birth <= end)
        is_asked = {
            "peak": (b.birth <= at and (b.death is None or b.death > at)) if at is not None
            else b.death is None,
            "never-freed": is_made and b.death is None,
            "kept": is_made and (b.death is None or (end is not None and b.death > end)),
            "temporary": is_made and b.is_temporary,
        }.get(metric, is_made)
        costs = by_stack[b.stack]
        costs["bytes"] += b.size * is_asked
        costs["blocks"] += is_asked
        costs["allocations"] += is_made
        costs["allocated_bytes"] += b.size * is_made
        costs["temporary"] += is_made and b.is_temporary
    return by_stack


def add(to, costs):
    for word in COSTS:
        to[word] += costs[word]


def by_function(lens, recorded, by_stack):
    """Totals, costs with callees and own costs of each function's name, of stacks that cost."""
    total = dict.fromkeys(COSTS, 0)
    whole = collections.defaultdict(lambda: dict.fromkeys(COSTS, 0))
    own = collections.defaultdict(lambda: dict.fromkeys(COSTS, 0))
    for stack, costs in by_stack.items():
        frames = shown(lens, recorded, stack)
        if frames is None:
            continue
        add(total, costs)
        for function in {frame[0] for frame in frames}:
            add(whole[function], costs)
        if frames:
            add(own[frames[0][0]], costs)
    return total, whole, own


# ---- both


def ask(build, path, *options):
    done = subprocess.run([build / "heaptrack_print", "--json", "--limit", "0", "--disable-builtin-suppressions",
                           "--disable-embedded-suppressions", *options, path],
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return json.loads(done.stdout)


def snapped(lens, recorded):
    """The edges that a range goes to, outwards (docs/lens.md)."""
    edges = recorded.edges
    if not lens.time or not edges:
        return -1, len(edges)
    peak = max(range(len(edges)), key=lambda i: (edges[i]["bytes"], -i))
    known = {"start": -1, "peak": peak, "end": len(edges)}
    start, end = lens.time
    first = known[start] if isinstance(start, str) else recorded.edge_before(start)
    last = known[end] if isinstance(end, str) else recorded.edge_after(end)
    return first, max(last, first + 1)


def differences(lens, recorded, build, path):
    known = ask(build, path, "--by", "function", "--lens", lens.text())
    first, last = snapped(lens, recorded)
    said = known["lens"]["from_edge"], known["lens"]["to_edge"]
    is_whole = (first, last) == (-1, len(recorded.edges))
    if said != (first, last) and not (is_whole and said == (None, None)):
        return [f"edges {said}, by hand {(first, last)}"]
    by_stack = count(lens.metric, recorded, first, last)
    total, whole, own = by_function(lens, recorded, by_stack)
    # Bytes of temporary blocks in a range are a share by number (docs/lens.md)
    words = COSTS[1:] if lens.metric == "temporary" and lens.time else COSTS
    lines = [f"{word}: {known['totals'][word]}, by hand {total[word]}" for word in words
             if known["totals"][word] != total[word]]
    found = collections.defaultdict(lambda: dict.fromkeys(COSTS, 0))
    found_own = collections.defaultdict(lambda: dict.fromkeys(COSTS, 0))
    places = collections.Counter()
    for item in known["functions"]:
        places[item["function"]] += 1
        add(found[item["function"]], item)
        add(found_own[item["function"]], item["own"])
    for function in sorted(set(whole) | set(own)):
        for what, expected, got in (("", whole, found), ("own ", own, found_own)):
            if function and (what or places[function] <= 1):
                lines += [f"{what}{word} of {function}: {got[function][word]}, "
                          f"by hand {expected[function][word]}" for word in words
                          if got[function][word] != expected[function][word]]
    return lines


def main():
    parser = argparse.ArgumentParser(description="Hold lenses to blocks counted one by one.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--lenses", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    build = Path(os.environ.get("HEAPTRACK_BUILD") or
                 Path(__file__).resolve().parents[2] / "build").resolve()
    dice, recorded, n_wrong = random.Random(options.seed), events.Events(options.file), 0
    functions = functions_of(recorded)
    for _ in range(options.lenses):
        lens = some_lens(dice, recorded, functions)
        lines = differences(lens, recorded, build, options.file)
        n_wrong += bool(lines)
        if lines:
            print("\n    ".join([lens.text(), *lines[:6]]), flush=True)
    print(f"{options.lenses} lenses, {len(recorded.blocks)} blocks, {len(recorded.edges)} edges: "
          f"{n_wrong} differ")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
