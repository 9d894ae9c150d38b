"""Signals, job control, hang-ups and PID 1: the program sees what it would see without us."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import pytest

# counter.py NAME=N...: says what arrives; when that is N of each, waits whether more comes, and ends
COUNTER = """
import os, signal, sys, time
expected = {name: int(n) for name, n in (word.split("=") for word in sys.argv[1:])}
counts = dict.fromkeys(expected, 0)
def count(number, frame):
    name = signal.Signals(number).name
    counts[name] += 1
    os.write(1, f"got {name} {counts[name]}\\n".encode())
for name in expected:
    signal.signal(getattr(signal, name), count)
print("ready", flush=True)
end = time.monotonic() + 60
while time.monotonic() < end and any(counts[name] < expected[name] for name in expected):
    time.sleep(0.05)
time.sleep(0.7)
print("counts", *[f"{n}={counts[n]}" for n in expected], flush=True)
"""


@pytest.fixture
def counter(tmp_path):
    path = tmp_path / "counter.py"
    path.write_text(COUNTER)
    return path


class Terminal:
    """A pseudo-terminal with a command as its session leader."""

    def __init__(self, command, cwd):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ["PS1"] = "PROMPT> "
            for number in (signal.SIGINT, signal.SIGQUIT):  # ignored, if we run in the background
                signal.signal(number, signal.SIG_DFL)
            os.execv(command[0], command)
        self.text = ""

    def send(self, data):
        os.write(self.fd, data)

    def read_until(self, pattern, timeout=60):
        end = time.monotonic() + timeout
        while not (match := re.search(pattern, self.text)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                pytest.fail(f"no {pattern!r} within {timeout} s in {self.text!r}")
            try:
                data = os.read(self.fd, 4096)
            except OSError:  # EIO: the last process has closed it
                data = b""
            if not data:
                pytest.fail(f"no {pattern!r} before the end of {self.text!r}")
            self.text += data.decode(errors="replace")
        self.text = self.text[match.end():]
        return match

    def wait(self, timeout=60):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self.fd, 4096).decode(errors="replace")
                except OSError:
                    time.sleep(0.05)
        pytest.fail("still running")

    def close(self):
        os.close(self.fd)
        if self.pid:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def start(*command):
        opened.append(Terminal([str(word) for word in command], tmp_path))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def program_of(pid, helpers):
    """The process that a heaptrack started, once it runs the program."""
    def find():
        for child in children_of(pid):
            with open(f"/proc/{child}/cmdline") as file:
                if "heaptrack" not in file.read().split("\0")[0]:
                    return child
        return None
    return helpers.wait_until(find, what="the program's start")


def children_of(pid):
    children = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                children += [int(word) for word in file.read().split()]
    except FileNotFoundError:
        pass
    return children


def stdout_so_far(running):
    running.outputs[0].flush()
    with open(running.outputs[0].name, "rb") as file:
        return file.read().decode()


def wait_ready(running, helpers):
    helpers.wait_until(lambda: "ready" in stdout_so_far(running), what="ready")


def wait_got(running, helpers, name, n):
    helpers.wait_until(lambda: f"got {name} {n}\n" in stdout_so_far(running), what=f"{name} for time {n}")


def assert_whole(tools, file):
    assert subprocess.run(["zstd", "-qt", file]).returncode == 0
    known = tools.json(file)
    assert known["summary"]["complete"]
    assert known["summary"]["allocations"] > 0
    return known


def test_ctrl_c_in_a_terminal_arrives_once(tools, terminal, counter, tmp_path):
    shell = terminal(tools.heaptrack, "-q", "-o", tmp_path / "t", sys.executable, counter, "SIGINT=1")
    shell.read_until("ready")
    shell.send(b"\x03")
    assert shell.read_until(r"counts SIGINT=(\d+)")[1] == "1"
    assert shell.wait() == 0
    assert_whole(tools, tmp_path / "t.zst")


def test_ctrl_c_ends_what_does_not_catch_it(tools, terminal, tmp_path):
    shell = terminal(tools.heaptrack, "-q", "-o", tmp_path / "t", "sh", "-c",
                     "echo ready; exec sleep 90")
    shell.read_until("ready")
    time.sleep(0.3)
    shell.send(b"\x03")
    assert shell.wait() == 128 + signal.SIGINT
    assert_whole(tools, tmp_path / "t.zst")


@pytest.mark.parametrize(
    "name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_sent_signal_arrives_once(tools, counter, helpers, name):
    running = tools.start_record(sys.executable, counter, f"{name}=1")
    wait_ready(running, helpers)
    os.kill(running.pid, getattr(signal, name))
    finished = running.wait()
    assert finished.status == 0, repr(finished)
    assert f"counts {name}=1" in finished.stdout
    assert_whole(tools, running.file)


def test_sent_signal_ends_the_program_and_its_status_is_passed_on(tools, helpers):
    running = tools.start_record("sh", "-c", "echo ready; exec sleep 90")
    wait_ready(running, helpers)
    time.sleep(0.3)
    os.kill(running.pid, signal.SIGTERM)
    finished = running.wait(60)
    assert finished.status == 128 + signal.SIGTERM, repr(finished)
    assert_whole(tools, running.file)


def test_signal_to_the_group_arrives_once(tools, counter, helpers):
    """As from `kill %1` in a shell or `kill -- -PGID`: the program has it already."""
    running = tools.start_record(sys.executable, counter, "SIGTERM=10", "SIGUSR1=10")
    wait_ready(running, helpers)
    for i in range(1, 11):
        os.killpg(running.pid, signal.SIGTERM)
        wait_got(running, helpers, "SIGTERM", i)
        time.sleep(0.1)
        os.kill(running.pid, signal.SIGUSR1)
        wait_got(running, helpers, "SIGUSR1", i)
        time.sleep(0.1)
    finished = running.wait()
    assert "counts SIGTERM=10 SIGUSR1=10" in finished.stdout, repr(finished)


def is_pending(pid, number):
    with open(f"/proc/{pid}/status") as file:
        pending = next(line for line in file if line.startswith("ShdPnd"))
    return int(pending.split()[1], 16) >> (number - 1) & 1 == 1


def as_timeout(heaptrack, _guardian, _group):
    return [heaptrack, -heaptrack]


def as_kill_by_name(heaptrack, guardian, _group):
    return [heaptrack, guardian]


def as_service_manager(_heaptrack, guardian, group):
    return [*group, guardian]


@pytest.mark.parametrize("receivers", [as_timeout, as_kill_by_name, as_service_manager])
def test_signal_to_several_processes_of_heaptrack_arrives_once(tools, counter, helpers, receivers):
    """Some programs are not up to a second SIGTERM while they end."""
    running = tools.start_record(sys.executable, counter, "SIGTERM=5", "SIGUSR1=5")
    wait_ready(running, helpers)
    program = program_of(running.pid, helpers)
    guardian, = (child for child in children_of(running.pid) if child != program)
    group = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if group_of(pid) == running.pid]
    assert len(group) == 3, "heaptrack, its witness and the program"
    allowed = 0  # with what would have arrived without heaptrack, too, where the sender was held up
    for i in range(1, 6):
        start = time.monotonic()
        for pid in receivers(running.pid, guardian, group):
            os.kill(pid, signal.SIGTERM)
            while pid > 0 and is_pending(pid, signal.SIGTERM):
                pass  # else the kernel would merge it with the next one
        allowed += 1 if time.monotonic() - start < 0.004 else len(group)
        helpers.wait_until(lambda: stdout_so_far(running).count("got SIGTERM") >= i, what="SIGTERM")
        os.kill(running.pid, signal.SIGUSR1)
        wait_got(running, helpers, "SIGUSR1", i)  # what was forwarded before has arrived
        time.sleep(0.1)  # the next one is another signal
    finished = running.wait()
    assert 5 <= int(re.search(r"counts SIGTERM=(\d+)", finished.stdout)[1]) <= allowed, repr(finished)


def group_of(pid):
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def test_status_of_a_signal_that_the_program_gets_by_itself(tools):
    recording = tools.record("perl", "-e", "kill 'SEGV', $$; sleep 5")
    assert recording.status == 128 + signal.SIGSEGV, repr(recording)
    assert recording.json()["summary"]["complete"]


def stopped_by_ctrl_z(tools, terminal, counter, folder):
    """A shell that has stopped heaptrack and its program, and waits for a command."""
    shell = terminal(shutil.which("bash"), "--norc", "--noprofile", "-i")
    shell.read_until("PROMPT> ")
    shell.send(f"{tools.heaptrack} -q -o {folder}/t {sys.executable} {counter} SIGCONT=1\n".encode())
    shell.read_until("ready")
    shell.send(b"\x1a")
    shell.read_until("Stopped")
    shell.read_until("PROMPT> ")
    return shell


def test_ctrl_z_and_fg(tools, terminal, counter, tmp_path, helpers):
    shell = stopped_by_ctrl_z(tools, terminal, counter, tmp_path)
    # The helper that would follow an exec has a session of its own, and sleeps
    states = [state_of(pid) for pid in family_of(shell.pid) if os.getsid(pid) == os.getsid(shell.pid)]
    assert states and set(states) == {"T"}, states
    shell.send(b"fg\n")
    assert shell.read_until(r"counts SIGCONT=(\d+)")[1] == "1"
    shell.read_until("PROMPT> ")
    shell.send(b"echo status $?; exit\n")
    assert shell.read_until(r"status (\d+)")[1] == "0"
    assert_whole(tools, tmp_path / "t.zst")


def test_a_stopped_program_that_is_continued_alone(tools, terminal, counter, tmp_path, helpers):
    """Ctrl+Z stops both; who continues the program alone shall not run into a stopped collector."""
    shell = stopped_by_ctrl_z(tools, terminal, counter, tmp_path)
    heaptrack, = children_of(shell.pid)
    program = program_of(heaptrack, helpers)
    os.kill(program, signal.SIGCONT)
    helpers.wait_until(lambda: state_of(heaptrack) != "T", what="heaptrack to go on")
    assert shell.read_until(r"counts SIGCONT=(\d+)")[1] == "1"
    shell.send(b"wait; echo status $?; exit\n")
    shell.read_until(r"status (\d+)")
    assert_whole(tools, tmp_path / "t.zst")


def state_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def family_of(pid):
    found = []
    for child in children_of(pid):
        found += [child] + family_of(child)
    return found


def test_ctrl_z_on_a_program_that_ignores_it(tools, terminal, tmp_path):
    program = tmp_path / "deaf.py"
    program.write_text("import signal, time\n"
                       "signal.signal(signal.SIGTSTP, signal.SIG_IGN)\n"
                       "print('ready', flush=True)\n"
                       "kept = [bytes(1000) for i in range(100000)]\n"
                       "time.sleep(1)\n"
                       "more = [bytes(1000) for i in range(100000)]\n"
                       "print('done', flush=True)\n")
    shell = terminal(shutil.which("bash"), "--norc", "--noprofile", "-i")
    shell.read_until("PROMPT> ")
    shell.send(f"PYTHONMALLOC=malloc {tools.heaptrack} -q -o {tmp_path}/t {sys.executable} "
               f"{program}\n".encode())
    shell.read_until("ready")
    shell.send(b"\x1a")
    shell.read_until("done")
    shell.read_until("PROMPT> ")
    shell.send(b"echo status $?; exit\n")
    assert shell.read_until(r"status (\d+)")[1] == "0"
    known = assert_whole(tools, tmp_path / "t.zst")
    assert known["summary"]["lost_events"] == 0
    assert known["summary"]["allocations"] > 200000


def test_background_job_of_a_shell_without_job_control(tools, counter, helpers, tmp_path):
    """`sh -c 'heaptrack ... &'` starts it with SIGINT ignored, and the program expects that."""
    script = f"{tools.heaptrack} -q -o {tmp_path}/t perl -e " \
        "'print $SIG{INT} // \"default\", \"\\n\"' & wait"
    finished = tools.run("sh", "-c", script)
    assert finished.stdout == "IGNORE\n", repr(finished)


def test_nohup_survives_the_hang_up(tools, terminal, counter, tmp_path, helpers):
    shell = terminal(shutil.which("bash"), "--norc", "--noprofile", "-i")
    shell.read_until("PROMPT> ")
    out = tmp_path / "out"
    shell.send(f"nohup {tools.heaptrack} -q -o {tmp_path}/t {sys.executable} -c "
               f"'import time; print(1, flush=True); time.sleep(1.5); print(2)' > {out} 2>&1 &\n"
               .encode())
    helpers.wait_until(lambda: out.exists() and "1\n" in out.read_text(), what="its start")
    shell.close()
    shell.close = lambda: None
    helpers.wait_until(lambda: out.read_text().split()[-2:] == ["1", "2"], what="its end")
    helpers.wait_until(lambda: json_or_none(tools, tmp_path / "t.zst"), what="a whole file")


def json_or_none(tools, file):
    finished = tools.run(tools.heaptrack_print, "--json", file)
    return finished.status == 0 and '"complete":true' in finished.stdout.replace(" ", "")


def test_the_kill_line_of_the_node_guide(tools, helpers, tmp_path):
    """ps | grep | head -n 1 | kill, as typed: node ends gracefully, the file is whole."""
    script = tmp_path / "lodestar-of-this-test.js"
    script.write_text("process.on('SIGTERM', () => { console.log('graceful'); process.exit(0) });\n"
                      "console.log('ready'); setInterval(() => Buffer.alloc(1e6), 10);\n")
    running = tools.start(tools.heaptrack, "--output", tmp_path / "lodestar.heapdump", "node",
                          "--max-old-space-size=8192", script)
    wait_ready(running, helpers)
    subprocess.run("ps aux | grep lodestar-of-this-test | grep -v grep | awk '{print $2}' | "
                   "head -n 1 | xargs kill", shell=True, check=True)
    finished = running.wait(60)
    assert finished.status == 0, repr(finished)
    assert "graceful" in finished.stdout
    assert_whole(tools, tmp_path / "lodestar.heapdump.zst")


NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def can_unshare():
    return subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not can_unshare(), reason="pid namespaces need rights")
def test_pid_1_three_times_in_one_folder(tools, tmp_path, helpers):
    folder = tmp_path / "container"
    folder.mkdir()
    for i in range(3):
        finished = tools.run(*NAMESPACE, tools.heaptrack, "-q", "sh", "-c", "exit 5", cwd=folder)
        assert finished.status == 5, repr(finished)
    files = sorted(file.name for file in folder.iterdir())
    assert files == ["heaptrack.sh.1.1.zst", "heaptrack.sh.1.2.zst", "heaptrack.sh.1.zst"]
    for file in folder.iterdir():
        assert_whole(tools, file)


@pytest.mark.skipif(not can_unshare(), reason="pid namespaces need rights")
def test_pid_1_reaps_orphans_and_is_stopped_from_outside(tools, tmp_path, helpers):
    """docker stop: SIGTERM from outside the namespace, 10 s for a whole file."""
    program = tmp_path / "init.sh"
    # The middle shell ends at once: its child becomes an orphan, of PID 1, and then a zombie
    program.write_text("sh -c 'sleep 0.2 & echo $!' > orphan\n"
                       "trap 'echo stopped; exit 0' TERM\n"
                       "echo ready; while :; do sleep 0.05; done\n")
    running = tools.start(*NAMESPACE, tools.heaptrack, "-q", "-o", tmp_path / "t", "sh", program,
                          cwd=tmp_path)
    wait_ready(running, helpers)
    heaptrack = children_of(running.pid)[0]
    time.sleep(0.6)
    helpers.wait_until(lambda: not [pid for pid in children_of(heaptrack) if state_of(pid) == "Z"],
                       what="the end of the zombies")
    start = time.monotonic()
    os.kill(heaptrack, signal.SIGTERM)
    finished = running.wait()
    assert time.monotonic() - start < 10  # then docker would kill it
    assert finished.status == 0 and "stopped" in finished.stdout, repr(finished)
    assert_whole(tools, tmp_path / "t.zst")


def test_killed_collector_leaves_the_program_alone(tools, tmp_path, helpers):
    program = tmp_path / "on.py"
    program.write_text("import time\nprint('ready', flush=True)\n"
                       "for i in range(30):\n    kept = [bytes(100) for i in range(3000)]\n"
                       "    time.sleep(0.05)\nopen('done', 'w').close()\n")
    running = tools.start_record(sys.executable, program, cwd=tmp_path,
                                 env={"PYTHONMALLOC": "malloc"})
    wait_ready(running, helpers)
    time.sleep(0.3)
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait()
    helpers.wait_until((tmp_path / "done").exists, what="the program's end")


# An init of containers: starts its command, forwards what it gets (to the command, as tini does; or to
# its whole session's group, as dumb-init does), reaps, ends as the command did
INIT = """
import os, signal, sys
child = os.fork()
if child == 0:
    if sys.argv[1] == "group":
        os.setsid()
    os.execvp(sys.argv[2], sys.argv[2:])
def forward(number, frame):
    (os.killpg if sys.argv[1] == "group" else os.kill)(child, number)
for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, forward)
while True:
    pid, status = os.wait()
    if pid == child:
        sys.exit(os.waitstatus_to_exitcode(status) % 256)
"""


@pytest.mark.skipif(not can_unshare(), reason="pid namespaces need rights")
@pytest.mark.parametrize("to", ["child", "group"])
def test_under_an_init_of_containers(tools, tmp_path, helpers, counter, to):
    """Each signal arrives once; the file is whole when the container ends, as its PID 1 does."""
    init = tmp_path / "init.py"
    init.write_text(INIT)
    running = tools.start(*NAMESPACE, sys.executable, init, to, tools.heaptrack, "-q", "-o",
                          tmp_path / "t", sys.executable, counter, "SIGTERM=1", "SIGUSR1=2")
    wait_ready(running, helpers)
    pid_1 = children_of(running.pid)[0]
    for name, n in (("SIGUSR1", 1), ("SIGTERM", 1), ("SIGUSR1", 2)):
        os.kill(pid_1, getattr(signal, name))
        wait_got(running, helpers, name, n)
    finished = running.wait()
    assert finished.status == 0 and "counts SIGTERM=1 SIGUSR1=2" in finished.stdout, repr(finished)
    assert_whole(tools, tmp_path / "t.zst")
