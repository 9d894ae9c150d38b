"""`heaptrack PROGRAM` for real programs: they do what they do without us, and are recorded."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest


def needs(name):
    path = shutil.which(name)
    return pytest.mark.skipif(path is None, reason=f"{name} is not installed")


def alike(tools, tmp_path, *command, min_allocations, env=None, cwd=None):
    """Run with and without heaptrack: the same output and status. What the recording knows."""
    command = [str(word) for word in command]
    alone = tools.run(*command, env=env, cwd=cwd)
    recording = tools.record(*command, env=env, cwd=cwd, options=["-q"])
    assert recording.status == alone.status, repr(recording)
    assert recording.stdout_bytes == alone.stdout_bytes
    assert recording.stderr_bytes == alone.stderr_bytes
    known = json.loads(tools.print(recording.file, "--json", "--limit", "3000").stdout)
    summary = known["summary"]
    assert summary["complete"] and summary["lost_events"] == 0
    assert summary["allocations"] >= min_allocations, summary
    assert known["program"]["exit_status"] == alone.status
    return known


@pytest.fixture(scope="module")
def big_json(tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "big.json"
    path.write_text(json.dumps([{"k": i, "v": "x" * 30} for i in range(100_000)]))
    assert path.stat().st_size > 5_000_000
    return path


def test_python(tools, tmp_path):
    alike(tools, tmp_path, "/usr/bin/python3", "-c",
          "import json, sys\nd = json.loads(json.dumps([{'a': i, 'b': str(i)} for i in range(20000)]))\n"
          "print(len(d)); sys.exit(3)", env={"PYTHONMALLOC": "malloc"}, min_allocations=200_000)


NODE = """
const zlib = require('zlib');
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (isMainThread) {
    let sum = 0, left = 2;
    for (let i = 0; i < 2; i++) {
        const worker = new Worker(__filename);
        worker.on('message', n => { sum += n; });
        worker.on('exit', () => { if (--left == 0) console.log('sum', sum); });
    }
} else {
    let n = 0;
    for (let i = 0; i < 20; i++) n += zlib.deflateSync(Buffer.alloc(200000, i)).length;
    parentPort.postMessage(n);
}
"""


@needs("node")
def test_node_with_zlib_and_workers(tools, tmp_path):
    script = tmp_path / "n.js"
    script.write_text(NODE)
    known = alike(tools, tmp_path, "node", script, min_allocations=10_000)
    assert known["summary"]["threads"] >= 3
    through_zlib = [site for site in known["sites"]["allocations"]
                    if any("deflateInit" in (frame["function"] or "") for frame in site["stack"])]
    assert sum(site["allocations"] for site in through_zlib) >= 2 * 20


def test_perl(tools, tmp_path):
    alike(tools, tmp_path, "perl", "-e",
          "my %h; $h{$_} = \"x$_\" for 1 .. 50000; print scalar(keys %h), \"\\n\"; exit 4",
          min_allocations=100_000)


@needs("sqlite3")
def test_sqlite(tools, tmp_path):
    alike(tools, tmp_path, "sqlite3", ":memory:",
          "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c "
          "where x < 50000) insert into t select x, 'v' || x from c; select count(*), sum(a) from t;",
          min_allocations=50_000)


@needs("jq")
def test_jq_on_5_mb(tools, tmp_path, big_json):
    alike(tools, tmp_path, "jq", "map(.k) | add", big_json, min_allocations=100_000)


@needs("git")
def test_git_gc(tools, tmp_path):
    repository = tmp_path / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "init", "-q", repository], check=True)
    for i in range(20):
        (repository / "file").write_text("\n".join(str(i * j) for j in range(1000)))
        subprocess.run([*git, "add", "file"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"commit {i}"], check=True)
    known = alike(tools, tmp_path, *git, "gc", "-q", min_allocations=100)
    assert known["quality"]["children_executed"] > 0
    subprocess.run([*git, "fsck", "--strict"], check=True, capture_output=True)


@needs("g++")
def test_the_compiler_proper_on_regex(tools, tmp_path):
    """What g++ runs on a file with <regex>, as -### says."""
    source = tmp_path / "x.cpp"
    source.write_text("#include <regex>\nbool f(const char *s) "
                      "{ return std::regex_match(s, std::regex(\"a+\")); }\n")
    said = subprocess.run(["g++", "-###", "-O1", "-S", "-o", "-", source], capture_output=True,
                          text=True).stderr
    line = next(line for line in said.splitlines() if "cc1plus" in line)
    command = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]
    alike(tools, tmp_path, *command, "-quiet", min_allocations=100_000)  # it prints the assembly


@needs("redis-server")
@needs("redis-benchmark")
def test_redis_under_a_benchmark_and_sigterm(tools, tmp_path, helpers):
    socket = tmp_path / "redis.sock"
    running = tools.start_record("redis-server", "--port", "0", "--unixsocket", socket,
                                 "--save", "", "--daemonize", "no", cwd=tmp_path)
    helpers.wait_until(lambda: helpers.listens(socket), what="redis")
    benchmark = tools.run("redis-benchmark", "-s", socket, "-n", "5000", "-r", "1000", "-q",
                          "-t", "set,get,lpush,zadd", timeout=60)
    assert benchmark.status == 0, repr(benchmark)
    os.kill(running.pid, signal.SIGTERM)
    finished = running.wait(60)
    assert finished.status == 0 and "bye bye" in finished.stdout, repr(finished)
    summary = tools.json(running.file)["summary"]
    assert summary["complete"] and summary["lost_events"] == 0
    assert summary["allocations"] > 20_000


# ---- what is meant is recorded

ALLOCATES = "my @kept = map { 'x' x ($_ % 5000) } 1 .. 50000; print scalar(@kept)"


@pytest.fixture
def direct(tools):
    return allocations(tools.record("perl", "-e", ALLOCATES, name="direct"))


def allocations(recording):
    return recording.json()["summary"]["allocations"]


def close(one, other):
    return abs(one - other) <= 0.01 * other


@pytest.mark.parametrize("wrapper", [
    ["env", "A=b"], ["timeout", "90"], ["timeout", "-k", "90", "--signal=INT", "90"],
    ["timeout", "--kill-after", "90", "90"], ["nice", "-n", "1"], ["stdbuf", "-o0"],
    ["nohup"], ["setsid", "-w"], ["sh", "-c", 'exec "$@"', "sh"]])
def test_wrappers(tools, direct, wrapper):
    if not shutil.which(wrapper[0]):
        pytest.skip(f"{wrapper[0]} is not installed")
    recording = tools.record(*wrapper, "perl", "-e", ALLOCATES)
    assert recording.status == 0 and recording.stdout == "50000", repr(recording)
    assert close(allocations(recording), direct), (allocations(recording), direct)


def test_scripts(tools, direct, tmp_path):
    for name, text in (("by-env", f"#!/usr/bin/env perl\n{ALLOCATES}"),
                       ("by-path", f"#!{shutil.which('perl')}\n{ALLOCATES}")):
        script = tmp_path / name
        script.write_text(text)
        script.chmod(0o755)
        recording = tools.record(script, name=f"recording-{name}")
        assert recording.stdout == "50000", repr(recording)
        assert close(allocations(recording), direct), (allocations(recording), direct)


def test_a_file_without_a_first_line_is_a_shell_script(tools, tmp_path):
    script = tmp_path / "plain"
    script.write_text("echo $0 \"$@\"; exit 9\n")
    script.chmod(0o755)
    recording = tools.record(script, "a b", "c")
    assert recording.status == 9
    assert recording.stdout == f"{script} a b c\n"


def test_what_follows_the_program_is_the_programs(tools):
    recording = tools.record("perl", "-e", "print join '|', @ARGV", "--", "-o", "x", "--help")
    assert recording.stdout == "-o|x|--help", repr(recording)
    finished = tools.run(tools.heaptrack, "-q", "-o", recording.file, "--", "echo", "-h")
    assert finished.stdout == "-h\n"


@pytest.mark.quick
def test_descriptors_environment_and_folder_are_the_programs_own(tools, tmp_path):
    script = "ls -l /proc/self/fd | awk '{print $9}' | grep . | sort | tr '\\n' ' '; pwd; umask; " \
        "env | grep -v -e LD_PRELOAD -e HEAPTRACK_SEGMENT -e ASAN_OPTIONS | cut -d= -f1 | sort"
    alone = tools.run("sh", "-c", script, cwd=tmp_path)
    recording = tools.record("sh", "-c", script, cwd=tmp_path)
    assert recording.stdout == alone.stdout


def test_the_users_own_preload_is_kept(tools, tmp_path):
    source = tmp_path / "own.c"
    source.write_text("#include <unistd.h>\n__attribute__((constructor)) static void hello(void) "
                      "{ (void)!write(1, \"own \", 4); }\n")
    library = tmp_path / "own.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    recording = tools.record("perl", "-e", "print $ENV{LD_PRELOAD}", env={"LD_PRELOAD": str(library)},
                             options=["-q"])
    # heaptrack itself is started with it as well
    assert recording.stdout.count("own ") >= 1 and recording.stdout.endswith(f":{library}")
    assert recording.json()["summary"]["allocations"] > 0


def test_a_clock_of_the_program_is_not_asked(tools, tmp_path):
    """Another's clock_gettime may lie (libfaketime), or not work yet (sanitizers, while they begin)."""
    source = tmp_path / "clock.c"
    source.write_text("#include <stdlib.h>\nint clock_gettime(void) { abort(); }\n")
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", tmp_path / "clock.so", source], check=True)
    program = tmp_path / "program.c"
    program.write_text("#include <stdlib.h>\nvoid *volatile p;\n"
                       "int main(void) { for (int i = 0; i < 1000; i++) free(p = malloc(50)); return 4; }\n")
    subprocess.run(["gcc", "-Wl,--no-as-needed", "-o", tmp_path / "program", program,
                    tmp_path / "clock.so"], check=True)
    recording = tools.record(tmp_path / "program", options=["--exact-time"])
    assert recording.status == 4, repr(recording)
    assert recording.json()["summary"]["duration_ns"] > 0


@pytest.mark.quick
def test_stdin_and_stdout_pass_through(tools, tmp_path):
    data = os.urandom(3_000_000)
    (tmp_path / "in").write_bytes(data)
    with open(tmp_path / "in", "rb") as file:
        recording = tools.record("cat", stdin=file)
    assert recording.stdout_bytes == data


def test_children_are_counted_and_the_largest_named(tools):
    recording = tools.record("sh", "-c", "for i in 1 2 3; do perl -e 'my $x = \"y\" x 3e7; "
                             "select undef, undef, undef, 0.6' & done; wait")
    known = recording.json()
    assert known["quality"]["children_executed"] == 3
    assert "perl" in recording.stderr and "3 child processes were not recorded" in recording.stderr
    sizes = [child["peak_rss_bytes"] for child in known["children"] if child["name"] == "perl"]
    assert len(sizes) == 3 and min(sizes) > 30_000_000


def test_peak_rss_of_short_and_long_programs(tools):
    """Against what the program reads of itself at its end."""
    for seconds in (0, 0.7):
        recording = tools.record(
            "perl", "-e", f"my $x = 'y' x 5e7; select undef, undef, undef, {seconds};"
            "open F, '/proc/self/status'; print grep /VmHWM/, <F>", name=f"rss{seconds}")
        own = int(recording.stdout.split()[1]) << 10
        assert abs(recording.json()["summary"]["peak_rss_bytes"] - own) < 2 << 20


@pytest.mark.waits
@pytest.mark.parametrize("burst", ["", "for (1 .. 3e6) { $x[$_ % 1000] = 'x' x ($_ % 100) }"],
                         ids=["at-once", "after-a-burst"])
def test_idle_means_idle(tools, tmp_path, helpers, burst):
    """While the program sleeps, heaptrack wakes at most about twice per second. Also after events so fast
    that it slept by the clock, without a bell. It is idle some seconds later; on a busy machine, after more."""
    running = tools.start_record("perl", "-e", f"$| = 1; {burst}; print 'ready'; sleep 90")
    helpers.wait_until(lambda: Path(running.outputs[0].name).read_bytes() == b"ready", what="its sleep")
    time.sleep(4)

    def switches():
        total = 0
        for task in os.listdir(f"/proc/{running.pid}/task"):
            with open(f"/proc/{running.pid}/task/{task}/status") as file:
                total += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", file.read(), re.M)[1])
        return total

    def cpu_ticks():
        with open(f"/proc/{running.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    for left in range(5, -1, -1):
        before, ticks, began = switches(), cpu_ticks(), time.monotonic()
        time.sleep(5)
        seconds = time.monotonic() - began  # more, on a busy machine
        used = (switches() - before, cpu_ticks() - ticks)
        if used[0] <= 2 * seconds + 4 and used[1] <= 2:
            break
        assert left > 0 and os.getloadavg()[0] > os.cpu_count(), (used, seconds)
    os.kill(running.pid, signal.SIGTERM)
    running.wait()
