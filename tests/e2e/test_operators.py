"""operator new is one allocation, operator delete one free: through malloc, through an allocator's own
library, and in C++ libraries that a C program loads into a scope of their own.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
ALLOCATORS = ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc.so.4", "libtcmalloc_minimal.so.4"]
FORMS = [f"by_{form}{array}" for form in ("new", "nothrow", "aligned", "aligned_nothrow")
         for array in ("", "_array")]
SOURCE = Path(__file__).resolve().parent.parent / "victims" / "operators.cpp"
N, SIZE = 1000, 64


def assert_each_is_one(recording, helpers, plain=None, failed=1):
    """As it runs by itself: one allocator throws where there is no memory, another aborts."""
    status, output = (plain.status, plain.stdout) if plain else (0, "caught\n")
    assert (recording.status, recording.stdout) == (status, output), repr(recording)
    known = recording.json()
    assert known["summary"]["failed"] == (failed if status == 0 else 0)
    made_all, kept_all = (  # without what the loader allocates at their first calls
        [site for site in known["sites"][name] if site["bytes"] == SIZE * site["blocks"]]
        for name in ("allocations", "never_freed"))
    for form in FORMS:
        made, kept = helpers.through(made_all, form), helpers.through(kept_all, form)
        assert (helpers.total(made, "blocks"), helpers.total(made, "bytes")) == (N, SIZE * N), form
        assert (helpers.total(kept, "blocks"), helpers.total(kept, "bytes")) == \
            (N // 10, SIZE * N // 10), form
    assert known["summary"]["lost_events"] == 0
    # What a failed operator allocates itself (its exception, the loader's text) is not recorded,
    # but may be freed when it has long been left
    for what in ("unknown_frees", "double_allocations"):
        assert known["quality"][what] <= 3 * known["summary"]["failed"]


def test_by_malloc(tools, helpers):
    assert_each_is_one(tools.record(tools.victim("operators"), N), helpers)


def library(name):
    if not (LIBRARIES / name).exists():
        pytest.skip(f"no {name} here")
    return LIBRARIES / name


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_preloaded_allocator(tools, helpers, allocator):
    command, env = [tools.victim("operators"), N], {"LD_PRELOAD": str(library(allocator))}
    assert_each_is_one(tools.record(*command, env=env), helpers, tools.run(*command, env=env))


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_linked_allocator(tools, helpers, tmp_path, allocator):
    program = compiled(tmp_path / "linked", "-Wl,--no-as-needed", library(allocator))
    assert_each_is_one(tools.record(program, N), helpers, tools.run(program, N))


def compiled(path, *options):
    if not shutil.which("g++"):
        pytest.skip("no g++ here")
    subprocess.run(["g++", "-g", "-O1", "-fno-inline", SOURCE, "-o", path, *options], check=True,
                   timeout=100)
    return path


def test_counting_library_between(tools, build, helpers, tmp_path):
    """malloc is then of another library than the operators, which still do not call it."""
    from counting import Counter
    counter = Counter(build, tmp_path)
    preload = f"{counter.env['LD_PRELOAD']}:{library('libjemalloc.so.2')}"
    recording = tools.record(tools.victim("operators"), N, env={**counter.env, "LD_PRELOAD": preload})
    assert_each_is_one(recording, helpers)


@pytest.mark.parametrize("options", [[], ["-static-libstdc++"]], ids=["shared", "static"])
def test_library_in_a_scope_of_its_own(tools, helpers, tmp_path, options):
    """Loaded and unloaded, by a program in C: what its operators are made of does not go with it."""
    first, second = (compiled(tmp_path / f"{name}.so", "-shared", "-fPIC", *options)
                     for name in ("first", "second"))
    program = f"""
import _ctypes, ctypes
for path in [{str(first)!r}, {str(second)!r}]:
    library = ctypes.CDLL(path)
    library.work({N // 2})
    _ctypes.dlclose(library._handle)
"""
    recording = tools.record("/usr/bin/python3", "-c", program)
    recording.stdout = recording.stdout.replace("caught\ncaught\n", "caught\n")
    assert_each_is_one(recording, helpers, failed=2)


def test_without_a_recording_it_is_as_without_us(tools):
    env = {"LD_PRELOAD": str(tools.preload)}
    alone = tools.run(tools.victim("operators"), N, env=env)
    assert (alone.status, alone.stdout, alone.stderr) == (0, "caught\n", ""), repr(alone)


FIRST_CALLS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), *p;
	printf("%d %s\\n", plugin != NULL, dlerror());
	int missing = dlopen("a-library-that-is-not-there.so", RTLD_NOW) == NULL;
	free(realloc(calloc(1, 10), 1000));
	free(reallocarray(NULL, 3, 30));
	free(posix_memalign(&p, 64, 64) == 0 ? p : NULL);
	free(aligned_alloc(64, 64));
	free(memalign(64, 64));
	free(valloc(64));
	free(pvalloc(64));
	printf("%d %s\\n", missing, dlerror());
	return plugin != NULL ? dlclose(plugin) : 1;
}
"""


def test_first_calls_leave_what_the_loader_says(tools, tmp_path):
    """A C program, its plugin of C++, and an error that the program has not asked for yet."""
    (tmp_path / "plugin.cpp").write_text("static int *one = new int[9], *two = new int;\n"
                                         "struct at_end { ~at_end() { delete[] one; delete two; } } end;\n")
    (tmp_path / "main.c").write_text(FIRST_CALLS)
    subprocess.run(["g++", "-shared", "-fPIC", "-o", tmp_path / "plugin.so", tmp_path / "plugin.cpp"],
                   check=True)
    subprocess.run(["gcc", "-fno-builtin", "-o", tmp_path / "main", tmp_path / "main.c"], check=True)
    command = [tmp_path / "main", tmp_path / "plugin.so"]
    plain, recording = tools.run(*command), tools.record(*command)
    assert plain.status == recording.status == 0, repr(recording)
    assert "1 (null)" in plain.stdout and "1 a-library" in plain.stdout
    assert recording.stdout == plain.stdout
    quality = recording.json()["quality"]
    assert quality["unknown_frees"] == quality["double_allocations"] == 0


def test_first_realloc_inside_dlerror(tools, tmp_path):
    """dlerror() makes its text with asprintf, while what it is made of must stay."""
    (tmp_path / "main.c").write_text("""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
	void *blocks[6];
	dlopen("/a-library-that-is-not-there.so", RTLD_NOW); // keeps 24 bytes for what dlerror is to tell
	for (int i = 0; i < 6; i++) {
		blocks[i] = malloc(24);
	}
	for (int i = 0; i < 6; i++) {
		free(blocks[i]);
	}
	puts(dlerror());
	for (int i = 0; i < 6; i++) {
		blocks[i] = malloc(24);
	}
	for (int i = 0; i < 6; i++) {
		free(blocks[i]);
	}
}
""")
    subprocess.run(["gcc", "-O0", "-fno-builtin", "-o", tmp_path / "main", tmp_path / "main.c"], check=True)
    plain, recording = tools.run(tmp_path / "main"), tools.record(tmp_path / "main")
    assert plain.status == recording.status == 0, repr(recording)
    assert recording.stdout == plain.stdout
    quality = recording.json()["quality"]
    assert quality["unknown_frees"] == quality["double_allocations"] == 0
