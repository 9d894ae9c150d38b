"""Whose a stack is. That is the program's to decide (docs/findings.md): the referee takes the names from
the program's views and counts the blocks of those stacks itself."""

import collections
import functools
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path


def ask(build, path, *options, may_fail=False, is_text=True):
    with tempfile.TemporaryFile() as said:  # with one pipe alone, it is read in one go
        done = subprocess.run([str(Path(build) / "heaptrack_print"), *options, str(path)], check=False,
                              stdout=subprocess.PIPE, stderr=said, text=is_text, timeout=600)
        said.seek(0)
        assert may_fail or done.returncode == 0, said.read()
    return done.stdout if done.returncode == 0 else ""


BEGIN, NEXT = b'"stack":[{"function":', b'},{"function":'  # no text has a quote that is not escaped
ENDS = tuple(b'"owner":%s' % owner for owner in (b'"yours"', b'"library"', b"null")) + (b'"inlined":false', b'"inlined":true')


class Frames:
    """What --json says, of which most is stacks, and most of them the same frames: each is read once and shared.

    A program of 3 million allocations has 1.4 GB of it, and 30,000 frames."""

    def __init__(self, build, path):
        self.build, self.path, self.frames = build, path, {}

    def frame(self, part):
        if part not in self.frames:
            self.frames[part] = json.loads(b'{"function":%s}' % part)
        return self.frames[part]

    def ask(self, *options, may_fail=False):
        """A document, or None; its stacks are set apart before it is read."""
        text = ask(self.build, self.path, "--json", "--limit", "0", *options, may_fail=may_fail, is_text=False)
        first, *rest = text.split(BEGIN) if text else [b"null"]
        del text
        words, stacks = [first], []
        for number, part in enumerate(rest):
            end = part.find(b"}]")
            while not part.endswith(ENDS, max(0, end - 20), end):
                end = part.index(b"}]", end + 1)
            stacks.append([*map(self.frame, part[:end].split(NEXT))])
            words.append(b'"stack":%d%s' % (number, part[end + 2:]))
            rest[number] = None

        def put(item):
            if isinstance(item.get("stack"), int):
                item["stack"] = stacks[item["stack"]]
            return item
        return json.loads(b"".join(words), object_hook=put)


@functools.cache
def address(text):
    return int(text, 16)


@functools.cache
def line(*words):
    return words  # one tuple for all frames of that line


def chain(frames):
    """The addresses of a stack, innermost first."""
    return tuple(address(f["address"]) for f in frames if not f["inlined"])


class Naming:
    """The stacks that are named after a function, that pass through one, that have no name."""

    def __init__(self, report, recorded, build, path):
        self.frames_of, self.recorded = Frames(build, path), recorded
        self.frames, self.of_lines, self.suppressed = {}, {}, set()
        self.with_function = collections.defaultdict(dict)  # {function: {stack: its frames}}
        for table in report["json"]["sites"].values():
            for site in table:
                stack = chain(site["stack"])
                if site.get("suppressed"):
                    self.suppressed.add(stack)
                if stack in self.frames:
                    continue
                self.frames[stack] = site["stack"]
                for function in {frame["function"] for frame in site["stack"]}:
                    self.with_function[function][stack] = site["stack"]
                self.of_lines.setdefault(self.lines(site["stack"]), set()).add(stack)

    @staticmethod
    def lines(frames):
        return tuple(line(f["function"], f["file"], f["line"], f["module"]) for f in frames)

    @functools.cache
    def not_suppressed(self, stacks):
        return tuple(stack for stack in stacks if stack not in self.suppressed)

    @functools.cache
    def parts(self, metric):
        return self.frames_of.ask("--by", "site", "--lens", f"m={metric}")["parts"]

    def heaviest(self, n):
        """The largest sites at the peak, and of those that were never freed."""
        return sorted({re.sub(r"\+0x[0-9a-f]+$", ", no symbols", part["label"]) for metric in ("peak", "never-freed")
                       for part in self.parts(metric)[:n] if not part["is_rest"]})

    @functools.cache
    def named_after(self, function):
        known = self.frames_of.ask("--stacks", function, "--lens", "m=allocations", may_fail=True)
        found = {}
        for item in known["stacks"] if known else []:
            # Top levels of files are called alike, and those of packages are further in
            alike = [f for f in item["stack"] if f["function"] == function] or [{"file": None, "module": None}]
            site = next((f for f in alike if f.get("owner") == "yours"), alike[0])
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
