"""`heaptrack -p PID --max-pause T`: a copy of the program's memory that takes longer is not waited for.

tests/attach/large.c says how much memory it has; its threads note for how long they did not run.
"""

import re
import signal
import subprocess

import pytest

from attaching import attach, finish, known, start_listening, target  # noqa: F401
from conftest import wait_until

UNKNOWN = "blocks allocated before the attach are not known: "
BEFORE = ("before_attach_blocks", "before_attach_bytes", "before_attach_freed_blocks",
          "before_attach_freed_bytes")


def flat(text):
    return " ".join(re.sub(r"^ *! *", " ", text, flags=re.M).split())


def longest_gap_ms(victim):
    """Since it was asked last."""
    n = victim.said().count("gap")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: victim.said().count("gap") > n and victim.said().endswith("\n"), what="its gap")
    return int(victim.said().split()[-1]) / 1000


def record_work(build, victim, file, *options):
    """Attach, and record what it does at SIGUSR2: what was said, and what is known then."""
    process = start_listening(build, victim.pid, file, *options)
    victim.process.send_signal(signal.SIGUSR2)
    wait_until(lambda: "done" in victim.said(), what="its work")
    status, err = finish(process)
    assert status == 0, err
    return process.said + err, known(build, file)


def assert_unknown(build, file, said, data, why):
    """The recording is whole, and every report says that nothing is known of older blocks, and why."""
    summary = data["summary"]
    assert summary["complete"] and summary["lost_events"] == 0, summary
    assert (summary["allocations"], summary["never_freed_blocks"]) == (1000, 500), summary
    assert summary["never_freed_bytes"] == 50000, summary
    assert [summary[name] for name in BEFORE] == [None] * 4, summary
    assert data["quality"]["unknown_frees"] == 1
    sentences = {line["id"]: line["text"] for line in data["quality"]["sentences"]}
    assert sentences["before-attach-unknown"].startswith(UNKNOWN + why), sentences
    assert "before-attach" not in sentences, sentences
    said = flat(said)
    assert said.count(UNKNOWN + why) == 2 and "existing blocks" not in said, said
    for options in ([], ["--html", str(file) + ".html"]):
        done = subprocess.run([build / "heaptrack_print", *options, file], capture_output=True,
                              text=True, timeout=60, check=True)
        shown = done.stdout
        if options:
            with open(options[1], encoding="utf-8") as page:
                shown = page.read()
        assert UNKNOWN + why in flat(shown), flat(shown)[:3000]
        assert "allocated before the attach: " not in flat(shown)
        assert "were not in live blocks" not in flat(shown)


@pytest.mark.parametrize("most_ms", [1, 5])
def test_too_much_memory_is_not_copied(build, target, tmp_path, most_ms):
    """2 GB take 15 ms at least, on fast machines."""
    victim = target([build / "tests/attach/large", "2048", "1"])
    file, options = tmp_path / "large.zst", ["--max-pause", f"{most_ms}ms"]
    said, data = record_work(build, victim, file, *options)
    bound = f"{most_ms}.0 ms"
    assert_unknown(build, file, said, data, f"copying the program's memory takes longer than {bound}")
    assert "copied memory" not in said, said
    gaps = []
    for _ in range(5):  # one without a long wait for a turn will do
        longest_gap_ms(victim)
        attach(build, victim.pid, tmp_path / "again", *options)
        gaps.append(longest_gap_ms(victim))
    attach(build, victim.pid, tmp_path / "whole.zst")
    copied = longest_gap_ms(victim)
    print("longest gaps:", gaps, "with a copy:", copied)
    assert known(build, tmp_path / "whole.zst")["summary"]["before_attach_blocks"] > 0
    assert min(gaps) < copied / 2, (gaps, copied)
    assert victim.is_alive() and victim.end() == 0


def test_a_copy_that_takes_longer_than_it_seems_is_given_up(build, target, tmp_path):
    """60,000 mappings, of which the size of its memory says nothing: the copy is begun."""
    victim = target([build / "tests/attach/large", "1", "60000"])
    file = tmp_path / "many.zst"
    said, data = record_work(build, victim, file, "--max-pause", "2ms")
    assert_unknown(build, file, said, data, "copying the program's memory takes longer than 2.0 ms")
    children = subprocess.run(["ps", "--ppid", str(victim.pid), "-o", "pid="], timeout=60,
                              capture_output=True, text=True, check=False).stdout
    assert not children.strip(), "a child is left in the program"
    said = attach(build, victim.pid, tmp_path / "whole.zst")
    assert "copied memory" in said, said
    assert known(build, tmp_path / "whole.zst")["summary"]["before_attach_blocks"] > 0
    assert victim.is_alive() and victim.end() == 0


def test_no_copy_at_all(build, target, tmp_path):
    victim = target([build / "tests/attach/large", "1", "1"])
    file = tmp_path / "none.zst"
    said, data = record_work(build, victim, file, "--max-pause", "0")
    assert_unknown(build, file, said, data, "the program's memory was not copied (--max-pause 0)")
    assert victim.is_alive() and victim.end() == 0


def test_it_is_for_attaching(build, tmp_path):
    done = subprocess.run([build / "heaptrack", "--max-pause", "5ms", "-o", tmp_path / "x", "true"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "--max-pause is for use with -p PID" in done.stderr
