"""Random programs that know their own truth (generate.py), recorded: every figure of every stack
and thread is what the program counted. judge.py tries any seeds by hand.
"""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import events
import generate
import judge
import lenses

SEEDS = [(kind, seed) for kind in generate.KINDS for seed in range(4)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind, seed", SEEDS)
def test_agrees(build, tmp_path, monkeypatch, kind, seed):
    monkeypatch.setenv("HEAPTRACK_STAGES", str(1 + seed % 2))
    try:
        judged = judge.Judged(seed, kind, build, tmp_path, judge.PATIENCE).record()
    except judge.Impossible as missing:
        pytest.skip(str(missing))
    assert judged.differences() == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind, seed", [("c", 13), ("c++", 7), ("static-c", 3), ("musl", 10)])
def test_random_lenses(build, tmp_path, is_long, kind, seed):
    """What a part of a recording costs, counted again over its single events."""
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    try:
        judged = judge.Judged(seed, kind, build, tmp_path, judge.PATIENCE).record("--events")
    except judge.Impossible as missing:
        pytest.skip(str(missing))
    recorded, dice = events.Events(judged.recording), random.Random(seed)
    assert len(recorded.blocks) > 100 and len(recorded.edges) > 20
    functions = lenses.functions_of(recorded)
    for _ in range(100 if is_long else 10):
        lens = lenses.some_lens(dice, recorded, functions)
        differ = lenses.differences(lens, recorded, build, judged.recording)
        assert differ == [], lens.text()


def test_is_repeatable():
    for seed in range(12):
        assert generate.Program(seed).source == generate.Program(seed).source


@pytest.mark.long
@pytest.mark.serial
@pytest.mark.timeout(3 * 3600)
@pytest.mark.parametrize("load", [0, 16])
@pytest.mark.parametrize("stages", ["1", "2"])
def test_three_hundred(build, tmp_path, load, stages):
    done = subprocess.run([sys.executable, judge.__file__, "0-299", "--load", str(load), "--keep",
                           tmp_path], env={"HEAPTRACK_BUILD": str(build), "PATH": "/usr/bin:/bin",
                                             "HEAPTRACK_STAGES": stages}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
