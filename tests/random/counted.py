"""Files of every kind, counted slowly by their documents alone; nothing of it is the program's.

Each has `edges`, `frames(node)` and `threads` as events.Events has them, `stacks()`, pairs of a node and
a thread, and `count(metric, first, last)`: what each stack cost between two edges, as docs/lens.md says.
"""

import collections
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import events
import foreign
import lenses


class OfEvents(events.Events):
    """A recording with single events: block by block."""

    def count(self, metric, first, last):
        return lenses.count(metric, self, first, last)


class OfTables(events.Events):
    """A recording without them: by the totals of its stacks and the intervals between edges."""

    def stacks(self):
        return sorted({self.stack_of(row) for row in self.tables["stacks"]})

    @staticmethod
    def stack_of(row):
        return row["node"], row["thread"]

    def count(self, metric, first, last):
        is_whole = first < 0 and last >= len(self.edges)
        by_stack = collections.defaultdict(lambda: dict.fromkeys(lenses.COSTS, 0))
        for stack, made, blocks, size, temporary in \
                self.whole(metric) if is_whole else self.ranged(metric, first, last):
            costs = by_stack[stack]
            costs["blocks"] += blocks
            costs["bytes"] += size
            costs["allocations"] += made[0]
            costs["allocated_bytes"] += made[1]
            costs["temporary"] += temporary
        return by_stack

    def whole(self, metric):
        words = {"peak": ("peak_blocks", "peak_bytes"), "never-freed": ("live_blocks", "live_bytes"),
                 "kept": ("live_blocks", "live_bytes"), "temporary": ("temporary", "temporary_bytes")}
        blocks, size = words.get(metric, ("allocations", "allocated_bytes"))
        for row in self.tables["stacks"]:
            yield self.stack_of(row), (row["allocations"], row["allocated_bytes"]), row[blocks], \
                row[size], row["temporary"]

    def ranged(self, metric, first, last):
        within = range(first + 1, min(last, len(self.edges) - 1) + 1)
        at = max(within, key=lambda i: (self.edges[i]["bytes"], -i), default=len(self.edges))
        for row in self.tables["intervals"]:
            begins, ends = row["from"], row["until"]
            is_made = first < begins <= last
            is_asked = {"peak": begins <= at < ends,
                        "never-freed": is_made and ends == events.NEVER,
                        "kept": is_made and ends > last}.get(metric, is_made)
            made = (row["count"] * is_made, row["bytes"] * is_made)
            blocks = row["temporary"] * is_made if metric == "temporary" else row["count"] * is_asked
            yield self.stack_of(self.tables["stacks"][row["stack"]]), made, blocks, \
                row["bytes"] * is_asked, row["temporary"] * is_made


class OfKde:
    """A file of KDE's heaptrack, format 3: a free ends the newest block of its size and stack."""

    def __init__(self, path, edges):
        self.edges, self.threads, self.blocks = edges, [""], []
        self.strings, self.nodes, self.places, infos = [""], [(0, 0)], [()], [(0, 0)]
        live, last, now, moment = collections.defaultdict(list), 0, 0, 0  # none is number 0, as KDE has it
        text = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
        for line in text.decode(errors="replace").split("\n"):
            words = line.split(" ")
            numbers = [int(word, 16) for word in words[1:]] if words[0] in tuple("+-aitc") else ()
            if words[0] == "s":
                self.strings.append(line.split(" ", 2)[2])
            elif words[0] == "i":
                self.places.append(tuple(numbers[1:]))
            elif words[0] == "t":
                self.nodes.append((numbers[1], numbers[0]))
            elif words[0] == "a":
                infos.append((numbers[0], numbers[1]))
            elif words[0] == "c":
                now = numbers[0] * 1000000
            elif words[0] in ("+", "-"):
                moment = max(moment + 1, now)
                moment += moment % events.PERIOD == 0
                if words[0] == "+":
                    size, node = infos[numbers[0] + 1]
                    live[numbers[0]].append(((node, 0), size, moment))
                    last = numbers[0]
                else:
                    if live[numbers[0]]:
                        self.blocks.append(events.Block(*live[numbers[0]].pop(), moment, last == numbers[0]))
                    last = 0
        for left in live.values():
            self.blocks += [events.Block(*block, None, False) for block in left]
        self.known_frames = {}

    stacks, count = events.Events.stacks, OfEvents.count
    edge_before, edge_after = events.Events.edge_before, events.Events.edge_after

    def frames(self, node):
        if node not in self.known_frames:
            found, at = [], node
            while at:
                parent, place = self.nodes[at]
                module, *rest = self.places[place] or (0,)
                rest += [0] * (-len(rest) % 3) or ([0, 0, 0] if not rest else [])
                for i in range(0, len(rest), 3):
                    found.append((self.strings[rest[i]], self.strings[rest[i + 1]], self.strings[module]))
                at = parent
            self.known_frames[node] = found
        return self.known_frames[node]

    def heap_at(self, time_ns):
        return sum(b.size for b in self.blocks
                   if b.birth <= time_ns and (b.death is None or b.death > time_ns))


class OfProfile:
    """A profile: totals of stacks, and no ranges. `samples`: frames, innermost first, and costs."""

    def __init__(self, samples):
        self.edges, self.threads, self.samples = [], [""], samples

    def stacks(self):
        return [(node, 0) for node in range(len(self.samples))]

    def frames(self, node):
        return [(name, "", "") for name in self.samples[node][0]]

    def count(self, metric, _first, _last):
        return {(node, 0): values[metric] for node, (_, values) in enumerate(self.samples)}


def of_pprof(path):
    """One of heaptrack's own, whose values have these names."""
    samples = []
    for stack, values in foreign.pprof(path)[1]:
        def costs(blocks, size, values=values):
            return {"bytes": values[size], "blocks": values[blocks], "allocations": values["alloc_objects"],
                    "allocated_bytes": values["alloc_space"], "temporary": values["temporary"]}
        live, made = costs("inuse_objects", "inuse_space"), costs("alloc_objects", "alloc_space")
        samples.append((stack[::-1], {"peak": costs("peak_objects", "peak_space"), "never-freed": live,
                                      "kept": live, "allocations": made, "bytes": made}))
    return OfProfile(samples)


def of_massif(path):
    """The tree of its peak: a place holds what those below it leave."""
    samples, lines = [], iter(path.read_text().splitlines())

    def walk(callees):
        head = re.match(r" *n(\d+): (\d+) (.*)", next(lines))
        below, size, what = int(head[1]), int(head[2]), head[3]
        place = re.match(r"0x[0-9A-F]+: (.*) \([^()]*\)$", what)
        name = place[1] if place else "(places below the threshold)"
        frames = [] if callees is None else [*callees, name]
        left = size - sum(walk(frames) for _ in range(below))
        if left:
            samples.append((frames, {"peak": {"bytes": left}}))
        return size

    for line in lines:
        if line == "heap_tree=peak":
            walk(None)
    return OfProfile(samples)
