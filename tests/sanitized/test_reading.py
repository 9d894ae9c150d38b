"""heaptrack_print, the page and every export of a build with clang's ASan and UBSan, over golden files,
recordings, and recordings that were damaged. HEAPTRACK_SANITIZED names its binary (tests/run builds it).
"""

import os
import random
import re
import signal
import urllib.request
from pathlib import Path

import pytest

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("trace-v*/*.zst"))
BINARY = os.environ.get("HEAPTRACK_SANITIZED")
FOUND = 99  # the exit status of a finding
ENVIRONMENT = {"ASAN_OPTIONS": f"exitcode={FOUND}:allocator_may_return_null=1",
               "UBSAN_OPTIONS": f"exitcode={FOUND}:print_stacktrace=1",
               "LSAN_OPTIONS": f"exitcode={FOUND}"}

REPORTS = [[], ["--json"], ["--full", "-l1", "-t0", "-m0"], ["--tree"], ["--bottom-up"], ["--timeline"],
           ["--by", "function"], ["--by", "thread"], ["--by", "size"], ["--by", "lifetime"],
           ["--by", "site", "--json"], ["--callers", "main"], ["--stacks", "main"],
           ["--tree", "--json", "--depth", "9"], ["--print-suppressions"],
           ["--lens", "t=20%-80%&m=kept"], ["--lens", "q=/a.*b|(x+)+/&m=temporary"],
           ["--fail-if", "peak>1", "--markdown"], ["--limit", "0", "--json"]]

pytestmark = pytest.mark.skipif(not BINARY, reason="HEAPTRACK_SANITIZED names no binary")


@pytest.fixture
def sanitized(tools, tmp_path):
    """Run a command of the sanitized build; what the sanitizers find fails the test."""
    for name in ("heaptrack", "heaptrack_print", "heaptrack_gui", "heaptrack_interpret"):
        (tmp_path / name).symlink_to(BINARY)

    def run(name, *words, statuses=(0, 1, 3)):
        finished = tools.run(tmp_path / name, *words, env=ENVIRONMENT)
        text = finished.stderr + finished.stdout
        assert finished.status in statuses, repr(finished)
        assert not re.search(r"runtime error:|Sanitizer:", text), repr(finished)
        return finished

    return run


@pytest.fixture
def recordings(tools):
    """With names, exceptions, threads, single events."""
    made = [tools.record(tools.victim("blocks"), "300", name="blocks"),
            tools.record(tools.victim("many_threads"), "8", name="threads"),
            tools.record(tools.victim("operators"), name="operators"),
            tools.record("perl", "-e", "my %h = map { $_ => 1 } 1 .. 2000", name="events",
                         options=("--events", "--free-stacks"))]
    files = [one.file for one in made]
    assert all(file.exists() for file in files), made
    return files


def read_in_every_way(sanitized, file, folder):
    for options in REPORTS:
        sanitized("heaptrack_print", *options, file)
    unknown = sanitized("heaptrack_print", "--export=unknown=x", file).stderr
    names = re.search(r"use one of: (.*)", unknown)[1].split(", ")
    exports = [f"--export={name}={folder / name}" for name in names]
    sanitized("heaptrack_print", *exports, file)
    sanitized("heaptrack_print", "--html", folder / "page.html", "--with-source", file)
    sanitized("heaptrack_print", "--html", folder / "page.html", "--html-limit", "100k", "--redact",
              file)


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_golden_files(sanitized, tmp_path, file):
    read_in_every_way(sanitized, file, tmp_path)


@pytest.mark.timeout(600)
def test_recordings(sanitized, recordings, tmp_path):
    for file in recordings:
        read_in_every_way(sanitized, file, tmp_path)
    sanitized("heaptrack_print", "-d", recordings[0], "--tree", recordings[0], statuses=(0,))
    sanitized("heaptrack_print", "-d", recordings[1], "--json", recordings[0], statuses=(0,))
    # And what was written for others is read again
    for name in ("heaptrack", "pprof", "folded", "massif", "dhat"):
        sanitized("heaptrack_print", tmp_path / name)
        sanitized("heaptrack_print", "--json", tmp_path / name)


def damaged(data, generator):
    """Cut, with bytes changed, with a part missing, with a part twice."""
    at, to = sorted(generator.randrange(len(data)) for _ in range(2))
    yield data[:at]
    yield data[:at] + data[to:]
    yield data[:to] + data[at:]
    changed = bytearray(data)
    for _ in range(8):
        changed[generator.randrange(len(data))] = generator.randrange(256)
    yield bytes(changed)


@pytest.mark.timeout(600)
def test_damaged_recordings(sanitized, recordings, tmp_path, is_long):
    """Something is said of each, whatever is wrong with it."""
    generator = random.Random(1)
    broken = tmp_path / "broken.zst"
    for _ in range(100 if is_long else 3):
        for file in [*recordings, *GOLDEN]:
            for data in damaged(file.read_bytes(), generator):
                broken.write_bytes(data)
                sanitized("heaptrack_print", "--json", broken)
    for data in (b"", b"\0", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b"v 10400 3\n", b"desc:\n", b"{"):
        broken.write_bytes(data)
        for options in ([], ["--json"], ["--full"]):
            sanitized("heaptrack_print", *options, broken, statuses=(0, 1))


def test_the_page_is_served(sanitized, tools, helpers, recordings, tmp_path):
    running = tools.start(tmp_path / "heaptrack_gui", "--no-browser", recordings[0],
                          env=ENVIRONMENT)

    def address():
        running.outputs[0].seek(0)
        return re.search(rb"http://\S+", running.outputs[0].read())

    entrance = helpers.wait_until(address, what="the address").group().decode()
    with urllib.request.urlopen(entrance, timeout=60) as page:
        assert b"<html" in page.read()[:2000].lower()
    os.kill(running.pid, signal.SIGINT)
    finished = running.wait()
    assert finished.status == 0 and "Sanitizer" not in finished.stderr, repr(finished)


def test_what_is_wrong_is_said(sanitized, recordings, tmp_path):
    for words in (["--lens", "q=/((a{1,100}){1,100}){1,100}/"], ["--lens", "t=5-1"], ["--by", "x"],
                  ["--export", "csv=/no/such/x"], ["--fail-if", "peak"], ["--callers", "nobody"],
                  ["--suppressions", "/no/such"], ["--nonsense"]):
        sanitized("heaptrack_print", *words, recordings[0], statuses=(1,))
    sanitized("heaptrack_print", tmp_path / "missing", statuses=(1,))
    sanitized("heaptrack_interpret", "--help", statuses=(0,))
    sanitized("heaptrack", "--help", statuses=(0,))
    sanitized("heaptrack_gui", "--version", statuses=(0,))
