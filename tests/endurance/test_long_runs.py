"""What a recording costs does not grow with the run: memory, file, and the time to open it.

Two million events from 131,072 stacks; --long: 50 million, and a thousand million, which takes the
better part of an hour. EVENTS=100000000 in the environment sets any number. What was measured is
printed (pytest -s). Times are asserted in the long form alone, since they need a quiet machine.
"""

import os
import re
import resource
import subprocess
import time
from pathlib import Path

import pytest

NUMBERS = ("allocations", "allocated_bytes", "peak_bytes", "never_freed_blocks", "never_freed_bytes",
           "ended_ns")
FILE_MAX, MEMORY_MAX = 20_000_000, 512 << 20


class LongRun:
    """The victim's truth, and what its recording took."""

    def __init__(self, tools, n_events):
        running = tools.start_record(tools.victim("many_stacks"), n_events)
        self.memory = 0
        while running.process.poll() is None:
            self.memory = max(self.memory, peak_memory(running.pid))
            time.sleep(0.05)
        ended_ns = time.monotonic_ns()
        finished = running.wait()
        assert finished.status == 3, repr(finished)
        self.tools, self.file, self.seconds = tools, running.file, finished.seconds
        self.truth = dict(zip(NUMBERS, map(int, finished.stdout.split())))
        self.late_seconds = (ended_ns - self.truth.pop("ended_ns")) / 1e9

    def opening_seconds(self):
        """CPU time of a report, the best of some: what else the machine does is not asked for."""
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([self.tools.heaptrack_print, self.file], check=True,
                           stdout=subprocess.DEVNULL, timeout=60)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(times)


def peak_memory(pid):
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) << 10 if found else 0
    except OSError:
        return 0


def numbers(is_long):
    if "EVENTS" in os.environ:
        return [int(os.environ["EVENTS"])]
    return [50_000_000, 1_000_000_000] if is_long else [2_000_000]


@pytest.mark.serial
@pytest.mark.timeout(3 * 3600)
def test_a_long_run_costs_no_more(tools, is_long):
    for n_events in numbers(is_long):
        run = LongRun(tools, n_events)
        known = tools.json(run.file, "--limit", "5")
        opening = run.opening_seconds()
        print(f"\n{n_events:,} events in {run.seconds:.1f} s: {known['summary']['peak_bytes']:,} bytes "
              f"at the peak, file {run.file.stat().st_size:,} bytes, collector {run.memory:,} bytes, "
              f"complete {run.late_seconds:.2f} s after the end, opened and reported in "
              f"{opening:.3f} s of CPU")
        assert {name: known["summary"][name] for name in run.truth} == run.truth
        assert known["summary"]["complete"] and known["summary"]["lost_events"] == 0
        assert run.file.stat().st_size <= FILE_MAX and run.memory <= MEMORY_MAX
        if is_long:
            assert opening <= 0.1 and run.late_seconds <= 1
