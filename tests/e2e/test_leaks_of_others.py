"""Leak tests of memcheck and LeakSanitizer, from Debian's sources: each block is graded as these do, but for
what is listed here by name, with the reason.
"""

import collections
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as tree
from pathlib import Path

import pytest

import debian


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")


def lines_of(site, source):
    """Where in a program's source a block is from: the lines that its call stack passes through there."""
    return tuple(frame["line"] for frame in site["stack"] if os.path.basename(frame["file"] or "") == source)


def graded(run, source):
    """Blocks and bytes of a program's own, by grade and where they are from."""
    document = run.json()
    assert document["leaks"]["looks"], repr(run)
    found = collections.defaultdict(lambda: [0, 0])

    def add(grade, site, sign=1):
        its = found[grade, lines_of(site, source)]
        its[0] += sign * site["blocks"]
        its[1] += sign * site["bytes"]
    for site in document["sites"]["never_freed"]:
        add("held", site)
    for site in document["leaks"]["sites"]:
        if site["grade"] != "disguised":
            add("held", site, -1)
            add("inside" if site["grade"] == "held_inside" else "lost", site)
    return {key: tuple(n) for key, n in found.items() if n[0] > 0 and key[1]}


def build(*command):
    subprocess.run(command, check=True, timeout=120)


def record(tools, *command, **more):
    run = tools.record(*command, options=("--leaks", "--force"), **more)
    assert run.json()["leaks"]["looks"], repr(run)
    return run


# ---- memcheck

KINDS = {"Leak_DefinitelyLost": "lost", "Leak_IndirectlyLost": "lost", "Leak_PossiblyLost": "inside",
         "Leak_StillReachable": "held"}


def memcheck(program, *arguments, environment):
    """As graded(). The heuristics would call some of what is held inside "still reachable"."""
    log = program.with_suffix(".xml")
    subprocess.run(["valgrind", "--leak-check=full", "--show-leak-kinds=all", "--leak-resolution=high",
                    "--leak-check-heuristics=none", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--num-callers=40",
                    "--xml=yes", f"--xml-file={log}", program, *arguments],
                   env={**os.environ, **environment}, timeout=120, check=False, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = collections.defaultdict(lambda: [0, 0])
    for error in tree.parse(log).iter("error"):
        kind = KINDS.get(error.findtext("kind"))
        lines = tuple(int(frame.findtext("line")) for frame in error.find("stack") if frame.findtext("file") == program.name)
        if kind and lines:
            text = error.findtext("xwhat/text")
            size = re.search(r"([\d,]+) direct", text) or re.match(r"([\d,]+) ", text)
            found[kind, lines][0] += int(error.findtext("xwhat/leakedblocks"))
            found[kind, lines][1] += int(size[1].replace(",", ""))
    return {key: tuple(n) for key, n in found.items()}


# Each check that a program asks memcheck for ends it, if it is the one that is asked for
CHECKS = """#include <stdlib.h>
#define NVALGRIND 1
#include "memcheck_of_valgrind.h"
static int checks_done;
#define END_AT_CHECK                                              \\
	do {                                                          \\
		if (++checks_done == atoi(getenv("CHECK"))) { exit(77); } \\
	} while (0)
#undef VALGRIND_DO_LEAK_CHECK
#undef VALGRIND_DO_ADDED_LEAK_CHECK
#undef VALGRIND_DO_CHANGED_LEAK_CHECK
#undef VALGRIND_DO_QUICK_LEAK_CHECK
#define VALGRIND_DO_LEAK_CHECK END_AT_CHECK
#define VALGRIND_DO_ADDED_LEAK_CHECK END_AT_CHECK
#define VALGRIND_DO_CHANGED_LEAK_CHECK END_AT_CHECK
#define VALGRIND_DO_QUICK_LEAK_CHECK END_AT_CHECK
"""
ENDED_AT_CHECK = 77

# Arguments, and which check is in the short form (0: the end)
MEMCHECKS = {
    "leak-0.c": ([], 0),
    "leak-autofreepool.c": (["0", "1", "2", "4", "5", "6"], 0),
    "leak-cases.c": ([], 2),
    "leak-cycle.c": ([], 2),
    "leak-delta.c": ([], 4),
    "leak-pool.c": (["0", "1", "2", "3", "4", "5"], 0),
    "leak-segv-jmp.c": ([], 6),
    "leak-tree.c": ([], 2),
    "leak_cpp_interior.cpp": ([], 1),
}
NO_BLOCKS = {"leak-0.c", "leak-autofreepool.c"}  # that still live: what they test is memcheck's own
# The blocks' bytes, memcheck's grade, ours, and why
MEMCHECK_DIFFERS = {
    "leak-pool.c": ({(4096, "lost", "inside")}, "words of a dead frame lie where later frames have not written; memcheck "
                    "knows that they are undefined"),
    "leak_cpp_interior.cpp": ({(8, "lost", "inside")}, "new T[0] is held one past its end, which the test calls a mistake"),
    "leak-segv-jmp.c": ({(1000, "lost", "held"), (200000, "lost", "held"), (200000, "lost", "inside")},
                        "memory that may not be read any more still holds; memcheck cannot read it"),
}


@pytest.fixture(scope="module")
def valgrind(tmp_path_factory):
    needs("valgrind", "gcc", "g++")
    folder = debian.fetch_source("valgrind", tmp_path_factory.mktemp("valgrind"), [
        "*/memcheck/tests/leak*", "*/memcheck/memcheck.h", "*/include/valgrind.h"])
    header = folder / "memcheck/memcheck.h"
    header.rename(header.with_name("memcheck_of_valgrind.h"))
    header.write_text(CHECKS)
    return folder


def compare(name, ours, theirs, differs):
    """Equal but for blocks that are listed. How many blocks were equal."""
    for key in {*ours, *theirs}:
        if ours.get(key) == theirs.get(key):
            continue
        lines = key[1]
        their, = (grade for grade, its in theirs if its == lines)
        our, = (grade for grade, its in ours if its == lines)
        assert (theirs[their, lines][1], their, our) in differs, (name, lines, our, their, ours, theirs)
        assert theirs[their, lines] == ours[our, lines]
    return sum(blocks for key, (blocks, _) in ours.items() if theirs.get(key) == ours[key])


@pytest.mark.waits
def test_memchecks_own_tests(tools, valgrind, is_long):
    """At each of the checks that they ask for, and at their end."""
    sources = {source.name: source for source in (valgrind / "memcheck/tests").glob("leak*.c*")}
    assert sources.keys() == MEMCHECKS.keys()
    equal, seen = 0, collections.Counter()
    for name, (arguments, its_check) in MEMCHECKS.items():
        if not is_long and name in NO_BLOCKS:
            continue
        program = tools.folder / name
        build("gcc" if name.endswith(".c") else "g++", "-O0", "-g", "-w", f"-I{valgrind}/include", "-o", program, sources[name])
        differs = MEMCHECK_DIFFERS.get(name, ((), ""))[0]
        for argument in (arguments if is_long else arguments[:1]) or [None]:
            check, status = 1 if is_long else its_check, ENDED_AT_CHECK
            while status == ENDED_AT_CHECK:
                more = [] if argument is None else [argument]
                environment = {"CHECK": str(check)}
                run = record(tools, program, *more, env=environment)
                status, check = run.status, check + 1
                ours, theirs = graded(run, name), memcheck(program, *more, environment=environment)
                equal += compare(name, ours, theirs, differs)
                seen.update(grade for grade, _ in ours)
                if not is_long:
                    break
    assert equal >= (100 if is_long else 40) and seen["lost"] and seen["inside"] and seen["held"], (equal, seen)
    print(f"memcheck: {equal} blocks are graded alike")


# ---- LeakSanitizer

# By its own rules all of stacks and registers holds, as by ours. Its tests switch these off, where a word of a dead
# frame of main may hold what is lost: that is equal then, too
ARGUMENTS = {"high_allocator_contention.cpp": ["5", "1000000"], "swapcontext.cpp": ["foo"]}
OPTIONS = {"use_unaligned.cpp": "use_unaligned=1"}
LSANS = {
    "high_allocator_contention.cpp", "large_allocation_leak.cpp", "leak_check_before_thread_started.cpp",
    "malloc_zero.c", "many_threads_detach.cpp", "many_tls_keys_pthread.cpp", "many_tls_keys_thread.cpp",
    "new_array_with_dtor_0.cpp", "pointer_to_self.cpp", "realloc_zero.c", "sanity_check_pure_c.c",
    "stale_stack_leak.cpp", "strace_test.cpp", "suppressions_file.cpp", "swapcontext.cpp", "use_after_return.cpp",
    "use_globals_initialized.cpp", "use_globals_uninitialized.cpp", "use_globals_unused.cpp", "use_registers.cpp",
    "use_registers_extra.cpp", "use_stacks.cpp", "use_stacks_threaded.cpp", "use_unaligned.cpp", "Linux/fork.cpp",
    "Linux/fork_and_leak.cpp", "Linux/fork_threaded.cpp", "Linux/guard-page.c", "Linux/libdl_deadlock.cpp",
    "Linux/log-path_test.cpp", "Linux/use_tls_dynamic.cpp", "Linux/use_tls_pthread_specific_dynamic.cpp",
    "Linux/use_tls_pthread_specific_static.cpp", "Linux/use_tls_static.cpp",
}
ANNOTATED = "calls LeakSanitizer, or is called by it"
LSAN_NOT = {name: ANNOTATED for name in (
    "default_options.cpp", "disabler.c", "disabler.cpp", "do_leak_check_override.cpp", "ignore_object.c",
    "ignore_object_errors.cpp", "leak_check_at_exit.cpp", "link_turned_off.cpp", "print_suppressions.cpp",
    "recoverable_leak_check.cpp", "register_root_region.cpp", "suppressions_default.cpp",
    "Linux/cleanup_in_tsd_destructor.c", "Linux/disabler_in_tsd_destructor.c")} | {
    "realloc_too_big.c": "needs LeakSanitizer's limit of an allocation",
    "use_poisoned_asan.cpp": "needs AddressSanitizer",
}
# Ours, LeakSanitizer's, and why
LSAN_DIFFERS = {
    "malloc_zero.c": ({("lost", (15,)): (1, 0)}, {("lost", (15,)): (1, 1)}, "it takes malloc(0) for malloc(1)"),
    "Linux/fork_and_leak.cpp": ({}, {("lost", (22,)): (10, 13370)}, "lost by a child after fork: a recording is of one process"),
}


@pytest.fixture(scope="module")
def llvm(tmp_path_factory):
    needs("clang", "clang++")
    return debian.fetch_source("llvm-toolchain-14", tmp_path_factory.mktemp("llvm"), [
        "*/compiler-rt/test/lsan/TestCases/*", "*/compiler-rt/test/sanitizer_common/*.h"]) / "compiler-rt/test"


def leaksanitizer(program, arguments, options):
    """What it calls lost, as graded()."""
    done = subprocess.run([program, *arguments], timeout=120, check=False, capture_output=True, text=True, errors="replace",
                          env={**os.environ, "LSAN_OPTIONS": options})
    found = collections.defaultdict(lambda: [0, 0])
    for text in done.stderr.split("\n\n"):
        leak = re.search(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object", text)
        lines = tuple(int(line) for line in re.findall(rf"/{re.escape(program.name.split('.lsan')[0])}:(\d+)", text))
        if leak:
            found["lost", lines][0] += int(leak[3])
            found["lost", lines][1] += int(leak[2])
    assert "LeakSanitizer has encountered a fatal error" not in done.stderr
    return {key: tuple(n) for key, n in found.items()}


@pytest.mark.long
def test_leaksanitizers_own_tests(tools, llvm):
    cases = llvm / "lsan/TestCases"
    sources = {str(source.relative_to(cases)) for source in cases.glob("**/*.c*") if source.suffix in (".c", ".cpp")}
    assert sources == LSANS | LSAN_NOT.keys()
    lost = 0
    for name in sorted(LSANS):
        source = cases / name
        program = tools.folder / source.name
        flags = ["-g", "-w", "-O1" if "stale_stack" in name else "-O0", "-pthread", f"-I{llvm}"]
        compiler = "clang" if name.endswith(".c") else "clang++"
        if "globals_unused" in name:
            build(compiler, *flags, "-DTEST_LIB", "-c", "-o", tools.folder / "lib.o", source)
            flags.append(tools.folder / "lib.o")
        sanitized = program.with_suffix(source.suffix + ".lsan")
        for out, its in ((program, []), (sanitized, ["-fsanitize=leak"])):
            build(compiler, *flags, *its, "-o", out, source)
            if "tls_dynamic" in name:
                build(compiler, *flags, "-DBUILD_DSO", "-fPIC", "-shared", "-o", f"{out}-so.so", source)
        arguments = ARGUMENTS.get(name, [])
        ours = {key: n for key, n in graded(record(tools, program, *arguments), source.name).items() if key[0] == "lost"}
        theirs = leaksanitizer(sanitized, arguments, OPTIONS.get(name, ""))
        assert (ours, theirs) == LSAN_DIFFERS.get(name, (ours, ours))[:2], name
        lost += sum(blocks for blocks, _ in ours.values())
    assert lost >= 6, lost
