#!/usr/bin/python3
"""Record random programs and hold the recordings to what the programs counted: judge.py SEEDS

    judge.py 0-299                  each seed in its turn; a line for each that differs, then a count
    judge.py 17 --keep DIR          what was built and recorded stays in DIR/17
    judge.py 0-299 --load 16        recorded beside so many busy loops
    judge.py 0-99 --kind musl       all of one kind

Seeds are numbers and ranges, joined by commas. $HEAPTRACK_BUILD says what is tried (build/). A seed
differs if the program behaves otherwise than alone, or one figure of any stack, thread or total is
not what the program counted. Exit status 0: none differs.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import generate

HERE = Path(__file__).resolve().parent
WORDS = ("allocations", "allocated_bytes", "temporary", "never_freed_blocks", "never_freed_bytes",
         "peak_blocks", "peak_bytes")
PATIENCE = 120  # seconds: for hangs, of a machine with nothing else to do
BATCH = 50      # seeds that are built, then recorded, then compared: only recording wants the load


class Impossible(Exception):
    """It cannot be tried here: a compiler is missing."""


def run(command, folder, patience, **more):
    """Its status (128 + n for signal n) and standard output. A hang is an error."""
    with open(folder / "stderr", "wb") as stderr:
        done = subprocess.run([str(word) for word in command], cwd=folder, timeout=patience,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
                              check=False, **more)
    return (128 - done.returncode if done.returncode < 0 else done.returncode), done.stdout


def build_program(program, folder, patience):
    if not shutil.which(program.compiler):
        raise Impossible(f"{program.compiler} is not installed")
    source = folder / ("program.cpp" if program.is_cpp else "program.c")
    source.write_text(program.source)
    for letter, text in program.plugins.items():
        (folder / f"{letter}.c").write_text(text)
        must(["musl-gcc" if program.is_musl else "gcc", "-g", "-O1", "-w", "-shared", "-fPIC", "-o",
              f"{letter}.so", f"{letter}.c"], folder, patience)
    places = [f'-DPLUGIN_{letter.upper()}="{folder}/{letter}.so"' for letter in program.plugins]
    must([program.compiler, *program.flags, *places, "-I", HERE, "-o", "program", source,
          *(["-ldl"] if program.plugins else [])], folder, patience)
    return folder / "program"


def must(command, folder, patience):
    status, _ = run(command, folder, patience)
    if status != 0:
        raise RuntimeError(f"{command[0]}: {(folder / 'stderr').read_text(errors='replace')[:2000]}")


# ---- what was recorded, in the words of the program


def chain(stack, frames):
    """The generated functions of a stack, innermost first; None if no call of theirs made it."""
    numbers, is_ours = [], False
    for index in stack["frames"]:
        name = frames[index]["function"] or ""
        if found := re.match(r"fn_(\d+)|main\b", name):
            numbers.append(int(found[1] or 0))
        elif name.startswith("warm_up"):
            return None
        elif not numbers:
            is_ours = is_ours or name.startswith(("w_", "__cxa_allocate_exception"))
    return tuple(numbers) if is_ours else None


def of_recording(document):
    """Costs by chain, in the order of WORDS, and what no call of the program's made."""
    costs = collections.defaultdict(lambda: [0] * len(WORDS))
    foreign = dict.fromkeys(WORDS, 0)
    for stack in document["stacks"]:
        functions = chain(stack, document["frames"])
        if functions is None:
            for word in WORDS:
                foreign[word] += stack[word]
        else:
            add(costs[functions], [stack[word] for word in WORDS])
    return costs, foreign


def of_truth(nodes, thread=None):
    costs = collections.defaultdict(lambda: [0] * len(WORDS))
    for node in nodes:
        if thread is None or node["thread"] == thread:
            add(costs[tuple(node["functions"])], node["costs"])
    return costs


def add(to, numbers):
    for i, number in enumerate(numbers):
        to[i] += number


def compare(title, expected, found, leave_out=()):
    """A line for each figure that differs, the first of them."""
    lines = []
    for functions in sorted(set(expected) | set(found)):
        for word, one, other in zip(WORDS, expected[functions], found[functions]):
            if one != other and word not in leave_out:
                path = "<".join(map(str, functions)) or "no function"
                lines.append(f"{title}: {word} of {path}: {other}, not {one}")
    return lines[:4] + ([f"{title}: {len(lines)} figures in all"] if len(lines) > 4 else [])


# ---- one seed


class Judged:
    """One program in a folder of its own, built, run, recorded."""

    def __init__(self, seed, kind, build, folder, patience):
        self.program = generate.Program(seed, kind)
        self.build, self.folder, self.patience = build, folder, patience
        self.recording = folder / "recording.zst"
        self.binary = build_program(self.program, folder, patience)

    def record(self, *options):
        folder = self.folder
        self.plain = run([self.binary, folder / "plain.json"], folder, self.patience)
        self.recorded = run([self.build / "heaptrack", "-o", self.recording, *options, self.binary,
                             folder / "truth.json"], folder, self.patience)
        if self.plain[0] == 0 or (folder / "truth.json").exists():
            self.truth = json.loads((folder / "truth.json").read_text())
        return self

    def ask(self, *options):
        status, text = run([self.build / "heaptrack_print", *options, self.recording], self.folder,
                           self.patience)
        if status != 0:
            raise RuntimeError((self.folder / "stderr").read_text(errors="replace")[:2000])
        return json.loads(text)

    def differences(self):
        """Lines that say what differs; none if all is as the program counted."""
        if self.plain != self.recorded:
            return [f"behaves otherwise: {self.recorded}, not {self.plain}"]
        allocations, frees, failed, forks, peak, highest, live, overflows = self.truth["totals"]
        if overflows:
            return [f"the program lost count {overflows} times"]
        program, nodes = self.program, self.truth["nodes"][1:]
        whole, report = self.ask("--export", "json=-"), self.ask("--json", "--limit", "1")
        costs, foreign = of_recording(whole)
        summary, quality = report["summary"], report["quality"]
        peaks = () if program.is_ordered or not program.n_workers else ("peak_blocks", "peak_bytes")
        short = ("peak_blocks", "peak_bytes") if "short_threads" in program.features and \
            not program.is_ordered else peaks

        lines = compare("stacks", of_truth(nodes), costs, short)
        ours = {"allocations": allocations, "never_freed_bytes": live,
                "never_freed_blocks": allocations - frees}
        for word, expected in ours.items():
            if summary[word] != expected + foreign[word]:
                lines.append(f"{word}: {summary[word]}, not {expected} + {foreign[word]}")
        least = peak + (foreign["peak_bytes"] if not short else 0)
        most = (peak if not short else highest) + foreign["peak_bytes"]
        if not least <= summary["peak_bytes"] <= most:
            lines.append(f"peak: {summary['peak_bytes']}, not {least} to {most}")
        expected = {"failed": failed, "lost_events": 0, "truncated_stacks": 0}
        found = {word: summary[word] for word in expected}
        for word in ("abandoned_hooks", "skipped_numbers", "unknown_frees", "double_allocations"):
            expected[word], found[word] = 0, quality[word]
        expected["children_forked"], found["children_forked"] = forks, quality["children_forked"]
        lines += [f"{word}: {found[word]}, not {expected[word]}" for word in expected
                  if found[word] != expected[word]]
        for name in sorted({node["thread"] for node in nodes}):
            part = self.ask("--export", "json=-", "--lens", f"threads={name}")
            lines += compare(f"thread {name}", of_truth(nodes, name), of_recording(part)[0], short)
        return lines


class Seed:
    """A seed on its way: built, recorded, compared. What goes wrong is what differs."""

    def __init__(self, number, kind, build, keep, patience):
        self.number, self.judged, self.lines, self.missing = number, None, [], None
        self.program, self.is_kept = generate.Program(number, kind), keep is not None
        if keep:
            self.folder = Path(keep).resolve() / str(number)
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
        else:
            self.folder = Path(tempfile.mkdtemp(prefix=f"random-{number}-")).resolve()
        self.how = (number, kind, build, self.folder, patience)

    def build(self):
        self.judged = Judged(*self.how)

    def record(self):
        self.judged.record()

    def compare(self):
        self.lines = self.judged.differences()

    def go(self, step):
        if self.lines or self.missing:
            return
        try:
            getattr(self, step)()
        except Impossible as missing:
            self.missing = str(missing)
        except (RuntimeError, subprocess.TimeoutExpired, ValueError, OSError) as error:
            self.lines = [f"{type(error).__name__}: {error}"]

    def end(self):
        if not self.is_kept:
            shutil.rmtree(self.folder, ignore_errors=True)


# ---- many


class Load:
    """Busy loops beside what is tried."""

    def __init__(self, n):
        self.n, self.loops = n, []

    def __enter__(self):
        self.loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                      for _ in range(self.n)]

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


def seeds_of(text):
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def show(seed):
    """Print what differs; the word that counts it."""
    if seed.missing:
        print(f"{seed.number}: not tried: {seed.missing}")
        return "not tried"
    if not seed.lines:
        return "agree"
    program = seed.program
    print(f"{seed.number}: {program.kind}, {' '.join(program.flags[1:])}, "
          f"{'ordered' if program.is_ordered else 'not ordered'}, {program.lock}, "
          f"{' '.join(sorted(program.features)) or 'plain'}")
    print("".join(f"    {line}\n" for line in seed.lines), end="", flush=True)
    return "differ"


def main():
    parser = argparse.ArgumentParser(description="Hold recordings of random programs to their truth.")
    parser.add_argument("seeds", help="numbers and ranges: 1,5,100-199")
    parser.add_argument("--kind", choices=generate.KINDS)
    parser.add_argument("--keep", metavar="DIR", help="leave what was made in DIR/SEED")
    parser.add_argument("--load", type=int, default=0, metavar="N", help="beside N busy loops")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    options = parser.parse_args()
    build = Path(os.environ.get("HEAPTRACK_BUILD") or HERE.parent.parent / "build").resolve()
    patience = PATIENCE * (1 + options.load)
    counts = collections.Counter()
    seeds = list(seeds_of(options.seeds))
    for first in range(0, len(seeds), BATCH):
        batch = [Seed(number, options.kind, build, options.keep, patience)
                 for number in seeds[first:first + BATCH]]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for step in ("build", "record", "compare"):
                with Load(options.load if step == "record" else 0):
                    list(pool.map(lambda seed: seed.go(step), batch))
        for seed in batch:
            counts[show(seed)] += 1
            seed.end()
    print(f"{len(seeds)} seeds: {counts['agree']} agree, {counts['differ']} differ, "
          f"{counts['not tried']} not tried")
    return 1 if counts["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
