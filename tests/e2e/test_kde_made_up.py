"""Files made up by a seed: every figure of every site is what Debian's heaptrack_print says."""

import random
import re

import kde
import kde_made_up
import pytest

PLAIN = ["--disable-builtin-suppressions", "--disable-embedded-suppressions"]
ALL = [*PLAIN, "-n", "1000000", "-s", "1000000", "-l", "1", "-t", "0"]
SECTION = re.compile(r"\n(?=MOST CALLS|PEAK MEMORY|MEMORY LEAKS|MOST TEMP|total runtime)")
ENTRY = re.compile(r"\n(?=\S+ (?:calls to|peak memory|leaked over .* from$|temporary .* from$))",
                   re.M)
PART = re.compile(r"\n(?=\S+ (?:calls with|consumed over|leaked over|temporary))")


def six(text):
    lines = kde.reported(text)
    if "000s" in lines["total runtime"]:
        del lines["total runtime"]  # six digits where no section was printed before
    return lines


def merged(text):
    """Sections with their entries, and their parts, in any order: equal ones have none.

    The first of many unnamed addresses of a module stands for them; any of them may. Where stacks
    without a frame are among them, theirs leaves out the parts.
    """
    found = []
    for section in SECTION.split(text)[1:-1]:
        title, *entries = ENTRY.split(re.sub(r"^0x[0-9a-f]+$", "0x", section, flags=re.M))
        parts = [[part.rstrip() for part in PART.split(entry)] for entry in entries
                 if "\n0x\n  in ??" not in entry]
        found.append((title, sorted((first, sorted(rest)) for first, *rest in parts)))
    return found


def compare(tools, path, seed):
    rng = random.Random(seed)
    version = rng.choice([0, 1, 2, 2, 3, 3, 3])
    path.write_text(kde_made_up.make(rng, version))
    name = f"seed {seed}, format {version}: {path}"
    theirs = kde.run(kde.PRINT, *PLAIN, path).stdout
    expected, got = six(theirs), six(tools.print(path, *PLAIN).stdout)
    assert {key: got[key] for key in expected} == expected, name
    assert kde.sites(path, tools.heaptrack_print) == kde.sites(path), name
    layouts = [merged(text) for text in (tools.print(path, *ALL).stdout,
                                         kde.run(kde.PRINT, *ALL, path).stdout)]
    assert layouts[0] == layouts[1], name


@pytest.mark.timeout(3000)
def test_made_up_files(tools, tmp_path, is_long):
    for seed in range(2000 if is_long else 20):
        compare(tools, tmp_path / "heaptrack.made-up", seed)
