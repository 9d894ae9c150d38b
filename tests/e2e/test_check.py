"""`heaptrack --check [PID]` says what an attach or a start then meets, in the same words, and touches nothing."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from attaching import changed_code, finish, start_listening, target  # noqa: F401
from conftest import wait_until
from test_attach_refusals import KEYCTL, MEMFD_CREATE, NOBODY, SANDBOX, nobodys, start_32_bits, yama_is_1  # noqa: F401

pytestmark = pytest.mark.attach

def run(*command, by=()):
    return subprocess.run([str(word) for word in (*by, *command)], capture_output=True, text=True, timeout=120,
                          check=False, stdin=subprocess.DEVNULL)


def check(build, *arguments, by=()):
    """{row: (answer, text)} and the status."""
    done = run(build / "heaptrack", "--check", *arguments, by=by)
    assert done.stderr == "" and len(done.stdout.splitlines()) <= 24, repr(done)
    rows = re.findall(r"^  (\w+(?: \w+)?) {2,}(yes|no|perhaps|unknown)\b *(.*)$", done.stdout, re.MULTILINE)
    return {name: (answer, text) for name, answer, text in rows}, done.returncode


def foretells(build, pid, folder, by=()):
    """What it says of attaching to `pid`, after an attach has met just that."""
    rows, status = check(build, pid, by=by)
    answer, why = rows["attach"]
    assert status == (answer == "no")
    done = run(build / "heaptrack", "--max-pause", "30s", "-f", "-o", folder / "attached", "--duration", "50ms", "-p", pid, by=by)
    if answer != "perhaps":
        assert done.returncode == (answer == "no"), (rows, done.stderr)
    if answer == "no":
        assert done.stderr == f"heaptrack: {why}\n"
    return answer, why


def foretells_start(build, pid, command, folder):
    """The same of starting the program of `pid`: None, or why it runs unrecorded."""
    answer, why = check(build, pid)[0]["start"]
    done = run("timeout", "2", build / "heaptrack", "-f", "-o", folder / "started", *command)
    assert ("unrecorded" in done.stderr) == (answer == "no"), (why, done.stderr)
    assert answer == "yes" or f"heaptrack: {why}; it runs unrecorded" in done.stderr
    return answer


def test_the_machine(build):
    rows, status = check(build)
    assert set(rows) == {"start", "inject", "attach"}
    assert status == (0 if all(answer == "yes" for answer, _ in rows.values()) else 1)
    done = run(build / "heaptrack", "--check", "me")
    assert done.returncode == 1 and 'invalid process ID "me"' in done.stderr
    for limit, row in (("ulimit -n 16", "start"),):
        rows, status = check(build, by=["sh", "-c", f'{limit}; exec "$@"', "sh"])
        assert rows[row][0] == "no" and "ulimit -n" in rows[row][1] and status == 1


@pytest.mark.parametrize("name", ["pattern", "pattern_static", "pattern_musl", "pattern_musl_static"])
def test_programs_of_every_kind(build, target, tmp_path, name):  # noqa: F811
    program = build / "tests/attach" / name
    if not program.exists():
        pytest.skip(f"{name} is not built")
    victim = target([program, "2"])
    before = victim.status("voluntary_ctxt_switches"), changed_code(victim.pid)
    rows, _ = check(build, victim.pid)
    assert rows["start"] == ("yes", "the recorder is preloaded" if name == "pattern" else "the recorder is injected")
    assert before[1] == [] == changed_code(victim.pid) and victim.status("TracerPid") == "0"
    assert foretells(build, victim.pid, tmp_path)[0] == "yes"
    assert victim.end() == 0, repr(victim)


def test_its_memory_is_copied_only_within_the_pause(build, target):  # noqa: F811
    victim = target(["perl", "-e", '$| = 1; my $x = "x" x 20_000_000; print "ready"; sleep 1000'])
    done = run(build / "heaptrack", "--max-pause", "0.01ms", "--check", victim.pid)
    assert re.search(r"old blocks +no +copying its memory would stop it for .*, and 0.0 ms are allowed", done.stdout)
    done = run(build / "heaptrack", "--max-pause", "0", "--check", victim.pid)
    assert "--max-pause 0: blocks from before stay unknown" in done.stdout
    assert check(build, victim.pid)[0]["old blocks"][0] in ("yes", "no")
    assert re.search(r"old blocks +yes", run(build / "heaptrack", "--max-pause", "30s", "--check", victim.pid).stdout)


LIBCS = {"pattern": (r"glibc 2\.\d+ \(2\.28 or later is needed\)", "yes"), "pattern_musl": ("musl: .*", "no"),
         "pattern_static": (r"static \(glibc\): .*", "yes"), "pattern_musl_static": (r"static \(not glibc's\): .*", "no")}


@pytest.mark.parametrize("name", LIBCS)
def test_which_libc_it_has(build, target, tools, tmp_path, name):  # noqa: F811
    """And only of glibc's malloc are blocks from before the attach found, as the recording then says."""
    program = build / "tests/attach" / name
    if not program.exists():
        pytest.skip(f"{name} is not built")
    victim = target([program, "2"])
    said = json.loads(run(build / "heaptrack", "--max-pause", "30s", "--check", victim.pid, "--json").stdout)
    text, old_blocks = LIBCS[name]
    assert re.fullmatch(text, said["libc"]["text"]) and said["old_blocks"]["answer"] == old_blocks
    done = run(build / "heaptrack", "--max-pause", "30s", "-o", tmp_path / "a", "--duration", "50ms", "-p", victim.pid)
    assert done.returncode == 0, done.stderr
    summary = json.loads(run(build / "heaptrack_print", "--json", tmp_path / "a.zst").stdout)["summary"]
    assert bool(summary["before_attach_blocks"]) == (old_blocks == "yes")
    assert victim.end() == 0


def test_which_runtime_it_has(build, target):  # noqa: F811
    for command, text in ((["node", "-e", "console.log('ready'); setTimeout(() => 0, 60000)"], "node maps "),
                          (["/usr/bin/python3", "-c", "import time; print('ready', flush=True); time.sleep(60)"],
                           "--python-objects")):
        if shutil.which(command[0]):
            said = json.loads(run(build / "heaptrack", "--check", target(command).pid, "--json").stdout)
            assert text in said["runtime"]["text"] and said["libc"]["text"].startswith("glibc ")


def test_json_has_the_rows_of_the_text(build, target):  # noqa: F811
    victim = target([build / "tests/attach/pattern", "1"])
    described = set(re.findall(r"`(\w+)`", "".join(re.findall(
        r"^\| (`\w+`.*?) \|", (Path(__file__).resolve().parents[2] / "docs/attach.md").read_text().split(
            "--json` prints")[1].split("The time for the copy")[0], re.MULTILINE))))
    seen = {"runtime"}
    for words in ([], [victim.pid]):
        done = run(build / "heaptrack", "--check", *words, "--json")
        assert done.stdout.count("\n") == 1 and done.stderr == ""
        said = json.loads(done.stdout)
        rows = {name: row["answer"] for name, row in said.items() if isinstance(row, dict)}
        text = run(build / "heaptrack", "--check", *words).stdout
        named = re.findall(r"^  (\w+(?: \w+)?) {1,}(?:(yes|no|perhaps|unknown)  |(?=\S))", text, re.MULTILINE)
        assert {name.replace(" ", "_") for name, _ in named} >= {name for name, row in rows.items() if row}
        assert said["version"] == 1 and (("pid" in said) == bool(words))
        assert {name: row for name, row in rows.items() if row} == {
            name: row[0] for name, row in ((name.replace(" ", "_"), row) for name, row in check(build, *words)[0].items())}
        seen |= said.keys()
    assert seen == described
    assert victim.end() == 0


def test_capabilities(build):
    for by, text in (((), "yes"), (["unshare", "-r"], "only within its user namespace"), (NOBODY, "no, so only")):
        done = run(build / "heaptrack", "--check", "--json", by=by)
        if done.returncode in (0, 1) and done.stdout:
            assert text in json.loads(done.stdout)["capabilities"]["text"]


def test_what_is_no_process(build, tmp_path):
    assert "there is no process" in foretells(build, 4194303, tmp_path)[1]
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert "is a zombie" in foretells(build, ended.pid, tmp_path)[1]
    ended.wait()
    if os.path.exists("/proc/2/comm"):
        assert foretells(build, 2, tmp_path)[0] == "no"


def test_traced_and_recorded_ones(build, target, tools, tmp_path):  # noqa: F811
    victim = target([build / "tests/attach/pattern", "1"])
    process = start_listening(build, victim.pid, tmp_path / "first")
    assert "already being recorded" in foretells(build, victim.pid, tmp_path)[1]
    assert finish(process)[0] == 0
    if shutil.which("strace"):
        tracer = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(victim.pid)], stderr=subprocess.PIPE,
                                  text=True)
        tracer.stderr.readline()
        assert "(strace)" in foretells(build, victim.pid, tmp_path)[1]
        tracer.terminate()
        tracer.communicate()
    assert victim.end() == 0
    running = tools.start_record(build / "tests/attach/pattern", "1")
    pid = running.program()
    wait_until(lambda: "ready" in running.finished(0).stdout, what="its start")
    assert "was started under heaptrack" in foretells(build, pid, tmp_path)[1]
    os.kill(pid, 15)
    assert running.wait().status == 0


def test_rights(build, target, nobodys, tmp_path):  # noqa: F811
    tmp_path.chmod(0o777)
    victim = target([build / "tests/attach/pattern", "1"])
    assert "belongs to user 0" in foretells(nobodys, victim.pid, nobodys, by=NOBODY)[1]
    assert "container" not in run(nobodys / "heaptrack", "--check", victim.pid, by=NOBODY).stdout
    assert victim.end() == 0


def test_yama(build, target, nobodys, tmp_path):  # noqa: F811
    by = yama_is_1()
    shutil.copy(build / "tests/attach/pattern", nobodys)
    victim = target([*NOBODY, nobodys / "pattern", "1"])
    assert "kernel.yama.ptrace_scope is 1" in foretells(nobodys, victim.pid, nobodys, by=by)[1]
    rows, status = check(nobodys, by=by)
    assert status == 1 and rows["attach"][0] == "no" and "sudo heaptrack -p PID" in rows["attach"][1]
    assert rows["start"][0] == rows["inject"][0] == "yes"
    assert victim.end() == 0


def test_sandboxes(build, target, tmp_path):  # noqa: F811
    """Its filters are read when it is stopped, which a check never does."""
    for action, call in (("errno", KEYCTL), ("kill", MEMFD_CREATE)):
        victim = target([*SANDBOX, action, call, build / "tests/attach/pattern", "2"])
        assert foretells(build, victim.pid, tmp_path)[0] == "perhaps"
        assert victim.end() == 0
    victim = target([*SANDBOX, "errno", KEYCTL, build / "tests/attach/pattern", "1"])
    assert foretells(build, victim.pid, tmp_path, by=[*SANDBOX, "errno", KEYCTL])[0] == "yes"
    assert victim.end() == 0


def test_another_pid_namespace(build, target, tmp_path):  # noqa: F811
    if run("true", by=["unshare", "-pf"]).returncode != 0:
        pytest.skip("no pid namespace here")
    outer = target(["unshare", "-pf", "--kill-child", build / "tests/attach/pattern", "1"])
    inner = int(run("pgrep", "-P", outer.pid).stdout)
    assert "(a container)" in run(build / "heaptrack", "--check", inner).stdout
    assert foretells(build, inner, tmp_path)[0] == "yes"


def test_32_bits(build, target, tmp_path):  # noqa: F811
    victim = start_32_bits(target, tmp_path)
    assert "is not a 64-bit x86 program" in foretells(build, victim.pid, tmp_path)[1]
    assert foretells_start(build, victim.pid, [tmp_path / "waits"], tmp_path) == "no"


def test_go(build, target, tmp_path):  # noqa: F811
    if not shutil.which("go"):
        pytest.skip("go is not installed")
    (tmp_path / "w.go").write_text('package main\nimport "time"\nfunc main() { println("ready"); time.Sleep(1e12) }\n')
    subprocess.run(["go", "build", "-o", tmp_path / "waits", tmp_path / "w.go"], check=True, timeout=300, cwd=tmp_path,
                   env={**os.environ, "GOCACHE": str(tmp_path / "cache"), "CGO_ENABLED": "0", "GO111MODULE": "off"})
    victim = target([tmp_path / "waits"])
    assert foretells(build, victim.pid, tmp_path)[0] == "no"
    assert foretells_start(build, victim.pid, [tmp_path / "waits"], tmp_path) == "no"
