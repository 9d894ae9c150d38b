"""Each cell of combinations.py: recorded to the byte, or left out with the sentence that says so.

tests/attach/combinations.c is the program, and says what it allocates.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import combinations
from conftest import SOURCE, let_look, through, total, wait_until

CONTAINER = [sys.executable, Path(__file__).with_name("container.py")]
IN_CONTAINER = ("container", "inside", "bare")
JEMALLOC = next(Path("/usr/lib").glob("*/libjemalloc.so.2"), None)
MUSL_LOADER = Path("/lib/ld-musl-x86_64.so.1")


@pytest.fixture(scope="module")
def small_root(build, tmp_path_factory):
    """A root with heaptrack, the programs and what they load, and nothing else."""
    root = tmp_path_factory.mktemp("root")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False,
                      capture_output=True).returncode:
        pytest.skip("needs root and namespaces")
    programs = [build / "tests/attach" / name for name in set(combinations.PROGRAMS.values())]
    programs += [build / "tests/attach" / name for name in combinations.PLUGINS]
    own = [build / "heaptrack", *build.glob("libheaptrack_*.so"), *filter(Path.exists, programs)]
    for path in own:
        shutil.copy(path, root)
    loaded = subprocess.run(["ldd", *own, *filter(None, [JEMALLOC])], capture_output=True, text=True,
                            check=False).stdout
    libraries = {Path(path) for path in re.findall(r"(/\S+) \(0x", loaded)}
    # A second C library looks for the loader beside the first
    beside = {path.with_name("ld-linux-x86-64.so.2") for path in libraries if path.name == "libc.so.6"}
    for path in {JEMALLOC, MUSL_LOADER, *libraries, *beside}:
        if path and path.exists():
            (root / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / path.relative_to("/"))
    for folder in ("proc", "tmp", "empty"):
        (root / folder).mkdir()
    return root


class Bench:
    """Where a cell is run: its command, its file as heaptrack and as we name it."""

    def __init__(self, cell, build, root):
        self.cell, self.build, self.root = cell, build, root
        is_inside = cell.root == "inside" or \
            (cell.way == "launched" and cell.root in IN_CONTAINER)
        name = f"tmp/{cell.id.replace('/', '-')}.zst"
        self.file, self.named = root / name, f"/{name}" if is_inside else root / name
        self.heaptrack = ["/heaptrack" if is_inside else build / "heaptrack", "-f", "-o", self.named]
        self.env = {"LD_PRELOAD": str(JEMALLOC)} if cell.allocator == "preloaded" else {}

    def program(self):
        is_away = self.cell.root in (*IN_CONTAINER, "chroot")
        path = f"/{self.cell.program}" if is_away else self.build / "tests/attach" / self.cell.program
        return [path, self.cell.shape, *([self.root / "empty"] if self.cell.root == "moved" else [])]

    def into_root(self, command):
        if self.cell.root in IN_CONTAINER:
            no_proc = ["--no-proc"] if self.cell.root == "bare" else []
            return [*CONTAINER, *no_proc, self.root, *command]
        return command

    def chrooted(self):
        chroot = [shutil.which("chroot"), self.root] if self.cell.root == "chroot" else []
        return [*chroot, *self.program()]


def launch(tools, bench):
    ours, programs = os.pipe()
    command = bench.into_root([*bench.heaptrack, *bench.chrooted()])
    running = tools.start(*command, env=bench.env, stdin=ours)
    os.close(ours)
    wait_until(lambda: "ready" in running.finished(0).stdout, what="the program's start")
    os.write(programs, b"\n")
    wait_until(lambda: "done" in running.finished(0).stdout, what="the program's work")
    if bench.cell.outcome in ("unrecorded", "said"):
        let_look(running.pid, 1)  # what became of the program, and what it has loaded
    os.close(programs)
    return running.wait()


def pid_outside(bench, running):
    if bench.cell.root not in IN_CONTAINER:
        return running.pid
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text()
    return int(children.split()[0])


def said(running):
    return running.finished(0).stderr


def attach(tools, bench, ends_first=False):
    """Run the program to its "done" while heaptrack is attached, and both to their end. `ends_first`: the
    program, which takes its root along."""
    ours, programs = os.pipe()
    program = tools.start(*bench.into_root(bench.chrooted()), env=bench.env, stdin=ours)
    os.close(ours)
    wait_until(lambda: "ready" in program.finished(0).stdout, what="the program's start")
    pid = pid_outside(bench, program)
    enter = ["nsenter", "-t", str(pid), "-m", "-p"] if bench.cell.root == "inside" else []
    attached = tools.start(*enter, *bench.heaptrack, "--max-pause", "30s", "-p", 1 if enter else pid)
    wait_until(lambda: "attached to process" in said(attached) or attached.process.poll() is not None,
               what="the attach")
    os.write(programs, b"\n")
    wait_until(lambda: "done" in program.finished(0).stdout, what="the program's work")
    if ends_first:
        os.close(programs)
    else:
        end_of_attach(attached, enter)
    heaptrack = attached.wait()
    if not ends_first:
        os.close(programs)
    ended = program.wait()
    assert ended.status == 7, repr(ended)
    return heaptrack


def end_of_attach(attached, enter):
    pid = attached.pid
    if enter:  # nsenter waits for the child that is heaptrack
        pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
    os.kill(pid, 2)


def assert_recorded(tools, bench, finished):
    known = tools.json(bench.file)
    summary, quality = known["summary"], known["quality"]
    made = through(known["sites"]["allocations"], "make_block")
    kept = through(known["sites"]["never_freed"], "make_block")
    assert (total(made, "allocations"), total(kept, "blocks"), total(kept, "bytes")) == \
        (1000, 500, 500 * 123), repr(finished)
    assert summary["complete"] and summary["lost_events"] == 0
    assert quality["double_allocations"] == quality["unknown_frees"] == 0
    children = 2 if bench.cell.shape == "forks" else 0
    assert quality["children_forked"] == children
    assert ("2 child processes were not recorded" in finished.stderr) == (children == 2)


@pytest.mark.parametrize("cell", combinations.CELLS, ids=repr)
def test_cell(tools, build, small_root, cell):
    if not (small_root / cell.program).exists():
        pytest.skip(f"{cell.program} is not built")
    if cell.allocator == "preloaded" and not JEMALLOC:
        pytest.skip("libjemalloc2 is not installed")
    bench = Bench(cell, build, small_root)
    finished = launch(tools, bench) if cell.way == "launched" else attach(tools, bench)
    assert " ".join(cell.says.split()) in " ".join(finished.stderr.split()), repr(finished)
    if cell.way == "launched":
        assert finished.status == 7 and finished.stdout == "ready\ndone\n", repr(finished)
    else:
        assert finished.status == 0, repr(finished)
    if cell.outcome == combinations.RECORDED:
        assert_recorded(tools, bench, finished)
    else:
        if cell.outcome == "said":
            seen = tools.json(bench.file)
            assert seen["summary"]["complete"] and seen["summary"]["lost_events"] == 0
            assert not through(seen["sites"]["allocations"], "make_block")
            assert {Path(one["module"]).name for one in seen["allocators"] if one["why"]} == \
                ({"libc.so.6"} if cell.allocator == "namespace" else {"plugin_a.so", "plugin_b.so"})
        assert cell.says, "an outcome other than a recording is never silent"


def test_names_outlive_a_container(tools, build, small_root):
    cell = combinations.Cell("attached", "threads", "libc", "container")
    for _ in range(5):
        bench = Bench(cell, build, small_root)
        assert_recorded(tools, bench, attach(tools, bench, ends_first=True))


def test_the_page_is_made_of_the_table():
    assert (SOURCE / "docs/combinations.md").read_text() == combinations.document(), \
        "run: tests/e2e/combinations.py > docs/combinations.md"
