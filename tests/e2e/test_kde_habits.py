"""What public scripts do with heaptrack: typed as they type it, over recordings of ours and of KDE's."""

import re
import subprocess

import kde
import pytest

SCRIPT = ["/usr/bin/perl", "-e", "my @a = map { 'x' x $_ } 1 .. 3000"]


@pytest.fixture
def shell(tools):
    """shell(line): run by sh, with our commands first in PATH, in the test's folder."""
    def run(line, **more):
        done = tools.run("sh", "-c", line, cwd=tools.folder,
                         env={"PATH": f"{tools.build}:/usr/bin:/bin"}, **more)
        return done
    return run


@pytest.fixture(params=["ours", "theirs"])
def file(request, tools, tmp_path):
    if request.param == "theirs":
        return kde.record(tmp_path, *SCRIPT)
    return tools.record(*SCRIPT).file


def test_the_file_of_a_recording_is_found_in_what_it_says(shell, tmp_path):
    """out=$(heaptrack prog 2>&1); the line behind `heaptrack --analyze`."""
    done = shell("out=$(heaptrack /usr/bin/perl -e 1 2>&1); "
                 "echo \"$out\" | grep -oE 'heaptrack --analyze \".*\"' | cut -d'\"' -f2")
    assert (tmp_path / done.stdout.strip()).is_file() and done.stdout.count("\n") == 1
    done = shell("heaptrack -o named /usr/bin/perl -e 1 2>&1 | "
                 "sed -n 's/^heaptrack output will be written to \"\\(.*\\)\"$/\\1/p'")
    assert (tmp_path / done.stdout.strip()).is_file()


@pytest.mark.parametrize("options", ["", "--full", "-p0 -a0 -T0"])
def test_the_six_lines_are_grepped(shell, file, options):
    """heaptrack_print FILE | grep 'peak heap memory' | awk '{print $5}'"""
    done = shell(f"heaptrack_print {options} '{file}' | grep 'peak heap memory consumption' | "
                 "awk '{print $5}'")
    assert re.fullmatch(r"\d[\d.]*[KMG]\n", done.stdout), repr(done)
    for name in kde.SIX:
        done = shell(f"heaptrack_print {options} '{file}' | grep -c '^{name}'")
        assert done.stdout == "1\n", (name, options)
    last = shell(f"heaptrack_print {options} --disable-builtin-suppressions '{file}' | tail -n 6")
    assert [line.split(":")[0] for line in last.stdout.splitlines()] == \
        [name.strip(": ") for name in kde.SIX]


@pytest.mark.parametrize("options", ["--tree", "--bottom-up", "--by size", "--by package",
                                     "--timeline --lens m=bytes"])
def test_views_end_with_what_was_asked_for(shell, file, options):
    """KDE's tools have none of these: no script looks for the six lines in them."""
    said = shell(f"heaptrack_print {options} '{file}'").stdout
    assert said.count("\n") > 3 and not any(name in said for name in kde.SIX), said


def test_a_limit_in_a_script_of_ci(shell, file):
    """leaked=$(heaptrack_print FILE | grep 'total memory leaked' | sed ...)"""
    done = shell(f"heaptrack_print '{file}' | grep 'total memory leaked' | "
                 "sed 's/.*leaked: //' | numfmt --from=si --suffix=B --invalid=ignore")
    assert done.stdout.strip(), repr(done)


def test_flame_graphs(shell, file, tmp_path):
    """heaptrack_print -F stacks.txt FILE && flamegraph.pl --countname=... < stacks.txt"""
    for kind in ("allocations", "temporary", "leaked", "peak"):
        done = shell(f"heaptrack_print --flamegraph-cost-type {kind} -F stacks.{kind} '{file}'")
        assert done.status == 0, repr(done)
        lines = (tmp_path / f"stacks.{kind}").read_text().splitlines()
        assert lines and all(re.fullmatch(r".+ \d+", line) for line in lines)
    calls = sum(int(line.rsplit(" ", 1)[1])
                for line in (tmp_path / "stacks.allocations").read_text().splitlines())
    told = shell(f"heaptrack_print '{file}' | grep '^calls to allocation'").stdout
    assert calls == int(told.split()[4])


def test_massif(shell, file):
    """heaptrack_print -M massif.out FILE; ms_print massif.out"""
    done = shell(f"heaptrack_print -M massif.out '{file}' && ms_print massif.out")
    assert done.status == 0 and "Number of snapshots" in done.stdout, repr(done)


def test_histograms(shell, file, tmp_path):
    """heaptrack_print -H sizes FILE: size, tab, count, the sizes rising"""
    shell(f"heaptrack_print -H sizes '{file}'")
    rows = [line.split("\t") for line in (tmp_path / "sizes").read_text().splitlines()]
    sizes = [int(row[0]) for row in rows]
    assert sizes == sorted(set(sizes)) and all(int(row[1]) > 0 for row in rows)


def test_the_filter_in_a_pipe(shell, tools, tmp_path):
    """heaptrack -r; zstd -dc raw | heaptrack_interpret | zstd > named"""
    done = shell("heaptrack -r -o r /usr/bin/perl -e 1 && zstd -dc r.raw.zst | "
                 "heaptrack_interpret | zstd -q > named.zst")
    assert done.status == 0, repr(done)
    assert re.search(r"heaptrack stats:\n\tallocations: +\t\d+\n\tleaked allocations: +\t\d+\n"
                     r"\ttemporary allocations:\t\d+\n", done.stderr)
    assert int(kde.totals(tmp_path / "named.zst")["calls to allocation functions"]) > 0


def test_a_recording_through_a_pipe(shell, file, tmp_path):
    """zstd -dc FILE | heaptrack_print -"""
    named = shell(f"heaptrack_print '{file}' | tail -n 6").stdout
    for line in (f"cat '{file}' | heaptrack_print -", f"heaptrack_print - < '{file}'",
                 f"heaptrack_print --full - < '{file}'", f"cat '{file}' | heaptrack_print -f -"):
        done = shell(f"{line} | tail -n 6", timeout=60)
        assert done.stdout == named, (line, repr(done))
    same = shell(f"cat '{file}' | heaptrack_print -d - - | tail -n 6")
    assert kde.reported(same.stdout)["calls to allocation functions"] == "0"
    done = shell(f"cat '{file}' | TMPDIR='{tmp_path}' heaptrack_print --export heaptrack=out -")
    assert done.status == 0 and int(kde.totals(tmp_path / "out")["calls to allocation functions"])
    assert not list(tmp_path.glob("heaptrack-stdin*"))


def test_a_pipe_with_nothing_of_use(shell):
    for line, word in (("true", "empty"), ("echo hello", "not a heaptrack recording")):
        done = shell(f"{line} | heaptrack_print -")
        assert done.status == 1 and word in done.stderr and "standard input" in done.stderr
    done = shell("echo | TMPDIR=/nowhere/at/all heaptrack_print -")
    assert done.status == 1 and "/nowhere/at/all" in done.stderr


def test_a_comparison(shell, file):
    """heaptrack_print -d old new | tail"""
    done = shell(f"heaptrack_print -d '{file}' '{file}' | tail -n 6")
    assert kde.reported(done.stdout)["calls to allocation functions"] == "0"


def test_classic_switches_together(shell, file):
    """Each boolean takes 0 or 1, bare or behind a space."""
    done = shell(f"heaptrack_print -l1 -a 0 -p -T0 -m 0 -n 3 -s 2 -t 1 -f '{file}'")
    assert done.status == 0, repr(done)
    assert "MEMORY LEAKS" in done.stdout and "PEAK MEMORY CONSUMERS" in done.stdout
    assert "MOST CALLS" not in done.stdout and "MOST TEMPORARY" not in done.stdout


def test_a_shells_loop_over_many_files(shell, tmp_path):
    """for f in heaptrack.*.zst; do heaptrack_print $f > $f.txt; done"""
    done = shell("for i in 1 2; do heaptrack -q /usr/bin/perl -e $i; done; "
                 "for f in heaptrack.perl.*.zst; do heaptrack_print $f > $f.txt; done; ls *.txt")
    assert len(done.stdout.split()) == 2
    for name in done.stdout.split():
        kde.reported((tmp_path / name).read_text())
    assert subprocess.run(["zstd", "-tq", *tmp_path.glob("heaptrack.perl.*.zst")]).returncode == 0
