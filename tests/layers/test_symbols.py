"""What the recorder asks of the process that it is a guest in, and what it shows there.

It depends on the C library alone, through the names of allowed_symbols.txt; it exports the hooks
of src/recorder/hooks.def, those of allocators among them, and the C names of heaptrack_api.h, nothing else.
"""

import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SRC = HERE.parents[1] / "src"
LIBRARIES = re.compile(r"libc\.so\.6|ld-linux-[\w-]+\.so\.\d")
OLDEST_GLIBC = (2, 28)


@pytest.fixture
def library(build):
    path = build / "libheaptrack_preload.so"
    assert path.exists(), f"{path} is not built"
    return path


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def allowed_symbols():
    lines = (HERE / "allowed_symbols.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def test_undefined_symbols_are_allowed(library):
    rows = [line.split() for line in output_of("nm", "-D", "--undefined-only", library).splitlines()]
    undefined = {row[-1].split("@")[0] for row in rows}
    assert undefined <= allowed_symbols(), \
        f"the recorder may not use {sorted(undefined - allowed_symbols())}"


def test_depends_on_libc_alone(library):
    needed = re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-d", "-W", library))
    assert [name for name in needed if not LIBRARIES.fullmatch(name)] == []


def test_runs_with_old_glibc(library):
    versions = re.findall(r"Name: GLIBC_([\d.]+)", output_of("readelf", "-V", "-W", library))
    assert versions
    assert all(tuple(int(n) for n in v.split(".")) <= OLDEST_GLIBC for v in versions), versions


def names_of_hooks():
    """The names in the tables, as the compiler sees them."""
    program = '#define HOOK(result, name, ...) @name@\n#define OPERATOR_NEW(name, ...) @name@\n' \
              '#define OPERATOR_DELETE(name, ...) @name@\n#include "recorder/hooks.def"\n'
    text = subprocess.run(["gcc", "-E", "-P", "-I", SRC, "-"], input=program, check=True,
                          capture_output=True, text=True, timeout=60).stdout
    return set(re.findall(r"@\s*(\w+)\s*@", text))


def test_exports_only_hooks_and_the_public_names(library):
    rows = output_of("nm", "-D", "--defined-only", library).splitlines()
    exported = {line.split()[-1].split("@")[0] for line in rows}
    assert "malloc" in exported and "free" in exported
    surplus = {name for name in exported - names_of_hooks()
               if not re.fullmatch(r"heaptrack_\w+|execl[ep]?", name)}
    assert not surplus, f"exported without need: {sorted(surplus)}"
    assert not names_of_hooks() - exported, "all are exported"
