"""Files of KDE's heaptrack: whatever its tools read, ours reads with the same figures."""

import gzip
import subprocess

import kde
import pytest

PYTHON = ["/usr/bin/python3", "-c",
          "import json; kept = [json.dumps({str(i): [i] * 5}) for i in range(2000)]"]


def summary(tools, file, *options):
    return tools.json(file, *options)["summary"]


# ---- files that Debian's heaptrack records here and now

@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return kde.record(tmp_path_factory.mktemp("kde"), *PYTHON)


@pytest.fixture(scope="module")
def recorded_raw(tmp_path_factory):
    return kde.record(tmp_path_factory.mktemp("raw"), *PYTHON, raw=True)


def ours(tools, file, *options):
    done = tools.print(file, "--disable-builtin-suppressions", "--disable-embedded-suppressions",
                       *options)
    assert done.status == 0, repr(done)
    return kde.reported(done.stdout)


def test_the_six_figures_are_those_of_debians_tool(tools, recorded):
    assert ours(tools, recorded) == kde.totals(recorded)
    assert ours(tools, recorded, "--full") == kde.totals(recorded)


def test_gzip_and_plain_files(tools, recorded, tmp_path):
    text = "\n".join(kde.lines(recorded)) + "\n"
    plain, packed = tmp_path / "heaptrack.plain", tmp_path / "heaptrack.packed.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    assert ours(tools, plain) == ours(tools, packed) == kde.totals(recorded)


def test_raw_files_get_their_names_on_the_fly(tools, recorded_raw, tmp_path):
    interpreted = tmp_path / "theirs"
    with open(interpreted, "w") as out:
        text = "\n".join(kde.lines(recorded_raw)) + "\n"
        subprocess.run([kde.INTERPRET], input=text.encode(), stdout=out, check=True,
                       stderr=subprocess.DEVNULL, timeout=120)
    assert ours(tools, recorded_raw) == kde.totals(interpreted)
    report = tools.print(recorded_raw, "--full").stdout
    assert "_PyEval_EvalFrameDefault" in report


def test_a_file_into_which_nothing_came(tools, tmp_path):
    """What KDE's interpreter leaves of a program that ended before anything was written."""
    nothing = subprocess.run([kde.INTERPRET], input=b"", stdout=subprocess.PIPE, check=True,
                             stderr=subprocess.DEVNULL, timeout=60).stdout
    (tmp_path / "nothing").write_bytes(nothing)
    got = ours(tools, tmp_path / "nothing")
    assert got["calls to allocation functions"] == "0" and got["total memory leaked"] == "0B"


# ---- older formats and odd lines

SMALL = ["X ./prog a b", "I 1000 100",
         "s /bin/prog", "s main", "s main.c", "s inner", "s inner.h",
         "i 1000 1 4 5 a 2 3 14", "i 2000 1 2 3 1e",
         "t 2 0", "t 1 1",
         "a 10 2", "a 20 1",
         "+ 0", "- 0", "+ 1", "c a", "+ 0", "+ 0", "- 0", "R 5", "c 14"]


def sized(line):
    return f"s {len(line) - 2:x} {line[2:]}" if line.startswith("s ") else line


def version(number):
    """The same small recording as format 1, 2 or 3."""
    first = {1: "v 10000 1", 2: "v 10100 2", 3: "v 10300 3"}[number]
    body = SMALL if number < 3 else [sized(line) for line in SMALL]
    if number == 1:  # no inlined frames yet
        body = [line.replace("4 5 a 2 3 14", "2 3 14") for line in body]
    return [first, *body]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_each_format(tools, tmp_path, number):
    file = kde.write(tmp_path / f"heaptrack.v{number}", *version(number))
    assert ours(tools, file) == kde.totals(file)
    s = summary(tools, file)
    assert (s["allocations"], s["temporary"], s["never_freed_bytes"]) == (4, 2, 48)
    assert (s["peak_bytes"], s["duration_ns"], s["peak_rss_bytes"]) == (64, 21_000_000, 5 * 4096)
    report = tools.print(file, "--full").stdout
    assert ("inner" in report) == (number > 1)


def test_format_0_has_addresses(tools, tmp_path):
    file = kde.write(tmp_path / "heaptrack.v0", "v 10000", "X ./old", "I 1000 100",
                     "s main", "i 10 0 1", "t 1 0", "+ 10 1 1000", "+ 20 1 2000", "- 1000", "- 99",
                     "c 5")
    s = summary(tools, file)
    assert (s["allocations"], s["never_freed_bytes"], s["peak_bytes"]) == (2, 32, 48)


def test_a_newer_format_is_refused_with_a_reason(tools, tmp_path):
    file = kde.write(tmp_path / "heaptrack.new", "v 20000 4", "X ./prog")
    done = tools.print(file, status=1)
    assert "newer" in done.stderr and "format 4" in done.stderr, done.stderr


def test_texts_without_their_length_are_taken_as_they_are(tools, tmp_path):
    """As the anonymizer of KDE's tools leaves them."""
    text = [line if not line.startswith("s ") else f"s {line[2:].upper()}"
            for line in version(2)]
    file = kde.write(tmp_path / "heaptrack.anonymous", "v 10300 3", *text[1:])
    assert "MAIN" in tools.print(file, "--full").stdout


def test_time_never_goes_back(tools, tmp_path):
    file = kde.write(tmp_path / "heaptrack.time", *version(3), "c 3", "+ 1")
    assert summary(tools, file)["duration_ns"] == 21_000_000


def test_a_torn_zstd_file_gives_what_is_whole(tools, recorded, tmp_path):
    """Ctrl+C leaves such files behind: `zstd -t` says premature end."""
    torn = tmp_path / "heaptrack.torn.zst"
    more = "".join(f"+ {i % 400:x}\n- {i % 400:x}\nc {i:x}\n" for i in range(0x1000, 0x20000))
    text = "\n".join(kde.lines(recorded)) + "\n" + more
    packed = subprocess.run(["zstd", "-q", "-1"], input=text.encode(), capture_output=True,
                            check=True).stdout
    torn.write_bytes(packed[:len(packed) * 2 // 3])
    done = tools.print(torn)
    assert "the recording has no end" in done.stdout
    n = int(kde.reported(done.stdout)["calls to allocation functions"])
    assert n > int(kde.totals(recorded)["calls to allocation functions"])


def test_a_last_line_that_is_cut_is_not_read(tools, tmp_path):
    torn = tmp_path / "heaptrack.torn"
    torn.write_text("\n".join(version(3)) + "\n+ ")
    done = tools.print(torn)
    assert "the recording has no end" in done.stdout
    assert kde.reported(done.stdout)["calls to allocation functions"] == "4"


def test_a_file_of_which_nothing_is_left_says_so(tools, recorded, tmp_path):
    torn = tmp_path / "heaptrack.torn.zst"
    torn.write_bytes(recorded.read_bytes()[:20])
    assert "cut short" in tools.print(torn, status=1).stderr


def test_a_torn_gzip_file(tools, recorded, tmp_path):
    torn = tmp_path / "heaptrack.torn.gz"
    data = gzip.compress(("\n".join(kde.lines(recorded)) + "\n").encode())
    torn.write_bytes(data[:len(data) // 2])
    done = tools.print(torn)
    assert "the recording has no end" in done.stdout


# ---- hostile files

def test_a_bomb_without_line_ends_is_refused_at_once(tools, tmp_path):
    bomb = tmp_path / "heaptrack.bomb.zst"
    subprocess.run("(echo 'v 10300 3'; head -c 3000000000 /dev/zero) | zstd -q -1 > "
                   f"'{bomb}'", shell=True, check=True, timeout=110)
    done = tools.print(bomb, status=1)
    assert "longer than a line can be" in done.stderr, repr(done)
    assert done.seconds < 30


def test_a_bomb_of_events_takes_no_memory(tools, tmp_path):
    """10,000,000 events in a few kB: bounded memory, and right."""
    bomb = tmp_path / "heaptrack.events.gz"
    subprocess.run(f"(printf 'v 10300 3\\nX x\\nI 1000 1\\na 10 0\\n'; yes '+ 0\n- 0' | "
                   f"head -n 10000000) | gzip -1 > '{bomb}'", shell=True, check=True, timeout=110)
    report, peak = kde.peak_kb(tools.heaptrack_print, bomb)
    assert "calls to allocation functions: 5000000 (" in report
    assert peak < 100_000


# ---- suppressions

def suppressing(tmp_path, spelling):
    return kde.write(tmp_path / "heaptrack.S", "v 10300 3", "X x", "I 1000 1", spelling,
                     "s 6 foobar", "s 4 main", "i 10 0 1", "i 20 0 2", "t 2 0", "t 1 1",
                     "a 5 2", "a 7 1", "+ 0", "+ 1", "c 1")


@pytest.mark.parametrize("spelling", ["S b leak:foobar", "S leak:foobar"])
def test_embedded_suppressions_of_format_3_work_in_both_spellings(tools, tmp_path, spelling):
    file = suppressing(tmp_path, spelling)
    s = summary(tools, file)
    assert (s["never_freed_bytes"], s["suppressed_bytes"]) == (12, 5)
    s = summary(tools, file, "--disable-embedded-suppressions")
    assert (s["never_freed_bytes"], s["suppressed_bytes"]) == (12, 0)


def test_a_file_of_suppressions_beside_the_built_in_ones_suppresses_no_more(tools, tmp_path):
    """1.3 to 1.5 took it for a reason to suppress everything."""
    file = suppressing(tmp_path, "S leak:nowhere")
    rules = kde.write(tmp_path / "rules", "# nothing", "", "leak:elsewhere", "what is this")
    done = tools.print(file, "--suppressions", rules, "--print-suppressions")
    assert "total memory leaked: 12B" in done.stdout
    assert "invalid suppression line: what is this" in done.stderr
    done = tools.print(file, "--suppressions", tmp_path / "none", status=1)
    assert "none" in done.stderr


def test_statistics_of_suppressions(tools, tmp_path):
    file = suppressing(tmp_path, "S leak:foobar")
    done = tools.print(file, "--print-suppressions")
    lines = done.stdout.splitlines()
    at = lines.index("Suppressions used:")
    assert lines[at - 1] == "suppressed leaks: 5B"
    assert lines[at + 1].split() == ["matches", "leaked", "pattern"]
    assert lines[at + 2].split() == ["1", "5B", "foobar"]


# ---- where the original is wrong

def test_a_reused_address_is_no_false_leak(tools, tmp_path):
    """Their realloc is logged late: `+p` while p is live. The old block ended."""
    file = kde.write(tmp_path / "heaptrack.x.raw", "v 10300 3", "x 9 /bin/true", "X x", "I 1000 1",
                     "m 1 -", "m 1 x 1000 0 1000", "t 1010 0",
                     "+ 10 1 5000", "+ 20 1 5000", "- 5000", "c 1")
    s = summary(tools, file)
    assert (s["allocations"], s["never_freed_bytes"]) == (2, 0)


def test_a_library_that_takes_the_place_of_another_has_its_own_names(tools, tmp_path):
    """Their table of addresses forgets nothing at dlclose."""
    file = kde.write(tmp_path / "heaptrack.x.raw", "v 10300 3", "x 9 /bin/true", "X x", "I 1000 1",
                     "m 1 -", "m 5 /a.so 1000 0 1000", "t 1010 0", "+ 10 1 5000",
                     "m 1 -", "m 5 /b.so 1000 0 1000", "t 1010 0", "+ 20 2 6000", "c 1")
    report = tools.print(file, "--full").stdout
    assert "/a.so" in report and "/b.so" in report


# ---- large ones

@pytest.mark.timeout(1800)
def test_memory_does_not_follow_the_size_of_a_file(tools, tmp_path, is_long):
    """1 GB of events (in short 30 MB) that come and go."""
    head = "\n".join(version(3)) + "\n"
    chunk = ("+ 0\n+ 1\n- 0\n- 1\n" * 60_000 + "R 9\n").encode()
    n_chunks = (1 << 30 if is_long else 30 << 20) // len(chunk)
    file = tmp_path / "large.gz"
    file.write_bytes(gzip.compress(head.encode()) + gzip.compress(chunk) * n_chunks)
    report, peak = kde.peak_kb(tools.heaptrack_print, file, timeout=1500)
    figures = kde.reported(report)
    assert int(figures["calls to allocation functions"]) == 4 + n_chunks * 120_000
    assert peak < 100_000
