"""The parts of a look compared with what tests/victims/resident.c knows of itself."""

import ctypes
import json
import os
import struct

MIB = 1 << 20
PERF_EVENT_OPEN = {"x86_64": 298}.get(os.uname().machine, 241)
INHERIT, EXCLUDE_KERNEL, OF_THREADS = 1 << 1, 1 << 5, 1 << 35
PARTS = ("heap_live", "heap_rounding", "heap_partly_free", "heap_free", "allocator_tables", "mapped", "stacks",
         "modules_written", "files", "shared", "ours", "unknown", "heap")


def kernel_tells_of_mappings():
    """May heaptrack be told of mappings (perf_event_open) that no hook has seen?"""
    attr = struct.pack("IIQQQQQ", 1, 128, 9, 0, 0, 0, INHERIT | EXCLUDE_KERNEL | OF_THREADS).ljust(128, b"\0")
    fd = ctypes.CDLL(None).syscall(PERF_EVENT_OPEN, attr, 0, 0, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def sums(look):
    bytes_of = {part["id"]: part["bytes"] for part in look["parts"]}
    assert set(bytes_of) <= set(PARTS), bytes_of
    assert sum(bytes_of.values()) == look["rss_bytes"], "the parts do not add up"
    for part in look["parts"]:
        assert sum(row["bytes"] for row in part["rows"]) == part["bytes"], part["id"]
    return {part: bytes_of.get(part, 0) for part in PARTS}


def last_look(document, at="end"):
    looks = [look for look in document["memory"]["looks"] if look["at"] == at]
    assert looks, f"no look at {at}: {[look['at'] for look in document['memory']['looks']]}"
    return looks[-1]


def truth_of(text):
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))


def differences(truth, look, slack):
    """Sentences on what is off by more than 2 % (and `slack` bytes)."""
    parts, found = sums(look), []
    for names, expected in truth["parts"].items():
        got, more = sum(parts[name] for name in names.split("+")), 0
        if names == "heap_free":  # the program knows its own blocks, not the allocator's tables
            more = truth.get("tables", 0)
        if not expected * 0.98 - slack <= got <= expected * 1.02 + slack + more:
            found.append(f"{names}: {got} instead of {expected} ({(got - expected) / max(expected, 1):+.1%})")
    if truth.get("kept"):  # as the allocator says, but not what of its tables is resident
        names = ["heap_partly_free", "heap_free"] + ([] if truth["allocator"] == "glibc" else
                                                     ["heap_rounding", "allocator_tables"])
        share = 0.01 if truth["allocator"] == "glibc" else 0.03
        got = sum(parts[name] for name in names)
        if not truth["kept"] * (1 - share) - slack <= got <= (truth["kept"] + truth["tables"]) * (1 + share) + slack:
            found.append(f"kept: {got} instead of {truth['kept']}, and at most {truth['tables']} of tables")
    if "lazy_free" in truth:
        got = sum(row["lazy_free_bytes"] for part in look["parts"] for row in part["rows"])
        if abs(got - truth["lazy_free"]) > truth["lazy_free"] * 0.02:
            found.append(f"lazily freed: {got} instead of {truth['lazy_free']}")
    if "untouched" in truth:
        rows = [row for row in look["untouched"] if row["asked_bytes"] >= truth["untouched"]["asked"]]
        got = [(row["asked_bytes"], row["resident_bytes"]) for row in rows]
        if got != [(truth["untouched"]["asked"], truth["untouched"]["resident"])]:
            found.append(f"untouched: {got} instead of {truth['untouched']}")
    if "maker" in truth:
        its = "shared" if "shared" in truth["parts"] else "mapped"
        mapped = next((part for part in look["parts"] if part["id"] == its), {"rows": []})
        names = [frame["function"] for row in mapped["rows"][:1] for frame in row["stack"] or []]
        if truth["maker"] not in names:
            found.append(f"mapped by {names} instead of {truth['maker']}")
    if abs(look["rss_bytes"] - truth["rss"]) > truth["rss"] * 0.01 + MIB:
        found.append(f"RSS {look['rss_bytes']} instead of {truth['rss']}")
    if "unknown" not in "".join(truth["parts"]) and parts["unknown"] > look["rss_bytes"] * 0.02:
        found.append(f"unknown: {parts['unknown']} of {look['rss_bytes']}")
    return found


def slack_of(way, truth):
    """Besides 2 %: a page of each arena, what else the program has of a part.

    mimalloc has at least 64 KiB of each thread's segment for itself.
    """
    return 32 * (65536 if truth.get("allocator") == "mimalloc" else truth["page"]) if way == "arenas" else MIB // 4
