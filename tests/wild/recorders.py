"""A program run three times in the same folder: by itself, recorded by us, recorded by KDE's.

A server is asked by its clients while it runs, and ended by its pid. KDE's figures are those of the
stream that its recorder writes, added up by our reader, which tests/e2e/test_kde_read.py holds
against KDE's heaptrack_print.
"""

import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

import inputs

KDE = "/usr/bin/heaptrack"
# Debian's programs, before others of the same name
PATH = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/games:/usr/local/bin:" + os.environ["PATH"]


class Run:
    """One of the three: how it ended, what it wrote, and the recording, if there is one."""

    def __init__(self, finished, file=None, known=None):
        self.status, self.stdout, self.stderr = finished.status, finished.stdout_bytes, finished.stderr
        self.file, self.known = file, known
        if known:
            self.calls = known["summary"]["allocations"]
            self.peak = known["summary"]["peak_bytes"]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def said_by_shell(found):
    done = subprocess.run(["/bin/sh", "-c", found[1]], capture_output=True, check=False, text=True)
    if done.returncode != 0:
        pytest.skip(f"not here: {found[1]}")
    return done.stdout.strip()


class Stage:
    """The folder of a program, made anew for each run from one copy of its inputs."""

    def __init__(self, program, tools, folder, helpers):
        self.program, self.tools, self.helpers = program, tools, helpers
        self.more = {}
        if program.user:  # who may not look into root's folders
            folder = Path(tempfile.mkdtemp(prefix="heaptrack-wild."))
            self.more = {"user": program.user, "group": pwd.getpwnam(program.user).pw_gid}
        self.folder = folder
        self.inputs, self.place = folder / "inputs", folder / "run"
        self.inputs.mkdir()
        self.words = {"port": free_port(), "here": str(self.place)}
        inputs.make(self.inputs, " ".join([program.command, program.before, program.stdin,
                                           program.client, *program.files.values()]))
        for name, text in program.files.items():
            (self.inputs / name).write_text(text.replace("{port}", str(self.words["port"])))
        self.env = {"PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "LC_ALL": "C", "PATH": PATH,
                    "HOME": str(self.place), "PWD": str(self.place),
                    "DEBUGINFOD_URLS": "", "DBUS_SESSION_BUS_ADDRESS": "disabled:",
                    "GIT_CONFIG_GLOBAL": "/dev/null", "OMP_NUM_THREADS": "2", **program.env}
        if program.screen:
            self.env["DISPLAY"] = start_screen(tools, helpers)
        if program.before:
            self.make_place()
            done = tools.run("/bin/sh", "-c", self.fill(program.before), cwd=self.place, env=self.env,
                             **self.more)
            assert done.status == 0, repr(done)
            shutil.rmtree(self.inputs)
            self.place.rename(self.inputs)

    def make_place(self):
        shutil.rmtree(self.place, ignore_errors=True)
        subprocess.run(["cp", "-a", self.inputs, self.place], check=True)
        if self.more:
            subprocess.run(["chown", "-R", self.program.user, self.folder], check=True)

    def finish(self):
        if self.program.user:
            shutil.rmtree(self.folder)

    def fill(self, text):
        for name, value in self.words.items():
            text = text.replace("{" + name + "}", str(value))
        return re.sub(r"\$\((.*?)\)", said_by_shell, text)

    def command_line(self, command=""):
        command = shlex.split(self.fill(command or self.program.command))
        path = shutil.which(command[0], path=PATH)
        if not path and not (self.place / command[0]).exists():
            pytest.skip(f"{command[0]} is not installed")
        return [path or str(self.place / command[0]), *command[1:]]

    def run(self, *before, command=""):
        """The program in a fresh folder, with words before it that record it."""
        self.make_place()
        command = self.command_line(command)
        stdin = open(self.place / self.program.stdin, "rb") if self.program.stdin else None
        running = self.tools.start(*before, *command, cwd=self.place, env=self.env,
                                   stdin=stdin or subprocess.DEVNULL, **self.more)
        if stdin:
            stdin.close()
        if self.program.client:
            self.ask(running, Path(command[0]).name)
        return running.wait()

    def ask(self, running, name):
        """Wait until a server is there, let its clients ask, end it."""
        ready = self.fill(self.program.ready)
        self.helpers.wait_until(lambda: is_ready(ready, self.place, running), what=f"{ready} of {name}")
        done = self.tools.run("/bin/sh", "-c", self.fill(self.program.client), cwd=self.place,
                              env=self.env)
        assert done.status == 0, repr(done)
        os.kill(self.eldest(running, name), self.program.end)

    def attached(self, out, *options):
        """A server by itself, recorded while its clients ask."""
        self.make_place()
        running = self.tools.start(*self.command_line(), cwd=self.place, env=self.env, stdin=subprocess.DEVNULL,
                                   **self.more)
        ready, name = self.fill(self.program.ready), Path(self.command_line()[0]).name
        self.helpers.wait_until(lambda: is_ready(ready, self.place, running), what=f"{ready} of {name}")
        server = self.eldest(running, name)
        heaptrack = self.tools.start(self.tools.heaptrack, "-f", *options, "-o", out, "-p", server)
        self.helpers.wait_until(lambda: is_said("attached to process", heaptrack), what=f"the attach to {name}")
        client = self.tools.run("/bin/sh", "-c", self.fill(self.program.client), cwd=self.place, env=self.env)
        heaptrack.process.send_signal(signal.SIGINT)
        done = heaptrack.wait()
        assert client.status == 0 and done.status == 0, repr((client, done))
        os.kill(server, self.program.end)
        return running.wait()

    def eldest(self, running, name):
        """The server itself, below whoever records it."""
        def find():
            for parent in [running.pid, *children(running.pid)]:
                for pid in [parent, *children(parent)]:
                    if command_name(pid) == name[:15]:
                        return pid
            return None
        return self.helpers.wait_until(find, what=f"{name} below {running.pid}")

    def plain(self):
        return Run(self.run())

    def ours(self, number, loaded=()):
        """Recorded by us, with libraries loaded that the program does not ask for."""
        file = self.place.parent / f"ours{number}.zst"
        before = ["/usr/bin/env", f"LD_PRELOAD={':'.join(loaded)}"] if loaded else []
        finished = self.run(*before, self.tools.heaptrack, "-q", "-f", "-o", file)
        return Run(finished, file, self.tools.json(file, "--limit", "1"))

    def of_a_judge_that_hangs(self, *before, command):
        """KDE's recorder may hang where a signal's handler allocates (dnsmasq): it is asked again."""
        for _ in range(3):
            try:
                return self.run(*before, command=command)
            except pytest.fail.Exception:
                pass
        pytest.skip("KDE's heaptrack hung three times: there is nothing to compare with")
        return None

    def kdes(self, number):
        name = self.place.parent / f"kdes{number}"
        finished = self.of_a_judge_that_hangs(KDE, "-r", "-o", name, command=self.program.judged)
        file = name.with_name(name.name + ".raw.zst")
        run = Run(finished, file, self.tools.json(file, "--limit", "1"))
        # What KDE's prints of itself stands before and after
        text = run.stdout.partition(b"this might take some time...\n")[2]
        run.stdout = text.rpartition(b"Heaptrack finished!")[0]
        return run


def start_screen(tools, helpers):
    if not shutil.which("Xvfb"):
        pytest.skip("Xvfb is not installed")
    (tools.folder / "screen").mkdir()
    number = tools.folder / "screen" / "number"
    with open(number, "wb") as out:
        tools.start("Xvfb", "-displayfd", str(out.fileno()), "-screen", "0", "800x600x24", "-nolisten",
                    "tcp", pass_fds=[out.fileno()])
    text = helpers.wait_until(lambda: number.read_text().endswith("\n") and number.read_text(),
                              what="the number of the screen")
    return f":{text.strip()}"


def children(pid):
    try:
        return [int(child) for task in Path(f"/proc/{pid}/task").iterdir()
                for child in (task / "children").read_text().split()]
    except OSError:
        return []


def command_name(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def is_said(text, running):
    return any(text.encode() in Path(output.name).read_bytes() for output in running.outputs)


def is_ready(ready, place, running):
    """A port or socket that listens, a file that exists, or text in what the server wrote."""
    if running.process.poll() is not None:
        pytest.fail(f"ended before it was ready: {running.finished(running.process.returncode)!r}")
    if ready.isdigit():
        with socket.socket() as one:
            one.settimeout(1)
            return one.connect_ex(("127.0.0.1", int(ready))) == 0
    if ready.startswith("says "):
        return is_said(ready[5:], running)
    if (place / ready).is_socket():  # it is there before it listens
        with socket.socket(socket.AF_UNIX) as one:
            at = os.open(place, os.O_RDONLY)  # paths of sockets are short
            try:
                return one.connect_ex(f"/proc/self/fd/{at}/{ready}") == 0
            finally:
                os.close(at)
    return (place / ready).exists()

