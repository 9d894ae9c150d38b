"""Lists credit whom a finding names: the user's own frame, not the wrapper or the runtime under it."""

import re
import shutil
import subprocess

import pytest

LIB = """
mod accounts;
pub struct Ledger { entries: Vec<Box<accounts::Entry>> }
impl Ledger {
    pub fn new() -> Self { Ledger { entries: Vec::new() } }
    pub fn post(&mut self, n: usize, text: &str) { self.entries.push(accounts::make(n, text)); }
}
"""
ACCOUNTS = """
pub struct Entry { pub n: usize, pub text: String }
#[inline(never)]
pub fn make(n: usize, text: &str) -> Box<Entry> { Box::new(Entry { n, text: text.to_string() }) }
"""
STORE = """
use std::collections::HashMap;
#[inline(never)]
pub fn fill(n: usize) -> HashMap<usize, Vec<u8>> { (0..n).map(|i| (i, vec![0u8; 100])).collect() }
"""
BOOKS = """
fn main() {
    let mut l = ledger::Ledger::new();
    for i in 0..2000 { l.post(i, "an entry of some length"); }
    let kept = store::fill(1000);
    println!("{} {}", kept.len(), std::mem::size_of_val(&l));
}
"""
CPP = r"""
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include <pthread.h>
template <class T> struct Pool {
    std::vector<std::unique_ptr<T>> items;
    __attribute__((noinline)) void add(int n) { for (int i = 0; i < n; i++) { items.push_back(std::make_unique<T>()); } }
};
struct Small { char bytes[50]; };
struct Large { char bytes[3000]; };
template <class T> __attribute__((noinline)) void work(int n) { auto *p = new Pool<T>; p->add(n); }
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([] { pthread_setname_np(pthread_self(), "worker"); work<Small>(100); });
    }
    for (auto &t : threads) { t.join(); }
    work<Large>(20);
}
"""


SITE = "Pool<Small>::add(int)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lists")


def recorded(build, folder, program):
    from conftest import Tools
    tools = Tools(build, folder)
    recording = tools.record(program)
    tools.finish()
    assert recording.status == 0, repr(recording)
    return recording


@pytest.fixture(scope="module")
def books(build, folder):
    rustc = shutil.which("rustc")
    if not rustc:
        pytest.skip("rustc is not installed")
    for path, text in (("ledger/mod.rs", LIB), ("ledger/accounts/mod.rs", ACCOUNTS),
                       ("store/lib.rs", STORE), ("books.rs", BOOKS)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    flags = ["--edition=2021", "-g", "-O", "--out-dir", folder, "-L", folder]
    for name, path in (("ledger", "ledger/mod.rs"), ("store", "store/lib.rs")):
        subprocess.run([rustc, *flags, "--crate-type=rlib", "--crate-name", name, folder / path],
                       check=True, timeout=300)
    subprocess.run([rustc, *flags, "--extern", "ledger", "--extern", "store", folder / "books.rs"],
                   check=True, timeout=300)
    return recorded(build, folder, folder / "books")


@pytest.fixture(scope="module")
def pools(build, folder):
    (folder / "pools.cpp").write_text(CPP)
    subprocess.run(["g++", "-g", "-O1", "-pthread", "-o", folder / "pools", folder / "pools.cpp"],
                   check=True, timeout=300)
    return recorded(build, folder, folder / "pools")


def own_bytes(recording, what, lens="m=bytes"):
    said = recording.json("--by", what, "--lens", lens)
    own = {f[what]: f["own"]["allocated_bytes"] for f in said["functions"]}
    assert sum(own.values()) == said["totals"]["allocated_bytes"]
    assert all(f["own"][c] <= f[c] for f in said["functions"] for c in ("bytes", "blocks"))
    weights = [f["own"]["allocated_bytes"] for f in said["functions"]]
    assert weights == sorted(weights, reverse=True)
    return own


def test_crates_are_credited_with_what_they_ask_for(books):
    own = own_bytes(books, "package")
    assert own["ledger"] > 2000 * (23 + 32) and own["store"] > 1000 * 100, own
    assert own["books"] < 20_000 and not own.get("core") and not own.get("alloc"), own
    assert not any(name.endswith(".rs") for name in own), own
    assert not own.get("hashbrown") and not own.get("std"), own


def test_files_are_credited_with_what_they_ask_for(books, folder):
    own = own_bytes(books, "file")
    files = [name.removeprefix(f"{folder}/") for name in list(own)[:3]]
    assert set(files[:2]) == {"ledger/accounts/mod.rs", "store/lib.rs"}, own
    text = books.report("--by", "file", "--lens", "m=bytes").splitlines()
    assert re.match(r" +\d.* /.*store/lib.rs$", text[5]) or text[5].endswith("mod.rs"), text
    assert not any("unknown" in line for line in text), text


def test_the_own_costs_of_functions_are_those_of_sites(pools):
    said = pools.json("--by", "function")
    sites = pools.json("--by", "site")["parts"]
    own = {f["function"]: f["own"]["bytes"] for f in said["functions"]}
    for site in sites:  # those of a runtime are named after its library, which is no function
        assert site["function"].endswith(".so.6") or own[site["function"]] == site["bytes"], site
    assert sum(own.values()) == said["totals"]["bytes"]
    assert any(name.startswith("Pool<Small>::add") for name in own), own


def test_unfolded_the_own_costs_are_those_of_innermost_functions(pools):
    said = pools.json("--by", "function", "--lens", "fold=0")
    own = {f["function"]: f["own"]["bytes"] for f in said["functions"]}
    assert sum(own.values()) == said["totals"]["bytes"]
    assert own.get("operator new(unsigned long)", own.get("malloc", 0)) > said["totals"]["bytes"] // 2
    assert not any(own[name] for name in own if name.startswith("Pool<")), own


def test_threads_of_one_name_are_counted_and_told_apart(pools):
    named = {p["label"]: p for p in pools.json("--by", "thread", "--lens", "m=bytes")["parts"]}
    assert named["worker"]["threads"] == 4 and named["pools"]["threads"] == 1, named
    text = pools.report("--by", "thread", "--lens", "m=bytes")
    assert "  worker (4 threads)\n" in text, text
    apart = pools.json("--by", "tid", "--lens", "m=bytes")["parts"]
    workers = [p for p in apart if p["label"] == "worker"]
    assert len(workers) == 4 and len({p["tid"] for p in workers}) == 4, apart
    assert sum(p["bytes"] for p in workers) == named["worker"]["bytes"]
    assert re.search(rf"  worker \({workers[0]['tid']}\)\n",
                     pools.report("--by", "tid", "--lens", "m=bytes"))


def test_stacks_that_look_alike_are_one(pools):
    text = pools.report("--stacks", SITE, "--lens", "m=bytes")
    assert re.search(r"\n\n[^\n]*  4 stacks alike\n", text), text
    shown = [part.split("\n", 1)[1].strip("\n") for part in text.split("\n\n")[2:]]
    assert len(shown) == len(set(shown)) > 1, text
    apart = len(pools.json("--stacks", SITE, "--lens", "m=bytes")["stacks"])
    counts = [int(n) for n in re.findall(r"(\d+) stacks alike", text)]
    assert f"{apart} stacks of {SITE}" in text and sum(counts) + len(shown) - len(counts) == apart


@pytest.mark.parametrize("lens, head", [
    ("m=peak", "% of peak"), ("m=never-freed", "% of never freed"),
    ("m=allocations", "% of allocations"), ("m=bytes", "% of allocated"),
    ("m=bytes&q=work", "% of lens")])
def test_shares_say_what_they_are_of(pools, lens, head):
    for view in (["--tree"], ["--by", "file"], ["--by", "thread"], ["--stacks", ""]):
        lines = pools.report(*view, "--lens", lens).splitlines()
        titles = [line for line in lines if line.lstrip().startswith("bytes ")]
        assert titles and all(f" {head} " in line for line in titles), (view, lines)
