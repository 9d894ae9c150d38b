"""Libraries that look their functions up elsewhere than the program does: whatever they allocate is
recorded, and a block that crosses from one to the other is one block.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

import kde

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
N = 1000

PLUGIN = """
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *plugin_make(size_t size) { return memset(malloc(size), 1, size); }
__attribute__((noinline)) void *plugin_zeroed(size_t size) { return calloc(2, size / 2); }
__attribute__((noinline)) void *plugin_aligned(size_t size) {
	void *block = NULL;
	return posix_memalign(&block, 64, size) == 0 ? realloc(block, 2 * size) : NULL;
}
__attribute__((noinline)) char *plugin_text(void) { return strdup("a text"); }
void plugin_end(void *block) { free(block); }
"""
HOST = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#define OURS __attribute__((noinline))
static void *(*make[3])(size_t);
static char *(*text)(void);
static void (*end)(void *);
OURS static void *host_make(size_t size) { return malloc(size); }
int main(int argc, char **argv) {
	void *library = %s;
	if (!library) {
		puts(dlerror());
		return 1;
	}
	make[0] = dlsym(library, "plugin_make");
	make[1] = dlsym(library, "plugin_zeroed");
	make[2] = dlsym(library, "plugin_aligned");
	text = dlsym(library, "plugin_text");
	end = dlsym(library, "plugin_end");
	for (int i = 0; i < %d; i++) {
		for (int k = 0; k < 3; k++) {
			void *block = make[k](96);
			%s
		}
		%s
		end(make[0](32));
		%s
	}
	end(make[1](4000));
	make[0](5000);
	puts("done");
	return 0;
}
"""
CROSSES = ("free(block);", "end(host_make(48));", "end(text());")
STAYS = ("end(block);", "free(host_make(48));", "")
DEEP = "dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND)"


@pytest.fixture
def build_one(tmp_path):
    if not shutil.which("gcc"):
        pytest.skip("no gcc here")

    def build_it(name, source, *options):
        (tmp_path / f"{name}.c").write_text(source)
        subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-o", tmp_path / name,
                        tmp_path / f"{name}.c", *options], check=True, timeout=100)
        return tmp_path / name

    return build_it


def host(build_one, opens, uses=CROSSES):
    return build_one("host", HOST % (opens, N, *uses), "-ldl")


def assert_all_is_seen(recording, helpers):
    assert (recording.status, recording.stdout) == (0, "done\n"), repr(recording)
    known = recording.json()
    made, kept = known["sites"]["allocations"], known["sites"]["never_freed"]
    for function, blocks, size in (("plugin_make", 2 * N + 1, 128 * N + 5000),
                                   ("plugin_zeroed", N + 1, 96 * N + 4000),
                                   ("plugin_text", N, 7 * N), ("host_make", N, 48 * N)):
        sites = helpers.through(made, function)
        assert (helpers.total(sites, "blocks"), helpers.total(sites, "bytes")) == (blocks, size), \
            function
    assert helpers.total(helpers.through(made, "plugin_aligned"), "blocks") == 2 * N
    assert known["summary"]["reallocations"] >= N
    assert [site["bytes"] for site in helpers.through(kept, "plugin_make")] == [5000]
    for what in ("unknown_frees", "double_allocations"):
        assert known["quality"][what] == 0


def test_deep_bound_library(tools, helpers, build_one):
    """RTLD_DEEPBIND, as PHP loads its extensions: it finds the C library before the recorder."""
    plugin = build_one("plugin.so", PLUGIN, "-shared", "-fPIC")
    assert_all_is_seen(tools.record(host(build_one, DEEP), plugin), helpers)


def test_deep_bound_with_lazy_binding(tools, helpers, build_one):
    plugin = build_one("plugin.so", PLUGIN, "-shared", "-fPIC", "-Wl,-z,lazy")
    lazily = DEEP.replace("RTLD_NOW", "RTLD_LAZY")
    assert_all_is_seen(tools.record(host(build_one, lazily), plugin), helpers)


def test_functions_looked_up_in_the_c_library(tools, helpers, build_one):
    """By a handle of it, by RTLD_NEXT: the program's own wrappers."""
    source = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static void *wrapped(void *(*allocate)(size_t)) { return allocate(24); }
int main(void) {
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *(*of_libc)(size_t) = dlsym(libc, "malloc"), *(*next)(size_t) = dlsym(RTLD_NEXT, "malloc");
	void (*release)(void *) = dlsym(libc, "free");
	Dl_info info;
	for (int i = 0; i < 1000; i++) {
		free(wrapped(of_libc));
		release(wrapped(next));
		release(wrapped(malloc));
		free(wrapped(dlvsym(libc, "malloc", "GLIBC_2.2.5")));
	}
	puts(dladdr((void *)of_libc, &info) && dladdr((void *)puts, &info) ? info.dli_sname : "nothing");
	return 0;
}
"""
    program = build_one("wrappers", source, "-ldl")
    recording, plain = tools.record(program), tools.run(program)
    assert (recording.status, recording.stdout) == (0, plain.stdout), repr(recording)
    known = recording.json()
    made = helpers.through(known["sites"]["allocations"], "wrapped")
    assert helpers.total(made, "blocks") == 4 * N
    assert not helpers.through(known["sites"]["never_freed"], "wrapped")
    assert known["quality"]["unknown_frees"] == known["quality"]["double_allocations"] == 0


@pytest.mark.parametrize("allocator", ["libjemalloc.so.2", "libmimalloc.so.2",
                                       "libtcmalloc_minimal.so.4"])
def test_deep_bound_beside_another_allocator(tools, build_one, allocator):
    """Then the library's blocks are of another heap than the program's, with us and without."""
    if not (LIBRARIES / allocator).exists():
        pytest.skip(f"no {allocator} here")
    plugin = build_one("plugin.so", PLUGIN, "-shared", "-fPIC")
    program = host(build_one, DEEP, STAYS)
    env = {"LD_PRELOAD": str(LIBRARIES / allocator)}
    recording = tools.record(program, plugin, env=env)
    assert (recording.status, recording.stdout) == (0, "done\n"), repr(recording)
    known = recording.json()
    assert known["quality"]["unknown_frees"] == known["quality"]["double_allocations"] == 0


def test_counting_library_behind_the_recorder(tools, build, helpers, build_one, tmp_path):
    """It asks for the next malloc, which must not be ours."""
    from counting import Counter
    counter = Counter(build, tmp_path)
    plugin = build_one("plugin.so", PLUGIN, "-shared", "-fPIC")
    recording = tools.record(host(build_one, DEEP, STAYS), plugin, env=counter.env)
    assert (recording.status, recording.stdout) == (0, "done\n"), repr(recording)


def test_library_in_a_namespace_of_its_own(tools, helpers, build_one):
    """dlmopen brings a C library of its own, which is not recorded; the program's blocks are."""
    plugin = build_one("plugin.so", PLUGIN, "-shared", "-fPIC")
    program = host(build_one, "dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW)", STAYS)
    recording = tools.record(program, plugin)
    assert (recording.status, recording.stdout) == (0, "done\n"), repr(recording)
    known = recording.json()
    made = helpers.through(known["sites"]["allocations"], "host_make")
    assert helpers.total(made, "blocks") == N
    assert not helpers.through(known["sites"]["never_freed"], "host_make")
    assert known["quality"]["unknown_frees"] == known["quality"]["double_allocations"] == 0


def test_php_with_mbstring(tools):
    """Its extensions are deep-bound. KDE's heaptrack drops that flag, and counts the same."""
    if not shutil.which("php") or "mbstring" not in tools.run("php", "-m").stdout:
        pytest.skip("no php with mbstring here")
    if not Path(kde.HEAPTRACK).exists():
        pytest.skip("no heaptrack of KDE here")
    script = tools.folder / "mb.php"
    script.write_text('<?php for ($i = 0; $i < 3000; $i++) { mb_ereg("a(b+)c$i", "abc$i y", $r); }')
    known = tools.record("php", script).json("--limit", "5")
    raw = kde.record(tools.folder, "php", script, raw=True)  # opens no window
    calls = sum(line.startswith("+") for line in kde.lines(raw))
    assert known["summary"]["allocations"] == pytest.approx(calls, rel=0.01)
    assert known["quality"]["double_allocations"] == 0
