"""The counting library (tests/tools/counter.c) from the side of the tests."""

import struct
from pathlib import Path

WORDS = ("allocations", "allocated_bytes", "frees", "freed_bytes", "failed", "unknown_frees")


class Counts(dict):
    """What one image of a process asked for, by the words of the summary."""

    def __init__(self, data):
        super().__init__()
        self["live_bytes"], self["peak_bytes"] = struct.unpack_from("<2Q", data)
        stripes = [struct.unpack_from("<6Q", data, 64 + 64 * i) for i in range(64)]
        for i, word in enumerate(WORDS):
            self[word] = sum(stripe[i] for stripe in stripes)
        self["live_blocks"] = self["allocations"] - self["frees"]


class Counter:
    """Chained behind the recorder: pass `env` to what runs, ask `of(pid)` afterwards."""

    def __init__(self, build, folder):
        self.prefix = folder / "counted"
        self.env = {"LD_PRELOAD": str(build / "tests" / "tools" / "counter.so"),
                    "HEAP_COUNTER": str(self.prefix)}

    def of(self, pid):
        """The images of one process, in their order."""
        files = sorted(self.prefix.parent.glob(f"{self.prefix.name}.{pid}.*"),
                       key=lambda path: int(path.suffix[1:]))
        return [Counts(Path(path).read_bytes()) for path in files]
