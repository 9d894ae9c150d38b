"""Programs that others wrote, recorded by us and by KDE's heaptrack: as by themselves, and as counted there.

Each of the table in programs.py runs by itself, under our heaptrack and under KDE's. Its status and
what it writes must stay, and calls and peak agree within 1 %. Where a program does not do the same
twice, both are repeated, and what they range over must meet. build/check/wild.txt has a line for each.
"""

import fcntl
import shutil

import pytest

import programs
import recorders
import sites

TOLERANCE = 0.01
REPEATS = 5
# KDE's recorder asks for a few blocks itself: before it records, so that a first call to dlopen() asks
# for one less afterwards, and as it ends
OWN = {"calls": 3, "peak": 256}
# It brings these along, where ours needs the C library alone: they are loaded, and their blocks (a
# pool of 72,704 bytes) are there, in programs that have none of C++. Where that is more than 1 %, ours
# is measured with them as well.
KDES_LIBRARIES = ("libstdc++.so.6", "libm.so.6", "libgcc_s.so.1")

HEAD = (f"{'program':24}  {'calls: ours':>22} {'KDE':>22} {'apart':>8}  {'peak: ours':>22} {'KDE':>22} "
        f"{'apart':>8}  runs\n")


def apart(ours, kdes, own=0):
    """How far two ranges are from each other, as a part of KDE's."""
    gap = max(min(ours) - max(kdes), min(kdes) - max(ours), 0)
    return max(gap - own, 0) / max(max(kdes), 1)


class Comparison:
    """Calls and peaks of both recorders, over one run of each or several."""

    def __init__(self, stage):
        self.stage, self.ours, self.kdes, self.loaded = stage, [], [], ()
        self.again()
        self.first = self.ours[0]

    def again(self):
        self.ours.append(self.stage.ours(len(self.ours), self.loaded))
        self.kdes.append(self.ours[-1] if self.stage.program.alone else self.stage.kdes(len(self.kdes)))

    def figures(self):
        """(ours, KDE's) of the calls and of the peak."""
        return {name: [[getattr(run, name) for run in runs] for runs in (self.ours, self.kdes)]
                for name in OWN}

    def differs(self):
        return [name for name, both in self.figures().items() if apart(*both, OWN[name]) > TOLERANCE]

    def settle(self):
        """Repeat while they differ: a program need not do the same twice."""
        if self.differs():
            self.loaded = KDES_LIBRARIES
            self.ours = [self.stage.ours(0, self.loaded)]
        while self.differs() and len(self.ours) < REPEATS:
            self.again()
        return self.differs()

    def missing(self):
        """What KDE's has and we have not, where we have more: functions, and calls in all."""
        rows = sites.differences(*self.all_sites(), depth=1)
        unseen = sum(kdes for _, _, ours, kdes, _ in rows if ours == 0)
        limit = max(TOLERANCE * self.kdes[0].calls, OWN["calls"])
        while self.ours[-1].calls < self.kdes[-1].calls - limit and len(self.ours) < REPEATS:
            self.again()
        return ["calls"] if unseen > limit or len(self.ours) == REPEATS else []

    def all_sites(self):
        program = self.stage.tools.heaptrack_print
        return [sites.all_sites(runs[0].file, program) for runs in (self.ours, self.kdes)]

    def line(self):
        words = [f"{self.stage.program.name:24}"]
        for ours, kdes in self.figures().values():
            words.append(f"{spread(ours):>22} {spread(kdes):>22} {100 * apart(ours, kdes):6.2f} %")
        quality = self.first.known["quality"]
        odd = [f"{quality[name]} {name}" for name in ("unknown_frees", "double_allocations")
               if quality[name]]
        return "  ".join([*words, f"{len(self.ours)} x{' with libstdc++' * bool(self.loaded)}", *odd,
                          self.stage.program.more, self.stage.program.alone]).rstrip()


def spread(values):
    low, high = f"{min(values):,}", f"{max(values):,}"
    return low if low == high else f"{low}..{high}"


@pytest.fixture
def note(build):
    """note(line) sets the line of a program in the table of results."""
    file = build / "check" / "wild.txt"
    file.parent.mkdir(exist_ok=True)

    def write(line):
        with open(file, "a+", encoding="utf-8") as out:
            fcntl.flock(out, fcntl.LOCK_EX)
            out.seek(0)
            lines = {old.split()[0]: old for old in out.read().splitlines()[1:] if old.strip()}
            lines[line.split()[0]] = line
            out.truncate(0)
            out.write(HEAD + "".join(f"{lines[name]}\n" for name in sorted(lines)))
    return write


@pytest.fixture
def stage(program, tools, helpers, tmp_path):
    if not shutil.which(recorders.KDE):
        pytest.skip("KDE's heaptrack is not installed")
    stage = recorders.Stage(program, tools, tmp_path, helpers)
    yield stage
    stage.finish()


@pytest.mark.parametrize("program", programs.params())
def test_as_by_itself_and_as_kdes_counts(program, stage, note):
    plain = stage.plain()
    assert plain.status == program.status, (plain.status, plain.stdout[-2000:], plain.stderr[-4000:])
    compared = Comparison(stage)
    ours = compared.first
    assert ours.status == plain.status, (ours.status, ours.stderr[-4000:])
    if program.same_output:
        assert ours.stdout == plain.stdout
    differs = compared.missing() if program.more else compared.settle()
    note(compared.line() + (f"  DIFFERS: {', '.join(differs)}" if differs else ""))
    assert not differs, compared.line() + "\n" + sites.table(sites.differences(*compared.all_sites()))
    assert ours.known["quality"]["double_allocations"] <= program.twice
