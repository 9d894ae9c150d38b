"""--leaks while a program runs: on request, every TIME, at a detach. Against programs that know what they have
lost, and servers that have lost nothing; and nothing is harmed, whoever is killed.
"""

import json
import os
import random
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "referee"))

import conftest
import referee
import test_leaks
from control_groups import control_group

INCLUDE = Path(__file__).resolve().parents[2] / "include"
LOST = {"unreachable", "owned", "cycle"}

# Reads lines: "hold N", "lose N" (each leads to another), "mask", "sandbox", "fill N" (MB), "drop" what was filled
# last, "write" to what was filled first all the time, "end"
SERVER = r"""
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <linux/filter.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *volatile kept[100000];
static int n_kept;
__attribute__((noinline)) static void hold(int n) {
	while (n-- > 0) {
		kept[n_kept++] = malloc(100);
	}
}
__attribute__((noinline)) static void lose(int n) {
	while (n-- > 0) {
		void *volatile *block = malloc(200);
		block[0] = malloc(50);
		block = NULL;
	}
}
__attribute__((noinline)) static void scrub(void) {
	volatile char stack[16384];
	for (size_t i = 0; i < sizeof stack; i++) {
		stack[i] = 0;
	}
}
static void leave_out(void) {
	char *out = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(void **)out = malloc(77);
	madvise(out, 8192, MADV_DONTFORK);
}
static void confine(void) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
static char *filled[200];
static size_t bytes[200];
static int n_filled;
static void fill(long mb) {
	char *all = mmap(NULL, mb << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(all, 1, mb << 20);
	filled[n_filled] = all;
	bytes[n_filled++] = mb << 20;
}
static void drop(void) {
	n_filled--;
	munmap(filled[n_filled], bytes[n_filled]);
}
static void *write_always(void *unused) {
	for (char value = 0;; value++) {
		for (size_t i = 0; i < bytes[0]; i += 4096) {
			((volatile char *)filled[0])[i] = value;
		}
	}
	return unused;
}
static void write_to_it(void) {
	pthread_t thread;
	pthread_create(&thread, NULL, write_always, NULL);
}
int main(void) {
	static char line[64];
	setvbuf(stdin, NULL, _IONBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		long n = atol(line + 4);
		switch (*line) {
		case 'h': hold(n); break;
		case 'l': lose(n); break;
		case 'm': leave_out(); break;
		case 's': confine(); break;
		case 'f': fill(n); break;
		case 'd': drop(); break;
		case 'w': write_to_it(); break;
		case 'e': return 3;
		}
		scrub();
		write(1, "ok\n", 3);
	}
	return 4;
}
"""


def compile_c(tools, name, text, *options):
    source = tools.folder / f"{name}.c"
    source.write_text(text)
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", tools.folder / name, source, "-pthread", *options],
                   check=True, timeout=60)
    return tools.folder / name


class Server:
    """The program above: by itself, or recorded."""

    def __init__(self, tools, options=("--leaks",), heaptrack=True, before=(), **more):
        program = compile_c(tools, "server", SERVER)
        command = [*before, tools.heaptrack, "-f", "-o", tools.folder / "server.zst", *options] if heaptrack else []
        self.process = subprocess.Popen([*command, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=(tools.folder / "server.err").open("w"), **more)
        self.tools, self.pid = tools, self.process.pid
        if heaptrack:
            self.pid = conftest.wait_until(lambda: next((child for child in below(self.process.pid)
                                                         if name_of(child) == "server"), None), what="the program")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in (self.process.pid, self.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def do(self, *lines):
        for line in lines:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
            assert self.process.stdout.readline() == b"ok\n", self.said()

    def end(self):
        self.process.stdin.write(b"end\n")
        self.process.stdin.flush()
        return self.process.wait(timeout=60)

    def said(self):
        return (self.tools.folder / "server.err").read_text()

    def known(self):
        return self.tools.json(self.tools.folder / "server.zst")


def below(pid):
    children = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children += [int(child) for child in task.read_text().split()]
        except OSError:
            pass
    return children


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return None


def look(tools, pid):
    finished = tools.run(tools.heaptrack, "--ctl", pid, "look", "--json")
    assert finished.status == 0, repr(finished)
    return json.loads(finished.stdout)


def blocks_of(answer):
    assert "grades" in answer, answer.get("ungraded", answer)
    return {row["grade"]: row["blocks"] for row in answer["grades"]}


def lost_of(answer):
    return sum(n for grade, n in blocks_of(answer).items() if grade in LOST)


# ---- what was lost is found, when it was lost

def test_looks_on_request_find_what_is_lost_until_then(tools):
    with Server(tools) as server:
        server.do("hold 500")
        assert lost_of(look(tools, server.pid)) == 0
        text = tools.run(tools.heaptrack, "--ctl", server.pid, "look").stdout
        assert re.search(r"no unreachable block was found; stopped for [\d.]+ [mµu]?s", text), text
        server.do("lose 20")
        blocks = blocks_of(look(tools, server.pid))
        assert (blocks["unreachable"], blocks["owned"]) == (20, 20) and blocks["held"] >= 500, blocks
        server.do("lose 5", "hold 10")
        text = tools.run(tools.heaptrack, "--ctl", server.pid, "look").stdout
        assert re.search(r"unreachable: 50 live blocks \(6\.2 kB\); stopped for [\d.]+ [mµu]?s", text), text
        conftest.wait_until(lambda: (known := graded_look(tools, "request")) and known["grades"]["unreachable"] == 25,
                            what="a checkpoint after the last look")
        assert server.end() == 3
    known = graded_look(tools, "end")
    assert (known["grades"]["unreachable"], known["grades"]["owned"]) == (25, 25), known
    sites = {site["stack"][0]["function"] for site in server.known()["leaks"]["sites"] if site["grade"] in LOST}
    assert sites == {"lose"}


def graded_look(tools, at):
    leaks = tools.json(tools.folder / "server.zst")["leaks"]["looks"]
    if not leaks or leaks[0]["at"] != at:
        return None
    return {"grades": {row["grade"]: row["blocks"] for row in leaks[0]["grades"]}, "time_ns": leaks[0]["time_ns"]}


def test_looks_every_so_often(tools):
    with Server(tools, ("--leaks-every", "200ms")) as server:
        server.do("lose 7")
        first = conftest.wait_until(lambda: graded_look(tools, "request"), what="a look")
        assert first["grades"]["unreachable"] == 7, first
        conftest.wait_until(lambda: graded_look(tools, "request")["time_ns"] > first["time_ns"], what="another look")
        assert server.end() == 3
        looks = server.known()["memory"]["looks"]
    assert 2 <= sum(row["at"] == "request" for row in looks) <= 16, looks


ENDS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
static struct entry { struct entry *next; void *value; } *entries;
__attribute__((noinline)) static void *make(void) { return malloc(300); }
static void forget(void) {
	while (entries) {
		struct entry *next = entries->next;
		free(entries);
		entries = next;
	}
}
int main(int argc, char **argv) {
	atexit(forget);
	for (int i = 0; i < 500; i++) {
		struct entry *e = malloc(sizeof *e);
		*e = (struct entry){entries, make()};
		entries = e;
	}
	creat(argv[argc - 1], 0600);
	getchar();
	return 0;
}
"""


def test_what_exit_handlers_leave_behind_was_held_before(tools, build):
    """An owner that is freed at the end loses what it held, as every tool has it: what was held until then is told."""
    ready = tools.folder / "ready"
    running = tools.start_record(compile_c(tools, "ends", ENDS), ready, options=("--leaks", "--events", "--force"), stdin=subprocess.PIPE)
    conftest.wait_until(lambda: ready.exists() and tools.run(tools.heaptrack, "--ctl", running.program()).status == 0,
                        what="the program, and heaptrack's answers")
    answer = look(tools, running.program())
    assert lost_of(answer) == 0, answer
    running.process.stdin.close()
    finished = running.wait()
    assert finished.status == 0, repr(finished)
    said = [f["text"] for f in tools.json(running.file)["findings"] if f["id"] == "unreachable"]
    assert re.fullmatch(r"make ends\.c:6 <- main: 500 blocks \(150\.0 kB\) that nothing points to; at .+ a pointer was found to "
                        r"each of its 500 blocks\.", said[0]), said
    assert referee.Referee(running.file, build).judge() == []


def test_a_recording_without_leaks_is_looked_at_plainly(tools):
    with Server(tools, ()) as server:
        server.do("lose 7")
        answer = look(tools, server.pid)
        assert answer["parts"] and not {"grades", "ungraded", "pause_ns"} & answer.keys()


def test_a_look_at_the_detach(tools):
    with Server(tools, heaptrack=False) as server:
        server.do("hold 1000", "lose 50")
        running = tools.start(tools.heaptrack, "-f", "-o", tools.folder / "server.zst", "--leaks", "-p", server.pid)
        running.wait_for_attach()
        server.do("hold 300", "lose 11")
        assert lost_of(look(tools, server.pid)) == 100 + 22  # also what was lost before
        os.kill(running.pid, signal.SIGINT)
        finished = running.wait()
        assert finished.status == 0, repr(finished)
        known = graded_look(tools, "detach")
        assert (known["grades"]["unreachable"], known["grades"]["owned"]) == (50 + 11, 50 + 11), repr(finished)
        server.do("hold 1")  # it lives
        assert server.end() == 3


ASKS = r"""
#include "heaptrack_api.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile kept[64];
__attribute__((noinline)) static void lose(int bytes) { char *p = malloc(bytes); __asm__ volatile("" :: "r"(p) : "memory"); }
__attribute__((noinline)) static void clear(void) { volatile char a[8192]; memset((char *)a, 0, sizeof a); }
static void *ask(void *unused) {
	for (int i = 0; i < 3; i++) {
		heaptrack_report_look("together");
	}
	return unused;
}
int main(void) {
	pthread_t threads[4];
	for (int i = 0; i < 4; i++) {
		pthread_create(&threads[i], NULL, ask, NULL);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
	}
	kept[0] = malloc(222);
	lose(333);
	clear();
	heaptrack_report_look("now");
	lose(444);
	kept[0] = NULL;
	clear();
	kill(getpid(), SIGKILL);
}
"""


def test_a_program_can_ask(tools):
    """Its looks are of the moment of the call: what it does afterwards is not in them."""
    program = compile_c(tools, "asks", ASKS, f"-I{INCLUDE}")
    for options in (("--leaks",), ()):
        run = tools.record(program, options=(*options, "--force"))
        known = run.json()
        assert [mark["name"] for mark in known["marks"]] == ["together"] * 12 + ["now"], repr(run)
        newest = known["memory"]["looks"][-1]
        assert newest["at"] == "request" and newest["time_ns"] >= known["marks"][-1]["time_ns"], newest
        looks = known["leaks"]["looks"]
        assert bool(looks) == bool(options) and len(looks) <= 13, looks
        assert not looks or {row["grade"]: row["bytes"] for row in looks[0]["grades"]}["unreachable"] == 333, looks


# ---- what has lost nothing is not accused

def test_a_server_under_load_is_not_accused(tools, is_long):
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        pytest.skip("redis is not installed")
    socket = tools.folder / "redis.sock"
    server = tools.start_record("redis-server", "--port", "0", "--unixsocket", socket, "--save", "", options=("--leaks",))
    conftest.wait_until(lambda: conftest.listens(socket), what="the server")
    load = ["redis-benchmark", "-s", socket, "-r", "100000", "-q", "-t", "set,lpush,hset"]
    subprocess.run([*load, "-n", "100000", "-P", "16"], check=True, timeout=120, stdout=subprocess.DEVNULL)
    busy = subprocess.Popen([*load, "-l", "-n", "20000"], stdout=subprocess.DEVNULL)
    try:
        for _ in range(100 if is_long else 10):
            answer = look(tools, server.program())
            assert lost_of(answer) == 0 and blocks_of(answer)["held"] > 100000, answer
    finally:
        busy.kill()
        busy.wait()
    os.kill(server.program(), signal.SIGTERM)
    server.wait()


def test_node_under_load_is_not_accused(tools, is_long):
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    server = tools.start_record(
        "node", "-e", "let kept = []; const http = require('http');"
        "const s = http.createServer((q, r) => { kept.push(Buffer.alloc(5000)); kept = kept.slice(-500); r.end('x'); });"
        "s.listen(0, () => { const get = () => http.get({port: s.address().port}, r => { r.resume(); r.on('end', get); });"
        "for (let i = 0; i < 20; i++) get(); });", options=("--leaks",))
    time.sleep(1)
    for _ in range(100 if is_long else 10):
        assert lost_of(look(tools, server.program())) == 0
    os.kill(server.program(), signal.SIGTERM)
    server.wait()


# 512 blocks of 64 KiB live for ever, and each leads to another one. Threads take them and their inner ones away,
# keep them in registers and frames for a moment, and put them elsewhere; meanwhile they allocate and free
HANDS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
enum { BLOCKS = 512, BYTES = 65536 };
static void *_Atomic slots[2 * BLOCKS];
static unsigned next(unsigned *state) {
	*state = *state * 1103515245 + 12345;
	return *state >> 8;
}
static void *take(unsigned *state) {
	void *block = NULL;
	while (!block) {
		block = __atomic_exchange_n(&slots[next(state) % (2 * BLOCKS)], NULL, __ATOMIC_ACQ_REL);
	}
	return block;
}
static void put(unsigned *state, void *block) {
	void *empty = NULL;
	while (!__atomic_compare_exchange_n(&slots[next(state) % (2 * BLOCKS)], &empty, block, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		empty = NULL;
	}
}
static void *work(void *seed) {
	unsigned state = (unsigned)(long)seed;
	for (;;) {
		void **one = take(&state), **other = take(&state);
		void **briefly = malloc(next(&state) % 100 + 8);
		*briefly = malloc(40);
		void *inner = *one;
		*one = *other;
		*other = inner;
		free(*briefly);
		free(briefly);
		put(&state, one);
		put(&state, other);
	}
	return seed;
}
int main(int argc, char **argv) {
	pthread_t thread;
	for (long i = 0; i < BLOCKS; i++) {
		void **block = malloc(BYTES);
		*block = malloc(BYTES);
		slots[i] = block;
	}
	for (long i = 0; i < atoi(argv[1]); i++) {
		pthread_create(&thread, NULL, work, (void *)(i * 7919 + 1));
	}
	write(1, "ok\n", 3);
	pause();
	return 0;
}
"""


def test_no_block_falls_through_the_cut(tools, is_long):
    """Blocks that live before and after a look are in it, each once, and held; so are those that live briefly."""
    program = compile_c(tools, "hands", HANDS)
    running = tools.start_record(program, "64", options=("--leaks", "--force"))
    conftest.wait_until(lambda: running.finished(0).stdout == "ok\n", what="its blocks and threads")
    took_s, pauses_ms, n_late = [], [], 0
    while len(took_s) < (1000 if is_long else 20):
        conftest.goes_on()  # beside 64 busy threads a look takes what the machine leaves it
        before = time.monotonic()
        finished = tools.run(tools.heaptrack, "--ctl", running.program(), "look", "--json")
        if "no answer within" in finished.stderr and n_late <= len(took_s) / 20:
            n_late += 1
            continue
        answer = json.loads(finished.stdout)
        took_s.append(time.monotonic() - before)
        assert lost_of(answer) == 0, answer
        rest = sum(row["bytes"] for row in answer["grades"]) - 2 * 512 * 65536
        assert 0 <= rest < 65536, answer
        pauses_ms.append(answer["pause_ns"] / 1e6)
        time.sleep(0.1)
    print(f"{len(took_s)} looks, {n_late} more too late: {statistics.median(took_s):.2f} s each, {max(took_s):.2f} s at most, stopped for "
          f"{statistics.median(pauses_ms):.0f} ms, {max(pauses_ms):.0f} ms at most, load {os.getloadavg()[0]:.0f}")
    status = status_of(tools, running.program())
    assert status["lost_events"] == 0, status
    os.kill(running.program(), signal.SIGKILL)
    running.wait()


def status_of(tools, pid):
    finished = tools.run(tools.heaptrack, "--ctl", pid, "status", "--json", timeout=90)
    assert finished.status == 0, repr(finished)
    return json.loads(finished.stdout)


def test_threads_that_hand_blocks_over_are_not_accused(tools, is_long):
    program = compile_c(tools, "threads", test_leaks.THREADS)
    running = tools.start_record(program, "64", "600000000", options=("--leaks", "--force"))
    time.sleep(0.5)
    for _ in range(100 if is_long else 10):
        answer = look(tools, running.program())
        assert lost_of(answer) == 0, answer
    os.kill(running.program(), signal.SIGKILL)
    running.wait()


# ---- what it costs

# A tree of blocks, each with some pointers to any of them besides; a thread allocates and frees all the time
DENSE = r"""
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static void **all, ***ways;
static void *churn(void *unused) {
	for (;;) {
		free(malloc(50));
		usleep(10);
	}
	return unused;
}
int main(int argc, char **argv) {
	size_t n = atol(argv[1]), bytes = atol(argv[2]);
	int n_any = atoi(argv[3]);
	unsigned long state = 1;
	all = calloc(1, sizeof *all);
	ways = malloc(n * sizeof *ways);
	for (size_t i = 0; i < n; i++) {
		ways[i] = calloc(1, bytes);
		for (int k = 0; k < n_any; k++) {
			state = state * 6364136223846793005ul + 1442695040888963407ul;
			ways[i][k] = i > 0 ? ways[(state >> 33) % i] : NULL;
		}
	}
	for (size_t i = 1; i < n; i++) {
		ways[(i - 1) / 2][n_any + i % 2] = ways[i];
	}
	all[0] = ways[0];
	free(ways);
	pthread_t thread;
	pthread_create(&thread, NULL, churn, NULL);
	write(1, "ok\n", 3);
	pause();
	return 0;
}
"""


def watch_scanner(collector, program, asker):
    """CPU seconds, wall seconds and MB of its own memory of the scanner that a look starts. None: it was gone before it was
    seen."""
    ticks, began, first, most = 0, None, 0, 0
    while asker.poll() is None:
        scanner = victims(collector, program).get("scanner")
        try:
            fields = Path(f"/proc/{scanner}/stat").read_text().rsplit(") ", 1)[1].split()
            ticks = max(ticks, int(fields[11]) + int(fields[12]))
            rss = int(re.search(r"^RssAnon:\s+(\d+)", Path(f"/proc/{scanner}/status").read_text(), re.M).group(1))
            if not began:
                began, first = time.monotonic(), rss
            most = max(most, rss - first)
        except (OSError, AttributeError):
            pass
        time.sleep(0.005)
    return began and (ticks / os.sysconf("SC_CLK_TCK"), time.monotonic() - began, most / 1000)


@pytest.mark.parametrize("n, n_long, size, n_any", [(300000, 5000000, 64, 0), (200000, 1000000, 200, 7)], ids=["trees", "dense"])
def test_what_a_look_costs(tools, is_long, n, n_long, size, n_any):
    """Events are recorded meanwhile. In the long form, on an idle machine, five million blocks of trees take 15 s and 1 GB
    at most. For how long the program stands still: bench/looks."""
    n = n_long if is_long else n
    program = compile_c(tools, "dense", DENSE)
    running = tools.start_record(program, n, size, n_any, options=("--leaks", "--force"))
    pid = running.program()
    conftest.wait_until(lambda: name_of(pid) == "dense" and len(list(Path(f"/proc/{pid}/task").iterdir())) == 2, timeout=300,
                        what="its blocks")
    n_seen = 0
    while n_seen < 3:
        before = status_of(tools, pid)["events"]
        asker = subprocess.Popen([tools.heaptrack, "--ctl", str(pid), "look", "--json"], stdout=subprocess.PIPE)
        seen = watch_scanner(running.pid, pid, asker)
        answer = json.loads(asker.communicate()[0])
        assert lost_of(answer) == 0 and blocks_of(answer)["held"] >= n, answer
        if not seen:
            continue
        n_seen += 1
        cpu_s, wall_s, megabytes = seen
        after = status_of(tools, pid)
        assert after["lost_events"] == 0 and after["events"] > before + 1000 * wall_s, (before, after, wall_s)
        gigabytes = n * (size + 8) / 1e9
        print(f"{n} blocks, {gigabytes:.2f} GB: {cpu_s:.2f} s of CPU, {wall_s:.2f} s, {gigabytes / max(cpu_s, 0.01):.2f} GB/s of a core, "
              f"{megabytes:.0f} MB, stopped for {answer['pause_ns'] / 1e6:.1f} ms, load {os.getloadavg()[0]:.1f}")
    assert cpu_s < 60 * n / 1e6 and megabytes < 500 * n / 1e6 + 100, (cpu_s, megabytes)
    if is_long and os.getloadavg()[0] < 1:
        assert wall_s <= 15 and megabytes <= 1000, (wall_s, megabytes)
    os.kill(pid, signal.SIGKILL)
    running.wait()


# ---- nothing is harmed

def test_what_stays_out_of_copies_is_read_and_stays_out(tools):
    with Server(tools) as server:
        server.do("mask")
        flags = left_out(server.pid)
        answer = look(tools, server.pid)
        assert lost_of(answer) == 0 and blocks_of(answer)["held"] >= 1
        assert left_out(server.pid) == flags != []
        assert server.end() == 3


def left_out(pid):
    """Areas that are, but for heaptrack's."""
    areas = re.findall(r"^([0-9a-f]+-[0-9a-f]+) (?:.*\n)(?:[A-Z].*\n)*?VmFlags:(.*)", Path(f"/proc/{pid}/smaps").read_text(), re.M)
    return [area for area, flags in areas if " dc" in flags]


def test_a_sandbox_that_would_kill_is_left_alone(tools):
    with Server(tools) as server:
        server.do("hold 5", "sandbox")
        answer = look(tools, server.pid)
        assert "sandbox" in answer["ungraded"] and answer["parts"], answer
        server.do("hold 1")
        assert server.end() == 3


def test_a_full_control_group_is_left_alone(tools):
    limit = 256 << 20
    with control_group(limit) as group:
        procs = group / "cgroup.procs"
        with Server(tools, preexec_fn=lambda: procs.write_text("0")) as server:
            server.do("hold 5", "lose 3")
            assert lost_of(look(tools, server.pid)) == 6
            server.do(f"fill {(limit >> 20) * 80 // 100}")
            answer = look(tools, server.pid)
            assert re.search(r"a copy of the program may take up to 2\d\d\.\d MB, and its control group has [\d.]+ MB left of "
                             r"268\.4 MB", answer["ungraded"]), answer
            server.do("hold 1")
            assert server.end() == 3


def test_a_control_group_that_is_nearly_full(tools, is_long):
    """The program writes to all of its memory all the time, and has 95 % of the limit when it is looked at, or comes
    there while it is: it lives."""
    limit = 256 << 20
    with control_group(limit) as group:
        procs = group / "cgroup.procs"
        used = next(group / name for name in ("memory.current", "memory.usage_in_bytes") if (group / name).exists())
        with Server(tools, preexec_fn=lambda: procs.write_text("0")) as server:
            server.do(f"fill {(limit >> 20) * 30 // 100}", "write", "hold 90000", "lose 3")
            answers = {"full": [], "filling": [], "empty": []}
            for i in range(200 if is_long else 12):
                how = list(answers)[i % 3]
                if how == "full":
                    server.do(f"fill {(limit * 95 // 100 - int(used.read_text())) >> 20}")
                asker = subprocess.Popen([tools.heaptrack, "--ctl", str(server.pid), "look", "--json"], stdout=subprocess.PIPE)
                n = 0
                while how == "filling" and int(used.read_text()) < limit * 95 // 100 and n < 100:
                    server.do("fill 2")
                    n += 1
                    time.sleep(0.01)
                answers[how].append(json.loads(asker.communicate(timeout=90)[0]))
                server.do(*["drop"] * (1 if how == "full" else n))
            whys = {how: {answer.get("ungraded", "") for answer in its} for how, its in answers.items()}
            assert whys["empty"] == {""} and all(lost_of(answer) == 6 for answer in answers["empty"]), whys
            assert all("a copy of the program may take up to" in why for why in whys["full"]), whys
            assert all(not why or "control group" in why for why in whys["filling"]), whys
            assert server.end() == 3
        assert server.known()["leaks"]["looks"][0]["at"] == "end"


SECRET = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char global[64];
int main(void) {
	char stack[64], *volatile *heap = malloc(2 * sizeof *heap);
	read(0, global, 64);
	memcpy(stack, global, 64);
	heap[0] = malloc(64);
	memcpy(heap[0], global, 64);
	heap[1] = malloc(4096);
	memcpy(heap[1] + 100, global, 64);
	write(1, "ok\n", 3);
	read(0, global + 63, 1);
	return stack[0] == heap[0][0] ? 0 : 1;
}
"""


def test_no_content_is_kept(tools):
    secret = os.urandom(64)
    program = compile_c(tools, "secret", SECRET)
    said = tools.folder / "secret.err"
    running = subprocess.Popen([tools.heaptrack, "--leaks", "-f", "-o", tools.folder / "secret.zst", program],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said.open("w"))
    running.stdin.write(secret)
    running.stdin.flush()
    assert running.stdout.readline() == b"ok\n"
    pid = next(child for child in below(running.pid) if name_of(child) == "secret")
    # It may be ready before heaptrack is
    conftest.wait_until(lambda: tools.run(tools.heaptrack, "--ctl", pid, "status").status == 0, what="heaptrack to answer")
    assert blocks_of(look(tools, pid))["held"] >= 3
    shared = shared_of(running.pid)
    memory = memory_of(running.pid)
    running.stdin.write(b"x")
    running.stdin.flush()
    assert running.wait(timeout=60) == 0
    file = tools.folder / "secret.zst"
    tools.print(file, "--html", tools.folder / "secret.html")
    written = [subprocess.run(["zstd", "-dc", file], capture_output=True, check=True).stdout,
               tools.print(file, "--json").stdout.encode("utf-8", "surrogateescape"), (tools.folder / "secret.html").read_bytes(),
               said.read_bytes()]
    for content in [shared, memory, *written]:
        assert content and not any(secret[i:i + 8] in content for i in range(0, 64, 8))


UNPRIVILEGED = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []


def test_helpers_leave_no_cores(tools):
    """They have some of the program's memory in their own: neither a core nor a debugger of the user gets that."""
    with Server(tools, before=UNPRIVILEGED) as server:
        server.do("hold 90000", "fill 30")
        asker = subprocess.Popen([tools.heaptrack, "--ctl", str(server.pid), "look"], stdout=subprocess.DEVNULL)
        scanner = conftest.wait_until(lambda: victims(server.process.pid, server.pid).get("scanner"), what="a scanner")
        conftest.wait_until(lambda: not may_be_dumped_stopped(scanner), what="a scanner that has begun")
        guardian = victims(server.process.pid, server.pid)["guardian"]
        assert [may_be_dumped(pid) for pid in (server.process.pid, scanner, guardian)] == [True, False, False]
        os.kill(scanner, signal.SIGCONT)
        assert asker.wait(timeout=60) == 0


def may_be_dumped_stopped(scanner):
    """It stays stopped if not: one that was only just forked, and has read nothing, runs on."""
    os.kill(scanner, signal.SIGSTOP)
    conftest.wait_until(lambda: re.search(r"^State:\tT", Path(f"/proc/{scanner}/status").read_text(), re.M), what="its stop")
    may_be = may_be_dumped(scanner)
    if may_be:
        os.kill(scanner, signal.SIGCONT)
    return may_be


def may_be_dumped(pid):
    command = [*UNPRIVILEGED, "cat", f"/proc/{pid}/environ"]
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60).returncode == 0


def shared_of(pid):
    """What its shared memory has: most of it was never touched."""
    content = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        if "/memfd:" in os.readlink(fd):
            at = 0
            with open(fd, "rb", 0) as file:
                while at is not None:
                    try:
                        start = os.lseek(file.fileno(), at, os.SEEK_DATA)
                        at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
                        content.append(os.pread(file.fileno(), at - start, start))
                    except OSError:
                        at = None
    return b"".join(content)


def memory_of(pid):
    """What a core of it would have, but for shared memory."""
    content = []
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            if " rw-p " in line:
                memory.seek(start)
                try:
                    content.append(memory.read(end - start))
                except OSError:
                    pass
    return b"".join(content)


def victims(collector, program):
    """The helpers of a recording, and the copy of the program."""
    found = {"collector": collector}
    for child in below(collector):
        try:
            if name_of(child) == "heaptrack":
                found["guardian" if os.getsid(child) == child else "scanner"] = child
        except ProcessLookupError:
            pass
    for child in below(program):
        found["copy"] = child
    return found


@pytest.mark.parametrize("whom", ["collector", "guardian", "scanner", "copy"])
def test_kills_at_any_moment(tools, whom, is_long):
    chance = random.Random(f"{whom}")
    for _ in range(50 if is_long else 5):
        with Server(tools) as server:
            server.do("hold 90000", "lose 2", "fill 30")
            asker = subprocess.Popen([tools.heaptrack, "--ctl", str(server.pid), "look"], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            until = time.monotonic() + 3
            time.sleep(chance.random() * 0.1)
            while time.monotonic() < until and asker.poll() is None:
                victim = victims(server.process.pid, server.pid).get(whom)
                if victim:
                    os.kill(victim, signal.SIGKILL)
                    break
            time.sleep(chance.random() * 0.05)
            server.do("hold 1", "lose 1")
            assert asker.wait(timeout=60) in (0, 1)
            status = server.end() if whom != "collector" else end_alone(server)
            assert whom == "collector" or status == 3, server.said()
            finished = tools.run(tools.heaptrack_print, "--json", tools.folder / "server.zst")
            assert finished.status == 0, repr(finished)


def end_alone(server):
    ended = os.pidfd_open(server.pid)
    server.process.stdin.write(b"end\n")
    server.process.stdin.flush()
    assert select.select([ended], [], [], 60)[0]
    os.close(ended)
