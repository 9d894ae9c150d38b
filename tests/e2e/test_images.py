"""What is recorded is what was meant: through scripts, shims, exec, and whatever programs do to cut
a recorder off. Where it cannot be, the report says what is missing.
"""

import json
import os
import shutil
import stat
import subprocess
import tempfile
import textwrap
from pathlib import Path

import pytest

N = 300_000


def script(path, text):
    path.write_text(textwrap.dedent(text))
    path.chmod(0o755)
    return path


def assert_as_direct(direct, other, images):
    """The same allocations within 1 %, by a program that was `images` programs one after another."""
    assert direct.status < 128
    assert other.status == direct.status and other.stdout == direct.stdout, repr(other)
    expected, known = direct.json("--limit", "5"), other.json("--limit", "5")
    assert known["program"]["images"] == images
    assert known["summary"]["lost_events"] == 0
    for what in ("allocations", "allocated_bytes", "never_freed_blocks"):
        assert known["summary"][what] == pytest.approx(expected["summary"][what], rel=0.01), what


@pytest.fixture
def direct(tools):
    recording = tools.record(tools.victim("steady"), N, 4, name="direct")
    assert recording.status == 4 and recording.stdout == "steady\n", repr(recording)
    return recording


def test_shell_script_that_ends_in_exec(tools, tmp_path, direct):
    start = script(tmp_path / "start.sh", f"""\
        #!/bin/sh
        cd /tmp
        exec {tools.victim("steady")} "$@"
        """)
    assert_as_direct(direct, tools.record(start, N, 4), images=2)


def test_shim_that_looks_for_the_program(tools, tmp_path, direct):
    """As pyenv and nvm have them: bash finds out what is meant, and execs a second script."""
    (tmp_path / "versions").mkdir()
    script(tmp_path / "versions" / "steady", f"""\
        #!/bin/sh
        exec {tools.victim("steady")} "$@"
        """)
    shim = script(tmp_path / "steady", """\
        #!/usr/bin/env bash
        set -e
        program="${0##*/}"
        found="$(ls -d "$(dirname "$0")"/versions/* | tail -n 1)"
        [ -x "$found" ] || exit 127
        export SHIM_VERSION=system
        exec "${found%/*}/$program" "$@"
        """)
    assert_as_direct(direct, tools.record(shim, N, 4), images=4)


@pytest.mark.parametrize("words, images", [
    (["env", "X=1"], 2), (["timeout", "50"], 2), (["nice", "-n", "1"], 2), (["setsid"], 2),
    (["env", "-u", "HOME", "nohup"], 3)])
def test_wrapper(tools, direct, words, images):
    other = tools.record(*words, tools.victim("steady"), N, 4)
    if words[0] == "timeout":  # forks: only what it runs is the program
        images = other.json()["program"]["images"]
    assert_as_direct(direct, other, images)


def test_env_node_script(tools, tmp_path):
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    work = script(tmp_path / "work", """\
        #!/usr/bin/env node
        const zlib = require("zlib");
        let text = "";
        for (let i = 0; i < 50000; i++) text += i;
        let sum = 0;
        for (let i = 0; i < 3000; i++) sum += zlib.deflateRawSync(text.slice(i, i + 1000)).length;
        console.log(sum);
        """)
    node = tools.record("node", "--single-threaded", work, name="direct")
    other = script(tmp_path / "work-too", work.read_text().replace(
        "env node", "env -S node --single-threaded"))
    assert_as_direct(node, tools.record(other), images=2)


def test_interpreter_behind_an_interpreter(tools, helpers, tmp_path):
    """exec from a second thread of Python, which was reached through a shell."""
    work = script(tmp_path / "work.py", f"""\
        #!/usr/bin/python3 -S
        import os, sys, threading
        def go(): os.execv({str(tools.victim("steady"))!r}, ["steady"] + sys.argv[1:])
        threading.Thread(target=go).start()
        """)
    start = script(tmp_path / "start", f'#!/bin/sh\nexec {work} "$@"\n')
    recording = tools.record(start, N, 4)
    assert recording.status == 4 and recording.stdout == "steady\n", repr(recording)
    known = recording.json()
    assert known["program"]["images"] == 3
    made = helpers.through(known["sites"]["allocations"], "allocate_blocks")
    kept = helpers.through(known["sites"]["never_freed"], "allocate_blocks")
    assert (helpers.total(made, "blocks"), helpers.total(kept, "blocks")) == (N, N // 100)


# --- plugins


def plugin_folder(tools, folder):
    (folder / "plugins").mkdir()
    shutil.copy(tools.victim("plugin.so"), folder / "plugins")
    return shutil.copy(tools.victim("plugin_host"), folder)


def test_plugin_found_through_runpath(tools, helpers, tmp_path):
    recording = tools.record(plugin_folder(tools, tmp_path))
    assert recording.status == 0 and recording.stdout == "plugged\n", repr(recording)
    sites = helpers.through(recording.json()["sites"]["never_freed"], "plugin_allocate")
    assert (helpers.total(sites, "blocks"), helpers.total(sites, "bytes")) == (10, 700)
    assert sites[0]["stack"][0]["module"].endswith("/plugins/plugin.so")


def test_plugin_loaded_and_unloaded(tools, helpers, tmp_path):
    recording = tools.record(plugin_folder(tools, tmp_path), 200)
    assert recording.status == 0, repr(recording)
    sites = recording.json()["sites"]["allocations"]
    assert helpers.total(helpers.through(sites, "plugin_allocate"), "blocks") == 2000
    assert helpers.total(helpers.through(sites, "main"), "blocks") >= 2000


# --- programs that cut themselves off


@pytest.fixture
def public(build):
    """A folder that everybody may read, with heaptrack in it: a build tree may be private."""
    folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="heaptrack-test-"))
    folder.chmod(0o755)
    for name in ("heaptrack", "libheaptrack_preload.so", "tests/victims/hostile",
                 "tests/victims/stands_alone", "tests/victims/steady"):
        shutil.copy(build / name, folder / Path(name).name)
    (folder / "heaptrack_print").symlink_to("heaptrack")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def public_tools(tools, public):
    tools.heaptrack = public / "heaptrack"
    return tools


def blocks_of(known, helpers, function):
    return helpers.total(helpers.through(known["sites"]["never_freed"], function), "blocks")


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


@pytest.mark.parametrize("how", [
    "close", "wipe", pytest.param("drop", marks=needs_root),
    pytest.param("chroot", marks=needs_root), "fsize", "as", "nofile", "lock", "rename"])
def test_program_that_cuts_itself_off(public_tools, public, helpers, tmp_path, how):
    more = [tmp_path] if how == "chroot" else []
    recording = public_tools.record(public / "hostile", how, 2000, *more)
    assert recording.status == 0 and recording.stdout == "hostile\n", repr(recording)
    known = recording.json()
    assert known["summary"]["complete"] and known["summary"]["lost_events"] == 0
    assert blocks_of(known, helpers, "before_it") == 2000
    assert blocks_of(known, helpers, "after_it") == 2000


@pytest.mark.parametrize("how", [
    "close", pytest.param("drop", marks=needs_root), "fsize", "nofile", "rename"])
def test_program_that_cuts_itself_off_and_execs(public_tools, public, helpers, how):
    """The next program is recorded as well, or the report says that it is not."""
    recording = public_tools.record(public / "hostile", how, 1000, public / "steady", N)
    if how == "nofile":  # nothing can be loaded then, with us or without
        plain = public_tools.run(public / "hostile", how, 1000, public / "steady", N)
        assert recording.status == plain.status, repr(recording)
        return
    assert recording.status == 0 and recording.stdout == "steady\n", repr(recording)
    known = recording.json()
    steady = helpers.through(known["sites"]["allocations"], "allocate_blocks")
    if known["program"]["images"] == 2:
        assert helpers.total(steady, "blocks") == N
    assert blocks_of(known, helpers, "allocate_blocks") == N // 100 or known["quality"]["sentences"]


def said(known, what):
    return [line["text"] for line in known["quality"]["sentences"] if line["id"] == what]


def assert_says_that_it_became(recording, program, helpers):
    known = recording.json()
    made = helpers.through(known["sites"]["allocations"], "before_it")
    assert helpers.total(made, "blocks") == 1000
    sentences = said(known, "unrecorded-image")
    assert len(sentences) == 1 and f"became {program}," in sentences[0], known["quality"]
    assert known["summary"]["never_freed_blocks"] == 0, "an exec ends all blocks"
    assert f"became {program}," in recording.report()


def test_wiped_environment_and_exec(public_tools, public, helpers):
    """Without its environment the recorder is not in the next program, and that is said."""
    recording = public_tools.record(public / "hostile", "wipe", 1000, public / "steady", 10 * N)
    assert recording.status == 0 and recording.stdout == "steady\n", repr(recording)
    assert_says_that_it_became(recording, public / "steady", helpers)


def test_static_program_in_the_same_process(public_tools, public, helpers):
    recording = public_tools.record(public / "hostile", "nothing", 1000, public / "stands_alone", 300)
    assert recording.status == 7, repr(recording)
    assert_says_that_it_became(recording, public / "stands_alone", helpers)


@pytest.mark.parametrize("limit", [
    "--fsize=1000", "--as=2000000000", "--as=200000000", "--as=40000000", "--nofile=8", "--core=0",
    "--stack=200000", "--memlock=0"])
def test_limits_from_the_start(public_tools, public, helpers, limit):
    """Limits for the program alone: `prlimit` sets them and execs."""
    if not shutil.which("prlimit"):
        pytest.skip("prlimit is not installed")
    recording = public_tools.record("prlimit", limit, public / "steady", N, 6)
    assert recording.status == 6 and recording.stdout == "steady\n", repr(recording)
    known = recording.json()
    sites = helpers.through(known["sites"]["allocations"], "allocate_blocks")
    recorded = helpers.total(sites, "blocks")
    assert recorded == N or known["summary"]["lost_events"] > 0 or known["quality"]["sentences"]
    if limit == "--as=40000000":
        sentence, = said(known, "unrecorded-image")
        assert "address space is too narrow" in sentence and str(public / "steady") in sentence
    else:
        assert recorded == N, f"{limit}: {recorded} of {N}"


@pytest.mark.parametrize("kilobytes", [40000, 300000, 900000, 3000000])
@pytest.mark.parametrize("user", [0, 65534])
def test_address_space_limited_for_all(public, kilobytes, user):
    """`ulimit -v` before heaptrack itself: who may not raise his own makes do, or says so."""
    if os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    folder = Path(tempfile.mkdtemp(dir=public))
    os.chown(folder, user, user)
    file = folder / "a.zst"
    result = subprocess.run(
        ["sh", "-c", f'ulimit -v {kilobytes}; exec "$@"', "sh", public / "heaptrack", "-o", file,
         public / "steady", str(N), "6"], user=user, group=user, text=True, capture_output=True,
        timeout=60, check=False, cwd=folder)
    assert result.returncode == 6 and result.stdout == "steady\n", result
    if "runs unrecorded" in result.stderr:
        assert kilobytes <= 300000 and "ulimit -v" in result.stderr, result.stderr
        return
    known = json.loads(subprocess.run([public / "heaptrack_print", "--json", file], text=True,
                                      capture_output=True, check=True, timeout=60).stdout)
    assert known["summary"]["allocations"] >= N or said(known, "unrecorded-image")


@needs_root
def test_started_as_another_user(public_tools, public, helpers):
    """The collector is root's, the program nobody's: the descriptor comes through the socket."""
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    recording = public_tools.record("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                    public / "steady", N)
    assert recording.status == 0 and recording.stdout == "steady\n", repr(recording)
    sites = helpers.through(recording.json()["sites"]["allocations"], "allocate_blocks")
    assert helpers.total(sites, "blocks") == N


def test_set_uid_program_runs_unrecorded(public_tools, public):
    """The loader ignores us there; heaptrack says so and stands aside."""
    program = Path(shutil.copy(public / "steady", public / "risen"))
    if os.geteuid() == 0:  # its own file gives root no more rights: it is recorded as any other
        os.chown(program, 65534, 65534)
    program.chmod(program.stat().st_mode | stat.S_ISUID)
    recording = public_tools.record(program, 10)
    assert "steady\n" in recording.stdout or recording.status in (126, 127), repr(recording)
    assert "set-uid" in recording.stderr or "setuid" in recording.stderr, repr(recording)
