"""heaptrack_api.h: programs that report blocks of their own allocators."""

import json
import subprocess
from pathlib import Path

import kde
import pytest

SOURCE = Path(__file__).resolve().parents[1] / "victims" / "allocators.c"
INCLUDE = Path(__file__).resolve().parents[2] / "include"


def reported(recording, function):
    """What a function of the victim reported, and what of it is left."""
    sites = recording.json()["sites"]

    def of(order):
        return [site for site in sites[order]
                if site["stack"] and (site["stack"][0]["function"] or "").split("(")[0] == function]

    return {"allocations": sum(site["allocations"] for site in of("allocations")),
            "blocks left": sum(site["blocks"] for site in of("never_freed")),
            "bytes left": sum(site["bytes"] for site in of("never_freed"))}


def build(folder, *options, compiler="cc"):
    out = folder / "program"
    subprocess.run([compiler, "-g", "-O1", "-fno-builtin", "-I", INCLUDE, "-o", out, *options],
                   check=True, timeout=60)
    return out


NEST = {"allocations": 103, "blocks left": 11, "bytes left": 8 * 10 + 1500 + 7}


def test_blocks_inside_the_block_of_another_allocator(tools):
    """The first lies at the very address of its chunk; neither is taken for the other."""
    recording = tools.record(tools.victim("allocators"), "nest")
    assert reported(recording, "nest") == NEST
    chunks = reported(recording, "run")
    assert (chunks["allocations"], chunks["blocks left"]) == (1, 0)
    quality = recording.json()["quality"]
    assert (quality["double_allocations"], quality["unknown_frees"]) == (0, 0)


def test_the_end_of_a_pool_is_the_end_of_its_blocks(tools):
    recording = tools.record(tools.victim("allocators"), "pool")
    assert reported(recording, "pool") == {
        "allocations": 20 * 60, "blocks left": 50, "bytes left": 40 * 16 + 10 * 32}


def test_valgrinds_names(tools):
    recording = tools.record(tools.victim("allocators"), "annotate")
    assert reported(recording, "annotate") == {
        "allocations": 31, "blocks left": 1, "bytes left": 5}


def test_labels_of_threads(tools):
    recording = tools.record(tools.victim("allocators"), "label")
    threads = recording.report("--by", "thread", "--lens", "m=allocations")
    for i in range(3):
        assert f"reader of the network, number {i}" in threads


def test_a_pause_hides_new_blocks_and_no_ends(tools):
    recording = tools.record(tools.victim("allocators"), "halt")
    assert reported(recording, "halt") == {
        "allocations": 20, "blocks left": 15, "bytes left": 1500}


def test_a_stop_ends_the_recording(tools):
    recording = tools.record(tools.victim("allocators"), "stop")
    assert reported(recording, "stop")["allocations"] == 1
    assert "what it did then is missing" in recording.report()


def test_moments_with_a_name(tools):
    """What came between two of them, and what of it stayed: as a table, as JSON, as ends of a range."""
    recording = tools.record(tools.victim("allocators"), "phases")
    document = recording.json()
    marks = document["marks"]
    assert [mark["name"] for mark in marks[:4]] == ["load & index", "serve", "serve", "done"]
    assert all(a["time_ns"] + 40_000_000 < b["time_ns"] for a, b in zip(marks, marks[1:4]))
    assert (len(marks), document["quality"]["marks_dropped"]) == (1024, 980)
    assert "too many marks: dropped 980" in recording.report()
    table = recording.report("--timeline").split("mark   ")[1].splitlines()
    for line, size in zip(table[1:4], (50, 100, 150)):
        words = line.split()
        assert words[-5:] == [words[-5], "100", f"{2 * size}.0K", f"{size}.0K", "50"], line
    for lens, size in (("load%20%26%20index-mark:serve", 1000), ("serve-mark:serve%232", 2000),
                       ("serve%232-mark:done", 3000)):
        kept = recording.report("--json", "--lens", f"m=kept&t=mark:{lens}")
        totals = json.loads(kept)["totals"]
        assert (totals["blocks"], totals["bytes"]) == (50, 50 * size)
    done = tools.print(recording.file, "--lens", "t=mark:lunch-end", status=1)
    assert "no such mark" in done.stderr


def test_two_phases_compared(tools):
    """Of one run, and of two: what is between two named moments."""
    recording = tools.record(tools.victim("allocators"), "phases")
    load, last = "t=mark:load%20%26%20index-mark:serve", "t=mark:serve%232-mark:done"
    for words in ([recording.file], ["-d", recording.file, recording.file]):
        document = tools.json(*words[-1:], *words[:-1], "--base-lens", load, "--lens", last)
        before, after = document["base"], document["this"]
        assert (before["never_freed_bytes"], after["never_freed_bytes"]) == (50_000, 150_000)
        assert (before["allocations"], after["allocations"]) == (100, 100)
    done = tools.print(recording.file, "--base-lens", load)
    assert f"compared with {recording.file} ({load})" in done.stdout
    assert "(all of it)" in done.stdout
    done = tools.print(recording.file, "--base-lens", "t=mark:lunch-end", status=1)
    assert "no such mark" in done.stderr


# ---- the ways in which programs use it today

@pytest.mark.parametrize("options, compiler", [
    (["-DHEAPTRACK_API_DLSYM"], "cc"),                       # a main program that looks it up
    (["-DHEAPTRACK_API_DLSYM", "-xc++"], "c++"),             # as Qt's V4 does
    (["-xc++"], "c++"),
    (["-static-pie", "-DHEAPTRACK_API_DLSYM"], "cc"),        # nobody to ask: nothing happens
], ids=["dlsym", "dlsym-c++", "weak-c++", "static"])
def test_builds(tools, tmp_path, options, compiler):
    program = build(tmp_path, *options, SOURCE, "-lpthread", compiler=compiler)
    assert tools.run(program, "nest").status == 0  # without heaptrack
    if "-static-pie" not in options:
        assert reported(tools.record(program, "nest"), "nest") == NEST


def test_linked_with_the_library(tools, tmp_path):
    """As Nim's -d:heaptrack links it."""
    program = build(tmp_path, SOURCE, "-lpthread", tools.preload,
                    f"-Wl,-rpath,{tools.preload.parent}")
    assert tools.run(program, "nest", cwd=tmp_path).status == 0
    assert reported(tools.record(program, "nest"), "nest") == NEST


def test_a_library_that_is_loaded_later(tools, tmp_path):
    """As an extension of a database server: weak functions in a plugin."""
    build(tmp_path, "-shared", "-fPIC", "-DIS_LIBRARY", SOURCE).rename(tmp_path / "plugin.so")
    host = tmp_path / "host.c"
    host.write_text("#include <dlfcn.h>\n"
                    "int main(void) {\n"
                    "  void *plugin = dlopen(\"./plugin.so\", RTLD_NOW);\n"
                    "  int (*run)(const char *) = (int (*)(const char *))dlsym(plugin, \"run\");\n"
                    "  return run(\"nest\");\n"
                    "}\n")
    program = build(tmp_path, host)
    assert reported(tools.record(program, cwd=tmp_path), "nest") == NEST


def test_two_source_files_with_the_lookup(tools, tmp_path):
    """The classic header defines a function that two files then both have."""
    other = tmp_path / "other.c"
    other.write_text('#define HEAPTRACK_API_DLSYM\n#include "heaptrack_api.h"\n'
                     "void other(void) { heaptrack_init_api(); heaptrack_report_free(0); }\n")
    program = build(tmp_path, "-DHEAPTRACK_API_DLSYM", SOURCE, other, "-lpthread")
    assert reported(tools.record(program, "nest"), "nest") == NEST


def test_debians_recorder_takes_the_same_program(tools, tmp_path):
    """It knows no pools: it is told of their blocks all the same."""
    file = kde.record(tmp_path, tools.victim("allocators"), "pool")
    found = kde.sites(file)["MOST CALLS TO ALLOCATION FUNCTIONS"]
    assert any(entry.startswith(f"{20 * 60} calls") for entry in found)
