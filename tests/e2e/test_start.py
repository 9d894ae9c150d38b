"""What it costs to start heaptrack: CPU time, libraries, and what it says of itself."""

import os
import re
import subprocess

import pytest

from starts import cpu_ms


@pytest.mark.serial
def test_cpu_time_of_a_start(tools):
    clean = {"PATH": os.environ["PATH"], "HOME": str(tools.folder)}
    record = [tools.heaptrack, "-q", "-o", tools.folder / "true.zst", "/bin/true"]
    version_ms, record_ms = cpu_ms([tools.heaptrack, "--version"], record, environment=clean)
    assert version_ms <= 2 and record_ms <= 10


def test_the_web_server_is_no_part_of_a_start(tools):
    needed = subprocess.run(["readelf", "-d", tools.heaptrack], check=True, capture_output=True, text=True,
                            timeout=60).stdout
    assert "libc.so.6" in needed and "libmicrohttpd" not in needed


def test_without_the_web_server_one_sentence(tools):
    if b"MHD_start_daemon" not in tools.heaptrack.read_bytes():
        pytest.skip("built without the served page")
    recording = tools.record("/bin/true").file
    (tools.folder / "libmicrohttpd.so.12").write_bytes(b"")  # found first, and no library
    shown = tools.run(tools.build / "heaptrack_gui", "--no-browser", recording,
                      env={**os.environ, "LD_LIBRARY_PATH": str(tools.folder)})
    assert shown.status == 1 and shown.stdout == ""
    assert re.fullmatch(r"heaptrack_gui: .*libmicrohttpd.* cannot be loaded .*--html.*\n", shown.stderr), shown.stderr


@pytest.mark.parametrize("command", ["heaptrack", "heaptrack_print", "heaptrack_gui", "heaptrack_interpret"])
def test_whose_heaptrack_this_is(tools, command):
    said = tools.run(tools.build / command, "--version")
    first = said.stdout.splitlines()[0]
    # As KDE's up to the number: scripts take the second word, or search for it
    assert said.status == 0 and re.fullmatch(command + r" \d+\.\d+\.\d+ \(heaptrack-c\)", first)
