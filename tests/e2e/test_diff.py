"""Comparisons: two builds of one program, of which the second allocates at one more place."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import conftest
import foreign
import pytest

CPP = r"""
#include <cstdio>
#include <map>
#include <string>
#include <vector>
@LINES@
struct Session {
	std::vector<int> values;
	std::string name;
};
static std::map<int, Session> sessions;
static Session makeSession(int i) {
	Session s;
	s.values.resize(100 + (size_t)i);
	s.name = std::string(50, 'x');
	return s;
}
void fill(int n) {
	for (int i = 0; i < n; i++) {
		sessions[i] = makeSession(i);
	}
}
std::vector<char> *lookup;
@EXTRA@
int main() {
	fill(200);
	@CALL@
	return (int)sessions.size() == 0;
}
"""
CPP_EXTRA = "__attribute__((noinline)) void makeIndex() { lookup = new std::vector<char>(70000); }"

RUST = r"""
use std::collections::HashMap;
@LINES@
struct Session { values: Vec<u32>, name: String }
impl Session {
    #[inline(never)]
    fn new(i: usize) -> Session {
        let values: Vec<u32> = (0..100 + i as u32).collect();
        Session { values, name: "x".repeat(50) }
    }
}
#[inline(never)]
fn fill<T: Fn(usize) -> Session>(n: usize, make: T) -> HashMap<usize, Session> {
    let mut all = HashMap::with_capacity(500);
    for i in 0..n { all.insert(i, make(i)); }
    all
}
@EXTRA@
fn main() {
    let all = fill(200, |i| Session::new(i));
    @CALL@
    let n: usize = all.values().map(|s| s.values.len() + s.name.len()).sum();
    std::process::exit(if n == 0 { 1 } else { 0 });
}
"""
RUST_EXTRA = ("#[inline(never)]\nfn make_index() -> Vec<u8> { let mut v = Vec::with_capacity(70000); "
              "v.push(1); v }")

NIM = r"""
import tables
@LINES@
type Session = ref object
  values: seq[int]
  name: string
proc newSession(i: int): Session {.noinline.} =
  result = Session(values: newSeq[int](100 + i), name: newString(50))
proc fill(all: TableRef[int, Session], n: int) {.noinline.} =
  for i in 0 ..< n:
    all[i] = newSession(i)
var lookup: seq[byte]
@EXTRA@
proc main() =
  let all = newTable[int, Session](512)
  fill(all, 200)
  @CALL@
  if all.len == 0: quit(1)
main()
"""
NIM_EXTRA = "proc makeIndex() {.noinline.} =\n  lookup = newSeq[byte](70000)"

LANGUAGES = {
    "cpp": ("g++", "cpp", CPP, CPP_EXTRA, "makeIndex();", "//", "makeIndex",
            ["-O2", "-g"], ["-O1", "-fno-inline", "-g"]),
    "rust": ("rustc", "rs", RUST, RUST_EXTRA, "let index = make_index(); unsafe { std::ptr::read_volatile(&index.len()); }",
             "//", "make_index", ["-O", "-g"], ["-O", "-g"]),
    "nim": ("nim", "nim", NIM, NIM_EXTRA, "makeIndex()", "#", "makeIndex",
            ["c", "--hints:off", "--warnings:off", "-d:release", "--mm:arc", "-d:useMalloc", "--debugger:native"],
            ["c", "--hints:off", "--warnings:off", "-d:release", "--mm:arc", "-d:useMalloc", "--debugger:native"]),
}


def build(folder, name, language, is_second):
    compiler, suffix, text, extra, call, comment, _, first, second = LANGUAGES[language]
    lines = "\n".join([comment + " inserted"] * 30) if is_second else ""
    call = call if is_second else ("discard" if language == "nim" else "")
    source = folder / f"{name}.{suffix}"  # of the same name in another folder
    folder.mkdir()
    source.write_text(text.replace("@LINES@", lines).replace("@EXTRA@", extra if is_second else "")
                      .replace("@CALL@", call))
    flags = second if is_second else first
    command = [compiler, *flags]
    command += [f"--nimcache:{folder}/cache", f"-o:{folder / name}", source] \
        if language == "nim" else [source, "-o", folder / name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / name


@pytest.mark.timeout(600)
@pytest.mark.parametrize("language", LANGUAGES)
def test_two_builds_differ_at_one_site(tools, tmp_path, language):
    if not shutil.which(LANGUAGES[language][0]):
        pytest.skip(f"{LANGUAGES[language][0]} is not installed")
    site = LANGUAGES[language][6]
    files = []
    for i in range(2):
        program = build(tmp_path / f"build{i}", "program", language, i == 1)
        recording = tools.record(program, name=f"build{i}")
        assert recording.status == 0, repr(recording)
        files.append(recording)
    done = tools.print(files[1].file, "-d", files[0].file, "--json")
    document = json.loads(done.stdout)
    for metric, change in (("peak", "new"), ("never_freed", "new"), ("allocations", "new")):
        changed = document["changed"][metric]
        if metric == "never_freed" and language != "cpp":  # freed at the end
            assert [c for c in changed if site not in c["function"]] == []
            continue
        assert [c["function"].split("(")[0].split("::")[-1] for c in changed] == [site], metric
        assert changed[0]["change"] == change
        grown = changed[0]["this"]["bytes"]
        assert 70000 <= grown < 70200 and changed[0]["base"]["bytes"] == 0
    old, new = files[0].json()["summary"], files[1].json()["summary"]
    assert document["this"]["peak_bytes"] == new["peak_bytes"]
    assert document["base"]["peak_bytes"] == old["peak_bytes"]
    # In the tree of calls nothing changed but on the way to it
    tree = json.loads(tools.print(files[1].file, "-d", files[0].file, "--tree", "--json").stdout)
    nodes = tree["nodes"]
    leads = {0}
    for i in reversed(range(len(nodes))):
        if nodes[i]["function"] and site in nodes[i]["function"]:
            leads.add(i)
        if i in leads and i:
            leads.add(nodes[i]["parent"])
    below = {i for i, n in enumerate(nodes) if site in (n["function"] or "")}
    for i, n in enumerate(nodes):
        if n["parent"] in below:
            below.add(i)
        if n["grown"] or n["shrunk"]:
            assert i in leads | below, n
    # The text names it, and says what it is
    text = tools.print(files[1].file, "-d", files[0].file).stdout
    row = next(line for line in text.splitlines() if site in line)
    assert "new" in row and "+70.0 kB" in row
    # The other way round it is gone
    text = tools.print(files[0].file, "-d", files[1].file).stdout
    assert "gone" in next(line for line in text.splitlines() if site in line)


def test_a_recording_does_not_differ_from_itself(tools):
    recording = tools.record("/bin/ls", "-l", "/")
    document = json.loads(tools.print(recording.file, "-d", recording.file, "--json").stdout)
    assert document["this"] == document["base"]
    assert all(sites == [] for sites in document["changed"].values())
    text = tools.print(recording.file, "-d", recording.file).stdout
    assert "another program" not in text


def test_changes_of_any_size_have_room(tools, tmp_path):
    """The same sites, with one block here and 20,000 there: each in its column, and no figure that says nothing."""
    (tmp_path / "grow.c").write_text("""
#include <stdlib.h>
#include <time.h>
static void *volatile kept;
__attribute__((noinline)) static void serve(size_t bytes) { kept = malloc(bytes); }
__attribute__((noinline)) static void table(size_t bytes) { kept = malloc(bytes); }
int main(int argc, char **argv) {
	(void)argc;
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	table(1000000 + (size_t)atoi(argv[2]));
	for (int i = 0; i < atoi(argv[1]); i++) {
		serve(1000);
	}
	return 0;
}
""")
    program = tmp_path / "grow"
    subprocess.run(["gcc", "-g", "-O1", tmp_path / "grow.c", "-o", program], check=True, timeout=60)
    small, large = (tools.record(program, *words, name=f"grow{words[1]}") for words in (("1", "9"), ("20000", "0")))
    for view, blocks in (([], ""), (["--tree"], r" +\+19,999"), (["--by", "site"], r" +\+19,999")):
        text = tools.print(large.file, "-d", small.file, *view).stdout
        assert re.search(rf"\+20\.0 MB  > 1000 %{blocks}  +serve", text), text
    text = tools.print(large.file, "-d", small.file).stdout
    assert re.search(r"-9 B  < 0\.1 %  +table", text), text
    assert not re.search(r"%[^\s|]|[-+]0\.0 %", text), text
    # The rate is the difference of both rates, not what the difference of the durations would be
    rate = int(re.search(r"calls to allocation functions: -?\d+ \((-?\d+)/s", text)[1])
    rates = [r["allocations"] * 1e9 / r["duration_ns"] for r in
             (recording.json()["summary"] for recording in (large, small))]
    assert abs(rate - (rates[0] - rates[1])) <= 1, (rate, rates)


def test_another_program_is_said_to_be_one(tools):
    files = [tools.record(*command, name=command[0].name).file
             for command in ([Path("/bin/ls"), "/"], [Path("/bin/cat"), "/dev/null"])]
    text = tools.print(files[1], "-d", files[0]).stdout
    assert "! the base is a recording of another program: ls, not cat" in text


def test_code_without_names_goes_by_its_module(tools):
    """It is compared as one, and no address of it names it."""
    files = [tools.record(*command, name=command[0].name).file
             for command in ([Path("/bin/ls"), "/"], [Path("/bin/cat"), "/dev/null"])]
    text = tools.print(files[0], "-d", files[1]).stdout
    assert re.search(r" new +ls$", text, re.M) and "ls+0x" not in text, text


def test_files_of_any_kind_are_compared(tools, tmp_path):
    base, new = tmp_path / "a.folded", tmp_path / "b.folded"
    base.write_text("main;parse 100\nmain;old 50\nmain;same 7\n")
    new.write_text("main;parse 130\nmain;fresh 20\nmain;same 7\n")
    document = json.loads(tools.print(new, "-d", base, "--json").stdout)
    changed = {c["function"]: (c["change"], c["delta"]) for c in document["changed"]["peak"]}
    assert changed == {"parse": ("changed", 30), "old": ("gone", -50), "fresh": ("new", 20)}
    out = tmp_path / "diff.folded"
    tools.print(new, "-d", base, "--export", f"folded={out}")
    assert foreign.folded(out.read_text()) == {
        ("main", "parse"): (100, 130), ("main", "old"): (50, 0), ("main", "fresh"): (0, 20),
        ("main", "same"): (7, 7)}
    text = tools.print(new, "-d", base).stdout
    assert re.search(r"never freed +unknown +unknown", text) and "NEVER FREED" not in text


def test_a_lens_is_obeyed_on_both_sides(tools, tmp_path):
    base, new = tmp_path / "a.folded", tmp_path / "b.folded"
    base.write_text("main;parse;x 100\nmain;other;x 1\n")
    new.write_text("main;parse;x 130\nmain;other;x 900\n")
    document = json.loads(tools.print(new, "-d", base, "--json", "--lens", "q=parse").stdout)
    assert document["this"]["peak_bytes"] == 130 and document["base"]["peak_bytes"] == 100
    assert conftest.total([c["this"] for c in document["changed"]["peak"]], "bytes") == 130


def test_both_call_trees_are_one(tools, tmp_path):
    """What grew here and shrank there is seen: 30 more and 30 less are a change of 60."""
    base, new = tmp_path / "a.folded", tmp_path / "b.folded"
    base.write_text("main;work;parse 100\nmain;work;pack 50\nmain;same 7\n")
    new.write_text("main;work;parse 130\nmain;work;pack 20\nmain;same 7\nmain;fresh 4\n")
    document = json.loads(tools.print(new, "-d", base, "--tree", "--json").stdout)
    nodes = document["nodes"]

    def path(i):
        return () if i == 0 else (*path(nodes[i]["parent"]), nodes[i]["function"])
    changes = {path(i): (n["base"], n["this"], n["grown"], n["shrunk"])
               for i, n in enumerate(nodes)}
    assert changes == {
        (): (157, 161, 34, 30), ("main",): (157, 161, 34, 30),
        ("main", "work"): (150, 150, 30, 30), ("main", "work", "parse"): (100, 130, 30, 0),
        ("main", "work", "pack"): (50, 20, 0, 30), ("main", "same"): (7, 7, 0, 0),
        ("main", "fresh"): (0, 4, 4, 0)}
    rows = [line.split() for line in tools.print(new, "-d", base, "--tree").stdout.splitlines()[3:]]
    assert [row[-1] for row in rows] == ["main", "work", "parse", "pack", "fresh"]
    assert rows[4][-3] == "new" and "same" not in str(rows)
    text = tools.print(base, "-d", base, "--tree").stdout
    assert "nothing changed" in text


def test_views_of_one_recording_are_refused(tools, tmp_path):
    file = tmp_path / "a.folded"
    file.write_text("main;parse 100\n")
    for words in (["--timeline"], ["--bottom-up"], ["--by", "function"]):
        done = tools.run(tools.heaptrack_print, "-d", file, *words, file)
        assert done.status == 1 and "cannot compare recordings" in done.stderr, repr(done)
    done = tools.run(tools.heaptrack_print, "-d", file, "-d", file, "--html", tmp_path / "x.html", file)
    assert done.status == 1 and "one BASE" in done.stderr, repr(done)


def test_what_the_comparison_of_blocks_does_not_count_is_refused(tools):
    """It said m=mapped and compared blocks; views compare mappings."""
    made = tools.record(tools.victim("tree"), "a20000w")
    words = ("-d", made.file, "--lens", "m=mapped")
    refused = tools.print(made.file, *words, status=1)
    assert "lens: m=mapped is compared by views, e.g. with --tree" in refused.stderr, repr(refused)
    assert "mapped, by call tree" in tools.print(made.file, *words, "--tree").stdout
