"""Exports: the tools they are made for take them, and their sums are those of --json."""

import csv
import gzip
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import conftest
import foreign
import pytest

PROGRAM = r"""
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static volatile unsigned sink;
// Two levels are inlined into table(): the order of inlining must survive
static inline __attribute__((always_inline)) char *cell(size_t n) {
	char *p = (char *)malloc(n);
	memset(p, 1, n);
	return p;
}
static inline __attribute__((always_inline)) char *row(size_t n) {
	char *p = cell(n + 1);
	sink += (unsigned char)p[0];
	return p;
}
__attribute__((noinline)) void table(std::vector<char *> *out, int n) {
	for (int i = 0; i < n; i++) {
		out->push_back(row(100 + i % 50));
	}
}
__attribute__((noinline)) int recurse(int depth) {
	char *p = (char *)malloc(64);
	p[0] = (char)depth;
	int n = depth ? recurse(depth - 1) : 0;
	n += p[0];
	free(p);
	return n;
}
__attribute__((noinline)) void churn() {
	for (int i = 0; i < 500; i++) {
		std::string text(40 + i % 7, 'x');
		sink += (unsigned)text.size();
	}
}
static void worker() {
	for (int i = 0; i < 20; i++) {
		churn();
		usleep(2000);
	}
}
int main() {
	std::vector<char *> rows;
	std::thread thread(worker);
	for (int round = 0; round < 6; round++) {
		table(&rows, 300);
		sink += (unsigned)recurse(20);
		usleep(15000);
		if (round == 3) {
			for (size_t i = 0; i < rows.size(); i += 2) {
				free(rows[i]);
				rows[i] = nullptr;
			}
		}
	}
	thread.join();
	return 0;
}
"""

PPROF = [str(path) for path in Path("/usr/lib").glob("go-*/pkg/tool/linux_*/pprof")]
DH_VIEW = Path("/usr/libexec/valgrind/dh_view.js")
LENSES = ["", "m=never-freed", "m=allocations", "m=temporary", "m=bytes", "q=table", "q=!churn",
          "focus=table", "hide=main", "hide=row&q=cell", "t=20%25-80%25", "m=kept&t=0-50%25",
          "t=peak", "m=never-freed&t=30%25-end&q=!recurse", "focus=churn&m=allocations"]


@pytest.fixture(scope="module")
def made(build, tmp_path_factory):
    """A program with inlining, recursion, threads and churn, recorded once."""
    folder = tmp_path_factory.mktemp("exports")
    (folder / "program.cpp").write_text(PROGRAM)
    subprocess.run(["g++", "-O2", "-g", "-pthread", "program.cpp", "-o", "program"], cwd=folder,
                   check=True, timeout=120)
    tools = conftest.Tools(build, folder)
    recording = tools.record(folder / "program")
    assert recording.status == 0, repr(recording)
    yield tools, recording
    tools.finish()


def export(tools, file, folder, *options, **formats):
    """--export NAME=OUT for each; the paths by name."""
    paths = {name: folder / f"out.{name}{'.gz' if name in ('pprof', 'firefox') else ''}"
             for name in formats}
    words = [word for name in formats for word in ("--export", f"{name}={paths[name]}")]
    finished = tools.print(file, *words, *options)
    assert finished.stdout == "" and finished.stderr == ""
    return paths


def totals(tools, file, lens, metric):
    words = "&".join([word for word in lens.split("&") if word and not word.startswith("m=")]
                     + [f"m={metric}"])
    return json.loads(tools.print(file, "--json", "--lens", words).stdout)["totals"]


def test_ms_print_accepts_massif(made, tmp_path):
    tools, recording = made
    path = export(tools, recording.file, tmp_path, massif=1)["massif"]
    judge = subprocess.run(["ms_print", path], capture_output=True, text=True, timeout=60)
    assert judge.returncode == 0 and "(peak)" in judge.stdout, judge.stderr
    peak = recording.json()["summary"]["peak_bytes"]
    number = int(re.search(r"(\d+) \(peak\)", judge.stdout)[1])
    row = re.search(rf"^ +{number} +([\d,]+) +([\d,]+) ", judge.stdout, re.MULTILINE)
    assert int(row[2].replace(",", "")) == peak
    assert int(re.search(r"Number of snapshots: (\d+)", judge.stdout)[1]) <= 100
    # Inlined frames stand in their order, innermost first
    assert re.search(r"cell \(.*\n[ |]*->.*row \(.*\n[ |]*->.*table\(.*\n[ |]*->.*main ",
                     judge.stdout)


PAGES = r"""
#include <string.h>
#include <sys/mman.h>
static void *map(size_t n) { return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
__attribute__((noinline)) void *map_table(void) { void *p = map(24 << 20); memset(p, 1, 4096); return p; }
__attribute__((noinline)) void *map_buffer(void) { void *p = map(60 << 20); memset(p, 1, 4096); return p; }
int main(void) {
	char *table = map_table();
	munmap(table + (20 << 20), 4 << 20); // a part
	munmap(map_buffer(), 60 << 20);
	return map_table() == NULL;
}
"""


def places_of_peak(ms_print):
    """{function: bytes} of the innermost places of the tree of the peak."""
    number = re.search(r"(\d+) \(peak\)", ms_print)[1]
    tree = re.split(rf"(?m)^ +{number} +[\d,]+ +[\d,]+ .*\n", ms_print)[1].split("\n-----")[0]
    return {name: int(size.replace(",", "")) for size, name in
            re.findall(r"->[\d.]+% \(([\d,]+)B\) 0x[0-9A-F]+: (?:map \(.*\n[ |]*->.*: )?(map_\w+) ", tree)}


def test_pages_are_as_massif_has_them(tools, tmp_path):
    """The same places, to the byte, as valgrind's massif with --pages-as-heap=yes; the heap is another export."""
    (tmp_path / "pages.c").write_text(PAGES)
    program = tmp_path / "pages"
    subprocess.run(["gcc", "-g", "-O1", "-o", program, tmp_path / "pages.c"], check=True, timeout=60)
    recording = tools.record(program)
    path = export(tools, recording.file, tmp_path, **{"massif-pages": 1})["massif-pages"]
    ours = subprocess.run(["ms_print", path], capture_output=True, text=True, timeout=60, check=True).stdout
    assert "(page allocation syscalls) mmap/mremap/brk, --alloc-fns, etc." in ours
    assert places_of_peak(ours) == {"map_table": 20 << 20, "map_buffer": 60 << 20}, ours
    mapped = recording.json()["memory"]["mapped_peak_bytes"]
    assert re.search(rf"mem_heap_B={mapped}\n.*\n.*\nheap_tree=peak", path.read_text()), mapped
    for words, options in (("a range", ["--lens", "t=0-50%"]), ("a comparison", ["-d", recording.file])):
        refused = tools.run(tools.heaptrack_print, "--export", f"massif-pages={tmp_path / 'x'}", *options, recording.file)
        assert refused.status != 0 and words in refused.stderr, repr(refused)
    bare = tools.record(program, options=("--no-memory",), name="bare")
    refused = tools.run(tools.heaptrack_print, "--export", f"massif-pages={tmp_path / 'x'}", bare.file)
    assert refused.status != 0 and "calls that map memory were not recorded" in refused.stderr
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    theirs = tmp_path / "theirs"
    subprocess.run(["valgrind", "-q", "--tool=massif", "--pages-as-heap=yes", f"--massif-out-file={theirs}", program], check=True,
                   capture_output=True, timeout=120)
    theirs = subprocess.run(["ms_print", theirs], capture_output=True, text=True, timeout=60, check=True).stdout
    assert places_of_peak(theirs) == places_of_peak(ours), theirs


@pytest.mark.long
def test_massif_visualizer_opens_both(tools, tmp_path):
    """Of the heap and of pages: it reads every snapshot, and has the peak of the summary."""
    if not shutil.which("massif-visualizer"):
        pytest.skip("massif-visualizer is not installed")
    (tmp_path / "pages.c").write_text(PAGES)
    program = tmp_path / "pages"
    subprocess.run(["gcc", "-g", "-O1", "-o", program, tmp_path / "pages.c"], check=True, timeout=60)
    recording = tools.record(program)
    made = export(tools, recording.file, tmp_path, **{"massif-pages": 1, "massif": 1})
    mapped = recording.json()["memory"]["mapped_peak_bytes"]
    for name, peak in ("massif-pages", f'"{mapped / 2**20:.1f} MiB"'), ("massif", None):
        with subprocess.Popen(["massif-visualizer", made[name]], stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(tmp_path)}) as viewer:
            said = ""
            while "peak cost:" not in said:
                line = viewer.stderr.readline()
                assert line, said
                said += line
            viewer.kill()
        assert "loaded massif file" in said, said
        assert f"snapshots: {made[name].read_text().count('snapshot=')}\n" in said, said
        assert not peak or f"peak cost: {peak} heap" in said, said


def test_classic_switches(made, tmp_path):
    tools, recording = made
    totals_of = recording.json()["summary"]
    for cost, total in [("allocations", totals_of["allocations"]),
                        ("temporary", totals_of["temporary"]),
                        ("leaked", totals_of["never_freed_bytes"]),
                        ("peak", totals_of["peak_bytes"])]:
        out = tmp_path / f"{cost}.folded"
        tools.print(recording.file, "-F", out, "--flamegraph-cost-type", cost)
        assert sum(foreign.folded(out.read_text()).values()) == total
    tools.print(recording.file, "-M", tmp_path / "m", "--massif-threshold", "10",
                "--massif-detailed-freq", "0", "-H", tmp_path / "h")
    massif = (tmp_path / "m").read_text()
    assert "heap_tree=detailed" not in massif.rsplit("snapshot=", 1)[0]
    assert "(heap allocation functions)" in massif and "page allocation" not in massif
    tools.print(recording.file, "-M", tmp_path / "every", "--massif-detailed-freq", "1")
    assert "heap_tree=empty" not in (tmp_path / "every").read_text()
    assert "all below massif's threshold (10.00%)" in massif
    rows = [tuple(map(int, line.split("\t"))) for line in (tmp_path / "h").read_text().splitlines()]
    assert rows == sorted(rows) and sum(n for _, n in rows) == totals_of["allocations"]
    # A table for a pipe
    rows = list(csv.DictReader(tools.print(recording.file, "--csv").stdout.splitlines()))
    assert sum(int(row["peak_bytes"]) for row in rows) == totals_of["peak_bytes"]
    # The report is printed beside them, as it always was
    assert "peak heap memory consumption" in tools.print(recording.file, "-H", tmp_path / "h").stdout


DEEP = """
#include <stdlib.h>
static int a_function_with_a_name_of_some_length(int n) {
	void *volatile block = malloc(10);
	(void)block;
	return n ? a_function_with_a_name_of_some_length(n - 1) + 1 : 0;
}
int main(void) {
	return a_function_with_a_name_of_some_length(3000) != 3000;
}
"""


def test_csv_of_deep_recursion_is_bounded(tools, tmp_path):
    """A stack per line grows with the square of its depth: stacks are cut, numbers are not."""
    (tmp_path / "deep.c").write_text(DEEP)
    subprocess.run(["gcc", "-O0", "-g", "-o", tmp_path / "deep", tmp_path / "deep.c"], check=True)
    recording = tools.record(tmp_path / "deep")
    assert recording.status == 0, repr(recording)
    path = tmp_path / "x.csv"
    tools.print(recording.file, "--export", f"csv={path}")
    assert path.stat().st_size < 34 << 20
    csv.field_size_limit(1 << 20)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["allocations"]) for row in rows) == 3001 == len(rows)
    cut = [row["stack"] for row in rows if "frames left out);" in row["stack"]]
    assert cut and all(stack.startswith("(") for stack in cut), cut[:1]
    depths = {int(stack[1:].split()[0]) + stack.count(";") for stack in cut}
    assert max(depths) >= 3001, max(depths)


@pytest.mark.skipif(not PPROF, reason="Go's pprof (golang-go) is not installed")
def test_pprof_accepts_ours(made, tmp_path):
    tools, recording = made
    path = export(tools, recording.file, tmp_path, pprof=1)["pprof"]
    summary = recording.json()["summary"]
    expected = {"alloc_objects": summary["allocations"], "alloc_space": summary["allocated_bytes"],
                "inuse_objects": summary["never_freed_blocks"],
                "inuse_space": summary["never_freed_bytes"],
                "peak_space": summary["peak_bytes"], "temporary": summary["temporary"]}
    for kind, total in expected.items():
        judge = subprocess.run([PPROF[0], "-top", "-nodecount=0", "-nodefraction=0", "-unit=B",
                                f"-sample_index={kind}", path], capture_output=True, text=True,
                               env={**os.environ, "PPROF_TMPDIR": str(tmp_path)}, timeout=60)
        assert judge.returncode == 0, judge.stderr
        text = re.search(r"([\d.]+)B? total", judge.stdout)[1]
        assert float(text) == total, (kind, judge.stdout[:400])
    judge = subprocess.run([PPROF[0], "-traces", path], capture_output=True, text=True, timeout=60)
    assert re.search(r"cell .*\n +row .*\n +table.*\n +main", judge.stdout), judge.stdout[:2000]
    raw = subprocess.run([PPROF[0], "-raw", path], capture_output=True, text=True, timeout=60)
    program = next(line for line in raw.stdout.splitlines() if line.startswith("1: 0x"))
    assert "/program " in program and re.search(r" [0-9a-f]{40} ", program + " ")  # its build-id


@pytest.mark.skipif(not shutil.which("callgrind_annotate"), reason="valgrind is not installed")
def test_callgrind_annotate_accepts_ours(made, tmp_path):
    tools, recording = made
    path = export(tools, recording.file, tmp_path, callgrind=1)["callgrind"]
    judge = subprocess.run(["callgrind_annotate", "--threshold=100", path], capture_output=True,
                           text=True, timeout=60)
    assert judge.returncode == 0, judge.stderr
    summary = recording.json()["summary"]
    numbers = re.search(r"^([\d,]+) .*PROGRAM TOTALS", judge.stdout, re.MULTILINE)
    assert int(numbers[1].replace(",", "")) == summary["peak_bytes"]
    assert "Allocations" in judge.stdout and "cell" in judge.stdout
    inclusive = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", path],
                               capture_output=True, text=True, timeout=60).stdout
    rows = re.findall(r"^ *([\d,]+) \([ \d.]+%\) .*:(\S+)", inclusive, re.MULTILINE)
    at_most = summary["peak_bytes"]  # recursion is not counted twice
    assert rows and all(int(number.replace(",", "")) <= at_most for number, _ in rows)


@pytest.mark.skipif(not DH_VIEW.exists() or not shutil.which("node"),
                    reason="valgrind's dh_view.js or node is not installed")
def test_dh_view_builds_its_tree(made, tmp_path):
    """The viewer's own code takes the file: what its page does before it draws."""
    tools, recording = made
    path = export(tools, recording.file, tmp_path, dhat=1)["dhat"]
    document = json.loads(path.read_bytes())
    points = foreign.dhat(document)
    summary = recording.json()["summary"]
    assert sum(point["tb"] for _, point in points) == summary["allocated_bytes"]
    assert sum(point["gb"] for _, point in points) == summary["peak_bytes"]
    assert sum(point["eb"] for _, point in points) == summary["never_freed_bytes"]
    script = tmp_path / "view.js"
    script.write_text(f"""
        const vm = require('vm'), fs = require('fs');
        const element = () => ({{childNodes: [], selectedIndex: 0, style: {{}}, appendChild() {{}},
            append() {{}}, classList: {{add() {{}}, remove() {{}}, contains() {{}}}}}});
        const context = {{document: {{getElementById: element, createElement: element,
            createTextNode: element, body: element(), addEventListener() {{}}}},
            window: {{addEventListener() {{}}}}, console, performance}};
        vm.createContext(context);
        vm.runInContext(fs.readFileSync({json.dumps(str(DH_VIEW))}, 'utf8') + `
            ;globalThis.run = text => {{
                gData = JSON.parse(text);
                gSelect = {{childNodes: {{entries: () => []}},
                    selectedIndex: 0}};
                gSelect.childNodes[0] = {{disabled: false}};
                buildTree();
                return gRoot._totalBytes;
            }}`, context);
        console.log(context.run(fs.readFileSync({json.dumps(str(path))}, 'utf8')));
    """)
    judge = subprocess.run(["node", script], capture_output=True, text=True, timeout=60)
    assert judge.returncode == 0, judge.stderr
    assert int(judge.stdout) == summary["allocated_bytes"]


def test_speedscope_and_firefox_hold_their_rules(made, tmp_path):
    tools, recording = made
    paths = export(tools, recording.file, tmp_path, speedscope=1, firefox=1)
    summary = recording.json()["summary"]
    profiles = foreign.speedscope(json.loads(paths["speedscope"].read_bytes()))
    assert sum(profiles["peak, bytes"].values()) == summary["peak_bytes"]
    assert sum(profiles["never freed, bytes"].values()) == summary["never_freed_bytes"]
    assert sum(profiles["allocations"].values()) == summary["allocations"]
    assert sum(profiles["temporary allocations"].values()) == summary["temporary"]
    table, left = foreign.firefox(json.loads(gzip.decompress(paths["firefox"].read_bytes())))
    assert sum(w for w in table["weight"] if w > 0) == summary["allocated_bytes"]
    assert left == summary["never_freed_bytes"]


def test_all_sums_are_those_of_json_under_each_kind_of_lens(made, tmp_path):
    """test_round_trip.py has random ones."""
    tools, recording = made
    for lens in LENSES:
        peak, live, bytes_ = (totals(tools, recording.file, lens, metric) for metric in
                              ("peak", "kept" if "m=kept" in lens else "never-freed", "bytes"))
        expected = {"allocations": bytes_["allocations"], "temporary": bytes_["temporary"],
                    "allocated_bytes": bytes_["allocated_bytes"], "peak_blocks": peak["blocks"],
                    "peak_bytes": peak["bytes"], "never_freed_blocks": live["blocks"],
                    "never_freed_bytes": live["bytes"]}
        paths = export(tools, recording.file, tmp_path, "--lens", lens, json=1, csv=1, pprof=1,
                       dhat=1, speedscope=1, callgrind=1, folded=1, massif=1)
        check_sums(paths, expected, lens)


def check_sums(paths, expected, lens):
    stacks, document = foreign.own_json(paths["json"])
    assert document["totals"] == expected, lens
    for what, total in expected.items():
        assert sum(values[what] for _, values in stacks) == total, (lens, what)
    with open(paths["csv"], newline="") as file:
        rows = list(csv.DictReader(file))
    for what, total in expected.items():
        assert sum(int(row[what]) for row in rows) == total, (lens, what)
    _, samples = foreign.pprof(paths["pprof"])
    names = {"alloc_objects": "allocations", "alloc_space": "allocated_bytes",
             "inuse_objects": "never_freed_blocks", "inuse_space": "never_freed_bytes",
             "peak_objects": "peak_blocks", "peak_space": "peak_bytes", "temporary": "temporary"}
    for theirs, ours in names.items():
        assert foreign.summed(samples, theirs) == foreign.summed(stacks, ours), (lens, theirs)
    points = [point for _, point in foreign.dhat(json.loads(paths["dhat"].read_bytes()))]
    assert sum(point["tb"] for point in points) == expected["allocated_bytes"], lens
    assert sum(point["gb"] for point in points) == expected["peak_bytes"], lens
    assert sum(point["eb"] for point in points) == expected["never_freed_bytes"], lens
    profiles = foreign.speedscope(json.loads(paths["speedscope"].read_bytes()))
    assert dict(profiles["peak, bytes"]) == foreign.summed(stacks, "peak_bytes"), lens
    shown = {"allocations": "allocations", "temporary": "temporary", "never": "never_freed_bytes",
             "kept": "never_freed_bytes", "bytes": "allocated_bytes"}
    metric = (re.search(r"m=([a-z]+)", lens) or ["", "peak"])[1]
    weights = foreign.folded(paths["folded"].read_text())
    assert sum(weights.values()) == expected[shown.get(metric, "peak_bytes")], lens
    summary = re.search(r"^summary: ([\d ]+)$", paths["callgrind"].read_text(), re.MULTILINE)[1]
    events = re.search(r"^events: (.+)$", paths["callgrind"].read_text(), re.MULTILINE)[1].split()
    values = dict(zip(events, map(int, summary.split())))
    assert values["PeakBytes"] == expected["peak_bytes"], lens
    assert values["Allocations"] == expected["allocations"], lens
    heap = re.findall(r"mem_heap_B=(\d+)\n.*\n.*\nheap_tree=peak", paths["massif"].read_text())
    assert [int(b) for b in heap] == [expected["peak_bytes"]], lens


def test_the_document_describes_every_format(made):
    tools, recording = made
    finished = tools.run(tools.build / "heaptrack_print", "--export", "unknown=x", recording.file)
    names = re.search(r"use one of: (.*)", finished.stderr)[1].split(", ")
    text = (Path(__file__).resolve().parents[2] / "docs/exports.md").read_text()
    assert [name for name in names if not re.search(rf"[`*]{name}[`*]", text)] == []


def test_a_comparison_goes_into_every_format(made, tmp_path):
    tools, recording = made
    second = tools.record(tools.folder / "program", name="second")
    assert second.status == 0
    names = ("pprof", "folded", "speedscope", "firefox", "massif", "dhat", "callgrind", "csv", "json")
    words = [word for name in names for word in ("--export", f"{name}={tmp_path / name}")]
    tools.print(second.file, "-d", recording.file, *words)
    old, new = recording.json()["summary"], second.json()["summary"]
    types, samples = foreign.pprof(tmp_path / "pprof")
    assert sum(v["peak_space"] for _, v in samples) == new["peak_bytes"] - old["peak_bytes"]
    pairs = foreign.folded((tmp_path / "folded").read_text()).values()
    assert sum(b for b, _ in pairs) == old["peak_bytes"]
    assert sum(n for _, n in pairs) == new["peak_bytes"]
    profiles = foreign.speedscope(json.loads((tmp_path / "speedscope").read_bytes()))
    assert sum(profiles["base: peak, bytes"].values()) == old["peak_bytes"]
    points = foreign.dhat(json.loads((tmp_path / "dhat").read_bytes()))
    assert sum(p["gb"] for s, p in points if s[0] == "(base)") == old["peak_bytes"]
    assert sum(p["gb"] for s, p in points if s[0] == "(new)") == new["peak_bytes"]
    assert len(json.loads(gzip.decompress((tmp_path / "firefox").read_bytes()))["threads"]) == 2
    judge = subprocess.run(["ms_print", tmp_path / "massif"], capture_output=True, timeout=60)
    assert judge.returncode == 0
    judge = subprocess.run(["callgrind_annotate", tmp_path / "callgrind"], capture_output=True,
                           text=True, timeout=60)
    assert judge.returncode == 0 and "BasePeakBytes" in judge.stdout
    with open(tmp_path / "csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["base_peak_bytes"]) for row in rows) == old["peak_bytes"]
    assert json.loads((tmp_path / "json").read_bytes())["base_totals"]["allocations"] \
        == old["allocations"]


def test_what_is_wrong_is_said(made, tmp_path):
    tools, recording = made
    for words, sentence in [
            (["--export", "nothing=x"], "unknown export \"nothing\"; use one of: heaptrack, "),
            (["--export", "pprof"], '"pprof"; use NAME=OUT, e.g. pprof=app.pb.gz'),
            (["--export", "csv=x", "--export", "json=x"], "x is named as output more than once"),
            (["--export", "csv=/dev/full"], "heaptrack_print: cannot write /dev/full: No space"),
            (["--export", f"csv={tmp_path}/no/such/x"], "no/such/x"),
            (["-F", "x", "--flamegraph-cost-type", "size"], "allocations, temporary, leaked or peak"),
            (["--export", "histogram=-", "--lens", "t=0-1"], "the histogram format holds a whole recording")]:
        finished = tools.run(tools.heaptrack_print, *words, recording.file)
        assert finished.status == 1 and sentence in finished.stderr, repr(finished)


def test_what_is_read_is_never_written(made, tmp_path):
    tools, recording = made
    base = tmp_path / "base.zst"
    shutil.copy(recording.file, base)
    (tmp_path / "link").symlink_to(recording.file)
    before = recording.file.read_bytes()
    for words in [["--export", f"csv={recording.file}"], ["--export", f"csv={tmp_path / 'link'}"],
                  ["--html", recording.file], ["-d", base, "--export", f"csv={base}"],
                  ["-d", base, "--fail-if", "peak>1G", "--junit", base]]:
        finished = tools.run(tools.heaptrack_print, *words, recording.file)
        assert finished.status == 1 and "refusing to overwrite the input file" in finished.stderr, repr(finished)
    assert recording.file.read_bytes() == base.read_bytes() == before
