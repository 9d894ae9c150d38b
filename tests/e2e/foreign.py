"""Files of other tools, read by small readers of our own: what exports and imports are held to.

Written from the formats' documents, apart from the program's own code. A profile here is a list of
(stack, values): the stack a tuple of function names, outermost first.
"""

import collections
import gzip
import json


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def message(data):
    """(field, value) of a protocol buffer's message: numbers, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
        else:
            raise AssertionError(f"wire type {tag & 7}")
        yield tag >> 3, value


def packed(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value - (1 << 64) if value >> 63 else value


def pprof(path):
    """types, [(stack, {type: value})], and the strings; checks that every id is defined."""
    data = gzip.decompress(path.read_bytes())
    tables = collections.defaultdict(list)
    for field, value in message(data):
        tables[field].append(value)
    strings = [text.decode() for text in tables[6]]
    assert strings[0] == ""
    types = [strings[dict(message(one))[1]] for one in tables[1]]
    functions = {dict(message(one))[1]: strings[dict(message(one)).get(2, 0)] for one in tables[5]}
    mappings = {dict(message(one))[1] for one in tables[3]}
    locations = {}
    for one in tables[4]:
        fields = list(message(one))
        lines = [functions[dict(message(line))[1]] for field, line in fields if field == 4]
        assert dict(fields).get(2, 0) in mappings | {0}
        locations[dict(fields)[1]] = lines  # innermost first
    samples = []
    for one in tables[2]:
        fields = dict(message(one))
        names = [name for id in packed(fields.get(1, b"")) for name in locations[id]]
        values = list(packed(fields[2]))
        assert len(values) == len(types)
        samples.append((tuple(reversed(names)), dict(zip(types, values))))
    return types, samples


def pprof_by_label(path, key):
    """{text of the label: {type: sum}}; None: samples without it."""
    tables = collections.defaultdict(list)
    for field, value in message(gzip.decompress(path.read_bytes())):
        tables[field].append(value)
    strings = [text.decode() for text in tables[6]]
    types = [strings[dict(message(one))[1]] for one in tables[1]]
    sums = collections.defaultdict(collections.Counter)
    for one in tables[2]:
        labels = [dict(message(value)) for field, value in message(one) if field == 3]
        text = next((strings[label[2]] for label in labels if strings[label[1]] == key), None)
        sums[text].update(dict(zip(types, packed(dict(message(one))[2]))))
    return sums


def folded(text):
    """{stack: number}, or of a comparison {stack: (base, number)}."""
    stacks = {}
    for line in text.splitlines():
        words = line.split(" ")
        numbers = []
        while words and words[-1].isdigit() and len(numbers) < 2:
            numbers.insert(0, int(words.pop()))
            if len(numbers) == 1 and not (words and words[-1].isdigit()):
                break
        stack = tuple(" ".join(words).split(";"))
        assert stack not in stacks, stack
        stacks[stack] = numbers[0] if len(numbers) == 1 else tuple(numbers)
    return stacks


def speedscope(document):
    """{profile's name: {stack: weight}} after what its specification asks."""
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = document["shared"]["frames"]
    assert all(frame["name"] for frame in frames)
    profiles = {}
    for profile in document["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] in ("bytes", "none")
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"])
        sums = collections.Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            assert weight > 0
            sums[tuple(frames[i]["name"] for i in sample)] += weight
        profiles[profile["name"]] = sums
    assert 0 <= document["activeProfileIndex"] < len(profiles)
    return profiles


def columns_agree(table, *but):
    for key, column in table.items():
        if isinstance(column, list) and key not in but:
            assert len(column) == table["length"], key


def firefox(document):
    """The native allocations of the first thread, after the processed format's rules, version 48."""
    meta = document["meta"]
    assert meta["preprocessedProfileVersion"] == 48 and meta["symbolicated"] is True
    assert [c["name"] for c in meta["categories"]] == ["Other"] and meta["markerSchema"] == []
    for thread in document["threads"]:
        assert isinstance(thread["pid"], str) and isinstance(thread["isMainThread"], bool)
        for table in ("stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols",
                      "markers", "samples", "nativeAllocations"):
            columns_agree(thread[table])
        stacks, frames, functions = (thread[table] for table in
                                     ("stackTable", "frameTable", "funcTable"))
        assert all(f < frames["length"] for f in stacks["frame"])
        assert all(p is None or p < i for i, p in enumerate(stacks["prefix"]))
        assert all(f < functions["length"] for f in frames["func"])
        assert all(n < len(thread["stringArray"]) for n in functions["name"])
        assert all(-1 <= r < thread["resourceTable"]["length"] for r in functions["resource"])
        assert all(lib < len(document["libs"]) for lib in thread["resourceTable"]["lib"])
        assert set(stacks["category"]) <= {0} and set(frames["category"]) <= {0}
    table = document["threads"][0]["nativeAllocations"]
    assert table["weightType"] == "bytes" and table["time"] == sorted(table["time"])
    live = {}
    if "memoryAddress" in table:  # balanced: what is freed was there, with the same size and stack
        for address, weight, stack in zip(table["memoryAddress"], table["weight"], table["stack"]):
            if weight < 0:
                assert live.pop(address) == (-weight, stack)
            else:
                assert address not in live
                live[address] = (weight, stack)
    return table, sum(weight for weight, _ in live.values())


def dhat(document):
    """[(stack, point)] after what dh_view.js checks, and refuses."""
    for key in ("dhatFileVersion", "mode", "verb", "bklt", "bkacc", "tu", "Mtu", "cmd", "pid", "te",
                "pps", "ftbl"):
        assert key in document, key
    assert document["dhatFileVersion"] == 2 and document["ftbl"][0] == "[root]"
    if document["bklt"]:
        assert "tg" in document and "tuth" in document
    points, seen = [], set()
    for point in document["pps"]:
        needed = ["tb", "tbk", "fs"] + (["tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"]
                                        if document["bklt"] else [])
        assert all(key in point for key in needed), point
        assert all(0 < frame < len(document["ftbl"]) for frame in point["fs"])
        assert tuple(point["fs"]) not in seen, "data file contains a repeated location"
        seen.add(tuple(point["fs"]))
        if document["bklt"]:
            assert point["mb"] >= max(point["gb"], point["eb"])
        points.append((tuple(document["ftbl"][f] for f in reversed(point["fs"])), point))
    return points


def own_json(path):
    """[(stack, values)] of our own export, and its totals."""
    document = json.loads(path.read_bytes())
    names = [frame["function"] for frame in document["frames"]]
    stacks = [(tuple(names[i] for i in reversed(stack["frames"])), stack)
              for stack in document["stacks"]]
    return stacks, document


def summed(stacks, what):
    """{stack: sum} of [(stack, values)], without zeros."""
    sums = collections.Counter()
    for stack, values in stacks:
        sums[stack] += values[what]
    return {stack: value for stack, value in sums.items() if value}
