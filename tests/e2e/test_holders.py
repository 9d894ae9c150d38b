"""What holds live blocks, as heaptrack --leaks finds it: held against programs that know."""

import json
import subprocess

import pytest

import conftest


def record(tools, *command, **more):
    run = tools.record(*command, options=("--leaks", "--force"), **more)
    assert run.status == 0, repr(run)
    return run


def roots(run):
    """Retained bytes and blocks of each root, by its name without what it lies in."""
    found = {}
    for row in run.json()["leaks"]["holders"]:
        name = "thread" if row["kind"] == "thread_local" else row["name"].split(" of ")[0]
        found[name] = (row["retained_bytes"], row["retained_blocks"])
    return found


SEEDS = 12
LONG_SEEDS = 200
EXACT = 0.95  # of all owners


def test_owners_hold_what_they_have_made(tools, is_long):
    """Lists, rings, trees, tables and arrays, by pointers to the inside and with tags, and words left behind in
    one block of a hundred: what each variable holds is known to the byte."""
    n, exact, wrong = 0, 0, []
    for seed in range(1, (LONG_SEEDS if is_long else SEEDS) + 1):
        run = record(tools, tools.victim("owners"), str(seed))
        found = roots(run)
        for line in run.stdout.splitlines():
            if line.split()[0] in {"thread", *(f"g_{k}" for k in range(8))}:
                name, size, blocks = line.split()
                n += 1
                is_exact = found.get(name) == (int(size), int(blocks))
                exact += is_exact
                if not is_exact:
                    wrong.append((seed, name, int(size), int(blocks), found.get(name)))
    assert n > 0 and exact >= EXACT * n, (exact, n, wrong)
