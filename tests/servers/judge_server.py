#!/usr/bin/python3
"""Records servers of which everything is known (server_programs.py), and holds what is said of them to it.

    judge_server.py [NAME...] [--seeds 0-9] [--ways launched,attached] [--keep DIR] [--show]

prints every sentence that is wrong; --show prints the top of each page, too.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "referee")]

import server_programs as programs
import referee

PATIENCE = 120
WAYS = "launched", "attached"
# What a healthy program is never told
GROWTH = re.compile(r"\bgrew\b|\bgrow|\bleak", re.I)
UNTOLD = re.compile(r"\b(?:no|nothing|none) (?:leaks?|growth|grows?|churn|problems?)\b|harmless", re.I)


def build(server, folder):
    library = []
    if server.library:
        home = folder / "_deps" / "other-src" if server.is_dependency else folder
        home.mkdir(parents=True, exist_ok=True)
        (home / "other.c").write_text(server.library)
        subprocess.run(["gcc", "-g", "-O1", "-shared", "-fPIC", home / "other.c", "-o", home / "libother.so"],
                       check=True, timeout=PATIENCE)
        library = [f"-L{home}", "-lother", f"-Wl,-rpath,{home}"]
    compiler, suffix = ("g++", "cpp") if server.language == "c++" else ("gcc", "c")
    source = folder / f"server.{suffix}"
    source.write_text(server.source)
    subprocess.run([compiler, "-g", "-O1", "-D_GNU_SOURCE", source, "-o", folder / "server", "-pthread",
                    *library], check=True, timeout=PATIENCE)
    return folder / "server"


def launch(program, folder, tools):
    requests, out = folder / "requests", folder / "launched.zst"
    requests.write_bytes(b"r" * programs.REQUESTS)
    with open(requests, "rb") as stdin:
        done = subprocess.run([tools / "heaptrack", "-q", "--events", "-o", out, program], stdin=stdin,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return out


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def attach(program, folder, tools):
    """Recorded are the requests from the 300th on, and nothing but these."""
    out, answers = folder / "attached.zst", folder / "answers"
    with open(answers, "wb") as stdout:
        server = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=stdout)

    def request(n, so_far):
        server.stdin.write(b"r" * n)
        server.stdin.flush()
        until(lambda: answers.stat().st_size >= so_far + n)
    try:
        request(programs.BEFORE, 0)
        heaptrack = subprocess.Popen([tools / "heaptrack", "--events", "-o", out, "-p", str(server.pid)],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = [""]
        while "attached to process" not in said[-1]:
            said.append(heaptrack.stderr.readline())
            assert said[-1], said
        request(programs.REQUESTS, programs.BEFORE)
        heaptrack.send_signal(2)
        said += heaptrack.communicate(timeout=PATIENCE)
        assert heaptrack.returncode == 0, said
        server.stdin.close()
        assert server.wait(PATIENCE) == 0
    finally:
        server.kill()
        server.wait()
    return out


def bare(function):
    return re.sub(r"\(.*", "", function or "")


def accusations(finding, peak):
    """What a finding says that a healthy program, whose heap had this peak, is never told."""
    text = finding["text"]
    # What is measured where no rule speaks of growth is a swing, in a healthy program
    is_swing = finding["numbers"].get("grown_bytes", 0) * 4 >= max(peak, 1) and ", to what it held before" not in text
    is_measure = finding["severity"] == "fact" and not is_swing
    if is_measure or "from before the attach were freed" in text:
        return []
    # "stopped growing" is no growth, nor is "grew by doubling"
    if finding["id"] == "growing" or GROWTH.search(re.sub(r"stopped growing|grew by doubling", "", text)):
        return [f"said to grow: {text}"]
    is_accused = finding["id"] == "never-freed" and finding["severity"] in ("look-first", "worth-it")
    return [f"accused: {text}"] if is_accused and "stopped growing" not in text else []


class Judged:
    """What a recording says, held to the truth; `wrong` lists what is not so."""

    def __init__(self, file, truth, tools, is_attached):
        self.file, self.truth, self.wrong = file, truth, []
        self.report = referee.report_of(file, tools)
        self.page, self.findings = self.report["text"], self.report["json"]["findings"]
        self.judge_first()
        for finding in self.findings:
            self.judge_accusation(finding)
            self.judge_rate(finding)
        if UNTOLD.search(self.page):
            self.wrong.append(f"absence is told: {UNTOLD.search(self.page)[0]}")
        for part in truth.page:
            if part not in " ".join(self.page.split()):
                self.wrong.append(f"the page does not say: {part}")
        if is_attached and not re.search("attached", self.page):
            self.wrong.append("the page does not say that heaptrack was attached")
        self.wrong += referee.Referee(file, tools, self.report).judge()

    def judge_first(self):
        first = next((f for f in self.findings), None)
        if not self.truth.ids:
            return
        if not first or first["id"] not in self.truth.ids or bare(first["function"]) != self.truth.function:
            self.wrong.append(f"first is not {' or '.join(self.truth.ids)} of {self.truth.function}")
            return
        for part in self.truth.says:
            if part not in first["text"]:
                self.wrong.append(f"first does not say: {part}")

    def judge_accusation(self, finding):
        if bare(finding["function"]) not in self.truth.grows:
            self.wrong += accusations(finding, self.report["json"]["summary"]["peak_bytes"])

    def judge_rate(self, finding):
        """What is kept of each request."""
        numbers, rate = finding["numbers"], self.truth.rate
        if rate and bare(finding["function"]) == self.truth.function and "bytes" in numbers and \
                finding["id"] in ("never-freed", "growing"):
            kept = rate * programs.REQUESTS
            if abs(numbers["bytes"] - kept) > kept / 10:
                self.wrong.append(f"kept are {kept}, not {numbers['bytes']}")


def judge(name, seed, way, folder, tools):
    """One server recorded one way, in a folder of its own."""
    server = programs.make(name, seed)
    program = build(server, folder)
    out = (launch if way == "launched" else attach)(program, folder, tools)
    return Judged(out, getattr(server, way), tools, way == "attached")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    tools = Path(os.environ.get("HEAPTRACK_BUILD") or HERE.parent.parent / "build").resolve()
    first, _, last = options.seeds.partition("-")
    bad = n = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.names or programs.SERVERS:
            for seed in range(int(first), int(last or first) + 1):
                for way in options.ways.split(","):
                    folder = Path(options.keep or temporary) / f"{name}-{seed}"
                    folder.mkdir(parents=True, exist_ok=True)
                    judged = judge(name, seed, way, folder, tools)
                    n += 1
                    bad += bool(judged.wrong)
                    if judged.wrong or options.show:
                        print(f"==== {name} {seed} {way}")
                        print("".join(f"!! {line}\n" for line in judged.wrong), end="")
                    if options.show:
                        print(judged.page.split("more: heaptrack_print")[0].rstrip())
                    sys.stdout.flush()
    print(f"{n} recordings, {bad} of them with something wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
