"""heaptrack --leaks: which blocks nothing points to when a program ends, held against programs that know it,
memcheck, and programs that have lost nothing.
"""

import collections
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import conftest

LOST = {"unreachable", "owned", "cycle"}
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4", "tcmalloc-minimal": "libtcmalloc_minimal.so.4",
              "mimalloc": "libmimalloc.so.2"}


def record(tools, *command, **more):
    run = tools.record(*command, options=("--leaks", "--force"), **more)
    assert run.status == 0, repr(run)
    return run


def graded(run):
    """Blocks by grade and the function that called malloc."""
    leaks = run.json()["leaks"]
    assert leaks["looks"], repr(run)
    blocks = collections.Counter()
    for site in leaks["sites"]:
        function = site["stack"][0]["function"] if site["stack"] else None
        blocks[site["grade"], function] += site["blocks"]
    by_grade = {row["grade"]: row["blocks"] for row in leaks["looks"][0]["grades"]}
    for grade in by_grade.keys() - {"held"}:
        assert by_grade[grade] == sum(n for (its, _), n in blocks.items() if its == grade)
    return blocks, leaks["looks"][0]


def lost_of(run):
    return {(grade, function): n for (grade, function), n in graded(run)[0].items() if grade in LOST}


# ---- a program that knows what it holds

TRUTH = {("unreachable", "lost"): 8, ("unreachable", "lost_owner"): 3, ("owned", "lost_owned"): 9,
         ("cycle", "lost_cycle"): 1, ("owned", "lost_cycle"): 2, ("unreachable", "lost_by_stale_frame"): 5}
MISSES = {("unreachable", "hidden_by_xor"): 1, ("unreachable", "hidden_by_shift"): 1}  # as in every such tool


def test_what_is_held_in_any_way_is_not_accused(tools):
    run = record(tools, tools.victim("holders"))
    blocks, look = graded(run)
    assert lost_of(run) == TRUTH | MISSES
    assert {function for (grade, function) in blocks if grade == "disguised"} == {
        "held_by_upper_tag", "held_by_unaligned", "held_by_epoll"}
    assert {function for (grade, function) in blocks if grade == "held_inside"} >= {
        "held_inside", "held_past_end", "held_by_lower_tag", "held_by_usual_offset"}
    assert look["at"] == "end" and sum(row["blocks"] for row in look["grades"]) == \
        run.json()["summary"]["never_freed_blocks"]


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_memory_of_other_allocators_holds_nothing(tools, allocator):
    """Their tables and caches are full of pointers to blocks."""
    library = LIBRARIES / ALLOCATORS[allocator]
    if not library.exists():
        pytest.skip(f"{library.name} is not installed")
    run = record(tools, "env", f"LD_PRELOAD={library}", tools.victim("holders"))
    its = re.compile("held|lost|hidden")
    assert {key: n for key, n in lost_of(run).items() if its.match(key[1])} == TRUTH | MISSES


# ---- memcheck's word

def memcheck(*command, cwd):
    log = cwd / "memcheck.log"
    subprocess.run(["valgrind", "--leak-check=full", f"--log-file={log}", *command], cwd=cwd, check=True, timeout=300,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = log.read_text()
    found = [re.search(rf"{word} lost: ([\d,]+) bytes in ([\d,]+) blocks", text) for word in ("definitely", "indirectly")]
    return [tuple(int(number.replace(",", "")) for number in m.groups()) if m else (0, 0) for m in found]


PROGRAMS = {
    "sort": ["sort", "numbers"],
    "tar": ["tar", "cf", "/dev/null", "numbers"],
    "perl": ["perl", "-e", "my %h; for (1..2000) { $h{$_} = [1, 2, $_] } print scalar keys %h"],
    "git": ["git", "--version"],
    "gdb": ["gdb", "-nx", "-batch", "-ex", "print 1"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a); insert into t values(1); select * from t"],
    "openssl": ["openssl", "version", "-a"],
    "jq": ["jq", "-n", "[range(1000)] | add"],
}


# glibc gives freed memory out again, and old pointers in what the new block does not use hold. So it is overwritten
OVERWRITE = {"gdb": {"GLIBC_TUNABLES": "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"}}


@pytest.mark.parametrize("name", PROGRAMS)
def test_memcheck_agrees_to_the_byte(tools, name):
    command = PROGRAMS[name]
    if not shutil.which(command[0]) or not shutil.which("valgrind"):
        pytest.skip(f"{command[0]} or valgrind is not installed")
    (tools.folder / "numbers").write_text("".join(f"{i * 7919 % 10007}\n" for i in range(10007)))
    run = record(tools, *command, cwd=tools.folder, env=OVERWRITE.get(name))
    leaks = run.json()["leaks"]
    of = {row["grade"]: (row["bytes"], row["blocks"]) for row in leaks["looks"][0]["grades"]}
    ours = [tuple(map(sum, zip(of["unreachable"], of["cycle"]))), of["owned"]]
    theirs = memcheck(*command, cwd=tools.folder)
    assert ours == theirs, repr(leaks["sites"])


# ---- programs that have lost nothing

HEALTHY = {
    "node": ["node", "-e", "const a = []; for (let i = 0; i < 3000; i++) a.push(Buffer.from('x'.repeat(i)));"
             "setTimeout(() => {}, 300)"],
    "workers": ["node", "-e", "const w = require('worker_threads');"
                "new w.Worker('setTimeout(() => {}, 200)', {eval: true}); setTimeout(() => {}, 100)"],
    "python": ["python3", "-c", "x = [{i: str(i) * 100} for i in range(3000)]"],
    "python-malloc": ["env", "PYTHONMALLOC=malloc", "python3", "-S", "-c", "x = [{i: str(i)} for i in range(3000)]"],
    "clang": ["clang", "-fsyntax-only", "-w", "program.cpp"],
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_programs_are_not_accused(tools, name):
    command = HEALTHY[name]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    (tools.folder / "program.cpp").write_text("#include <map>\n#include <string>\nint main() { std::map<int, std::string> m; }")
    run = record(tools, *command, cwd=tools.folder)
    assert lost_of(run) == {}, repr(run)


def test_a_server_under_load_is_not_accused(tools):
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        pytest.skip("redis is not installed")
    socket = tools.folder / "redis.sock"
    server = tools.start_record("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", options=("--leaks",))
    conftest.wait_until(lambda: conftest.listens(socket), what="the server")
    subprocess.run(["redis-benchmark", "-s", socket, "-n", "20000", "-r", "20000", "-q", "-t", "set,lpush,hset"],
                   check=True, timeout=120, stdout=subprocess.DEVNULL)
    subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=True, timeout=60)
    run = conftest.Recording(server.wait(), tools.folder / "recording.zst", tools)
    assert lost_of(run) == {}


THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { SLOTS = 64 };
static void *_Atomic slots[SLOTS];
/* Blocks are handed over all the time, and freed by who gets them. */
static void *work(void *seed) {
	unsigned state = (unsigned)(long)seed;
	for (;;) {
		state = state * 1103515245 + 12345;
		void **block = malloc(16 + (state >> 20) % 300);
		*block = malloc(24);
		void **old = __atomic_exchange_n(&slots[(state >> 8) % SLOTS], block, __ATOMIC_ACQ_REL);
		if (old) {
			free(*old);
			free(old);
		}
		if ((state >> 16) % 8 == 0) {
			void **moved = __atomic_exchange_n(&slots[state % SLOTS], NULL, __ATOMIC_ACQ_REL);
			if (moved) {
				void *inner = *moved;
				moved = realloc(moved, 500);
				*moved = inner;
				free(*moved);
				free(moved);
			}
		}
	}
	return seed;
}
int main(int argc, char **argv) {
	pthread_t thread;
	for (long i = 0; i < atoi(argv[1]); i++) {
		pthread_create(&thread, NULL, work, (void *)(i * 7919 + 1));
	}
	usleep(atoi(argv[2]));
	return 0;
}
"""


def test_threads_that_go_on_are_not_accused(tools, is_long):
    """At the end they are stopped anywhere but within malloc."""
    (tools.folder / "threads.c").write_text(THREADS)
    subprocess.run(["gcc", "-O1", "-g", "-o", tools.folder / "threads", tools.folder / "threads.c", "-pthread"],
                   check=True, timeout=60)
    for i in range(200 if is_long else 10):
        run = record(tools, tools.folder / "threads", str(2 + i % 5 * 4), str(20000 + i % 7 * 1000))
        assert lost_of(run) == {}, repr(run)


# ---- before exit handlers are called

@pytest.mark.parametrize("how", ["return", "exit"])
def test_a_look_before_exit_handlers(tools, how):
    """What a handler lets go of is held then, and what main's locals hold if main itself calls exit."""
    (tools.folder / "leave.c").write_text("""
        #include <stdlib.h>
        #include <string.h>
        static void *volatile kept;
        static void drop(void) { kept = NULL; }
        __attribute__((noinline)) static void *keep(void) { kept = malloc(222); return malloc(111); }
        __attribute__((noinline)) static void lose(void) { char *p = malloc(333); __asm__ volatile("" :: "r"(p) : "memory"); }
        __attribute__((noinline)) static void clear(void) { volatile char a[8192]; memset((char *)a, 0, sizeof a); }
        int main(int argc, char **argv) {
            atexit(drop);
            void *volatile local = keep();
            lose();
            clear();
            if (argc > 1) { exit(0); }
            return local == NULL;
        }
    """)
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", tools.folder / "leave", tools.folder / "leave.c"], check=True, timeout=60)
    arguments = ["now"] if how == "exit" else []

    def lost_bytes(*options):
        run = tools.record(tools.folder / "leave", *arguments, options=(*options, "--force"))
        is_early = options == ("--leaks=before-exit",)
        assert graded(run)[1]["at"] == ("request" if is_early else "end"), repr(run)
        assert ("just before the end" in run.report("--full")) <= (not is_early), run.report("--full")
        return sorted(site["bytes"] for site in run.json()["leaks"]["sites"] if site["grade"] in LOST)
    late = lost_bytes("--leaks")
    assert {222, 333} <= set(late), late
    assert lost_bytes("--leaks=before-exit") == ([333] if how == "exit" else [111, 333])


def test_before_exit_is_for_programs_that_are_started(tools):
    for options in (["--leaks=after", "true"], ["--leaks=before-exit", "-p", "1"]):
        run = tools.run(tools.build / "heaptrack", *options)
        assert run.status == 1 and "before-exit" in run.stderr, repr(run)


# ---- what is said

def test_what_is_suppressed_is_no_accusation_and_not_kept_silent(tools):
    """Where no site is told of, because all are suppressed, the finding says so in words."""
    (tools.folder / "lost.c").write_text("""
        #include <stdlib.h>
        #include <string.h>
        __attribute__((noinline)) static void lose(int i) { char *p = malloc(1000 + i); __asm__ volatile("" :: "r"(p) : "memory"); }
        __attribute__((noinline)) static void clear(void) { volatile char a[4096]; memset((char *)a, 0, sizeof a); }
        int main(void) { for (int i = 0; i < 50; i++) { lose(i); } clear(); return 0; }
    """)
    subprocess.run(["gcc", "-O1", "-g", "-o", tools.folder / "lost", tools.folder / "lost.c"], check=True, timeout=60)
    run = record(tools, tools.folder / "lost")
    rules = tools.folder / "rules.txt"

    def sentences(rule):
        rules.write_text(f"leak:{rule}\n")
        return [f["text"] for f in run.json("--suppressions", str(rules))["findings"] if f["id"] == "unreachable"]
    assert re.fullmatch(r"lose lost\.c:\d+ <- main: 50 blocks \(51\.2 kB\) that nothing points to\.", *sentences("nobody"))
    assert sentences("lose") == ["50 unreachable blocks (51.2 kB) are suppressed."]
    tools.print(run.file, "--fail-if", "unreachable>0", status=3)
    tools.print(run.file, "--fail-if", "unreachable>0", "--suppressions", str(rules))


def test_stacks_of_several_threads_are_told_apart(tools):
    """Both threads allocate on one path first, which is one stack of all threads in the lists of sites."""
    (tools.folder / "both.c").write_text("""
        #include <pthread.h>
        #include <stdlib.h>
        #include <string.h>
        static void *kept[2];
        __attribute__((noinline)) static void keep(int i) { kept[i] = malloc(10 + i); }
        __attribute__((noinline)) static void lose_one(void) { char *p = malloc(100); __asm__ volatile("" :: "r"(p) : "memory"); }
        __attribute__((noinline)) static void lose_two(void) { char *p = malloc(200); __asm__ volatile("" :: "r"(p) : "memory"); }
        __attribute__((noinline)) static void clear(void) { volatile char a[4096]; memset((char *)a, 0, sizeof a); }
        static void *work(void *arg) { int i = (int)(long)arg; keep(i); for (int k = 0; k < 9; k++) { if (i) lose_two(); else lose_one(); } clear(); return NULL; }
        int main(void) {
            for (long i = 0; i < 2; i++) { pthread_t t; pthread_create(&t, NULL, work, (void *)i); pthread_join(t, NULL); }
            clear();
            return 0;
        }
    """)
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-o", tools.folder / "both", tools.folder / "both.c"], check=True, timeout=60)
    lost = lost_of(record(tools, tools.folder / "both"))
    assert set(lost) == {("unreachable", "lose_one"), ("unreachable", "lose_two")} and min(lost.values()) >= 7, lost


def test_sites_are_named(tools):
    run = record(tools, tools.victim("holders"))
    report = " ".join(run.report().split())
    assert re.search(r"unreachable lost_owner holders\.c:\d+ <- lose: 3 blocks \(600 B\) that nothing points to, and 9 "
                     r"blocks \(1\.8 kB\) that only they lead to\.", report), report
    assert re.search(r"unreachable lost holders\.c:\d+ <- lose: 8 blocks \(1\.6 kB\) that nothing points to\.", report), report
    listed = tools.print(run.file, "--unreachable").stdout
    assert "unreachable: 6.0 kB in 30 blocks" in listed and re.search(r"1\.8K\s+\d+\s+9\s+lost_owned", listed), listed
    assert listed == tools.print(run.file, "--by", "site", "--lens", "m=unreachable").stdout
    assert "main" in tools.print(run.file, "--tree", "--lens", "m=unreachable").stdout


def test_gates(tools):
    run = record(tools, tools.victim("holders"))
    assert "unreachable>0: unreachable are 6.0 kB" in tools.print(run.file, "--fail-if", "unreachable>0", status=3).stdout
    assert "unreachable-blocks>29: unreachable blocks: 30" in tools.print(run.file, "--fail-if", "unreachable-blocks>29", status=3).stdout
    tools.print(run.file, "--fail-if", "unreachable-blocks>30")
    plain = tools.record(tools.victim("holders"), options=("--force",))
    assert "does not contain this figure" in tools.print(plain.file, "--fail-if", "unreachable>0", status=3).stdout


def test_one_block_is_said_to_be_one(tools):
    (tools.folder / "one.c").write_text("#include <stdlib.h>\nstatic void *volatile kept;\nint main(void) { kept = malloc(9); return 0; }\n")
    subprocess.run(["gcc", "-O1", "-g", "-o", tools.folder / "one", tools.folder / "one.c"], check=True, timeout=60)
    report = record(tools, tools.folder / "one").report()
    assert "a pointer was found to the only block that was live just before the end." in report, report


def test_nothing_lost_is_said_with_its_number(tools):
    run = record(tools, "sqlite3", ":memory:", "select 1") if shutil.which("sqlite3") else pytest.skip("no sqlite3")
    n = run.json()["summary"]["never_freed_blocks"]
    sentence = f"a pointer was found to each of the {n} blocks that were live just before the end"
    assert sentence in run.report() and sentence in " ".join(run.stderr.split()), repr(run)


def test_who_did_not_look_says_so(tools):
    run = tools.record(tools.victim("holders"), options=("--force",))
    assert run.json()["leaks"]["looks"] == [] and "unreachable" not in run.report()
    why = tools.run(tools.build / "heaptrack_print", "--unreachable", run.file)
    assert why.status == 1 and "record with heaptrack --leaks" in why.stderr, repr(why)


@pytest.mark.parametrize("how", ["kill -9 $$", "exec /usr/bin/python3 -S -c 'import ctypes; ctypes.CDLL(None).syscall(231, 0)'"])
def test_programs_that_do_not_wait_are_said(tools, how):
    run = tools.record("sh", "-c", how, options=("--leaks", "--force"))
    assert "what points to live blocks is not known: the program ended without waiting" in run.stderr, repr(run)
    assert run.json()["leaks"]["looks"] == []


@pytest.mark.parametrize("options", [("--leaks", "--no-memory", "true"), ("--leaks-every", "1s", "--look", "1")])
def test_what_does_not_go_together_is_refused(tools, options):
    run = tools.run(tools.build / "heaptrack", *options)
    assert run.status == 1 and "--leaks" in run.stderr, repr(run)


# ---- nothing is harmed

def test_no_content_is_kept(tools):
    secret = os.urandom(32).hex()
    run = record(tools, "perl", "-e", "my %h; $h{$_} = $ARGV[0] . $_ for 1..1000; $h{me} = \\%h", secret)
    assert run.json()["leaks"]["looks"]
    content = subprocess.run(["zstd", "-dc", run.file], capture_output=True, check=True, timeout=60).stdout
    assert content.count(secret.encode()) == 1  # the argument
    assert content.replace(secret.encode(), b"", 1).find(secret[:32].encode()) < 0


MANY = r"""
#include <stdlib.h>
#include <unistd.h>
int main(void) {
	void **last = NULL;
	usleep(300000);
	for (int i = 0; i < 400000; i++) {
		void **block = malloc(40);
		*block = last;
		last = block;
	}
	static void **first;
	first = last;
	return 7;
}
"""


@pytest.mark.parametrize("whom", ["heaptrack", "reader"])
def test_a_killed_collector_or_reader_lets_the_program_end(tools, whom, is_long):
    (tools.folder / "many.c").write_text(MANY)
    subprocess.run(["gcc", "-O1", "-o", tools.folder / "many", tools.folder / "many.c"], check=True, timeout=60)
    for i in range(100 if is_long else 4):
        started = tools.start_record(tools.folder / "many", options=("--leaks", "--force"))
        program = started.program()
        pidfd = os.pidfd_open(program)
        time.sleep(0.2 + i * (0.01 if is_long else 0.25) % 1)
        for child in below(started.pid) if whom == "reader" else [started.pid]:
            if child != program:
                try:
                    os.kill(child, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        begin = time.monotonic()
        conftest.wait_until(lambda: has_ended(pidfd), what="the program's end")
        assert time.monotonic() - begin < 60
        os.close(pidfd)
        done = started.wait()
        assert whom == "heaptrack" or done.status == 7, repr(done)
        recording = tools.folder / "recording.zst"
        assert tools.run(tools.build / "heaptrack_print", "--json", recording).status == 0


def stop_the_reader(started, program):
    """Let the child of heaptrack that comes last stand still for a second. False: it was too quick."""
    before = set(below(started.pid)) | {program}
    while started.process.poll() is None:
        try:
            for reader in set(below(started.pid)) - before:
                os.kill(reader, signal.SIGSTOP)
                time.sleep(1)
                os.kill(reader, signal.SIGCONT)
                return True
        except OSError:
            return False
        time.sleep(0.0005)
    return False


def test_the_wait_for_the_reader_is_no_time_of_the_program(tools):
    (tools.folder / "many.c").write_text(MANY)
    subprocess.run(["gcc", "-O1", "-o", tools.folder / "many", tools.folder / "many.c"], check=True, timeout=60)
    for _ in range(20):
        started = tools.start_record(tools.folder / "many", options=("--leaks", "--force"))
        is_stopped = stop_the_reader(started, started.program())
        assert started.wait().status == 7
        if is_stopped:
            break
    assert is_stopped
    document = tools.json(tools.folder / "recording.zst")
    assert 0 <= document["summary"]["duration_ns"] - document["leaks"]["looks"][0]["time_ns"] < 800_000_000


def below(pid):
    children = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            children += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            pass
    return children


def has_ended(pidfd):
    import select
    return bool(select.select([pidfd], [], [], 0)[0])


BESIDE = """
#include <stdlib.h>
static void *kept[100];
__attribute__((noinline)) static void make(int i) {
	kept[i] = malloc(100000);
	void *volatile lost = malloc(3000);
	lost = NULL;
}
int main(void) {
	for (int i = 0; i < 100; i++) { make(i); }
	return kept[0] == NULL;
}
"""


@pytest.mark.parametrize("form", ["-g", "-s"])
def test_the_place_is_that_of_what_is_lost(tools, tmp_path, form):
    """Not that of what the same function holds, though that be more."""
    (tmp_path / "beside.c").write_text(BESIDE)
    subprocess.run(["gcc", form, "-O0", "-o", tmp_path / "beside", tmp_path / "beside.c"], check=True)
    recording = tools.record(tmp_path / "beside", options=("--leaks", "--force"))
    told, = [one["text"] for one in recording.json()["findings"] if one["id"] == "unreachable"]
    named = "make beside.c:6" if form == "-g" else "(100 % at beside+0x"
    assert named in told and "100 blocks (300.0 kB) that nothing points to" in told, told
