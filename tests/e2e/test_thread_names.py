"""Threads that are gone before anybody can look at them have the names that they had at their first event."""

import signal

import pytest

from attaching import finish, start_listening, target  # noqa: F401
from conftest import wait_until
from ways import WAYS, build_way

ROUNDS = 40  # as tests/victims/named_threads.c has it


def assert_named(tools, file):
    parts = tools.json(file, "--by", "thread", "--lens", "m=allocations")["parts"]
    blocks = {part["label"]: part["allocations"] for part in parts}
    for way in ("prctl", "pthread", "other"):
        of_it = {name: n for name, n in blocks.items() if name.startswith(f"by-{way}-")}
        assert len(of_it) == ROUNDS, (way, sorted(blocks))
        # glibc or musl may allocate in a thread, too
        assert all(n - int(name.rpartition("-")[2]) - 1 in (0, 1) for name, n in of_it.items()), of_it


@pytest.mark.parametrize("way", WAYS)
def test_launched(tools, way, tmp_path):
    recording = tools.record(build_way("named_threads.c", way, tmp_path))
    assert recording.status == 0, repr(recording)
    assert_named(tools, recording.file)


@pytest.mark.parametrize("way", ["glibc", "musl-static"])
def test_attached(tools, build, target, way, tmp_path):  # noqa: F811
    victim = target([build_way("named_threads.c", way, tmp_path), "wait"])
    process = start_listening(build, victim.pid, tmp_path / "names")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "done" in victim.said(), what=repr(victim))
    status, err = finish(process)
    assert status == 0, err
    assert_named(tools, tmp_path / "names.zst")


def test_a_main_thread_that_ends_at_once(tools):
    """It was reaped, now and then, before the collector had looked at it."""
    for i in range(40):
        recording = tools.record(tools.victim("stands_alone"), "0", name=f"recording{i}")
        parts = recording.json("--by", "thread", "--lens", "m=allocations")["parts"]
        assert [part["label"] for part in parts] == ["stands_alone"], i


FILTERED = r"""
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
void *kept[100];
static void *work(void *place) { *(void **)place = malloc(100); return NULL; }
int main(void) {
	struct sock_filter no_prctl[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, no_prctl};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 3;
	free(malloc(1));
	sleep(3); // heaptrack sees the filter when it takes its next sample
	for (int i = 0; i < 100; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, work, &kept[i]) || pthread_join(thread, NULL)) return 4;
	}
	return 0;
}
"""


@pytest.mark.parametrize("way", ["glibc", "static"])
def test_a_sandbox_that_forbids_to_ask_is_not_asked(tools, way, tmp_path):
    (tmp_path / "filtered.c").write_text(FILTERED)
    program = build_way(tmp_path / "filtered.c", way, tmp_path)
    recording = tools.record(program)
    assert recording.status == 0, repr(recording)
    assert recording.json()["summary"]["never_freed_blocks"] >= 100
