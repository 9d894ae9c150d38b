"""Every key of --json is described, and none is ever lost.

Keys are the literals of the calls that write them. docs/json.md describes them all, and names no key
that nothing writes; json_keys.txt says with which schema each came.
"""

import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
WRITERS = ["src/report/json/json.c", "src/engine/views/looks.c", "src/report/view/json.c", "src/report/compare/json.c",
           "src/report/compare/parts.c", "src/report/compare/tree.c",
           "src/engine/quality/facts_json.c"]
CALL = r'\b(?:(?:json|put|marks|quality|allocators)_\w+|JSON_OBJECT|JSON_LIST)\(\s*&?[\w.>-]+,\s*"(\w+)"'
FIELD = r'\.key = "(\w+)"'
FIELDS = r'\bJSON_(?:FIELDS|TEXTS)\(&?[\w.>-]+,\s*&?[\w.>-]+,([\w,\s]+)\)'


def written():
    text = "\n".join((SOURCE / path).read_text() for path in WRITERS)
    metrics = re.findall(r'METRIC\(\w+, "([\w-]+)"\)', (SOURCE / "src/engine/metrics.h").read_text())
    assert len(metrics) >= 6
    # Lists of sites and groups go by the name of their metric or group
    fields = re.findall(r"\w+", " ".join(re.findall(FIELDS, text)))
    return set(re.findall(CALL, text) + re.findall(FIELD, text) + fields) | {"peak", "never_freed", "package"}


def test_every_key_is_described():
    page = (SOURCE / "docs/json.md").read_text()
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", page))))
    assert not written() - words, "docs/json.md does not describe these keys"


def test_no_other_key_is_described():
    page = (SOURCE / "docs/json.md").read_text()
    fields = re.findall(r"^\| ((?:`[^`]+`(?:, )?)+) \|", page, re.MULTILINE)
    described = set(re.findall(r"\w+", " ".join(fields)))
    assert len(described) > 60
    assert not described - written(), "nothing writes these keys"


def test_keys_are_only_added_and_with_a_new_schema():
    lists = {}
    for line in (SOURCE / "tests/layers/json_keys.txt").read_text().splitlines():
        schema, keys = line.split(": ")
        lists.setdefault(int(schema), []).extend(keys.split())
    known = [key for keys in lists.values() for key in keys]
    assert len(known) == len(set(known))
    assert list(lists) == list(range(1, len(lists) + 1))
    header = (SOURCE / "src/engine/findings.h").read_text()
    assert f"DOCUMENT_SCHEMA = {max(lists)} " in header, "the schema of json_keys.txt is another"
    page = (SOURCE / "docs/json.md").read_text()
    assert set(re.findall(r"\| `version`, `schema` \| 1 and (\d+) \|", page)) == {str(max(lists))}, "docs/json.md"
    assert not set(known) - written(), "keys are for ever"
    assert not written() - set(known), \
        "new keys: give them a line of their own in json_keys.txt, and raise DOCUMENT_SCHEMA to its number"
