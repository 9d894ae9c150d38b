"""Real programs: recorded with unchanged output, and counted as a second opinion counts.

Each runs twice: by itself, and recorded with the counting library (tests/tools/counter.c) chained
behind the recorder. Both libraries see the very same calls, so they must agree to the byte, the
peak included where one thread makes the order plain. Valgrind, in a run of its own, agrees
for programs that do the same every time.
"""

import os
import random
import re
import shutil
import signal
import textwrap

import pytest

from counting import Counter


def need(program):
    path = shutil.which(program)
    if not path:
        pytest.skip(f"{program} is not installed")
    return path


class Compared:
    """A program by itself and recorded, and what is known of it from both sides."""

    def __init__(self, tools, build, folder, command, env=None, cwd=None, sites="0"):
        self.plain = tools.run(*command, env=env, cwd=cwd)
        counter = Counter(build, folder)
        self.recording = tools.record(*command, env={**(env or {}), **counter.env}, cwd=cwd)
        self.known = self.recording.json("--limit", sites)
        self.summary = self.known["summary"]
        self.counts = counter.of(self.known["program"]["pid"])

    def assert_unchanged(self, status=0):
        assert self.plain.status == status and self.plain.stdout, repr(self.plain)
        assert self.recording.status == status, repr(self.recording)
        assert self.recording.stdout_bytes == self.plain.stdout_bytes


def assert_counts_agree(known, counts, is_threaded=False):
    """The summary against the counting library of the same run.

    The last call of a thread that is killed by the exit of another may have reached one side only.
    """
    summary = known["summary"]
    assert len(counts) == known["program"]["images"] == 1
    [second] = counts
    assert summary["complete"] and summary["lost_events"] == 0
    slack = summary["threads"] if is_threaded else 0
    assert abs(summary["allocations"] - second["allocations"]) <= slack
    assert abs(summary["never_freed_blocks"] - second["live_blocks"]) <= slack
    assert summary["failed"] == second["failed"]
    if summary["allocations"] == second["allocations"]:
        assert summary["allocated_bytes"] == second["allocated_bytes"]
    if is_threaded:  # two threads may reach the two sides in different order
        assert summary["peak_bytes"] == pytest.approx(second["peak_bytes"], rel=0.05)
    else:
        assert summary["never_freed_bytes"] == second["live_bytes"]
        assert summary["peak_bytes"] == second["peak_bytes"]


def assert_sites_sum_up(known, helpers):
    summary, sites = known["summary"], known["sites"]
    assert helpers.total(sites["allocations"], "allocations") == summary["allocations"]
    assert helpers.total(sites["allocations"], "bytes") == summary["allocated_bytes"]
    assert helpers.total(sites["peak"], "bytes") == summary["peak_bytes"]
    assert helpers.total(sites["never_freed"], "bytes") == summary["never_freed_bytes"]
    assert helpers.total(sites["never_freed"], "blocks") == summary["never_freed_blocks"]
    assert helpers.total(sites["temporary"], "temporary") == summary["temporary"]


def assert_sites_of_the_heaviest(known, helpers):
    """The same for a program with too many stacks to print: the lists stay within their sums."""
    summary, sites = known["summary"], known["sites"]
    for name, figure in [("allocations", "allocated_bytes"), ("peak", "peak_bytes"),
                         ("never_freed", "never_freed_bytes")]:
        assert 0 < helpers.total(sites[name], "bytes") <= summary[figure]


def functions(known):
    return {frame["function"].split("(")[0] for sites in known["sites"].values()
            for site in sites for frame in site["stack"]}


def heap_usage(tools, *command, **more):
    """(allocations, frees, bytes) as valgrind counts them, frees of its own at exit included."""
    finished = tools.run(need("valgrind"), "--run-libc-freeres=no", "--run-cxx-freeres=no",
                         *command, **more)
    found = re.search(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes",
                      finished.stderr)
    assert found, repr(finished)
    return tuple(int(number.replace(",", "")) for number in found.groups())


def write(path, text):
    path.write_text(textwrap.dedent(text))
    return path


# --- interpreters


def test_python(tools, build, tmp_path, helpers):
    script = write(tmp_path / "work.py", """\
        import json, random
        random.seed(1)
        rows = [{"id": i, "name": "n%d" % i, "tags": [str(random.random())] * (i % 5)}
                for i in range(4000)]
        for _ in range(8):
            text = json.dumps(rows, indent=1)
            rows = json.loads(text)
        print(len(text), sum(row["id"] for row in rows))
        """)
    env = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
    both = Compared(tools, build, tmp_path, ["/usr/bin/python3", "-S", script], env, sites="100")
    both.assert_unchanged()
    assert_counts_agree(both.known, both.counts)
    assert_sites_of_the_heaviest(both.known, helpers)
    assert both.summary["allocations"] > 300_000
    assert {"dumps", "loads"} <= functions(both.known), both.known["quality"]


def test_node(tools, build, tmp_path, helpers):
    script = write(tmp_path / "work.js", """\
        const zlib = require("zlib"), {Worker, isMainThread, parentPort} = require("worker_threads");
        const crypto = require("crypto");
        function squeeze(rounds) {
            let text = "";
            for (let i = 0; i < 20000; i++) text += i + " ";
            for (let i = 0; i < rounds; i++)
                text = zlib.gunzipSync(zlib.gzipSync(text, {level: 1})).toString();
            return crypto.createHash("sha256").update(text).digest("hex");
        }
        if (isMainThread) {
            let left = 2;
            for (let i = 0; i < 2; i++)
                new Worker(__filename).on("message", sum => {
                    console.log(sum);
                    if (--left === 0) console.log(squeeze(20));
                });
        } else parentPort.postMessage(squeeze(20));
        """)
    both = Compared(tools, build, tmp_path, [need("node"), script], sites="100")
    both.assert_unchanged()
    assert_counts_agree(both.known, both.counts, is_threaded=True)
    assert_sites_of_the_heaviest(both.known, helpers)
    assert both.summary["threads"] > 2
    assert any("node::" in name or "zlib" in name.lower() for name in functions(both.known))


def test_perl(tools, build, tmp_path, helpers):
    script = write(tmp_path / "work.pl", """\
        my %words; my $text = "";
        for my $i (1 .. 30000) { $words{"w" . ($i * 7919 % 10007)} .= "x$i,"; }
        for my $word (sort keys %words) { $text .= join("-", reverse split /,/, $words{$word}); }
        print length($text), "\\n";
        """)
    both = Compared(tools, build, tmp_path, [need("perl"), script], {"PERL_HASH_SEED": "0"})
    both.assert_unchanged()
    assert_counts_agree(both.known, both.counts)
    assert_sites_sum_up(both.known, helpers)
    # Perl keeps a copy of its environment, which differs by our variables
    allocations, _, size = heap_usage(tools, need("perl"), script, env={"PERL_HASH_SEED": "0"})
    assert abs(both.summary["allocations"] - allocations) <= 40
    assert abs(both.summary["allocated_bytes"] - size) <= 8000


# --- tools that do the same every time


@pytest.fixture
def five_megabytes(tmp_path):
    numbers = random.Random(1)
    rows = (f'{{"id":{i},"name":"row {i}","score":{numbers.random():.6f},"tags":["a","b{i % 7}"]}}'
            for i in range(75_000))
    path = tmp_path / "rows.json"
    path.write_text("[" + ",\n".join(rows) + "]")
    assert path.stat().st_size > 5_000_000
    return path


def test_jq_on_five_megabytes(tools, build, tmp_path, helpers, five_megabytes):
    query = 'map(select(.score > 0.5)) | group_by(.tags[1]) | map({k: .[0].tags[1], n: length})'
    both = Compared(tools, build, tmp_path, [need("jq"), "-c", query, five_megabytes])
    both.assert_unchanged()
    assert_counts_agree(both.known, both.counts)
    assert_sites_sum_up(both.known, helpers)
    assert {"jv_parser_next", "jq_next"} & functions(both.known)


def test_jq_as_valgrind_counts(tools, build, tmp_path):
    command = [need("jq"), "-n", "[range(3000)] | map(tostring) | group_by(length) | map(add)"]
    both = Compared(tools, build, tmp_path, command)
    both.assert_unchanged()
    summary = both.summary
    assert heap_usage(tools, *command) == (
        summary["allocations"], summary["frees"], summary["allocated_bytes"])


def test_sqlite(tools, build, tmp_path, helpers):
    statements = """
        create table t(a integer primary key, b text, c real);
        with recursive n(x) as (select 1 union all select x + 1 from n where x < 5000)
            insert into t select x, hex(x * 7919) || x, x / 3.0 from n;
        create index i on t(b);
        select count(*), sum(length(b)) from t where b like '3%';
        select b, count(*) from (select substr(b, 1, 3) b from t) group by b order by 2 desc limit 5;
        """
    command = [need("sqlite3"), ":memory:", statements]
    both = Compared(tools, build, tmp_path, command)
    both.assert_unchanged()
    assert_counts_agree(both.known, both.counts)
    assert_sites_sum_up(both.known, helpers)
    summary = both.summary
    assert heap_usage(tools, *command) == (
        summary["allocations"], summary["frees"], summary["allocated_bytes"])


# --- compilers and what they make

REGEX = """\
    #include <iostream>
    #include <regex>
    int main(int argc, char **argv) {
        std::regex words("([a-z]+)-([0-9]+)");
        std::smatch found;
        std::string text = argc > 1 ? argv[1] : "abc-123";
        std::cout << std::regex_match(text, found, words) << "\\n";
    }
    """


def test_cc1plus(tools, build, tmp_path, helpers):
    source = write(tmp_path / "regex.cpp", REGEX)
    compiler, machine = (tools.run(need("g++"), option).stdout.strip()
                         for option in ("-print-prog-name=cc1plus", "-print-multiarch"))
    both = Compared(tools, build, tmp_path, [compiler, "-quiet", "-O1", "-imultiarch", machine,
                                             "-D_GNU_SOURCE", source, "-o", "-"], sites="100")
    both.assert_unchanged()
    assert_counts_agree(both.known, both.counts)
    assert_sites_of_the_heaviest(both.known, helpers)
    assert both.summary["allocations"] > 100_000


def test_clang(tools, build, tmp_path, helpers):
    source = write(tmp_path / "regex.cpp", REGEX)
    command = [need("clang++"), "-O1", "-S", source, "-o", "-"]
    both = Compared(tools, build, tmp_path, command, sites="100")
    both.assert_unchanged()
    assert_counts_agree(both.known, both.counts)
    assert_sites_of_the_heaviest(both.known, helpers)
    assert any(name.startswith(("clang::", "llvm::")) for name in functions(both.known))


def test_rust(tools, build, tmp_path, helpers):
    source = write(tmp_path / "crunch.rs", """\
        use std::collections::{BTreeMap, HashMap};
        #[inline(never)]
        fn count_words(text: &str) -> BTreeMap<String, usize> {
            let mut words = HashMap::new();
            for word in text.split(' ') { *words.entry(word.to_string()).or_insert(0) += 1; }
            words.into_iter().collect()
        }
        #[inline(never)]
        fn make_text(rounds: usize) -> String {
            (0..rounds).map(|i| format!("w{} ", i * 7919 % 997)).collect()
        }
        fn main() {
            let mut all = Vec::new();
            for i in 1..20 { all.push(count_words(&make_text(i * 500))); }
            let sum: usize = all.iter().map(|m| m.values().sum::<usize>()).sum();
            println!("{} {}", all.len(), sum);
            std::process::exit(3);
        }
        """)
    tools.run(need("rustc"), "-g", "-O", source, "-o", tmp_path / "crunch")
    both = Compared(tools, build, tmp_path, [tmp_path / "crunch"])
    both.assert_unchanged(status=3)
    assert_counts_agree(both.known, both.counts)
    assert_sites_sum_up(both.known, helpers)
    sites = helpers.through(both.known["sites"]["allocations"], "crunch::count_words")
    assert helpers.total(sites, "allocations") > 19 * 997
    frame = next(frame for frame in sites[0]["stack"] if frame["function"] == "crunch::count_words")
    assert frame["file"].endswith("crunch.rs") and 3 <= frame["line"] <= 7


# --- bigger ones


def test_redis_under_a_benchmark(tools, build, tmp_path, helpers):
    socket = tmp_path / "redis.sock"
    counter = Counter(build, tmp_path)
    server = tools.start_record(
        need("redis-server"), "--port", "0", "--unixsocket", socket, "--save", "", "--dir",
        tmp_path, env=counter.env)
    helpers.wait_until(lambda: helpers.listens(socket), what="the server's socket")
    bench = tools.run(need("redis-benchmark"), "-s", socket, "-q", "-n", "20000", "-c", "20", "-t",
                      "set,get,lpush,lrange_100,hset,zadd", "-r", "5000")
    assert bench.status == 0 and "requests per second" in bench.stdout, repr(bench)
    os.kill(server.pid, signal.SIGTERM)
    finished = server.wait()
    assert finished.status == 0, repr(finished)
    assert "ready to exit, bye bye" in finished.stdout
    known = tools.json(server.file, "--limit", "100")
    # What its background threads did as they were ended may have reached one side only
    assert_counts_agree(known, counter.of(known["program"]["pid"]), is_threaded=True)
    assert known["summary"]["allocations"] > 100_000
    assert_sites_of_the_heaviest(known, helpers)


def test_gdb_loading_symbols(tools, build, tmp_path, helpers):
    command = [need("gdb"), "-nx", "-batch", "-ex", "info line main", "-ex", "info functions ^work",
               "-ex", "ptype struct worker", tools.victim("counted")]
    env = {"HOME": str(tmp_path), "DEBUGINFOD_URLS": ""}
    both = Compared(tools, build, tmp_path, command, env, sites="100")
    assert "worker_0" in both.plain.stdout
    both.assert_unchanged()
    assert_counts_agree(both.known, both.counts, is_threaded=True)
    assert_sites_of_the_heaviest(both.known, helpers)


def make_repository(tools, path, n_commits):
    stream = ["blob\nmark :1\ndata 5\nhello\n"]
    for i in range(n_commits):
        text = "".join(f"line {j} of {i}\n" for j in range(i % 50 + 1))
        stream.append(f"commit refs/heads/main\ncommitter A <a@b.example> {1_700_000_000 + i} +0000\n"
                      f"data 2\nc\n\nM 100644 inline f{i % 40}\ndata {len(text)}\n{text}\n")
    env = {"GIT_CONFIG_GLOBAL": "/dev/null"}
    tools.run(need("git"), "init", "-q", "-b", "main", path, env=env)
    feed = path / "stream"
    feed.write_text("".join(stream))
    with open(feed, "rb") as stdin:
        done = tools.run("git", "-C", path, "fast-import", "--quiet", env=env, stdin=stdin)
    assert done.status == 0, repr(done)


def test_git_gc(tools, build, tmp_path):
    make_repository(tools, tmp_path / "plain", 400)
    shutil.copytree(tmp_path / "plain", tmp_path / "recorded")
    env = {"GIT_CONFIG_GLOBAL": "/dev/null"}
    gc = ["git", "-c", "gc.auto=1", "gc", "--quiet", "--aggressive", "--prune=now"]
    plain = tools.run(*gc, cwd=tmp_path / "plain", env=env)
    counter = Counter(build, tmp_path)
    recording = tools.record(*gc, cwd=tmp_path / "recorded", env={**env, **counter.env})
    assert recording.status == plain.status == 0, repr(recording)
    assert recording.stdout_bytes == plain.stdout_bytes
    known = recording.json()
    assert_counts_agree(known, counter.of(known["program"]["pid"]))
    assert any(child["name"] == "git" for child in known["children"])
    for folder in ("plain", "recorded"):
        check = tools.run("git", "-C", tmp_path / folder, "fsck", "--strict", env=env)
        assert check.status == 0, repr(check)


def test_git_packing_objects(tools, build, tmp_path, helpers):
    make_repository(tools, tmp_path / "repository", 300)
    env = {"GIT_CONFIG_GLOBAL": "/dev/null"}
    command = ["git", "-c", "pack.threads=1", "-C", tmp_path / "repository", "rev-list", "--objects",
               "--all"]
    both = Compared(tools, build, tmp_path, command, env)
    both.assert_unchanged()
    assert_counts_agree(both.known, both.counts)
    assert_sites_sum_up(both.known, helpers)


# --- single events


@pytest.mark.parametrize("program", ["jq", "node", "sh"])
def test_slow_replay_agrees(tools, build, program):
    """Each figure, each edge of the curve and each stack at it; through an exec as well."""
    command = {"jq": ["-n", "[range(3000)] | map(tostring) | group_by(length)"],
               "node": ["-e", "console.log(require('zlib').gzipSync('x'.repeat(1e6)).length)"],
               "sh": ["-c", "exec perl -e 'print 1'"]}[program]
    recording = tools.record(need(program), *command, options=["--events"])
    replay = tools.run(build / "tests" / "replay" / "replay", recording.file, timeout=100)
    assert recording.status == replay.status == 0, repr(replay)
