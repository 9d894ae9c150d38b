"""heaptrack --look PID --leaks, and -p PID --leaks: blocks that a program had before anybody recorded it, found by
walking glibc's heap. Against programs that know what they have lost; they work on afterwards as if nothing had been.
"""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import conftest
import test_leaks_slowly
from control_groups import control_group
from test_attach_refusals import NOBODY, nobodys  # noqa: F401
from test_leaks_running import HANDS, LOST, compile_c

# Each line that it reads is work: it sums up what its list holds, and makes and frees some more
HOLDER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct entry {
	struct entry *next;
	long number;
	char text[40];
};
struct entry *g_list;
void **g_table;
void *g_tagged;
char *g_inside;
static void add(long number) {
	struct entry *entry = calloc(1, sizeof *entry);
	entry->number = number;
	entry->next = g_list;
	g_list = entry;
}
__attribute__((noinline)) static void make(void) {
	for (int i = 0; i < 5000; i++) {
		add(i);
	}
	g_table = calloc(1000, sizeof *g_table);
	for (int i = 0; i < 1000; i++) {
		g_table[i] = malloc(i ? 100 : 200000); // ld.so knows where the first mapping ends
	}
	for (int i = 0; i < 30; i++) {
		void **lost = malloc(200);
		*lost = malloc(504);
	}
	for (int i = 0; i < 7; i++) {
		void **ring = malloc(3000);
		*ring = malloc(3000);
		**(void ***)ring = ring;
	}
	for (int i = 0; i < 3; i++) {
		memset(malloc(300000), 1, 300000);
	}
	g_tagged = (void *)((unsigned long)malloc(77) | 1ul << 60);
	g_inside = (char *)malloc(1000) + 500;
}
__attribute__((noinline)) static void scrub(void) {
	volatile char stack[16384];
	for (size_t i = 0; i < sizeof stack; i++) {
		stack[i] = 0;
	}
}
int main(void) {
	char line[64];
	setvbuf(stdin, NULL, _IONBF, 0);
	make();
	scrub();
	write(1, "made\n", 5);
	while (fgets(line, sizeof line, stdin) && *line != 'e') {
		long sum = 0;
		for (struct entry *e = g_list; e; e = e->next) {
			sum += e->number;
		}
		add(1);
		free(malloc(1000));
		dprintf(1, "%ld\n", sum);
		scrub();
	}
	return 3;
}
"""
SUM = 4999 * 5000 // 2
# grade: blocks. 3 mapped ones are lost, too
GRADES = {"unreachable": 30 + 3, "owned": 30 + 7, "cycle": 7, "disguised": 1, "held_inside": 1}


class Program:
    """One that runs by itself and answers lines."""

    def __init__(self, *command, first=b"made\n", **more):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == first

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def work(self):
        self.process.stdin.write(b"work\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.write(b"end\n")
        self.process.stdin.flush()
        return self.process.wait(timeout=60)


def look(tools, pid, *options, status=0):
    finished = tools.run(tools.heaptrack, "-f", "-o", tools.folder / "look.zst", "--look", pid, "--leaks", *options, timeout=120)
    assert finished.status == status, repr(finished)
    return finished


def known(tools):
    return tools.json(tools.folder / "look.zst")


def grades_of(leaks):
    assert leaks["looks"], leaks
    return {row["grade"]: row["blocks"] for row in leaks["looks"][0]["grades"]}


def lost_of(leaks):
    return sum(n for grade, n in grades_of(leaks).items() if grade in LOST)


def function_of(site):
    return [frame["function"] for frame in site["stack"]]


# ---- a program that was never recorded

@pytest.mark.parametrize("options", [(), ("-static-pie",)], ids=["shared", "static"])
def test_a_program_that_was_never_recorded(tools, options):
    """Lost and held blocks are counted to the block, and who holds them."""
    with Program(compile_c(tools, "holder", HOLDER, *options)) as program:
        finished = look(tools, program.pid)
        first = finished.stderr.splitlines()[0]
        assert re.fullmatch(r"heaptrack: reading [\d.]+ MB of memory: the program will stand twice, for about [\d.]+ ms each "
                            r"time, longer if processors are busy, and take up to [\d.]+ MB more if it writes to all of it "
                            r"meanwhile", first), finished.stderr
        assert program.work() == SUM
        assert program.work() == SUM + 1
        assert program.end() == 3
    leaks = known(tools)["leaks"]
    grades = grades_of(leaks)
    held = grades.pop("held")
    assert grades == GRADES and 5000 + 1 + 1000 <= held < 5000 + 1 + 1000 + 100, (held, grades)
    holders = {row["name"]: (row["retained_blocks"], row["retained_bytes"]) for row in leaks["holders"]}
    assert holders["g_list of holder"] == (5000, 5000 * 56)
    assert holders["g_table of holder"][0] in (1000, 1001)
    # Of what is lost the size alone is known: the one that malloc has given out
    sizes = {}
    for site in leaks["sites"]:
        if site["grade"] in LOST:
            name, above = function_of(site)
            assert above == "allocated before the attach", site
            sizes[site["grade"], int(re.fullmatch(r"older blocks with room for (\d+) bytes", name)[1])] = site["blocks"]
    mapped = sizes.pop(("unreachable", next(size for grade, size in sizes if grade == "unreachable" and size > 300000)))
    assert mapped == 3 and sizes == {("unreachable", 200): 30, ("owned", 504): 30, ("cycle", 3000): 7, ("owned", 3000): 7}


def test_what_a_look_prints(tools):
    with Program(compile_c(tools, "holder", HOLDER)) as program:
        shown = look(tools, program.pid).stdout
        assert program.end() == 3
    for line in (r"33  unreachable", r"37  owned", r"7  cycle", r"1  disguised",
                 r"30  older blocks with room for 200 bytes", r"5,000  g_list of holder  holder\.c:11"):
        assert re.search(rf"[\d.]+[kKMB]* +(<?[\d.]+ +)?{line}$", shown, re.M), (line, shown)
    file = tools.folder / "look.zst"
    report = " ".join(tools.print(file).stdout.split())
    assert "unreachable older blocks with room for 200 bytes <- allocated before the attach: 30 blocks (6.0 kB) that nothing " \
        "points to, and 30 blocks (15.1 kB) that only they lead to." in report, report
    assert "allocated before the attach: " in report and "They count only in resident memory" in report
    assert "older blocks of 32 B to 63 B" in tools.print(file, "--holders=g_list of holder").stdout
    tools.print(file, "--fail-if", "unreachable>0", status=3)
    page = tools.folder / "look.html"
    tools.print(file, "--html", page)
    assert page.stat().st_size > 100000


CLASSES = r"""
#include <unistd.h>
#include <vector>
struct Animal { virtual ~Animal() {} long age = 1; };
struct Cat : Animal { long lives = 9; };
struct Parrot : Animal { char *words = new char[100]; };
std::vector<Animal *> *g_zoo;
int main() {
	g_zoo = new std::vector<Animal *>;
	for (int i = 0; i < 400; i++) {
		g_zoo->push_back(i % 4 ? (Animal *)new Cat : new Parrot);
	}
	for (int i = 0; i < 50; i++) {
		Cat *volatile lost = new Cat;
		lost = nullptr;
	}
	(void)!write(1, "made\n", 5);
	return (int)read(0, &g_zoo, 0) + pause();
}
"""


def test_classes_of_older_blocks(tools):
    source = tools.folder / "zoo.cpp"
    source.write_text(CLASSES)
    subprocess.run(["g++", "-O1", "-g", "-o", tools.folder / "zoo", source], check=True, timeout=120)
    with Program(tools.folder / "zoo") as program:
        look(tools, program.pid)
    leaks = known(tools)["leaks"]
    classes = {row["name"]: (row["blocks"], row["retained_bytes"]) for row in leaks["classes"]}
    assert classes["Cat"] == (300 + 50, 300 * 24) and classes["Parrot"][0] == 100, classes
    assert 100 * (24 + 104) <= classes["Parrot"][1] < 100 * (24 + 105), classes
    lost = {site["class"]: (site["blocks"], function_of(site)[0]) for site in leaks["sites"] if site["grade"] in LOST}
    assert lost == {"Cat": (50, "older blocks with room for 24 bytes")}, leaks["sites"]
    assert re.search(r"350 +7\.2K  Cat$", tools.print(tools.folder / "look.zst", "--classes").stdout, re.M)


# ---- while it works

def test_threads_that_hand_blocks_over_are_not_accused(tools, is_long):
    """A thread may be inside malloc or free when it is attached to, whose block nobody knows, or everybody."""
    program = compile_c(tools, "hands", HANDS)
    with Program(program, "4", first=b"ok\n") as running:
        n = 0
        while n < (200 if is_long else 5):
            finished = tools.run(tools.heaptrack, "-f", "-o", tools.folder / "look.zst", "--look", running.pid, "--leaks")
            if finished.status == 1:  # a thread gets little time, and is inside of the recorder
                assert "what points to live blocks is not known: a thread stays in realloc" in finished.stderr, repr(finished)
                continue
            leaks = known(tools)["leaks"]
            assert lost_of(leaks) == 0, leaks
            assert sum(grades_of(leaks).values()) >= 2 * 512
            n += 1
        assert running.process.poll() is None


def test_redis_is_not_accused(tools):
    """Its own allocator is Debian's jemalloc: here it has that of glibc."""
    if not shutil.which("redis-server") or not shutil.which("redis-cli"):
        pytest.skip("redis is not installed")
    stand_in = compile_c(tools, "glibc.so", STAND_IN, "-shared", "-fPIC", "-Wl,-soname,libjemalloc.so.2")
    with Redis(tools, LD_PRELOAD=str(stand_in)) as server:
        server.do("eval", "for i = 1, 20000 do redis.call('set', 'k' .. i, string.rep('v', i % 90)) end "
                  "for i = 1, 5000 do redis.call('hset', 'h' .. i % 50, 'f' .. i, i) redis.call('zadd', 'z', i, 'm' .. i) "
                  "redis.call('rpush', 'l' .. i % 9, i) end", "0")
        accused, blocks = test_leaks_slowly.look(tools, "--look", server.pid)
        assert accused == 0 and blocks > 50000
        assert server.do("get", "k777").strip() == "v" * 57
    assert server.status == 0


STAND_IN = r"""
#include <stddef.h>
int mallctl(const char *name, void *old, size_t *n, void *fresh, size_t bytes) { return 2; }
void malloc_stats_print(void (*write)(void *, const char *), void *user, const char *options) {}
size_t nallocx(size_t bytes, int flags) { return bytes; }
"""


class Redis:
    def __init__(self, tools, **environment):
        self.socket = tools.folder / "redis.sock"
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", ""],
                                        env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
        self.pid, self.status = self.process.pid, None
        conftest.wait_until(self.socket.exists, what="the server")

    def do(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *words], check=True, timeout=60, capture_output=True,
                              text=True).stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.status = self.process.wait(timeout=60)


def test_at_a_detach_older_blocks_are_graded_as_well(tools):
    """Also one that was freed, one that was resized, and what was lost meanwhile."""
    with Program(compile_c(tools, "holder", HOLDER)) as program:
        running = tools.start(tools.heaptrack, "-f", "-o", tools.folder / "look.zst", "--leaks", "-p", program.pid)
        running.wait_for_attach()
        for i in range(100):
            assert program.work() == SUM + i
        os.kill(running.pid, signal.SIGINT)
        finished = running.wait()
        assert finished.status == 0 and "not known" not in finished.stderr, repr(finished)
        assert program.work() == SUM + 100
        assert program.end() == 3
    leaks = known(tools)["leaks"]
    grades = grades_of(leaks)
    del grades["held"]
    assert grades == GRADES
    assert {row["name"]: row["retained_blocks"] for row in leaks["holders"]}["g_list of holder"] == 5100


# ---- what cannot be done is said

def test_another_allocator(tools):
    library = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
    if not library.exists():
        pytest.skip("jemalloc is not installed")
    with Program(compile_c(tools, "holder", HOLDER), env={**os.environ, "LD_PRELOAD": str(library)}) as program:
        said = look(tools, program.pid, status=1).stderr
        assert "what points to live blocks is not known: blocks allocated before the attach are not known: no heap of glibc's " \
            "malloc was found" in said
        assert program.work() == SUM and program.end() == 3
    assert known(tools)["leaks"]["looks"] == []


def test_two_allocators(tools):
    """glibc's blocks are known, and others may hold them."""
    library = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
    if not library.exists():
        pytest.skip("jemalloc is not installed")
    program = compile_c(tools, "both", HOLDER.replace("make();", "make(); extern void *mallocx(size_t, int); "
                                                      "*(void **)mallocx(100, 0) = malloc(10);"), "-lc", library)
    with Program(program) as running:
        said = look(tools, running.pid, status=1).stderr
        assert f"what points to live blocks is not known: blocks of {library.resolve()} are not known" in said, said
        assert running.end() == 3


def test_what_is_mapped_is_not_known(tools):
    """Debian's static busybox has no symbols, and its mmap is not found by its code."""
    busybox = shutil.which("busybox")
    if not busybox or b"not a dynamic" not in subprocess.run(["ldd", busybox], capture_output=True, check=False).stderr:
        pytest.skip("no static busybox is installed")
    program = subprocess.Popen([busybox, "sleep", "60"])
    try:
        said = look(tools, program.pid, status=1).stderr
        assert "what points to live blocks is not known: what the program maps is not recorded" in said, said
        assert program.poll() is None
    finally:
        program.kill()
        program.wait()


def test_a_pause_that_is_not_allowed(tools):
    with Program(compile_c(tools, "holder", HOLDER)) as program:
        said = look(tools, program.pid, "--max-pause", "0", status=1).stderr
        assert "what points to live blocks is not known: blocks allocated before the attach are not known: the program's memory " \
            "was not copied (--max-pause 0)" in said
        assert program.end() == 3


def test_no_room_in_its_control_group(tools):
    """It is not even attached to."""
    limit = 128 << 20
    with control_group(limit) as group:
        procs = group / "cgroup.procs"
        with Program(compile_c(tools, "holder", HOLDER.replace("make();", "make(); memset(malloc(80 << 20), 1, 80 << 20);")),
                     preexec_fn=lambda: procs.write_text("0")) as program:
            before = Path(f"/proc/{program.pid}/maps").read_text()
            said = look(tools, program.pid, status=1).stderr
            assert re.search(r"a copy of the program may take up to 1\d\d\.\d MB, and its control group has [\d.]+ MB left of "
                             r"134\.2 MB", said), said
            assert Path(f"/proc/{program.pid}/maps").read_text() == before
            assert program.work() == SUM and program.end() == 3


def test_swapped_memory(tools):
    """Some of it is brought to swap, if there is any."""
    if len(Path("/proc/swaps").read_text().splitlines()) < 2:
        pytest.skip("there is no swap here")
    paged = HOLDER.replace("make();", "make(); char *p = malloc(8 << 20); memset(p, 1, 8 << 20); "
                           "madvise((char *)((unsigned long)(p + 4096) & -4096ul), 4 << 20, 21);")
    with Program(compile_c(tools, "holder", "#include <sys/mman.h>\n" + paged)) as program:
        assert "some of its memory is swapped out" in look(tools, program.pid, status=1).stderr
        assert program.end() == 3


def test_anothers_process_is_refused(tools, nobodys):  # noqa: F811
    with Program(compile_c(tools, "holder", HOLDER)) as running:
        finished = tools.run(*NOBODY, nobodys / "heaptrack", "-o", "/tmp/none", "--look", running.pid, "--leaks")
        assert finished.status == 1, repr(finished)
        assert f"process {running.pid} belongs to user 0; run heaptrack as that user, or with sudo" in finished.stderr
        assert "reading" not in finished.stderr
        assert running.work() == SUM and running.end() == 3
