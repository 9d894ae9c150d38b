"""Each function of src/wire/allocators.def is recorded, by whichever name and in whichever way.

A program is made from the table that calls every row that a library has N times: launched, with the
library linked in, and attached to. What no distribution has, or has without these names, is stood in
for by a library that is made from the table as well.
"""

import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from allocators import rows
from attaching import finish, known, start_listening, target  # noqa: F401
from conftest import wait_until

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
N, SIZE, TEXT = 200, 64, "a text, and no more"
VALUES = {"size": SIZE, "n": 2, "alignment": 64, "offset": 0, "flags": 0, "arena": 0, "old": 32, "most": 6,
          "text": f'"{TEXT}"', "tag": "&nothrow", "heap": "mi_heap_get_default()"}
# Of each library: what it names its functions, and those that hand out and take blocks of all of them
KINDS = {"jemalloc": ("libjemalloc.so.2", "malloc", "free"),
         "mimalloc": ("libmimalloc.so.2", "mi_malloc", "mi_free"),
         "tcmalloc": ("libtcmalloc_minimal.so.4", "tc_malloc", "tc_free")}
SKIPPED = ("__libc_",)  # the C library's, whichever allocator is there

MAIN = """
static void (*const all[])(void) = {%s};
int main(int argc, char **argv) {
	sigset_t set;
	int signal;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	if (argc > 1) {
		sigwait(&set, &signal);
	}
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		all[i]();
	}
	puts("done");
	fflush(stdout);
	if (argc > 1) {
		sigwait(&set, &signal);
	}
	return 0;
}
"""


def bytes_of(row):
    """How many are asked for in one call."""
    if row.word == "ALLOCATES_TEXT":
        return (VALUES["most"] if "most" in row.arguments else len(TEXT)) + 1
    return SIZE * (VALUES["n"] if "n" in row.operands else 1)


def is_free(row):
    return row.word in ("FREES", "DELETE")


def driver_of(row, allocate, release):
    """prepare_NAME has the blocks that by_NAME moves or frees; one in ten of the last is left."""
    values = {**VALUES, "ptr": "blocks[i]", "at": "&blocks[i]"}
    call = f"{row.name}({', '.join(str(values[a]) for a in row.arguments)})"
    stored = row.word.endswith("_AT") or is_free(row)
    make = f"for (int i = 0; i < {N}; i++) blocks[i] = {allocate}({SIZE});"
    lines = f"""
extern {row.result} {row.name}{row.parameters};
OURS static void prepare_{row.name}(void) {{ {make if "RE" in row.word[:2] or is_free(row) else ""} }}
OURS static void by_{row.name}(void) {{
	for (int i = {N // 10 if is_free(row) else 0}; i < {N}; i++) {"" if stored else "blocks[i] = "}{call};
}}
OURS static void drive_{row.name}(void) {{
	prepare_{row.name}();
	by_{row.name}();
"""
    if not is_free(row):
        lines += f"	for (int i = {N // 10}; i < {N}; i++) {release}(blocks[i]);\n"
    return lines + "}\n"


def program_of(chosen, allocate, release):
    head = f"""#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#define OURS __attribute__((noinline, noclone))
#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"
extern void *{allocate}(size_t);
extern void {release}(void *);
extern void *mi_heap_get_default(void);
static const char nothrow;
static void *volatile_blocks[{N}];
static void **blocks = volatile_blocks;
"""
    return head + "".join(driver_of(row, allocate, release) for row in chosen) + \
        MAIN % ", ".join(f"drive_{row.name}" for row in chosen)


# ---- a library that stands in


def stand_in_of(row):
    """Each name by itself, as the true ones: the one does not call the other."""
    size = "(n * size)" if "n" in row.operands else "size"
    body = {
        "ALLOCATES": f"return take({size});", "NEW": f"return take({size});",
        "ALLOCATES_TEXT": "char *b = take(99); return strncpy(b, text, %s), b;" %
                          ("most" if "most" in row.arguments else "98"),
        "ALLOCATES_AT": "return *at = take(size), 0;",
        "REALLOCATES": f"return move(ptr, {size});", "RENEW": f"return move(ptr, {size});",
        "REALLOCATES_AT": f"return *(void **)at = move(*(void **)at, {size}), 0;",
        "FREES": "memset(ptr, 0xdd, 32);", "DELETE": "memset(ptr, 0xdd, 32);",  # long enough to patch
    }[re.sub(r"_N$|_NOTHROW$", "", row.word)]
    return f"__attribute__((noinline, used)) {row.result} {row.name}{row.parameters} {{ {body} }}\n"


def stand_in(chosen):
    return """#include <stddef.h>
#include <string.h>
static char memory[64 << 20];
static size_t used;
static inline __attribute__((always_inline)) void *take(size_t size) {
	used += (size + 63) / 64 * 64;
	return memory + used - (size + 63) / 64 * 64;
}
static inline __attribute__((always_inline)) void *move(void *ptr, size_t size) {
	return ptr ? memcpy(take(size), ptr, 32) : take(size);
}
void *mi_heap_get_default(void) { return memory; }
""" + "".join(stand_in_of(row) for row in chosen)


# ---- building


def compiled(folder, source, *options, name="program"):
    (folder / f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-g", "-O1", "-w", "-fno-builtin", "-o", folder / name,
                    folder / f"{name}.c", *options], check=True, timeout=100)
    return folder / name


def exported_by(path):
    out = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True,
                         text=True, timeout=60).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines()}


def plain_rows():
    return [row for row in rows() if row.word != "OPERATOR" and not row.name.startswith(SKIPPED)]


class Case:
    """A library's rows, and how a program gets at them."""

    def __init__(self, kind, is_static, folder):
        if not shutil.which("gcc"):
            pytest.skip("no gcc here")
        if kind == "stand-in":
            found = {name for library, _, _ in KINDS.values() if (LIBRARIES / library).exists()
                     for name in exported_by(LIBRARIES / library)}
            self.rows = [row for row in plain_rows() if row.name not in found and "_" in row.name]
            self.rows = [row for row in self.rows if not row.name.startswith(("free_", "reallocf"))]
            mine = [*self.rows, *(row for row in plain_rows() if row.name in ("mi_malloc", "mi_free",
                                                                             "tc_free"))]
            allocate, release = "mi_malloc", "mi_free"
            library = compiled(folder, stand_in(mine), "-c" if is_static else "-shared", "-fPIC",
                               name="stands_in.o" if is_static else "libstands_in.so")
            options = [library, f"-Wl,-rpath,{folder}"]
        else:
            library, allocate, release = KINDS[kind]
            library = LIBRARIES / library
            if not library.exists():
                pytest.skip(f"no {library.name} here")
            names = exported_by(library)
            self.rows = [row for row in plain_rows() if row.name in names]
            options = [LIBRARIES / "libjemalloc_pic.a", "-lm"] if is_static else [library]
            if not options[0].exists():
                pytest.skip(f"no {options[0].name} here")
        self.program = compiled(folder, program_of(self.rows, allocate, release),
                                "-Wl,--no-as-needed", *options, "-lpthread")

    def assert_exact(self, seen, helpers):
        made, kept = seen["sites"]["allocations"], seen["sites"]["never_freed"]
        wrong = []
        for row in self.rows:
            of = "prepare_" if is_free(row) else "by_"
            sites = helpers.through(made, of + row.name)
            left = helpers.through(kept, of + row.name)
            size = SIZE if is_free(row) else bytes_of(row)
            truth = (N, N * size, N // 10, N // 10 * size)
            found = (helpers.total(sites, "allocations"), helpers.total(sites, "bytes"),
                     helpers.total(left, "blocks"), helpers.total(left, "bytes"))
            if found != truth:
                wrong.append(f"{row.name}: {found} instead of {truth}")
        assert not wrong, "\n".join(wrong)
        assert len(self.rows) > 5 and seen["summary"]["lost_events"] == 0
        assert seen["quality"]["unknown_frees"] == seen["quality"]["double_allocations"] == 0


@pytest.mark.parametrize("kind, is_static", [
    *((kind, False) for kind in (*KINDS, "stand-in")), ("jemalloc", True), ("stand-in", True)])
def test_launched(tools, helpers, tmp_path, kind, is_static):
    case = Case(kind, is_static, tmp_path)
    recording = tools.record(case.program)
    assert recording.status == 0 and recording.stdout == "ready\ndone\n", repr(recording)
    case.assert_exact(recording.json("--limit", "5000"), helpers)


@pytest.mark.parametrize("kind", [*KINDS, "stand-in"])
def test_attached(build, helpers, target, tmp_path, kind):  # noqa: F811
    case = Case(kind, False, tmp_path)
    victim = target([case.program, "wait"])
    process = start_listening(build, victim.pid, tmp_path / "attached")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "done" in victim.said(), 60, "its work")
    status, err = finish(process)
    assert status == 0 and victim.end() == 0, err
    case.assert_exact(known(build, tmp_path / "attached"), helpers)
