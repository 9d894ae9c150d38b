"""Looks at a program's memory: when they are taken, and that its end does not wait long for one."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "random"))

import conftest
import events

AT_END, AT_RSS_PEAK, AT_DETACH, AT_TIMER = 0, 1, 2, 4
HEAP_LIVE, MAPPED, UNKNOWN = 0, 5, 11
HEAD = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static char *hold(size_t bytes) {
	char *block = malloc(bytes);
	memset(block, 1, bytes);
	return block;
}
static void *leave(void *unused) {
	exit(3);
	return unused;
}
"""
# Body of main; the program's status, and whether there is a look at the end
ENDS = {
    "return": ("hold(8 << 20); return 3;", 3, True),
    "exit": ("hold(8 << 20); exit(3);", 3, True),
    "_exit": ("hold(8 << 20); _exit(3);", 3, True),
    "_Exit": ("hold(8 << 20); _Exit(3);", 3, True),
    "thread": ("hold(8 << 20); pthread_t t; pthread_create(&t, NULL, leave, NULL); pause();", 3, True),
    "abort": ("hold(8 << 20); abort();", -signal.SIGABRT, False),
    "killed": ("hold(8 << 20); kill(getpid(), SIGKILL);", -signal.SIGKILL, False),
    "own-call": ("hold(8 << 20); syscall(SYS_exit_group, 3);", 3, False),
    # Their children are not looked at
    "fork": ("hold(8 << 20); if (fork() == 0) exit(1); wait(NULL); return 3;", 3, True),
    "vfork": ("hold(8 << 20); if (vfork() == 0) _exit(1); wait(NULL); hold(8 << 20); return 3;", 3, True),
}


def looks_of(file):
    """Each look with its parts, by id, in bytes."""
    tables = events.Events(file).tables
    found = []
    for i, look in enumerate(tables["looks"]):
        parts = [0] * 13
        for row in tables["parts"]:
            if row["look"] == i:
                parts[row["part"]] += row["resident_bytes"]
        assert sum(parts) == look["rss_bytes"]
        found.append((look, parts))
    return found


def resident(pid):
    """Its RSS, in bytes; 0: it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


def cpu_seconds(pid):
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@pytest.fixture(name="program")
def fixture_program(tmp_path):
    def make(body, *options, head=""):
        (tmp_path / "looked.c").write_text(HEAD + head + "int main(void) {" + body + "}")
        subprocess.run(["gcc", "-O1", "-g", "-w", "-fno-builtin", "-o", tmp_path / "looked", tmp_path / "looked.c", "-pthread",
                        *options],
                       check=True, timeout=60)
        return tmp_path / "looked"
    return make


@pytest.mark.parametrize("name", ENDS)
def test_the_end_is_looked_at(tools, program, name):
    body, status, is_looked_at = ENDS[name]
    program(body)
    for _ in range(10):  # under load, the collector may come too late
        run = tools.record(tools.folder / "looked", options=("--force",))
        assert run.status == (status if status >= 0 else 128 - status)
        at_end = [parts for look, parts in looks_of(run.file) if look["at"] == AT_END]
        if len(at_end) == is_looked_at and all(parts[HEAP_LIVE] > 0 for parts in at_end):
            break
    assert len(at_end) == is_looked_at
    for parts in at_end:
        held = (16 if name == "vfork" else 8) << 20
        assert held <= parts[HEAP_LIVE] < held + (1 << 20)


def waited_for_a_cpu(*pids):
    """For how many seconds their main threads had work, and no processor."""
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9 for pid in pids)


def test_a_collector_that_is_stopped_delays_the_end_by_little(tools, program):
    started = tools.start_record(program("hold(8 << 20); getchar(); return 3;"), stdin=subprocess.PIPE)
    pid = started.program()
    collector = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    conftest.wait_until(lambda: resident(pid) >= 8 << 20, what="the block is touched")
    os.kill(collector, signal.SIGSTOP)
    begin = time.monotonic() - waited_for_a_cpu(pid, "self")
    started.process.stdin.write(b"\n")
    started.process.stdin.close()
    conftest.wait_until(lambda: state(pid) == "Z", what="the program has ended")
    waited = time.monotonic() - waited_for_a_cpu(pid, "self") - begin
    os.kill(collector, signal.SIGCONT)
    assert started.wait().status == 3
    assert waited < 1.5


def test_nothing_is_looked_at_without_memory(tools, program):
    run = tools.record(program("hold(64 << 20); usleep(300000); return 3;"), options=("--no-memory",))
    assert run.status == 3
    assert looks_of(run.file) == []


def test_the_highest_rss_is_looked_at(tools, program):
    """It is gone at the end."""
    run = tools.record(program("char *b = hold(64 << 20); usleep(700000); free(b); usleep(300000); return 0;"))
    peaks = [parts for look, parts in looks_of(run.file) if look["at"] == AT_RSS_PEAK]
    assert len(peaks) == 1
    assert peaks[0][HEAP_LIVE] >= 58 << 20  # it may still have risen by a 20th
    assert peaks[0][UNKNOWN] <= 64 << 10


MOVES = """
    char *blocks = hold(64 << 20);
    usleep(2500000);
    char *map = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(map, 1, 32 << 20);
    free(blocks);
    usleep(2500000);
    return 0;
"""


def test_the_parts_of_rss_are_followed(tools, program):
    """What the peak consisted of, and what came after it, before anybody asked or the program ended."""
    run = tools.record(program(MOVES, "-include", "sys/mman.h"))
    looks = looks_of(run.file)
    times = [look["time_ns"] for look, parts in looks]
    assert times == sorted(times)
    before = [parts for look, parts in looks if look["at"] in (AT_RSS_PEAK, AT_TIMER) and parts[HEAP_LIVE] > 60 << 20]
    after = [parts for look, parts in looks if look["at"] == AT_TIMER and parts[MAPPED] >= 32 << 20]
    assert before and after
    assert after[-1][HEAP_LIVE] < 1 << 20


def test_the_past_has_bounds(tools, program):
    """RSS rises by more than 5 % each time that it is sampled; each of these looks is followed by a larger one."""
    run = tools.record(program("for (int i = 0; i < 150; i++) { hold((4 << 20) + i * (1 << 16)); usleep(12000); } return 0;"))
    looks = [look for look, parts in looks_of(run.file)]
    assert sum(look["at"] == AT_RSS_PEAK for look in looks) == 1
    assert sum(look["at"] == AT_TIMER for look in looks) <= 64
    assert run.json()["summary"]["peak_rss_bytes"] >= max(look["rss_bytes"] for look in looks)


SWINGS = """
    for (int i = 0; i < 10000; i++) {
        char *map = mmap(NULL, 8192, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        (void)(i % 2 ? map[0] : (map[0] = 1));
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        char *map = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(map, 1, 16 << 20);
        usleep(300000);
        munmap(map, 16 << 20);
        usleep(300000);
    }
"""


@pytest.mark.long
def test_memory_of_ten_thousand_mappings_is_followed_for_a_hundredth_of_a_cpu(tools, program):
    """All that the collector does for it, while RSS goes up and down."""
    running = tools.start_record(program(SWINGS, "-include", "sys/mman.h"))
    keeps_ready(running)
    pid = running.program()
    collector = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    time.sleep(5)
    before = cpu_seconds(collector)
    time.sleep(60)
    share = (cpu_seconds(collector) - before) / 60
    os.kill(pid, signal.SIGTERM)
    running.wait()
    assert sum(look["at"] == AT_TIMER for look, _ in looks_of(running.file)) >= 2
    assert share <= 0.01, share


def test_a_detach_is_looked_at(tools, program):
    started = tools.start(program("char *b = hold(1); for (;;) { usleep(10000); if (!b[0]) return 1; b = hold(4096); }"))
    run = tools.record("-p", str(started.process.pid), "--duration", "0.5s")
    assert run.status == 0
    ((look, parts),) = [found for found in looks_of(run.file) if found[0]["at"] == AT_DETACH]
    assert parts[HEAP_LIVE] > 0


def test_a_static_program_is_looked_at(tools, program):
    program("hold(8 << 20); usleep(100000); return 3;", "-static")
    for _ in range(10):  # under load, the collector may come too late
        run = tools.record(tools.folder / "looked", options=("--force",))
        assert run.status == 3
        looks = [found for found in looks_of(run.file) if found[0]["at"] == AT_END]
        if looks:
            break
    ((look, parts),) = looks
    assert 8 << 20 <= parts[HEAP_LIVE] < 9 << 20
    assert parts[UNKNOWN] <= 16 << 10


def test_the_end_after_an_attach_is_looked_at(tools, program):
    """What was there before is live, too."""
    waits = program("char *b = hold(8 << 20); getchar(); hold(8 << 20); return 3;")
    for i in range(10):  # under load, the collector may come too late
        started = tools.start(waits, stdin=subprocess.PIPE)
        recorded = tools.start_record("-p", str(started.process.pid), name=f"recording{i}")
        conftest.wait_until(lambda: b"existing blocks:" in os.pread(recorded.outputs[1].fileno(), 9999, 0),
                            what="old blocks are known")
        started.process.stdin.close()
        assert recorded.wait().status == 0
        looks = [found for found in looks_of(recorded.file) if found[0]["at"] == AT_END]
        if looks and looks[0][1][HEAP_LIVE] > 0:
            break
    ((look, parts),) = looks
    assert 16 << 20 <= parts[HEAP_LIVE] < 17 << 20
    assert parts[UNKNOWN] <= 64 << 10


# ---- on request

REQUEST = 3
KEEPS = ("char *kept = hold(32 << 20); static char *some[6000];"
         "for (int i = 0; i < 6000; i++) some[i] = hold(4000);"
         "for (int i = 1; i < 6000; i++) if (i % 100) free(some[i]);"
         'puts("ready"); fflush(stdout); pause(); return kept[0];')


def keeps_ready(running):
    conftest.wait_until(lambda: b"ready" in Path(running.outputs[0].name).read_bytes(), what="its blocks")


def parts_of(answer):
    parts = {part["id"]: part["bytes"] for part in answer["parts"]}
    assert sum(parts.values()) == answer["rss_bytes"]
    return parts


def requested(tools, file):
    return [look for look in tools.json(file, "--memory")["looks"] if look["at"] == "request"]


def assert_keeps(parts):
    """32 MiB and 60 small blocks, and what the others have left of the heap."""
    assert 0 <= parts["heap_live"] - ((32 << 20) + 60 * 4000) < 200_000
    assert 0.98 < (parts["heap_free"] + parts["heap_partly_free"]) / (5940 * 4016) < 1.02
    assert parts.get("unknown", 0) <= 100_000


@pytest.mark.parametrize("words", [("--ctl", None, "look"), ("--ctl", None, "look", "--json"), ("--look", None)])
def test_who_asks_gets_a_look(tools, program, words):
    running = tools.start_record(program(KEEPS))
    keeps_ready(running)
    pid = running.program()
    words = [str(pid) if word is None else word for word in words]
    asked = tools.run(tools.heaptrack, *words, timeout=60)
    assert asked.status == 0, repr(asked)
    if "--json" in words:
        answer = json.loads(asked.stdout)
        assert answer["pid"] == pid and answer["at"] == "request" and answer["file"] == str(running.file)
        assert_keeps(parts_of(answer))
    else:
        assert re.fullmatch(rf" *{pid}  RSS \S+ MB after \S+ m?s: 3\S+ MB live blocks, 2\S+ MB free, kept by malloc, .*\n"
                            rf'Who owns them: heaptrack_print --memory "{running.file}"\n', asked.stdout), asked.stdout
    # and it is in the file while the program runs
    conftest.wait_until(lambda: requested(tools, running.file), what="it is kept")
    os.kill(pid, signal.SIGTERM)
    running.wait()
    look, = requested(tools, running.file)
    assert_keeps(parts_of(look))


AGAIN = """
    static char *all[40000];
    for (int i = 0; i < 40000; i++) { all[i] = hold(1000); }
    char *last = hold(1000);
    for (int i = 0; i < 40000; i++) { free(all[i]); }
    usleep(300000);
    puts("ready");
    fflush(stdout);
    getchar();
    for (int i = 0; i < 40000; i++) { all[i] = hold(1000); }
    usleep(200000);
    return *last != 1;
"""


def test_what_is_used_again_is_not_kept_by_malloc(tools, program):
    running = tools.start_record(program(AGAIN), stdin=subprocess.PIPE)
    keeps_ready(running)
    asked = tools.run(tools.heaptrack, "--ctl", str(running.program()), "look", "--json", timeout=60)
    assert parts_of(json.loads(asked.stdout))["heap_free"] > 38 << 20
    running.process.stdin.write(b"\n")
    running.process.stdin.close()
    running.wait()
    assert "kept-by-malloc" not in {finding["id"] for finding in tools.json(running.file)["findings"]}


def test_the_last_looks_are_kept(tools, program):
    running = tools.start_record(program(KEEPS))
    keeps_ready(running)
    pid = running.program()
    times = [json.loads(tools.run(tools.heaptrack, "--ctl", pid, "look", "--json").stdout)["time_ns"] for _ in range(20)]
    os.kill(pid, signal.SIGTERM)
    running.wait()
    assert [look["time_ns"] for look, _ in looks_of(running.file) if look["at"] == REQUEST] == times[-16:]


def test_a_recording_without_memory_is_not_looked_at(tools, program):
    running = tools.start_record(program(KEEPS), options=("--no-memory",))
    keeps_ready(running)
    asked = tools.run(tools.heaptrack, "--look", running.program(), timeout=60)
    assert asked.status == 1 and "looks at memory are off in this recording (--no-memory)" in asked.stderr, repr(asked)
    os.kill(running.program(), signal.SIGTERM)
    running.wait()


@pytest.mark.attach
@pytest.mark.parametrize("way", ["recorded", "plain", "static"])
def test_a_running_program_is_looked_at(tools, program, way):
    options = ("-static",) if way == "static" else ()
    victim = tools.start(program(KEEPS, *options))
    keeps_ready(victim)
    pid = victim.process.pid
    running = None
    if way == "recorded":
        running = tools.start_record("-p", str(pid))
        running.wait_for_attach()
    begin = time.monotonic()
    asked = tools.run(tools.heaptrack, "--look", pid, timeout=60, cwd=tools.folder)
    assert asked.status == 0 and time.monotonic() - begin < 20, repr(asked)
    if running:
        os.kill(running.pid, signal.SIGINT)
        file = running.wait() and running.file
    else:
        assert asked.stdout.startswith("MEMORY at a request, "), asked.stdout
        file, = tools.folder.glob(f"heaptrack.looked.{pid}.zst")
    assert state(pid) == "S"  # it waits as before
    look, = requested(tools, file)
    assert_keeps(parts_of(look))
    victim.process.terminate()


MAPS = """
#include <sys/mman.h>
static inline char *map(size_t bytes) {
	return memset(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, bytes);
}
static void map_more(void) { map(2 << 20); }
"""


@pytest.mark.attach
def test_who_maps_more_after_an_attach_is_named(tools, program):
    """What was mapped before is more, and does not hide it."""
    victim = tools.start(program('map(200 << 20); puts("ready"); fflush(stdout); getchar();'
                                 "for (int i = 0; i < 2500; i++) { free(hold(60)); if (i % 50 == 0) map_more(); usleep(1000); }"
                                 "return 0;", head=MAPS), stdin=subprocess.PIPE)
    keeps_ready(victim)
    running = tools.start_record("-p", str(victim.process.pid))
    running.wait_for_attach()
    victim.process.stdin.close()
    assert running.wait().status == 0
    first = tools.json(running.file)["findings"][0]
    assert first["id"] == "mapped-growing" and first["text"].startswith("what map looked.c:"), first
    # By the last look, which a busy machine takes long before the end
    assert 40 << 20 <= first["numbers"]["bytes"] <= 104 << 20, first
    assert first["numbers"]["grown_bytes"] <= first["numbers"]["bytes"], first


def test_nobody_to_look_at(tools):
    for pid, says in (("0", "invalid process ID"), (str(2 ** 31 - 1), "no process")):
        asked = tools.run(tools.heaptrack, "--look", pid)
        assert asked.status == 1 and says in asked.stderr, repr(asked)
