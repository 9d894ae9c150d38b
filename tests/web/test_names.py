"""What the page calls something shorter (web/build.mjs) is nothing that a file brings."""

import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def test_no_name_of_json_is_the_pages_own():
    bundler = (SOURCE / "web/build.mjs").read_text(encoding="utf-8")
    parts = re.findall(r"^\t'(.*)'", bundler[bundler.index("const OWN"):bundler.index("const FROM_OUTSIDE")], re.M)
    own = re.compile("".join(parts).replace("\\\\", "\\"))
    assert own.search("isMarked") and own.search("edges") and not own.search("onClick")
    keys = set(re.findall(r"\w+", (SOURCE / "tests/layers/json_keys.txt").read_text(encoding="utf-8")))
    for source in (SOURCE / "src/web").rglob("*.c"):
        keys |= set(re.findall(r'"(\w+)"', source.read_text(encoding="utf-8")))
    assert {"peak_bytes", "merged_stacks"} <= keys
    assert [key for key in sorted(keys) if own.search(key)] == []
