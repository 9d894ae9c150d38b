"""What is built while tests run: at a low priority, from what they leave of the processors, which they do not
need while they wait. While a test measures time it stands still; once somebody waits for it, it has no
others to be polite to.
"""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
import threading
from pathlib import Path

OURS = os.getpriority(os.PRIO_PROCESS, 0)
POLITE = min(OURS + 10, 19)


class Aside:
    """Jobs, one after the other, in a thread; each gets `run`, with which it starts its commands."""

    def __init__(self):
        self.thread = concurrent.futures.ThreadPoolExecutor(1)
        self.jobs = {}
        self.may_start = threading.Lock()
        self.process, self.is_over, self.nice = None, False, POLITE

    def begin(self, name, job):
        self.jobs[name] = self.thread.submit(job, self.run)

    def result(self, name):
        """What the job has returned, once it is done."""
        self.take_priority(OURS)
        try:
            return self.jobs[name].result()
        finally:
            self.take_priority(POLITE)

    def take_priority(self, nice):
        with self.may_start:
            self.nice = nice
            if self.process and self.process.returncode is None:
                self.apply_priority()

    def apply_priority(self):
        with contextlib.suppress(OSError):  # only root may take more
            os.setpriority(os.PRIO_PGRP, self.process.pid, self.nice)
        with contextlib.suppress(OSError):  # where each session has its share, whatever its priority
            Path(f"/proc/{self.process.pid}/autogroup").write_text(str(self.nice))

    def run(self, command, log, seconds, env=None):
        """As tests/run's: status (None: too long) and output."""
        with open(log, "w+b") as output:
            with self.may_start:
                if self.is_over:
                    return 1, ""
                self.process = subprocess.Popen(
                    list(map(str, command)), cwd=Path(__file__).resolve().parent.parent,
                    stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                    env={**os.environ, **(env or {})}, start_new_session=True)
                self.apply_priority()
            try:
                status = self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.signal(signal.SIGKILL)
                self.process.wait()
                status = None
            with self.may_start:
                self.process = None
            output.seek(0)
            return status, output.read().decode(errors="replace")

    def signal(self, number):
        """To what runs: a group of its own."""
        if self.process and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    @contextlib.contextmanager
    def standing_still(self):
        with self.may_start:
            self.signal(signal.SIGSTOP)
            try:
                yield
            finally:
                self.signal(signal.SIGCONT)

    def used(self):
        """Processor seconds of the command that runs: only once it has ended are they among our children's."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except (AttributeError, OSError):
            return 0
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        with self.may_start:
            self.is_over = True
            self.signal(signal.SIGKILL)
