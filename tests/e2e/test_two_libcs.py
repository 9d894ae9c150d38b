"""A plugin in a namespace of its own (dlmopen), which brings a C library of its own: an attach hooks both."""

import shutil
import signal
import subprocess

import pytest

from attaching import changed_code, finish, known, start_listening, target  # noqa: F401
from conftest import through, total, wait_until

PLUGIN = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *make_block(size_t size) { return malloc(size); }
static void *use(void *kept) {
	for (int i = 0; i < 1000; i++) {
		void *block = make_block(WHO);
		memset(block, 1, WHO);
		if (i % 2) {
			free(block);
		} else if (kept) {
			((void **)kept)[i / 2] = block;
		}
	}
	return NULL;
}
void *kept[500];
void PLUGIN_WORK(void) {
	pthread_t thread;
	use(kept);
	pthread_create(&thread, NULL, use, NULL);
	pthread_join(thread, NULL);
}
"""
HOST = PLUGIN + r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
int main(int argc, char **argv) {
	sigset_t wanted;
	int got;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGUSR1);
	sigaddset(&wanted, SIGTERM);
	sigprocmask(SIG_BLOCK, &wanted, NULL);
	int is_late = argc == 3;
	void *plugin = is_late ? NULL : dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
	puts("ready");
	fflush(stdout);
	while (sigwait(&wanted, &got) == 0 && got != SIGTERM) {
		if (!plugin) {
			plugin = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
			puts("opened");
		} else {
			work();
			((void (*)(void))dlsym(plugin, "plugin_work"))();
			puts("done");
		}
		fflush(stdout);
	}
	return 0;
}
"""


@pytest.fixture
def programs(tmp_path):
    """The host and its plugin."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc here")
    for name, source, options in (
            ("host", "#define _GNU_SOURCE\n" + HOST, ["-DWHO=100", "-DPLUGIN_WORK=work", "-ldl", "-pthread"]),
            ("plugin.so", PLUGIN, ["-DWHO=1000", "-DPLUGIN_WORK=plugin_work", "-shared", "-fPIC", "-pthread"])):
        (tmp_path / f"{name}.c").write_text(source)
        subprocess.run(["gcc", "-g", "-O1", "-fno-builtin", "-w", "-o", tmp_path / name,
                        tmp_path / f"{name}.c", *options], check=True, timeout=100)
    return tmp_path / "host", tmp_path / "plugin.so"


def changed_in_libcs(pid):
    """Bytes that are patched in all C libraries of a process, which are of one file."""
    return sum(".so.6+" in at and "libc" in at for at in changed_code(pid))


@pytest.mark.parametrize("when", ["before", "later"])
def test_both_are_recorded(build, target, tmp_path, programs, when):
    host, plugin = programs
    victim = target([host, plugin, *(["late"] if when == "later" else [])])
    process = start_listening(build, victim.pid, tmp_path / "both")
    of_first = changed_in_libcs(victim.pid)
    if when == "later":
        victim.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: "opened" in victim.said(), what="the plugin")
        wait_until(lambda: changed_in_libcs(victim.pid) >= 2 * of_first, what="the hooks in the second C library")
    victim.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "done" in victim.said(), what="its work")
    status, err = finish(process)
    assert status == 0, err
    data = known(build, tmp_path / "both.zst")
    for site, n in (("allocations", 2000), ("never_freed", 1000)):
        found = through(data["sites"][site], "make_block")
        what = "allocations" if site == "allocations" else "blocks"
        for module in ("host", "plugin.so"):
            of_it = [s for s in found if any((f["module"] or "").endswith(f"/{module}") and
                                             f["function"] == "make_block" for f in s["stack"])]
            assert total(of_it, what) == n, (site, module, of_it)
    quality = data["quality"]
    assert data["summary"]["lost_events"] == quality["double_allocations"] == 0
    assert quality["unknown_frees"] == 0, quality
    assert victim.is_alive() and not changed_code(victim.pid)
    assert victim.end() == 0
