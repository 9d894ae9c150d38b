"""`heaptrack -p PID` of what it cannot, or may not, attach to: each cause has its own message, and the
program is as it was. In sandboxes it attaches where their filters let it.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from attaching import attach, changed_code, finish, known, start_listening, target  # noqa: F401
from conftest import wait_until

pytestmark = pytest.mark.attach

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
SANDBOX = [sys.executable, Path(__file__).with_name("sandbox.py")]
KEYCTL, MEMFD_CREATE, READLINKAT = "250", "319", "267"
YAMA_1 = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && "
          'echo 1 >/proc/sys/kernel/yama/ptrace_scope && exec "$@"', "sh"]


def refused(build, *arguments, by=()):
    done = subprocess.run([str(word) for word in (*by, build / "heaptrack", *arguments)],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    return done.stderr


def test_refusals_say_why(build, target, tmp_path):
    assert "there is no process" in refused(build, "-p", 4194303)
    assert "invalid process ID" in refused(build, "-p", "me")
    if Path("/proc/2/comm").exists() and Path("/proc/2/comm").read_text() == "kthreadd\n":
        assert "kernel thread" in refused(build, "-p", 2)
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert "has ended" in refused(build, "-p", ended.pid)
    ended.wait()


@pytest.mark.parametrize("options", [(), ("--children",)], ids=["one", "tree"])
def test_of_two_attaches_at_once_one_is_refused(build, target, tmp_path, options):
    """Thirty times, five at a time. The other is interrupted or killed, and nothing is left of it for the next two."""
    victims = [target([build / "tests/attach/pattern", "1"]) for _ in range(5)]
    command = [str(word) for word in (build / "heaptrack", *options, "-f", "-o")]
    for turn in range(6):
        pairs = [[subprocess.Popen([*command, tmp_path / f"{victim.pid}.{k}", "-p", str(victim.pid)], text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for k in range(2)] for victim in victims]
        for victim, pair in zip(victims, pairs):
            wait_until(lambda pair=pair: pair[0].poll() is not None or pair[1].poll() is not None, what="a refusal")
            second, first = pair if pair[0].poll() is not None else pair[::-1]
            said = second.communicate()[1]
            assert second.returncode == 1, said
            assert re.search("is already being recorded by another heaptrack; stop that one first|is already traced by process", said), said
            while "attached to process" not in first.stderr.readline():
                assert first.poll() is None
            first.send_signal(signal.SIGKILL if turn % 3 == 2 else signal.SIGINT)
            first.communicate(timeout=60)
            assert first.returncode in (0, -signal.SIGKILL)
            wait_until(lambda pid=victim.pid: not changed_code(pid), what="the helper's leaving")
    assert all(victim.is_alive() and victim.end() == 0 for victim in victims)


def test_a_second_attach_is_refused(build, target, tmp_path):
    victim = target([build / "tests/attach/pattern", "2"])
    process = start_listening(build, victim.pid, tmp_path / "first")
    err = refused(build, "-p", victim.pid, "-o", tmp_path / "second")
    assert "already being recorded" in err
    assert not list(tmp_path.glob("second*"))
    assert finish(process)[0] == 0
    assert victim.end() == 0


def test_a_traced_program_is_refused(build, target, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    victim = target([build / "tests/attach/pattern", "1"])
    tracer = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(victim.pid)],
                              stderr=subprocess.PIPE, text=True)
    tracer.stderr.readline()
    assert re.search(r"already traced by process \d+ \(strace\)", refused(build, "-p", victim.pid))
    tracer.terminate()
    tracer.communicate()
    assert victim.end() == 0


def test_a_helper_of_ours_that_was_killed_is_waited_for(build, target, tmp_path):
    """It is the tracer until the kernel is done with it, which takes its time on a busy machine."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    helper = tmp_path / "heaptrack"  # that is what the kernel will call it
    shutil.copy(shutil.which("strace"), helper)
    victim = target([build / "tests/attach/pattern", "3"])
    tracer = subprocess.Popen([helper, "-f", "-o", "/dev/null", "-p", str(victim.pid)], stderr=subprocess.PIPE, text=True)
    tracer.stderr.readline()
    end = threading.Timer(0.5, tracer.terminate)
    end.start()
    process = start_listening(build, victim.pid, tmp_path / "recording")
    end.join()
    tracer.communicate()
    assert finish(process)[0] == 0
    assert victim.end() == 0


def test_a_thread_is_refused(build, target):  # noqa: F811
    victim = target([build / "tests/attach/pattern", "1"])
    tid = max(map(int, os.listdir(f"/proc/{victim.pid}/task")))
    assert f"{tid} is a thread of process {victim.pid}; use heaptrack -p {victim.pid}" in \
        refused(build, "-p", tid)


# ---- rights


@pytest.fixture
def nobodys(build, tmp_path):
    """What heaptrack needs, where everybody may read it."""
    if os.getuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    folder = Path("/var/tmp") / f"heaptrack-test-{os.getpid()}"
    folder.mkdir(mode=0o755)
    for name in ("heaptrack", "libheaptrack_preload.so", "libheaptrack_inject.so"):
        shutil.copy(build / name, folder)
    yield folder
    shutil.rmtree(folder)


def test_anothers_process_is_refused(build, target, nobodys):  # noqa: F811
    victim = target([build / "tests/attach/pattern", "1"])
    err = refused(nobodys, "-p", victim.pid, by=NOBODY)
    assert f"process {victim.pid} belongs to user 0; run heaptrack as that user, or with sudo" in err
    assert victim.end() == 0


def test_what_yama_forbids_is_refused(build, target, nobodys):  # noqa: F811
    """Its own process, but no child of it."""
    setting = Path("/proc/sys/kernel/yama/ptrace_scope")
    scope = int(setting.read_text()) if setting.exists() else 0
    if scope == 0:
        pytest.skip("this kernel has no yama, or lets users attach to what is theirs")
    shutil.copy(build / "tests/attach/pattern", nobodys)
    victim = target([*NOBODY, nobodys / "pattern", "1"])
    err = refused(nobodys, "-p", victim.pid, by=NOBODY)
    assert f"kernel.yama.ptrace_scope is {scope}" in err
    assert ("reboot" if scope == 3 else f"sudo heaptrack -p {victim.pid}") in err
    assert victim.end() == 0


def yama_is_1():
    """As if kernel.yama.ptrace_scope were 1: this kernel may have no yama."""
    if subprocess.run([*YAMA_1, "true"], capture_output=True, timeout=60, check=False).returncode != 0:
        pytest.skip("no mount namespace here")
    return YAMA_1 + NOBODY


def test_yama_lets_us_inject_into_what_we_start(build, nobodys):  # noqa: F811
    by = yama_is_1()
    folder = nobodys / "output"
    folder.mkdir()
    folder.chmod(0o777)
    shutil.copy(build / "tests/attach/once_static", nobodys)
    done = subprocess.run([*by, nobodys / "heaptrack", "-o", folder / "once", nobodys / "once_static"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 7 and "unrecorded" not in done.stderr, done.stderr
    assert (folder / "once.zst").exists()


def test_what_does_not_let_itself_be_looked_at_is_refused(target, nobodys):  # noqa: F811
    not_dumpable = ("import ctypes, time\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\n"
                    "print('ready', flush=True)\ntime.sleep(1000)")
    victim = target([*NOBODY, "/usr/bin/python3", "-c", not_dumpable])
    err = refused(nobodys, "-p", victim.pid, by=NOBODY)
    assert "is not dumpable" in err and f"sudo heaptrack -p {victim.pid}" in err
    victim.process.kill()


# ---- sandboxes


def sandboxed(target, action, calls, *program):  # noqa: F811
    return target([*SANDBOX, action, calls, *program])


def test_a_sandbox_that_lets_us_is_attached_to(build, target, tmp_path):  # noqa: F811
    victim = sandboxed(target, "errno", KEYCTL, build / "tests/attach/pattern", "2")
    assert victim.status("Seccomp") == "2" and victim.status("NoNewPrivs") == "1"
    attach(build, victim.pid, tmp_path / "let")
    assert known(build, tmp_path / "let.zst")["summary"]["allocations"] > 0
    assert not changed_code(victim.pid)
    assert victim.end() == 0, repr(victim)


@pytest.mark.parametrize("call, name", [(MEMFD_CREATE, "memfd_create"), (READLINKAT, "readlinkat")])
def test_a_sandbox_that_kills_is_refused(build, target, tmp_path, call, name):  # noqa: F811
    victim = sandboxed(target, "kill", call, build / "tests/attach/pattern", "1")
    err = refused(build, "-p", victim.pid, "-o", tmp_path / "never")
    assert "sandbox (seccomp) whose filter does not allow" in err and f"allow {name}," in err
    assert victim.is_alive() and victim.end() == 0


def test_a_sandbox_that_says_no_is_left_as_it_was(build, target, tmp_path):  # noqa: F811
    victim = sandboxed(target, "errno", MEMFD_CREATE, build / "tests/attach/pattern", "1")
    err = refused(build, "-p", victim.pid, "-o", tmp_path / "never")
    assert f"cannot create memory in process {victim.pid}: Operation not permitted" in err
    assert not changed_code(victim.pid) and victim.end() == 0


def test_inside_of_a_sandbox_like_its_own(build, target, tmp_path):  # noqa: F811
    """As in a container: heaptrack has the same filter, and could not read that of others."""
    file = tmp_path / "inside"
    victim = sandboxed(target, "errno", KEYCTL, build / "tests/attach/pattern", "1")
    done = subprocess.run([*SANDBOX, "errno", KEYCTL, build / "heaptrack", "-o", file, "--duration",
                           "50ms", "-p", str(victim.pid)], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert victim.end() == 0
    static = subprocess.run([*SANDBOX, "errno", KEYCTL, build / "heaptrack", "-o", file, "-f",
                             build / "tests/attach/once_static"], capture_output=True, text=True,
                            timeout=120, check=False)
    assert static.returncode == 7 and "unrecorded" not in static.stderr, static.stderr


# ---- programs


def test_what_runs_under_heaptrack_is_refused(build, tools):
    running = tools.start_record(build / "tests/attach/pattern", "1")
    pid = running.program()
    wait_until(lambda: "ready" in running.finished(0).stdout, what="its start")
    assert "was started under heaptrack" in refused(build, "-p", pid)
    os.kill(pid, signal.SIGTERM)
    assert running.wait().status == 0


def test_thread_sanitizer_is_refused(build, target, tmp_path):  # noqa: F811
    source = tmp_path / "checked.c"
    source.write_text('#include <stdio.h>\n#include <unistd.h>\n'
                      'int main(void) { puts("ready"); fflush(stdout); sleep(1000); }')
    made = subprocess.run(["gcc", "-fsanitize=thread", "-o", tmp_path / "checked", source],
                          capture_output=True, timeout=60, check=False)
    if made.returncode != 0:
        pytest.skip("no ThreadSanitizer here")
    victim = target([tmp_path / "checked"])
    assert "runs with ThreadSanitizer" in refused(build, "-p", victim.pid)


def test_stripped_static_programs_of_others_are_refused(build, target, tmp_path):  # noqa: F811
    """glibc's allocator is recognized without names, musl's is not."""
    musl = build / "tests/attach/pattern_musl_static"
    if not musl.exists():
        pytest.skip("pattern_musl_static is not built")
    program = tmp_path / "stripped"
    subprocess.run(["strip", "-o", program, musl], check=True, timeout=60)
    victim = target([program, "1"])
    err = refused(build, "-p", victim.pid)
    assert "is statically linked and stripped" in err and "strip --strip-debug" in err
    assert victim.end() == 0


WAITS_32 = """
.globl _start
_start: mov $4, %eax; mov $1, %ebx; mov $text, %ecx; mov $6, %edx; int $0x80
1: mov $29, %eax; int $0x80; jmp 1b
text: .ascii "ready\\n"
"""


def start_32_bits(target, folder):  # noqa: F811
    """A program of 32 bits that waits."""
    (folder / "waits.s").write_text(WAITS_32)
    for command in (["as", "--32", "-o", folder / "waits.o", folder / "waits.s"],
                    ["ld", "-m", "elf_i386", "-o", folder / "waits", folder / "waits.o"]):
        subprocess.run(command, check=True, timeout=60)
    try:
        return target([folder / "waits"])
    except OSError:
        return pytest.skip("this kernel runs no such program")


def test_programs_of_32_bits_are_refused(build, target, tmp_path):  # noqa: F811
    victim = start_32_bits(target, tmp_path)
    assert "is not a 64-bit x86 program" in refused(build, "-p", victim.pid)
