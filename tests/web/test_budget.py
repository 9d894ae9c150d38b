"""The page keeps its budgets with large recordings; bench/page says what they are."""

import subprocess
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench/page"


@pytest.mark.serial
@pytest.mark.timeout(1800)
def test_it_keeps_its_budgets(web, build, is_long):
    size = [] if is_long else ["--nodes", "300000", "--rounds", "2"]
    for attempt in range(3):  # what one thread takes is stretched a little by what runs beside it
        done = subprocess.run([BENCH, "--build", build, "--check", *size], capture_output=True,
                              text=True, timeout=900, check=False)
        if done.returncode == 0:
            return
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
