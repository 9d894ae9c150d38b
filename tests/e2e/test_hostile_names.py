"""Names that a terminal would obey: of functions, sources, modules, threads, arguments and files.

What people read shows them as escapes; JSON and exports have them as they are.
"""

import json
import shutil
import subprocess
import unicodedata

import pytest

# What a terminal, or a reader's eye, would obey: a title, a bell, an overwritten line, C1 controls,
# turned text, and an end of a line that is none of ours
EVIL = "e\x1b]0;owned\x07\r\u009b2J\u202ecod\u2066\u2069\u200f\u2028v\nfake: 1 GB"
SHOWN = (r"e\x1b]0;owned\x07\r\u009b2J\u202ecod\u2066\u2069\u200f\u2028v\nfake: 1 GB")

SOURCE = """
#include <stdlib.h>
#include <sys/prctl.h>
#line 7 "%s.c"
__attribute__((noinline)) void *evil(void) {
	return malloc(77777);
}
int main(int argc, char **argv) {
	prctl(PR_SET_NAME, argv[argc - 1]);
	for (int i = 0; i < 100; i++) {
		evil();
	}
	free(evil());
	return 0;
}
"""

OBEYED = {"Cc", "Cf", "Zl", "Zp"}


def obeyed(text):
    return sorted({hex(ord(c)) for c in text if unicodedata.category(c) in OBEYED and c != "\n"})


@pytest.fixture
def hostile(tools, tmp_path):
    """A recording of a program in which everything has a hostile name."""
    source, program = tmp_path / "a.c", tmp_path / f"program {EVIL.replace('/', '')}"
    source.write_text(SOURCE % "".join(f"\\{byte:03o}" for byte in EVIL.encode()))
    for command in (["gcc", "-g", "-O1", "-c", source, "-o", tmp_path / "a.o"],
                    ["objcopy", f"--redefine-sym=evil={EVIL}", tmp_path / "a.o"],
                    ["gcc", "-rdynamic", tmp_path / "a.o", "-o", program],
                    ["strip", "-g", program]):
        if not shutil.which(command[0]):
            pytest.skip(f"{command[0]} is not installed")
        subprocess.run(command, check=True)
    recording = tools.record(program, EVIL)
    assert recording.status == 0, repr(recording)
    return recording


REPORTS = [[], ["--full"], ["--full", "-l1", "-t0"], ["--tree"], ["--bottom-up"], ["--timeline"],
           ["--by", "function"], ["--by", "module"], ["--by", "thread"], ["--by", "file"],
           ["--stacks", SHOWN], ["--callers", "main"], ["--print-suppressions"],
           ["--fail-if", "peak>1"], ["--fail-if", "peak>1", "--markdown"]]


@pytest.mark.timeout(300)
def test_reports_show_escapes(tools, hostile):
    assert obeyed(hostile.stderr) == [], repr(hostile)
    for options in REPORTS:
        status = 3 if "--fail-if" in options else 0
        report = tools.print(hostile.file, *options, status=status)
        assert obeyed(report.stdout) == [], (options, obeyed(report.stdout))
        assert not [line for line in report.stdout.splitlines() if line.startswith("fake")], options
    assert SHOWN in hostile.report("--full")
    same = tools.run(tools.heaptrack_print, "-d", hostile.file, "--tree", hostile.file)
    assert same.status == 0 and obeyed(same.stdout) == [], repr(same)


def test_json_and_exports_have_names_as_they_are(tools, hostile, tmp_path):
    names = {frame["function"] for site in hostile.json()["sites"]["never_freed"]
             for frame in site["stack"]}
    assert EVIL in names, names
    out = tmp_path / "out"
    tools.print(hostile.file, "--export", f"json={out}")
    assert EVIL in strings_of(json.loads(out.read_text()))


def strings_of(value):
    if isinstance(value, str):
        return {value}
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return set().union(*map(strings_of, items)) if items else set()


def test_messages_show_escapes(tools, tmp_path):
    """Names of files in what the commands say, on both streams."""
    missing, other = tmp_path / f"missing{EVIL}", tmp_path / f"{EVIL}.zst"
    recorded = tools.run(tools.heaptrack, "-o", tmp_path / EVIL, "true")
    assert recorded.status == 0 and SHOWN in recorded.stderr, repr(recorded)
    assert other.is_file()
    again = tools.run(tools.heaptrack, "-o", tmp_path / EVIL, "true")
    listed = tools.run(tools.build / "heaptrack_gui", cwd=tmp_path)
    assert SHOWN in listed.stdout, repr(listed)
    rules = tmp_path / "rules"
    rules.write_text(f"nonsense {EVIL}\n")
    for finished in (
            recorded, again, listed,
            tools.run(tools.heaptrack, missing),
            tools.run(tools.heaptrack, "-a", missing),
            tools.run(tools.heaptrack, "--interpret", missing),
            tools.run(tools.heaptrack, "--no-such-option" + EVIL),
            tools.run(tools.heaptrack_print, missing),
            tools.run(tools.heaptrack_print, tmp_path / "x"),  # says what is near
            tools.run(tools.heaptrack_print, "--lens", EVIL, other),
            tools.run(tools.heaptrack_print, "--suppressions", rules, other),
            tools.run(tools.heaptrack_print, "--export", f"csv=/no/{EVIL}", other),
            tools.run(tools.heaptrack_print, other),
            tools.run(tools.build / "heaptrack_gui", "--no-such" + EVIL),
            tools.run(tools.build / "heaptrack_gui", missing)):
        for text in (finished.stdout, finished.stderr):
            assert obeyed(text) == [], repr(finished)
            assert not [line for line in text.splitlines() if line.startswith("fake")], repr(finished)
