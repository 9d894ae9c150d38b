#!/usr/bin/python3
"""Which functions a first finding may name: tests/wild/wild_truth.py [PROGRAM...] makes truth.json anew.

Nothing of ours has a part in it: KDE's heaptrack records the program, its interpreter puts names to
the stacks, dpkg says what belongs to the program. Of each cost (bytes at the peak, bytes never freed,
allocations) two lists are kept:

  holds   the deepest functions of the product that, with what they call, make more than 60 % of it;
          where a function is in a cycle with others, these, too
  split   the three functions of the product that make most of it themselves, and who shares the
          bytes of the first of `holds` among them: the next functions below it, at most three

and, for findings about what one function made, all that made 1 % of the peak or of what is left
themselves ("sites").

A function is of the product if its module is of the same source package as the program, in a folder
that the system keeps for the program, or of no package at all. C++'s own functions are not work, nor
those that hand memory out, unless there is nothing else: at the inner end of a stack, with a name that
ends in "alloc", "strdup" and the like, or that only speaks of it and has three callers. Where the
product has no name, named functions of other packages than the C library are kept ("foreign"). The shares of
what has a name of the product ("own") and of what has none at all ("unnamed") stand beside the lists.
"""

import collections
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

INTERPRET = "/usr/lib/heaptrack/libexec/heaptrack_interpret"
FILE = Path(__file__).with_name("truth.json")
MOST = 0.6
# By name alone, as an onlooker would: the last word says that it hands out memory
HANDS_OUT = re.compile(r"(alloc|malloc|calloc|realloc|memdup|strn?dup|memalign|Memory)"
                       r"(_?(n|0|array|aligned|or_die|safe|zero|bytes|internal|small|large|raw))*\d*$", re.I)
SPEAKS_OF_IT = re.compile(r"alloc|memory|strn?dup|memdup", re.I)
LANGUAGE = re.compile(r"^(std|__gnu_cxx|__cxxabiv1)::|(^|::)operator (new|delete)|^(_start|call_init|__libc_csu_init|"
                      r"__libc_start_main|__libc_start_call_main|_init)$")
SYSTEM = re.compile(r"/(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s|ld-linux[^/]*)\.so[^/]*$"
                    r"|/libheaptrack_preload\.so$")


# ---- names

def plain(name):
    """A function without its parameters, template arguments and return type."""
    name = re.sub(r"\s*\[clone[^]]*\]|\.(part|cold|constprop|isra|lto_priv|llvm)\.?\d*", "", name)
    name = name.replace("(anonymous namespace)", "{anon}").replace("operator()", "{call}")
    name = re.sub(r"operator(<<=?|>>=?|<=>?|>=?|->\*?|<)", lambda m: "operator" + "".join(
        {"<": "{lt}", ">": "{gt}"}.get(c, c) for c in m[1]), name)
    depth, out = 0, ""
    for char in name:
        if char == "<" and out:
            depth += 1
        elif char == ">" and depth:
            depth -= 1
        elif char == "(" and not depth:
            break
        elif not depth:
            out += char
    words = re.search(r"(\S*operator( new| delete|\s\S.*)?.*|\S+)\s*$", out)
    out = words[1] if words else out
    for mark, text in (("{anon}", "(anonymous namespace)"), ("{call}", "operator()"), ("{lt}", "<"),
                       ("{gt}", ">")):
        out = out.replace(mark, text)
    return out.strip()


# ---- packages

@functools.cache
def package_of(module):
    """The source package of a file, by dpkg; None if it is of none."""
    real = os.path.realpath(module)
    paths = {p for path in (module, real) for p in (path, "/usr" + path, path.removeprefix("/usr"))}
    for path in sorted(paths):
        done = subprocess.run(["dpkg", "-S", path], capture_output=True, check=False, text=True)
        if done.returncode == 0:
            binary = done.stdout.split(": ")[0].split(",")[0]
            return subprocess.run(["dpkg-query", "-W", "-f", "${source:Package}\n", binary], check=True,
                                  capture_output=True, text=True).stdout.split()[0]
    return None


def kept_folder(exe):
    """The folder that the system keeps for a program, or None: /usr/lib/libreoffice/."""
    found = re.match(r"(/usr/(lib|libexec|share)/([^/]*-linux-[^/]*/)?[^/]+/)", exe)
    return found[1] if found else None


@functools.cache
def is_of_cpp(exe):
    """Does it load C++'s library itself? KDE's recorder brings it along, and its pool of 72,704 bytes."""
    said = subprocess.run(["ldd", exe], capture_output=True, check=False, text=True).stdout
    return "libstdc++" in said


def is_of_product(module, exe):
    if module == exe:
        return True
    folder, package = kept_folder(exe), package_of(module)
    if (folder and module.startswith(folder)) or (package and package == package_of(exe)):
        return True
    return package is None and module.startswith("/") and "libheaptrack" not in module


# ---- KDE's file

class Recording:
    """KDE's interpreted file: per stack its frames, innermost first, and what it cost."""

    def __init__(self, lines, exe):
        self.exe = exe
        self.strings, self.ips, self.traces, self.infos = [""], [None], [(0, 0)], []
        events = []
        for line in lines:
            kind, rest = line[:1], line[2:].rstrip(b"\n")
            if kind == b"+":
                events.append(int(rest, 16))
            elif kind == b"-":
                events.append(~int(rest, 16))
            elif kind == b"s":
                self.strings.append(rest.partition(b" ")[2].decode(errors="replace"))
            elif kind == b"i":
                self.ips.append([int(word, 16) for word in rest.split()])
            elif kind == b"t":
                self.traces.append(tuple(int(word, 16) for word in rest.split()))
            elif kind == b"a":
                self.infos.append(tuple(int(word, 16) for word in rest.split()))
        self.costs = self.replay(events)
        self.known_frames, self.known_stacks = {}, {0: ()}
        self.hand_out = set()
        self.find_who_hands_out()

    def replay(self, events):
        """{cost: {stack: number}}"""
        live = most = at = 0
        for i, event in enumerate(events):
            live += self.infos[event][0] if event >= 0 else -self.infos[~event][0]
            if live > most:
                most, at = live, i + 1
        held, calls, costs = collections.Counter(), collections.Counter(), {}
        for i, event in enumerate(events):
            if i == at:
                costs["peak"] = +held
            size, stack = self.infos[event if event >= 0 else ~event]
            held[stack] += size if event >= 0 else -size
            calls[stack] += event >= 0
        costs.setdefault("peak", +held)
        return {**costs, "never freed": +held, "allocations": calls}

    def frames_of(self, ip):
        """[(name or "", is of the product, module)] of an address, innermost first."""
        if ip not in self.known_frames:
            words = self.ips[ip]
            module = self.strings[words[1]] if len(words) > 1 else ""
            names = [words[2]] + words[5::3] if len(words) > 2 else [0]
            own = is_of_product(module, self.exe)
            self.known_frames[ip] = tuple((plain(self.strings[name]), own, module) for name in names)
        return self.known_frames[ip]

    def stack(self, trace):
        chain = []
        while trace not in self.known_stacks:
            chain.append(trace)
            trace = self.traces[trace][1]
        frames = self.known_stacks[trace]
        for trace in reversed(chain):
            frames = self.frames_of(self.traces[trace][0]) + frames
            self.known_stacks[trace] = frames
        return frames

    def named(self, trace):
        """[(name, is of the product)] of the frames that may have done the work, innermost first."""
        return [(name, own) for name, own, module in self.stack(trace)
                if name and not LANGUAGE.search(name) and not SYSTEM.search(module)]

    def is_of_cpp_alone(self, trace):
        modules = [module for _, _, module in self.stack(trace)]
        return "libstdc++" in modules[0] and all(SYSTEM.search(module) for module in modules)

    def inner(self, names):
        """How many at the inner end of a stack hand memory out."""
        return next((i for i, name in enumerate(names)
                     if not HANDS_OUT.search(name) and name not in self.hand_out), len(names))

    def find_who_hands_out(self):
        """Names that speak of it, with three callers, that call nobody but their like."""
        while True:
            callers, others = collections.defaultdict(set), set()
            for trace in self.costs["allocations"]:
                named = self.named(trace)
                for wanted in (True, False):
                    names = [name for name, own in named if own == wanted]
                    at = self.inner(names)
                    if at + 1 < len(names):
                        callers[names[at]].add(names[at + 1])
                    others.update(names[at + 1:])
            found = {name for name, by in callers.items() if len(by - {name}) >= 3
                     and SPEAKS_OF_IT.search(name.rpartition("::")[2]) and name not in others}
            if not found:
                return
            self.hand_out |= found

    def work(self, trace):
        """(functions that a finding may name, innermost first; "own", "foreign" or "unnamed")

        Of who only hands memory out the names are kept, too, but the work has none.
        """
        named = self.named(trace)
        both = [[name for name, own in named if own == wanted] for wanted in (True, False)]
        for kind, names in zip(("own", "foreign"), both):
            if self.inner(names) < len(names):
                return names[self.inner(names):], kind
        return both[0] or both[1], "unnamed"


def record(stage, name):
    """Record the program of a stage with KDE's heaptrack."""
    file = stage.place.parent / name
    done = stage.run("/usr/bin/heaptrack", "-r", "-o", file, command=stage.program.judged)
    assert done.status == stage.program.status, done
    raw = file.with_name(name + ".raw.zst")
    text = subprocess.run(["zstd", "-dcq", raw], capture_output=True, check=False).stdout
    exe = re.search(rb"^x \S+ (.*)$", text, re.M)[1].decode()
    with tempfile.TemporaryFile() as out:
        subprocess.run([INTERPRET], input=text, stdout=out, stderr=subprocess.DEVNULL, check=True)
        out.seek(0)
        return Recording(out, exe)


# ---- the lists

def deepest(stacks, total):
    """Who makes more than 60 %, and calls nobody else who does."""
    inclusive = collections.Counter()
    for names, cost in stacks:
        for name in set(names):
            inclusive[name] += cost
    candidates = {name for name, cost in inclusive.items() if cost > MOST * total}
    inside = collections.Counter()  # (a, b): what b makes inside of a
    for names, cost in stacks:
        order = list(dict.fromkeys(name for name in names if name in candidates))
        for i, inner in enumerate(order):
            for outer in order[i + 1:]:
                inside[outer, inner] += cost
    def calls_more(one, other):
        return inside[one, other] > inside[other, one] and inside[one, other] > MOST * total
    return sorted(a for a in candidates if not any(calls_more(a, b) for b in candidates - {a}))


def lists_of(recording, cost):
    stacks, shares = [], collections.Counter()
    foreign, alone, below = (collections.Counter() for _ in range(3))
    total = sum(recording.costs[cost].values())
    for trace, number in recording.costs[cost].items():
        names, kind = recording.work(trace)
        if not is_of_cpp(recording.exe) and recording.is_of_cpp_alone(trace):
            total -= number
            continue
        shares[kind] += number
        if kind == "foreign":
            foreign[names[0]] += number
        elif names:
            stacks.append((names, number))
            alone[names[0]] += number
    holds = deepest(stacks, total)
    for names, number in stacks:
        if holds and holds[0] in names[1:]:
            below[names[names.index(holds[0], 1) - 1]] += number
    split = [name for counter in (alone, below) for name, number in counter.most_common(3)
             if number >= total / 20]
    found = {"holds": holds, "split": sorted(set(split) - set(holds)),
             "foreign": [name for name, number in foreign.most_common(3) if number >= total / 20]}
    found.update((kind, round(shares[kind] / max(total, 1), 2)) for kind in ("own", "unnamed"))
    sites = {name for name, number in (alone + foreign).items() if number >= total / 100}
    return found, sites


def truth_of(program, folder, tools, helpers):
    import recorders  # pylint: disable=import-outside-toplevel
    stage = recorders.Stage(program, tools, folder, helpers)
    recording = record(stage, "judge")
    stage.finish()
    found = {cost: lists_of(recording, cost) for cost in recording.costs}
    sites = found["peak"][1] | found["never freed"][1]
    return {**{cost: lists for cost, (lists, _) in found.items()}, "sites": sorted(sites)}


def main(wanted):
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]
    import conftest  # pylint: disable=import-outside-toplevel
    import programs  # pylint: disable=import-outside-toplevel
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    for program in programs.with_names():
        if wanted and program.name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            tools = conftest.Tools(Path("build"), Path(folder))
            try:
                known[program.name] = truth_of(program, Path(folder), tools, conftest)
                print(program.name, json.dumps(known[program.name]["peak"]), flush=True)
            except BaseException as problem:  # pylint: disable=broad-except
                print(program.name, "not recorded:", repr(problem)[:300], file=sys.stderr, flush=True)
            finally:
                tools.finish()
        write(known)


def write(known):
    rows = [f" {json.dumps(name)}: {{\n" + ",\n".join(
        f"  {json.dumps(cost)}: {json.dumps(lists)}" for cost, lists in known[name].items()) + "}"
            for name in sorted(known)]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
