"""How long a suite took, whether that was too long, and which tests took longest.

Wall time says nothing on a machine that is busy with something else. A stopwatch therefore also
compares what all processors did with what our own processes used; the rest is others' work.
"""

import os
import resource
import time
import xml.etree.ElementTree

BUSY = 0.1  # the share of the processors' time that others may use on a machine called quiet
SLOW = 1.25  # how much slower than the one whose seconds the budgets are a machine may be


def used_by_all(cores, stat="/proc/stat"):
    """Seconds that these cores have worked, or waited for their host, since the machine started."""
    ticks = 0
    with open(stat) as file:
        for name, *fields in map(str.split, file):
            if name.removeprefix("cpu") in map(str, cores):
                user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
                ticks += user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def used_by_us():
    """Processor seconds of this process and of those that it has waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Stopwatch:
    """Started when it is made. `more()`: processor seconds of ours that are not among our children's."""

    def __init__(self, more=lambda: 0):
        self.more, self.cores = more, os.sched_getaffinity(0)
        self.start = self.read()

    def read(self):
        return time.monotonic(), used_by_us() + self.more(), used_by_all(self.cores)

    def stop(self):
        """Seconds, and the share of the cores' time that others used."""
        seconds, ours, all_used = (now - then for now, then in zip(self.read(), self.start))
        return seconds, max(0, all_used - ours) / max(0.01, seconds * len(self.cores))


def judge(seconds, budget, others, cores, is_quiet):
    """A remark on the time that a suite took ("" for none), and whether the suite fails for it.

    Every second over the budget is remarked on. A suite fails for more than what a slower machine
    takes, where the caller says that the machine is quiet: a guest cannot know, because the load of
    its host shows in no count. What the counts do show excuses even then."""
    if not budget or seconds <= budget:
        return "", False
    if cores < 2:
        return "over budget, but budgets are for 2 cores", False
    if others > BUSY:
        return f"over budget, but the machine was busy: others used {100 * others:.0f} % of it", False
    return "over budget", is_quiet and seconds > SLOW * budget


def cases_of(report):
    """The tests of a JUnit file, each with its name. None if it is no whole file."""
    try:
        cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))
    except (OSError, xml.etree.ElementTree.ParseError):
        return []
    return [(f"tests/{case.get('classname').replace('.', '/')}.py::{case.get('name')}", case) for case in cases]


def slowest(reports, n):
    """The n slowest tests of JUnit files, as (seconds, name), the slowest first."""
    tests = [(float(case.get("time", 0)), name) for report in reports for name, case in cases_of(report)]
    return sorted(tests, reverse=True)[:n]


def failures(report):
    """The names of the tests that failed, each once."""
    return list(dict.fromkeys(name for name, case in cases_of(report)
                              if case.find("failure") is not None or case.find("error") is not None))
