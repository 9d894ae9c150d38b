"""What each root and each class gained between two looks of heaptrack --leaks, or two recordings."""

import re
import subprocess
import sys
from pathlib import Path

import conftest

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/referee"))

from figures import in_bytes

CAT, DOG, OWL = 120, 216, 320  # bytes

# Of tests/victims/animals.cpp, before its change and after: blocks, and the bytes of one
ROOTS = {"g_grows": (100, 150, CAT), "g_shrinks": (300, 180, DOG), "g_gone": (7, 0, OWL), "g_new": (0, 5, OWL)}
CLASSES = {"Cat": (110, 160, CAT), "Dog": (300, 180, DOG), "Owl": (7, 5, OWL)}


def record(tools, *steps, name="animals"):
    """Each step is a line of the program, or "request" for a look. The file."""
    running = tools.start_record(tools.victim("animals"), options=("--leaks", "--force"), name=name, stdin=subprocess.PIPE)
    n_done = 0
    for step in steps:
        if step == "request":
            pid = running.finished(0).stdout.split()[0]
            conftest.wait_until(lambda: tools.run(tools.heaptrack, "--ctl", pid, "look", timeout=90).status == 0,
                                what="a look, which is refused until the recording's socket is there")
            continue
        running.process.stdin.write(f"{step}\n".encode())
        running.process.stdin.flush()
        n_done += 1
        conftest.wait_until(lambda: running.finished(0).stdout.count("\n") >= n_done, what=step)
    running.process.stdin.close()
    finished = running.wait()
    assert finished.status == 0, repr(finished)
    return running.file


def moment(look):
    """In the lens, and as it is said: rounded up to a millisecond."""
    return f"{-(-look['time_ns'] // 1_000_000) / 1000:.3f}"


def gained(document, looks=(None, None)):
    """The children of the root by name: blocks and bytes of both sides, that no other number contradicts."""
    assert (document["base_look_ns"], document["this_look_ns"]) == tuple(look and look["time_ns"] for look in looks)
    key = "function" if document["by"] == "call tree" else "label"
    nodes = {}
    for node in document["nodes"][1:]:
        assert node["grown"] - node["shrunk"] == node["this"] - node["base"], node
        if node["parent"] == 0:
            nodes[node[key]] = tuple(node[name] for name in ("base_blocks", "this_blocks", "base", "this"))
    for i, name in enumerate(("base_blocks", "this_blocks", "base", "this")):
        assert document["nodes"][0][name] == sum(node[i] for node in nodes.values()), name
    return {name: node for name, node in nodes.items() if node[0] != node[1] or node[2] != node[3]}


def known(of, suffix=""):
    return {name + suffix: (before, after, before * size, after * size) for name, (before, after, size) in of.items()}


ROW = re.compile(r" +(\S+ k?B) +(\S+ k?B) +([+-]\S+ k?B)  (new|gone|[+-]\S+ %) +([+-][\d,]+)  (\S.*)")


def shown(text):
    """Rows of the outermost level: base, this, change of bytes and of blocks, by name."""
    rows = [row.groups() for row in map(ROW.fullmatch, text.splitlines()) if row]
    return {row[5]: (*row[:3], row[4]) for row in rows}


def as_shown(of):
    return {name: (in_bytes(base), in_bytes(this), f"{'+-'[this < base]}{in_bytes(abs(this - base))}", f"{after - before:+,}")
            for name, (before, after, base, this) in of.items()}


def test_what_each_root_and_class_gained(tools):
    file = record(tools, "begin", "request", "change", "look")
    leaks = tools.json(file)["leaks"]
    assert [look["at"] for look in leaks["looks"]] == ["end", "request", "request"]
    _, after, before = leaks["looks"]
    of = {look["look"]: {row["name"]: (row["retained_blocks"], row["retained_bytes"])
                         for row in leaks["holders"] if row["look"] == look["look"]} for look in leaks["looks"]}
    for name, (n_before, n_after, size) in ROOTS.items():
        for look, n in ((before, n_before), (after, n_after)):
            assert of[look["look"]].get(f"{name} of animals", (0, 0)) == (n, n * size), name
    # By times, and by the mark that the program's own look has
    for lens, base in ((f"t=start-{moment(after)}", f"t=start-{moment(before)}"),
                       (f"t=mark:changed-{moment(after)}", "t=start-mark:changed")):
        words = (file, "--lens", lens, "--base-lens", base)
        assert gained(tools.json(*words, "--holders"), (before, after)) == known(ROOTS, " of animals")
        assert gained(tools.json(*words, "--classes"), (before, after)) == known(CLASSES)
        head = f"this: the look at {moment(after)} s; base: the look at {moment(before)} s\n"
        for view, of in (("--holders", known(ROOTS, " of animals")), ("--classes", known(CLASSES))):
            text = tools.print(*words, view).stdout
            assert head in text and shown(text) == as_shown(of), text
    grades = gained(tools.json(*words, "--by", "grade"), (before, after))
    assert list(grades) == ["held"] and grades["held"][1] - grades["held"][0] == 50 - 120 - 7 + 5, grades


def test_a_range_shows_the_last_look_in_it(tools):
    file = record(tools, "begin", "request", "change", "look")
    looks = tools.json(file)["leaks"]["looks"]
    end, after, before = looks
    for lens, look in ((f"t=start-{moment(before)}", before), (f"t={moment(before)}-{moment(after)}", after),
                       (f"t={moment(before)}-end", end), ("", end)):
        document = tools.json(file, "--holders", "--lens", lens)
        assert document["lens"]["moment_ns"] == look["time_ns"], lens
        assert tools.json(file, "--lens", document["lens"]["text"], "--tree")["totals"] == document["totals"]
        assert f"blocks, at {moment(look)} s\n" in tools.print(file, "--holders", "--lens", lens).stdout
    # What lies in an arena is that of one look
    assert "in arenas and arrays of all live blocks 11 objects: 11 of Dog\n" in tools.print(file, "--classes").stdout
    times = ", ".join(f"{moment(look)} s" for look in reversed(looks))
    said = f"what points to live blocks was looked at after {times}\n"
    finished = tools.print(file, "--holders", "--lens", "t=start-0.000001", status=1)
    assert f"this range of time has no look; {said}" in finished.stderr
    for words in (("--holders", "--base-lens", f"t=start-{moment(end)}"), ("--classes", "-d", file)):
        finished = tools.print(file, *words, status=1)
        assert f"both sides are the same look; {said}" in finished.stderr


def test_two_recordings(tools):
    """As each was at its end; and one that was looked at but once has nothing to compare with."""
    base, file = record(tools, "begin", name="base"), record(tools, "begin", "change")
    ends = [tools.json(one)["leaks"]["looks"][0] for one in (base, file)]
    assert gained(tools.json(file, "-d", base, "--holders"), ends) == known(ROOTS, " of animals")
    assert shown(tools.print(file, "-d", base, "--classes").stdout) == as_shown(known(CLASSES))
    finished = tools.print(base, "--holders", "--base-lens", "t=start-end", status=1)
    assert re.search(rf"both sides are the same look; .* after {moment(ends[0])} s$", finished.stderr), finished
    plain = tools.record(tools.victim("animals"), "begin", options=("--force",), name="plain").file
    finished = tools.print(file, "-d", plain, "--holders", status=1)
    assert re.search(r"plain\.zst: nobody looked at what points to live blocks; record with heaptrack --leaks$",
                     finished.stderr), finished
