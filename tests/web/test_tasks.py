"""What a person can do with the page, in Debian's Chromium, from the file system."""

import base64
import json
import os
import shutil
import signal
import subprocess
import time
import zlib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(500)
LOOKS = [{"theme": "light", "width": 1440, "height": 900},
         {"theme": "dark", "width": 1024, "height": 700}]
MORE_LOOKS = [{"theme": "dark", "width": 1440, "height": 900},
              {"theme": "light", "width": 1024, "height": 700}]


@pytest.fixture(params=LOOKS + MORE_LOOKS, ids=lambda look: f"{look['theme']}-{look['width']}")
def look(request, is_long):
    if request.param in MORE_LOOKS and not is_long:
        pytest.skip("long: run with --long")
    return request.param


DEMO_TASKS = ["peak_owner", "leak", "range_of_peak", "drag_range", "kept", "callers", "unfold",
              "source", "link", "all_views", "keyboard_only"]


@pytest.fixture(scope="session")
def do(web, pages):
    """do(task, page, look, **options): what the person saw. Nothing may go wrong on the way.

    All tasks of the demo are done by one browser, one after the other, when the first is asked for.
    """
    done = {}

    def run(task, page, look, **options):
        is_of_demo = task in DEMO_TASKS and "real" not in options
        names = DEMO_TASKS if is_of_demo else [task]
        key = (str(page), json.dumps(look), names[0])
        if key not in done:
            asked = subprocess.run(
                ["node", HERE / "tasks.mjs", web, f"file://{page}", ",".join(names),
                 json.dumps({**look, "folder": str(pages.folder), **options})],
                capture_output=True, text=True, timeout=400, check=False)
            assert asked.returncode == 0, asked.stderr[-3000:]
            done[key] = json.loads(asked.stdout)
        seen = done[key][task]
        assert not seen["wrong"], seen["wrong"]
        assert not seen["foreign"], seen["foreign"]
        assert seen["requests"] == 1, "the page alone"
        return seen
    return run


@pytest.fixture(scope="session")
def demo(pages):
    recording, _ = pages.demo()
    return recording, pages.page_of(recording, pages.folder / "with-source.html", "--with-source")


def ask(build, recording, lens):
    words = "&".join(word for word in lens.split("&")
                     if word.split("=")[0] in ("m", "t", "q", "focus", "hide", "fold", "threads", "group"))
    return json.loads(subprocess.run(
        [build / "heaptrack_print", "--json", "--tree", "--lens", words, recording],
        capture_output=True, check=True, timeout=60).stdout)


def human(n):
    for unit in ("B", "kB", "MB", "GB"):
        if n < (1000 if unit == "B" else 999.95) or unit == "GB":
            return f"{n} B" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000
    return None


def test_say_who_owns_the_peak(do, demo, look):
    seen = do("peak_owner", demo[1], look)
    assert "spike()" in seen["text"] and "%" in seen["text"] and seen["isOnScreen"]


def test_say_what_leaks_and_how_fast(do, demo, look):
    text = do("leak", demo[1], look)["text"]
    assert "leakyParse" in text and "1,000 of 1,500" in text and "kB/s" in text


@pytest.mark.parametrize("task", ["range_of_peak", "drag_range", "kept"])
def test_see_a_range_of_time(do, demo, build, look, task):
    seen = do(task, demo[1], look)
    assert "t=" in seen["lens"]
    asked = ask(build, demo[0], seen["lens"])
    assert f"demo, {human(asked['totals']['bytes'])}, 100 %" in seen["total"], seen
    assert ("m=kept" in seen["lens"]) == (task == "kept")


def test_find_all_paths_into_a_function(do, demo, build, look):
    seen = do("callers", demo[1], look)
    of = {row.split("\n")[0].strip(): row for row in seen["callers"]}
    assert "parseConfig()" in of and "main" in of, seen
    total = human(ask(build, demo[0], "focus=leakyParse")["totals"]["bytes"])
    assert total in of["parseConfig()"] and total in of["leakyParse()"], seen
    assert total in seen["callees"][1], seen


def test_unfold_one_run_of_library_frames(do, demo, look):
    seen = do("unfold", demo[1], look)
    assert "+3" in seen["folded"] and "+3" not in seen["unfolded"], seen
    assert seen["before"] == seen["after"]


def test_read_the_line_of_a_leak_in_two_actions(do, demo, look):
    assert "new char[512 + line % 64]" in do("source", demo[1], look)["source"]


def test_send_the_exact_view(do, demo, look):
    seen = do("link", demo[1], look)
    assert seen["isSame"] and "m=never-freed" in seen["lens"] and "fold=0" in seen["lens"]


def test_use_every_view_without_a_network(do, demo, look):
    seen = do("all_views", demo[1], look)["seen"]
    assert len(seen) == 8 and all(length > 40 for length in seen.values()), seen


def test_do_it_all_by_keyboard(do, demo, look):
    seen = do("keyboard_only", demo[1], look)
    assert "spike()" in seen["peak"]
    assert any(box.startswith("spike()") for box in seen["walked"]), seen["walked"]
    assert "m=kept" in seen["kept"] and "t=" in seen["kept"]
    assert "parseConfig()" in seen["callers"]
    assert "new char[512" in seen["source"]
    assert "Bottom-up" in seen["help"] and seen["heading"] == "Threads"


PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>
static void *kept[200];
__attribute__((noinline)) void *old_site(int i) { return kept[i] = malloc(1000); }
__attribute__((noinline)) void *new_site(int i) { return kept[i] = malloc(50000); }
int main(int argc, char **argv) {
	for (int i = 0; i < 100; i++) { old_site(i); }
	if (argc > 1) { for (int i = 100; i < 200; i++) { new_site(i); } }
	if (argc > 2) { pause(); }
	return kept[0] == argv[0];
}
"""


@pytest.fixture(scope="session")
def program(pages):
    source, out = pages.folder / "program.c", pages.folder / "program"
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-O1", "-o", out, source], check=True)
    return out


def test_compare_two_recordings_and_name_the_new_site(do, pages, program, look):
    _, before = pages("before", program)
    _, after = pages("after", program, "more")
    rows = do("compare", after, look, other=str(before))["rows"]
    assert "new_site" in rows[1] and "new" in rows[1].split() and "+5.0 MB" in rows[1], rows
    assert not any("old_site" in row for row in rows)


def test_understand_an_empty_recording(do, pages, look):
    source, out = pages.folder / "empty.c", pages.folder / "empty"
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-o", out, source], check=True)
    text = do("whole_text", pages("empty", out)[1], look)["text"]
    assert "The recorder saw no allocation" in text and "statically" in text


def test_understand_a_killed_recording(do, pages, program, build, look):
    recording, page = pages.folder / "killed.zst", pages.folder / "killed.html"
    if not page.exists():
        heaptrack = subprocess.Popen([build / "heaptrack", "-o", recording, program, "more", "wait"],
                                     stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        child = None
        while time.monotonic() < deadline and not child:
            for pid in Path(f"/proc/{heaptrack.pid}/task/{heaptrack.pid}/children").read_text().split():
                if os.readlink(f"/proc/{pid}/exe") == str(program.resolve()):
                    child = int(pid)
            time.sleep(0.05)
        time.sleep(0.5)
        os.kill(child, signal.SIGKILL)
        heaptrack.wait(60)
        pages.page_of(recording, page)
    text = do("whole_text", page, look)["text"]
    assert "ended by signal 9" in text and "alive at that moment" in text


def test_understand_a_stripped_recording(do, pages, program, look):
    stripped = pages.folder / "stripped"
    if not stripped.exists():
        subprocess.run(["strip", "-o", stripped, program], check=True)
    text = do("whole_text", pages("stripped", stripped)[1], look)["text"]
    assert "stripped+0x" in text and "without names" in text


def test_read_it_without_scripts(demo):
    html = Path(demo[1]).read_text()
    assert "total memory leaked" in html[html.index("<pre>"):html.index("</pre>")]


def test_redacted_page_tells_no_path(demo, pages):
    page = pages.page_of(demo[0], pages.folder / "redacted.html", "--redact").read_text()
    blob = base64.b64decode(page.split('id="profile">')[1].split("</script>")[0])
    body = zlib.decompress(blob[20:], -15)
    for path in (b"/tests/victims", str(pages.folder).encode(), os.uname().nodename.encode() + b'"'):
        assert path not in body and path.decode() not in page, path
    assert b"demo.cpp" in body and b"_ZL" not in body


def test_limit_is_kept_and_said(demo, pages, do):
    whole = pages.page_of(demo[0], pages.folder / "whole.html").stat().st_size
    limit = whole - 500
    page = pages.page_of(demo[0], pages.folder / "limited.html", "--html-limit", str(limit))
    assert page.stat().st_size <= limit
    text = do("whole_text", page, LOOKS[0])["text"]
    assert "To keep this file small" in text and "37." in text


CPP = "#include <map>\n#include <string>\n#include <vector>\n" \
    "int main() { std::map<std::string, std::vector<int>> m; m[\"a\"].push_back(1); return 0; }\n"


def real_program(name, pages):
    """The command that records it; None: this machine lacks it."""
    source = pages.folder / "real.cpp"
    source.write_text(CPP)
    commands = {
        "clang++": ["clang++", "-c", "-O2", source, "-o", pages.folder / "real.o"],
        "node": ["node", "-e", "let a = []; for (let i = 0; i < 50000; i++) a.push({i, s: String(i)})"],
        "python3": ["/usr/bin/python3", "-c", "import ast, json; ast.parse(open(ast.__file__).read())"],
    }
    return commands[name] if shutil.which(commands[name][0]) else None


@pytest.mark.parametrize("name", ["clang++", "node", "python3", "kde"])
def test_look_at_a_real_recording(name, do, pages, build):
    if name == "kde":
        if not shutil.which("/usr/bin/heaptrack"):
            pytest.skip("KDE's heaptrack is not installed")
        subprocess.run(["/usr/bin/heaptrack", "-o", pages.folder / "kde",
                        build / "tests/victims/demo"], capture_output=True, timeout=120, check=True)
        recording = next(path for path in pages.folder.glob("kde.*") if path.suffix in (".gz", ".zst"))
        page = pages.page_of(recording, pages.folder / "kde.html")
    else:
        command = real_program(name, pages)
        if not command:
            pytest.skip(f"{name} is not installed")
        recording, page = pages(name, *command)
    peak = ask(build, recording, "")["totals"]["bytes"]
    assert human(peak) in do("whole_text", page, LOOKS[0])["text"]
    seen = do("all_views", page, LOOKS[0], real=True)["seen"]
    assert len(seen) == 8 and all(length > 40 for length in seen.values()), seen
