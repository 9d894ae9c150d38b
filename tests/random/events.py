"""A recording made with --events, read by docs/trace-format.md alone: blocks, their stacks, edges.

It shares nothing with the program but that page. Everything is kept as it is written there, so it is
slow; recordings of random programs are small.
"""

import bisect
import collections
import struct
import subprocess

HEAD, BLOCK = 0x184D2A50, 0x184D2A51
LOG, INFOS, EVENTS, STATE = 1, 2, 3, 4
PERIOD = 1 << 17  # moments are no multiples of it: docs/engine.md

# Tables: their columns by name and way, as far as they are needed
TABLES = {
    1: ("strings", {1: "size P"}),
    2: ("locations", {1: "module P", 2: "pc_high H", 3: "pc L", 4: "is_exact P", 5: "is_mark P"}),
    3: ("frames", {1: "function D", 2: "symbol A function", 3: "file D", 4: "line P"}),
    4: ("nodes", {1: "parent B", 2: "location P"}),
    5: ("names", {1: "location D", 2: "first_frame D", 3: "n_frames P"}),
    20: ("modules", {4: "path D"}),
    22: ("edges", {1: "time_ns D", 3: "bytes D"}),
    25: ("threads", {3: "name P"}),
    48: ("infos", {1: "node D", 2: "size P"}),
    49: ("start", {1: "allocations P", 2: "time_ns P"}),
}
EVENT_COLUMNS = ("info", "age", "time", "runs", "node", "size", "free_node", "info_step", "age_step")

SHORT_LIVED_ALLOCATIONS, SHORT_LIVED_NS = 16, 1_000_000  # docs/findings.md

Block = collections.namedtuple("Block", "stack size birth death is_temporary is_brief",
                               defaults=[False])


def varints(data):
    """All numbers of a column."""
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value & 0xffffffffffffffff)
            value = shift = 0
    return numbers


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


def rows_of(first, n, columns, described):
    """The rows of a table as dictionaries."""
    rows = [{} for _ in range(n)]
    for number, description in described.items():
        name, way, *other = description.split()
        stored = varints(columns.get(number, b"")) or None
        previous = 0
        for i, row in enumerate(rows):
            value = stored[i] if stored else 0
            if stored is None and way not in "L":
                row[name] = 0
                continue
            if way == "D":
                value = previous = previous + signed(value)
            elif way == "A":
                value = row[other[0]] + signed(value)
            elif way == "B":
                value = first + i - value
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
        self.n_allocations, self.moment, self.label = 0, 0, 0
        self.made_by, self.pending = collections.Counter(), collections.defaultdict(list)
        streams = []
        for kind, payload in payloads(path.read_bytes()):
            if kind == EVENTS:
                streams.append(payload)
            else:
                self.read_tables(payload)
        for payload in streams:
            self.read_events(payload)
        for number, (stack, size, birth, _, made) in self.open.items():
            self.blocks.append(Block(stack, size, birth, None, False))
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
                self.tables[name] += rows_of(first, n, columns, described)

    # ---- events

    def read_events(self, payload):
        start = None
        for table, first, n, columns in tables(payload):
            if table == 49:
                start = rows_of(first, n, columns, TABLES[49][1])[0]
            elif table == 50:
                assert start["allocations"] == self.n_allocations, "events were dropped"
                self.read_event_table(n, columns, start["time_ns"])

    def read_event_table(self, n, columns, time_ns):
        kinds = columns[1]
        column = {name: varints(columns.get(i + 2, b"")) for i, name in enumerate(EVENT_COLUMNS)}
        has_steps = {name: bool(column[name]) for name in ("info_step", "age_step")}
        take = {name: iter(numbers) for name, numbers in column.items()}
        info = age = run = thread = 0

        def next_info():
            nonlocal info
            info = info + signed(next(take["info_step"])) + 1 if has_steps["info_step"] else \
                next(take["info"])
            if info:
                row = self.tables["infos"][info - 1]
                return row["node"], row["size"]
            return next(take["node"]), next(take["size"])

        def next_age():
            nonlocal age
            age = age + signed(next(take["age_step"])) if has_steps["age_step"] else \
                next(take["age"])
            return self.n_allocations + 1 - age if age else 0

        for i in range(n):
            kind, what, number = kinds[i], None, None
            if kind in (1, 4, 9, 12):
                what = next_info()
            if kind in (2, 3, 5, 9, 12):
                number = next_age()
            time_ns += signed(next(take["time"]))
            if run == 0:
                run, thread = next(take["runs"]), next(take["runs"])
            run -= 1
            self.happen(kind, thread, what, number, time_ns)

    def happen(self, kind, thread, what, number, time_ns):
        assert kind in (1, 2, 3, 4, 7), f"an event of kind {kind} in a random program"
        if kind == 7:
            return
        self.label = max(self.label, time_ns)  # the clocks of threads may differ
        self.moment = max(self.moment + 1, self.label)
        self.moment += self.moment % PERIOD == 0
        if kind == 2:
            self.die(number, True)
        elif kind == 3:
            self.pending[thread].append(number)
        elif kind in (1, 4):
            if kind == 4:
                self.die(self.pending[thread].pop(), False)
            self.n_allocations += 1
            self.made_by[thread] += 1
            node, size = what
            self.open[self.n_allocations] = ((node, thread), size, self.moment, thread,
                                             self.made_by[thread])

    def die(self, number, may_be_temporary):
        if number in self.open:
            stack, size, birth, thread, made = self.open.pop(number)
            further = self.made_by[thread] - made
            is_brief = further <= SHORT_LIVED_ALLOCATIONS or self.moment - birth <= SHORT_LIVED_NS
            self.blocks.append(Block(stack, size, birth, self.moment,
                                     may_be_temporary and further == 0, is_brief))

    # ---- names

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
