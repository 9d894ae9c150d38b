"""operator new and delete of a program that is attached to: each one is one allocation, one free.

As test_operators.py has it of launched programs: by malloc, by an allocator's own library, preloaded or
linked, and in static programs. One of them fails: the exception must reach the program.
"""

import shutil
import signal
import subprocess

import pytest

from attaching import changed_code, finish, known, start_listening, target  # noqa: F401
from conftest import wait_until
from test_operators import ALLOCATORS, FORMS, N, SIZE, SOURCE, assert_each_is_one, library
from test_operators import compiled as linked

pytestmark = pytest.mark.attach

WAITS = r"""
#include <csignal>
#include <cstdio>

extern "C" void work(int n);

int main() {
	sigset_t set;
	int signal;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, nullptr);
	std::puts("ready");
	std::fflush(stdout);
	while (sigwait(&set, &signal) == 0 && signal == SIGUSR1) {
		work(%d);
		std::puts("done");
		std::fflush(stdout);
	}
}
"""


@pytest.fixture
def compiled(tmp_path):
    """compiled(options...): a program that calls work() whenever it gets SIGUSR1."""
    if not shutil.which("g++"):
        pytest.skip("no g++ here")

    def compile_it(*options):
        (tmp_path / "waits.cpp").write_text(WAITS % N)
        subprocess.run(["g++", "-g", "-O1", "-fno-inline", "-w", "-c", "-Dmain=not_main", SOURCE, "-o",
                        tmp_path / "operators.o"], check=True, timeout=100)
        subprocess.run(["g++", "-g", "-O1", tmp_path / "waits.cpp", tmp_path / "operators.o", "-o",
                        tmp_path / "waits", *options], check=True, timeout=100)
        return tmp_path / "waits"

    return compile_it


def assert_exact(build, helpers, victim, folder, has_memory_end=0):
    """Each form is seen as often as it was called; what was said of the hooks."""
    process = start_listening(build, victim.pid, folder / "attached")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "done" in victim.said() or not victim.is_alive(), 60, "its work")
    is_alive = victim.is_alive()
    status, err = finish(process) if is_alive else (process.wait(60), process.stderr.read())
    assert status == 0, err
    if is_alive:
        assert not changed_code(victim.pid)
        assert victim.said() == "ready\ncaught\ndone\n", repr(victim)
    assert (victim.end() if is_alive else victim.process.wait(60)) == has_memory_end, repr(victim)
    seen = known(build, folder / "attached.zst")
    made_all, kept_all = ([s for s in seen["sites"][name] if s["bytes"] == SIZE * s["blocks"]]
                          for name in ("allocations", "never_freed"))
    for form in FORMS:
        made, kept = helpers.through(made_all, form), helpers.through(kept_all, form)
        assert helpers.total(made, "blocks") == N, (form, err)
        assert helpers.total(kept, "blocks") == N // 10, form
    assert seen["summary"]["failed"] == 1 and seen["summary"]["lost_events"] == 0
    assert seen["quality"]["double_allocations"] == 0
    return process.said


def test_by_malloc(build, target, compiled, helpers, tmp_path):  # noqa: F811
    assert "operator" not in assert_exact(build, helpers, target([compiled()]), tmp_path)


@pytest.mark.parametrize("options", [["-static"], ["-static-libstdc++", "-static-libgcc"]],
                         ids=["all", "of C++"])
def test_static(build, target, compiled, helpers, tmp_path, options):  # noqa: F811
    victim = target([compiled(*options)])
    assert "operator" not in assert_exact(build, helpers, victim, tmp_path)


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_preloaded_allocator(build, target, compiled, helpers, tmp_path, allocator):  # noqa: F811
    victim = target([compiled()], env={"LD_PRELOAD": str(library(allocator))})
    # mimalloc, as Debian builds it, ends a program that finds no memory
    end = -signal.SIGABRT if "mimalloc" in allocator else 0
    said = assert_exact(build, helpers, victim, tmp_path, end)
    assert "operator new" in said or "mi_new" in said


def test_static_allocator(build, target, compiled, helpers, tmp_path):  # noqa: F811
    victim = target([compiled(library("libjemalloc_pic.a"), "-lpthread", "-ldl", "-lm")])
    assert "operator new" in assert_exact(build, helpers, victim, tmp_path)


def test_static_allocator_from_the_start(tools, helpers, tmp_path):
    program = linked(tmp_path / "linked", library("libjemalloc_pic.a"), "-lpthread", "-ldl", "-lm")
    assert_each_is_one(tools.record(program, N), helpers)
