"""Parts of recordings: every view under every lens, against blocks counted one by one.

`replay_lenses` (tests/replay) replays the single events of a recording and counts what random
lenses ask for by the moments of births and deaths; it shares no code with the engine's intervals.
"""

import random
import re
import shutil
import time

import pytest

PROGRAMS = {
    "demo": lambda tools: [tools.victim("demo")],
    "threads": lambda tools: [tools.victim("handover"), "8000", "outside"],
    "jq": lambda tools: [need("jq"), "-n", "[range(3000)] | map(tostring) | group_by(length)"],
    "python": lambda tools: ["/usr/bin/python3", "-c", PYTHON],
    "node": lambda tools: [need("node"), "-e", NODE],
}
PYTHON = """
import json, threading
def parse(n):
    return [json.loads('{"a": [1, 2.5, "%s"]}' % ("x" * i)) for i in range(n)]
def hold():
    kept = parse(300)
    return kept[:100]
workers = [threading.Thread(target=parse, args=(500,)) for _ in range(3)]
kept = hold()
[w.start() for w in workers]
[w.join() for w in workers]
parse(2000)
"""
NODE = "console.log(require('zlib').gzipSync('x'.repeat(1e6)).length)"
METRICS = ("peak", "never-freed", "kept", "allocations", "bytes", "temporary")
VIEWS = ([], ["--tree"], ["--bottom-up"], ["--timeline"]) + tuple(
    ["--by", what] for what in ("function", "package", "module", "file", "site", "type", "thread", "size",
                                "lifetime"))
COSTS = ("bytes", "blocks", "allocations", "allocated_bytes", "temporary")


def need(program):
    path = shutil.which(program)
    if not path:
        pytest.skip(f"{program} is not installed")
    return path


@pytest.fixture(scope="module", params=PROGRAMS)
def recording(request, build, tmp_path_factory):
    from conftest import Tools
    tools = Tools(build, tmp_path_factory.mktemp("lens"))
    recording = tools.record(*PROGRAMS[request.param](tools), options=["--events"],
                             env={"PYTHONMALLOC": "malloc"})
    assert recording.status == 0, repr(recording)
    yield recording
    tools.finish()


@pytest.mark.timeout(600)
def test_random_lenses_as_counted_by_hand(recording, tools, build, is_long):
    checked = tools.run(build / "tests" / "replay" / "replay_lenses", recording.file,
                        2000 if is_long else 200, timeout=500)
    assert checked.status == 0 and "all agree" in checked.stdout, repr(checked)


def random_lens(rng, known, functions):
    words = [f"m={rng.choice(METRICS)}"]
    if rng.random() < 0.6:
        start, end = sorted(rng.randrange(101) for _ in range(2))
        words.append(rng.choice([f"t={start}%-{end}%", "t=peak", f"t=start-{end}%", f"t={start}%-end"]))
    name = rng.choice(functions)
    plain = re.sub(r"[^A-Za-z0-9_]", lambda m: f"%{ord(m[0]):02X}" if ord(m[0]) < 128 else "", name)
    if rng.random() < 0.4:
        words.append(rng.choice([f"q={plain[:6]}", f"q=!{plain}", "q=/^[a-m]/"]))
    if rng.random() < 0.3:
        words.append(f"focus={plain}")
    if rng.random() < 0.2:
        words.append(f"hide={plain}")
    if rng.random() < 0.3:
        words.append("fold=0")
    return "&".join(words)


def add(items):
    return {cost: sum(item[cost] for item in items) for cost in COSTS}


def check_view(known):
    """Whatever the view: it sums to the totals."""
    totals = known["totals"]
    if "tree" in known:
        tree = known["tree"]
        assert {cost: tree[0][cost] for cost in COSTS} == totals
        below = [dict.fromkeys(COSTS, 0) for _ in tree]
        for item in tree[1:]:
            assert item["parent"] < item["id"]
            for cost in COSTS:
                below[item["parent"]][cost] += item[cost]
        for item, sums in zip(tree, below):
            assert item["bytes"] == sums["bytes"] + item["own_bytes"]
            assert item["blocks"] == sums["blocks"] + item["own_blocks"]
            assert item["allocations"] >= sums["allocations"]
    if "bottom_up" in known:
        first = [item for item in known["bottom_up"] if item["parent"] is None]
        assert add(first)["bytes"] <= totals["bytes"]
        for item in known["bottom_up"]:
            below = [other for other in known["bottom_up"] if other["parent"] == item["id"]] \
                if item["opened"] and len(known["bottom_up"]) < 300 else None
            if below is not None:
                assert item["bytes"] == add(below)["bytes"] + item["own_bytes"]
    if "functions" in known:
        own = add([item["own"] for item in known["functions"]] + [known["rest"]])
        assert own == totals
    if "parts" in known:
        assert add(known["parts"] + [known["rest"]]) == totals
    if "timeline" in known:
        made = {cost: sum(item[cost] for item in known["timeline"])
                for cost in ("allocations", "allocated_bytes", "temporary")}
        assert made == {cost: totals[cost] for cost in made}
        if known["lens"]["metric"] == "peak":
            at = [item for item in known["timeline"]
                  if item["time_ns"] == known["lens"]["moment_ns"]]
            assert totals["bytes"] in [item["bytes"] for item in at]


@pytest.mark.timeout(300)
def test_every_view_sums_to_the_totals(recording, tools, is_long):
    rng = random.Random(3)
    functions = [item["function"] for item in
                 tools.json(recording.file, "--by", "function", "--lens", "m=bytes")["functions"]
                 if item["function"]]
    for _ in range(60 if is_long else 3):
        lens = random_lens(rng, recording, functions)
        seen = []
        for view in VIEWS:
            known = tools.json(recording.file, *view, "--lens", lens)
            seen.append(known["totals"])
            check_view(known)
        # What the lens says of itself means the same
        again = tools.json(recording.file, "--lens", known["lens"]["text"])
        assert again["totals"] == known["totals"], (lens, known["lens"])
        assert again["lens"]["text"] == known["lens"]["text"]
        assert seen == [seen[0]] * len(VIEWS), lens


def test_all_of_it_is_the_summary(recording, tools):
    summary = recording.json()["summary"]
    peak = tools.json(recording.file, "--lens", "m=peak")["totals"]
    assert (peak["bytes"], peak["blocks"]) == (summary["peak_bytes"], summary["peak_blocks"])
    held = tools.json(recording.file, "--lens", "m=never-freed")["totals"]
    assert held["bytes"] == summary["never_freed_bytes"] - summary["suppressed_bytes"]
    made = tools.json(recording.file, "--lens", "m=temporary&t=start-end")["totals"]
    assert made["blocks"] == made["temporary"] == summary["temporary"]
    assert made["allocations"] == summary["allocations"]


def test_text_views_say_what_json_says(recording, tools):
    for view in (["--tree"], ["--bottom-up"], ["--timeline"], ["--by", "site"]):
        report = recording.report(*view, "--lens", "m=bytes")
        assert report.startswith("allocated bytes: "), report[:200]
        assert len(report.splitlines()) < 400
    site = tools.json(recording.file, "--by", "site", "--lens", "m=bytes")["parts"][0]["label"]
    assert "stack" in recording.report("--stacks", site, "--lens", "m=bytes")
    function = tools.json(recording.file, "--by", "function",
                          "--lens", "m=bytes")["functions"][0]["function"]
    report = recording.report("--callers", function, "--lens", "m=bytes")
    assert "callers" in report and "callees" in report


def test_parts_of_the_demo(tools):
    """Everything is known of it (tests/victims/demo.cpp)."""
    recording = tools.record(tools.victim("demo"))
    spike = tools.json(recording.file, "--callers", "spike", "--lens", "t=peak")
    assert spike["callers"][0]["bytes"] == 32_000_000
    assert spike["callers"][1]["function"] == "main"
    assert sum(item["bytes"] for item in spike["callees"] if item["parent"] == 0) == 32_000_000
    kept = tools.json(recording.file, "--lens", "t=peak&m=kept&focus=leakyParse", "--tree")
    assert kept["tree"][1]["function"].startswith("leakyParse")
    hidden = tools.json(recording.file, "--lens", "hide=spike", "--tree")
    assert not any("spike" in (item["function"] or "") for item in hidden["tree"])
    assert hidden["totals"]["bytes"] == recording.json()["summary"]["peak_bytes"]
    stacks = tools.json(recording.file, "--stacks", "leakyParse", "--lens", "m=never-freed")
    assert sum(item["blocks"] for item in stacks["stacks"]) == 1_000
    missing = tools.print(recording.file, "--callers", "no_such_function", status=1)
    assert "no function no_such_function" in missing.stderr and "spike()" in missing.stderr
    wrong = tools.print(recording.file, "--lens", "m=peek", status=1)
    assert "never-freed" in wrong.stderr


def test_threads_by_their_names(tools):
    program = ["/usr/bin/python3", "-c", THREADS]
    recording = tools.record(*program, env={"PYTHONMALLOC": "malloc"})
    assert recording.status == 0, repr(recording)
    parts = tools.json(recording.file, "--by", "thread", "--lens", "m=bytes")["parts"]
    by_name = {part["label"]: part for part in parts}
    assert by_name["parser"]["bytes"] >= 3 * 10_000_000 > by_name["other"]["bytes"] >= 10_000_000
    under = tools.json(recording.file, "--lens", "m=bytes&threads=parser")["totals"]
    assert under["bytes"] == by_name["parser"]["bytes"]
    both = tools.json(recording.file, "--lens", "m=bytes&threads=parser,other")["totals"]
    assert both["bytes"] == by_name["parser"]["bytes"] + by_name["other"]["bytes"]


THREADS = """
import ctypes, threading, time
def run(name, n):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    for _ in range(n):
        bytearray(10_000_000)
    time.sleep(2)
threads = [threading.Thread(target=run, args=(b"parser", 3)),
           threading.Thread(target=run, args=(b"other", 1))]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def test_a_copy_of_a_growing_file_says_so(tools, helpers, tmp_path):
    """docker cp, scp: opened elsewhere, with what was there, and with the time of that."""
    copy, enough = tmp_path / "copy.zst", tmp_path / "enough"
    began = time.time()
    running = tools.start_record("/usr/bin/python3", "-c", GROWING, enough,
                                 env={"PYTHONMALLOC": "malloc", "TZ": "UTC"})

    def is_there():
        if not running.file.exists():
            return False
        shutil.copyfile(running.file, copy)
        shown = tools.run(tools.heaptrack_print, copy, env={"TZ": "UTC"})
        return shown.status == 0 and "grow" in shown.stdout and shown.stdout
    report = helpers.wait_until(is_there, timeout=100, what="a copy with the program's stacks")
    enough.touch()
    said = re.search(r"still recording, state at (\d\d):(\d\d):(\d\d)", report)
    assert said, report
    hours, minutes, seconds = (int(part) for part in said.groups())
    since = (hours * 3600 + minutes * 60 + seconds - int(began)) % 86400
    assert since <= time.time() - int(began), "a moment while it was recorded"
    assert "peak heap memory consumption" in report
    lens = tools.json(copy, "--lens", "m=kept&t=50%-end")
    assert lens["lens"]["to_ns"] > 0
    running.wait()
    assert "still recording" not in tools.print(running.file).stdout


GROWING = """
import os, sys, time
def grow():
    return [bytearray(1000) for _ in range(1000)]
kept = []
while len(kept) < 1500 and not os.path.exists(sys.argv[1]):
    kept.append(grow())
    time.sleep(0.1)
"""
