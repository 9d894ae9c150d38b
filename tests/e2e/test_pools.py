"""Functions that only hand memory out, of libraries that Debian has: no sentence is about them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from attaching import attach_command

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# GLib declared by hand: its headers are not everywhere. G_TYPE_OBJECT is 20 << 2
GLIB = """
#include <stddef.h>
void *g_malloc(size_t); void *g_malloc0_n(size_t, size_t); void *g_slice_alloc(size_t); void *g_memdup2(const void *, size_t);
void *g_object_new(size_t, const char *, ...);
static void *volatile kept;
static char block[5000];
#define KEEP(...) kept = __VA_ARGS__
__attribute__((noinline)) void read_page(void) { KEEP(g_malloc(3000)); }
__attribute__((noinline)) void make_table(void) { KEEP(g_malloc0_n(10, 400)); }
__attribute__((noinline)) void make_part(void) { KEEP(g_slice_alloc(2000)); }
__attribute__((noinline)) void copy_block(void) { KEEP(g_memdup2(block, sizeof block)); }
__attribute__((noinline)) void make_object(void) { KEEP(g_object_new(20 << 2, NULL)); }
int main(void) {
	for (int i = 0; i < 2000; i++) { read_page(); make_table(); make_part(); copy_block(); make_object(); }
	return !kept;
}
"""
BOEHM = """
#include <stddef.h>
#include <stdlib.h>
void GC_init(void); void *GC_malloc(size_t); void *GC_malloc_atomic(size_t); void *GC_realloc(void *, size_t);
void *GC_malloc_uncollectable(size_t); char *GC_strdup(const char *); void GC_free(void *); void GC_gcollect(void);
static void *volatile kept;
__attribute__((noinline)) void *make_block(void) { return malloc(50); }
int main(void) {
	GC_init();
	for (int i = 0; i < 20000; i++) {
		kept = GC_realloc(GC_malloc(700), 3000);
		kept = GC_malloc_atomic(9000);
		kept = GC_strdup("a text");
		GC_free(GC_malloc_uncollectable(300));
	}
	GC_gcollect();
	for (int i = 0; i < 100; i++) { void *at = make_block(); if (i % 2) free(at); }
	return 0;
}
"""


def recorded(tools, tmp_path, source, *libraries):
    paths = [LIBRARIES / name for name in libraries]
    if not all(path.exists() for path in paths):
        pytest.skip(f"{libraries} not here")
    (tmp_path / "prog.c").write_text(source)
    subprocess.run(["gcc", "-g", "-O1", tmp_path / "prog.c", "-o", tmp_path / "prog", *paths], check=True)
    recording = tools.record(tmp_path / "prog")
    assert recording.status == 0, repr(recording)
    return recording


def bytes_of(data, function):
    """What is named after a function."""
    return sum(part["bytes"] for part in data["parts"] if part["label"] == function)


def test_glib(tools, tmp_path):
    recording = recorded(tools, tmp_path, GLIB, "libglib-2.0.so.0", "libgobject-2.0.so.0")
    data = recording.json("--by", "site", "--lens", "m=bytes")
    for function, size in {"read_page": 3000, "make_table": 4000, "make_part": 2000, "copy_block": 5000}.items():
        assert bytes_of(data, function) == 2000 * size, (function, data["parts"][:9])
    assert bytes_of(data, "make_object") > 2000 * 24, data["parts"][:9]
    text = " ".join(f["text"] for f in recording.json()["findings"])
    assert "make_table" in text and not re.search(r"\bg_(malloc|slice|object_new|memdup|type_create)", text), text


def test_boehms_collector(tools, tmp_path):
    """What it frees when it collects is seen in no call: none of its blocks counts or is accused, and
    that is said. Everybody else's are exact."""
    recording = recorded(tools, tmp_path, BOEHM, "libgc.so.1")
    assert bytes_of(recording.json("--by", "site", "--lens", "m=bytes"), "make_block") == 100 * 50
    known = recording.json()
    assert 50 <= known["summary"]["never_freed_blocks"] < 70 and known["summary"]["allocations"] < 200
    assert known["quality"]["double_allocations"] == known["quality"]["unknown_frees"] == 0
    line, = [line["text"] for line in known["quality"]["sentences"] if line["id"] == "not-hooked"]
    assert re.fullmatch(r"GC_malloc, GC_malloc_atomic, GC_realloc, GC_free of libgc\.so\.1\S* were seen but not "
                        r"hooked: no call shows what this garbage collector frees. What they do is missing here", line)
    assert "GC_" not in " ".join(f["text"] for f in known["findings"])


@pytest.mark.parametrize("flags", [[], ["-s"], ["-static"], ["-static", "-s"]], ids=" ".join)
def test_boehms_collector_linked_into_the_program(tools, tmp_path, flags):
    """No library tells of it. Time is left for a look at the program while it lives."""
    if not (LIBRARIES / "libgc.a").exists():
        pytest.skip("no libgc.a here")
    (tmp_path / "prog.c").write_text(BOEHM.replace("return 0;", "usleep(600000); return 0;")
                                     .replace("#include <stdlib.h>", "#include <stdlib.h>\n#include <unistd.h>"))
    subprocess.run(["gcc", "-O1", *flags, "prog.c", "-o", "prog", LIBRARIES / "libgc.a"], cwd=tmp_path, check=True)
    recording = tools.record(tmp_path / "prog")
    assert recording.status == 0, repr(recording)
    known = recording.json()
    assert 50 <= known["summary"]["never_freed_blocks"] < 70 and known["summary"]["allocations"] < 200
    assert known["quality"]["double_allocations"] == known["quality"]["unknown_frees"] == 0
    line, = [line["text"] for line in known["quality"]["sentences"] if line["id"] == "not-hooked"]
    assert line.startswith("GC_malloc, GC_malloc_atomic, GC_realloc, GC_free of prog were seen but not hooked"), line


@pytest.mark.parametrize("library", ["libgc.so.1", "libgc.a"])
def test_boehms_collector_attached_to(tools, tmp_path, helpers, library):
    source = BOEHM.replace("GC_init();", "GC_init(); puts(\"ready\"); fflush(stdout); getchar();") \
        .replace("return 0;", "getchar(); return 0;").replace("#include <stdlib.h>", "#include <stdlib.h>\n#include <stdio.h>")
    if not (LIBRARIES / library).exists():
        pytest.skip(f"no {library} here")
    (tmp_path / "prog.c").write_text(source)
    subprocess.run(["gcc", "-g", "-O1", tmp_path / "prog.c", "-o", tmp_path / "prog", LIBRARIES / library], check=True)
    ours, programs = os.pipe()
    program = tools.start(tmp_path / "prog", stdin=ours)
    os.close(ours)
    helpers.wait_until(lambda: "ready" in program.finished(0).stdout, what="its start")
    heaptrack = tools.start(*attach_command(tools.build, program.pid, tmp_path / "attached"))
    heaptrack.wait_for_attach()
    os.write(programs, b"\n\n")
    assert program.wait().status == 0 and heaptrack.wait().status == 0
    os.close(programs)
    known = tools.json(tmp_path / "attached.zst")
    assert helpers.total(helpers.through(known["sites"]["allocations"], "make_block"), "bytes") == 100 * 50
    assert known["quality"]["double_allocations"] == 0
    assert "not-hooked" in [line["id"] for line in known["quality"]["sentences"]]



GO = """
package main
// #include <stdlib.h>
// #include <stdio.h>
// #include <unistd.h>
// static void work(void) {
//	puts("ready"); fflush(stdout); getchar();
//	for (int i = 0; i < 100; i++) { char *volatile at = malloc(50); free(at); }
//	usleep(300000);
// }
import "C"
var kept [][]byte
func main() {
	for i := 0; i < 1000; i++ { kept = append(kept, make([]byte, 10000)) }
	C.work()
}
"""


@pytest.mark.parametrize("is_attached", [False, True], ids=["launched", "attached"])
def test_go_with_a_c_library(tools, tmp_path, helpers, is_attached):
    """What its C code does is recorded, what its runtime does is not: no call shows that."""
    if not shutil.which("go"):
        pytest.skip("no Go compiler here")
    (tmp_path / "prog.go").write_text(GO)
    subprocess.run(["go", "build", "-o", "prog", "prog.go"], cwd=tmp_path, check=True, timeout=120,
                   env={**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": str(tmp_path / "cache"),
                        "CGO_ENABLED": "1"})
    assert_go_is_said(tools, tmp_path, helpers, is_attached, 100)


@pytest.mark.parametrize("is_attached", [False, True], ids=["launched", "attached"])
def test_file_of_go(tools, tmp_path, helpers, is_attached):
    """The same of a program with the section by which Go's are known: no compiler of Go is needed."""
    (tmp_path / "prog.c").write_text(re.search(r"// #include.*// }", GO, re.S)[0].replace("// ", "").replace("//", "") +
                                     "\n__attribute__((section(\".go.buildinfo\"))) const char info[] = \"x\";"
                                     "\nint main(void) { work(); return 0; }")
    subprocess.run(["gcc", "-O0", "prog.c", "-o", "prog"], cwd=tmp_path, check=True)
    assert_go_is_said(tools, tmp_path, helpers, is_attached, 100)


def assert_go_is_said(tools, folder, helpers, is_attached, n_calls):
    if is_attached:
        ours, programs = os.pipe()
        program = tools.start(folder / "prog", stdin=ours)
        os.close(ours)
        helpers.wait_until(lambda: "ready" in program.finished(0).stdout, what="its start")
        heaptrack = tools.start(*attach_command(tools.build, program.pid, folder / "go"))
        heaptrack.wait_for_attach()
        os.write(programs, b"\n")
        assert program.wait().status == 0 and heaptrack.wait().status == 0
        os.close(programs)
        known = tools.json(folder / "go.zst")
    else:
        recording = tools.record(folder / "prog")
        assert recording.status == 0, repr(recording)
        known = recording.json()
    assert n_calls <= known["summary"]["allocations"] < n_calls + 50
    line, = [line["text"] for line in known["quality"]["sentences"] if line["id"] == "not-hooked"]
    assert line == ("runtime.mallocgc of prog was seen but not hooked: Go takes its memory from the system, and no call "
                    "shows what it frees; use Go's own profiler (runtime/pprof). What it does is missing here")
    assert known["quality"]["verdict"] == "incomplete: an allocator is not recorded"
    assert not [found for found in known["findings"] if found["id"] == "no-lines"]  # Go has no -g


INITIALIZERS = """
#include <string>
#include <vector>
std::vector<char> table(300000);
static std::string name(200000, 'x');
int main() { return table[7] + name[3] == 5; }
"""


@pytest.mark.parametrize("compiler, flags, shown", [
    ("g++", ["-g"], "static initializers of app.cpp"), ("clang++", ["-g"], "static initializers of app.cpp"),
    ("clang++", [], "static initializers of app.cpp"), ("g++", [], "static initializers of the file with table"),
])
def test_what_runs_before_main_is_called_so(tools, tmp_path, compiler, flags, shown):
    (tmp_path / "app.cpp").write_text(INITIALIZERS)
    subprocess.run([compiler, "-O1", *flags, "app.cpp", "-o", "app"], cwd=tmp_path, check=True)
    recording = tools.record(tmp_path / "app")
    parts = recording.json("--by", "site", "--lens", "m=bytes")
    assert bytes_of(parts, shown) == 300000 + 200001, parts["parts"]
    frames = [f for site in recording.json()["sites"]["allocations"] for f in site["stack"] if f["function"] == shown]
    assert frames and not any("GLOBAL" in f["function"] for f in frames)
    assert any("_GLOBAL__sub_I_" in (f["symbol"] or "") for f in frames), frames
