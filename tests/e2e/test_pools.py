"""Functions that only hand memory out, of libraries that Debian has: no sentence is about them."""

import re
import subprocess
from pathlib import Path

import pytest

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
void GC_init(void); void *GC_malloc(size_t);
static void *kept[500];
__attribute__((noinline)) void make_node(int i) { kept[i] = GC_malloc(700); }
__attribute__((noinline)) void make_page(int i) { kept[i] = GC_malloc(9000); }
int main(void) {
	GC_init();
	for (int i = 0; i < 250; i++) { make_node(i); make_page(i + 250); }
	return !kept[7];
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
    recording = recorded(tools, tmp_path, BOEHM, "libgc.so.1")
    data = recording.json("--by", "site", "--lens", "m=bytes")
    assert bytes_of(data, "make_node") == 250 * 700, data["parts"][:9]
    assert bytes_of(data, "make_page") == 250 * 9000, data["parts"][:9]
    assert "GC_" not in " ".join(f["text"] for f in recording.json()["findings"])


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
