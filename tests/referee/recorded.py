"""What a recording holds, counted from its single events: stacks, what lives when, curves, shapes.

It shares no code with the program: tests/random/events.py reads the file by docs/trace-format.md alone.
Stacks of one chain of return addresses are one, whatever their threads, as in --json.
"""

import bisect
import collections
import functools
import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "random"))

import events

ATTACHED = 1  # what the source of a recording is then


class Recorded:
    """Blocks by stack (its addresses, innermost first), and the tables of the file."""

    def __init__(self, path):
        self.file = events.Events(Path(path))
        self.tables = self.file.tables
        self.meta, self.summary, self.quality = (self.tables[name][0] for name in
                                                 ("meta", "summary", "quality"))
        self.blocks = self.file.blocks
        self.of_stack = collections.defaultdict(list)
        self.chains = {0: ()}  # no node
        of_node = {}
        for block in self.blocks:
            node = block.stack[0]
            if node not in of_node:
                of_node[node] = self.of_stack[self.chain(node)]
            of_node[node].append(block)
        self.edges = [edge["time_ns"] for edge in self.tables["edges"]]
        self.end_ns = max([self.meta["duration_ns"], *self.edges])
        last = max(self.edges, default=0)  # a short idle end is no part of the run (docs/findings.md)
        self.run_ns = last + 1 if self.end_ns > last and self.end_ns - last <= self.end_ns // 4 else self.end_ns
        self.points = [*self.edges, self.run_ns]
        self.all = tuple(self.of_stack)
        self.peak, self.peak_ns = self.file.peak, self.file.peak_ns

    def text(self, number):
        return self.file.strings[number]

    def program(self):
        return self.text(self.meta["called"] or self.meta["exe"]).rsplit("/", 1)[-1]

    def chain(self, node):
        unknown = []
        while node not in self.chains:
            unknown.append(node)
            node = self.tables["nodes"][node]["parent"]
        chain = self.chains[node]
        for node in reversed(unknown):
            location = self.tables["nodes"][node]["location"]
            chain = self.chains[node] = (self.tables["locations"][location]["pc"], *chain)
        return chain

    def some(self, stacks):
        return itertools.chain.from_iterable(self.of_stack[stack] for stack in stacks)

    def live_at(self, stacks, moment, only_kept=False):
        return sum(b.size for b in self.some(stacks) if lives(b, moment) and not (only_kept and b.death is not None))

    def along(self, stacks, points, only_kept=False):
        """What they hold at each of some moments."""
        return summed(points, filter(is_left, self.some(stacks)) if only_kept else self.some(stacks))

    @functools.cache
    def at_points(self, stacks, only_kept=False):
        """The same at each edge of the time axis, and at the end."""
        return self.along(stacks, [*self.edges, self.end_ns], only_kept)

    @functools.cache
    def handovers(self):
        """Blocks and bytes by the thread that allocated them and the one that freed them."""
        counts = collections.defaultdict(lambda: [0, 0])
        for block in self.blocks:
            if block.freed_by is not None and block.freed_by != block.stack[1]:
                pair = counts[block.stack[1], block.freed_by]
                pair[0] += 1
                pair[1] += block.size
        return counts


def summed(points, blocks):
    """The bytes of blocks that live at each of some moments."""
    order = sorted(range(len(points)), key=points.__getitem__)
    ordered = [points[i] for i in order]
    find, changes = bisect.bisect_left, [0] * (len(points) + 1)  # by the first point at which they count
    for _, size, birth, death, *_ in blocks:
        changes[find(ordered, birth)] += size
        if death is not None:
            changes[find(ordered, death)] -= size
    out = [0] * len(points)
    for i, held in zip(order, itertools.accumulate(changes)):
        out[i] = held
    return out


def is_left(block):
    return block.death is None


def is_brief(block):
    return block.death is not None and block.is_brief


def lives(block, moment):
    return block.birth <= moment and (block.death is None or block.death > moment)


def straightness(times, values, from_ns, to_ns):
    """How much of the variance of 64 even samples a straight line explains (docs/findings.md)."""
    v = evenly(times, values, from_ns, to_ns)
    mean_x, mean_y = 31.5, sum(v) / 64
    xy = sum((i - mean_x) * (y - mean_y) for i, y in enumerate(v))
    xx, yy = sum((i - mean_x) ** 2 for i in range(64)), sum((y - mean_y) ** 2 for y in v)
    return xy * xy / (xx * yy) if yy else 0


def evenly(times, values, from_ns, to_ns):
    """64 samples, each the value of the last point before it."""
    moments = [from_ns + (to_ns - from_ns) * i / 63 for i in range(64)]
    return [values[max(0, bisect.bisect_right(times, moment) - 1)] for moment in moments]


def steady(times, values):
    """From when on it held between what and what, if it neither rose nor fell (docs/findings.md)."""
    least = max(values) * 0.45
    end = max(i for i, value in enumerate(values) if value >= least)
    v = evenly(times, values, 0, times[end])
    before, after = sum(v[32:48]) / 16, sum(v[48:]) / 16
    level = (before + after) / 2
    first = next(i for i, value in enumerate(values) if value >= level * 0.9)
    held = values[first:end + 1]
    is_so = abs(after - before) < level / 20 and times[first] <= times[-1] // 2 and min(held) >= least and \
        times[end] >= times[-1] // 10 * 9
    return is_so, times[first], min(held), max(held)


def rises(times, held, kept, part=0.1):
    """By how much both are higher at the end than in the tenth of the run before so much of what was kept came."""
    since = max(next(t for t, value in zip(times, kept) if value >= max(kept) * part), times[-1] // 20)
    before = max(0, since - times[-1] // 10)
    return [max(0, v[-1] - sum(evenly(times, v, before, since)) / 64) for v in (held, kept)]


def largest_fall(values):
    """How far it fell at most, from where to where; of equals the last."""
    most, top = (0, 0, 0), 0
    for i, value in enumerate(values):
        top = i if value >= values[top] else top
        if values[top] - value >= most[0]:
            most = values[top] - value, top, i
    return most


def waves(times, held, kept, from_ns, margin=1.0):
    """Did what was kept grow evenly below waves of what was held, or is it the last of these waves? Surely, with 1.1."""
    begin = next(i for i, t in enumerate(times) if t >= from_ns)
    grown = max(kept) - kept[begin]
    fell, _, low = largest_fall(held)
    if kept[low] - kept[begin] >= grown / 4 * margin:
        return "below" if fell >= grown / 2 * margin else None
    begin = max(begin, low) if kept[low] - kept[begin] < grown / 4 / margin else begin
    fell, top, low = largest_fall(held[:begin + 1])
    above = sum(times[i] - times[i - 1] for i in range(1, low + 1) if held[i] >= held[top] - fell // 2)
    is_alike = grown / 2 * margin <= fell <= grown * 4 / margin
    return "last" if is_alike and above >= (times[-1] - times[begin]) / 4 * margin else None


def stretch(times, values, at):
    """First and last point around one where no value is below half of it, and how long that is."""
    first = last = at
    while first > 0 and values[first - 1] > values[at] // 2:
        first -= 1
    while last + 1 < len(values) and values[last + 1] > values[at] // 2:
        last += 1
    begin, end = times[first], times[last]
    begin -= (begin - times[first - 1]) // 2 if first else 0
    end += (times[last + 1] - end) // 2 if last + 1 < len(times) else 0
    return first, last, end - begin


def times_above(blocks):
    """How often what is live rises above half of its top with less than a fifth of it before, by each event."""
    events = sorted((when, change) for b in blocks for when, change in ((b.birth, b.size), (b.death, -b.size))
                    if when is not None)
    values = list(itertools.accumulate(change for _, change in events))
    return bursts([when for when, _ in events], values)[0]


def bursts(times, values):
    """How often above half of its top with less than a fifth in between, how long, how far apart."""
    top, is_up, begins, lasted = max(values), False, [], 0
    for i, value in enumerate(values):
        if not is_up and value > top // 2:
            is_up = True
            begins.append(times[i])
            lasted += stretch(times, values, i)[2]
        elif is_up and value < top // 5:
            is_up = False
    n = len(begins)
    return n, lasted // max(n, 1), (begins[-1] - begins[0]) // (n - 1) if n > 1 else 0
