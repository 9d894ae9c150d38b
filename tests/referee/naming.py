"""Whose a stack is. That is the program's to decide (docs/findings.md): the referee takes the names from
the program's views and counts the blocks of those stacks itself."""

import collections
import functools
import json
import os
import re
import subprocess
from pathlib import Path


def ask(build, path, *options, may_fail=False):
    done = subprocess.run([str(Path(build) / "heaptrack_print"), *options, str(path)], check=False,
                          capture_output=True, text=True, timeout=600)
    assert may_fail or done.returncode == 0, done.stderr
    return done.stdout if done.returncode == 0 else ""


class Naming:
    """The stacks that are named after a function, that pass through one, that have no name."""

    def __init__(self, report, recorded, build, path):
        self.build, self.path, self.recorded = build, path, recorded
        self.frames, self.of_lines, self.suppressed = {}, {}, set()
        self.with_function = collections.defaultdict(dict)  # {function: {stack: its frames}}
        for table in report["json"]["sites"].values():
            for site in table:
                stack = tuple(int(f["address"], 16) for f in site["stack"] if not f["inlined"])
                self.frames[stack] = site["stack"]
                for frame in site["stack"]:
                    self.with_function[frame["function"]][stack] = site["stack"]
                self.of_lines.setdefault(self.lines(site["stack"]), set()).add(stack)
                if site.get("suppressed"):
                    self.suppressed.add(stack)

    @staticmethod
    def lines(frames):
        return tuple((f["function"], f["file"], f["line"], f["module"]) for f in frames)

    @functools.cache
    def not_suppressed(self, stacks):
        return tuple(stack for stack in stacks if stack not in self.suppressed)

    @functools.cache
    def parts(self, metric):
        text = ask(self.build, self.path, "--json", "--limit", "0", "--by", "site", "--lens", f"m={metric}")
        return json.loads(text)["parts"]

    def heaviest(self, n):
        """The largest sites at the peak, and of those that were never freed."""
        return sorted({re.sub(r"\+0x[0-9a-f]+$", ", no symbols", part["label"]) for metric in ("peak", "never-freed")
                       for part in self.parts(metric)[:n] if not part["is_rest"]})

    @functools.cache
    def named_after(self, function):
        text = ask(self.build, self.path, "--json", "--limit", "0", "--stacks", function, "--lens",
                   "m=allocations", may_fail=True)
        found = {}
        for item in json.loads(text)["stacks"] if text else []:
            site = next((f for f in item["stack"] if f["function"] == function), {"file": None, "module": None})
            found.setdefault((site["file"], site["module"]), set()).update(
                self.of_lines.get(self.lines(item["stack"]), ()))
        return found

    @functools.cache
    def candidates(self, function):
        """Sets of stacks that a finding about this function may be about, the likeliest first."""
        if function.endswith(", no symbols"):
            module = function.removesuffix(", no symbols")
            labels = [p["label"] for p in self.parts("allocations") if p["label"].startswith(module + "+0x")]
            named = set().union(*(s for label in labels for s in self.named_after(label).values()), set())
            return (tuple(sorted(named)),)
        by_file = self.named_after(function)
        named = set().union(*by_file.values(), set())
        through = self.with_function.get(function, {})
        own = {stack for stack, frames in through.items()
               if any(f["function"] == function and f["owner"] == "yours" for f in frames)}
        sets = [named | own, named, *by_file.values()]
        for file in {f["file"] for frames in through.values() for f in frames if f["function"] == function}:
            sets.append({stack for stack in own if any(
                f["function"] == function and f["file"] == file for f in self.frames[stack])})
        return tuple(dict.fromkeys(tuple(sorted(stacks)) for stacks in sets))

    def through(self, short, among):
        """Those of some stacks that pass through a function of this short name."""
        @functools.cache
        def bare(name):
            name = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", name))
            return re.sub(r"[^\w:~]", "", name.split("(")[0])
        wanted = bare(short.replace("(anonymous)", ""))
        return tuple(stack for stack in among if any(
            wanted in bare((f["function"] or "").replace("(anonymous namespace)", "")) or wanted == ""
            for f in self.frames.get(stack, [])))

    def unnamed(self):
        return tuple(stack for stack, frames in self.frames.items()
                     if any(re.search(r"\+0x[0-9a-f]+$", f["function"] or "+0x0") for f in frames))

    def callers(self, function, stacks):
        """Functions of the user's that called it, next outside."""
        found = set()
        for stack in stacks:
            frames = self.frames[stack]
            at = next((i for i, f in enumerate(frames) if f["function"] == function), len(frames))
            found.add(next(((f["function"], f["file"]) for f in frames[at + 1:] if f["owner"] == "yours" and
                            f["function"] != function and not re.search(r"\+0x[0-9a-f]+$", f["function"])), None))
        return len(found - {None})

    @staticmethod
    def base(path):
        return os.path.basename(path)
