"""Who was not recorded is said: every kind of child and of image, why, how large it was, and what records it.
The advice is followed here.
"""

import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from attaching import attach_command

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) {
	size_t bytes = (size_t)atoi(argv[1]) << 20;
	char *p = malloc(bytes);
	memset(p, 1, bytes);
	usleep((unsigned)(atof(argv[2]) * 1e6));
	printf("%d\n", p[bytes - 1] + argc);
	return 0;
}
"""
MB = 30  # of the child; the others have less
SECONDS = 0.7
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


@pytest.fixture(scope="module")
def child():
    """Makes the program that is the child, in one of its forms, where everybody may read it."""
    folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="heaptrack-test-"))
    folder.chmod(0o755)
    (folder / "child.c").write_text(SOURCE)

    def make(name, *flags, compiler="gcc"):
        if not shutil.which(compiler):
            pytest.skip(f"{compiler} is not installed")
        made = subprocess.run([compiler, "-O0", "-o", folder / name, folder / "child.c", *flags],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            pytest.skip(f"{compiler} {' '.join(flags)} does not work here: {made.stderr[:200]}")
        return folder / name
    make.folder = folder
    yield make
    shutil.rmtree(folder)


def said(known, what="children"):
    lines = [line["text"] for line in known["quality"]["sentences"] if line["id"] == what]
    assert len(lines) <= 1, lines
    return lines[0] if lines else None


def run_child(tools, command, **more):
    """`command` as the child of a shell that is recorded."""
    recording = tools.record("sh", "-c", f"{command}; exit 5", **more)
    assert recording.status == 5, repr(recording)
    return recording, recording.json()


def assert_said(known, n, name, text, at_most=MB * 1.048576 + 6):
    """N children, the largest of them this one, which is only said of several. The advice, if any."""
    sentence = said(known)
    assert sentence, (known["quality"], known["children"])
    # One without the recorder does not count what it starts
    least = "" if all(child["why"] is None for child in known["children"]) else "at least "
    expected = f"{least}{n} child process {'was' if n == 1 else 'es were'} not recorded".replace("process es", "processes")
    match = re.match(rf"{expected}; {'the largest, ' * (n > 1)}{re.escape(name)} \(pid (\d+), ([\d.]+) MB RSS\)",
                     sentence)
    assert match, sentence
    assert MB - 1 <= float(match[2]) <= at_most, sentence
    assert sentence[match.end():] == text[n == 1:], sentence
    counted = known["quality"]["children_forked"] + known["quality"]["children_executed"]
    assert counted == n
    advice = re.search("heaptrack (/.*?|'.*?') \\.\\.\\.(, and perhaps all by: heaptrack --children)?$", sentence)
    return advice and shlex.split(advice[1])


def assert_advice_works(tools, advice):
    recording = tools.record(*advice, MB, 0, name="advice")
    assert recording.status == 0, repr(recording)
    assert recording.json()["summary"]["allocated_bytes"] >= MB << 20


DYNAMIC = ", is recorded by: heaptrack {} ..., and perhaps all by: heaptrack --children"
STATIC = ", is linked statically; by itself it is recorded by: heaptrack {} ..."


def test_dynamic_child(tools, child):
    program = child("dynamic")
    _, known = run_child(tools, f"{program} {MB} {SECONDS}")
    assert_advice_works(tools, assert_said(known, 1, "dynamic", DYNAMIC.format(program)))
    assert known["children"][0]["why"] is None


def test_child_of_another_name(tools, child):
    """Such as dot and busybox's: by the name of its file it would be another program."""
    link = child("of_many_names").parent / "called"
    link.symlink_to("of_many_names")
    _, known = run_child(tools, f"{link} {MB} {SECONDS}")
    assert_advice_works(tools, assert_said(known, 1, "called", DYNAMIC.format(link)))


@pytest.mark.parametrize("compiler", ["gcc", "musl-gcc"])
def test_static_child(tools, child, compiler):
    program = child(f"static-{compiler}", "-static", compiler=compiler)
    _, known = run_child(tools, f"{program} {MB} {SECONDS}")
    assert_advice_works(tools, assert_said(known, 1, program.name[:15], STATIC.format(program)))
    assert known["children"][0]["why"] == "static"


def test_musl_child(tools, child):
    program = child("musl", compiler="musl-gcc")
    _, known = run_child(tools, f"{program} {MB} {SECONDS}")
    assert_advice_works(tools, assert_said(known, 1, "musl", DYNAMIC.format(program)))


def test_stripped_child(tools, child):
    program = child("stripped", "-static", "-s", compiler="musl-gcc")
    _, known = run_child(tools, f"{program} {MB} {SECONDS}")
    assert_said(known, 1, "stripped", ", is linked statically and stripped")


def test_32_bit_child(tools, child):
    program = child("narrow", "-m32")
    _, known = run_child(tools, f"{program} {MB} {SECONDS}")
    assert_said(known, 1, "narrow", ", is a 32-bit program and cannot be recorded")


@needs_root
def test_set_uid_child(tools, child):
    program = child("risen")
    program.chmod(program.stat().st_mode | stat.S_ISUID)
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    _, known = run_child(tools, f"setpriv --reuid=65534 --clear-groups {program} {MB} {SECONDS}")
    assert_said(known, 1, "risen", ", is set-uid, set-gid or has file capabilities, so that the system "
                "keeps the recorder out")


@needs_root
def test_child_of_another_user(tools, child):
    """It has the recorder, and cannot reach the segment."""
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    program = child("others")
    _, known = run_child(tools, f"setpriv --reuid=65534 --clear-groups {program} {MB} {SECONDS}")
    if said(known) is None:
        pytest.skip("the recorder of this build tree is not readable by others")
    assert "; others (pid " in said(known)


@needs_root
def test_child_under_another_root(tools, child):
    jail = child.folder / "jail"
    jail.mkdir()
    program = child("jailed")
    shutil.copy(program, jail / "jailed")
    for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.split():
        if line.startswith("/"):
            (jail / line.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(line, jail / line.lstrip("/"))
    _, known = run_child(tools, f"chroot {jail} /jailed {MB} {SECONDS}")
    assert_said(known, 1, "jailed", ", runs under another root directory, where the recorder is not; to record "
                "one, start the program without heaptrack and attach: heaptrack -p PID")


@pytest.mark.parametrize("how", ["env -i", "env -u LD_PRELOAD", "env -u HEAPTRACK_SEGMENT"])
def test_child_with_an_emptied_environment(tools, child, how):
    program = child("emptied")
    _, known = run_child(tools, f"{how} {program} {MB} {SECONDS}")
    if "SEGMENT" in how:  # it has the library, which finds nobody
        assert said(known) is None or "env (pid " in said(known) or "emptied" in said(known)
        return
    assert_advice_works(tools, assert_said(
        known, 1, "emptied", ", was started without LD_PRELOAD or HEAPTRACK_SEGMENT in its environment; by "
        f"itself it is recorded by: heaptrack {program} ..."))


def test_child_of_a_script_that_preloads_something_else(tools, child, tmp_path):
    program = child("another")
    other = tmp_path / "other.so"
    subprocess.run(["gcc", "-shared", "-o", other, "-x", "c", "/dev/null"], check=True)
    _, known = run_child(tools, f"LD_PRELOAD={other} {program} {MB} {SECONDS}")
    assert_advice_works(tools, assert_said(
        known, 1, "another", f", was started with LD_PRELOAD set anew; by itself it is recorded by: heaptrack "
        f"{program} ..."))


def test_path_of_400_bytes_with_a_space(tools, child):
    deep = child.folder / "/".join(["a folder " + "x" * 85] * 4)
    deep.mkdir(parents=True)
    program = deep / "far away"
    shutil.copy(child("far"), program)
    assert 380 < len(str(program)) < 440
    _, known = run_child(tools, f"'{program}' {MB} {SECONDS}")
    assert_advice_works(tools, assert_said(known, 1, "far away", DYNAMIC.format(f"'{program}'")))


@needs_root
@pytest.mark.parametrize("more", ["", "--mount-proc"])
def test_pid_namespace(tools, child, more):
    """Its pid is 1 there; asked for is the one that everybody else knows."""
    program = child("inside")
    if subprocess.run(["unshare", "--pid", "--fork", "true"], check=False).returncode != 0:
        pytest.skip("unshare --pid does not work here")
    _, known = run_child(tools, f"unshare --pid --fork {more} {program} {MB} {SECONDS}")
    assert_advice_works(tools, assert_said(known, 2, "inside", DYNAMIC.format(program)))
    one, = (c for c in known["children"] if c["name"] == "inside")
    assert one["pid"] > 1 and one["peak_rss_bytes"] >= MB << 20


ONE_IN_EACH_NAMESPACE = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
	for (int i = 0; i < 6 && argc > 1; i++) {
		if (syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
			execv(argv[1], argv + 1);
			_exit(1);
		}
	}
	while (wait(NULL) > 0) {
	}
	return 0;
}
"""


@needs_root
def test_pid_namespaces_that_start_at_once(tools, child):
    """Each of them is pid 1, started in the same hundredth of a second: still six processes."""
    program, start = child("alike"), child.folder / "start"
    if subprocess.run(["unshare", "--pid", "--fork", "true"], check=False).returncode != 0:
        pytest.skip("unshare --pid does not work here")
    subprocess.run(["gcc", "-o", start, "-x", "c", "-"], input=ONE_IN_EACH_NAMESPACE, text=True, check=True)
    recording = tools.record(start, program, MB, SECONDS)
    known = recording.json()
    alike = [c for c in known["children"] if c["name"] == "alike"]
    assert len({c["pid"] for c in alike}) == 6 and min(c["pid"] for c in alike) > 1, alike
    assert known["quality"]["children_executed"] == 6, known["quality"]


def test_name_after_exec(tools, child):
    """A shell that becomes another program, and one that calls itself otherwise by /proc/self/exe."""
    program = child("became")
    _, known = run_child(tools, f"sh -c 'exec {program} {MB} {SECONDS}'")
    assert_said(known, 1, "became", DYNAMIC.format(program))
    again = child("again")
    again_c = SOURCE.replace("size_t bytes", 'if (argc == 3) { execl("/proc/self/exe", "x", argv[1], '
                             "argv[2], \"again\", NULL); }\n\tsize_t bytes")
    (child.folder / "again.c").write_text(again_c)
    subprocess.run(["gcc", "-o", again, child.folder / "again.c"], check=True)
    _, known = run_child(tools, f"{again} {MB} {SECONDS}")
    assert_said(known, 1, "again", DYNAMIC.format(again))


def test_forked_workers(tools):
    """No advice to start the program once more: that forks again."""
    recording = tools.record("perl", "-e", "for (1..4) { if (!fork) { my $x = 'y' x 3e7; select undef, "
                             "undef, undef, 0.7; exit } } wait for 1..4; exit 5")
    assert recording.status == 5
    known = recording.json()
    assert_said(known, 4, "perl", ", is a fork; to record one, start the program with: "
                "heaptrack --children", at_most=70)
    assert known["quality"]["children_forked"] == 4
    assert {c["forked"] for c in known["children"]} == {True}


def test_attach_to_a_forked_worker(tools, helpers):
    """Which is what the sentence advises."""
    running = tools.start("perl", "-e", "if (my $p = fork) { $| = 1; print $p; wait; exit } my @x; "
                                 "for (1..300) { push @x, 'y' x 1e5; select undef, undef, undef, 0.05 }")
    output = Path(running.outputs[0].name)
    helpers.wait_until(lambda: output.read_text(), what="the worker's pid")
    pid = output.read_text()
    file = tools.folder / "worker.zst"
    attached = tools.run(tools.heaptrack, "-o", file, "--duration", "2", "-p", pid)
    assert attached.status == 0, repr(attached)
    assert tools.json(file)["summary"]["allocated_bytes"] > 300_000
    running.end()


def test_launcher_is_told_of_its_child_first(tools, child):
    program = child("large")
    recording, known = run_child(tools, f"{program} {MB} {SECONDS}")
    assert known["quality"]["sentences"][0]["id"] == "children"
    first = recording.report().split("  ! ")[1]
    assert first.startswith("1 child process was not recorded"), first


def test_300_children(tools, child):
    program = child("many", "-static")
    _, known = run_child(tools, f"i=0; while [ $i -lt 300 ]; do i=$((i+1)); {program} 1 8 & done; wait", timeout=120)
    assert known["quality"]["children_executed"] == 300, known["quality"]
    dynamic = child("many-dynamic")
    _, known = run_child(tools, f"i=0; while [ $i -lt 300 ]; do i=$((i+1)); {dynamic} 1 0 & done; wait", timeout=120)
    assert known["quality"]["children_executed"] == 300, known["quality"]
    assert known["quality"]["children_forked"] == 0, known["quality"]


def test_daemon(tools, child, helpers):
    """It leaves its family, and becomes a program without the recorder."""
    program = child("daemon", "-static")
    pid_file = child.folder / "daemon.pid"
    recording, known = run_child(
        tools, f"setsid sh -c '{program} {MB} 4 & echo $! > {pid_file}' < /dev/null > /dev/null 2>&1; "
        "sleep 1.5")
    assert recording.seconds < 60
    assert ", daemon (pid " in said(known), known["quality"]
    assert "is linked statically" in said(known)
    pid, = (c["pid"] for c in known["children"] if c["name"] == "daemon")
    assert pid == int(pid_file.read_text())
    helpers.wait_until(lambda: not Path(f"/proc/{pid}").exists(), what="the daemon's end")


# --- the same in a tree of processes

TWICE = "setsid sh -c 'setsid sh -c \"{} < /dev/null > /dev/null 2>&1 &\" &'; sleep 1.5"


@needs_root
@pytest.mark.parametrize("flags, way, why", [
    (["-static"], "{}", "is linked statically"),
    (["-m32"], "{}", "is a 32-bit program and cannot be recorded"),
    (["set-uid"], "setpriv --reuid=65534 --clear-groups {}", "is set-uid, set-gid or has file capabilities"),
    ([], "env -i {}", "was started without LD_PRELOAD or HEAPTRACK_SEGMENT in its environment"),
    (["-static"], TWICE, "is linked statically"),
    ([], TWICE.replace("{}", "env -i {}"), "was started without LD_PRELOAD or HEAPTRACK_SEGMENT in its environment"),
    (["-static"], "chroot / {}", "is linked statically"),
    (["-static"], "unshare --pid --fork --mount --net {}", "is linked statically"),
], ids=["static", "32-bit", "set-uid", "environment", "daemon", "daemon-environment", "root", "container"])
def test_in_a_tree(tools, child, flags, way, why):
    """--children records what it gets into, and names the rest with what it had in memory."""
    program = child("apart" + "".join(flags), *(flag for flag in flags if flag.startswith("-")))
    program.chmod(program.stat().st_mode | stat.S_ISUID * ("set-uid" in flags))
    if way[0] != "{" and not shutil.which(way.split()[0]):
        pytest.skip(f"{way.split()[0]} is not installed")
    _, known = run_child(tools, way.format(f"{program} {MB} {SECONDS * 2}"), options=("--children",))
    found, = (c for c in known["children"] if c["executable"] == str(program))
    assert MB - 1 <= found["peak_rss_bytes"] / 1e6 <= MB * 1.048576 + 6, found
    assert f"{found['name']} (pid {found['pid']}, " in said(known) and why in said(known), said(known)
    assert program.name not in {process["command"] for process in known["processes"]}


# --- what the process itself became


@pytest.mark.parametrize("how, flags, text", [
    ("env -i", ["-static"], "is linked statically"),
    ("env -i", ["-m32"], "is a 32-bit program and cannot be recorded"),
    ("env -i", [], "was started without LD_PRELOAD or HEAPTRACK_SEGMENT in its environment"),
    ("env LD_PRELOAD=/dev/null", [], "was started with LD_PRELOAD set anew"),
], ids=["static", "32-bit", "environment", "preload"])
def test_image_that_is_not_recorded(tools, child, how, flags, text):
    program = child("image" + "".join(flags), *flags)
    recording = tools.record("sh", "-c", f"exec {how} {program} {MB} {SECONDS}")
    known = recording.json()
    sentence = said(known, "unrecorded-image")
    if known["summary"]["allocated_bytes"] >= MB << 20:  # it was followed
        assert sentence is None and known["quality"]["verdict"] == "recording complete"
        return
    assert re.fullmatch(rf"[\d.]+ (ms|s) after the start the program became {program}, which "
                        rf"{re.escape(text)}: what that allocated is missing", sentence), known["quality"]
    assert known["quality"]["verdict"] == "incomplete: not recorded after an exec"


def test_guest_of_valgrind(tools, child):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    program = child("guest")
    recording = tools.record("valgrind", "-q", program, 1, 0)
    assert recording.status == 0, repr(recording)
    assert "which is valgrind, under which nothing can be recorded" in said(recording.json(),
                                                                          "unrecorded-image")


def test_no_child_is_made_up(tools):
    known = tools.record("sh", "-c", ": | :; exit 0").json()
    assert known["quality"]["children_executed"] == 0
    assert known["quality"]["verdict"] == "recording complete"


# --- what a program becomes after an attach


BECOMES = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv, char **environment) {
	const char *how = argc > 2 ? argv[2] : "";
	char *const words[] = {argv[1], "1", "0", NULL};
	setvbuf(stdout, malloc(BUFSIZ), _IOLBF, BUFSIZ);
	puts("ready");
	getchar();
	for (int i = 0; i < 1000; i++) {
		free(malloc(100));
	}
	execl("/nowhere", "nowhere", (char *)NULL); // fails
	syscall(SYS_execve, "/nowhere", words, environment);
	if (strcmp(how, "fails") == 0) {
		return 0;
	}
	if (strcmp(how, "child") == 0 && vfork() != 0) {
		return 0;
	}
	if (strcmp(how, "execveat") == 0) {
		return execveat(AT_FDCWD, argv[1], words, environment, 0);
	}
	if (strcmp(how, "syscall") == 0) {
		return (int)syscall(SYS_execve, argv[1], words, environment);
	}
	return execv(argv[1], words);
}
"""


@pytest.fixture(name="becomes")
def fixture_becomes(tools, child, tmp_path, helpers):
    """Records a program that then becomes another one; what the recording says of that."""
    source = child.folder / "becomes.c"
    source.write_text(BECOMES)

    def run(*arguments, flags=(), is_launched=False):
        subprocess.run(["gcc", "-o", child.folder / "becomes", source, *flags], check=True, timeout=60)
        if is_launched:
            recording = tools.record(child.folder / "becomes", *arguments)
            assert recording.status == 0, repr(recording)
            return recording.json()
        with subprocess.Popen([child.folder / "becomes", *arguments], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as program:
            assert program.stdout.readline() == b"ready\n"
            attached = tools.start(*attach_command(tools.build, program.pid, tmp_path / "became.zst"))
            attached.wait_for_attach()
            program.communicate(b"\n", timeout=60)
        assert attached.wait().status == 0
        return tools.json(tmp_path / "became.zst")
    return run


@pytest.fixture(name="shortest")
def fixture_shortest(child):
    """A static program that only ends."""
    source = child.folder / "shortest.c"
    source.write_text("""void _start(void) { __asm__("mov $60, %eax; xor %edi, %edi; syscall"); }""")
    subprocess.run(["gcc", "-nostdlib", "-static", "-o", child.folder / "shortest", source], check=True, timeout=60)
    return child.folder / "shortest"


def assert_became(known, program):
    assert known["quality"]["verdict"] == "incomplete: not recorded after an exec"
    assert re.fullmatch(rf"[\d.]+ (ms|s) after the start the program became "
                        rf"(another program|{program}|{program.name}), which .*: what that allocated is missing",
                        said(known, "unrecorded-image"))


@pytest.mark.parametrize("flags", [[], ["-static"], ["-m32"], "set-uid"], ids=str)
def test_exec_of_a_short_program_after_an_attach(becomes, child, flags):
    """It has ended before anybody could have looked from outside."""
    is_set_uid = flags == "set-uid"
    program = child("became-short", *([] if is_set_uid else flags))
    if is_set_uid:
        program.chmod(stat.S_ISUID | 0o755)
    assert_became(becomes(program), program)


@pytest.mark.parametrize("how", ["execv", "execveat", "syscall"])
@pytest.mark.parametrize("flags", [(), ("-static",), ("-static", "-s")], ids=str)
def test_ways_to_exec_after_an_attach(becomes, shortest, flags, how):
    if "-s" in flags and how != "execv":
        pytest.skip("has no name there")
    assert_became(becomes(shortest, how, flags=flags), shortest)


@pytest.mark.parametrize("how", ["execv", "execveat", "syscall"])
def test_exec_of_a_short_program_that_is_not_followed(becomes, shortest, how):
    """A set-uid program would lose its rights if it were traced."""
    shortest.chmod(stat.S_ISUID | 0o755)
    assert_became(becomes(shortest, how, is_launched=True), shortest)


@pytest.mark.parametrize("is_launched", [False, True], ids=["attached", "launched"])
@pytest.mark.parametrize("how", ["fails", "child"])
def test_exec_that_did_not_happen(becomes, child, how, is_launched):
    known = becomes(child("became-never"), how, is_launched=is_launched)
    assert known["quality"]["verdict"] == "recording complete" and known["program"]["images"] == 1
    assert said(known, "unrecorded-image") is None


@pytest.mark.parametrize("how", ["execv", "syscall"])
def test_exec_of_a_short_program_that_is_followed(becomes, child, how):
    known = becomes(child("became-static", "-static"), how, is_launched=True)
    assert known["quality"]["verdict"] == "recording complete" and known["program"]["images"] == 2
