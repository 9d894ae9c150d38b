#!/usr/bin/python3
"""Recomputes the figures of a report's sentences from the single events of a recording.

    referee.py FILE...        files recorded with --events; HEAPTRACK_BUILD or build/ has heaptrack_print

It shares no code with the program: blocks come from tests/random/events.py, which reads the file by
docs/trace-format.md alone; what a sentence claims is read out of its text, its numbers and its place,
and each is held against the blocks. Figures that a sentence states are also held against each other:
text, numbers, place and the totals at the top of the page must agree. Prints what is wrong; exit
status 0: nothing is.

Whose code a frame is, is the program's to decide (docs/findings.md): the referee takes it from the
frames of --json. Where that leaves a choice (a function of yours that only allocates for others), a
figure must lie between that of the stacks whose innermost frame of yours the function is, and that of
all stacks through it.
"""

import bisect
import collections
import functools
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "random"))

import events

SHORT_LIFE_NS, SHORT_LIFE_ALLOCATIONS = 1_000_000, 16  # docs/findings.md
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
TIMES = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
BYTES = r"([\d,.]+) (B|kB|MB|GB|TB)"
# Sentences about what single events do not hold
NOT_JUDGED = {"children", "allocators", "outside-heap", "outside-growing", "no-lines", "runtime",
              "no-script-names", "handed-over"}


def read_bytes(text):
    """The first figure of bytes in a text, and half of its last digit."""
    found = re.search(BYTES, text)
    number, unit = found[1].replace(",", ""), UNITS[found[2]]
    digits = len(number.split(".")[1]) if "." in number else 0
    return float(number) * unit, 0.51 * unit / 10 ** digits


def is_as_said(text, value):
    said, accuracy = read_bytes(text)
    return abs(said - value) <= accuracy


def percent(part, whole):
    share = 100 * part / whole if whole else 0
    if part == 0 or whole == 0:
        return "0 %"
    if share < 0.1:
        return "< 0.1 %"
    if share < 9.95:
        return f"{share:.1f} %"
    return "99 %" if part < whole and share > 99 else f"{share:.0f} %"


class Blocks:
    """All blocks of a recording, gathered by stack; what lived when."""

    def __init__(self, path):
        self.recorded = events.Events(path)
        self.of_stack = collections.defaultdict(list)
        for block in self.recorded.blocks:
            self.of_stack[block.stack[0]].append(block)
        self.edges = [edge["time_ns"] for edge in self.recorded.edges]
        changes = []
        for block in self.recorded.blocks:
            changes.append((block.birth, 1, block.size))
            if block.death is not None:
                changes.append((block.death, 0, -block.size))
        live = self.peak = self.peak_ns = 0
        for moment, _, size in sorted(changes):
            live += size
            if live > self.peak:
                self.peak, self.peak_ns = live, moment

    @functools.cache
    def functions(self, node):
        return [frame[0] for frame in self.recorded.frames(node)]

    @functools.cache
    def through(self, function):
        """Stacks that pass through a function."""
        return tuple(node for node in self.of_stack if function in self.functions(node))

    def some(self, nodes):
        return [block for node in nodes for block in self.of_stack[node]]

    @functools.cache
    def curve(self, nodes):
        """Moments at which what some stacks hold changes, and what they hold from then on."""
        changes = collections.Counter()
        for block in self.some(nodes):
            changes[block.birth] += block.size
            if block.death is not None:
                changes[block.death] -= block.size
        moments = sorted(changes)
        return moments, list(itertools.accumulate(changes[moment] for moment in moments))

    def live_at(self, nodes, moment):
        moments, held = self.curve(tuple(nodes))
        at = bisect.bisect_right(moments, moment)
        return held[at - 1] if at else 0


def lives(block, moment):
    return block.birth <= moment and (block.death is None or block.death > moment)


def is_brief(block):
    return block.death is not None and block.is_brief


class Referee:
    def __init__(self, path, build, report=None, blocks=None):
        self.blocks = blocks or Blocks(Path(path))
        self.report = report or ask(path, build)
        self.wrong = []
        self.yours = self.functions_of_yours()

    def functions_of_yours(self):
        yours = set()
        for table in self.report["json"]["sites"].values():
            for site in table:
                yours |= {f["function"] for f in site["stack"] if f["owner"] == "yours"}
        return yours

    def check(self, is_so, finding, what, *figures):
        if not is_so:
            self.wrong.append(f"{finding['id']}: {what} {figures or ''}: {finding['text']}")

    # ---- sums over blocks

    def bounds(self, function, weigh):
        """What the stacks of a site weigh: at least, at most."""
        least = most = 0
        for node in self.blocks.through(function):
            weight = sum(map(weigh, self.blocks.of_stack[node]))
            names = self.blocks.functions(node)
            inner = names[:names.index(function)]
            most += weight
            least += weight if not self.yours & set(inner) else 0
        return least, most

    def is_within(self, value, function, weigh):
        least, most = self.bounds(function, weigh)
        return least <= value <= most

    # ---- the top of the page

    def judge_totals(self):
        summary, text = self.report["json"]["summary"], self.report["text"]
        all_blocks = self.blocks.recorded.blocks
        left = [b for b in all_blocks if b.death is None]
        brief = sum(map(is_brief, all_blocks))
        truth = {"allocations": len(all_blocks), "peak_bytes": self.blocks.peak,
                 "peak_time_ns": self.blocks.peak_ns, "short_lived": brief,
                 "temporary": sum(b.is_temporary for b in all_blocks),
                 "never_freed_bytes": sum(b.size for b in left), "never_freed_blocks": len(left)}
        for name, value in truth.items():
            if name in summary and summary[name] != value:
                self.wrong.append(f"summary: {name} is {summary[name]}, counted {value}")
        page = {"peak heap": truth["peak_bytes"],  # suppressed blocks stand in --json alone
                "never freed": truth["never_freed_bytes"] - summary["suppressed_bytes"]}
        for name, value in page.items():
            line = re.search(rf"^  {name} .*$", text, re.M)
            if not line or not is_as_said(line[0], value):
                self.wrong.append(f"page: {name} is not {value}: {line and line[0]}")
        counts = {"allocations": len(all_blocks), "short-lived": brief}
        for name, value in counts.items():
            said = re.search(rf"\b{name} +([\d,]+)", text)
            if not said or int(said[1].replace(",", "")) != value:
                self.wrong.append(f"page: {name} is not {value}: {said and said[0]}")
        share = re.search(r"short-lived +[\d,]+  \((.*?)\)", text)
        if not share or share[1] != percent(brief, len(all_blocks)):
            self.wrong.append(f"page: share of short-lived: {share and share[1]}")

    # ---- findings

    def judge(self):
        self.judge_totals()
        for finding in self.report["json"]["findings"]:
            judge = getattr(self, "judge_" + finding["id"].replace("-", "_"), None)
            if judge:
                judge(finding, finding["numbers"], finding["text"])
            elif finding["id"] not in NOT_JUDGED:
                self.wrong.append(f"{finding['id']}: no rule of the referee judges it")
            self.judge_place(finding)
            self.judge_page(finding)
        self.judge_agreement()
        return self.wrong

    def judge_page(self, finding):
        """A sentence on the page is the one in --json."""
        page = " ".join(self.report["text"].split())
        if f"{finding['title']} {finding['text'][:40]}" in page and \
                " ".join(finding["text"].split()) not in page:
            self.check(False, finding, "the page says it otherwise")

    def judge_place(self, finding):
        """"demo.cpp:37" is a line of the function in some stack."""
        place = finding.get("place") or ""
        if not finding["function"] or ":" not in place:
            return
        file, line = place.rsplit(":", 1)
        lines = {(Path(frame["file"]).name, str(frame["line"]))
                 for table in self.report["json"]["sites"].values() for site in table
                 for frame in site["stack"] if frame["function"] == finding["function"] and frame["file"]}
        self.check(not lines or (file, line) in lines, finding, "its place is in no stack", place, lines)
        if finding["text"].startswith(tuple(n for n in (finding["function"].split("(")[0],) if n)):
            self.check(place in finding["text"], finding, "text and place differ", place)

    def judge_peak(self, finding, numbers, text):
        nodes = self.blocks.through(finding["function"])
        held = self.blocks.live_at(nodes, self.blocks.peak_ns)
        if finding["function"].endswith(", no symbols"):
            held = numbers["bytes"]  # of all frames of a module; its share is judged
        self.check(numbers["bytes"] == held, finding, "holds", numbers["bytes"], held)
        self.check(numbers["peak_bytes"] == self.blocks.peak, finding, "the peak is", self.blocks.peak)
        self.check(numbers["peak_ns"] == self.blocks.peak_ns, finding, "the peak was at", self.blocks.peak_ns)
        said = re.search(rf"holds? {BYTES} \((.*?) of the peak\)", text)
        self.check(said and is_as_said(said[0], held), finding, "says it holds", held)
        self.check(said and said[3] == percent(held, self.blocks.peak), finding, "says a share of",
                   percent(held, self.blocks.peak))
        if "without_bytes" in numbers:
            everything = tuple(self.blocks.of_stack)
            rests = [(self.blocks.live_at(everything, t) - self.blocks.live_at(nodes, t), -t)
                     for t in self.blocks.edges]
            most, when = max(rests)
            self.check(numbers["without_bytes"] == most and numbers["without_ns"] == -when, finding,
                       "without it there were", most, -when)
            self.check(is_as_said(text.split("the largest heap is")[1], most), finding, "says without", most)
        self.judge_split(finding, text, held)
        if "equal_blocks" in numbers:
            same = sum(b.size == numbers["equal_size"] for b in self.blocks.some(nodes)
                       if lives(b, self.blocks.peak_ns))
            self.check(same >= numbers["equal_blocks"], finding, "blocks of that size:", same)
        if "doubling_steps" in numbers:
            sizes = {b.size for b in self.blocks.some(nodes)}
            self.check(len(sizes) >= numbers["doubling_steps"], finding, "sizes:", len(sizes))

    def judge_split(self, finding, text, held):
        """", of it a() 4.0 MB, b() 3.0 MB and the rest 1.0 MB"."""
        said = re.search(r", of it (.*?)(?:, (?:among it|in) \d|;|\.$)", text)
        if not said:
            return
        parts = re.findall(rf"(?:^|, | and )(.*?) {BYTES}", said[1])
        total = accuracy = 0
        for name, number, unit in parts:
            value, half = read_bytes(f"{number} {unit}")
            total, accuracy = total + value, accuracy + half
            if name in ("itself", "the rest"):
                continue
            bare = name.split("(")[0].replace("<>", "")
            below = sum(self.blocks.live_at([node], self.blocks.peak_ns)
                        for node in self.blocks.through(finding["function"])
                        if any(bare in re.sub(r"<.*?>", "", f) for f in self.blocks.functions(node)))
            self.check(value - half <= below, finding, "of it:", name, value, below)
        if "the rest" in said[1]:
            self.check(abs(total - held) <= accuracy, finding, "parts sum to", total, held)
        else:
            self.check(total <= held + accuracy, finding, "parts exceed it", total, held)

    def judge_never_freed(self, finding, numbers, text):
        function = finding["function"]
        if function.endswith(", no symbols"):
            return
        is_left = lambda b: b.death is None
        for name, weigh in (("bytes", lambda b: b.size * is_left(b)), ("blocks", is_left),
                            ("allocations", lambda b: 1)):
            if name in numbers:
                self.check(self.is_within(numbers[name], function, weigh), finding, name, numbers[name],
                           self.bounds(function, weigh))
        if "blocks" in numbers and finding["id"] == "never-freed":
            self.check(f"{numbers['blocks']:,} of {numbers['allocations']:,} block" in text, finding,
                       "text and numbers differ")
            said = re.search(rf"block(?:s)?, {BYTES}", text)
            self.check(said and is_as_said(said[0], numbers["bytes"]), finding, "bytes in the text")
        if "rate_bytes_per_s" in numbers:
            self.judge_growth(finding, numbers, text, lambda b: b.death is None)

    def judge_growth(self, finding, numbers, text, counts):
        """A rate is what came in the window, within a fifth (a straight line is laid through points)."""
        nodes = self.blocks.through(finding["function"])
        seconds = (numbers["to_ns"] - numbers["from_ns"]) / 1e9
        most = [sum(b.size for b in self.blocks.some(nodes) if counts(b) and lives(b, t))
                for t in (numbers["from_ns"], numbers["to_ns"])]
        self.check(seconds > 0, finding, "window", numbers["from_ns"], numbers["to_ns"])
        if seconds > 0 and numbers["grown_bytes"]:
            rate = numbers["grown_bytes"] / seconds
            self.check(abs(rate - numbers["rate_bytes_per_s"]) <= rate / 5, finding, "rate", rate)
            self.check(numbers["grown_bytes"] <= (most[1] - most[0]) * 1.2 + 1000, finding, "grew by",
                       numbers["grown_bytes"], most[1] - most[0])
        said = re.search(rf"grew at an even {BYTES}/s", text) or re.search(rf"\({BYTES}/s\)", text)
        self.check(said and is_as_said(said[0], numbers["rate_bytes_per_s"]), finding, "rate in the text")
        grown = re.search(rf"grew by {BYTES}", text)
        self.check(not grown or is_as_said(grown[0], numbers["grown_bytes"]), finding, "growth in the text")

    def judge_level(self, finding, numbers, text):
        """What a site held at most: at the edges of the time axis, or never freed of it."""
        if finding["function"].endswith(", no symbols"):
            return
        nodes = self.blocks.through(finding["function"])
        tops = [self.blocks.live_at(nodes, t) for t in self.blocks.edges] + \
            [self.blocks.live_at(nodes, 1 << 62)]
        self.check(0 < numbers["bytes"] <= max(tops), finding, "never held", numbers["bytes"], max(tops))
        said = re.search(BYTES, text.split(": ", 1)[1] if ": " in text else text)
        self.check(said is not None, finding, "says no level")
        if "rate_bytes_per_s" in numbers:
            self.judge_growth(finding, numbers, text, lambda b: True)

    def judge_one_of_two(self, finding, numbers, text):
        (self.judge_never_freed if "blocks" in numbers else self.judge_level)(finding, numbers, text)

    judge_at_start = judge_allocated_once = judge_one_of_two
    judge_growing = judge_stopped_growing = judge_bursts = judge_level

    def judge_churn(self, finding, numbers, text):
        function, all_brief = finding["function"], sum(map(is_brief, self.blocks.recorded.blocks))
        duration = self.report["json"]["summary"]["duration_ns"]
        self.check(f"makes {percent(numbers['short_lived'], all_brief)} of the short-lived" in text, finding,
                   "share", percent(numbers["short_lived"], all_brief))
        self.check(f"{numbers['short_lived']:,} in all" in text, finding, "text and numbers differ")
        self.check(numbers["per_s"] == int(numbers["short_lived"] * 1e9 / duration), finding, "per second")
        if function.endswith(", no symbols"):
            return
        self.check(self.is_within(numbers["short_lived"], function, is_brief), finding, "short-lived blocks",
                   numbers["short_lived"], self.bounds(function, is_brief))
        if "size" in numbers:
            own = [b for b in self.blocks.some(self.blocks.through(function)) if is_brief(b)]
            same = sum(b.size == numbers["size"] for b in own)
            self.check(same >= numbers["short_lived"] * 0.8, finding, "of this size there are", same, len(own))
            word = "always" if same == len(own) else "usually"
            self.check(f"{numbers['size']:,} bytes" in text and (word in text or "usually" in text), finding,
                       "size in the text")

    def judge_one_size(self, finding, numbers, text):
        same = sum(b.size == numbers["size"] for b in self.blocks.some(self.blocks.through(finding["function"])))
        self.check(same >= numbers["blocks"], finding, "blocks of that size:", same)
        self.check(f"{numbers['blocks']:,} blocks of {numbers['size']:,} bytes" in text, finding,
                   "text and numbers differ")

    def judge_wrapper(self, finding, numbers, text):
        self.check(self.is_within(numbers["allocations"], finding["function"], lambda b: 1), finding,
                   "allocations", numbers["allocations"])
        self.check(percent(numbers["allocations"], len(self.blocks.recorded.blocks)) in text, finding, "share")

    def judge_all_freed(self, finding, numbers, _text):
        left = [b for b in self.blocks.recorded.blocks if b.death is None]
        self.check(numbers["runtime_bytes"] == sum(b.size for b in left), finding, "left are",
                   sum(b.size for b in left))
        self.check(numbers["runtime_blocks"] == len(left), finding, "left are", len(left))

    # ---- one against the other

    def judge_agreement(self):
        findings = self.report["json"]["findings"]
        ids = {f["id"] for f in findings}
        if "all-freed" in ids and "never-freed" in ids:
            self.wrong.append("all-freed and never-freed contradict each other")
        seen = set()
        for f in findings:
            key = (f["id"], f["function"], f["text"])
            if key in seen:
                self.wrong.append(f"said twice: {f['text']}")
            seen.add(key)
        kept = sum(f["numbers"].get("bytes", 0) for f in findings if f["id"] == "never-freed")
        left = self.report["json"]["summary"]["never_freed_bytes"]
        if kept > left:
            self.wrong.append(f"sites left {kept} B, the program {left} B")
        for f in findings:
            if re.search(r"\b(leaks?|leaked|harmless|a cache)\b(?!\.)|outside malloc|\bnone\b", f["text"]):
                self.wrong.append(f"says what was not measured: {f['text']}")


def ask(path, build):
    def run(*options):
        return subprocess.run([str(Path(build) / "heaptrack_print"), *options, str(path)], check=True,
                              capture_output=True, text=True, timeout=300).stdout
    return {"json": json.loads(run("--json", "--limit", "0")), "text": run()}


def main():
    build = os.environ.get("HEAPTRACK_BUILD", "build")
    wrong = [f"{path}: {line}" for path in sys.argv[1:] for line in Referee(path, build).judge()]
    print("\n".join(wrong) or "nothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
