"""The eight recordings that the page is tried with, each made once for all tests of a run.

demo, clang++, node and python3 are programs as people record them; kde comes out of KDE's
heaptrack; killed, empty and stripped are those that need a word of explanation.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *kept[200];
__attribute__((noinline)) void *old_site(int i) { return kept[i] = malloc(1000); }
__attribute__((noinline)) void *new_site(int i) { return kept[i] = malloc(50000); }
int main(int argc, char **argv) {
	for (int i = 0; i < 100; i++) { old_site(i); }
	if (argc > 1) { for (int i = 100; i < 200; i++) { new_site(i); } }
	if (argc > 2) { (void)!write(1, "done\n", 5); for (;;) { pause(); } }
	return kept[0] == argv[0];
}
"""

MARKED = r"""
#include "heaptrack_api.h"
#include <stdlib.h>
#include <unistd.h>
static void *volatile last;
int main(void) {
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 50; i++) {
			last = malloc(1000 * (round + 1));
			if (i % 2) { free(last); }
			usleep(1000);
		}
		heaptrack_report_mark(round % 2 ? "warm-up" : "request");
	}
	return 0;
}
"""

RECURSIVE = r"""
#include <stdlib.h>
struct node { struct node *left, *right; char data[984]; };
static struct node *grow(int depth) {
	struct node *n = malloc(sizeof(struct node));
	if (depth > 0) {
		n->left = grow(depth - 1); n->right = grow(depth - 1);
	}
	return n;
}
static struct node *volatile root;
int main(void) { root = grow(9); return root == NULL; }
"""

FORKING = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile kept[64];
__attribute__((noinline)) static void grow(int n) { for (int i = 0; i < n; i++) { kept[i % 64] = malloc(300); } }
int main(void) {
	grow(500);
	if (fork() == 0) { grow(2000); _exit(0); }
	wait(NULL);
	for (int i = 0; i < 20; i++) { usleep(1000); free(kept[i]); grow(0); }
	return 0;
}
"""

KEEPING = r"""
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept[10];
__attribute__((noinline)) static void keep(int i) { kept[i] = malloc(100); }
static void *work(void *none) { return none; }
__attribute__((noinline)) static void start(pthread_t *t) { (void)!pthread_create(t, NULL, work, NULL); puts("started"); }
int main(void) {
	pthread_t t;
	setlocale(LC_ALL, "C.UTF-8");
	start(&t);
	pthread_join(t, NULL);
	for (int i = 0; i < 10; i++) { keep(i); }
	return 0;
}
"""

GROWING = r"""
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[1000];
__attribute__((noinline)) static void *fill(int i) { return kept[i % 1000] = malloc(64 + i % 7 * 100); }
int main(void) {
	alarm(100);
	fill(999);
	if (write(1, "ready\n", 6) != 6) { return 1; }
	for (int i = 0;; i++) { free(kept[i % 500]); fill(i % 500); fill(500 + i % 400); usleep(200); }
}
"""

HALF_FREED = r"""
#include <stdlib.h>
static void *volatile kept[100];
int main(void) {
	for (int i = 0; i < 100; i++) { kept[i] = malloc(10000); }
	for (int i = 0; i < 50; i++) { free(kept[i]); }
	return 0;
}
"""

CPP = "#include <map>\n#include <string>\n#include <vector>\n" \
    "int main() { std::map<std::string, std::vector<int>> m; m[\"a\"].push_back(1); return 0; }\n"

JAVASCRIPT = "let a = []; for (let i = 0; i < 50000; i++) a.push({i, s: String(i)})"

PYTHON = "import ast, json; ast.parse(open(ast.__file__).read())"

# Programs at the same time and one after the other, a compiler's driver, a pool of copies
TREE = "{program} more & {program} & gcc -O1 -c {folder}/program.c -o {folder}/program.o; wait; " \
    "/usr/bin/python3 -c '{pool}'; exit 3"
POOL = "import json, multiprocessing; " \
    "multiprocessing.Pool(2).map(json.dumps, [list(range(2000))] * 40)"

# More than the 1,024 threads whose stacks are told apart
CROWD = "i=0; while [ $i -lt 1200 ]; do {} a20000w; i=$((i+1)); done"

INCLUDE = Path(__file__).resolve().parents[2] / "include"

EIGHT = ["demo", "clang++", "node", "python3", "kde", "killed", "empty", "stripped"]


class Recordings:
    """recording(name), page(recording, name, *options): files of one folder, made when asked for.

    The folder is shared by all workers of a run; a lock keeps them from making a file twice.
    """

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        folder.mkdir(exist_ok=True)

    def once(self, name, make):
        """The file of this name; made by make(path) if nobody has."""
        path = self.folder / name
        with open(self.folder / ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                made = self.folder / f".new.{name}"
                make(made)
                made.rename(path)
        return path

    def seen(self, name, look):
        """What look() gives, which is asked by the first of all workers; JSON keeps it for the others."""
        kept = self.folder / f"{name}.json"
        with open(self.folder / f".{name}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                kept.write_text(json.dumps(look()), encoding="utf-8")
        return json.loads(kept.read_text(encoding="utf-8"))

    def recording(self, name):
        """One of the eight; `before`: the program of `killed` without its new site; `threads`."""
        if name == "massif":
            return self.once("massif.out", self.massif)
        if name == "pprof":
            demo = self.recording("demo")
            return self.once("demo.pb.gz", lambda out: subprocess.run(
                [self.build / "heaptrack_print", "--export", f"pprof={out}", demo],
                capture_output=True, timeout=300, check=True))
        made = {"kde": self.kde, "killed": self.killed, "attached": self.attached}.get(name)
        return self.once(f"{name}.zst", made or (lambda out: self.record(out, *self.command(name))))

    def record(self, out, *command):
        done = subprocess.run([self.build / "heaptrack", "-o", out, *command], cwd=self.folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, check=False)
        assert out.exists(), done.stderr

    def command(self, name):
        if name in ("clang++", "node") and not shutil.which(name):
            pytest.skip(f"{name} is not installed")
        commands = {
            "demo": lambda: [self.build / "tests/victims/demo"],
            "clang++": lambda: ["clang++", "-c", "-O2", self.source("real.cpp", CPP), "-o",
                                self.folder / "real.o"],
            "node": lambda: ["node", "-e", JAVASCRIPT],
            "python3": lambda: ["/usr/bin/python3", "-c", PYTHON],
            "empty": lambda: [self.compiled("empty", "int main(void) { return 0; }\n")],
            "stripped": lambda: [self.compiled("stripped", PROGRAM, "-s"), "more"],
            "static": lambda: [self.compiled("static", PROGRAM, "-g", "-static"), "more"],
            "argued": lambda: [self.compiled("argued", PROGRAM, "-g"), "--token=opensesame"],
            "started": lambda: ["sh", "-c", f"{self.compiled('program', PROGRAM, '-g')} more; true"],
            "before": lambda: [self.compiled("program", PROGRAM, "-g")],
            "marked": lambda: [self.compiled("marked", MARKED, "-g", f"-I{INCLUDE}")],
            "keeping": lambda: [self.compiled("keeping", KEEPING, "-g", "-pthread")],
            "recursive": lambda: [self.compiled("recursive", RECURSIVE, "-g", "-O0")],
            "threads": lambda: [self.build / "tests/victims/many_threads", "exchange", "2000"],
            "leaks": lambda: ["--leaks", self.build / "tests/victims/holders"],
            "looks": lambda: ["--leaks", self.build / "tests/victims/animals", "begin", "look", "change"],
            "classes": lambda: ["--leaks", self.build / "tests/victims/classes", "3"],
            "events": lambda: ["--events", self.build / "tests/victims/many_threads", "exchange", "500"],
            "forked": lambda: [self.compiled("forking", FORKING, "-g")],
            "tree": lambda: ["--children", "sh", "-c", TREE.format(
                program=self.compiled("program", PROGRAM, "-g"), folder=self.folder, pool=POOL)],
            "crowd": lambda: ["--children", "sh", "-c", CROWD.format(self.build / "tests/victims/tree")],
            "cc1plus": lambda: [self.cc1plus(), "-quiet", "-O2", self.source("real.cpp", CPP), "-o",
                                self.folder / "real.s"],
        }
        return commands[name]()

    def source(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def compiled(self, name, text, *options):
        source = self.source(f"{name}.c", text)
        subprocess.run(["gcc", "-O1", *options, "-o", self.folder / name, source], check=True)
        return self.folder / name

    def kde(self, out):
        if not shutil.which("/usr/bin/heaptrack"):
            pytest.skip("KDE's heaptrack is not installed")
        subprocess.run(["/usr/bin/heaptrack", "-o", self.folder / "kde-itself",
                        self.build / "tests/victims/demo"], capture_output=True, timeout=300,
                       check=True)
        next(path for path in self.folder.glob("kde-itself.*") if path.is_file()).rename(out)

    @staticmethod
    def cc1plus():
        return subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True,
                              check=True).stdout.strip()

    def attached(self, out):
        if not (self.build / "libheaptrack_inject.so").exists():
            pytest.skip("built without attaching (-Dattach=false)")
        program = subprocess.Popen([self.compiled("growing", GROWING, "-g")], stdout=subprocess.PIPE)
        with program, program.stdout:
            assert program.stdout.readline() == b"ready\n"
            try:
                self.record(out, "--duration", "300ms", "-p", str(program.pid))
            finally:
                program.kill()

    def massif(self, out):
        if not shutil.which("valgrind"):
            pytest.skip("valgrind is not installed")
        subprocess.run(["valgrind", "--tool=massif", f"--massif-out-file={out}",
                        self.compiled("half_freed", HALF_FREED, "-g")], capture_output=True,
                       timeout=300, check=True)

    def killed(self, out):
        """Ended by SIGKILL once it has said that it has allocated all it will."""
        program = self.compiled("program", PROGRAM, "-g")
        heaptrack = subprocess.Popen([self.build / "heaptrack", "-o", out, program, "more", "wait"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL)
        with heaptrack.stdout:
            assert heaptrack.stdout.readline() == b"done\n"
        os.kill(child_of(heaptrack.pid, program), signal.SIGKILL)
        heaptrack.wait(120)

    def page(self, name, *options):
        """The page of a recording as one file."""
        recording = self.recording(name)
        label = "-".join([name, *(Path(str(option)).name.strip("-") for option in options)])
        return self.once(f"{label}.html", lambda out: subprocess.run(
            [self.build / "heaptrack_print", "--html", out, *options, recording],
            capture_output=True, timeout=300, check=True))


def child_of(pid, program):
    """The process that runs `program` among the children of `pid`, whichever thread started it."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            with contextlib.suppress(OSError):  # it has just ended, or the thread has
                if os.readlink(f"/proc/{child}/exe") == str(program.resolve()):
                    return int(child)
    raise AssertionError(f"{program} is no child of {pid}")


def wait_for(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not come true within {seconds} s"
        time.sleep(0.02)
    return value
