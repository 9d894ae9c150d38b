"""What is said first of programs that run other people's programs, read as their authors would.

The first sentence names the module and, where it has a name, the function of the runtime that asked for
the memory, and what gives the scripts' own functions names; never only that the runtime holds it all.
"""

import os
import re
import shutil
from pathlib import Path

import pytest

BUFFERS = """
const kept = []; let n = 0;
const timer = setInterval(() => {
  for (let i = 0; i < 20; i++) kept.push(Buffer.alloc(100000, 1));
  if (++n === 30) clearInterval(timer);
}, 10);
"""
OBJECTS = "const kept = []; for (let i = 0; i < 300000; i++) kept.push({i, name: 'x' + i});\n" \
    "setTimeout(() => kept.length, 1500);\n"
GROWING_LIST = "kept = [{'id': i, 'name': 'x%d' % i} for i in range(250000)]\n"
NUMPY = """
import time
try:
    import numpy
except ImportError:
    raise SystemExit(9)
kept = []
for _ in range(40):
    kept.append(numpy.ones(100000)); time.sleep(0.01)
"""
CTYPES = """
import ctypes, time
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
for _ in range(150):
    for _ in range(20): libc.malloc(5000)
    time.sleep(0.003)
"""
VALUES = "<?php $kept = []; for ($i = 0; $i < 500000; $i++) $kept[] = ['id' => $i, 'name' => \"x$i\"];"
MATCHES = """<?php for ($i = 0; $i < 4000; $i++) { mb_ereg("(h.a)p9|([a-z]+)", "heap$i of words", $found);
mb_ereg_match(".*q", "heap$i"); }"""
FRAMES = "kept <- lapply(1:3000, function(i) data.frame(a = i))[1:3]; print(length(kept))"
CLASSES = "class A { public static void main(String[] a) { System.out.println(a.length); } }"


def said(tools, tmp_path, script, *command, suffix, **env):
    """The page of a script that a runtime runs, in one line; its --json."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here")
    (tmp_path / f"script.{suffix}").write_text(script)
    recording = tools.record(*command, f"script.{suffix}", cwd=tmp_path, env=env or None)
    if recording.status == 9:
        pytest.skip("not installed")
    assert recording.status == 0, repr(recording)
    return " ".join(recording.report().split()), recording.json()


def first(data):
    return next(f for f in data["findings"] if f["id"] != "children")


def test_node_whose_buffers_grow(tools, tmp_path):
    page, data = said(tools, tmp_path, BUFFERS, "node", suffix="js")
    # Whether that is growth, is judged by its curve: a machine that stalls bends it
    assert re.match(r"\(anonymous, in setInterval\) script\.js:4(: grew | holds )", first(data)["text"]), \
        data["findings"]
    assert "--perf-basic-prof" not in page, "names are there: no advice on how to get them"
    assert not any(f["id"] == "runtime" for f in data["findings"]), data["findings"]


def test_node_whose_objects_are_in_no_block(tools, tmp_path):
    page, data = said(tools, tmp_path, OBJECTS, "node", suffix="js")
    assert "node maps JavaScript's objects itself; node --heap-prof tells of them" in page, page
    mapped = next(f for f in data["findings"] if f["id"] == "mapped")["text"]
    assert "(top level) script.js:1" in mapped, data["findings"]
    assert "--perf-basic-prof" not in page, page


def test_python_whose_objects_are_in_no_block(tools, tmp_path):
    page, data = said(tools, tmp_path, GROWING_LIST, "/usr/bin/python3", suffix="py")
    assert re.search(r"python3\S* maps small objects itself; heaptrack --python-objects records them \(not under python -E or -I\)", page), page
    assert "script.py:1" in first(data)["text"] and "-X perf" not in page, data["findings"]


def test_python_does_as_it_was_told(tools, tmp_path):
    """With what the line says, the objects are blocks, and the line is gone."""
    page, data = said(tools, tmp_path, GROWING_LIST, "/usr/bin/python3", suffix="py", PYTHONMALLOC="malloc")
    assert " itself; " not in page, page
    assert data["summary"]["allocations"] > 500000


def test_numpy_is_named_with_its_package(tools, tmp_path):
    page, data = said(tools, tmp_path, NUMPY, "/usr/bin/python3", suffix="py")
    assert re.match(r"(_multiarray_umath\.so, no symbols|.+) \(numpy\)(: grew | holds )", first(data)["text"]), \
        data["findings"]
    assert "cpython-3" not in page.split("FINDINGS")[1].split("PEAK, by")[0], page


def test_memory_of_a_library_is_not_the_programs(tools, tmp_path):
    """ctypes: libffi calls malloc for the script's own line."""
    _, data = said(tools, tmp_path, CTYPES, "/usr/bin/python3", suffix="py")
    assert first(data)["text"].startswith("<module> script.py:6"), data["findings"]


def test_php_whose_values_are_in_no_block(tools, tmp_path):
    page, _ = said(tools, tmp_path, VALUES, "php", suffix="php")
    assert re.search(r"php\S* maps what scripts hold itself; USE_ZEND_ALLOC=0 records it", page), page
    page, data = said(tools, tmp_path, VALUES, "php", suffix="php", USE_ZEND_ALLOC="0")
    assert " itself; " not in page and data["summary"]["allocations"] > 500000, page


def test_php_names_its_extension(tools, tmp_path):
    """Several functions of one extension, none of which has a name."""
    if not list(Path("/usr/lib/php").glob("*/mbstring.so")):
        pytest.skip("no mbstring here")
    page, _ = said(tools, tmp_path, MATCHES, "php", suffix="php")
    assert re.search(r"churn execute_ex php\S* via mbstring\.so <- zend_execute makes", page), page


def test_r_has_a_call_that_names_its_functions(tools, tmp_path):
    page, data = said(tools, tmp_path, FRAMES, "R", "--no-save", "-s", "-f", suffix="R")
    told = [f for f in data["findings"] if "Rprofmem" in f["text"]]
    assert told == [first(data)] and first(data)["text"].endswith(
        "; to name the R functions behind it, call Rprofmem() in the script."), page


def test_java_is_its_machine_not_its_launcher(tools, tmp_path):
    page, data = said(tools, tmp_path, CLASSES, "java", suffix="java")
    assert "JavaMain" not in page.split("more:")[0] and "libjava.so" not in page, page
    held = next(f for f in data["findings"] if f["id"] == "runtime")["text"]
    assert re.match(r"java holds [\d.]+ MB \(\d+ % of the peak\) for what it runs, [\d.]+ MB of it in libjvm\.so",
                    held), held


CSHARP = "class W { static void Main() { System.Console.WriteLine(1); } }"


def test_mono_is_a_runtime(tools, tmp_path):
    """Its compiler, which is translated ahead of time: no wrapper of Mono's own names what that allocates."""
    compiler = Path("/usr/lib/mono/4.5/mcs.exe")
    if not compiler.exists():
        pytest.skip("no mcs here")
    page, data = said(tools, tmp_path, CSHARP, "mono", compiler, suffix="cs")
    assert all("monoeg_" not in f["text"] for f in data["findings"]) and "monoeg_" not in page.split("MEMORY")[0], page
    # Whether what Mono maps grew up to the end depends on how fast the machine is
    of_blocks = [f for f in data["findings"] if f["id"] != "mapped-growing"]
    assert re.match(r"Mono_CSharp_|IKVM_|mono-sgen holds ", of_blocks[0]["text"]), data["findings"]


LUA = "kept = {} for i = 1, 60000 do kept[i] = {id = i, name = 'x' .. i} end print(#kept)\n"
TCL = "for {set i 0} {$i < 60000} {incr i} {dict set kept $i \"name $i\"}; puts [dict size $kept]\n"
GUILE = "(define kept (map (lambda (i) (number->string (expt 7 i))) (iota 500)))(display (length kept))\n"
OCTAVE = "kept = {}; for i = 1:300, kept{i} = rand(40); end; disp(numel(kept))\n"
GJS = "const kept = []; for (let i = 0; i < 60000; i++) kept.push({i, name: 'x' + i}); print(kept.length);\n"


@pytest.mark.long
@pytest.mark.parametrize("command, suffix, script, named", [
    (["lua5.4"], "lua", LUA, r"lua\w+ lua5\.4\b"),
    (["tclsh"], "tcl", TCL, r"Tcl\w* libtcl[\d.]+so\b"),
    (["guile", "--no-auto-compile"], "scm", GUILE, r"scm_\w+ libguile-[\d.]+so\b"),
    (["octave-cli", "--no-init-file", "-q", "--no-history"], "m", OCTAVE, r"\S.*\(\) liboct\w+\.so\b"),
    (["gjs"], "js", GJS, r".+\(libmozjs-\d+\.so\.\d+\)|libgjs\.so\.\d+, no symbols via libmozjs-\d+\.so"),
], ids=lambda value: value[0] if isinstance(value, list) else "")
def test_an_interpreter_without_an_option_names_its_own_function(tools, tmp_path, command, suffix, script, named):
    """Of the function that holds most, and no advice that helps nobody: docs/findings.md."""
    _, data = said(tools, tmp_path, script, *command, suffix=suffix, **dict(os.environ, LC_ALL="C"))
    assert re.match(named, first(data)["text"]), data["findings"]
    assert not any("; to name the " in finding["text"] for finding in data["findings"])
