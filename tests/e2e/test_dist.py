"""The archive of `make dist`: runs unpacked, from anywhere, and records with glibc and with musl."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
LIBC = re.compile(r"lib(c|m|dl|pthread|rt|resolv)\.so\.\d")
PROGRAM = """
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void allocate(int i) { kept = malloc(100 + i); if (i % 2) free(kept); }
int main(void) { for (int i = 0; i < 1000; i++) allocate(i); return 7; }
"""


@pytest.fixture(scope="module")
def unpacked(build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    made = subprocess.run([SOURCE / "tools" / "dist", build, folder], cwd=SOURCE, check=True,
                          env=dict(os.environ, XZ_OPT="-0"), capture_output=True, text=True, timeout=300)
    archive = Path(made.stdout.strip().splitlines()[-1])
    away = folder / "elsewhere"
    away.mkdir()
    subprocess.run(["tar", "-C", away, "-xf", archive], check=True, timeout=60)
    return next(away.iterdir())


def record(command, program, folder, name):
    """Record with `command`, report with the heaptrack_print beside it; the summary."""
    output = folder / f"{name}.zst"
    done = subprocess.run([command, "-q", "-o", output, program], cwd=folder, timeout=60,
                          env={"PATH": os.environ["PATH"]})
    assert done.returncode == 7
    text = subprocess.run([Path(command).resolve().parent / "heaptrack_print", "--json", output],
                          check=True, capture_output=True, timeout=60).stdout
    return json.loads(text)["summary"]


@pytest.fixture
def program(tmp_path):
    def compile_with(compiler):
        (tmp_path / "program.c").write_text(PROGRAM)
        path = tmp_path / f"program-{compiler}"
        subprocess.run([compiler, "-O1", "-o", path, tmp_path / "program.c"], check=True, timeout=60)
        return path
    return compile_with


@pytest.mark.parametrize("compiler", ["gcc", "musl-gcc"])
def test_records_with_each_libc(unpacked, program, tmp_path, compiler):
    summary = record(unpacked / "bin" / "heaptrack", program(compiler), tmp_path, compiler)
    assert summary["allocations"] - 1000 in range(0, 10)
    assert summary["never_freed_blocks"] - 500 in range(0, 10)
    assert summary["complete"] and summary["lost_events"] == 0


def test_runs_through_a_symbolic_link(unpacked, program, tmp_path):
    link = tmp_path / "heaptrack"
    link.symlink_to(unpacked / "bin" / "heaptrack")
    assert record(link, program("gcc"), tmp_path, "link")["allocations"] >= 1000


def test_needs_nothing_but_the_c_library(unpacked):
    rows = subprocess.run(["ldd", unpacked / "bin" / "heaptrack"], check=True, capture_output=True, text=True,
                          env={}, timeout=60).stdout.splitlines()
    found = dict(row.strip().split(" => ") for row in rows if " => " in row)
    assert found
    needed = unpacked / "lib" / "heaptrack" / "needed"
    for library, at in found.items():
        assert LIBC.fullmatch(library) or Path(at.split(" (")[0]).resolve().parent == needed, library


def test_stands_beside_kdes(unpacked, program, tmp_path):
    subprocess.run(["/usr/bin/heaptrack", "-o", tmp_path / "kde", program("gcc")], timeout=60,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    assert list(tmp_path.glob("kde*"))
    assert record(unpacked / "bin" / "heaptrack", program("gcc"), tmp_path, "ours")["allocations"] >= 1000
