"""A victim linked in each way that a program may be linked in: with glibc or musl, dynamically or not."""

import shutil
import subprocess

import pytest

from conftest import SOURCE

WAYS = {
    "glibc": ["gcc"],
    "static": ["gcc", "-static"],
    "static-pie": ["gcc", "-static-pie", "-fPIE"],
    "musl": ["musl-gcc"],
    "musl-static": ["musl-gcc", "-static"],
}
FLAGS = ["-O1", "-g", "-fno-builtin", "-fno-inline", "-pthread"]


def build_way(source, way, folder, *flags):
    """tests/victims/SOURCE, or a source of one's own, as a program in `folder`."""
    command = WAYS[way]
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]} here")
    source = SOURCE / "tests" / "victims" / source
    program = folder / f"{source.stem}-{way}"
    subprocess.run([*command, *FLAGS, *flags, "-o", program, source], check=True, timeout=120)
    return program
