"""Files of other tools, made by them here, and read: totals are those that they print themselves."""

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
#include <stdlib.h>
#include <string.h>
static char *keep[3000];
static volatile unsigned sink;
static inline __attribute__((always_inline)) char *cell(size_t n) {
	char *p = malloc(n);
	memset(p, 1, n);
	return p;
}
__attribute__((noinline)) void table(int n) {
	for (int i = 0; i < n; i++) {
		keep[i] = cell(1000 + (size_t)(i % 50) * 8);
	}
}
__attribute__((noinline)) void spike(void) {
	char *p = malloc(3000000);
	memset(p, 2, 3000000);
	sink += (unsigned)p[5];
	free(p);
}
int main(void) {
	table(3000);
	spike();
	for (int i = 0; i < 1000; i++) {
		free(keep[i]);
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imports")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O2", "-g", "program.c", "-o", "program"], cwd=folder, check=True,
                   timeout=120)
    return folder / "program"


def needs(tool):
    return pytest.mark.skipif(not shutil.which(tool), reason=f"{tool} is not installed")


def sites_of(tools, file):
    document = tools.json(file)
    return document["summary"], document["sites"]


def names(site):
    return [frame["function"].split("(")[0] for frame in site["stack"]]


@needs("valgrind")
def test_massif(tools, program, tmp_path):
    out = tmp_path / "massif.out.1"
    done = subprocess.run(["valgrind", "-q", "--tool=massif", "--threshold=0", "--detailed-freq=1",
                           f"--massif-out-file={out}", program], capture_output=True, timeout=300)
    assert done.returncode == 0
    judge = subprocess.run(["ms_print", out], capture_output=True, text=True, timeout=60).stdout
    number = re.search(r"(\d+) \(peak\)", judge)[1]
    row = re.search(rf"^ +{number} +([\d,]+) +([\d,]+) +([\d,]+)", judge, re.MULTILINE)
    summary, sites = sites_of(tools, out)
    assert summary["peak_bytes"] == int(row[3].replace(",", ""))  # "useful-heap"
    assert summary["allocations"] is None and summary["temporary"] is None  # massif does not say
    assert summary["peak_blocks"] is None
    spike = next(site for site in sites["peak"] if "spike" in names(site))
    assert spike["bytes"] == 3000000 and names(spike)[:2] == ["spike", "main"]
    report = tools.print(out).stdout
    assert re.search(r"allocations +unknown", report) and "not in this file: " in report
    # Nor do views say it: one was told for each stack, and instructions as nanoseconds
    refused = tools.run(tools.heaptrack_print, "--tree", "--lens", "m=allocations", out)
    assert refused.status == 1 and "m=allocations is not in this file" in refused.stderr
    view = json.loads(tools.print(out, "--tree", "--json").stdout)
    assert view["totals"]["bytes"] == summary["peak_bytes"] and view["lens"]["moment_ns"] is None
    assert all(node["blocks"] is None and node["allocations"] is None for node in view["tree"])
    text = tools.print(out, "--tree").stdout
    assert re.match(r"peak: [\d.]+ MB\n", text) and "spike" in text and not re.search(r"M +\d+ +\d+ ", text), text


@needs("valgrind")
def test_massif_of_a_program_that_only_grows(tools, tmp_path):
    """massif marks a peak where memory is freed after it. Without, the largest snapshot that has stacks
    tells who had most of it, and others without may be larger. The file was refused."""
    source = tmp_path / "grows.c"
    source.write_text("#include <stdlib.h>\n__attribute__((noinline)) void *grow(void) { return malloc(10000); }\n"
                      "int main(void) { for (int i = 0; i < 1000; i++) *(char *volatile *)&(char *){grow()}; }\n")
    subprocess.run(["gcc", "-O1", "-g", "-w", "-o", tmp_path / "grows", source], check=True)
    out = tmp_path / "massif.out.2"
    subprocess.run(["valgrind", "-q", "--tool=massif", f"--massif-out-file={out}", tmp_path / "grows"],
                   check=True, capture_output=True, timeout=300)
    judge = subprocess.run(["ms_print", out], capture_output=True, text=True, timeout=60).stdout
    assert "(peak)" not in judge
    with_stacks = [int(n) for n in re.search(r"Detailed snapshots: \[([\d, ]+)\]", judge)[1].split(", ")]
    useful = {int(n): int(b.replace(",", "")) for n, b in
              re.findall(r"^ +(\d+) +[\d,]+ +[\d,]+ +([\d,]+) +[\d,]+ +[\d,]+$", judge, re.MULTILINE)}
    summary, sites = sites_of(tools, out)
    assert summary["peak_bytes"] == summary["peak_bytes_low"] == max(useful[n] for n in with_stacks)
    assert summary["peak_bytes_high"] == max(useful.values()) > summary["peak_bytes"]
    assert names(sites["peak"][0])[:2] == ["grow", "main"] and sites["peak"][0]["bytes"] == summary["peak_bytes"]
    assert "The largest snapshot in the file has no stacks" in " ".join(tools.print(out).stdout.split())


@needs("valgrind")
def test_dhat(tools, program, tmp_path):
    out = tmp_path / "dhat.out.1"
    done = subprocess.run(["valgrind", "--tool=dhat", f"--dhat-out-file={out}", program],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0
    says = {key: [int(number.replace(",", "")) for number in numbers] for key, *numbers in
            re.findall(r"(Total|At t-gmax|At t-end): +([\d,]+) bytes in ([\d,]+) blocks", done.stderr)}
    summary, sites = sites_of(tools, out)
    assert [summary["allocated_bytes"], summary["allocations"]] == says["Total"]
    assert [summary["peak_bytes"], summary["peak_blocks"]] == says["At t-gmax"]
    assert [summary["never_freed_bytes"], summary["never_freed_blocks"]] == says["At t-end"]
    assert summary["temporary"] is None
    table = next(site for site in sites["never_freed"] if "table" in names(site))
    assert table["blocks"] == 2000


GPERFTOOLS = sorted(Path("/usr/lib").glob("*/libtcmalloc.so.4"))


@pytest.mark.skipif(not GPERFTOOLS or not shutil.which("google-pprof"),
                    reason="libgoogle-perftools4 or google-perftools is not installed")
def test_gperftools(tools, program, tmp_path):
    """The heap profiler's dump at the end, against google-pprof's own totals."""
    env = {**os.environ, "LD_PRELOAD": str(GPERFTOOLS[0]), "HEAPPROFILE": str(tmp_path / "heap"),
           "HEAP_PROFILE_ALLOCATION_INTERVAL": "1000000"}
    done = subprocess.run([program], env=env, capture_output=True, timeout=120)
    assert done.returncode == 0
    dumps = sorted(tmp_path.glob("heap.*.heap"))
    assert dumps
    for dump in dumps[-2:]:
        summary, sites = sites_of(tools, dump)
        head = re.match(r"heap profile: +(\d+): +(\d+) \[ +(\d+): +(\d+)\]", dump.read_text())
        assert [summary[key] for key in ("never_freed_blocks", "never_freed_bytes", "allocations",
                                         "allocated_bytes")] == [int(n) for n in head.groups()]
        judge = subprocess.run(["google-pprof", "--text", "--show_bytes", program, dump],
                               capture_output=True, text=True, timeout=120)
        total = int(re.search(r"Total: (\d+) B", judge.stdout + judge.stderr)[1])
        assert summary["never_freed_bytes"] == total
        assert summary["peak_bytes"] is None and summary["temporary"] is None
        # Addresses got their names here, from the program's own debug data: with the inlined frame
        assert tools.print(dump, "--tree").stdout.startswith("never freed: ")  # the peak is not known
        assert "at the peak" not in tools.print(dump).stdout
        table = next(site for site in sites["allocations"] if "table" in names(site))
        chain = names(table)
        assert chain[chain.index("table") - 1] == "cell"
        assert chain[chain.index("table") + 1] == "main"


def jemalloc_with_profiling(folder):
    """Debian's libjemalloc, if it was built with profiling: a dump of a small program."""
    for library in sorted(Path("/usr/lib").glob("*/libjemalloc.so.2")):
        env = {**os.environ, "LD_PRELOAD": str(library),
               "MALLOC_CONF": f"prof:true,prof_final:true,prof_prefix:{folder}/jeprof"}
        done = subprocess.run(["/bin/true"], env=env, capture_output=True, text=True, timeout=60)
        if "Invalid conf pair" not in done.stderr and list(folder.glob("jeprof.*.heap")):
            return library
    return None


@needs("jeprof")
def test_jemalloc(tools, program, tmp_path):
    library = jemalloc_with_profiling(tmp_path)
    if not library:
        pytest.skip("Debian's libjemalloc2 is built without profiling (MALLOC_CONF=prof:true)")
    for old in tmp_path.glob("jeprof.*.heap"):
        old.unlink()
    env = {**os.environ, "LD_PRELOAD": str(library),
           "MALLOC_CONF": f"prof:true,prof_final:true,lg_prof_sample:12,prof_prefix:{tmp_path}/jeprof"}
    assert subprocess.run([program], env=env, capture_output=True, timeout=120).returncode == 0
    dump = sorted(tmp_path.glob("jeprof.*.heap"))[-1]
    summary, _ = sites_of(tools, dump)
    judge = subprocess.run(["jeprof", "--text", "--show_bytes", program, dump],
                           capture_output=True, text=True, timeout=120)
    total = int(re.search(r"Total: (\d+) B", judge.stdout + judge.stderr)[1])
    assert abs(summary["never_freed_bytes"] - total) <= total // 1000 + 100
    # And the truth: 2000 blocks were left; one in three was sampled
    assert abs(summary["never_freed_blocks"] - 2000) < 300


@needs("node")
def test_v8_heap_profile(tools, tmp_path):
    script = tmp_path / "script.js"
    script.write_text("globalThis.kept = [];\nfunction fill() {\n  for (let i = 0; i < 200000; i++) {\n"
                      "    kept.push({i, text: 'x' + i});\n  }\n}\nfill();\n")
    done = subprocess.run(["node", "--heap-prof", f"--heap-prof-dir={tmp_path}", script],
                          capture_output=True, timeout=120)
    assert done.returncode == 0
    out = next(tmp_path.glob("*.heapprofile"))

    def total(node):
        return node["selfSize"] + sum(map(total, node["children"]))

    def places(node):
        frame = node["callFrame"]
        if frame["url"]:
            yield frame["functionName"], frame["url"].removeprefix("file://"), frame["lineNumber"]
        for child in node["children"]:
            yield from places(child)
    head = json.loads(out.read_text())["head"]
    summary, sites = sites_of(tools, out)
    assert summary["never_freed_bytes"] == total(head) > 0
    assert summary["never_freed_blocks"] is None and summary["peak_bytes"] is None
    fill = next(site for site in sites["never_freed"] if "fill" in names(site))
    load = next(frame for frame in fill["stack"] if frame["function"] == "Module._load")
    assert ("Module._load", load["file"], load["line"] - 1) in set(places(head))


def test_folded(tools, tmp_path):
    out = tmp_path / "stacks.folded"
    out.write_text("main;parse;malloc 100\nmain;spike (deep);make row 5000\n# a remark\n")
    summary, sites = sites_of(tools, out)
    assert summary["peak_bytes"] == 5100 and summary["never_freed_bytes"] is None
    assert names(sites["peak"][0]) == ["make row", "spike ", "main"]


# ---- what goes out comes back

CPP = r"""
#include <cstdlib>
#include <string>
#include <vector>
static inline __attribute__((always_inline)) char *inner(size_t n) { return (char *)malloc(n); }
static inline __attribute__((always_inline)) char *outer(size_t n) { return inner(n + 1); }
std::vector<char *> kept;
__attribute__((noinline)) void fill(int n) {
	for (int i = 0; i < n; i++) {
		kept.push_back(outer(10 + (size_t)i));
	}
}
__attribute__((noinline)) int recurse(int depth) {
	kept.push_back(outer(7));
	return depth ? recurse(depth - 1) + 1 : 0;
}
int main() {
	fill(500);
	recurse(30);
	for (size_t i = 0; i < kept.size(); i += 3) {
		free(kept[i]);
	}
	return 0;
}
"""


@pytest.fixture(scope="module")
def recorded(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("back")
    (folder / "program.cpp").write_text(CPP)
    subprocess.run(["g++", "-O2", "-g", "program.cpp", "-o", "program"], cwd=folder, check=True,
                   timeout=120)
    tools = conftest.Tools(build, folder)
    recording = tools.record(folder / "program")
    assert recording.status == 0, repr(recording)
    yield tools, recording
    tools.finish()


@pytest.mark.parametrize("name,known", [
    ("pprof", ["allocations", "allocated_bytes", "temporary", "peak_blocks", "peak_bytes",
               "never_freed_blocks", "never_freed_bytes"]),
    ("dhat", ["allocations", "allocated_bytes", "peak_blocks", "peak_bytes", "never_freed_blocks",
              "never_freed_bytes"]),
    ("massif", ["peak_bytes", "never_freed_bytes"]),
    ("folded", ["peak_bytes"]),
])
def test_export_then_import_is_the_same(recorded, tmp_path, name, known):
    tools, recording = recorded
    out, ours, theirs = tmp_path / f"out.{name}", tmp_path / "ours.json", tmp_path / "theirs.json"
    tools.print(recording.file, "--export", f"{name}={out}", "--export", f"json={ours}",
                *(["--massif-threshold", "0"] if name == "massif" else []))
    tools.print(out, "--export", f"json={theirs}")
    summary, before = tools.json(out)["summary"], tools.json(recording.file)["summary"]
    for what in before:
        if what in known:
            assert summary[what] == before[what], what
        elif what in ("allocations", "allocated_bytes", "temporary", "peak_bytes",
                      "never_freed_bytes"):
            assert summary[what] is None, what
    a, b = foreign.own_json(ours)[0], foreign.own_json(theirs)[0]
    for what in known:
        assert foreign.summed(a, what) == foreign.summed(b, what), what
    if name != "folded":  # inlined frames are still known as such
        inlined = [[frame["function"] for frame in json.loads(path.read_bytes())["frames"]
                    if frame["inlined"]] for path in (ours, theirs)]
        assert set(inlined[0]) == set(inlined[1]) and "inner" in inlined[0]


def test_what_a_file_does_not_say_stays_unsaid(tools, tmp_path):
    """Missing is not zero: neither in our own exports nor in those for other tools."""
    folded, dump, ad_hoc = (tmp_path / name for name in ("a.folded", "a.heap", "dhat.json"))
    folded.write_text("main;parse 100\nmain;pack 50\n")
    dump.write_text("heap profile: 2: 96 [5: 240] @ heapprofile\n"
                    "  2: 96 [5: 240] @ 0x1000 0x2000\n\nMAPPED_LIBRARIES:\n")
    ad_hoc.write_text(json.dumps({
        "dhatFileVersion": 2, "mode": "copy", "verb": "Copied", "bklt": False, "bkacc": False,
        "tu": "us", "Mtu": "s", "cmd": "app", "pid": 1, "te": 5, "ftbl": ["[root]", "0x1: f (a.c:1)"],
        "pps": [{"tb": 30, "tbk": 3, "fs": [1]}]}))
    for file, known, shown in [
            (folded, {"peak_bytes": 150}, 150),
            (dump, {"allocations": 5, "allocated_bytes": 240, "never_freed_blocks": 2,
                    "never_freed_bytes": 96}, 96),
            (ad_hoc, {"allocations": 3, "allocated_bytes": 30}, 30)]:
        paths = {name: tmp_path / f"out.{name}" for name in
                 ("json", "csv", "pprof", "speedscope", "callgrind", "folded", "firefox")}
        tools.print(file, *[word for name, path in paths.items()
                            for word in ("--export", f"{name}={path}")])
        stacks, document = foreign.own_json(paths["json"])
        assert {key: v for key, v in document["totals"].items() if v is not None} == known
        assert document["duration_ns"] is None or file == ad_hoc
        assert all(set(values) & set(document["totals"]) == set(known) for _, values in stacks)
        with open(paths["csv"], newline="") as table:
            for row in csv.DictReader(table):
                assert {key for key in document["totals"] if row[key]} == set(known)
        names = {"alloc_objects": "allocations", "alloc_space": "allocated_bytes",
                 "inuse_objects": "never_freed_blocks", "inuse_space": "never_freed_bytes",
                 "peak_space": "peak_bytes"}
        types, samples = foreign.pprof(paths["pprof"])
        assert {names[kind]: sum(v[kind] for _, v in samples) for kind in types} == known
        assert sum(foreign.folded(paths["folded"].read_text()).values()) == shown
        columns = {"peak_bytes": "PeakBytes", "never_freed_bytes": "NeverFreedBytes",
                   "allocated_bytes": "AllocatedBytes", "allocations": "Allocations"}
        events = re.search("events: (.*)", paths["callgrind"].read_text())[1].split()
        assert set(events) == {columns[key] for key in known if key in columns}
        foreign.speedscope(json.loads(paths["speedscope"].read_bytes()))
    # A format without lifetimes leaves them out; one that has nothing to hold says so
    tools.print(dump, "--export", f"dhat={tmp_path / 'dhat'}")
    document = json.loads((tmp_path / "dhat").read_bytes())
    assert document["bklt"] is False and sum(p["tb"] for _, p in foreign.dhat(document)) == 240
    for file, name, sentence in [(folded, "dhat", "the DHAT format needs allocation counts"),
                                 (ad_hoc, "massif", "the massif format needs the heap's size"),
                                 (dump, "heaptrack", "the input has only totals"),
                                 (folded, "histogram", "does not contain block sizes")]:
        out = tmp_path / "refused"
        done = tools.run(tools.heaptrack_print, "--export", f"{name}={out}", file)
        assert done.status == 1 and sentence in done.stderr and not out.exists(), repr(done)
    done = tools.run(tools.heaptrack_print, "--export", "folded=-", "--lens", "m=temporary", folded)
    assert done.status == 1 and "does not contain temporary" in done.stderr


@pytest.mark.long
def test_what_unpacks_to_too_much_is_put_down(tools, tmp_path):
    bomb = tmp_path / "bomb.folded.gz"
    with gzip.open(bomb, "wb", 9) as file:
        for _ in range(1100):
            file.write(b"main;parse;make_row 100\n" * 42000)
    watched = tools.run("/usr/bin/python3", "-c",
                        "import resource, subprocess, sys\n"
                        "status = subprocess.run(sys.argv[1:]).returncode\n"
                        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
                        "sys.exit(status)", tools.heaptrack_print, bomb, timeout=600)
    assert watched.status == 1 and "larger than 1 GB when decompressed" in watched.stderr
    assert int(watched.stdout) < 1_200_000  # kB


def test_bombs_and_torn_files_end_with_a_sentence(tools, tmp_path):
    deep = tmp_path / "deep.heapprofile"
    deep.write_text('{"head":' + '{"callFrame":{"functionName":"f"},"selfSize":1,"children":[' * 5000)
    cut = tmp_path / "dhat.json"
    cut.write_text('{"dhatFileVersion":2,"mode":"heap","pps":[{"tb":1')
    version = tmp_path / "dhat3.json"
    version.write_text('{"dhatFileVersion":3}')
    backwards = tmp_path / "massif.out"
    backwards.write_text("desc: x\ncmd: y\ntime_unit: i\n#-\nsnapshot=0\n#-\ntime=5\nmem_heap_B=0\n"
                         "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n#-\nsnapshot=1\n#-\n"
                         "time=4\nmem_heap_B=0\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n")
    cpu = tmp_path / "cpu.pb"
    cpu.write_bytes(b"\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x03cpu\x32\x05nanos")
    for path, sentence in [(deep, "V8"), (cut, "cut short"), (version, "version 3"),
                           (backwards, "time goes backwards"), (cpu, "not a heap profile")]:
        finished = tools.run(tools.heaptrack_print, path)
        assert finished.status == 1 and sentence in finished.stderr, repr(finished)
