"""Trace files of every version still read as they did, and zstd accepts them whole."""

import shutil
import subprocess
from pathlib import Path

import pytest

KDES_PRINT = "/usr/bin/heaptrack_print"
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


@pytest.mark.parametrize("name", ["growing", "finished"])
def test_a_file_begins_with_its_note(tools, tmp_path, name):
    tools.run(tools.build / "tests" / "golden" / "trace_file", "make", tmp_path)
    file = tmp_path / f"{name}.zst"
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    subprocess.run(["zstd", "-q", "-t", file], check=True)
    unpacked = subprocess.run(["zstd", "-q", "-dc", file], check=True, stdout=subprocess.PIPE).stdout
    assert unpacked.startswith(b"v ffff ffff\n")
    assert unpacked.count(b"v ffff ffff\n") == 1


@pytest.mark.parametrize("name", ["growing", "finished"])
def test_kdes_heaptrack_print_refuses_it_in_words(tools, tmp_path, name):
    if not Path(KDES_PRINT).exists():
        pytest.skip("KDE's heaptrack is not installed")
    tools.run(tools.build / "tests" / "golden" / "trace_file", "make", tmp_path)
    said = subprocess.run([KDES_PRINT, tmp_path / f"{name}.zst"], capture_output=True, text=True,
                          timeout=60)
    assert said.returncode != 0
    assert "The data file has version ffff" in said.stderr
    assert "not compatible" in said.stderr
    assert "calls to allocation functions" not in said.stdout


def test_what_a_file_unpacks_to_is_refused_in_words(tools, tmp_path):
    unpacked = tmp_path / "unpacked"
    unpacked.write_bytes(b"v ffff ffff\n\1\0")
    said = tools.run(tools.build / "heaptrack_print", unpacked)
    assert said.status != 0
    assert "open the file itself" in said.stderr
