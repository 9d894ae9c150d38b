"""Programs built with AddressSanitizer or LeakSanitizer: recorded as others, and still checked.

Their runtimes have an allocator of their own. Where it is a library, the recorder is loaded before it;
where it is linked in, the recorder is put into the program.
"""

import re
import subprocess
from pathlib import Path

import pytest

from attaching import assert_once_is_whole, attach, changed_code, known, target  # noqa: F401

SOURCES = Path(__file__).parents[1] / "attach"
WAYS = {
    "gcc": ["gcc", "-fsanitize=address"],
    "gcc-static": ["gcc", "-fsanitize=address", "-static-libasan"],
    "clang": ["clang", "-fsanitize=address"],
    "leak": ["gcc", "-fsanitize=leak"],
}
# What is forgotten is so far up the stack that no trace of it is left in what the checks look at
FAULTY = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
char *volatile kept;
static __attribute__((noinline)) void forget(void) {
    volatile char far[200000];
    __asm__ volatile("" : : "r"(far) : "memory");
    far[0] = far[sizeof far - 1] = 1;
    kept = malloc(321);
    memset(kept, far[0], 321);
    kept = NULL;
}
int main(int argc, char **argv) {
    forget();
    if (argc > 1) { kept = malloc(10); kept[10 + atoi(argv[1])] = 1; free(kept); kept = NULL; }
    puts("done");
    return 0;
}
"""


@pytest.fixture
def sanitized(tmp_path):
    def build_it(way, source, *libraries):
        path = tmp_path / f"{source.stem}-{way}"
        words = [*WAYS[way], "-g", "-O1", "-o", path, source, *libraries]
        if subprocess.run(words, capture_output=True, timeout=120, check=False).returncode:
            pytest.skip(f"{' '.join(WAYS[way])} does not work here")
        return path
    return build_it


@pytest.fixture
def faulty(sanitized, tmp_path):
    source = tmp_path / "faulty.c"
    source.write_text(FAULTY)
    return lambda way: sanitized(way, source)


def findings(text):
    """What the sanitizer reports, without what differs from run to run."""
    errors = re.findall(r"ERROR: (\w+Sanitizer: [\w-]+)", text)
    return errors, re.findall(r"SUMMARY: .*", text), re.findall(r"#\d+ 0x\w+ in (\w+) \S*faulty", text)


@pytest.mark.parametrize("way", WAYS)
def test_all_is_recorded(tools, sanitized, helpers, way):
    assert_once_is_whole(tools.record(sanitized(way, SOURCES / "once.c")), helpers)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("offset", [(), ("0",)])
def test_faults_are_found_as_before(tools, faulty, way, offset):
    program = faulty(way)
    alone = tools.run(program, *offset)
    assert alone.status != 0 and findings(alone.stderr)[0]
    recording = tools.record(program, *offset)
    assert (recording.status, recording.stdout) == (alone.status, alone.stdout)
    assert findings(recording.stderr) == findings(alone.stderr)


@pytest.mark.parametrize("way", WAYS)
def test_what_a_recorded_shell_starts_is_unharmed(tools, faulty, way):
    program = faulty(way)
    alone = tools.run(program, "0")
    for line in (f"{program} 0; exit $?", f"exec {program} 0"):
        recording = tools.record("/bin/sh", "-c", line)
        assert (recording.status, recording.stdout) == (alone.status, alone.stdout), line
        assert findings(recording.stderr) == findings(alone.stderr), line


def test_options_of_the_user_hold(tools, faulty):
    recording = tools.record(faulty("gcc"), "0", env={"ASAN_OPTIONS": "exitcode=77"})
    assert recording.status == 77, repr(recording)


@pytest.mark.parametrize("way", WAYS)
def test_one_that_runs_is_attached_to(build, target, sanitized, tmp_path, way):
    victim = target([sanitized(way, SOURCES / "pattern.c", "-pthread"), "2"])
    for i in range(3):
        file = tmp_path / f"{i}.zst"
        attach(build, victim.pid, file, duration="500ms")
        assert known(build, file)["summary"]["allocations"] > 0
    assert not changed_code(victim.pid)
    assert victim.is_alive()
    assert victim.end() == 0, repr(victim)
