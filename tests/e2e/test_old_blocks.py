"""Blocks from before an attach: known, told apart, and never called leaks.

tests/victims/old_blocks.c says how many it had and how many of them it freed.
"""

import re
import shutil
import signal
import subprocess

import pytest

from attaching import finish, known, start_listening, target  # noqa: F401
from conftest import SOURCE, total, wait_until

pytestmark = pytest.mark.attach

OWN = 8  # what the C library has for itself: of threads, of stdio, to an upper bound


def record(build, victim, file):
    process = start_listening(build, victim.pid, file)
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "done" in victim.said(), 60, "the program's last block")
    status, err = finish(process)
    assert status == 0, err
    return process.said + err


@pytest.mark.parametrize("how", [None, "-static", "-static-pie"])
def test_known_numbers(build, target, tmp_path, how):
    program = build / "tests/victims/old_blocks"
    if how:
        program = tmp_path / "old_blocks"
        subprocess.run(["gcc", "-O1", how, "-pthread", SOURCE / "tests/victims/old_blocks.c", "-o",
                        program], check=True, timeout=60)
    victim = target([program])
    said = record(build, victim, tmp_path / "old")
    data = known(build, tmp_path / "old.zst")
    summary = data["summary"]
    n_blocks, n_bytes = map(int, re.search(r"^(\d+) (\d+)$", victim.said(), re.M).groups())
    n_freed, freed_bytes = map(int, re.search(r"^freed (\d+) (\d+)$", victim.said(), re.M).groups())
    assert n_blocks <= summary["before_attach_blocks"] <= n_blocks + OWN, summary
    assert n_bytes <= summary["before_attach_bytes"] <= n_bytes + OWN * 4096, summary
    assert summary["before_attach_freed_blocks"] == n_freed, summary
    assert summary["before_attach_freed_bytes"] == freed_bytes, summary
    assert data["quality"]["unknown_frees"] == 0
    # 500 of 64 bytes and 100 that were moved; nothing of what was there before is never freed
    assert (summary["allocations"], summary["never_freed_blocks"]) == (600, 600), summary
    assert summary["never_freed_bytes"] == 500 * 64 + 100 * 10000, summary
    assert total(data["sites"]["never_freed"], "blocks") == 600
    assert re.search(r"copied memory.*stopped for [\d.]+ ms", said), said
    assert re.search(rf"existing blocks: {summary['before_attach_blocks']}, .*found in [\d.]+ ms", said), said
    report = subprocess.run([build / "heaptrack_print", tmp_path / "old.zst"], timeout=60,
                            capture_output=True, text=True, check=True).stdout
    assert "allocated before the attach: " in report, report
    assert victim.is_alive() and victim.end() == 0


def test_the_copy_leaves_nothing_behind(build, target, tmp_path):
    victim = target([build / "tests/victims/old_blocks"])
    for _ in range(5):
        process = start_listening(build, victim.pid, tmp_path / "again", "-f")
        status, err = finish(process)
        assert status == 0, err
    children = subprocess.run(["ps", "--ppid", str(victim.pid), "-o", "pid="], timeout=60,
                              capture_output=True, text=True, check=False).stdout
    assert not children.strip(), "a child is left in the program"
    assert victim.is_alive() and victim.end(signal.SIGKILL) == -signal.SIGKILL


def test_a_program_without_glibc(build, target, tmp_path):
    """Nothing is known of musl's heap: frees of older blocks are counted apart, and their number is null."""
    compiler = shutil.which("musl-gcc")
    if compiler is None:
        pytest.skip("no musl-gcc here")
    program = tmp_path / "exact"
    subprocess.run([compiler, "-static", "-O1", "-fno-inline", "-fno-builtin", "-pthread",
                    SOURCE / "tests/attach/exact.c", "-o", program], check=True, timeout=60)
    victim = target([program])
    process = start_listening(build, victim.pid, tmp_path / "musl")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "done" in victim.said(), 60, "the program's last block")
    finished = finish(process)
    assert finished[0] == 0, finished
    data = known(build, tmp_path / "musl.zst")
    assert [data["summary"][f"before_attach_{what}"] for what in
            ("blocks", "bytes", "freed_blocks", "freed_bytes")] == [None] * 4, data["summary"]
    assert data["quality"]["unknown_frees"] == 1000
    sentences = {line["id"]: line["text"] for line in data["quality"]["sentences"]}
    why = "blocks allocated before the attach are not known: no heap of glibc's malloc was found"
    assert sentences["before-attach-unknown"] == why, sentences
    assert "before-attach" not in sentences and "unknown-frees" in sentences, sentences
    assert (process.said + finished[1]).count(why) == 2, finished
