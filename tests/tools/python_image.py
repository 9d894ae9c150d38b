#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What CPython has in memory, for tests without it: 
    cd tests/tools && python3.N python_image.py > ../unit/python/3_N.h

Prints the excerpt of a function as the recorder makes it, with its lines as the interpreter itself knows them, and the
memory that the proof of a layout reads. The offsets are those of src/runtimes/python_layout.c; if they are wrong, so
is the image, and the test says so.
"""

import ctypes
import struct
import sys
import threading
import time

FIELDS = {  # head, interpreter, threads, top, top frame, code, previous, bytes of a code object
    (3, 11): (40, 0, 16, 56, 8, 32, 48, 192),
    (3, 12): (40, 0, 72, 56, 0, 0, 8, 200),
    (3, 13): (632, 7264, 7344, 72, None, 0, 8, 208),
    (3, 14): (808, 7272, 7344, 72, None, 0, 8, 216),
}
HEAD, INTERPRETER, THREADS, TOP, TOP_FRAME, CODE, PREVIOUS, CODE_BYTES = FIELDS[sys.version_info[:2]]
QUALIFIED_NAME, FILE, LINE_TABLE, LENGTH = 128, 112, 136, 16
WIDE = 72 if sys.version_info < (3, 12) else 56
memory = {}


def read(address, n):
    data = ctypes.string_at(address, n)
    memory[address] = max(memory.get(address, b""), data, key=len)
    return data


def word(address):
    return struct.unpack("<Q", read(address, 8))[0]


SOURCE = '''
def größe():
    class Кот:
        def 大きさ(self,
                   n):
            total = (1 +
                     len(bytes(n)) +
                     sum(i for i in range(n)))

            for i in range(3):
                if i > n:
                    raise ValueError(
                        "so")
            with open("/dev/null") as f:
                return total, f
    return Кот.大きさ
'''
exec(compile(SOURCE, "/srv/приложение/main.py", "exec"))


def excerpt(code):
    object_at = id(code)
    pieces = [ctypes.string_at(object_at, CODE_BYTES)]
    for field, scale, head, most in ((QUALIFIED_NAME, 4, WIDE, 1024), (FILE, 4, WIDE, 2048), (LINE_TABLE, 1, 32, 4096)):
        at = struct.unpack("<Q", ctypes.string_at(object_at + field, 8))[0]
        length = struct.unpack("<Q", ctypes.string_at(at + LENGTH, 8))[0]
        n, own = min(most, head + scale * length), sys.getsizeof(ctypes.cast(at, ctypes.py_object).value)
        pieces.append(ctypes.string_at(at, min(n, own)).ljust(n, b"\0"))  # what lies behind is nobody's business
    return b"".join(struct.pack("<II", len(p), -(-len(p) // 8) * 8) + p + bytes(-len(p) % 8) for p in pieces)


def lines(code):
    """By the number of the instruction + 1; 0: it has none."""
    out = [code.co_firstlineno]
    for start, end, line in code.co_lines():
        out += [line or 0] * ((end - start) // 2)
    return out


def prove():
    """Read what the proof reads, of a thread that stands still: the newest one, which is the first of all."""
    ready, done = threading.Event(), threading.Event()
    threading.Thread(target=lambda: (ready.set(), list(map(lambda _: done.wait(), [0])))).start()
    ready.wait()
    time.sleep(0.2)
    library = ctypes.pythonapi
    state = ctypes.addressof(ctypes.c_char.in_dll(library, "_PyRuntime"))
    code_type = ctypes.addressof(ctypes.c_char.in_dll(library, "PyCode_Type"))
    read(word(code_type + 24), 8)
    thread = word(word(state + HEAD) + THREADS)
    read(thread, 256)
    frame = word(thread + TOP)
    frame = word(frame + TOP_FRAME) if TOP_FRAME is not None else frame
    while frame:
        read(frame, 80)
        word((word(frame + CODE) & ~7) + 8)
        frame = word(frame + PREVIOUS)
    done.set()
    return state, code_type, ctypes.c_ulong.from_address(thread + (136 if sys.version_info[:2] == (3, 12) else 152)).value


def numbers(data):
    return ",".join(str(b) for b in data)


def main():
    code = globals()["größe"]().__code__
    state, code_type, thread = prove()
    name = "python_%d_%d" % sys.version_info[:2]
    print("// SPDX-License-Identifier: MIT")
    print("#pragma once")
    print(f"/** CPython {sys.version.split()[0]} in memory, by tests/tools/python_image.py. */\n")
    print("// clang-format off")
    print(f"static const uint8_t {name}_excerpt[] = {{{numbers(excerpt(code))}}};")
    print(f"static const uint32_t {name}_lines[] = {{{numbers(lines(code))}}};")
    for i, data in enumerate(memory.values()):
        print(f"static const uint8_t {name}_bytes_{i}[] = {{{numbers(data)}}};")
    print(f"static const struct python_bytes {name}_memory[] = {{")
    for i, (at, data) in enumerate(memory.items()):
        print(f"\t{{{at:#x}, {len(data)}, {name}_bytes_{i}}},")
    print("};")
    print(f"static const struct python_image {name} = {{0x{sys.version_info[0]:02x}{sys.version_info[1]:02x}, "
          f"{state:#x}, {code_type:#x}, {thread:#x},")
    print(f'\t"{code.co_qualname}", "{code.co_filename}",')
    print(f"\t{name}_excerpt, sizeof {name}_excerpt, {name}_lines, sizeof {name}_lines / sizeof *{name}_lines,")
    print(f"\t{name}_memory, sizeof {name}_memory / sizeof *{name}_memory}};")


main()
