"""Rules that a program or library brings in __lsan_default_suppressions, in recordings of ours.

They are read from the file on disk: nothing is called in the target.
"""

import signal
import subprocess

import kde
import pytest
from attaching import attach, target  # noqa: F401: a fixture

RULES = r"""
extern "C" const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
	return "# kept on purpose\nleak:^keep$\nleak:^nobody$\n";
}
"""
WORK = r"""
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
void *volatile kept, *volatile lost;
extern "C" __attribute__((noinline)) void keep(void) { kept = malloc(1000); }
extern "C" __attribute__((noinline)) void lose(void) { lost = malloc(10); }
"""
MAIN = "int main(void) { keep(); lose(); return 0; }"


@pytest.fixture
def build_from(tmp_path):
    """build_from(name, source, *options, compiler=): C, or C++ where the compiler is one of C++."""
    def make(name, source, *options, compiler="cc"):
        is_c = compiler in ("cc", "clang")
        file = tmp_path / f"{name}.{'c' if is_c else 'cpp'}"
        file.write_text(source.replace('extern "C"', "") if is_c else source)
        subprocess.run([compiler, "-fno-builtin", "-o", tmp_path / name, file, *options],
                       check=True, timeout=120)
        return tmp_path / name
    return make


def leaks(recording, *options):
    s = recording.json(*options)["summary"]
    return s["never_freed_bytes"] - s["suppressed_bytes"], s["suppressed_bytes"]


@pytest.mark.parametrize("options", ["-O0", "-O2", "-O0 -no-pie -fno-pie", "-O2 -no-pie -fno-pie",
                                     "-O2 -fcf-protection", "-O2 -static"])
@pytest.mark.parametrize("compiler", ["cc", "c++", "clang"])
def test_of_a_program(tools, build_from, compiler, options):
    program = build_from("program", WORK + RULES + MAIN, *options.split(), compiler=compiler)
    recording = tools.record(program)
    only = "--disable-builtin-suppressions"
    covered = leaks(recording, only)
    assert covered[1] == 1000
    assert leaks(recording, only, "--disable-embedded-suppressions") == (covered[0] + 1000, 0)


def test_statistics(tools, build_from):
    recording = tools.record(build_from("program", WORK + RULES + MAIN))
    done = tools.print(recording.file, "--print-suppressions")
    lines = done.stdout.splitlines()
    at = lines.index("Suppressions used:")
    assert lines[at - 2:at] == ["total memory leaked: 10B", "suppressed leaks: 1000B"]
    assert [line.split() for line in lines[at + 2:]] == [["1", "1000B", "^keep$"]]
    assert "suppression" not in done.stderr


@pytest.mark.parametrize("option", ["-O0", "-O2"])
def test_of_a_library(tools, build_from, tmp_path, option):
    """Stripped: the function is among the dynamic symbols."""
    library = build_from("librules.so", RULES + WORK, option, "-shared", "-fPIC", "-s")
    program = build_from("program", "void keep(void); void lose(void);\n" + MAIN, option, library,
                         f"-Wl,-rpath,{tmp_path}")
    assert leaks(tools.record(program)) == (10, 1000)


def test_of_a_program_and_its_library(tools, build_from, tmp_path):
    """Both texts are in force, one that both have is so once."""
    library_rules = RULES.replace("^nobody$", "^lose$")
    for name, rules, left in ("libother.so", library_rules, 0), ("libsame.so", RULES, 10):
        library = build_from(name, rules + WORK, "-shared", "-fPIC")
        program = build_from("program", RULES + "void keep(void); void lose(void);\n" + MAIN,
                             library, f"-Wl,-rpath,{tmp_path}")
        recording = tools.record(program)
        assert leaks(recording) == (left, 1010 - left)
    tools.print(recording.file, "--export", f"heaptrack={tmp_path / 'kde'}")
    lines = kde.run("zstdcat", "-f", tmp_path / "kde").stdout.splitlines()
    assert sum(line.startswith("S ") and line.endswith("leak:^keep$") for line in lines) == 1


def test_other_functions_of_that_name_are_left_alone(tools, build_from):
    """What would have to be called to be known is not in force, and nothing is said of it."""
    rules = RULES.replace("{\n", '{\n\tputs("called");\n')
    recording = tools.record(build_from("program", WORK + rules + MAIN))
    assert leaks(recording) == (1010, 0)
    assert "called" not in recording.stdout + recording.stderr


def test_files_for_kdes_tools_have_them(tools, build_from, tmp_path):
    file = tools.record(build_from("program", WORK + RULES + MAIN)).file
    tools.print(file, "--export", f"heaptrack={tmp_path / 'kde'}")
    assert tools.json(tmp_path / "kde")["summary"]["suppressed_bytes"] == 1000
    assert kde.reported(tools.print(tmp_path / "kde").stdout)["total memory leaked"] == "10B"
    assert kde.totals(tmp_path / "kde")["total memory leaked"] == "1.01K"


def test_of_a_running_program(tools, build_from, build, target, tmp_path):  # noqa: F811
    loop = r"""
int main(void) {
	puts("ready");
	fflush(stdout);
	for (;;) { keep(); lose(); usleep(1000); }
}
"""
    victim = target([build_from("program", WORK + RULES + loop, "-O2")])
    file = tmp_path / "attached.zst"
    attach(build, victim.pid, file, duration="500ms")
    assert victim.end() == -signal.SIGTERM
    suppressed = tools.json(file)["summary"]["suppressed_bytes"]
    assert suppressed > 0 and suppressed % 1000 == 0
