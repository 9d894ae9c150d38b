"""Groups of processes with a memory limit, in which the kernel kills."""

import contextlib
import os
import time
from pathlib import Path

import pytest


@contextlib.contextmanager
def control_group(limit_bytes):
    """A group for memory below our own, in either version of control groups."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    groups = {controllers: path for _, controllers, path in lines}
    root = Path("/sys/fs/cgroup")
    if "memory" in groups:
        above, limit = root / "memory" / groups["memory"].lstrip("/"), "memory.limit_in_bytes"
    else:
        above, limit = root / groups.get("", "").lstrip("/"), "memory.max"
    # Another name each time: of one that goes slowly, something may still be there
    group = above / f"heaptrack-test-{os.getpid()}-{time.monotonic_ns()}"
    try:
        group.mkdir()
        (group / limit).write_text(str(limit_bytes))
    except OSError as why:
        with contextlib.suppress(OSError):
            group.rmdir()
        pytest.skip(f"no control group for memory can be made here: {why}")
    swap = group / ("memory.memsw.limit_in_bytes" if "memory" in groups else "memory.swap.max")
    with contextlib.suppress(OSError):
        swap.write_text(str(limit_bytes) if "memory" in groups else "0")
    try:
        yield group
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)
