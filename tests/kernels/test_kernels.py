"""heaptrack on Debian's kernels, from an archive that needs nothing of the system: kernels.py boots them.

guest.sh makes the recordings there; what they must hold is checked here.
"""

import json
import re

import pytest

import kernels
from conftest import through, total
from memory_truth import PARTS, differences, last_look, slack_of, sums, truth_of

MADE = (1000, 1000 * 123, 500, 500 * 123)  # by tests/attach/combinations.c: calls, bytes, and what stays


@pytest.fixture(scope="module")
def folder(build):
    folder = build / "kernels"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def image(build, folder):
    try:
        kernels.install_needs()
        return kernels.make_image(build, folder)
    except kernels.Unavailable as why:
        pytest.skip(str(why))


def made(known):
    sites = known["sites"]
    calls, kept = through(sites["allocations"], "make_block"), through(sites["never_freed"], "make_block")
    return (total(calls, "allocations"), total(calls, "bytes"), total(kept, "blocks"), total(kept, "bytes"))


def problems_of_program(results, name):
    """A recording of tests/attach/combinations.c."""
    known = results.json(name)
    is_attached = name.startswith("attach")
    if known is None or results.status(name) != (0 if is_attached else 7):
        yield "no recording"
        return
    ended = results.text(name, "program" if is_attached else "out")
    if "done" not in ended or (is_attached and "status 7" not in ended):
        yield "the program did not do its work"
    if made(known) != MADE:
        yield f"recorded {made(known)}"
    if known["summary"]["lost_events"] or not known["summary"]["complete"]:
        yield "not whole"
    if known["quality"]["children_forked"] != (2 if name.endswith("forks") else 0):
        yield f"children: {known['quality']['children_forked']}"


def problems_of_peak(results):
    known = results.json("peak")
    if known is None or results.status("peak") != 7:
        yield "no recording"
    elif known["summary"]["peak_bytes"] != 1_000_000 or known["summary"]["never_freed_bytes"] != 500_000:
        yield f"{known['summary']}"
    else:
        changes = {row["what"]: (row["calls"], row["bytes"]) for row in known["memory"]["changes"]}
        if changes != {"memfd-created": (1, 0), "named": (1, 8192)}:
            yield f"{changes}"


def problems_of_children(results):
    """As tests/victims/tree.c counts itself, without its parent's pid."""
    known = results.json("children")
    if known is None or results.status("children") != 7:
        yield "no recording"
        return
    keys = ("allocations", "allocated_bytes", "never_freed_bytes", "never_freed_blocks", "peak_bytes",
            "inherited_bytes", "inherited_blocks", "inherited_freed_blocks")
    said = {numbers[0]: numbers[2:] for numbers in (list(map(int, line.split()))
                                                    for line in results.text("children", "out").splitlines())}
    found = {p["pid"]: [p[key] for key in keys] for p in known["processes"] if p["command"] == "tree"}
    if len(said) != 6 or found != said:
        yield f"counted {said}, recorded {found}"
    if len(known["processes"]) != len(said) + 2:  # the shell, and a copy of it that ends
        yield f"{known['processes']}"
    if known["quality"]["verdict"] != "recording complete" or known["children"]:
        yield f"{known['quality']}"


def problems_of_memory(results):
    known = results.json("memory")
    if known is None or results.status("memory") != 128 + 9:
        yield "no recording"
        return
    if not known["summary"]["complete"] or not 30 << 20 < known["summary"]["never_freed_bytes"] < 48 << 20:
        yield f"{known['summary']}"
    if "the kernel killed the program" not in results.text("memory", "err"):
        yield "it is not said that the kernel killed it"


def parts_of(results, name, at, truth):
    try:
        found = differences(truth, last_look(results.json(name), at), slack_of(name, truth))
    except (AssertionError, TypeError) as why:  # no such look, or no recording
        found = [str(why)]
    return [f"at {at}: {what}" for what in found]


def problems_of_way(results, name):
    """A recording of tests/victims/resident.c, looked at on request; on a busy machine its end may be missed."""
    truth = truth_of(results.text(name, "program"))
    looks = results.json(name)["memory"]["looks"]
    for at in {"request", *(look["at"] for look in looks)} - {"rss-peak", "timer"}:  # while it made its memory
        yield from parts_of(results, name, at, truth)
    for look in looks:
        if sums(look)["unknown"] > look["rss_bytes"] * 0.02 + STACK:
            yield f"unknown: {sums(look)}"


def problems_of_requests(results):
    for name in ("request", "plain"):
        truth = truth_of(results.text(name, "program"))
        yield from ((name, what) for what in parts_of(results, name, "request", truth))
    truth = truth_of(results.text("request", "program"))
    answer = json.loads(results.text("request", "answer"))
    parts = {part["id"]: part["bytes"] for part in answer["parts"]}
    if sum(parts.values()) != answer["rss_bytes"] or not set(parts) <= set(PARTS):
        yield "request", f"answered {answer}"
    if abs(parts["heap_free"] - truth["parts"]["heap_free"]) > truth["parts"]["heap_free"] * 0.02:
        yield "request", f"answered {parts}"
    if not re.match(r" *\d+  RSS 6\d\.\d MB after \S+ m?s: 60\.\d MB free, kept by malloc, ", results.text("request", "look")):
        yield "request", f"said {results.text('request', 'look')}"
    if not results.text("plain", "look").startswith("MEMORY at a request, "):
        yield "plain", f"said {results.text('plain', 'look')}"
    truth = truth_of(results.text("attached", "program"))
    del truth["maker"]  # what was mapped before has none
    yield from (("attached", what) for what in parts_of(results, "attached", "detach", truth))


def problems_of_text(results):
    """The look at the end, the section MEMORY and its finding."""
    yield from parts_of(results, "end", "end", truth_of(results.text("end", "out")))
    text = results.text("end", "text")
    if not re.search(r"^MEMORY at the end, .*: RSS 6\d\.\d MB ", text, re.M):
        yield "no section"
    if not re.search(r"^  free, kept by malloc +60\.\dM +9\d\.\d$", text, re.M):
        yield "no row of what malloc keeps"
    if not re.search(r"malloc keeps 60\.\d MB \(9\d % of RSS\) at the end that are\s+free", text):
        yield "no finding"


# A look at a peak may come while a thread is created: then its neighbour's stack has no guard of its own
STACK = 2 << 20
LIMIT = 48 << 20
KILLED = (r"the kernel killed the program at \S+ m?s \(SIGKILL\), because its control group had used up its memory "
          r"limit of 50\.3 MB; the heap was 2\d\.\d MB then; (\d+) ms before, RSS was (4\d|5[0-2])\.\d MB: 2\d\.\d MB "
          r"(live blocks|mapped), 2\d\.\d MB (live blocks|mapped), ")


def problems_of_kills(results, names):
    """Slow ones: of nine of ten a look is known that was taken from 90 % of the limit on, 0.3 s before or later."""
    n_late = 0
    for name in names:
        known = results.json(name)
        if known is None or known["program"]["end_reason"] != "memory":
            yield name, "it is not known that the kernel killed it"
            continue
        looks = [look for look in (known["memory"] or {"looks": []})["looks"] if look["at"] == "trigger"]
        age_ns = known["summary"]["duration_ns"] - looks[-1]["time_ns"] if looks else float("inf")
        n_late += age_ns > 300_000_000
        said = [line["text"] for line in known["quality"]["sentences"] if line["id"] == "killed"]
        parts = sums(looks[-1]) if looks else None
        charged = looks and looks[-1]["rss_bytes"] - parts["files"]  # the group has read none of them first
        if not looks or not 0.86 * LIMIT < charged < 1.02 * LIMIT:
            yield name, f"no look near the limit: {parts}"
        elif not 0.9 < parts["heap_live"] / parts["mapped"] < 1.1:
            yield name, f"{parts}"
        elif not re.match(KILLED, said[0]):
            yield name, said[0]
    if n_late > len(names) / 10 + 0.5:
        yield names[0], f"the last look was too early in {n_late} of {len(names)}"


def problems(results):
    """(check, what is wrong with it)"""
    names = [name.removesuffix(".status") for name in results.files if name.endswith(".status")]
    programs = [name for name in names if name.startswith(("launch-", "attach-", "exec"))]
    for name in programs:
        yield from ((name, what) for what in problems_of_program(results, name))
    for name in ("exec", "launch-combinations-threads", "attach-combinations-threads", "resident-kept", "nibble1"):
        if name not in names:
            yield name, "was not run"
    yield from (("peak", what) for what in problems_of_peak(results))
    yield from (("children", what) for what in problems_of_children(results))
    yield from (("memory", what) for what in problems_of_memory(results))
    for name in (name for name in names if name.startswith("resident")):
        yield from ((name, what) for what in problems_of_way(results, name))
    yield from problems_of_requests(results)
    yield from (("end", what) for what in problems_of_text(results))
    yield from problems_of_kills(results, [name for name in names if name.startswith("nibble")])


@pytest.mark.long
@pytest.mark.serial
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name, groups", kernels.BOOTS)
def test_kernel(image, folder, name, groups):
    try:
        kernel = kernels.fetch(name, folder)
    except kernels.Unavailable as why:
        pytest.skip(str(why))
    results = kernels.boot(kernel, image, groups, folder)
    assert results.files, f"nothing came back:\n{results.console[-3000:]}"
    found = list(problems(results))
    text = "\n".join(f"{check}: {what}\n{results.about(check)}" for check, what in found)
    assert not found, f"{[*found]}\n{text}"
