#!/usr/bin/python3
"""python_types.py: prints an image for test_python.c of objects of the Python that runs it, and of their types.

PYTHONMALLOC=malloc PYTHON python_types.py > tests/unit/python/types_3_13.h
"""

import abc
import ctypes
import enum
import sys


class Session:
    def __init__(self):
        self.user, self.words = 1, []


class Slotted:
    __slots__ = ("a",)


class Meta(type):
    pass


class Made(metaclass=Meta):
    pass


class Colour(enum.Enum):
    RED = 1


class Shape(abc.ABC):
    __slots__ = ()


objects = [12345678901234567890, 2.5, "a text", "größe" * 40, *(["text"] if sys.version_info >= (3, 12) else []),
           b"x" * 600, [], [1] * 100, {}, {"a": 1}, {1, 2}, (1, Slotted()),
           Session(), Slotted(), Made(), Colour.RED, Shape(), Session, Meta, lambda: 0, (i for i in "x"), ValueError("x"),
           sys._getframe().f_code, range(3), memoryview(b"x"), bytearray(5)]
memory = {}


def keep(address, size):
    memory[address] = ctypes.string_at(address, size)


def keep_type(t):
    keep(id(t), 176)
    name = int.from_bytes(ctypes.string_at(id(t) + 24, 8), "little")
    memory[name] = ctypes.string_at(name).ljust(min(128, 4096 - name % 4096), b"\0")  # what lies behind is nobody's


version = "{0}_{1}".format(*sys.version_info)
print("// SPDX-License-Identifier: MIT\n#pragma once\n// clang-format off")
print(f"// {sys.version.split()[0]}, as tests/tools/python_types.py has printed it")
print(f"static const struct python_object python_objects_{version}[] = {{")
for o in objects:
    size = type(o).__sizeof__(o)
    before = sys.getsizeof(o) - size
    words = [int.from_bytes(ctypes.string_at(id(o) - before + 8 * i, 8), "little") for i in range(6)]
    name = ctypes.string_at(int.from_bytes(ctypes.string_at(id(type(o)) + 24, 8), "little")).decode()
    print(f'\t{{"{name}", {before + size}, {{{", ".join(map(hex, words))}}}}},')
    keep_type(type(o))
    keep_type(type(type(o)))
print("};")
code_type = id(type(sys._getframe().f_code))
print(f"static const struct python_bytes python_types_{version}[] = {{")
for at, content in sorted(memory.items()):
    print(f'\t{{{hex(at)}, {len(content)}, (const uint8_t *)"{"".join(f"{chr(92)}x{b:02x}" for b in content)}"}},')
print("};")
print(f"static const struct python_image python_typed_{version} = {{.version = {hex(sys.hexversion >> 16)}, "
      f".code_type = {hex(code_type)},\n\t\t.memory = python_types_{version}, .n_memory = {len(memory)}}};")
