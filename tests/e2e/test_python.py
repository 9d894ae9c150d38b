"""Python's functions by name, without options: each stack against what sys._getframe says of it.

The program allocates one block a time, on the line on which it asks for its frames. What was recorded of all its
stacks (functions, files, lines; how often and how much) must be what it says.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from attaching import attach, known, target  # noqa: F401
from conftest import through

BASE = 300_000

PROGRAM = r"""
import asyncio, contextlib, ctypes, functools, gc, json, re, signal, sys, threading, time, weakref
BASE, HEAD = 300_000, 33  # bytes(n) takes n and a head
truth, lock, n_hits = {}, threading.Lock(), 0
def hit(frame):
    global n_hits
    stack = []
    while frame:
        stack.append((frame.f_code.co_qualname, frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    with lock:
        n_hits += 1
        size = BASE + n_hits % 1000
        entry = truth.setdefault(json.dumps(stack), [0, 0])
        entry[0] += 1
        entry[1] += size
    return size - HEAD
F = sys._getframe
class Base(type):
    def __call__(cls, *a): bytes(hit(F())); return super().__call__(*a)
class Node(metaclass=Base):
    def __init__(self, n): self.n = n; bytes(hit(F()))
    def __lt__(self, other): bytes(hit(F())); return self.n < other.n
    def __del__(self): bytes(hit(F()))
    def __getattr__(self, name): bytes(hit(F())); return 7
    @property
    def value(self): bytes(hit(F())); return self.n
    @classmethod
    def make(cls, n): bytes(hit(F())); return cls(n)
    @staticmethod
    def plain(): bytes(hit(F()))
    def __enter__(self): bytes(hit(F())); return self
    def __exit__(self, *a): bytes(hit(F()))
def deep(n):
    if n == 0: bytes(hit(F())); return
    deep(n - 1)
def through_c(n):
    if n == 0: bytes(hit(F())); return 0
    return max(map(through_c, [n - 1]))
def closure(n):
    def inner(): bytes(hit(F())); return lambda: bytes(hit(F()))
    return inner
def generate(n):
    for i in range(n): bytes(hit(F())); yield i
def delegate(n): yield from generate(n)
async def leaf(): bytes(hit(F())); await asyncio.sleep(0); bytes(hit(F()))
async def spread():
    await asyncio.gather(*(leaf() for _ in range(3)))
    async for x in several(): bytes(hit(F()))
async def several():
    for i in range(2): bytes(hit(F())); yield i
def raising(n):
    try:
        if n: raising(n - 1)
        raise ValueError
    except ValueError: bytes(hit(F())); raise
    finally: bytes(hit(F()))
@contextlib.contextmanager
def managed(): bytes(hit(F())); yield; bytes(hit(F()))
def decorated(f):
    @functools.wraps(f)
    def wrapper(*a): bytes(hit(F())); return f(*a)
    return wrapper
@decorated
def wrapped(): bytes(hit(F()))
def größe(): bytes(hit(F()))
def 大きさ(): bytes(hit(F()))
def long_lines():
    (1 +
     len(bytes(hit(F()))) +
     2)
    for i in range(300):
        if i % 100 == 99:

            bytes(hit(F()))
def many(a=1, b=2, *c, d=3, **e): bytes(hit(F()))
source = "def made(n):\n    bytes(hit(F()))\n\n    if n: made(n - 1)\nmade(2)\n"
def compiled(k):
    for i in range(k):
        exec(compile(source.replace("made", "made%d" % (i % 7)), "made-%d.py" % (i % 7), "exec"), globals())
        eval("bytes(hit(F()))")
        gc.collect()
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
def from_c(n): bytes(hit(F())); return n
in_c = CALLBACK(from_c)
def on_signal(*a): bytes(hit(F()))
def everything():
    sorted([Node(i) for i in (3, 1, 2)])
    Node.make(1).value; Node.plain(); Node(2).other
    with Node(3): bytes(hit(F()))
    deep(40); deep(600); through_c(1); through_c(30)
    closure(1)()()
    list(generate(3)); list(delegate(3)); sum(x for x in generate(2) if bytes(hit(F())))
    [bytes(hit(F())) for _ in range(2)]; {bytes(hit(F())): 1 for _ in range(2)}; {1 for _ in range(2) if bytes(hit(F()))}
    asyncio.run(spread())
    try: raising(3)
    except ValueError: bytes(hit(F()))
    with managed(): bytes(hit(F()))
    wrapped(); größe(); 大きさ(); long_lines(); many(d=4)
    re.sub("a", lambda m: str(bytes(hit(F()))[:0]), "banana")
    functools.partial(many, 1)(2); functools.reduce(lambda a, b: len(bytes(hit(F()))), [1, 2, 3])
    in_c(5); [in_c(i) for i in range(2)]
    compiled(10)
    signal.raise_signal(signal.SIGUSR1)
    o = Node(9); weakref.finalize(o, lambda: bytes(hit(F()))); del o; gc.collect()
def worker():
    for _ in range(ROUNDS): everything_but_main()
def everything_but_main():
    deep(20); through_c(10); closure(2)()(); list(delegate(2)); wrapped(); sorted([Node(i) for i in (2, 1)])
    [in_c(i) for i in range(2)]
def churn():
    for i in range(300):
        t = threading.Thread(target=deep, args=(i % 5,)); t.start(); t.join()
ROUNDS = int(sys.argv[2])
sys.setrecursionlimit(5000)
signal.signal(signal.SIGUSR1, on_signal)
time.sleep(float(sys.argv[3]))
threads = [threading.Thread(target=worker) for _ in range(4)]
for t in threads: t.start()
for _ in range(ROUNDS): everything()
for t in threads: t.join()
churn()
json.dump([[json.loads(s), *n] for s, n in truth.items()], open(sys.argv[1], "w"))
"""


def pythons():
    """Those of the machine from 3.11 on, by version."""
    found = {}
    for folder in (Path("/usr/bin"), *sorted(Path.home().glob(".pyenv/versions/3.*/bin"))):
        for path in folder.glob("python3.1?"):
            minor = int(path.name.removeprefix("python3."))
            if 11 <= minor <= 14 and not path.is_symlink():
                found.setdefault(f"{path.name}{'' if folder == Path('/usr/bin') else '-shared'}", path)
    return [pytest.param(path, id=name) for name, path in sorted(found.items())]


def recorded(tools, file):
    """The stacks of blocks of the program's own sizes: functions, files and lines of Python, innermost first."""
    out = Path(file).with_suffix(".json")
    tools.print(file, "--export", f"json={out}")
    data = json.loads(out.read_text())
    found = {}
    for stack in data["stacks"]:
        frames = [data["frames"][i] for i in stack["frames"]]
        chain = [(f["symbol"] or f["function"], f["file"], f["line"]) for f in frames if f["module"] == "[python]"]
        key = json.dumps(chain)
        is_own = chain and re.search(r"program\.py$|^made-|^<string>$", chain[0][1])
        if is_own and stack["allocated_bytes"] >= BASE * stack["allocations"]:
            entry = found.setdefault(key, [0, 0])
            entry[0] += stack["allocations"]
            entry[1] += stack["allocated_bytes"]
    return found


def check(truth, found):
    wrong = {key: n for key, n in truth.items() if found.get(key) != n}
    more = [key for key in found if key not in truth]
    assert not wrong and not more, f"{len(wrong)} of {len(truth)} stacks are missing or not whole, {len(more)} are " \
        f"not the program's: {[(k[:600], n, found.get(k)) for k, n in wrong.items()][:3]} {[k[:600] for k in more[:3]]}"


@pytest.mark.parametrize("python", pythons())
def test_every_stack_is_that_of_the_interpreter(tools, tmp_path, python):
    (tmp_path / "program.py").write_text(PROGRAM)
    recording = tools.record(python, tmp_path / "program.py", tmp_path / "truth.json", "4", "0.5")
    assert recording.status == 0, recording
    truth = {json.dumps([tuple(f) for f in stack]): [n, size]
             for stack, n, size in json.loads((tmp_path / "truth.json").read_text())}
    assert sum(n for n, _ in truth.values()) > 1000
    check(truth, recorded(tools, recording.file))


def early_stacks(tools, python, folder, record):
    """The stacks of a small program, which no function of the interpreter's own is in."""
    file, out = folder / "early.zst", folder / "early.folded"
    (folder / "early.py").write_text("def leaf(n): return bytes(n)\nkept = [leaf(600 + i) for i in range(50)]\n")
    record([tools.heaptrack, "-f", "-o", file, python, "-B", folder / "early.py"], timeout=60, check=True,
           stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONHASHSEED": "0"})
    tools.print(file, "--export", f"folded={out}", "--lens", "m=allocations")
    found = {line.rpartition(" ")[0] for line in out.read_text().splitlines()}
    loops = [stack for stack in found if "_PyEval_EvalFrameDefault" in stack]
    assert not loops, f"{len(loops)} of {len(found)} stacks have the interpreter's own: {loops[0]}"
    assert any(stack.rpartition("leaf")[1] for stack in found), found
    return found


@pytest.mark.parametrize("python", pythons())
def test_all_functions_are_named_from_the_first_one_on(tools, tmp_path, python):
    """The import system's own come first, before the program's. So recordings of a program have the same stacks."""
    found = [early_stacks(tools, python, tmp_path, subprocess.run) for _ in range(3)]
    assert found[0] == found[1] == found[2], (found[0] ^ found[1], found[0] ^ found[2])


def beside_loops(*arguments, **more):
    """On one core with processes of the same session that never wait."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(6)]
    try:
        subprocess.run(*arguments, **more)
    finally:
        os.sched_setaffinity(0, cores)
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.parametrize("python", pythons()[-1:])
def test_all_functions_are_named_where_others_are_busy(tools, tmp_path, python):
    for _ in range(2):
        early_stacks(tools, python, tmp_path, beside_loops)


# ---- whose they are

INSTALLED = {
    "tool/__init__.py": "",
    "tool/main.py": "import helper\nkept = []\ndef run():\n    for i in range(50): kept.append(helper.made(40000 + i))\n",
    "helper/__init__.py": "def made(n): return bytearray(n)\n",
}
CALLS = "import tool.main\ntool.main.run()\n"


@pytest.mark.parametrize("way, own", [
    ("bin/tool", {"<module>", "run"}),  # a script that pip made, or a distribution
    ("run.py", {"<module>"}),  # one's own
    ("-m", {"<module>", "run"}),
    ("-c", set()),
])
def test_an_installed_command_is_its_package(tools, tmp_path, way, own):
    for name, text in (INSTALLED | {"tool/__main__.py": CALLS}).items():
        file = tmp_path / "lib/site-packages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    words = {"-m": ["-m", "tool"], "-c": ["-c", CALLS]}.get(way)
    if not words:
        (tmp_path / way).parent.mkdir(exist_ok=True)
        (tmp_path / way).write_text(CALLS)
        words = [tmp_path / way]
    recording = tools.record("python3", *words, env={"PYTHONPATH": str(tmp_path / "lib/site-packages")})
    functions = json.loads(tools.print(recording.file, "--json", "--by", "function", "--lens", "fold=0").stdout_bytes)["functions"]
    of = {(f["function"], f["owner"]) for f in functions if f["file"] and str(tmp_path) in f["file"]}
    assert {name for name, owner in of if owner == "yours"} == own, of
    assert {name for name, owner in of if owner == "library"} >= {"made", "run"} - own, of


# ---- findings

GROWING = {
    "list": ("collect", """
kept = []
def collect(n): kept.append(bytes(n))  # here
def step(i): collect(20000 + i % 7)
"""),
    "cache": ("Cache.put", """
class Cache:
    def __init__(self): self.entries = {}
    def put(self, key, n): self.entries[key] = bytearray(n)  # here
cache = Cache()
def step(i): cache.put("key%d" % i, 15000)
"""),
    "extension": ("leak", """
import leaky
def step(i): leaky.leak(18000)  # called
"""),
}
LOOP = """
import time
for i in range(1500):
    step(i)
    time.sleep(0.001)
"""
EXTENSION = r"""
#include <Python.h>
#include <stdlib.h>
static void *volatile last;
static PyObject *leak(PyObject *self, PyObject *size) {
	(void)self;
	last = malloc(PyLong_AsSize_t(size));
	Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"leak", leak, METH_O, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "leaky", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_leaky(void) { return PyModule_Create(&module); }
"""


def build_extension(folder):
    (folder / "leaky.c").write_text(EXTENSION)
    flags = subprocess.run(["/usr/bin/python3-config", "--includes"], capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", *flags, "-o", folder / "leaky.so", folder / "leaky.c"], check=True)


@pytest.mark.parametrize("what", GROWING)
def test_first_finding_names_what_grows(tools, tmp_path, what):
    function, program = GROWING[what]
    if what == "extension":
        build_extension(tmp_path)
    (tmp_path / "program.py").write_text(program + LOOP)
    recording = tools.record("/usr/bin/python3", tmp_path / "program.py")
    assert recording.status == 0, recording
    finding = recording.json()["findings"][0]
    line = next(i for i, text in enumerate(program.split("\n"), 1) if "# " in text)
    assert finding["id"] == ("never-freed" if what == "extension" else "growing"), finding
    assert finding["text"].startswith(function), finding
    sites = through(recording.json()["sites"]["peak"], function)
    frames = [(f["function"], Path(f["file"] or "").name, f["line"]) for f in sites[0]["stack"]]
    if what == "extension":
        assert frames[0][:2] == ("leak", "leaky.c"), frames
        assert ("step", "program.py", line) in frames, frames
    else:
        assert (function, "program.py", line) in frames and f"{function} program.py:{line}" in finding["text"], finding
        assert ("step", "program.py", line + (1 if what == "list" else 2)) in frames, frames
    assert "start it with" not in recording.report(), "names are there: no advice on how to get them"


ARENAS = """
import mmap, os
kept = []
def grow():
    for i in range(200000): kept.append({"id": i, "name": "x%d" % i})  # here
def map_table():
    table = mmap.mmap(-1, 90_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for i in range(0, 90_000_000, 4096): table[i] = 1  # and here
    return table
grow()
table = map_table() if MAPS else 0
os._exit(0)  # looked at with all that it has
"""


def looked_at_the_end(tools, *command, **more):
    """Its recording; on a busy machine a program does not wait long enough for the look at its end."""
    for k in range(10):
        recording = tools.record(*command, name=f"looked{k}", **more)
        if [look["at"] for look in recording.json("--limit", "1")["memory"]["looks"]][-1:] == ["end"]:
            break
    return recording


@pytest.mark.parametrize("python", pythons())
def test_what_maps_for_objects_is_the_interpreter(tools, tmp_path, python):
    """Arenas are the allocator's of all objects: whoever runs when there is no room in one has not mapped it."""
    path = tmp_path / "arenas.py"
    path.write_text(ARENAS.replace("MAPS", "False"))
    text = looked_at_the_end(tools, python, path).report()
    line = ARENAS[:ARENAS.index("# here")].count("\n") + 1
    # A busy machine makes it grow slowly, which is another sentence
    said = re.search(r"mapped (?:what )?(\S+) has mapped (?:grew by )?([\d.]+) MB \(.*?\)(?:, which are in memory at| from .*?, to) "
                     rf"[^;]*; ([\d.]+) MB of it while grow arenas\.py:{line} ran; python3\.\d+ maps small objects itself",
                     " ".join(text.split()))
    assert said and "python3" in said[1] and float(said[2]) * 0.8 < float(said[3]) <= float(said[2]), text
    row = re.search(r"mapped by (\S+) \(([\d.]+) MB while grow ran\)", text)
    assert row and row[1] == said[1], text
    grow = "def grow%d():\n    for i in range(50000): kept.append({'id': i, 'name': 'x%%d' %% i})\ngrow%d()\n"
    path.write_text("kept = []\n" + "".join(grow % (i, i) for i in range(4)) +
                    "import os\nos._exit(0)\n")  # none of them is named for the others
    text = looked_at_the_end(tools, python, path).report()
    assert re.search(r"mapped by \S*python3\S*( via \S+)?( and others)? +[\d.]+M", text), text
    path.write_text(ARENAS.replace("MAPS", "True"))
    text = looked_at_the_end(tools, python, path).report("--memory")
    assert re.search(r"^ +map_table arenas\.py:\d+ +90\.0M", text, re.M), text


OBJECTS = """
import gc, os, sys
kept = []
def grow():
    for i in range(60000): kept.append({"id": i, "name": "x%d" % i, "t": (i, str(i))})  # here
grow()
gc.collect()
sys._debugmallocstats()
sys.stderr.flush()
os._exit(0)  # all that lives is never freed
"""


@pytest.mark.parametrize("python", pythons())
def test_objects_are_recorded_if_asked_for(tools, tmp_path, python):
    """As many as Python itself counts in its arenas, which otherwise stand for them."""
    path = tmp_path / "objects.py"
    path.write_text(OBJECTS)
    plain, whole = (tools.record(python, path, options=o, name=f"r{len(o)}", env={"PYTHONHASHSEED": "0"})
                    for o in ([], ["--python-objects"]))
    classes = re.findall(r"^ +\d+ +(\d+) +\d+ +(\d+) +\d+$", plain.stderr, re.M)
    n, rounded = sum(int(n) for _, n in classes), sum(int(size) * int(n) for size, n in classes)
    assert f"bytes in allocated blocks        = {rounded:>20,}" in plain.stderr
    told = [r.json("--limit", "1") for r in (plain, whole)]
    of_plain, of_whole = (t["summary"] for t in told)
    found = of_whole["never_freed_blocks"] - of_plain["never_freed_blocks"]
    assert n > 180_000 and abs(found - n) <= n / 100, (found, n)
    found_bytes = of_whole["never_freed_bytes"] - of_plain["never_freed_bytes"]
    assert (rounded - 15 * n) * 0.99 < found_bytes <= rounded * 1.01, (found_bytes, rounded)
    findings = told[1]["findings"]
    assert findings[0]["function"] == "grow" and "mapped" not in {f["id"] for f in findings}, findings
    assert told[1]["memory"]["mapped_peak_bytes"] < told[0]["memory"]["mapped_peak_bytes"] - 20_000_000


TYPES = """
import collections, gc, json, os, sys
class Session:
    def __init__(self, i): self.i, self.name = i, "user %d" % i
class Slotted:
    __slots__ = ("a", "b")
    def __init__(self, i): self.a, self.b = i + 0.5, (i, i)
class Meta(type): pass
class Made(metaclass=Meta): pass
kept = []
def grow():
    for i in range(20000): kept.append({"id": i, "name": "x%d" % i})
    for i in range(12000): kept.append(Session(i))
    for i in range(9000): kept.append(Slotted(i))
    for i in range(6000): kept.append(Made())
    for i in range(5): kept.append(b"x" * 100000 + bytes([i]))
grow()
gc.collect()
n, size = collections.Counter(), collections.Counter()
for o in gc.get_objects() + [s.a for s in kept if type(s) is Slotted] + [o for o in kept if type(o) is bytes]:
    n[type(o).__name__] += 1
    size[type(o).__name__] += sys.getsizeof(o)
print(json.dumps([n, size]), flush=True)
os._exit(0)  # all that lives is never freed
"""


@pytest.mark.parametrize("python", pythons())
def test_objects_have_their_types(tools, tmp_path, python):
    """As many of each type, and as large, as Python itself counts; metaclasses' too."""
    (tmp_path / "kinds.py").write_text(TYPES)
    recording = looked_at_the_end(tools, python, tmp_path / "kinds.py", options=["--python-objects"])
    assert recording.status == 0, recording
    n, size = json.loads(recording.stdout)
    redacted = json.loads(tools.print(recording.file, "--json", "--redact", "--by", "type", "--lens", "m=never-freed").stdout_bytes)
    data = recording.json("--by", "type", "--lens", "m=never-freed")
    assert [part["label"] for part in redacted["parts"]] == [part["label"] for part in data["parts"]]
    found = {part["label"]: (part["blocks"], part["bytes"]) for part in data["parts"]}
    assert sum(blocks for blocks, _ in found.values()) == data["totals"]["blocks"]
    for name in ("Session", "Slotted", "Made", "float", "bytes"):
        blocks, total = found[name]
        if name != "bytes":  # there are many others
            assert abs(blocks - n[name]) <= n[name] / 100, (name, blocks, n[name])
        if name not in ("Session", "Made"):  # attributes lie behind the object from 3.13 on, and are not in its size
            assert size[name] * 0.99 <= total <= size[name] * 1.01 + 500_000 * (name == "bytes"), (name, total, size[name])
    assert 20000 <= found["dict"][0] < 21000, found["dict"]  # the garbage collector knows few of them
    assert abs(found["table of dict"][0] - 20000) < 1000, found["table of dict"]
    assert not {name for name in found if not re.match(r"[\w.-]+$|\(type not known\)$|table of dict$", name)}, found
    assert "--by type says what its blocks are" in recording.report(), recording.report()


PLAIN = "kept = [bytes(20000 + i) for i in range(2000)]\nimport os\nos._exit(0)\n"


def test_large_objects_have_types_without_options(tools, tmp_path):
    (tmp_path / "plain.py").write_text(PLAIN)
    recording = looked_at_the_end(tools, "/usr/bin/python3", tmp_path / "plain.py")
    found = {p["label"]: p["bytes"] for p in recording.json("--by", "type", "--lens", "m=never-freed")["parts"]}
    assert 2000 * 21000 < found["bytes"] < 2000 * 22000, found


def test_objects_of_a_running_python_are_refused(tools):
    refused = tools.run(tools.heaptrack, "--python-objects", "-p", "1")
    assert refused.status == 1 and "--python-objects is for programs that heaptrack starts" in refused.stderr, refused


def test_packages_are_distributions_and_the_library_of_python(tools, tmp_path):
    (tmp_path / "program.py").write_text("import json, wsgiref.util\nkept = [bytearray(20000) for _ in range(9)]\n")
    recording = tools.record("/usr/bin/python3", tmp_path / "program.py")
    rows = [line.split()[-1] for line in recording.report("--by", "package").splitlines() if re.match(" +[\\d.]", line)]
    assert {"program.py", "python"} <= set(rows), rows
    assert not [row for row in rows if row.startswith("<frozen") or row in ("decoder.py", "util.py", "__init__.py")], rows


# ---- very many

MANY = """
import signal, sys, threading
PER_ROUND = 1000
stop_at = int(sys.argv[1]) // 4
made = [0] * 4

def leaf():
    for _ in range(100):
        bytes(600)

def deep(k):
    leaf() if k == 0 else deep(k - 1)

def stepping():
    for _ in range(2):
        leaf()
        yield

def handle(number, frame):
    bytes(700)

def work(me):
    i = 0
    while made[me] < stop_at:
        i += 1
        leaf()
        deep(i % 60)
        for _ in stepping():
            pass
        [leaf() for _ in range(2)]
        sorted([1, 2], key=lambda x: leaf() or x)
        exec(compile("def made():\\n    leaf()\\n    leaf()\\nmade()", f"<made {i % 40}>", "exec"), {"leaf": leaf})
        made[me] += PER_ROUND

signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 4)]
[t.start() for t in threads]
work(0)
[t.join() for t in threads]
signal.setitimer(signal.ITIMER_REAL, 0)
"""


@pytest.mark.parametrize("n", [500_000, pytest.param(100_000_000, marks=[pytest.mark.long, pytest.mark.timeout(3000)])])
def test_very_many_captures(tools, tmp_path, n):
    """Beside signals, threads that take turns, and code that is compiled again and again: no crash, no stack of nobody's."""
    (tmp_path / "many.py").write_text(MANY)
    recording = tools.record("/usr/bin/python3", tmp_path / "many.py", str(n), timeout=2800)
    assert recording.status == 0, recording
    tools.print(recording.file, "--export", f"json={tmp_path / 'all.json'}")
    data = json.loads((tmp_path / "all.json").read_text())
    known = recording.json("--limit", "1")
    assert known["summary"]["allocations"] >= n, known["summary"]
    assert known["summary"]["lost_events"] == 0
    assert known["quality"]["runtime_mismatches"] <= n / 100_000, known["quality"]
    innermost = {}
    for stack in data["stacks"]:
        frames = [data["frames"][i] for i in stack["frames"]]
        own = next((f["function"] for f in frames if (f["file"] or "").endswith("many.py") or
                    (f["file"] or "").startswith("<made")), None)
        innermost[own] = innermost.get(own, 0) + stack["allocations"]
    assert innermost["leaf"] >= 0.99 * n, innermost
    assert set(innermost) - {None} <= {"leaf", "deep", "stepping", "handle", "work", "work.<locals>.<listcomp>",
                                       "work.<locals>.<lambda>", "made", "<module>", "<listcomp>"}, innermost


# ---- interpreters within

WITHIN = """
import sys, threading, time
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
def leaf(n): bytes(300_000 + n)
def run(i): interpreters.run_string(i, CODE)
CODE = "def inner(): bytes(400_000)\\ndef sub():\\n    for _ in range(20): inner()\\nsub()"
def outer(i):
    run(i)
    for _ in range(20): leaf(1)
a, b = interpreters.create(), interpreters.create()
def everything():
    outer(a); outer(b); outer(a)
    t = threading.Thread(target=outer, args=(b,)); t.start(); t.join()
everything()
print("ready", flush=True)
while len(sys.argv) > 1:
    everything()
    time.sleep(0.01)
interpreters.destroy(a)
leaf(2)
"""


def check_within(tools, file):
    """Frames of the main interpreter are right, also after others; in another one, native ones stay and are counted."""
    out = file.with_suffix(".json")
    tools.print(file, "--export", f"json={out}")
    data, sizes = json.loads(out.read_text()), {300: 0, 400: 0}
    for stack in data["stacks"]:
        size = stack["allocated_bytes"] // stack["allocations"] // 1000
        frames = [data["frames"][i] for i in stack["frames"]]
        chain = [f["function"] for f in frames if f["module"] == "[python]"]
        if size in sizes:
            sizes[size] += stack["allocations"]
            assert chain[:1] == (["leaf"] if size == 300 else []), chain
            assert size == 300 or sum(f["function"] == "_PyEval_EvalFrameDefault" for f in frames) >= 2, frames
            assert size == 400 or chain[1:3] in (["<module>"], ["outer", "everything"], ["outer", "Thread.run"]), chain
    assert sizes[400] > 0 and known(tools.build, file)["quality"]["runtime_mismatches"] >= sizes[400]
    return sizes


@pytest.mark.parametrize("python", pythons())
def test_other_interpreters_frames_are_absent(tools, tmp_path, python):
    (tmp_path / "within.py").write_text(WITHIN)
    recording = tools.record(python, tmp_path / "within.py")
    assert recording.status == 0 and "without the names of scripts" in recording.stderr, recording
    assert check_within(tools, recording.file) == {300: 81, 400: 80}


@pytest.mark.parametrize("python", pythons())
def test_other_interpreters_are_there_at_an_attach(tools, target, tmp_path, python):
    (tmp_path / "within.py").write_text(WITHIN)
    victim = target([python, tmp_path / "within.py", "on"])
    attach(tools.build, victim.pid, tmp_path / "at.zst", duration="500ms")
    assert check_within(tools, tmp_path / "at.zst")[300] > 100


# ---- attach

SERVER = """
import sys, time
cache = {}
def remember(i): cache[i] = bytearray(9000)
def handle(i): remember(i)
i = 0
print("ready", flush=True)
while True:
    handle(i)
    i += 1
    time.sleep(0.001)
"""


def test_attach_detach_attach(build, target, tmp_path):
    (tmp_path / "server.py").write_text(SERVER)
    victim = target(["/usr/bin/python3", tmp_path / "server.py"])
    for k in range(4):
        attach(build, victim.pid, tmp_path / f"at{k}.zst", duration="1s")
        data = known(build, tmp_path / f"at{k}.zst")
        sites = through(data["sites"]["allocations"], "remember")
        assert sum(site["bytes"] for site in sites) > 0.9 * data["summary"]["allocated_bytes"], (k, sites)
        large = [site for site in data["sites"]["allocations"] if 9000 <= site["bytes"] / site["allocations"] < 9100]
        assert large and all(site in sites for site in large), (k, "named from the first one on", large)
        assert [f["function"] for f in sites[0]["stack"] if f["file"] and f["file"].endswith("server.py")] == \
            ["remember", "handle", "<module>"], sites[0]


EMBEDS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
	void *python = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	if (!python) {
		return 77;
	}
	int (*run)(const char *) = (int (*)(const char *))dlsym(python, "PyRun_SimpleString");
	((void (*)(void))dlsym(python, "Py_Initialize"))();
	run("kept = []\ndef keep():\n    kept.append(bytes(20000))\n");
	puts("ready");
	fflush(stdout);
	for (char line[80]; fgets(line, sizeof line, stdin);) {
		run("for i in range(50): keep()");
	}
	return 0;
}
"""


@pytest.mark.parametrize("way", [(), ("--children",)], ids=["one", "tree"])
def test_an_embedded_interpreter_is_idle_at_the_attach(tools, helpers, tmp_path, way):
    """As uwsgi's, between two requests: no function runs whose frame could prove the layout."""
    library = next(iter(sorted(Path("/usr/lib/x86_64-linux-gnu").glob("libpython3.1[1-4].so.1.0"))), None)
    if not library:
        pytest.skip("no libpython is installed")
    (tmp_path / "embeds.c").write_text(EMBEDS)
    subprocess.run(["gcc", "-g", tmp_path / "embeds.c", "-o", tmp_path / "embeds"], check=True)
    ours, programs = os.pipe()
    program = tools.start(tmp_path / "embeds", library, stdin=ours)
    os.close(ours)
    helpers.wait_until(lambda: "ready" in program.finished(0).stdout, what="its start")
    recording = tools.start(tools.heaptrack, "-o", tmp_path / "attached", *way, "-p", program.pid)
    recording.wait_for_attach()
    os.write(programs, b"\n")
    os.close(programs)
    assert program.wait().status == 0 and recording.wait().status == 0
    sites = tools.json(tmp_path / "attached.zst")["sites"]["allocations"]
    made = through(sites, "keep")
    assert sum(s["allocations"] for s in made if s["bytes"] >= 20000) == 50, [s["stack"][:8] for s in sites]
