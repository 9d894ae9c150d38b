"""Servers of which everything is known (server_programs.py), launched and attached to: the first sentence
names the right function and kind, none is false, and a healthy server is accused of nothing.

judge_server.py tries any of them by hand. Short form: a handful; --long: all, with several seeds.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import judge_server as judge
import referee
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


@pytest.mark.parametrize("name", programs.SERVERS)
def test_says_where_in_a_server_without_symbols(build, tmp_path, is_long, name):
    if not is_long and name not in ("leak", "long_runner"):
        pytest.skip("with --long")
    server = programs.make(name, 5)
    program = judge.build(server, tmp_path)
    subprocess.run(["strip", program], check=True, timeout=60)
    for way in judge.WAYS:
        recording = (judge.launch if way == "launched" else judge.attach)(program, tmp_path, build)
        report = referee.report_of(recording, build)
        assert referee.Referee(recording, build, report).judge() == [], report["text"]
        first = report["json"]["findings"][0]
        if first["function"] == "server, no symbols":
            assert re.search(r"^server, no symbols \((?:at the \w+, )?\d+ % at server\+0x", first["text"]), first
