"""What a page has within it, read by docs/page-format.md alone."""

import base64
import collections
import json
import re
import struct
import zlib


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte, self.at = self.data[self.at], self.at + 1
            value, shift = value | (byte & 0x7f) << shift, shift + 7
            if byte < 0x80:
                return value

    def bytes(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def numbers(self, n):
        return [self.number() for _ in range(n)]

    def rising(self, n, is_zigzag=False):
        out, now = [], 0
        for step in self.numbers(n):
            now += (step >> 1) ^ -(step & 1) if is_zigzag else step
            out.append(now)
        return out


def sections_of(page):
    """{number: its bytes} of the first part."""
    data = base64.b64decode(re.search(r'id="profile"[^>]*>([^<]*)<', page)[1])
    size, packed = struct.unpack_from("<QQ", data, 12)
    part = Reader(zlib.decompress(data[28:28 + packed], -15))
    assert len(part.data) == size
    found = {}
    while part.at < size:
        number, length = part.number(), part.number()
        found[number] = part.bytes(length)
    return found


FACTS, STRINGS, SYMBOLS, NODES, STACKS = range(1, 6)
COLUMNS = ("site", "site_name", "keeper", "keeper_name", "thread", "allocations", "allocated_bytes", "temporary",
           "temporary_bytes", "short_lived", "peak_blocks", "peak_bytes", "live_blocks", "live_bytes")
# By metric: whom stacks are listed under, their bytes, their blocks
LISTED = {"peak": ("site", "peak_bytes", "peak_blocks"), "never-freed": ("keeper", "live_bytes", "live_blocks"),
          "temporary": ("site", "temporary_bytes", "temporary"), "allocations": ("site", "allocated_bytes", "allocations")}


class Page:
    def __init__(self, text):
        sections = sections_of(text)
        self.facts = json.loads(sections[FACTS])
        strings, symbols, nodes, stacks = (Reader(sections[n]) for n in (STRINGS, SYMBOLS, NODES, STACKS))
        n = strings.number()
        words = [strings.bytes(length).decode(errors="replace") for length in strings.numbers(n)]
        name_of = [0, *symbols.rising(symbols.number() - 1, is_zigzag=True)]
        n = nodes.number() - 1
        nodes.numbers(n)
        symbol_of = [0, *nodes.numbers(n)]
        n = stacks.number()
        node = stacks.rising(n)
        columns = {name: Reader(stacks.bytes(stacks.number())).numbers(n) for name in COLUMNS}
        for who in ("site", "keeper"):
            columns[who] = [words[named] or words[name_of[symbol_of[at - up]]] for at, up, named in
                            zip(node, columns[who], columns[f"{who}_name"])]
        self.stacks = columns

    def listed(self, metric):
        """{function: [bytes, blocks]}, as the page's tables have it."""
        who, size, blocks = (self.stacks[name] for name in LISTED[metric])
        found = collections.defaultdict(lambda: [0, 0])
        for name, *costs in zip(who, size, blocks):
            if costs[1]:
                found[name] = [a + b for a, b in zip(found[name], costs)]
        return found
