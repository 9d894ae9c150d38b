"""What KDE's heaptrack 1.4 to 1.6 gets wrong, as found by running it: ours does each right.

One test per defect; its first line says what theirs does.
"""

import os
import re
import signal
import subprocess
from pathlib import Path

import kde
import pytest


@pytest.fixture
def compiled(tmp_path):
    """compiled(source, *options): a program of a few lines."""
    def build(source, *options, compiler="cc"):
        file = tmp_path / "source.c"
        file.write_text(source)
        program = tmp_path / "compiled program"
        subprocess.run([compiler, "-g", "-O1", "-fno-builtin", "-o", program, file, *options],
                       check=True, timeout=60)
        return program
    return build


def summary(recording):
    return recording.json("--disable-builtin-suppressions")["summary"]


def is_whole(file):
    return kde.run("zstd", "-t", file).returncode == 0


# ---- the command

def test_output_paths_with_spaces(tools, tmp_path):
    """Theirs cuts the path at the space."""
    file = tmp_path / "a b" / "c d.zst"
    assert tools.run(tools.heaptrack, "-o", file, "/usr/bin/perl", "-e", "1").status == 0
    assert is_whole(file)


def test_static_programs(tools, compiled):
    """Theirs hangs for ever."""
    program = compiled("#include <stdlib.h>\nint main(void) { return malloc(10) ? 5 : 0; }",
                       "-static")
    recording = tools.record(program)
    assert recording.status == 5
    assert recording.seconds < 50


def test_an_interrupt_leaves_a_whole_file(tools, helpers, tmp_path):
    """Theirs kills its own packer: the file is cut."""
    ready = tmp_path / "ready"
    running = tools.start_record("/usr/bin/perl", "-e",
                                 "$SIG{INT} = 'DEFAULT'; my @a = map { 'x' x $_ } 1 .. 1000;"
                                 "open(my $f, '>', $ARGV[0]); sleep 60", ready)
    helpers.wait_until(ready.exists, timeout=50)
    program = running.program()
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait().status == 128 + signal.SIGINT
    assert is_whole(running.file)
    assert not Path(f"/proc/{program}").exists()


def test_a_plain_raw_file_is_interpreted(tools, tmp_path):
    """Theirs ignores it, reads the terminal, and writes an empty result."""
    raw = kde.write(tmp_path / "x.raw", "v 10300 3", "x 9 /bin/true", "X /bin/true", "I 1000 100",
                    "m 1 -", "m 1 x 1000 0 1000", "t 1010 0", "+ 10 1 5000", "c 1", "R 1")
    assert tools.run(tools.heaptrack, "-i", raw, stdin=None).status == 0
    assert int(kde.totals(tmp_path / "x.zst")["calls to allocation functions"]) == 1


def test_after_raw_the_line_that_helps(tools):
    """Theirs tells to analyze the raw file, which its tools refuse."""
    done = tools.record("/usr/bin/perl", "-e", "1", options=["--raw"])
    assert "--interpret" in done.stderr and "--analyze" not in done.stderr


def test_an_attach_that_fails_leaves_nothing(tools):
    """Theirs prints an empty line, and leaves stuck processes and a pipe."""
    done = tools.run(tools.heaptrack, "-p", "4194304")
    assert done.status == 1
    assert done.stdout == "" and done.stderr.strip() and "\n\n" not in done.stderr


# ---- what is recorded

ALL = """
#include <malloc.h>
#include <stdlib.h>
int main(void) {
    void *p;
    free(memalign(64, 100)); free(pvalloc(100)); free(valloc(100)); free(aligned_alloc(64, 128));
    free(reallocarray(NULL, 10, 10)); free(calloc(10, 10)); free(malloc(100));
    if (posix_memalign(&p, 64, 100) == 0) free(p);
    return 0;
}
"""


def test_every_way_to_get_a_block(tools, compiled):
    """Theirs hooks neither memalign nor pvalloc; with --use-inject no aligned ones at all."""
    program = compiled(ALL)
    for options in ([], ["--use-inject"]):
        known = tools.record(program, options=options).json()
        assert known["summary"]["allocations"] == 8
        assert known["summary"]["never_freed_blocks"] == 0
        assert known["quality"]["unknown_frees"] == 0


def test_a_realloc_to_nothing_is_a_free(tools, compiled):
    """Theirs does not see it: a false leak."""
    program = compiled("#include <stdlib.h>\n"
                       "int main(void) { return realloc(malloc(10), 0) != NULL; }")
    assert summary(tools.record(program))["never_freed_blocks"] == 0


def test_threads_that_reallocate(tools, compiled, helpers):
    """Theirs sees an address again before it sees its realloc: false leaks, unknown frees."""
    program = compiled("#include <pthread.h>\n#include <stdlib.h>\n"
                       "static void *work(void *x) {\n"
                       "  for (int i = 0; i < 50000; i++)\n"
                       "    free(realloc(malloc(16 + i % 7 * 100), 3000 - i % 11 * 200));\n"
                       "  return x;\n}\n"
                       "int main(void) {\n  pthread_t t[4];\n"
                       "  for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);\n"
                       "  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);\n  return 0;\n}",
                       "-lpthread")
    known = tools.record(program).json()
    assert known["summary"]["allocations"] >= 4 * 2 * 50000
    quality = known["quality"]
    assert (quality["unknown_frees"], quality["double_allocations"]) == (0, 0)
    assert not helpers.through(known["sites"]["never_freed"], "work")


def test_deep_stacks_are_whole(tools, compiled, helpers):
    """Theirs keeps 62 frames."""
    program = compiled("#include <stdlib.h>\n"
                       "void *volatile kept;\n"
                       "__attribute__((noinline)) int deep(int n) {\n"
                       "  if (n == 0) { kept = malloc(12345); return 0; }\n"
                       "  return deep(n - 1) + (kept != NULL);\n}\n"
                       "int main(void) { return deep(150) < 0; }")
    (site,) = [site for site in tools.record(program).json()["sites"]["never_freed"]
               if site["bytes"] == 12345]
    frames = [frame["function"] for frame in site["stack"]]
    assert frames.count("deep") == 151
    assert "main" in frames


def test_what_ends_without_exit_is_recorded(tools, compiled):
    """Theirs leaves an empty file."""
    program = compiled("#include <stdlib.h>\n#include <unistd.h>\n"
                       "int main(void) { _exit(malloc(777) == NULL); }")
    assert summary(tools.record(program))["never_freed_bytes"] == 777


def test_starters_are_seen_through(tools):
    """Theirs records the launcher alone: `timeout prog`, `sh -c prog`."""
    perl = ["/usr/bin/perl", "-e", "my @a = map { 'x' x $_ } 1 .. 3000"]
    for words in (["timeout", "50"], ["env"], ["sh", "-c", 'exec "$0" "$@"']):
        assert summary(tools.record(*words, *perl))["allocations"] > 3000
    recording = tools.record("sh", "-c", '"$0" "$@"; true', *perl)
    assert "perl" in recording.report()  # a child, which is counted and named


def test_plugins_by_runpath_load(tools):
    """Theirs becomes the caller of dlopen: the program's own RUNPATH no longer counts."""
    folder = tools.victim("plugin_host").parent
    plain = tools.run(folder / "plugin_host", cwd=folder)
    recorded = tools.record(folder / "plugin_host", cwd=folder)
    assert (recorded.status, recorded.stdout) == (plain.status, plain.stdout)


def test_nothing_of_ours_is_in_the_profile(tools, compiled):
    """Theirs brings libstdc++, whose pool of 72,704 bytes stands in every profile."""
    program = compiled("int main(void) { return 0; }")
    assert summary(tools.record(program))["allocations"] == 0


# ---- what is printed and exported

@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    return kde.record(tmp_path_factory.mktemp("theirs"), "/usr/bin/python3", "-c", "import json")


def test_a_raw_file_can_be_opened(tools, tmp_path):
    """Theirs ends with a crash."""
    raw = kde.record(tmp_path, "/usr/bin/perl", "-e", "1", raw=True)
    assert "total memory leaked" in tools.print(raw).stdout


def test_a_comparison_has_resident_memory(tools, theirs, tmp_path):
    """Theirs subtracts the page size too, and shows 0B."""
    other = kde.record(tmp_path, "/usr/bin/python3", "-c", "x = 'x' * 50000000")
    report = tools.print(other, "--full", "-d", theirs).stdout
    assert kde.reported(report)["peak RSS (including heaptrack overhead)"] != "0B"


def test_massif_files(tools, theirs, tmp_path):
    """Theirs writes the head last (1.4), or recurses until it crashes (master)."""
    out = tmp_path / "massif.out"
    tools.print(theirs, "-M", out)
    assert out.read_text().startswith("desc:")
    shown = kde.run("ms_print", out)
    assert shown.returncode == 0 and "->" in shown.stdout


def test_flame_graphs_of_inlined_calls(tools, tmp_path):
    """Theirs swaps callers and callees inside a group of inlined calls."""
    file = kde.write(tmp_path / "heaptrack.inlined", "v 10300 3", "X x", "I 1000 1", "s 1 x",
                     "s 4 main", "s 1 f", "s 9 push_back", "i 10 1 4 3 1 2 3 2", "t 1 0", "a 5 1",
                     "+ 0", "c 1")
    out = tmp_path / "stacks"
    tools.print(file, "-F", out)
    assert re.search(r"main.*;push_back", out.read_text()), out.read_text()


def test_counts_are_not_printed_as_bytes(tools, theirs):
    """Theirs says "and 60B from 3 other places" of temporary allocations."""
    report = tools.print(theirs, "--full", "-s", "1").stdout
    section = report[report.index("MOST TEMPORARY ALLOCATIONS"):report.index("total runtime")]
    assert not re.search(r"and \d[\d.]*[kMG]?B from", section), section


def test_the_runtime_always_looks_alike(tools, theirs):
    """Theirs has 2 or 6 decimals, by what was printed before."""
    for options in ([], ["--full"], ["--full", "-a0", "-p0", "-T0"]):
        runtime = kde.reported(tools.print(theirs, *options).stdout)["total runtime"]
        assert re.fullmatch(r"\d+\.\d\ds\.?", runtime), runtime


def test_a_small_file_takes_little_memory(tools, tmp_path):
    """Theirs takes 185 MB for 61 allocations."""
    file = kde.write(tmp_path / "heaptrack.small", "v 10300 3", "X x", "I 1000 1", "a 5 0", "+ 0",
                     "c 1")
    assert kde.peak_kb(tools.heaptrack_print, file)[1] < 40_000


def test_every_site_of_a_negative_comparison(tools, theirs):
    """A comparison with itself: every figure 0, no site is left."""
    report = tools.print(theirs, "--full", "-d", theirs).stdout
    assert kde.reported(report)["calls to allocation functions"] == "0"


def test_large_blocks_are_not_among_small_ones(tools, compiled):
    """Their window shows blocks of 5000 bytes as "17B to 32B" where sizes between are empty."""
    program = compiled("#include <stdlib.h>\nvoid *volatile kept[10];\n"
                       "int main(void) {\n"
                       "  for (int i = 0; i < 10; i++) kept[i] = malloc(5000);\n"
                       "  for (int i = 0; i < 3; i++) free(malloc(20));\n  return 0;\n}")
    parts = tools.record(program).json("--by", "size", "--lens", "m=allocations")["parts"]
    assert [(part["least"], part["blocks"]) for part in parts] == [(16, 3), (4096, 10)]


def test_asan_is_an_option_that_works(tools, tmp_path):
    """Theirs looks at /proc//exe: "Unable to detect libasan", exit 1."""
    source = tmp_path / "checked.c"
    source.write_text("#include <stdlib.h>\nvoid *volatile kept;\n"
                      "int main(void) { for (int i = 0; i < 1000; i++) free(kept = malloc(123)); return 3; }")
    made = subprocess.run(["gcc", "-g", "-fsanitize=address", "-o", tmp_path / "checked", source], check=False)
    if made.returncode:
        pytest.skip("no AddressSanitizer here")
    recording = tools.record(tmp_path / "checked", options=["--asan"])
    assert recording.status == 3, repr(recording)
    sites = recording.json()["sites"]["allocations"]
    assert [site["allocations"] for site in sites if site["bytes"] == 123000] == [1000]
