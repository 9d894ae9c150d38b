"""What end-to-end tests share: where the build is, how to record, how to ask a recording.

Every process is started here or with the helpers of this file, bounded in time, and only what was
started is ended: the processes of its session, which is its own.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE = 180  # seconds: for hangs, on a machine that is busy with other things

SOURCE = Path(__file__).resolve().parent.parent
HELPERS = sys.modules[__name__]  # a conftest.py of a folder below takes this name


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run the long form of tests")


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: "waits" not in item.keywords)  # else the others would wait for them at the end
    if not config.getoption("--long"):
        for item in items:
            if "long" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="long: run with --long"))


def skip_without_attaching(item):
    """Without what is put into processes, what attaches has nothing to test."""
    build = Path(os.environ.get("HEAPTRACK_BUILD") or SOURCE / "build")
    if item.get_closest_marker("attach") and not (build / "libheaptrack_inject.so").exists():
        pytest.skip("built without attaching (-Dattach=false)")


def bounded(item):
    """A test that hangs is a failure with a traceback, not a hang."""
    marker = item.get_closest_marker("timeout")
    seconds = marker.args[0] if marker else 3600 if item.config.getoption("--long") else 2 * PATIENCE

    def out_of_time(_signal, _frame):
        pytest.fail(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, out_of_time)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    skip_without_attaching(item)
    yield from bounded(item)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    yield from bounded(item)


@pytest.fixture(scope="session", autouse=True)
def as_in_the_foreground():
    """What a shell starts in the background ignores SIGINT and SIGQUIT, and so does all below it. What
    tests start does not: other than being ignored, a handler ends with exec."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda _signal, _frame: None)


class Finished:
    """A process that has ended: its exit status (128 + n for signal n) and what it wrote."""

    def __init__(self, command, status, stdout, stderr, seconds):
        self.command, self.status, self.seconds = command, status, seconds
        self.stdout_bytes, self.stderr_bytes = stdout, stderr
        self.stdout = stdout.decode(errors="replace")
        self.stderr = stderr.decode(errors="replace")

    def __repr__(self):
        return f"{self.command}: status {self.status} after {self.seconds:.1f} s\n" \
            f"--- stdout\n{self.stdout[-2000:]}\n--- stderr\n{self.stderr[-4000:]}"


class Running:
    """A process in a session of its own, its output kept in files."""

    def __init__(self, command, folder, cwd=None, env=None, stdin=subprocess.DEVNULL, **more):
        self.command = [str(word) for word in command]
        self.outputs = [open(folder / f"{name}.{time.monotonic_ns()}", "w+b")
                        for name in ("stdout", "stderr")]
        self.started = time.monotonic()
        mark = f"{os.getpid()}.{time.monotonic_ns()}"
        self.mark = f"HEAPTRACK_TEST={mark}\0".encode()
        self.process = subprocess.Popen(
            self.command, cwd=cwd, stdin=stdin,
            env={**os.environ, **(env or {}), "HEAPTRACK_TEST": mark},
            stdout=self.outputs[0], stderr=self.outputs[1], start_new_session=True, **more)
        self.pid = self.process.pid

    def program(self):
        """The pid of what a running heaptrack records: its child that is another program."""
        own = os.readlink(f"/proc/{self.pid}/exe")

        def find():
            for task in Path(f"/proc/{self.pid}/task").iterdir():
                for child in (task / "children").read_text().split():
                    try:
                        if os.readlink(f"/proc/{child}/exe") != own:
                            return int(child)
                    except OSError:
                        pass
            return None
        return wait_until(find, what="the program's start")

    def wait_for_attach(self):
        """Until a heaptrack -p has attached; one that ends instead has said why."""
        wait_until(lambda: "attached to process" in self.finished(0).stderr or self.process.poll() is not None,
                   what="the attach")
        assert "attached to process" in self.finished(0).stderr, repr(self.finished(self.process.poll()))

    def wait(self, timeout=PATIENCE):
        """Wait for its end. Ends it, and fails the test, when the time is up."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.end()
            pytest.fail(f"still running after {timeout} s: {self.finished(-signal.SIGKILL)!r}")
        return self.finished(status)

    def finished(self, status):
        seconds = time.monotonic() - self.started
        written = []
        for output in self.outputs:
            # Without moving the offset: the program has the same
            written.append(os.pread(output.fileno(), os.fstat(output.fileno()).st_size, 0))
        status = 128 - status if status < 0 else status
        return Finished(self.command, status, *written, seconds)

    def end(self):
        """Kill it and what it started: the processes of its session, which began with it.

        Once it is gone its number may have gone to a stranger, so what it left behind must also
        carry the mark of its environment.
        """
        is_gone = self.process.poll() is not None
        for _ in range(100):  # again, for what was being forked meanwhile
            ended = 0
            for pid in processes_of_session(self.pid):
                try:
                    if not is_gone or self.mark in Path(f"/proc/{pid}/environ").read_bytes():
                        os.kill(pid, signal.SIGKILL)
                        ended += 1
                except OSError:
                    pass
            if not ended:
                break
            time.sleep(0.01)
        self.process.wait()


def processes_of_session(session):
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            fields = Path("/proc", pid, "stat").read_bytes().rpartition(b")")[2].split()  # state, parent, group, session
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[3]) == session and fields[0] not in b"ZX":
            yield int(pid)


class Recording(Finished):
    """A finished `heaptrack` run, and the file that it wrote."""

    def __init__(self, finished, file, tools):
        self.__dict__.update(finished.__dict__)
        self.file, self.tools = file, tools

    def json(self, *options, timeout=PATIENCE):
        return self.tools.json(self.file, *options, timeout=timeout)

    def report(self, *options, timeout=PATIENCE):
        return self.tools.print(self.file, *options, timeout=timeout).stdout


class Tools:
    """The built commands. Made by the `tools` fixture, once per test."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.heaptrack = build / "heaptrack"
        self.heaptrack_print = build / "heaptrack_print"
        self.preload = build / "libheaptrack_preload.so"
        self.started = []

    def victim(self, name):
        path = self.build / "tests" / "victims" / name
        assert path.is_file(), f"{path} is not built; is it in tests/victims/meson.build?"
        return path

    def start(self, *command, **more):
        """Start a command in the background; it is ended with the test at the latest."""
        running = Running(command, self.folder, **more)
        self.started.append(running)
        return running

    def run(self, *command, timeout=PATIENCE, **more):
        return self.start(*command, **more).wait(timeout)

    def start_record(self, *command, options=(), name="recording", **more):
        """heaptrack -o FILE OPTIONS COMMAND in the background; `.file` is where it records to."""
        file = self.folder / f"{name}.zst"
        running = self.start(self.heaptrack, "-o", file, *options, *command, **more)
        running.file = file
        return running

    def record(self, *command, timeout=PATIENCE, **more):
        """Record a command to its end."""
        running = self.start_record(*command, **more)
        return Recording(running.wait(timeout), running.file, self)

    def print(self, file, *options, timeout=PATIENCE, status=0):
        finished = self.run(self.heaptrack_print, *options, file, timeout=timeout)
        assert finished.status == status, repr(finished)
        return finished

    def json(self, file, *options, timeout=PATIENCE):
        """All that heaptrack_print knows of a file, with every site."""
        return json.loads(self.print(file, "--json", "--limit", "0", *options,
                                     timeout=timeout).stdout_bytes)

    def finish(self):
        for running in self.started:
            running.end()
            for output in running.outputs:
                output.close()


def through(sites, function):
    """The sites whose stack passes through a function, named in full or without its arguments."""
    return [site for site in sites
            if any((frame["function"] or "").split("(")[0] == function
                   for frame in site["stack"])]


def total(sites, what):
    return sum(site[what] for site in sites)


def wait_until(condition, timeout=PATIENCE / 3, what="the condition"):
    """Ask again and again until it is true; its value is returned."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > end:
            pytest.fail(f"{what} did not come true within {timeout} s")
        time.sleep(0.01)
    return value


def goes_on():
    """A test of many steps has made one: however many there are, it is only ended if one of them hangs."""
    signal.setitimer(signal.ITIMER_REAL, 2 * PATIENCE)


def listens(path):
    """Is the server at this socket there? Its file exists before it listens."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(str(path)) == 0


def heaptrack_below(pid):
    """The pid of a running heaptrack: this one, or what started it, as `unshare` does."""
    if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "heaptrack":
        return pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return next(found for child in children if (found := heaptrack_below(int(child))))


def let_look(pid, seconds):
    """Until a heaptrack that looks at its program once in so many seconds has done so: it wakes for that,
    late on a busy machine."""
    status = Path(f"/proc/{heaptrack_below(pid)}/status")

    def n_sleeps():
        return int(status.read_text().split("voluntary_ctxt_switches:")[1].split()[0])
    time.sleep(seconds)
    before = n_sleeps()
    wait_until(lambda: n_sleeps() >= before + 2, what="that heaptrack wakes")


@pytest.fixture(scope="session")
def build():
    """The build tree: $HEAPTRACK_BUILD, or build/ of this checkout."""
    path = Path(os.environ.get("HEAPTRACK_BUILD") or SOURCE / "build").resolve()
    assert (path / "build.ninja").is_file(), f"{path} is not a build tree; run make"
    return path


@pytest.fixture
def tools(build, tmp_path):
    tools = Tools(build, tmp_path)
    yield tools
    tools.finish()


@pytest.fixture(scope="session")
def is_long(request):
    return request.config.getoption("--long")


@pytest.fixture
def helpers():
    """through(sites, function), total(sites, what), wait_until(condition), without an import."""
    return HELPERS
