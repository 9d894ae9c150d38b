"""Libraries that the program loads itself, each with an allocator of its own under a known allocator's names.
Every call reaches the allocator that it would reach without us: each marks its blocks and knows them again.
"""

import shutil
import subprocess

import pytest

from attaching import attach, known, target  # noqa: F401

PLUGIN = r"""
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
struct head { const char *whose; size_t size; };
static _Alignas(16) char pool[1 << 16];
static size_t used;
static int is_mine(void *block) {
	struct head *h = (struct head *)block - 1;
	return (char *)h >= pool && (char *)h < pool + sizeof pool && h->whose == pool;
}
void *ALLOCATE(size_t size) {
	struct head *h = (struct head *)(pool + used);
	used = (used + sizeof *h + size + 15) / 16 * 16 % (sizeof pool / 2);
	*h = (struct head){pool, size};
	return h + 1;
}
void RELEASE(void *block) {
	if (!is_mine(block)) {
		puts(NAME " was given a block that it did not make");
		fflush(stdout);
		_Exit(3);
	}
}
__attribute__((noinline)) void *plugin_make(size_t size) { return ALLOCATE(size); }
int use(void) {
	int mine = 0;
	for (size_t i = 0; i < 100; i++) {
		void *block = plugin_make(24 + i);
		mine += is_mine(block);
		RELEASE(block);
	}
	return mine;
}
"""

# It loads both; closes the first, whose place the next one takes; and goes on with the other
HOST = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile sig_atomic_t is_over;
static void end(int signal) { is_over = signal; }
static int use(void *library) { return ((int (*)(void))dlsym(library, "use"))(); }
int main(int argc, char **argv) {
	int rounds = atoi(argv[1]), good = 0;
	signal(SIGTERM, end);
	for (int i = 0; i < rounds && !is_over; i++) {
		void *a = dlopen(argv[2 + i % 2], RTLD_NOW), *b = dlopen(argv[3 - i % 2], RTLD_NOW);
		free(malloc(32));
		good += use(a) + use(b);
		dlclose(a);
		good += use(b);
		dlclose(b);
		if (i == 0) {
			printf("ready %p %p\n", dlsym(RTLD_DEFAULT, "mi_malloc"), dlsym(RTLD_DEFAULT, "_Znwm"));
			fflush(stdout);
		}
		usleep(rounds > 10 ? 2000 : 0);
		good -= 300 * (rounds > 10);
	}
	printf("%d\n", good);
	return argc == 4 ? 0 : 1;
}
"""
NAMES = [("mi_malloc", "mi_free"), ("_rjem_malloc", "_rjem_free"), ("scalable_malloc", "sdallocx"),
         ("_Znwm", "_ZdlPv")]


@pytest.fixture
def programs(tmp_path):
    """The host, and two libraries whose allocators have these names."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc here")

    def make(name, source, *options):
        (tmp_path / f"{name}.c").write_text(source)
        subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-w", "-o", tmp_path / name, tmp_path / f"{name}.c",
                        *options], check=True, timeout=100)
        return tmp_path / name

    def build(names):
        allocates, releases = names
        return [make("host", HOST, "-ldl"),
                *(make(f"{letter}.so", PLUGIN, "-shared", "-fPIC", f"-DALLOCATE={allocates}",
                       f"-DRELEASE={releases}", f'-DNAME="{letter}"') for letter in "ab")]
    return build


@pytest.mark.parametrize("names", NAMES, ids=[names[0] for names in NAMES])
def test_two_plugins(tools, helpers, programs, names):
    host, a, b = programs(names)
    plain, recording = tools.run(host, 3, a, b), tools.record(host, 3, a, b)
    assert plain.stdout == "ready (nil) (nil)\n900\n"
    assert (recording.status, recording.stdout) == (0, plain.stdout), repr(recording)
    made = recording.json()
    assert helpers.total(helpers.through(made["sites"]["allocations"], "main"), "blocks") >= 3
    assert made["quality"]["unknown_frees"] == made["quality"]["double_allocations"] == 0


def test_children_of_what_is_recorded(tools, programs):
    """They have the recorder, too."""
    host, a, b = programs(NAMES[0])
    recording = tools.record("sh", "-c", f"{host} 3 {a} {b}; exit 4")
    assert (recording.status, recording.stdout) == (4, "ready (nil) (nil)\n900\n"), repr(recording)


def test_attached(build, target, tmp_path, programs):  # noqa: F811
    """Each is hooked where it is, as long as it is there."""
    host, a, b = programs(NAMES[0])
    process = target([host, 1 << 30, a, b])
    for i in range(2):
        attach(build, process.pid, tmp_path / f"{i}.zst", duration="1500ms")
    assert process.is_alive()
    assert process.end() == 0 and process.said() == "ready (nil) (nil)\n0\n", repr(process)
    made = known(build, tmp_path / "1.zst")
    assert made["summary"]["allocations"] > 0


STAYS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
	void *a = argv[2][0] == 'n' ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW) : dlopen(argv[1], RTLD_NOW);
	int good = ((int (*)(void))dlsym(a, "use"))();
	for (int i = 0; i < 60; i++) {
		free(malloc(32));
		usleep(20000);
	}
	return good == 100 ? 0 : 1;
}
"""
HIDDEN = ("-fvisibility=hidden", "-Duse=__attribute__((visibility(\"default\")))use")


@pytest.mark.parametrize("names,how,said", [
    (("mi_malloc", "mi_free"), "open", "mi_malloc, mi_free of plugin.so were seen but not hooked"),
    (("malloc", "free"), "open", None),
    (("malloc", "free"), "hidden", "free, malloc of plugin.so were seen but not hooked"),
    (("malloc", "free"), "namespace", "malloc, calloc, realloc, free of libc.so.6 were seen but not hooked"),
], ids=["own-names", "stood-in-for", "hidden", "namespace"])
def test_what_is_not_recorded_is_said(tools, tmp_path, names, how, said):
    """Seen while the program runs; the names come as the library's table has them. A library whose malloc is ours has nothing to be said about."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc here")
    host, plugin = tmp_path / "stays", tmp_path / "plugin.so"
    source = PLUGIN.replace("void *ALLOCATE", "__attribute__((used)) void *ALLOCATE")
    if how in ("open", "namespace") and names[0] == "malloc":  # plain calls of whatever malloc it is
        source = """#include <stdlib.h>
            int use(void) { for (int i = 0; i < 100; i++) free(malloc(24)); return 100; }"""
        if how == "open":
            source += """
            static char pool[1 << 20]; static size_t used;
            void *malloc(size_t n) { used = (used + n + 31) / 16 * 16 % sizeof pool; return pool + used / 2; }
            void free(void *block) {}"""
    for target, text, options in ((host, STAYS, ["-ldl"]), (plugin, source, [
            "-shared", "-fPIC", f"-DALLOCATE={names[0]}", f"-DRELEASE={names[1]}", '-DNAME="p"',
            *(HIDDEN if how == "hidden" else ())])):
        file = tmp_path / f"{target.name}.c"
        file.write_text(text)
        subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-w", "-o", target, file, *options],
                       check=True, timeout=100)
    recording = tools.record(host, plugin, how)
    assert recording.status == 0, repr(recording)
    texts = {line["id"]: line["text"] for line in recording.json()["quality"]["sentences"]}
    assert ("not-hooked" in texts) == (said is not None), texts
    assert said is None or texts["not-hooked"].startswith(said), texts


MIMALLOC = [f"mi_{name}" for name in (
    "malloc", "free", "calloc", "realloc", "zalloc", "recalloc", "memalign", "valloc", "strdup", "mallocn", "reallocn",
    "reallocf", "malloc_aligned", "malloc_small", "heap_malloc", "heap_calloc", "heap_zalloc", "heap_realloc", "free_size",
    "free_aligned")]


@pytest.mark.parametrize("is_used", [False, True], ids=["unused", "used"])
def test_a_mimalloc_that_nobody_uses_lacks_nothing(tools, tmp_path, is_used):
    """As that in Python 3.13, unless it is chosen: it has mapped no memory of its own."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc here")
    host, plugin = tmp_path / "stays", tmp_path / "plugin.so"
    source = """#include <sys/mman.h>
        __attribute__((noinline, used)) void *_mi_os_alloc(unsigned long n) {
            return mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }"""
    source += "".join(f"void *{name}(unsigned long n) {{ char *p = _mi_os_alloc(n); return p ? p + 16 : p; }}\n"
                      for name in MIMALLOC)
    source += "int use(void) { if (%d) mi_heap_malloc(100000); return 100; }" % is_used
    for target, text, options in ((host, STAYS, ["-ldl"]), (plugin, source, ["-shared", "-fPIC", "-Wl,-Bsymbolic"])):
        file = tmp_path / f"{target.name}.c"
        file.write_text(text)
        subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-w", "-o", target, file, *options], check=True, timeout=100)
    document = tools.record(host, plugin, "open").json()
    texts = {line["id"]: line["text"] for line in document["quality"]["sentences"]}
    assert [one["hooked"] for one in document["allocators"] if one["module"].endswith("plugin.so")] == [False]
    assert ("not-hooked" in texts) == is_used, texts
    assert ("allocator" in document["quality"]["verdict"]) == is_used, document["quality"]
