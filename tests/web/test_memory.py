"""The page's view of resident memory says what --memory says, of every look."""

import base64
import re
import struct
import zlib

import pytest

from control_groups import control_group

WORDS = {"heap_live": "live blocks", "heap_rounding": "rounded up by malloc", "heap_free": "free, kept by malloc",
         "heap_partly_free": "free between live blocks", "mapped": "mapped", "stacks": "stacks", "shared": "shared memory",
         "modules_written": "data of modules", "files": "code and files", "ours": "heaptrack itself",
         "unknown": "owner not known", "allocator_tables": "malloc's own tables"}
LAYERS = ["live blocks", "malloc's own", "mapped and shared", "modules, files, stacks", "not known"]
PROGRAM = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *volatile kept, *volatile shared, *volatile mapped, *volatile some[9000];
__attribute__((noinline)) char *map_cache(size_t n) {
	return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
__attribute__((noinline)) char *share(size_t n) {
	return mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
__attribute__((noinline)) char *reserve(size_t n) { return malloc(n); }
int main(void) {
	mapped = map_cache(24 << 20);
	memset(mapped, 1, 24 << 20);
	for (int i = 0; i < 9000; i++) { some[i] = malloc(2000); memset(some[i], 1, 2000); }
	usleep(600000);
	shared = share(6 << 20);
	memset(shared, 1, 6 << 20);
	kept = reserve(40 << 20);
	memset(kept, 1, 4 << 20);
	for (int i = 0; i < 8990; i++) { free(some[i]); }
	munmap(mapped, 24 << 20);
	return 0;
}
"""


def value(text):
    number, unit = text.split(" ")
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def is_rounded(text, exact):
    """What the page says, to its last digit."""
    return abs(value(text) - exact) <= max(0.5, 0.051 * 10 ** (3 * ["B", "kB", "MB", "GB"].index(text.split(" ")[1])))


@pytest.fixture(name="recording")
def fixture_recording(tools, tmp_path):
    source, program = tmp_path / "memory.c", tmp_path / "memory"
    source.write_text(PROGRAM)
    assert tools.run("gcc", "-g", "-O1", "-fno-builtin", "-o", program, source).status == 0
    for _ in range(10):  # beside load the end may be missed
        recording = tools.record(program, options=("--force",))
        if recording.json("--memory")["looks"][-1]["at"] == "end":
            break
    recording.program = program
    return recording


def test_a_control_group_with_a_limit_is_told(recording, browse, tools, tmp_path):
    page = tmp_path / "page.html"
    with control_group(512 << 20) as group:
        limited = tools.record("sh", "-c", f"echo $$ > {group}/cgroup.procs; exec {recording.program}", options=("--force",))
    looks = limited.json("--memory")["looks"]
    assert any(look["control_group"] for look in looks), looks
    tools.run(tools.heaptrack_print, "--html", page, limited.file)
    for seen, look in zip(browse("memory.mjs", page.as_uri())["looks"], looks, strict=True):
        said = re.search(r"The control group used ([\d.]+ .?B) of 536\.9 MB", seen["remarks"])
        assert bool(said) == bool(look["control_group"]), (seen, look)
        assert not said or is_rounded(said[1], look["control_group"]["used_bytes"])


def test_every_look_is_the_reports(recording, browse, tools, tmp_path):
    page = tmp_path / "page.html"
    tools.run(tools.heaptrack_print, "--html", page, recording.file)
    seen = browse("memory.mjs", page.as_uri())
    looks = recording.json("--memory")["looks"]
    assert seen["wrong"] == [] and len(seen["looks"]) == len(looks) >= 2
    assert seen["shown"].startswith("RSS was") and "a peak of RSS" in seen["shown"]
    layers = [{"heap_live"}, {"heap_rounding", "heap_free", "heap_partly_free", "allocator_tables"}, {"mapped", "shared"},
              {"stacks", "modules_written", "files", "ours"}, {"unknown"}]
    assert len(seen["overTime"]) == (len(looks) if len(looks) > 2 else 0)
    for row, look in zip(seen["overTime"], looks):
        exact = [sum(part["bytes"] for part in look["parts"] if part["id"] in layer) for layer in layers]
        assert all(map(is_rounded, row[1:], [look["rss_bytes"], *exact])), (row, exact)
    if seen["hasHistory"]:
        assert seen["picked"] == [seen["looks"][0]["title"], seen["looks"][-1]["title"]], "the look that was clicked"
        lowest = next(word for word, n in zip(LAYERS, exact) if n > looks[-1]["rss_bytes"] / 50)
        assert re.search(rf"· {lowest} [\d.]+ .?B", seen["hovered"]), seen["hovered"]
    for said, look in zip(seen["looks"], looks):
        assert is_rounded(re.match(r"RSS was (\S+ \S+) at ", said["title"])[1], look["rss_bytes"])
        assert [row[0] for row in said["parts"]] == [WORDS[part["id"]] for part in look["parts"]]
        for row, part in zip(said["parts"], look["parts"]):
            assert is_rounded(row[2], part["bytes"]), (row, part["bytes"])
            assert row[3] == "< 0.1 %" or abs(float(row[3].split()[0]) - 100 * part["bytes"] / look["rss_bytes"]) <= 0.51
        # Those of one function and line are one row
        rows = {row[0]: row[1:] for row in said["untouched"]}
        assert len(rows) == len(said["untouched"]) < 20
        assert sum(int(row[0].replace(",", "")) for row in rows.values()) == sum(s["blocks"] for s in look["untouched"])
        for site in look["untouched"]:
            if site["stack"][0]["function"] == "reserve":
                blocks, *figures = rows["reserve memory.c:14"]
                exact = [site["asked_bytes"], site["resident_bytes"], site["asked_bytes"] - site["resident_bytes"]]
                assert int(blocks) == site["blocks"] and all(map(is_rounded, figures, exact)), (blocks, figures, site)
        assert len(said["arenas"]) == len(look["arenas"])
        for row, arena in zip(said["arenas"], look["arenas"]):
            assert row[0] == arena["name"] and is_rounded(row[2], sum(arena["bytes_by_fullness"])), (row, arena)
    assert [row[0] for row in seen["looks"][-1]["arenas"]][:2] == ["main arena", "large blocks"]
    peak, end = seen["looks"][0], seen["looks"][-1]
    assert peak["owners"]["mapped"][0][:2] == ["map_cache", "memory.c:9"], peak["owners"]
    assert end["owners"]["shared memory"][0][:2] == ["share", "memory.c:12"], end["owners"]
    assert end["untouched"][0][:2] == ["reserve memory.c:14", "1"]
    assert "None was taken in the selected range." in seen["without"]
    assert re.search(r"\(look at [\d.]+ m?s\)", seen["chips"]), seen["chips"]


def first_part(page):
    """Of the page's profile: docs/page-format.md."""
    text = re.search(r'id="profile">([^<]*)<', page.read_text(encoding="utf-8"))[1]
    raw = base64.b64decode(text)
    _, packed = struct.unpack_from("<QQ", raw, 12)
    return zlib.decompress(raw[28:28 + packed], -15)


def test_a_page_for_others_names_no_folder(recording, tools, tmp_path):
    whole, redacted = tmp_path / "whole.html", tmp_path / "redacted.html"
    tools.run(tools.heaptrack_print, "--html", whole, recording.file)
    tools.run(tools.heaptrack_print, "--redact", "--html", redacted, recording.file)
    assert str(tmp_path).encode() in first_part(whole)
    assert str(tmp_path).encode() not in first_part(redacted) and b"map_cache" in first_part(redacted)
