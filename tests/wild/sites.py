#!/usr/bin/python3
"""Which calls one recording has and another has not: tests/wild/sites.py A B [HEAPTRACK_PRINT]

The calls of each function that allocates, with its two callers, are added up and compared; the
greatest difference comes first. Both files may be ours or KDE's.
"""

import collections
import json
import subprocess
import sys
from pathlib import Path

PRINT = Path(__file__).resolve().parents[2] / "build" / "heaptrack_print"


def all_sites(file, program=PRINT):
    text = subprocess.run([program, "--json", "--limit", "0", file], capture_output=True, check=True,
                          timeout=600).stdout
    return json.loads(text)["sites"]["allocations"]


def calls(sites, depth=3):
    """Allocations and bytes by the innermost functions of the stack."""
    found = collections.defaultdict(lambda: [0, 0])
    for site in sites:
        key = " <- ".join((frame["function"] or "?")[:60] for frame in site["stack"][:depth])
        found[key][0] += site["allocations"]
        found[key][1] += site["bytes"]
    return found


def differences(one, other, depth=3):
    """Rows (calls more in one, bytes more in one, calls in one, in other, functions)."""
    one, other = calls(one, depth), calls(other, depth)
    rows = [(one[key][0] - other[key][0], one[key][1] - other[key][1], one[key][0], other[key][0], key)
            for key in {*one, *other}]
    return sorted((row for row in rows if row[0] or row[1]), key=lambda row: -abs(row[0]))


def table(rows, limit=20):
    lines = [f"{'calls':>10} {'bytes':>12}  {'of':>8} {'and':>8}  where"]
    lines += [f"{more:+10} {bytes:+12}  {one:8} {other:8}  {key}"
              for more, bytes, one, other, key in rows[:limit]]
    if len(rows) > limit:
        lines.append(f"and {len(rows) - limit} more rows")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    program = sys.argv[3] if len(sys.argv) == 4 else PRINT
    print(table(differences(*(all_sites(file, program) for file in sys.argv[1:3])), limit=60))
