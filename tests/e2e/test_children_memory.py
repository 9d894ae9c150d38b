"""heaptrack --children: the memory of a tree's processes, as the test itself sees it while all stand still."""

import contextlib
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "random"))

import events
from test_children import descendants, record

STANDS = """
import os, sys, time
folder, shared, *written = sys.argv[1], *(int(word) << 20 for word in sys.argv[2:])
def wait(name):
    open(f"{folder}/is.{name}", "w").close()
    while not os.path.exists(f"{folder}/go.{name}"):
        time.sleep(0.02)
kept = bytearray(shared)
kept[::4096] = b"x" * len(kept[::4096])
for i, part in enumerate(written):
    if os.fork() == 0:
        kept[:part:4096] = b"y" * len(kept[:part:4096])
        wait(i)
        os._exit(0)
wait("all")
for _ in written:
    os.wait()
"""


SECOND = 1000000000
PSS = ("smaps_rollup", "Pss")


def in_memory(pids, name="status", key="VmRSS"):
    """What the kernel says of each, added up."""
    return sum(int(re.search(rf"^{key}:\s+(\d+) kB", Path(f"/proc/{pid}/{name}").read_text(), re.M)[1]) << 10
               for pid in pids)


class Standing:
    """A parent with memory and copies of it that have written to parts, all of which wait to be told to go on."""

    def __init__(self, tools, helpers, folder, *megabytes, around=()):
        self.folder, self.helpers, self.n = folder, helpers, len(megabytes) - 1
        self.started = time.monotonic()
        script = folder / "stands.py"
        script.write_text(STANDS)
        self.running = tools.start_record(*around, os.path.realpath(sys.executable), "-S", "-E", script, folder,
                                          *megabytes, options=("--children",))
        for name in (*range(self.n), "all"):
            helpers.wait_until((folder / f"is.{name}").exists)

    def until_pss_is_read(self):
        """After 1 s, 2 s, 4 s and so on, with the next sample, which is up to 2 s later."""
        time.sleep(time.monotonic() - self.started + 3)

    def pids(self):
        def is_one(pid):
            with contextlib.suppress(OSError):
                return re.search(r"Name:\tpython.*VmRSS", Path(f"/proc/{pid}/status").read_text(), re.S)
        return [pid for pid in descendants(self.running.pid) if is_one(pid)]

    def go(self, *names):
        n = len(self.pids())
        for name in names:
            (self.folder / f"go.{name}").touch()
        if "all" not in names:
            self.helpers.wait_until(lambda: len(self.pids()) == n - len(names))

    def end(self):
        self.go(*range(self.n), "all")
        finished = self.running.wait()
        assert finished.status == 0, repr(finished)
        return events.Events(self.running.file).tables["samples"]


def near(truth):
    return pytest.approx(truth, rel=0.02)


def near_pss(truth):
    """Other processes of the machine that begin or end have a part of libraries."""
    return pytest.approx(truth, rel=0.05)


def held(samples, truth):
    """How many, from the first to the last that is as much, none of which is anything else."""
    found = [i for i, s in enumerate(samples) if s["rss_bytes"] == near(truth)]
    assert len(found) > 1 and found == list(range(found[0], found[-1] + 1)), (truth, samples)
    return found[-1] + 1


def test_the_memory_of_a_tree_is_that_of_its_processes(tools, helpers, tmp_path):
    standing = Standing(tools, helpers, tmp_path, 80, 0, 20, 60)
    first, first_pss = in_memory(standing.pids()), in_memory(standing.pids(), *PSS)
    most = {pid: in_memory([pid], key="VmHWM") for pid in standing.pids()}
    assert len(most) == 4 and first > 320 << 20 and 160 << 20 < first_pss < 200 << 20
    standing.until_pss_is_read()
    standing.go(2)
    second, second_pss = in_memory(standing.pids()), in_memory(standing.pids(), *PSS)
    pss = {pid: in_memory([pid], *PSS) for pid in standing.pids()}
    standing.until_pss_is_read()
    samples = standing.end()
    behind = held(samples, first)
    held(samples[behind:], second)
    for part, truth in ((samples[:behind], first_pss), (samples[behind:], second_pss)):
        assert near_pss(truth) in [s["pss_bytes"] for s in part], (truth, samples)
    assert all(s["pss_bytes"] <= s["rss_bytes"] for s in samples)
    read = [s["time_ns"] for s in samples if s["pss_bytes"]]
    assert all(later - time_ns > min(10 * SECOND, max(SECOND, time_ns)) * 9 // 10 for time_ns, later in zip(read, read[1:]))
    highest = max(s["rss_bytes"] for s in samples)
    report = tools.print(standing.running.file).stdout
    known = tools.json(standing.running.file)
    summary = known["summary"]
    assert highest == near(first) == summary["peak_rss_bytes"] and summary["peak_pss_bytes"] == near_pss(first_pss)
    numbers = next(f["numbers"] for f in known["findings"] if f["id"] == "processes-at-peak")
    assert numbers["rss_bytes"] == near(first) and numbers["pss_bytes"] == summary["peak_pss_bytes"]
    processes = {p["pid"]: p for p in known["processes"]}
    assert {pid: p["peak_rss_bytes"] for pid, p in processes.items()} == near(most)
    assert {pid: processes[pid]["pss_bytes"] for pid in pss} == near_pss(pss)
    assert sorted(p["pss_time_ns"] == read[-1] for p in processes.values()) == [False, True, True, True]
    assert all(p["pss_time_ns"] in read for p in processes.values())
    rows = tools.print(standing.running.file, "--processes").stdout.splitlines()[2:]
    assert rows[0].split()[3:6] == ["peak", "RSS", "PSS"] and len(rows) == 6, rows
    assert re.search(r"peak RSS +[\d.]+ MB  added up$", report, re.M), report
    assert "of 4 processes: sums; RSS counts shared pages once per process; PSS, which divides them: 1" in report
    assert re.search(r"^peak RSS \(including heaptrack overhead\): [\d.]+M$", report, re.M)


HIDES = """
import ctypes, os, sys, time
kept = bytearray(50 << 20)
kept[::4096] = b"x" * len(kept[::4096])
if os.fork() == 0:
    if len(sys.argv) > 1:
        ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
    time.sleep(3)
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root, to give up rights")
@pytest.mark.parametrize("hides", [True, False])
def test_what_may_not_be_read_of_one_is_claimed_of_none(tools, tmp_path, hides):
    folder = Path(tempfile.mkdtemp(prefix="heaptrack-"))
    try:
        folder.chmod(0o777)
        (folder / "hides.py").write_text(HIDES)
        file = folder / "its.zst"
        finished = tools.run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", tools.heaptrack, "-q", "--children",
                             "-o", file, os.path.realpath(sys.executable), "-E", folder / "hides.py", *["hides"] * hides)
        assert finished.status == 0, repr(finished)
        summary = tools.json(file)["summary"]
        samples = events.Events(file).tables["samples"]
    finally:
        shutil.rmtree(folder)
    assert summary["peak_rss_bytes"] > 100 << 20 and any(s["pss_bytes"] for s in samples) != hides
    assert ("peak_pss_bytes" in summary) != hides


def test_a_storm_beside_it_makes_no_gap_in_its_memory(tools, helpers, tmp_path):
    """Those that end while all are read are missing, and nothing else is."""
    standing = Standing(tools, helpers, tmp_path, 60, 0, around=(
        "bash", "-c", "seq 5000 | xargs -n 1 -P 8 /bin/true & \"$@\"", "-"))
    least = in_memory(standing.pids()) * 99 // 100
    time.sleep(2)
    samples = standing.end()
    enough = [i for i, s in enumerate(samples) if s["rss_bytes"] > least]
    assert len(enough) > 3 and enough == list(range(enough[0], enough[-1] + 1)), (least, samples)
    assert sum(c["processes"] for c in tools.json(standing.running.file)["commands"]) > 300


WRITES = """
import os, sys, time
part, n = int(sys.argv[1]) << 20, 2
kept = bytearray(64 << 20)  # written to: it is in memory
kept[::4096] = b"x" * len(kept[::4096])
for i in range(n):
    if os.fork() == 0:
        own = bytearray(40 << 20)  # its own, which is no copy
        own[::4096] = b"x" * len(own[::4096])
        time.sleep(2.2)
        kept[:part:4096] = b"y" * len(kept[:part:4096])
        time.sleep(6)  # until both were looked at, at a hundredth of a CPU
        os._exit(0)
for i in range(n):
    os.wait()
"""


@pytest.mark.parametrize("megabytes", [0, 32])
def test_what_copies_no_longer_share(tools, tmp_path, megabytes):
    script = tmp_path / "writes.py"
    script.write_text(WRITES)
    known = record(tools, os.path.realpath(sys.executable), "-S", "-E", script, str(megabytes)).json()
    dirtied = [p["dirtied_bytes"] for p in known["processes"] if p["parent"] is not None]
    found = [f for f in known["findings"] if f["id"] == "copied-after-fork"]
    assert len(dirtied) == 2
    if megabytes == 0:
        assert all(n is None or n < 2 << 20 for n in dirtied) and not found, (dirtied, found)
        return
    assert all(32 << 20 <= n < 34 << 20 for n in dirtied), dirtied
    assert found[0]["numbers"] == {"bytes": sum(dirtied), "processes": 2, "largest_bytes": max(dirtied)}
    assert found[0]["text"].startswith("of the memory that 2 copies (fork) of python3"), found


@pytest.mark.parametrize("megabytes", [4, 80])
def test_what_is_in_no_block_is_told_by_its_rss(tools, megabytes):
    n = megabytes << 20
    maps = f"import mmap, time; m = mmap.mmap(-1, {n}); [m.__setitem__(i, 1) for i in range(0, {n}, 4096)]; time.sleep(0.7)"
    known = record(tools, "sh", "-c", f"{sys.executable} -S -c '{maps}'; exit 0").json()
    said = next(f for f in known["findings"] if f["id"] == "processes-at-peak")
    largest = max(known["processes"], key=lambda p: p["peak_rss_bytes"] or 0)
    if megabytes == 4:
        assert "largest_rss_bytes" not in said["numbers"] and "in memory" not in said["text"], said
        return
    assert said["numbers"]["largest_rss_bytes"] == largest["peak_rss_bytes"] > n, (said, largest)
    assert re.search(rf"; python3?\S* \(pid {largest['pid']}\) had up to [\d.]+ MB in memory \(RSS\), at most [\d.]+ [kM]B of it in recorded blocks",
                     said["text"]), said
    assert re.search(r"; of 8[4-9]\.\d MB that python3?\S* mapped or reserved in all, \S+ mapped 9\d %", said["text"]), said
