"""Servers of which everything is known (server_programs.py), launched and attached to: the first sentence
names the right function and kind, none is false, and a healthy server is accused of nothing.

judge_server.py tries any of them by hand. Short form: a handful; --long: all, with several seeds.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import judge_server as judge
import server_programs as programs

BRIEFLY = ("warm_cache", "bounded_cache", "reloaded", "renewed_slowly", "mixed", "leak_beside_renewal")
SEEDS = {False: (0,), True: range(4)}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", judge.WAYS)
@pytest.mark.parametrize("name", programs.SERVERS)
def test_says_what_is_true(build, tmp_path, is_long, name, way):
    if not is_long and name not in BRIEFLY:
        pytest.skip("with --long")
    for seed in SEEDS[is_long]:
        for attempt in ("first", "again"):  # a machine that stalls bends a curve that is drawn over time
            folder = tmp_path / f"{seed}-{attempt}"
            folder.mkdir()
            judged = judge.judge(name, seed, way, folder, build)
            if not judged.wrong:
                break
        assert judged.wrong == [], judged.page
