"""Trace files of every version still read as they did, and zstd accepts them whole."""

import shutil
import subprocess
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.glob("trace-v*/*.zst"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_reads_as_ever(tools, file):
    dump = tools.run(tools.build / "tests" / "golden" / "trace_file", "dump", file)
    assert dump.status == 0, repr(dump)
    assert dump.stdout == file.with_suffix(".txt").read_text()


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_zstd_accepts(file):
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    subprocess.run(["zstd", "-q", "-t", file], check=True)


def test_what_is_written_now_is_read_the_same(tools, tmp_path):
    program = tools.build / "tests" / "golden" / "trace_file"
    made = tools.run(program, "make", tmp_path)
    assert made.status == 0, repr(made)
    newest = max(file.parent for file in FILES)
    for name in ("growing", "finished"):
        dump = tools.run(program, "dump", tmp_path / f"{name}.zst")
        assert dump.stdout == (newest / f"{name}.txt").read_text()
