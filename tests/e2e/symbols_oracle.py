"""The two sides that test_symbols.py compares, and the programs that it compares them on.

An address may differ only for a reason that `excuse` can prove for that very address; how many did is
printed (pytest -rP).
"""

import bisect
import collections
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "symbols"
SAMPLE = 2500


# ---- the two sides

def run(*command, cwd=None, stdin="", env=None):
    done = subprocess.run([str(word) for word in command], cwd=cwd, input=stdin, env=env,
                          capture_output=True, text=True, errors="replace", timeout=600)
    assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"
    return done.stdout, done.stderr


class Resolver:
    """Ours: address -> frames (function, symbol, file, line), innermost first, and what it cost."""

    def __init__(self, build):
        self.program = build / "bench" / "bench_symbols"

    def ask(self, path, addresses, *options, env=None):
        out, cost = run(self.program, "--print", *options, path, env=env,
                        stdin="\n".join(f"{a:x}" for a in addresses))
        answers = {}
        for block in out.split("\n\n"):
            head, *frames = block.strip("\n").split("\n")
            if head:
                answers[int(head, 16)] = [(f, s, p, int(n)) for f, s, p, n in
                                          (frame.split("\t") for frame in frames)]
        self.cost = dict(zip(cost.split()[0::2], cost.split()[1::2]))
        return answers


def frames_of(lines):
    """(function, file, line) of pairs of lines, "name" and "file:line[:column]"."""
    frames = []
    for name, place in zip(lines[0::2], lines[1::2]):
        place = re.sub(r" \(discriminator \d+\)$", "", place)
        file, line = re.fullmatch(r"(.*?):(\d+|\?)(?::\d+)?", place).groups()
        frames.append((name, "??" if file == "??" else os.path.normpath(file),
                       int(line) if line.isdigit() else 0))
    return [] if all(f[:2] == ("??", "??") for f in frames) else frames


def addr2line(path, addresses):
    out, _ = run("addr2line", "-a", "-f", "-i", "-e", path,
                 stdin="\n".join(f"0x{a:x}" for a in addresses))
    answers, lines = {}, []
    for line in reversed(out.splitlines()):
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            answers[int(line, 16)] = frames_of(lines[::-1])
            lines = []
        else:
            lines.append(line)
    return answers


def llvm(path, addresses):
    out, _ = run("llvm-symbolizer", "--inlines", "--functions=linkage", "--no-demangle",
                 "--output-style=LLVM", "-e", path, stdin="\n".join(f"0x{a:x}" for a in addresses))
    return {address: frames_of(block.strip("\n").split("\n"))
            for address, block in zip(addresses, out.split("\n\n"))}


ORACLES = {"addr2line": addr2line, "llvm": llvm}


def code_addresses(path, n=SAMPLE):
    """Where instructions of .text start, but for padding."""
    out, _ = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", path)
    found = [int(m[1], 16) for m in re.finditer(
        r"^ +([0-9a-f]+):\t(?!nop|xchg +%ax,%ax|data16|cs nop|int3)", out, re.MULTILINE)]
    assert found
    return found if len(found) <= n else sorted(random.Random(1).sample(found, n))


# ---- comparing

COPY = re.compile(r"(\.(cold|localalias)(\.\d+)?|\.(llvm|part|constprop|isra|lto_priv)\.\d+)+$")


def plain(symbol):
    return COPY.sub("", symbol)


class SymbolTable:
    def __init__(self, path):
        out, _ = run("nm", "--defined-only", "--print-size", path)
        self.at = collections.defaultdict(set)  # address -> names
        for line in out.splitlines():
            words = line.split()
            if len(words) == 4:
                self.at[int(words[0], 16)].add(plain(words[3]))
        self.starts = sorted(self.at)

    def around(self, address):
        i = bisect.bisect_right(self.starts, address)
        return self.at[self.starts[i - 1]] if i else set()

    def are_aliases(self, a, b):
        return any(a in names and b in names for names in self.at.values())


def same_function(ours, name):
    function, symbol, *_ = ours
    if plain(symbol) == plain(name) or function == name:
        return True
    # Without a linkage name the oracles say "f" where we say "scope::f"
    return symbol == "??" and function.endswith("::" + name)


def excuse(ours, theirs, table, address, oracle, path):
    """Why this address may differ, or None. Each reason is a claim that is checked here."""
    if len(ours) != len(theirs):
        return None
    reasons = []
    for k, (mine, other) in enumerate(zip(ours, theirs)):
        function, symbol, file, line = mine
        name, their_file, their_line = other
        is_outermost = k == len(ours) - 1
        if not same_function(mine, name):
            if is_outermost and table.are_aliases(plain(symbol), plain(name)):
                reasons.append("alias: two symbols at one address (C1 and C2), either is right")
            elif symbol == "??" and plain(name) in table.around(address):
                reasons.append("nameless: no linkage name; the oracle shows the symbol around it")
            else:
                reasons.append(None)
        if (file, line) == (their_file, their_line):
            continue
        if file == "??" and line == 0 and their_line == 0 and "/" not in their_file:
            reasons.append("file symbol: no line data; the oracle shows the symbol table's FILE")
        else:
            reasons.append(None)
    if None not in reasons:
        return reasons[0] if reasons else "equal"
    # addr2line 2.40 takes file numbers of DWARF 5 for others now and then, and shows a hidden
    # function's bare name where its symbol says more
    if oracle == "addr2line":
        other = llvm(path, [address])[address]
        if is_equal(ours, other) or excuse(ours, other, table, address, "llvm", path):
            return "addr2line and LLVM disagree; ours is LLVM's answer"
    return None


def is_equal(ours, theirs):
    return len(ours) == len(theirs) and all(
        same_function(m, o[0]) and m[2:] == o[1:] for m, o in zip(ours, theirs))


def compare(resolver, path, stand_in, oracle, addresses, *options):
    """All must be equal or excused. Returns the share of equal answers."""
    ours = resolver.ask(path, addresses, *options)
    theirs = ORACLES[oracle](stand_in, addresses)
    table = SymbolTable(stand_in)
    counts, bad = collections.Counter(), []
    for address in addresses:
        mine, other = ours[address], theirs[address]
        reason = "equal" if is_equal(mine, other) else excuse(
            mine, other, table, address, oracle, stand_in)
        counts[reason] += 1
        if reason is None:
            bad.append(f"0x{address:x}\n   ours {mine}\n   {oracle} {other}")
    share = counts["equal"] / len(addresses)
    print(f"{path.name} against {oracle}: {100 * share:.2f} % of {len(addresses)} equal",
          *(f"\n    {n}: {reason}" for reason, n in counts.items() if reason != "equal"))
    assert not bad, f"{len(bad)} of {len(addresses)} differ:\n" + "\n".join(bad[:5])
    return share


# ---- programs

COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}


def compile_program(folder, name, compiler, *flags, link=()):
    c, cxx = COMPILERS[compiler]
    objects = folder / f"{name}.objects"
    objects.mkdir()
    for source in ("main.cpp", "other.cpp", "plain.c"):
        command = [c] if source.endswith(".c") else [cxx, "-std=c++17"]
        run(*command, *flags, "-c", SOURCES / source, "-o", f"{objects.name}/{source}.o", cwd=folder)
    program = folder / name
    run(cxx, *flags, *link, *sorted(objects.glob("*.o")), "-o", program, cwd=folder)
    return program


class Programs:
    """Built when first asked for, once per session."""

    def __init__(self, folder):
        self.folder, self.built = folder, {}

    def get(self, compiler, *flags, link=()):
        key = (compiler, *flags, *link)
        if key not in self.built:
            name = "-".join([compiler, str(len(self.built))])
            self.built[key] = compile_program(self.folder, name, compiler, *flags, link=link)
        return self.built[key]

    def rust(self, *flags):
        key = ("rustc", *flags)
        if key not in self.built:
            program = self.folder / f"rust-{len(self.built)}"
            run("rustc", *flags, SOURCES / "crate.rs", "-o", program, cwd=self.folder,
                env={**os.environ, "RUSTC_BOOTSTRAP": "1"})
            self.built[key] = program
        return self.built[key]

    def copy(self, program, name):
        return Path(shutil.copy(program, self.folder / name))
