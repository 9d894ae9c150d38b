"""Includes point down: docs/architecture.md's table of levels, held to the letter.

A folder includes only lower levels, never a neighbour of its own. The recorder sees wire alone.
Of another folder it includes only the headers at its root: those in subfolders are private.
engine and trace touch no file descriptor; the engine knows no clock and no terminal either.
"""

import re
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"

LEVELS = [
    ["wire", "base"],
    ["sys", "trace", "elf", "formats", "recorder"],
    ["engine"],
    ["symbols", "injector", "runtimes"],
    ["collector", "session"],
    ["report", "export", "server", "web"],
    ["cli", "wasm"],
]
LEVEL = {folder: level for level, folders in enumerate(LEVELS) for folder in folders}
SEES_ONLY = {"recorder": {"wire"}}
REPLACES = "wasm/instead"  # has another one of what is private elsewhere: it includes its header

DESCRIPTORS = r"(unistd|fcntl|poll|dirent|spawn|termios|aio)\.h$|sys/"
FORBIDDEN = {"trace": DESCRIPTORS, "engine": DESCRIPTORS + r"|time\.h$|signal\.h$|pthread\.h$"}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)
FOLDERS = sorted(path.name for path in SRC.iterdir() if path.is_dir())


def may_see(folder, other):
    if other == folder:
        return True
    if folder in SEES_ONLY:
        return other in SEES_ONLY[folder]
    return LEVEL[other] < LEVEL[folder]


def sources(folder, src=SRC):
    return sorted(path for path in (src / folder).rglob("*") if path.suffix in (".c", ".h", ".S"))


def includes(path):
    """Pairs of the kind of quote and the name, in order."""
    return INCLUDE.findall(path.read_text())


def is_private(name):
    """Whether a header, named from src/ on, is in a subfolder of its folder."""
    return name.count("/") > 1


def complaints(folder, src=SRC):
    for path in sources(folder, src):
        shown = path.relative_to(src)
        for quote, name in includes(path):
            first = name.split("/")[0]
            if quote == "<":
                if re.match(FORBIDDEN.get(folder, "$."), name):
                    yield f"{shown}: <{name}>: {folder} touches no file, clock or terminal"
                elif first in LEVEL and (src / name).exists():
                    yield f"{shown}: <{name}>: headers of the project are included with quotes"
            elif first in LEVEL and "/" in name:
                if not (src / name).exists():
                    yield f'{shown}: "{name}" does not exist'
                elif not may_see(folder, first):
                    yield f'{shown}: "{name}": {folder} (level {LEVEL[folder]}) may not know ' \
                        f"{first} (level {LEVEL[first]})"
                elif first != folder and is_private(name) and path.parent != src / REPLACES:
                    yield f'{shown}: "{name}" is private to {first}: include a header at its root'
            elif not list((src / folder).rglob(name)) or ".." in name:
                yield f'{shown}: "{name}": say it from src/ on: "folder/header.h"'


@pytest.mark.parametrize("folder", FOLDERS)
def test_includes_point_down(folder):
    assert folder in LEVEL, f"src/{folder} has no level; see docs/architecture.md"
    assert not list(complaints(folder))


def test_private_header_is_found(tmp_path):
    planted = {
        "engine/lens.h": "",
        "engine/lens/match.h": "",
        "engine/lens/lens.c": '#include "engine/lens.h"\n#include "engine/lens/match.h"\n',
        "cli/print.c": '#include "engine/lens.h"\n#include <sys/stat.h>\n',
        "cli/rooms/show.c": '#include "engine/lens/match.h"\n',
    }
    for name, text in planted.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert not list(complaints("engine", tmp_path))
    found = 'cli/rooms/show.c: "engine/lens/match.h" is private to engine: include a header at its root'
    assert list(complaints("cli", tmp_path)) == [found]


@pytest.mark.parametrize("folder", FOLDERS)
def test_own_header_comes_first(folder):
    for path in sources(folder):
        own = path.with_suffix(".h")
        if path.suffix == ".c" and own.exists():
            first = includes(path)[0][1] if includes(path) else "nothing"
            assert (SRC / first).resolve() == own or (path.parent / first).resolve() == own, \
                f"{path.relative_to(SRC)} includes {first} before its own header"


@pytest.mark.parametrize("folder", FOLDERS)
def test_build_links_only_what_may_be_seen(folder):
    build = SRC / folder / "meson.build"
    if not build.exists():
        return
    text = re.sub(r"#.*", "", build.read_text())
    for other in set(re.findall(r"\b(\w+)_dep\b", text)) & set(LEVEL):
        assert may_see(folder, other), f"src/{folder}/meson.build links {other}"
