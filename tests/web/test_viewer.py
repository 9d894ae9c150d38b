"""The page that opens any recording: its engine answers as the program does, whatever it is given."""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CORPUS = HERE.parent / "fuzz/corpus"
FOREIGN = ["dhat/small", "folded/two", "heap_dump/gperftools", "heap_dump/jemalloc", "heap_dump/tcmalloc",
           "heaptrack/raw", "heaptrack/v0", "heaptrack/v2", "heaptrack/v3", "massif/small", "pprof/small",
           "v8_heap_profile/small"]
GOLDEN = ["trace-v1/finished", "trace-v1/growing", "trace-v1-note/finished", "trace-v1-note/growing"]


@pytest.fixture(scope="session")
def engine(build, web):
    module = build / "src/wasm/engine.wasm"
    if not module.exists():
        pytest.skip("built without the engine for browsers (-Dviewer=enabled)")
    return module


@pytest.fixture(scope="session")
def viewer(build, engine, pages):
    return pages.once("viewer.html", lambda out: subprocess.run(
        [build / "heaptrack_print", "--viewer", out], check=True, timeout=60))


@pytest.fixture(scope="session")
def opened(web, engine, pages):
    """opened(word, ...): what opened.mjs prints of these files."""
    module = pages.once("module.mjs", lambda out: subprocess.run(
        [web / "node_modules/.bin/esbuild", web / "src/viewer/module.ts", "--bundle", "--format=esm",
         f"--outfile={out}", "--log-level=warning"], check=True, timeout=120))

    def run(*words):
        done = subprocess.run(["node", HERE / "opened.mjs", module, engine, *map(str, words)], check=False,
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout)
    return run


@pytest.fixture
def is_same(build, opened, tmp_path):
    """is_same(file): the engine makes the profile that the program writes into its page, to the byte."""
    def check(file):
        page = tmp_path / "page.html"
        subprocess.run([build / "heaptrack_print", "--html", page, file], check=True, timeout=300)
        here, there = opened(file, page)
        assert here.get("parts") == there["parts"], here
    return check


@pytest.mark.parametrize("name", FOREIGN)
def test_same_of_other_tools(is_same, name):
    is_same(CORPUS / name)


@pytest.mark.parametrize("name", GOLDEN)
def test_same_of_old_recordings(is_same, name):
    is_same(HERE.parent / f"golden/{name}.zst")


@pytest.mark.parametrize("name", ["demo", "python3", "node", "kde", "killed", "empty", "stripped", "massif",
                                  "threads", "attached", "forked", "events", "pprof", "cc1plus"])
def test_same_of_recordings(is_same, pages, name):
    is_same(pages.recording(name))


def test_packed_files_are_unpacked(opened, tmp_path):
    plain = (CORPUS / "massif/small").read_bytes()
    files = {"plain": plain, "gz": gzip.compress(plain),
             "members": gzip.compress(plain[:500]) + gzip.compress(plain[500:])}
    if shutil.which("zstd"):
        files["zst"] = subprocess.run(["zstd", "-qc"], input=plain, capture_output=True, check=True).stdout
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    parts = [answer.get("parts", answer) for answer in opened(*(tmp_path / name for name in files))]
    assert all(part == parts[0] for part in parts), parts


@pytest.mark.parametrize("bytes_less", [9, 12, 40, 90])
def test_cut_file_is_marked(opened, build, tmp_path, bytes_less):
    """KDE's files hold up to where they are cut; the page says of it what the program does."""
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress((CORPUS / "heaptrack/v3").read_bytes())[:-bytes_less])
    subprocess.run([build / "heaptrack_print", "--html", tmp_path / "cut.html", cut], timeout=60, check=True)
    here, there = opened(cut, tmp_path / "cut.html")
    assert here["quality"] == there["quality"] and here["quality"], (here, there)


def test_damaged_files_end_in_a_sentence(opened, pages, is_long):
    files = [CORPUS / name for name in FOREIGN] + [HERE.parent / f"golden/{name}.zst" for name in GOLDEN]
    counts = opened("--mutants", 400 if is_long else 30, 21, *files, pages.recording("demo"))
    assert len(counts) == len(files) + 1
    for count in counts:
        assert not count["broken"], count
    assert sum(count["opened"] for count in counts) > 0 < sum(count["refused"] for count in counts)


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_in_a_browser(viewer, browse, pages, tmp_path, browser):
    if browser == "firefox" and not shutil.which("firefox-esr"):
        pytest.skip("firefox-esr is not installed")
    bad = tmp_path / "notes.txt"
    bad.write_text("no recording\n")
    second = pages.recording("before") if browser == "chromium" else pages.page("before")
    seen = browse("viewer.mjs", f"file://{viewer}", bad, pages.recording("demo"), second,
                  f"file://{pages.page('demo')}", tmp_path / "saved.html", browser)
    assert not seen["wrong"] and not seen["requests"], seen
    assert seen["refused"] == "notes.txt: the file is not a heaptrack recording, nor of another supported format"
    assert seen["title"] == "demo.zst · heaptrack"
    assert seen["overview"] == seen["expected"]
    if browser == "chromium":  # what is saved is a page of the recording, without what opened it
        assert seen["savedAs"] == "demo.zst.html" and seen["saved"] == seen["expected"]
        assert seen["parts"] == 0
    assert seen["compared"].startswith(f"Before ({second.name}) and now (demo)"), seen["compared"]


def test_says_why_it_cannot_open_a_file(viewer, browse, pages, tmp_path):
    large = tmp_path / "large.zst"
    with large.open("wb") as out:
        out.truncate(1_600_000_000)
    seen = browse("refused.mjs", f"file://{viewer}", large, pages.recording("before"))
    assert "larger than a browser can hold (1.5 GB)" in seen["large"] and "--html-limit" in seen["large"]
    assert "no Worker;" in seen["workers"] and "no WebAssembly;" in seen["wasm"], seen
    assert "It needs scripts and WebAssembly" in seen["scripts"]


def test_what_stands_there_without_scripts_is_true(viewer):
    """The page of a recording has its report as text; this one has none, and announces none."""
    plain = re.search(r'<main id="plain">(.*?)</main>', viewer.read_text("latin-1"), re.DOTALL)[1]
    assert "needs scripts and WebAssembly" in plain and "report" not in plain


def test_it_may_ask_nobody(viewer):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', viewer.read_text(encoding="utf-8"))[1]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    assert "'wasm-unsafe-eval'" in rules["script-src"] and "unsafe-inline" not in policy


def test_a_page_of_a_recording_holds_no_engine(pages, engine):
    page = pages.page("demo").read_text(encoding="utf-8")
    assert 'id="engine"' not in page and "wasm" not in page.split("</head>")[0] and "@@" not in page


def test_it_takes_no_recording(build, pages, tmp_path):
    done = subprocess.run([build / "heaptrack_print", "--viewer", tmp_path / "v.html", pages.recording("demo")],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "--viewer takes no recording" in done.stderr
    assert not (tmp_path / "v.html").exists()
