#!/usr/bin/python3
"""Every way to be recorded with every kind of program in every kind of root, and what comes of it.

test_combinations.py runs each cell; docs/combinations.md is made of this table:

    tests/e2e/combinations.py > docs/combinations.md
"""

import itertools
from fnmatch import fnmatchcase

WAYS = {
    "launched": "`heaptrack PROGRAM`",
    "attached": "`heaptrack -p PID`",
}
SHAPES = {
    "threads": "four threads",
    "forks": "two forked children, which allocate as well",
}
ALLOCATORS = {
    "libc": "glibc's",
    "preloaded": "jemalloc, by LD_PRELOAD",
    "linked": "jemalloc, linked into the program",
    "static": "glibc's, in a static program",
    "musl": "musl's",
    "musl-static": "musl's, in a static program",
    "plugins": "two plugins' (dlopen, RTLD_LOCAL), each with one of its own under mimalloc's names",
    "namespace": "that of a second C library, which a plugin in a namespace of its own uses (dlmopen)",
}
PROGRAMS = {
    "libc": "combinations",
    "preloaded": "combinations",
    "linked": "combinations_jemalloc",
    "static": "combinations_static",
    "musl": "combinations_musl",
    "musl-static": "combinations_musl_static",
    "plugins": "combinations_plugins",
    "namespace": "combinations_namespace",
}
PLUGINS = ("plugin_a.so", "plugin_b.so", "plugin_c.so")
ROOTS = {
    "plain": "the machine's own",
    "container": "a container: its own root, pid namespace and /proc; launched inside, attached "
                 "to from outside",
    "inside": "the same container, with heaptrack attached inside",
    "bare": "a container without /proc; launched inside, attached to from outside",
    "chroot": "`chroot ROOT PROGRAM`, a root without /proc and heaptrack outside",
    "moved": "the program itself calls chroot(2), into an empty folder",
}

# What comes of a cell: its letter, what it means, and the sentence that heaptrack must say
RECORDED = "recorded"
OUTCOMES = {
    RECORDED: "every call and byte is recorded, with its caller",
    "said": "the report says which functions of which library were seen but are not recorded; the rest is",
    "unrecorded": "the program runs as ever, and the report says that it was not recorded",
    "runs": "the program runs as ever, and a message says that it is not recorded, and why",
}
NO_PROC = "cannot locate heaptrack's own executable (/proc/self/exe)"
BECAME = "after the start the program became"

# The first that fits: cell, outcome, what must be said
RULES = [
    ("launched/*/*/bare", "runs", NO_PROC),
    ("launched/*/*/chroot", "unrecorded", BECAME),
    ("launched/*/plugins/*", "said", "were seen but not hooked: the library calls its own copies"),
    ("launched/*/namespace/*", "said", "malloc, calloc, realloc, free of libc.so.6 were seen but not hooked"),
    ("*", RECORDED, ""),
]


class Cell:
    def __init__(self, way, shape, allocator, root):
        self.way, self.shape, self.allocator, self.root = way, shape, allocator, root
        self.id = f"{way}/{shape}/{allocator}/{root}"
        self.program = PROGRAMS[allocator]
        self.outcome, self.says = next((outcome, says) for pattern, outcome, says in RULES
                                       if fnmatchcase(self.id, pattern))

    def __repr__(self):
        return self.id


def is_of_use(shape, allocator, root):
    """Plugins say nothing new where the program forks, nor in roots that are of a kind."""
    return allocator not in ("plugins", "namespace") or \
        (shape == "threads" and root in ("plain", "container", "chroot"))


CELLS = [Cell(*names) for names in itertools.product(WAYS, SHAPES, ALLOCATORS, ROOTS)
         if (names[0], names[3]) != ("launched", "inside") and is_of_use(*names[1:])]


def names_of(table):
    return "".join(f"- **{name}**: {meaning}\n" for name, meaning in table.items())


def rows(way, shape):
    yield "| allocator | " + " | ".join(ROOTS) + " |"
    yield "|---" * (len(ROOTS) + 1) + "|"
    outcomes = {cell.id: cell.outcome for cell in CELLS}
    for allocator in ALLOCATORS:
        if not any(is_of_use(shape, allocator, root) for root in ROOTS):
            continue
        found = (outcomes.get(f"{way}/{shape}/{allocator}/{root}", "") for root in ROOTS)
        yield f"| {allocator} | " + " | ".join(found) + " |"


def document():
    parts = [f"""\
# Combinations

How a program is recorded, by the way it is started, its shape, its allocator and its root: {len(CELLS)}
cells, each a test of `tests/e2e/test_combinations.py`. This page is made of `tests/e2e/combinations.py`,
and a test compares the two.

## Allocators

{names_of(ALLOCATORS)}
## Roots

{names_of(ROOTS)}
## Outcomes

{names_of(OUTCOMES)}
Forked children are not recorded in any cell. The report counts them and says so.
"""]
    for way, shape in itertools.product(WAYS, SHAPES):
        parts.append(f"\n## {way.capitalize()} ({WAYS[way]}): {SHAPES[shape]}\n\n")
        parts.append("\n".join(rows(way, shape)) + "\n")
    return "".join(parts)


if __name__ == "__main__":
    print(document(), end="")
