"""Where resident memory went: the parts of a look, the findings about it, and the remedies that they name."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "referee"))

import attaching
import memory_truth
import referee

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
MB = 1_000_000
NOBODY = 65534
PERF = memory_truth.kernel_tells_of_mappings()
# 60 MB in small blocks, all freed but the last one; asks the allocator to give it back, if there is a second word
KEEPS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static char *all[60000], *volatile last, *volatile table;
static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
__attribute__((noinline)) static void load(void) {
	for (int i = 0; i < 60000; i++) { all[i] = malloc(1000); memset(all[i], 1, 1000); }
}
int main(int argc, char **argv) {
	double start = now();
	table = memset(malloc(20000000), 1, 20000000); // what allocators keep after all is less than half of RSS
	load();
	last = malloc(1000);
	for (int i = 0; i < 60000; i++) { free(all[i]); }
	int (*give_back)(int) = argc > 1 ? (int (*)(int))dlsym(RTLD_DEFAULT, argv[1]) : NULL;
	if (give_back) { give_back(0); }
	double most = now() - start; // on a busy machine it keeps for as long as it has worked
	for (int i = 0; i < 60 || now() - start < 2 * most; i++) { nanosleep(&(struct timespec){0, 10000000}, NULL); free(malloc(100)); }
	return argc > 1 && !give_back;
}
"""
# {allocator: its library, what the finding says, and that as environment and words of the program}
REMEDIES = {
    "glibc": (None, "malloc_trim(0) makes glibc give it back", {}, ["malloc_trim"]),
    "jemalloc": ("libjemalloc.so.2", "MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0 makes jemalloc give it back",
                 {"MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"}, []),
    "tcmalloc": ("libtcmalloc_minimal.so.4", "MallocExtension_ReleaseFreeMemory() makes tcmalloc "
                 "give back what its caches do not hold", {}, ["MallocExtension_ReleaseFreeMemory"]),
    "mimalloc": ("libmimalloc.so.2", "MIMALLOC_RESET_DELAY=0 makes mimalloc give it back", {"MIMALLOC_RESET_DELAY": "0"}, []),
}
OTHERS = {
    "mapped": (r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) static char *map_table(void) {
	return memset(mmap(NULL, 40000000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 40000000);
}
int main(void) { free(malloc(50)); return *map_table() != 1; }
""", r"map_table program\.c:6 has mapped 40\.0 MB \(9\d % of RSS\), which are in memory at the end\.", "mapped"),
    "mapped-growing": (r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
__attribute__((noinline)) static void map_more(void) {
	memset(mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 2 << 20);
}
int main(void) {
	for (int i = 0; i < 2000; i++) { // whoever does nothing is looked at less often
		char *volatile p = malloc(60);
		free(p);
		if (i % 50 == 0) { map_more(); }
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	return 0;
}
""", r"what map_more program\.c:7 has mapped grew by \d\d\.\d MB \(\d\d\.\d MB/s\) from \d+ ms on, "
     r"to 8[34]\.\d MB \(9\d % of RSS\) at the end\.", "mapped"),
    "lazy-free": (r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) static int give(char *p, long n) { return madvise(p, n, MADV_FREE) + (n == 1); }
int main(void) {
	char *p = mmap(NULL, 40000000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	free(malloc(50)); // which the compiler leaves out: the report has the section all the same
	memset(p, 1, 40000000);
	return madvise(p, 4096, MADV_FREE) + give(p, 20000768) + give(p + 20000768, 40000000 - 20000768);
}
""", r"(39\.\d|40\.0) MB \(9\d % of RSS\) were given back \(MADV_FREE\) at the end: they count until the kernel needs memory, and then are gone; "
     r"give program\.c:5 gave back most, 40\.0 MB in 2 calls\.", "mapped"),
    "thread-stacks": (r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static pthread_barrier_t all;
static void *work(void *unused) {
	char deep[1000000];
	memset(deep, 1, sizeof deep);
	__asm__ volatile("" :: "r"(deep) : "memory");
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	return unused;
}
int main(void) {
	pthread_t threads[16];
	free(malloc(99));
	pthread_barrier_init(&all, NULL, 17);
	for (int i = 0; i < 16; i++) { pthread_create(&threads[i], NULL, work, NULL); }
	pthread_barrier_wait(&all);
	_Exit(0);
}
""", r"stacks of threads hold 16\.\d MB \(\d+ % of RSS\) at the end\.", "stacks"),
    "resident, shared": (r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) static void *share(void) {
	return mmap(NULL, 40000000, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
int main(void) { free(malloc(50)); return !memset(share(), 1, 40000000); }
""", r"40\.0 MB \(9\d % of RSS\) at the end are shared memory that share program\.c:6 has mapped\.", "shared"),
    "resident, a memfd": (r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) static void *share(int fd) {
	return mmap(NULL, 40000000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}
int main(void) {
	int fd = memfd_create("frames", 0);
	free(malloc(50));
	return ftruncate(fd, 40000000) || !memset(share(fd), 1, 40000000);
}
""", r"40\.0 MB \(9\d % of RSS\) at the end are shared memory \(memfd:frames\) that share program\.c:8 has mapped\.", "shared"),
    "resident, of System V": (r"""
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
__attribute__((noinline)) static void *share(int id) {
	return shmat(id, NULL, 0);
}
int main(void) {
	free(malloc(50));
	int id = shmget(IPC_PRIVATE, 33600000, IPC_CREAT | 0600);
	char *at = memset(share(id), 1, 33600000);
	return shmctl(id, IPC_RMID, NULL) || *at != 1;
}
""", r"33\.6 MB \(9\d % of RSS\) at the end are shared memory that share program\.c:6 has mapped\.", "shared"),
    "resident, a file": (r"""
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	int fd = open("/proc/self/cwd/table.bin", O_RDWR | O_CREAT | O_TRUNC, 0600), sum = ftruncate(fd, 40000000);
	const char *p = mmap(NULL, 40000000, PROT_READ, MAP_SHARED, fd, 0);
	free(malloc(50));
	for (int i = 0; i < 40000000; i += 4096) { sum += p[i]; }
	unlink("table.bin");
	return sum;
}
""", r"(39\.\d|40\.0) MB \(9\d % of RSS\) at the end are pages of the file table\.bin \(deleted\)\.", "files"),
    "resident, variables": (r"""
#include <stdlib.h>
#include <string.h>
static char table[40000000];
int main(void) {
	free(malloc(50));
	memset(table, 1, sizeof table);
	__asm__ volatile("" :: "r"(table) : "memory");
	return 0;
}
""", r"40\.0 MB \(9\d % of RSS\) at the end are variables of program\.", "modules_written"),
    "resident, by its own call": (r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
static void *map(void) {
	register long flags __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS, fd __asm__("r8") = -1, at __asm__("r9") = 0;
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_mmap), "D"(0L), "S"(40000000L), "d"(3L), "r"(flags), "r"(fd), "r"(at)
	                 : "rcx", "r11", "memory");
	return (void *)result;
}
int main(void) { free(malloc(50)); return !memset(map(), 1, 40000000); }
""", r"40\.0 MB \(9\d % of RSS\) at the end were mapped by (thread \d+ \(program\), by system calls of its own"
     r"|no call that was recorded)\.", "mapped" if PERF else "unknown"),
    "untouched": (r"""
#include <stdlib.h>
#include <string.h>
static char *volatile table;
__attribute__((noinline)) static void reserve(void) { table = malloc(64 << 20); memset(table, 1, 1 << 20); }
int main(void) { reserve(); return 0; }
""", r"reserve program\.c:5 <- main: 66\.1 MB of 67\.1 MB in 1 live block were not in memory at the end, "
     r"and are no part of RSS\.", "heap_live"),
    "pins": (r"""
#include <stdlib.h>
#include <string.h>
#include <time.h>
static char *all[200000];
__attribute__((noinline)) static char *intern(void) { return memset(malloc(120), 1, 120); }
__attribute__((noinline)) static char *load(void) { return memset(malloc(120), 1, 120); }
int main(void) {
	for (int i = 0; i < 200000; i++) { all[i] = i % 64 ? load() : intern(); }
	for (int i = 0; i < 200000; i++) { if (i % 64) { free(all[i]); } }
	nanosleep(&(struct timespec){0, 500000000}, NULL);
	return 0;
}
""", r"intern program\.c:6 <- main: 375\.0 kB in 3,125 live blocks keep 1[12]\.\d MB \(\d+ % of RSS\) in memory that are free on "
     r"the same pages at the end\.", "heap_partly_free"),
}
HUGE = r"""
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
static pthread_barrier_t all;
static void *work(void *unused) {
	for (int i = 0; i < 100; i++) { memset(malloc(1000), 1, 1000); }
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	return unused;
}
int main(int argc, char **argv) {
	pthread_t threads[24];
	if (argc > 1) { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
	mallopt(M_ARENA_MAX, 64);
	pthread_barrier_init(&all, NULL, 25);
	for (int i = 0; i < 24; i++) { pthread_create(&threads[i], NULL, work, NULL); }
	pthread_barrier_wait(&all);
	_Exit(0);
}
"""


def read(build, file, *options):
    return json.loads(subprocess.run([build / "heaptrack_print", "--json", *options, file], check=True,
                                     capture_output=True, timeout=120).stdout)


@pytest.fixture
def record(build, tmp_path):
    """record(source, *words, library, **environment): a file with events."""
    def run(source, *words, library=None, **environment):
        (tmp_path / "program.c").write_text(source)
        program = tmp_path / "program"
        subprocess.run(["gcc", "-g", "-O1", "program.c", "-o", program, "-pthread"], cwd=tmp_path, check=True, timeout=60)
        if library:
            environment["LD_PRELOAD"] = str(LIBRARIES / library)
        out = tmp_path / "recording.zst"
        for _ in range(10):  # on a busy machine a program does not wait long enough for the look at its end
            subprocess.run([build / "heaptrack", "-q", "-f", "--events", "-o", out, program, *words], check=True,
                           timeout=120, env={**os.environ, **environment})
            last = read(build, out)["memory"]["looks"][-1:]
            if last and last[0]["at"] == "end" and all(part["id"] != "heap" for part in last[0]["parts"]):
                break
        return out
    return run


def at_end(document):
    """The parts of the look at the end, by their ids."""
    look = document["memory"]["looks"][-1]
    assert look["at"] == "end"
    return {part["id"]: part["bytes"] for part in look["parts"]}


def sentence(document, name):
    return next((f["text"] for f in document["findings"] if f["id"] == name), None)


@pytest.mark.parametrize("name", REMEDIES)
def test_the_remedy_makes_the_part_smaller(build, record, name):
    library, says, environment, words = REMEDIES[name]
    if library and not (LIBRARIES / library).exists():
        pytest.skip(f"{library} is not installed")
    kept = record(KEEPS, library=library)
    document = read(build, kept)
    assert at_end(document)["heap_free"] > 40 * MB
    assert re.fullmatch(rf"malloc keeps \d\d\.\d MB \(\d+ % of RSS\) at .+ that are free; blocks held at most .+; "
                        rf"{re.escape(says)}\.", sentence(document, "kept-by-malloc"))
    assert referee.Referee(kept, build).judge() == []
    document = read(build, record(KEEPS, *words, library=library, **environment))
    assert at_end(document).get("heap_free", 0) < 10 * MB
    assert sentence(document, "kept-by-malloc") is None


@pytest.mark.parametrize("name", OTHERS)
def test_each_part_has_its_sentence(build, record, name):
    source, says, part = OTHERS[name]
    file = record(source)
    document = read(build, file)
    assert re.fullmatch(says, sentence(document, name.split(",")[0]) or "")
    assert at_end(document)[part] > {"untouched": 1, "pins": 12}.get(name, 15) * MB
    assert referee.Referee(file, build).judge() == []


THP = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=4194304"}  # as where they are always given


def test_huge_pages_have_their_sentence_and_the_remedy_helps(build, record):
    """24 arenas with 0.1 MB each, in pages of 2 MB: the rest of them is in memory, too."""
    file = record(HUGE, **THP)
    document = read(build, file)
    look = document["memory"]["looks"][-1]
    if look["huge_bytes"] < 30 * MB:
        pytest.skip(f"the kernel gave {look['huge_bytes']} bytes in huge pages")
    assert re.fullmatch(r"about 4\d\.\d MB \(\d+ % of RSS\) of the heap are in memory at the end without ever having been used, "
                        r"because they are parts of huge pages; prctl\(PR_SET_THP_DISABLE\) makes pages small\.",
                        sentence(document, "huge-pages") or ""), (sentence(document, "huge-pages"), look)
    assert referee.Referee(file, build).judge() == []
    large = at_end(document)
    document = read(build, record(HUGE, "small", **THP))
    small = at_end(document)
    assert sentence(document, "huge-pages") is None
    free = [sum(parts.get(name, 0) for name in ("heap_free", "heap_partly_free")) for parts in (small, large)]
    assert free[0] < free[1] / 4, free


UNHOOKED = r"""
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(void) {
	je_malloc(5);
	char *end = (char *)syscall(SYS_brk, 0);
	memset(end, 1, (char *)syscall(SYS_brk, end + 50000000) - end);  // whose blocks nobody sees
	nanosleep(&(struct timespec){0, 700000000}, NULL);
}
"""


def test_an_allocator_that_is_not_hooked_is_not_said_to_keep_what_it_has(build, tmp_path):
    (tmp_path / "main.c").write_text(attaching.UNHOOKABLE + UNHOOKED)
    subprocess.run(["gcc", "-g", "-O1", "-static", "main.c", "-o", "main"], cwd=tmp_path, check=True, timeout=60)
    out = tmp_path / "out.zst"
    subprocess.run([build / "heaptrack", "-q", "-o", out, tmp_path / "main"], check=True, timeout=60)
    document = read(build, out)
    assert any(line["id"] == "not-hooked" for line in document["quality"]["sentences"])
    parts = {part["id"]: part["bytes"] for part in document["memory"]["looks"][-1]["parts"]}
    assert parts["heap"] >= 40 * MB and "heap_free" not in parts, parts
    assert sentence(document, "kept-by-malloc") is None


def test_a_program_that_frees_all_at_its_end_is_accused_of_nothing(build, record):
    source = KEEPS.replace("last = malloc(1000);", "nanosleep(&(struct timespec){0, 500000000}, NULL);") \
        .replace("i < 60; i++", "i < 1; i++")
    document = read(build, record(source))
    assert at_end(document).get("heap_free", 0) + sum(at_end(document).values()) > 0
    assert not {f["id"] for f in document["findings"]} & {"kept-by-malloc", "mapped", "thread-stacks", "lazy-free",
                                                          "untouched", "pins", "huge-pages", "swap"}


LENSES = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#define map_some(n) mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
__attribute__((noinline)) static void keep_table(void) { memset(map_some(3 << 20), 1, 3 << 20); }
__attribute__((noinline)) static char *borrow_table(void) { return memset(map_some(5 << 20), 1, 5 << 20); }
__attribute__((noinline)) static char *reserve(void) { char *p = malloc(40 << 20); return memset(p, 1, 8 << 20); }
int main(void) {
	char *volatile early = borrow_table();
	keep_table();
	nanosleep(&(struct timespec){1, 500000000}, NULL);
	munmap(early, 5 << 20);
	char *volatile late = reserve();
	nanosleep(&(struct timespec){0, 700000000}, NULL);
	_Exit(*late == 0);
}
"""


def test_what_is_mapped_or_absent_is_seen_through_a_lens(build, record):
    file = record(LENSES)

    def parts(lens, by="site"):
        said = read(build, file, "--by", by, "--lens", lens)
        return {p["label"]: p["bytes"] for p in said["parts"]}, said["totals"]["bytes"]
    mappings = read(build, file, "--limit", "0")["memory"]["mappings"]
    (mapped, whole), (left, all_left) = parts("m=mapped"), parts("m=never-unmapped")
    assert mapped["keep_table"] == left["keep_table"] == 3 << 20 and mapped["borrow_table"] == 5 << 20 and not left.get("borrow_table")
    assert whole == sum(m["peak_bytes"] for m in mappings) and all_left == sum(m["never_unmapped_bytes"] for m in mappings)
    assert parts("m=mapped&focus=borrow_table")[0] == {"borrow_table": 5 << 20}
    later = parts("m=mapped&t=-0.4s-end")[0]
    assert later["keep_table"] == 3 << 20 and not later.get("borrow_table"), later
    look = max(read(build, file)["memory"]["looks"], key=lambda a: a["rss_bytes"])
    of = {part["id"]: part["bytes"] for part in look["parts"]}
    resident, all_resident = parts("m=resident")
    assert all_resident == sum(resident.values()) == of["heap_live"] + of["mapped"], (resident, of)
    assert resident["keep_table"] == 3 << 20 and list(resident)[:2] == ["reserve", "keep_table"], resident
    absent, _ = parts("m=untouched")
    assert list(absent) == ["reserve"] and 29 * MB < absent["reserve"] < 34 * MB, absent  # huge pages are in memory whole
    assert parts("m=never-unmapped&q=keep_table")[1] == 3 << 20
    for metric in "resident", "untouched":  # the range chooses the look
        for view in ("--by", "site"), ("--tree",):
            lens = f"m={metric}&t=0.1s-end"
            said = subprocess.run([build / "heaptrack_print", *view, "--lens", lens, file], check=True, capture_output=True,
                                  text=True, timeout=60).stdout
            assert re.search(rf"; time range from (?:9|10)\d ms to \S+ s\nlens: m={metric}&t=\S+-end\n", said), said
        said = read(build, file, "--by", "site", "--lens", lens)["lens"]
        assert said["from_edge"] is not None and 0 < said["from_ns"] <= 110_000_000, said
    plain, asked = (subprocess.run([build / "heaptrack_print", "--memory", *lens, file], check=True, capture_output=True, timeout=60)
                    for lens in ((), ("--lens", "m=mapped")))
    assert plain.stdout == asked.stdout, "it has no metric"
    text = subprocess.run([build / "heaptrack_print", "--by", "site", "--lens", "m=mapped", file], check=True, capture_output=True,
                          text=True, timeout=60).stdout
    assert re.search(r"^mapped: 8\.4 MB in 2 mappings, at \d", text) and re.search(r"3\.1M +\d+ +1  keep_table", text), text


ARENAS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static void *volatile blocks[2][4000], *volatile large;
static void *fill(void *row) { // four to a page; then one to a page
	for (int i = 0; i < 4000; i++) { memset(blocks[(long)row][i] = malloc(1000), 1, 1000); }
	for (int i = 0; i < 4000; i++) { if (i % 4) { free(blocks[(long)row][i]); } }
	return NULL;
}
int main(void) {
	pthread_t thread;
	fill(0);
	pthread_create(&thread, NULL, fill, (void *)1);
	pthread_join(thread, NULL);
	return !memset(large = malloc(4 << 20), 1, 4 << 20);
}
"""


def test_arenas_say_how_full_they_are(build, record):
    file = record(ARENAS)
    look = read(build, file, "--memory")["looks"][-1]
    of = {part["id"]: part["bytes"] for part in look["parts"]}
    arenas = {a["name"]: a for a in look["arenas"]}
    other = next(name for name in arenas if name.startswith("arena at 0x"))
    assert set(arenas) == {"main arena", "large blocks", other}, arenas
    assert sum(sum(a["bytes_by_fullness"]) for a in arenas.values()) == sum(of[name] for name in of if name.startswith("heap_"))
    assert sum(a["live_bytes"] for a in arenas.values()) == of["heap_live"]
    for a in (arenas["main arena"], arenas[other]):
        assert 1_000_000 <= a["live_bytes"] <= 1_100_000, a
        assert sum(a["bytes_by_fullness"][1:6]) > 0.9 * sum(a["bytes_by_fullness"]), a
    assert arenas["large blocks"]["live_bytes"] == 4 << 20
    assert arenas["large blocks"]["bytes_by_fullness"][10] >= (4 << 20) - 4096
    text = subprocess.run([build / "heaptrack_print", "--memory", file], check=True, capture_output=True, text=True,
                          timeout=60).stdout
    assert re.search(rf"^      {other}: 4\.\d MB, 1\.0 MB live; [\d.]+ k?B in empty pages, \d\.\d MB in pages up to half full$",
                     text, re.M), text


@pytest.mark.parametrize("words, says", [
    (["--timeline", "--lens", "m=mapped"], "m=mapped is not of blocks, so only --by, --tree and --stacks show it"),
    (["--export", "csv=x.csv", "--lens", "m=resident"], "an export shows blocks alone"),
    (["--export", "csv=x.csv", "--lens", "m=mapped", "-d", "again"], "an export shows blocks alone"),
    (["--callers", "main", "--lens", "m=mapped", "-d", "again"], "this view cannot compare recordings"),
    (["--by", "site", "--lens", "m=untouched&t=0-0.001"], "nobody looked at that time"),
])
def test_who_does_not_know_mappings_says_so(build, record, tmp_path, words, says):
    file = record(LENSES)
    words = [str(file) if word == "again" else word for word in words]
    done = subprocess.run([build / "heaptrack_print", *words, file], capture_output=True, text=True, check=False, timeout=60,
                          cwd=tmp_path)
    assert done.returncode == 1 and says in done.stderr, done
    assert not (tmp_path / "x.csv").exists()


def test_gates_judge_looks(build, record):
    file = record(KEEPS)

    def fails(gate):
        return subprocess.run([build / "heaptrack_print", "--fail-if", gate, file], capture_output=True, check=False,
                              timeout=120).returncode
    assert [fails(gate) for gate in ("rss>50M", "heap-free>50M", "heap-free>60%", "unknown>2%", "untouched>10M",
                                     "rss>500M")] == [3, 3, 3, 0, 0, 0]


STEPS = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static char *all[40000];
static void idle(int tens_of_ms) {
	for (int i = 0; i < tens_of_ms; i++) {
		char *volatile p = malloc(60);
		free(p);
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
}
__attribute__((noinline)) static void load_some(int from, int to) {
	for (int i = from; i < to; i++) { all[i] = memset(malloc(1000), 1, 1000); }
}
__attribute__((noinline)) static void map_table(void) {
	memset(mmap(NULL, 40000000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 40000000);
}
int main(int argc, char **argv) {
	load_some(0, 2000);
	idle(*argv[1] == 's' ? 5 : 100); // later, who does little is looked at less often
	switch (*argv[1]) {
	case 'm': map_table(); break;
	case 'e': for (int i = 0; i < 100; i++) { load_some(i * 400, i * 400 + 400); idle(2); } break;
	default: load_some(2000, 40000);
	}
	idle(*argv[1] == 'e' ? 10 : 70);
	for (int i = 0; i < 40000; i++) { free(all[i]); }
	idle(*argv[1] == 'm' || *argv[1] == 'h' ? 180 : 80);
	return argc < 1;
}
"""


@pytest.mark.parametrize("what, says", [
    ("mapped", r"RSS rose by (3\d|40)\.\d MB from [\d.]+ m?s to [\d.]+ s, to 4\d\.\d MB; meanwhile map_table program\.c:18 mapped 40\.0 MB\."),
    ("heap", r"RSS rose by (3\d|40)\.\d MB from [\d.]+ m?s to [\d.]+ s, to 4\d\.\d MB; meanwhile load_some program\.c:15 grew by 3\d\.\d MB\."),
    ("start", None), ("even", None)], ids=["mapped", "heap", "start", "even"])
def test_a_step_of_rss_has_its_cause(build, record, what, says):
    """Also that a start is none, nor growth at an even pace."""
    for _ in range(3):  # a machine that stalls bends the curve
        file = record(STEPS, what)
        said = sentence(read(build, file), "rss-step")
        is_right = said is None if says is None else re.fullmatch(says, said or "")
        if is_right:
            break
    assert is_right, said
    assert referee.Referee(file, build).judge() == []


MAKERS = "#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n#include <time.h>\n" + "".join(
    f"__attribute__((noinline)) static void make{i}(void) {{\n\tmemset(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, "
    "MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 1 << 20);\n}\n" for i in range(20)) + (
    "int main(void) {\n\tvoid (*makers[])(void) = {" + ", ".join(f"make{i}" for i in range(20)) + "};\n"
    "\tfor (int i = 0; i < 3000; i++) {\n\t\tchar *volatile p = malloc(60);\n\t\tfree(p);\n"
    "\t\tif (i % 50 == 0) { makers[i / 50 % 20](); }\n\t\tnanosleep(&(struct timespec){0, 1000000}, NULL);\n"
    "\t}\n\treturn 0;\n}\n")


def test_growth_by_many_makers_names_its_part(build, record):
    """None of the twenty maps a tenth of RSS, so none is named for it. A busy machine makes growth uneven, which the referee judges."""
    file = record(MAKERS)
    document = read(build, file)
    assert re.fullmatch(r"resident memory beyond the largest heap so far grew by [\d.]+ MB \([\d.]+ MB/s(?: towards the end)?\) "
                        r'from [\d.]+ m?s on; the heap by [\d.]+ k?B; of its parts, "mapped" grew most, by [\d.]+ MB from [\d.]+ m?s to [\d.]+ s\.',
                        sentence(document, "outside-growing") or ""), document["findings"]
    assert sentence(document, "mapped-growing") is None
    assert referee.Referee(file, build).judge() == []


MAPPER = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static void *maps[200];
__attribute__((noinline)) static void map_at(int i) {
	maps[i] = memset(mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 1 << 20);
	__asm__ volatile("");
}
__attribute__((noinline)) static void deeper(int i, int depth) {
	if (depth > 0) { deeper(i, depth - 1); } else { map_at(i); }
	__asm__ volatile("");
}
static void work(int ms) {
	for (int i = 0; i < ms; i++) {
		char *volatile p = malloc(60);
		free(p);
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
}
"""


def test_what_was_mapped_at_the_start_is_not_said_to_grow(build, record):
    document = read(build, record(MAPPER + """
int main(void) {
	for (int i = 0; i < 60; i++) { map_at(i); work(10); }
	work(3000);
	return 0;
}
"""))
    assert len(document["memory"]["looks"]) > 4 and sentence(document, "mapped-growing") is None, document["findings"]
    assert re.match(r"map_at program\.c:\d+ has mapped 6[23]\.\d MB \(", sentence(document, "mapped") or ""), document["findings"]


def test_all_that_one_maps_is_counted_from_however_many_callers(build, record):
    """As an interpreter's arenas, each of which another function needed."""
    file = record(MAPPER + "int main(void) { for (int i = 0; i < 100; i++) { deeper(i, i); } work(50); return 0; }")
    document = read(build, file)
    assert re.match(r"map_at program\.c:\d+ has mapped 104\.9 MB \(", sentence(document, "mapped") or ""), document["findings"]


def test_without_looks_nothing_is_said(build, tmp_path):
    out = tmp_path / "recording.zst"
    subprocess.run([build / "heaptrack", "-q", "--no-memory", "-o", out, "/bin/true"], check=True, timeout=60)
    text = subprocess.run([build / "heaptrack_print", out], capture_output=True, text=True, check=True, timeout=60).stdout
    assert "MEMORY" not in text
    assert read(build, out)["memory"] is None
    done = subprocess.run([build / "heaptrack_print", "--fail-if", "rss>1", out], capture_output=True, text=True, check=False,
                          timeout=60)
    assert done.returncode == 3 and "the file does not contain this figure" in " ".join(done.stdout.split())


FILLS = r"""
#include <stdlib.h>
#include <string.h>
static char *all[400000];
int main(void) {
	for (int i = 0; i < 400000; i++) { all[i] = malloc(1000); memset(all[i], 1, 1000); }
	for (int i = 0; i < 400000; i++) { free(all[i]); }
	return 0;
}
"""


def test_what_is_filled_while_it_is_looked_at_is_not_untouched(build, record):
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})  # it runs on while heaptrack waits for the processor
    try:
        for _ in range(3):
            assert sentence(read(build, record(FILLS)), "untouched") is None
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.skipif(os.getuid() != 0, reason="needs another user")
def test_a_program_whose_pages_may_not_be_read(build, tmp_path):
    """Not dumpable, and not root's: one sentence instead of the section; root reads it all the same."""
    folder = Path(tempfile.mkdtemp(prefix="ht", dir="/tmp"))
    try:
        os.chown(folder, NOBODY, NOBODY)
        source = KEEPS.replace("int main(int argc, char **argv) {", "int main(int argc, char **argv) {\n\tprctl(PR_SET_DUMPABLE, 0);")
        (folder / "program.c").write_text("#include <sys/prctl.h>\n" + source)
        subprocess.run(["gcc", "-g", "-O1", "program.c", "-o", "program"], cwd=folder, check=True, timeout=60)
        for user in NOBODY, 0:
            file = folder / f"{user}.zst"
            subprocess.run([build / "heaptrack", "-q", "-o", file, folder / "program"], check=True, timeout=120, cwd=folder,
                           user=user, group=user, extra_groups=[])
            document = read(build, file)
            lines = [line["text"] for line in document["quality"]["sentences"] if line["id"] == "no-looks"]
            report = subprocess.run([build / "heaptrack_print", file], check=True, capture_output=True, text=True, timeout=120).stdout
            assert len(document["memory"]["looks"]) == 0 if user else document["memory"]["looks"], document["quality"]
            assert (document["quality"]["looks_refused"] > 0) == (user != 0)
            assert lines == (["what resident memory holds is not known: the kernel does not let this user read which pages the "
                              "program has; root may"] if user else []), document["quality"]
            assert ("which pages the program has" in " ".join(report.split())) == (user != 0), report
    finally:
        shutil.rmtree(folder)
