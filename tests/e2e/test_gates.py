"""Gates for CI: each kind passes and fails where it should, and noise raises no alarm."""

import json
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

PROGRAM = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char *volatile kept[10000];
__attribute__((noinline)) void keep(int n, size_t size) {
	for (int i = 0; i < n; i++) {
		kept[i] = malloc(size);
		memset(kept[i], 1, size);
	}
}
__attribute__((noinline)) void churn(int n) {
	for (int i = 0; i < n; i++) {
		free(kept[9999] = malloc(32));
	}
}
int main(int argc, char **argv) {
	keep(argc > 1 ? atoi(argv[1]) : 100, argc > 2 ? (size_t)atoi(argv[2]) : 1000);
	churn(argc > 3 ? atoi(argv[3]) : 50);
	usleep(300000); // long enough for a look at its resident memory
	return 0;
}
"""


@pytest.fixture
def runs(tools, tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", "program.c", "-o", "program"], cwd=tmp_path, check=True,
                   timeout=120)

    def record(*words):
        runs.n += 1
        recording = tools.record(tmp_path / "program", *words, name=f"run{runs.n}")
        assert recording.status == 0, repr(recording)
        return recording.file
    runs.n = 0
    record.tools = tools
    return record


runs.n = 0


def judge(tools, files, *gates, base=(), options=()):
    words = [word for gate in gates for word in ("--fail-if", gate)]
    words += [word for file in base for word in ("-d", file)]
    return tools.run(tools.heaptrack_print, *words, *options, *files)


def test_each_kind_passes_and_fails(runs):
    tools = runs.tools
    file, more = runs("100", "1000", "50"), runs("120", "1000", "90")
    fewer = runs("100", "1000", "50")
    for gate, base, is_failed in [
            ("peak>100k", None, True), ("peak>101k", None, False), ("peak>=100032", None, True),
            ("peak>97KiB", None, True), ("peak>98KiB", None, False),
            ("never-freed>0", None, True), ("never-freed>100k", None, False),
            ("never-freed-blocks>99", None, True), ("never-freed-blocks>100", None, False),
            ("allocations>149", None, True), ("allocations>150", None, False),
            ("allocated>101599", None, True), ("allocated>101600", None, False),
            ("temporary>49", None, True), ("temporary>50", None, False),
            ("temporary>30%", None, True), ("temporary>34%", None, False),
            ("peak-rss>1k", None, True), ("peak-rss>10G", None, False),
            ("lost>0", None, False), ("lost>=0", None, True),
            ("peak<200k", None, True), ("peak<50k", None, False),
            ("peak>+5%", fewer, False), ("allocations>+0", fewer, False)]:
        done = judge(tools, [file], gate, base=[base] if base else [])
        assert done.status == (3 if is_failed else 0), (gate, done.stdout)
        assert ("FAIL  " + gate if is_failed else "pass  " + gate) in done.stdout
    for gate, is_failed in [("peak>+5%", True), ("peak>+25%", False), ("peak>+10k", True),
                            ("peak>+30k", False), ("allocations>+39%", True),
                            ("allocations>+41%", False), ("temporary>+30", True),
                            ("never-freed>+19%", True), ("never-freed>+21%", False)]:
        done = judge(tools, [more], gate, base=[file])
        assert done.status == (3 if is_failed else 0), (gate, done.stdout)


def test_the_sentence_names_the_site(runs):
    tools = runs.tools
    base, more = runs("100"), runs("150")
    done = judge(tools, [more], "peak>+5%", "peak>1k", base=[base])
    text = " ".join(done.stdout.split())
    assert "more than the base's" in text and "most of it is keep program.c:" in text
    assert ", +50.0 kB" in text and "the largest part is keep program.c:" in text
    done = judge(tools, [more], "never-freed-blocks>+10", base=[base])  # in what the gate counts
    assert re.search(r"most of it is keep program.c:\d+, \+50 ", " ".join(done.stdout.split()) + " "), done.stdout


def test_several_gates_junit_and_markdown(runs, tmp_path):
    tools = runs.tools
    base, more = runs("100"), runs("150")
    junit = tmp_path / "junit.xml"
    done = judge(tools, [more], "peak>+5%", "lost>0", "never-freed>1G", base=[base],
                 options=["--junit", junit, "--markdown"])
    assert done.status == 3
    root = xml.etree.ElementTree.parse(junit).getroot()
    suite = root.find("testsuite")
    assert suite.get("tests") == "3" and suite.get("failures") == "1"
    cases = {case.get("name"): case.find("failure") is not None for case in suite}
    assert cases == {"peak>+5%": True, "lost>0": False, "never-freed>1G": False}
    assert "| `peak>+5%` | ❌ **failed** |" in done.stdout
    assert "| `lost>0` | ✅ passed |" in done.stdout
    for line in done.stdout.splitlines():  # every row of a table has the cells of its head
        if line.startswith("|"):
            assert line.endswith("|")
    document = json.loads(judge(tools, [more], "peak>+5%", base=[base], options=["--json"]).stdout)
    assert document["gates"][0]["failed"] is True


def test_repeated_runs_are_judged_by_their_medians(runs):
    tools = runs.tools
    base = [runs(str(n)) for n in (100, 101, 99)]
    same = [runs(str(n)) for n in (100, 130, 99)]  # one outlier
    worse = [runs(str(n)) for n in (120, 121, 119)]
    mixed = [runs(str(n)) for n in (90, 112, 113)]  # the median is beyond, a run is not
    assert judge(tools, same, "peak>+5%", base=base).status == 0
    done = judge(tools, worse, "peak>+5%", base=base)
    assert done.status == 3 and "median of 3 runs" in " ".join(done.stdout.split())
    done = judge(tools, mixed, "peak>+5%", base=base)
    assert done.status == 0 and "variation between runs" in " ".join(done.stdout.split())


def test_what_cannot_be_judged_does_not_pass(runs, tmp_path):
    tools = runs.tools
    folded = tmp_path / "x.folded"
    folded.write_text("main;f 10\n")
    done = judge(tools, [folded], "never-freed>5")
    assert done.status == 3 and "does not contain this figure" in done.stdout
    done = judge(tools, [runs("10")], "peak>+5%")
    assert done.status == 1 and "needs a base" in done.stderr
    done = judge(tools, [folded], options=["--junit", tmp_path / "x.xml"])
    assert done.status == 1 and "add --fail-if GATE" in done.stderr
    for gate in ("peak", "peak>", "peak>x", "weight>5", "peak>5Q", "peak>30%", "peak>5 5"):
        done = judge(tools, [folded], gate)
        assert done.status == 1 and f'"{gate}"' in done.stderr, repr(done)


NOISY = {
    "python": ["/usr/bin/python3", "-c",
               "import json, random, re\n"
               "d = {str(random.random()): [random.random()] * 5 for _ in range(3000)}\n"
               "json.loads(json.dumps(d)); re.findall('[0-9]+', str(d))\n"],
    "node": ["node", "-e",
             "let a = []; for (let i = 0; i < 60000; i++) a.push({i, t: 'x' + Math.random()});"
             "require('zlib').gzipSync(JSON.stringify(a));"],
}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("program", NOISY)
def test_noise_raises_no_alarm(tools, program, is_long, capsys):
    """Three runs against three, again and again: nothing changed, so nothing may fail at 5 %."""
    if not shutil.which(NOISY[program][0]):
        pytest.skip(f"{NOISY[program][0]} is not installed")
    rounds = 50 if is_long else 2
    files = []
    for i in range(3 * (rounds + 1)):
        recording = tools.record(*NOISY[program], name=f"noise{i}", timeout=120)
        assert recording.status == 0, repr(recording)
        files.append(recording.file)
    alarms = []
    for i in range(rounds):
        base, ours = files[3 * i:3 * i + 3], files[3 * i + 3:3 * i + 6]
        done = judge(tools, ours, "peak>+5%", "allocations>+5%", "allocated>+5%", base=base)
        if done.status:
            alarms.append(done.stdout)
    assert alarms == [], f"{len(alarms)} of {rounds}: {alarms[:2]}"
