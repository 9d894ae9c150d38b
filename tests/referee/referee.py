#!/usr/bin/python3
"""Recomputes every figure of a report from the single events of a recording.

    referee.py FILE...        files recorded with --events; HEAPTRACK_BUILD or build/ has heaptrack_print

It shares no code with the program: blocks come from tests/random/events.py, which reads the file by
docs/trace-format.md alone. sentences.py and quality_lines.py have the form of every sentence and what
its figures must be; documents.py every number of --json, every line of the text, and the page's data. A sentence, a line or
a number that they do not know is an error. Prints what is wrong; exit status 0: nothing is.
"""

import bisect
import os
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents
import quality_lines
import sentences
from naming import Frames, Naming, ask
from pages import LISTED, Page
from recorded import Recorded


class Referee:
    def __init__(self, path, build, report=None, recorded=None):
        self.recorded = recorded or Recorded(path)
        self.report = report or report_of(path, build)
        self.naming = Naming(self.report, self.recorded, build, path)
        self.totals = documents.totals(self.recorded, tuple(self.naming.suppressed))
        self.wrong = []

    def edge_behind(self, moment):
        points = self.recorded.points
        return points[min(bisect.bisect_left(points, moment), len(points) - 1)]

    def judge(self):
        if not self.recorded.file.is_whole:
            return []  # the oldest events were dropped by their budget: nothing can be recounted
        for finding in self.report["json"]["findings"]:
            if finding["id"] in sentences.FORMS:
                sentences.Sentence(self, finding).judge()
            elif finding["id"] not in quality_lines.QUALITY:
                self.wrong.append(f"{finding['id']}: no rule of the referee judges it")
            self.judge_place(finding)
        for line in self.report["json"]["quality"]["sentences"]:
            self.wrong += quality_lines.judge_quality(self, line)
        for judge in (documents.judge_json, documents.judge_text, documents.judge_page,
                      documents.judge_lists, documents.judge_first_screen):
            self.wrong += judge(self)
        self.judge_agreement()
        return self.wrong

    def judge_place(self, finding):
        """"demo.cpp:37" is a line of the function in some stack, and the one that the text has."""
        place = finding.get("place") or ""
        if not finding["function"] or ":" not in place:
            return
        file, line = place.rsplit(":", 1)
        lines = {(Path(frame["file"]).name, str(frame["line"])) for frames in self.naming.frames.values()
                 for frame in frames if frame["function"] == finding["function"] and frame["file"]}
        if lines and (file, line) not in lines:
            self.wrong.append(f"{finding['id']}: its place is in no stack: {place}")
        if finding["id"] not in ("handed-over", "no-growth") and place not in finding["text"]:
            self.wrong.append(f"{finding['id']}: text and place differ: {place}: {finding['text']}")

    # ---- one sentence against another

    def judge_agreement(self):
        findings = self.report["json"]["findings"]
        of = {}
        for finding in findings:
            of.setdefault(finding["id"], []).append(finding)
        left = [f for f in findings if "blocks" in f["numbers"] and f["id"] in ("never-freed", "at-start", "allocated-once")]
        if "all-freed" in of and left:
            self.wrong.append(f"nothing was left, and something was: {left[0]['text']}")
        grown = [f["numbers"].get("grown_bytes", 0) for f in findings if f["id"] != "no-growth"]
        if any(f["numbers"]["grown_bytes"] <= max(grown) for f in of.get("no-growth", []) if any(grown)):
            self.wrong.append("the heap is said to have grown beside something that grew by more")
        if len({(f["id"], f["function"], f["text"]) for f in findings}) < len(findings):
            self.wrong.append("a sentence is said twice")
        sums = {"bytes of what was never freed": (sum(f["numbers"]["bytes"] for f in left), self.totals["never_freed_bytes"]),
                "short-lived blocks": (sum(f["numbers"]["short_lived"] for f in of.get("churn", [])), self.totals["short_lived"])}
        for what, (part, whole) in sums.items():
            if part > whole:
                self.wrong.append(f"the {what} sum to {part} of {whole}")
        for finding in left:
            freed = re.search(r"; freed only at the end|held to the end", finding["text"])
            if freed or any(f["function"] == finding["function"] and "freed only at the end" in f["text"] and
                            f["numbers"].get("bytes", 0) <= finding["numbers"]["bytes"] for f in findings):
                self.wrong.append(f"never freed, and freed at the end: {finding['text']}")
        says = self.report["json"]["quality"]["verdict"]
        losses = self.report["json"]["summary"]["lost_events"] or not self.report["json"]["summary"]["complete"]
        if says == "recording complete" and losses:
            self.wrong.append("recording complete, beside losses")
        for finding in findings:
            if re.search(r"\b(leaks?|leaked|harmless|a cache)\b(?!\.)|outside malloc|\bnone\b", finding["text"]):
                self.wrong.append(f"says what was not measured: {finding['text']}")


def report_of(path, build):
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        ask(build, path, "--html", page)
        page = Page(page.read_text(encoding="utf-8"))
    return {"json": Frames(build, path).ask(), "text": ask(build, path), "full": ask(build, path, "--full"),
            "facts": page.facts, "listed": {metric: page.listed(metric) for metric in LISTED}}


def main():
    build = os.environ.get("HEAPTRACK_BUILD", "build")
    status = 0
    for path in sys.argv[1:]:
        wrong = Referee(path, build).judge()
        status |= bool(wrong)
        print("".join(f"{path}: {line}\n" for line in wrong) or f"{path}: nothing is wrong", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
