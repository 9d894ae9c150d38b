"""heaptrack on Debian's kernels, from an archive that needs nothing of the system: kernels.py boots them.

guest.sh makes the recordings there; what they must hold is checked here.
"""

import pytest

import kernels
from conftest import through, total

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


def problems_of_memory(results):
    known = results.json("memory")
    if known is None or results.status("memory") != 128 + 9:
        yield "no recording"
        return
    if not known["summary"]["complete"] or not 30 << 20 < known["summary"]["never_freed_bytes"] < 48 << 20:
        yield f"{known['summary']}"
    if "the kernel killed the program" not in results.text("memory", "err"):
        yield "it is not said that the kernel killed it"


def problems(results):
    """(check, what is wrong with it)"""
    names = [name.removesuffix(".status") for name in results.files if name.endswith(".status")]
    programs = [name for name in names if name.startswith(("launch", "attach", "exec"))]
    for name in programs:
        yield from ((name, what) for what in problems_of_program(results, name))
    for name in ("exec", "launch-combinations-threads", "attach-combinations-threads"):
        if name not in programs:
            yield name, "was not run"
    yield from (("peak", what) for what in problems_of_peak(results))
    yield from (("memory", what) for what in problems_of_memory(results))


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
