"""Runs in gdb, which runs heaptrack: when the live blocks are graded, and the program still stands, all of them are
written for tests/tools/slow_scan.c, which then searches the program's memory.

gdb's variables: `scan` is the built slow_scan, `out` how its files begin, `more` how many blocks that are held are
written as accused.
"""

import struct
import subprocess

import gdb

OUT = gdb.convenience_variable("out").string()
SCAN = gdb.convenience_variable("scan").string()
MORE = int(gdb.convenience_variable("more"))
UNREACHABLE = 3  # enum rec_grade_id: from here on, nothing points to it


def memory(at, n):
    return bytes(gdb.selected_inferior().read_memory(int(at), n)) if n else b""


def write(m, out):
    blocks, n = m["blocks"]["items"], int(m["blocks"]["n"])
    size = blocks.dereference().type.sizeof
    grades = memory(m["grades"], n)
    content = memory(blocks, n * size)
    more = MORE
    for i in range(n):
        start, length = struct.unpack_from("<QQ", content, i * size)
        is_more = grades[i] < UNREACHABLE and more > 0
        more -= is_more
        out.write(f"{start} {length} {int(is_more or grades[i] >= UNREACHABLE)}\n")
    for i in range(int(m["in"]["n_threads"])):
        thread = m["in"]["threads"][i]
        its = memory(thread["words"].address, thread["words"].type.sizeof)
        for word in struct.unpack(f"<{len(its) // 8}Q", its):
            out.write(f"word {word}\n")


def main():
    for command in ("set pagination off", "set breakpoint pending on", "set print thread-events off",
                    "handle all nostop noprint pass", "handle SIGTRAP stop nopass", "set follow-fork-mode parent",
                    "set detach-on-fork on", "break scanner_start"):
        gdb.execute(command, to_string=True)
    gdb.execute("run")
    program = str(int(gdb.parse_and_eval("scan->pid")))
    gdb.execute("set follow-fork-mode child")
    gdb.execute("break holders_find")
    gdb.execute("continue")
    assert int(gdb.parse_and_eval("(int)REC_UNREACHABLE")) == UNREACHABLE
    with open(OUT + ".blocks", "w") as out:
        write(gdb.parse_and_eval("*m"), out)
    with open(OUT + ".scan", "w") as out:
        subprocess.run([SCAN, program, OUT + ".blocks"], stdout=out, stderr=out, check=False)
    gdb.execute("delete")
    gdb.execute("continue")


main()
