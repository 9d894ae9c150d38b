"""A recording made with --events, read by docs/trace-format.md alone: blocks, their stacks, edges.

It shares nothing with the program but that page. Everything is kept as it is written there, but for the
columns of events, of which there are millions: those are gone through in one loop.
"""

import bisect
import collections
import gc
import itertools
import re
import struct
import subprocess

HEAD, BLOCK = 0x184D2A50, 0x184D2A51
LOG, INFOS, EVENTS, STATE = 1, 2, 3, 4
NEVER = 0xffff  # of intervals: never freed
PERIOD = 1 << 17  # moments are no multiples of it: docs/engine.md

# Tables: their columns by name and way, as far as they are needed
TABLES = {
    1: ("strings", {1: "size P"}),
    2: ("locations", {1: "module P", 2: "pc_high H", 3: "pc L", 4: "is_exact P", 5: "is_mark P"}),
    3: ("frames", {1: "function D", 2: "symbol A function", 3: "file D", 4: "line P"}),
    4: ("nodes", {1: "parent B", 2: "location P"}),
    5: ("names", {1: "location D", 2: "first_frame D", 3: "n_frames P"}),
    17: ("meta", {1: "pid P", 2: "exe P", 3: "cwd P", 4: "host P", 5: "argv_first P", 6: "n_argv P", 8: "page_bytes P",
                  9: "system_memory_bytes P", 10: "memory_limit_bytes P", 11: "wall_start_ns P",
                  12: "duration_ns P", 14: "source P", 15: "ended P", 16: "is_complete P",
                  18: "exit_status P", 19: "n_images P", 20: "version P", 25: "end_reason P",
                  28: "end_limit P", 29: "old_unknown P", 30: "max_pause_ns P", 31: "called P"}),
    18: ("summary", {7: "failed P", 13: "peak_rss_bytes P", 14: "peak_rss_time_ns P",
                     19: "gone_at_exec P", 21: "old_blocks P", 22: "old_bytes P",
                     23: "old_freed_blocks P", 24: "old_freed_bytes P", 25: "peak_low_bytes P",
                     26: "peak_high_bytes P", 27: "mapped_peak_bytes P",
                     28: "mapped_peak_time_ns P", 29: "never_unmapped_bytes P"}),
    19: ("quality", {1: "lost_events P", 2: "truncated_stacks P", 3: "abandoned_hooks P",
                     4: "skipped_numbers P", 5: "unknown_frees P", 6: "double_allocations P",
                     7: "time_corrections P", 8: "children_forked P", 9: "children_executed P",
                     10: "detail_ends_ns P", 11: "events_dropped P", 13: "recording_stopped_early P",
                     14: "marks_dropped P", 17: "runtime_mismatches P", 20: "stopped_ns P", 21: "looks_refused P"}),
    20: ("modules", {4: "path D", 5: "image P"}),
    21: ("stacks", {1: "node D", 2: "usual_size P", 3: "allocations P", 4: "allocated_bytes X allocations",
                    5: "temporary P", 7: "peak_blocks P", 8: "peak_bytes X peak_blocks", 9: "live_blocks P",
                    10: "live_bytes X live_blocks", 14: "temporary_bytes X temporary", 15: "thread P"}),
    22: ("edges", {1: "time_ns D", 2: "end_ns A time_ns", 3: "bytes D"}),
    23: ("intervals", {1: "stack D", 2: "from D", 3: "until U from", 4: "count P", 5: "bytes X count",
                       6: "temporary P"}),
    25: ("threads", {1: "tid D", 3: "name P", 4: "n_merged P"}),
    27: ("samples", {1: "time_ns D", 2: "rss_bytes D", 3: "rss_anon_bytes D", 6: "ours_bytes D",
                     7: "heap_bytes D", 14: "pss_bytes P"}),
    28: ("children", {1: "pid D", 2: "name P", 3: "exe P", 4: "is_fork P", 5: "peak_rss_bytes P",
                      6: "why P"}),
    29: ("images", {1: "exe P", 2: "time_ns D", 3: "is_unrecorded P", 4: "is_too_narrow P", 6: "why P"}),
    30: ("marks", {1: "time_ns D", 2: "name P"}),
    31: ("curve", {1: "time_ns D", 3: "bytes D"}),
    32: ("allocators", {1: "module P", 2: "functions P", 3: "why P", 4: "n_functions P"}),
    33: ("looks", {1: "time_ns D", 2: "pid P", 3: "at P", 4: "has P", 6: "cost_ns P", 8: "n_inside P",
                   9: "swap_bytes P", 10: "rss_bytes P", 11: "changed_bytes P", 12: "huge_bytes P", 13: "huge_free_bytes P"}),
    34: ("grades", {1: "look D", 2: "stack D", 3: "grade P", 4: "blocks P", 5: "bytes P", 6: "owned_blocks P",
                    7: "owned_bytes P"}),
    35: ("holders", {1: "look D", 2: "above P", 3: "kind P", 4: "name P", 5: "stack P", 6: "mapping P", 7: "blocks P",
                     8: "bytes P", 9: "retained_blocks P", 10: "retained_bytes P", 11: "longest P"}),
    36: ("classes", {1: "look D", 2: "kind P", 3: "name P", 5: "node P", 6: "blocks P", 7: "bytes P"}),
    38: ("mapping_edges", {1: "time_ns D", 3: "bytes D", 4: "blocks D"}),
    39: ("ranges", {1: "start D", 2: "end A start", 3: "mapping P", 4: "born_ns D", 5: "sort P"}),
    40: ("parts", {1: "look D", 2: "part P", 3: "mapping P", 4: "name P", 5: "resident_bytes P",
                   6: "asked_bytes P", 7: "lazy_free_bytes P"}),
    41: ("mappings", {1: "node D", 2: "maps P", 3: "mapped_bytes P", 4: "peak_maps P", 5: "peak_bytes P",
                      6: "live_maps P", 7: "live_bytes P", 8: "first_ns D", 9: "last_ns A first_ns",
                      10: "is_inside P"}),
    42: ("fullness", {1: "look D", 2: "kind P", 3: "start P", 4: "live_bytes P",
                      **{5 + tenths: f"{tenths} P" for tenths in range(11)}}),
    43: ("untouched", {1: "look D", 2: "stack P", 3: "blocks P", 4: "asked_bytes P", 5: "resident_bytes P",
                     6: "pinned_bytes P"}),
    45: ("groups", {1: "time_ns D", 2: "limit_bytes P", 3: "used_bytes P", 4: "anonymous_bytes P", 5: "file_bytes P",
                    6: "shared_bytes P", 7: "inactive_bytes P", 8: "kernel_bytes P", 9: "swap_bytes P",
                    10: "limit_hits P", 11: "own_bytes P"}),
    46: ("mapping_intervals", {1: "stack D", 2: "from D", 3: "until U from", 4: "count P", 5: "bytes P"}),
    47: ("changes", {1: "node D", 2: "what P", 3: "calls P", 4: "bytes P", 5: "first_ns D", 6: "last_ns A first_ns",
                     7: "is_inside P"}),
    48: ("infos", {1: "node D", 2: "size P"}),
    49: ("start", {1: "allocations P", 2: "time_ns P"}),
}
EVENT_COLUMNS = ("info", "age", "time", "runs", "node", "size", "free_node", "info_step", "age_step")

SHORT_LIVED_ALLOCATIONS, SHORT_LIVED_NS = 16, 1_000_000  # docs/findings.md

# Who freed it: the number of a thread; None: nobody, or an exec took it
Block = collections.namedtuple("Block", "stack size birth death is_temporary is_brief freed_by",
                               defaults=[False, None])
new_block = tuple.__new__  # Block(...) takes twice as long


class Numbers(dict):
    """Of the bytes of a number: it."""

    def __missing__(self, data):
        value = sum((byte & 0x7f) << 7 * i for i, byte in enumerate(data)) & 0xffffffffffffffff
        if len(data) < 4:
            self[data] = value
        return value


NUMBERS, NUMBER = Numbers(), re.compile(rb"[\x80-\xff]*[\x00-\x7f]", re.S)


def varints(data):
    """All numbers of a column."""
    return list(data) if data.isascii() else [NUMBERS[number] for number in NUMBER.findall(data)]


def signed(number):
    return -(number + 1 >> 1) if number & 1 else number >> 1


def payloads(data):
    """Type and contents of each block of a finished file, in the order of the file."""
    at, kind = 0, None
    while at + 8 <= len(data):
        magic, size = struct.unpack_from("<II", data, at)
        if magic & 0xfffffff0 == HEAD & 0xfffffff0:
            if magic == BLOCK:
                kind, = struct.unpack_from("<B", data, at + 12)
                stored, = struct.unpack_from("<Q", data, at + 24)
            at += 8 + size
        else:
            done = subprocess.run(["zstd", "-dc"], input=data[at:at + stored], capture_output=True,
                                  check=True)
            yield kind, done.stdout
            at += stored


def tables(payload):
    """Each table of a payload: its number, first row, number of rows, columns as bytes."""
    at = 0
    while at < len(payload):
        head = []
        for _ in range(3):
            end = at
            while payload[end] >= 0x80:
                end += 1
            head += varints(payload[at:end + 1])
            at = end + 1
        length, = struct.unpack_from("<I", payload, at)
        at += 4
        columns, end = {}, at + length
        while at < end:
            start = at
            while payload[at] >= 0x80:
                at += 1
            number, = varints(payload[start:at + 1])
            size, = struct.unpack_from("<I", payload, at + 1)
            columns[number] = payload[at + 5:at + 5 + size]
            at += 5 + size
        yield *head, columns


def rows_of(first, n, columns, described, unit=lambda row: 0):
    """The rows of a table as dictionaries; unit(row) is what columns in the way of X multiply."""
    rows = [{} for _ in range(n)]
    for number, description in described.items():
        name, way, *other = description.split()
        stored = varints(columns.get(number, b"")) or None
        previous = 0
        for i, row in enumerate(rows):
            value = stored[i] if stored else 0
            if stored is None and way not in "LAXU":
                row[name] = 0
                continue
            if way == "D":
                value = previous = previous + signed(value)
            elif way == "U":
                value = row[other[0]] + value - 1 if value else 0xffff
            elif way == "A":
                value = row[other[0]] + signed(value)
            elif way == "B":
                value = first + i - value
            elif way == "X":
                value = row[other[0]] * unit(row) + signed(value)
            elif way == "U":
                value = row[other[0]] + value - 1 if value else NEVER
            elif way == "H":
                value = previous = previous + signed(value)
            elif way == "L":
                value = row["pc_high"] << 16 | value
            row[name] = value & 0xffffffffffffffff
    return rows


class Events:
    """`blocks`, each of a stack (node, thread); `frames(node)`; `edges`; `threads` by number."""

    def __init__(self, path):
        self.tables = {name: [] for name, _ in TABLES.values()}
        self.strings = []
        self.blocks, self.open = [], {}
        self.n_allocations, self.moment, self.label = 0, 0, 0  # numbers of blocks, not blocks
        self.counts = collections.Counter()  # what happened: by kind, and frees of unknown blocks
        self.is_whole = True  # no event was dropped by the budget
        self.held = self.peak = self.peak_ns = 0  # bytes of the open ones, their most, and when first
        self.threads_of = collections.defaultdict(dict)  # by node: its stack of each thread
        self.made_by, self.pending = collections.Counter(), collections.defaultdict(list)
        streams = []
        for kind, payload in payloads(path.read_bytes()):
            if kind == EVENTS:
                streams.append(payload)
            elif kind in (LOG, INFOS, STATE):  # others are skipped
                self.read_tables(payload)
        has_gc = gc.isenabled()
        gc.disable()  # nothing of it refers to what refers to it
        for payload in streams:
            self.read_events(payload)
        for stack, size, birth, _, _ in self.open.values():
            self.blocks.append(Block(stack, size, birth, None, False))
        if has_gc:
            gc.freeze()
            gc.enable()
        self.names = {row["location"]: row for row in self.tables["names"]}
        self.edges = self.tables["edges"]
        self.threads = [self.strings[row["name"]] for row in self.tables["threads"]]
        self.known_frames = {}

    def read_tables(self, payload):
        for table, first, n, columns in tables(payload):
            if table == 1:
                at = 0
                for row in rows_of(first, n, columns, TABLES[1][1]):
                    self.strings.append(columns.get(2, b"")[at:at + row["size"]].decode(errors="replace"))
                    at += row["size"]
            elif table in TABLES:
                name, described = TABLES[table]
                self.tables[name] += rows_of(first, n, columns, described, self.unit_of(name))

    def unit_of(self, name):
        stacks = self.tables["stacks"]
        return lambda row: row["usual_size"] if name == "stacks" else \
            stacks[row["stack"]]["usual_size"] if row["stack"] < len(stacks) else 0

    # ---- events

    def read_events(self, payload):
        start = None
        for table, first, n, columns in tables(payload):
            if table == 49:
                start = rows_of(first, n, columns, TABLES[49][1])[0]
            elif table == 50:
                self.is_whole &= start["allocations"] == self.n_allocations
                self.n_allocations = start["allocations"]
                self.read_event_table(n, columns, start["time_ns"])

    def read_event_table(self, n, columns, time_ns):
        kinds = columns[1][:n]
        self.counts.update(kinds)
        column = {name: varints(columns.get(i + 2, b"")) for i, name in enumerate(EVENT_COLUMNS)}
        has_info_step, has_age_step = bool(column["info_step"]), bool(column["age_step"])
        infos = [(row["node"], row["size"]) for row in self.tables["infos"]]
        next_info, next_age = (iter(column[name + "_step"] or column[name]).__next__ for name in ("info", "age"))
        next_node, next_size = iter(column["node"]).__next__, iter(column["size"]).__next__
        runs = column["runs"]
        threads = itertools.chain.from_iterable(map(itertools.repeat, runs[1::2], runs[::2]))
        times = itertools.accumulate(map(signed, column["time"]), initial=time_ns)
        next(times)
        info = age = 0
        for kind, thread, time_ns in zip(kinds, threads, times):
            if kind == 7:
                self.pending[thread].clear()
                continue
            self.label = max(self.label, time_ns)  # the clocks of threads may differ
            self.moment += 1
            if self.moment < self.label:
                self.moment = self.label
            self.moment += self.moment % PERIOD == 0
            if kind in (1, 4, 9, 12):
                info = info + signed(next_info()) + 1 if has_info_step else next_info()
                node, size = infos[info - 1] if info else (next_node(), next_size())
            if kind in (2, 3, 5, 9, 12):
                age = age + signed(next_age()) if has_age_step else next_age()
                number = self.n_allocations + 1 - age if age else 0
            if kind == 2:
                self.die(number, thread, True)
            elif kind == 3:
                self.pending[thread].append(number)
            elif kind == 5:
                self.pending[thread] and self.pending[thread].pop()
            elif kind == 6:
                self.replace_image()
            elif kind in (1, 4, 9, 12):
                if kind in (4, 12):
                    self.die(self.pending[thread].pop() if self.pending[thread] else 0, thread, False)
                self.n_allocations += 1
                if kind in (9, 12):  # a free was missed; the new block goes on under the old number
                    self.die(number, thread, True)
                made = self.made_by[thread] = self.made_by[thread] + 1
                stacks = self.threads_of[node]
                stack = stacks.get(thread) or stacks.setdefault(thread, (node, thread))
                self.open[number if kind in (9, 12) else self.n_allocations] = stack, size, self.moment, thread, made
                self.held += size
                if self.held > self.peak:
                    self.peak, self.peak_ns = self.held, self.moment

    def replace_image(self):
        """By exec all blocks and threads are gone: neither freed nor left."""
        for stack, size, birth, _, _ in self.open.values():
            self.blocks.append(Block(stack, size, birth, self.moment, False))
        self.open.clear()
        self.pending.clear()
        self.held = 0

    def die(self, number, thread, may_be_temporary):
        known = self.open.pop(number, None)
        if known is None:
            self.counts["unknown"] += 1
            return
        stack, size, birth, owner, made = known
        self.held -= size
        further = self.made_by[owner] - made
        is_brief = further <= SHORT_LIVED_ALLOCATIONS or self.moment - birth <= SHORT_LIVED_NS
        self.blocks.append(new_block(Block, (stack, size, birth, self.moment, may_be_temporary and further == 0,
                                             is_brief, thread)))

    # ---- names

    def stacks(self):
        return sorted({block.stack for block in self.blocks})

    def frames(self, node):
        """Function, file and module of each frame of a stack, innermost first."""
        if node not in self.known_frames:
            frames, at = [], node
            while at:
                row = self.tables["nodes"][at]
                location = self.tables["locations"][row["location"]]
                module = self.tables["modules"][location["module"]]["path"]
                name = self.names.get(row["location"])
                for i in range(name["n_frames"] if name else 0):
                    frame = self.tables["frames"][name["first_frame"] + i]
                    frames.append((self.strings[frame["function"]], self.strings[frame["file"]],
                                   self.strings[module]))
                if not name and not location["is_mark"]:
                    frames.append(("", "", self.strings[module]))
                at = row["parent"]
            self.known_frames[node] = frames
        return self.known_frames[node]

    # ---- edges

    def edge_before(self, time_ns):
        """The last edge at or before a moment; -1: none."""
        return bisect.bisect_right([edge["time_ns"] for edge in self.edges], time_ns) - 1

    def edge_after(self, time_ns):
        """The first edge at or after a moment; their number: none."""
        return bisect.bisect_left([edge["time_ns"] for edge in self.edges], time_ns)
