"""Servers that others wrote (real_servers.py) under a steady load: launched, and attached to the process with
the most heap while it is asked. They are healthy: none is said to grow, or to keep what it renews; and the
referee recounts all that is said.
"""

import os
import re
import shutil
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import judge_server
import real_servers
import recorders
import referee

BRIEFLY = ("redis",)
ATTACHED_S = 2


class RealServer(recorders.Stage):
    """A server in its folder: recorded from its start, or attached to."""

    def ask(self, running, name):
        """Stage's: asks and ends it. What happens in between is for `meanwhile`."""
        ready = self.fill(self.program.ready)
        self.helpers.wait_until(lambda: recorders.is_ready(ready, self.place, running), what=f"{ready} of {name}")
        self.client(self.program.warm).wait()
        server = self.eldest(running, name)
        self.meanwhile(server)
        os.kill(server, self.program.end)

    def client(self, command):
        return self.tools.start("/bin/sh", "-c", self.fill(command), cwd=self.place, env=self.env)

    def steady(self):
        return self.client(self.program.client)

    def launched(self, out):
        self.meanwhile = lambda _: self.asked(self.steady())
        return self.run(self.tools.heaptrack, "-q", "-f", "--events", "-o", out)

    def attached(self, out):
        self.meanwhile = lambda pid: self.attach(pid, out)
        return self.run()

    def asked(self, client):
        done = client.wait()
        assert done.status == 0, repr(done)

    def attach(self, pid, out):
        goes_on = self.place / "goes-on"
        goes_on.touch()
        client = self.steady()
        time.sleep(0.7)
        worker = max(family(pid), key=heap_of)
        done = self.tools.run(self.tools.heaptrack, "-f", "--events", "--duration", f"{ATTACHED_S}s", "-o", out, "-p", worker)
        assert done.status == 0 and client.process.poll() is None, repr(done)
        goes_on.unlink()
        self.asked(client)


def family(pid):
    return [pid, *(below for child in recorders.children(pid) for below in family(child))]


def heap_of(pid):
    """What is private to a process and not of a file: heap, for the most part."""
    try:
        return int(re.search(r"^RssAnon:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1])
    except (OSError, TypeError):
        return 0


def wrong_of(server, way, report):
    """Accusations, and what is missing: which work was not recorded, that heaptrack was attached."""
    peak = report["json"]["summary"]["peak_bytes"]
    wrong = [text for finding in report["json"]["findings"] for text in judge_server.accusations(finding, peak)
             if judge_server.bare(finding["function"]) not in server.grows]
    page = " ".join(report["text"].split())
    if way == "launched" and server.has_workers and not re.search(r"! \d+ child process.* not recorded; .* heaptrack --children", page):
        wrong.append("it does not say that workers were not recorded, and how to record one")
    if way == "attached" and "before the attach" not in page:
        wrong.append("it does not say that heaptrack was attached")
    return wrong


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", judge_server.WAYS)
@pytest.mark.parametrize("name", [name if name in BRIEFLY else pytest.param(name, marks=pytest.mark.long)
                                  for name in real_servers.SERVERS])
def test_a_healthy_server_is_accused_of_nothing(tools, helpers, build, tmp_path, name, way):
    if not shutil.which(real_servers.SERVERS[name].command.split()[0], path=recorders.PATH):
        pytest.skip(f"{name} is not installed")
    stage = RealServer(real_servers.SERVERS[name], tools, tmp_path, helpers)
    out = stage.folder / "events.zst"
    try:
        done = getattr(stage, way)(out)
        assert done.status == stage.program.status, repr(done)
        report = referee.report_of(out, build)
        print(report["text"])
        assert wrong_of(stage.program, way, report) == []
        assert referee.Referee(out, build, report).judge() == []
    finally:
        stage.finish()
