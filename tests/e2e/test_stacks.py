"""Stacks of real programs, captured as the recorder does and compared with libunwind's.

tests/differential/sampler.c, preloaded, captures at every allocation and compares every 17th.
"""

import re
import shutil
import subprocess

import pytest

JAVASCRIPT = """
let a = [];
for (let i = 0; i < 100000; i++) a.push({x: i, s: "q" + i});
JSON.parse(JSON.stringify(a));
require("zlib").gzipSync(Buffer.alloc(1e6));
for (let i = 0; i < 300; i++) new RegExp("a+b" + i).exec("aab" + i);
"""
pytestmark = pytest.mark.timeout(600)  # libunwind is slow, and so may be the machine

PYTHON = "import json; json.loads(json.dumps([{str(i): [i] * 3} for i in range(20000)]))"
CPP = '#include <regex>\nbool f(const char *s) { return std::regex_match(s, std::regex("a+b")); }\n'
RUST = """
use std::collections::HashMap;
fn main() {
    let mut m: HashMap<String, Vec<String>> = HashMap::new();
    for i in 0..100000 { m.entry(format!("k{}", i % 5000)).or_default().push(format!("{}", i)); }
    println!("{}", m.len());
}
"""


@pytest.fixture
def sample(build, tmp_path):
    """Run a command with the sampler. The most captures that one of its processes made."""
    sampler = build / "tests" / "differential" / "sampler.so"
    if not sampler.exists():
        pytest.skip("the sampler is not built")

    def run(*command, **env):
        program = shutil.which(command[0])
        if program is None:
            pytest.skip(f"no {command[0]} here")
        log = tmp_path / "log"
        subprocess.run(["env", f"LD_PRELOAD={sampler}", f"SAMPLER_LOG={log}",
                        *(f"{name}={value}" for name, value in env.items()),
                        program, *command[1:]],
                       check=True, stdout=subprocess.DEVNULL, cwd=tmp_path, timeout=500)
        text = log.read_text()
        lines = re.findall(r"^(\d+) captures, (\d+) compared, (\d+) differ", text, re.M)
        assert lines and all(int(differ) == 0 for _, _, differ in lines), text
        return max(int(compared) for _, compared, _ in lines)

    return run


def test_node(sample):
    assert sample("node", "-e", JAVASCRIPT) > 1000


def test_python(sample):
    assert sample("python3", "-c", PYTHON, PYTHONMALLOC="malloc") > 10000


def test_perl(sample):
    assert sample("perl", "-e", 'my %h; $h{$_} = [$_, "x$_"] for 1 .. 50000;') > 5000


def test_clang(sample, tmp_path):
    (tmp_path / "regex.cpp").write_text(CPP)
    assert sample("clang++", "-O2", "-c", "regex.cpp", "-o", "regex.o") > 20000


def test_rust(sample, tmp_path):
    (tmp_path / "map.rs").write_text(RUST)
    if shutil.which("rustc") is None:
        pytest.skip("no rustc here")
    subprocess.run(["rustc", "-O", "map.rs", "-o", "map"], check=True, cwd=tmp_path, timeout=100)
    assert sample(str(tmp_path / "map")) > 5000
