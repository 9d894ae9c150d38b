"""Threads hand blocks to each other while the collector puts their events in order.

tests/stress/stress_order.c says what it checks: not one block paired wrongly, not one wrongly left
alive. Two million events each; --long: 50 million.
"""

import os
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(os.environ.get("HEAPTRACK_BUILD", "build")) / "tests" / "stress" / "stress_order"

WAYS = [
    "-t 8 -a lifo",
    "-t 8 -a glibc",
    "-t 8 -a lifo -d stalls,freeze",
    "-t 8 -a glibc -d stalls,freeze,deaths",
    "-t 8 -a lifo -d stalls,freeze,signals,jumps,deaths",
    "-t 1 -a lifo -d signals,jumps",
    "-t 64 -a lifo -d stalls,deaths",
    "-t 64 -a glibc -d stalls",
    "-t 1000 -a lifo",
]


@pytest.mark.serial
@pytest.mark.parametrize("way", WAYS)
def test_order(way, request):
    n_events = 50_000_000 if request.config.getoption("--long") else 2_000_000
    result = subprocess.run([PROGRAM, "-n", str(n_events), *way.split()], text=True,
                            capture_output=True, check=False)
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
