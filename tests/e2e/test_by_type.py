"""`--by type`: of what type blocks are, where their stack proves it, to the byte."""

import shutil
import subprocess

import pytest

CPP = """
#include <list>
#include <memory>
#include <string>
#include <vector>
namespace app { struct Point { double x, y, z; }; template <class T> struct Box { T t[4]; }; }
namespace { struct Hidden { char c[48]; }; }
// One that asks for something else while it is made
struct Owner { char *text = new char[1000]; long n = 3; };
static void *volatile sink; // else the compiler leaves it out
int main() {
	auto *points = new std::vector<app::Point>; points->reserve(1000);
	auto *hidden = new std::vector<Hidden>(100);
	auto *list = new std::list<app::Point>(50);
	auto *texts = new std::vector<std::string>(10, std::string(4000, 'x'));
	auto shared = new auto(std::make_shared<app::Point>());
	auto unique = std::make_unique<app::Box<long>>().release();
	auto owner = std::make_unique<Owner>().release();
	sink = unique;
	sink = owner;
	sink = owner->text;
	sink = shared;
	return points->size() + hidden->size() + list->size() + texts->size() + (*shared)->x + unique->t[0] + owner->n == 1;
}
"""
# Which of it has a type, in bytes: the vectors themselves, new'ed by name, have none
CPP_TYPES = {
    "app::Point": 1000 * 24, "(anonymous namespace)::Hidden": 100 * 48, "node of std::list<app::Point>": 50 * 40,
    "char": 11 * 4001, "std::string": 10 * 32, "app::Point and its reference counts": 40, "app::Box<long>": 32,
    "Owner": 16,
}
RUST = """
use std::{collections::HashMap, rc::Rc, sync::Arc};
#[derive(Clone, Copy, Default)] pub struct Point { x: f64, y: f64, z: f64 }
#[inline(never)] fn points() -> Vec<Point> { let mut v = Vec::with_capacity(1000); v.push(Point::default()); v }
#[inline(never)] fn boxes() -> Vec<Box<Point>> { (0..50).map(|_| Box::new(Point { x: 1.0, y: 2.0, z: 3.0 })).collect() }
#[inline(never)] fn triples() -> Vec<(u8, u8, u8)> { let mut v = Vec::with_capacity(4115); v.push((1, 2, 3)); v }
fn main() {
    let (a, b) = (points(), boxes());
    let (c, d) = (Rc::new([a[0].x as u64; 8]), Arc::new(Point { x: a[0].z, y: 1.5, z: a[0].y }));
    let mut m: HashMap<u32, u64> = HashMap::with_capacity(500); m.insert(7, b.len() as u64);
    let s = triples();
    println!("{}", s.len() + m.len() + c[3] as usize + (d.x + d.y + d.z + b[3].x + b[3].y + b[3].z) as usize);
    std::mem::forget((a, b, c, d, m, s));
}
"""
RUST_TYPES = {"app::Point": 1000 * 24 + 50 * 24, "alloc::boxed::Box<app::Point>": 50 * 8,
              "[u64; 8] and its reference counts": 80, "app::Point and its reference counts": 40, "(u8, u8, u8)": 12345}


def types_of(recording, *lens):
    data = recording.json("--by", "type", *lens)
    for cost in ("bytes", "blocks", "allocations", "allocated_bytes", "temporary"):
        assert sum(part[cost] for part in data["parts"]) == data["totals"][cost], cost
    labels = [part["label"] for part in data["parts"]]
    assert len(labels) == len(set(labels)), labels
    assert all(part["is_rest"] == (part["label"] == "(type not known)") for part in data["parts"])
    assert [part for part in data["parts"] if part["is_rest"]] in ([], data["parts"][-1:])
    return {part["label"]: part["bytes"] for part in data["parts"]}


def recorded(tools, folder, source, name, *command):
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} here")
    (folder / name).write_text(source)
    done = subprocess.run([*command, name, "-o", "app"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(done.stderr[-300:])
    recording = tools.record(folder / "app")
    assert recording.status in (0, 1), repr(recording)
    return recording


@pytest.mark.parametrize("command", [["g++", "-g", "-O1"], ["g++", "-g", "-O2"], ["clang++", "-g", "-O1"],
                                     ["g++", "-g", "-O0"]], ids=" ".join)
def test_cpp(tools, tmp_path, command):
    recording = recorded(tools, tmp_path, CPP, "app.cpp", *command, "-std=c++17")
    types = types_of(recording, "--lens", "m=never-freed")
    # The string that was copied from is freed
    assert {label: size for label, size in types.items() if label in CPP_TYPES} == \
        {**CPP_TYPES, "char": 10 * 4001}, types
    assert types_of(recording, "--lens", "m=bytes")["char"] == CPP_TYPES["char"]
    assert "node of std::list<app::Point>" in recording.report("--by", "type")


def test_cpp_without_lines_claims_nothing_more(tools, tmp_path):
    """What is inlined is unknown then; what is left is still true."""
    for level in ("-O0", "-O2"):
        types = types_of(recorded(tools, tmp_path, CPP, "app.cpp", "g++", "-std=c++17", level), "--lens", "m=bytes")
        assert "Owner" not in types and "app::Box<long>" not in types, types
        assert all(types.get(label, 0) <= size for label, size in CPP_TYPES.items()), types
        assert types["(type not known)"] >= 1000


def test_libcxx(tools, tmp_path):
    recording = recorded(tools, tmp_path, CPP, "app.cpp", "clang++", "-g", "-O1", "-std=c++17", "-stdlib=libc++")
    types = types_of(recording, "--lens", "m=never-freed")
    assert types["app::Point"] == 24000 and types["(anonymous namespace)::Hidden"] == 4800, types
    assert types["node of std::list<app::Point>"] == 2000 and types["app::Box<long>"] == 32, types


@pytest.mark.parametrize("level", ["-Copt-level=0", "-Copt-level=2"])
@pytest.mark.parametrize("scheme", [(), ("-Csymbol-mangling-version=v0",)], ids=["usual", "v0"])
def test_rust(tools, tmp_path, level, scheme):
    """Usual names have a parameter's name alone; what it is, debug data say."""
    recording = recorded(tools, tmp_path, RUST, "app.rs", "rustc", "-Awarnings", "-g", level, *scheme)
    types = types_of(recording, "--lens", "m=never-freed")
    assert {label: size for label, size in types.items() if label in RUST_TYPES} == RUST_TYPES, types
    assert types["(u32, u64)"] > 500 * 16, types


def test_rust_with_old_names_says_no_parameter_for_a_type(tools, tmp_path):
    recording = recorded(tools, tmp_path, RUST, "app.rs", "rustc", "-Awarnings", "-Cdebuginfo=1", "-Copt-level=2")
    types = types_of(recording, "--lens", "m=never-freed")
    assert not {"T", "K", "V", "A"} & set(types), types


# What clang writes since LLVM 22, which Debian 12 does not have: each call of operator new says what it allocates, and
# calls of other functions say nothing.
CALLS = [("_Znwm", 24, "point", "app::Point"), ("_Znam", 20, "int", "int"), ("_Znam", 56, "pointer", "app::Point**"),
         ("_Znwm", 16, "pair", "app::pair<int>"), ("malloc", 32, "", ""), ("_Znwm", 40, "unnamed", ""),
         ("_Znwm", 8, "anything", "void*"), ("_Znwm", 48, "row", "int")]


def written_by_new_clang(version):
    """An assembler's text of a program with those calls, and their debug data as DWARF `version` has them."""
    form_addr, form_ref4, form_string, none = 1, 19, 8, 0
    tag, end = {4: (0x4109, 0x11), 5: (0x48, 0x7d)}[version]  # GNU's call site, by its "low pc", and that of DWARF 5
    kinds = {"unit": (0x11, 1, [(0x13, 11), (3, form_string), (0x11, form_addr), (0x12, 6)]),
             "function": (0x2e, 1, [(3, form_string), (0x11, form_addr), (0x12, 6)]),
             "namespace": (0x39, 1, [(3, form_string)]), "struct": (0x13, none, [(3, form_string)]),
             "unnamed": (0x13, none, []), "base": (0x24, none, [(3, form_string), (0x3e, 11), (0x0b, 11)]),
             "pointer": (0x0f, none, [(0x49, form_ref4)]), "anything": (0x0f, none, []),
             "const": (0x26, none, [(0x49, form_ref4)]), "array": (1, none, [(0x49, form_ref4)]),
             "call": (tag, none, [(end, form_addr)]),
             "allocating": (tag, none, [(end, form_addr), (0x3e0e, form_ref4)])}
    number = {kind: i + 1 for i, kind in enumerate(kinds)}
    code, calls = [], []
    for i, (function, size, kind, _) in enumerate(CALLS):
        code.append(f"mov ${size}, %edi; call {function}@PLT; .Lend{i}: mov %rax, kept+{8 * i}(%rip)")
        calls.append(f".uleb128 {number['allocating']}; .quad .Lend{i}; .long .L{kind} - .Lunit" if kind else
                     f".uleb128 {number['call']}; .quad .Lend{i}")
    abbreviations = [f".uleb128 {number[kind]}, {tag}; .byte {children}; .uleb128 " +
                     ", ".join(f"{name}, {form}" for name, form in [*attributes, (0, 0)])
                     for kind, (tag, children, attributes) in kinds.items()]

    def one(label, kind, *values):
        return f".L{label}: .uleb128 {number[kind]}; " + "; ".join(values)

    head = {4: ".short 4; .long .debug_abbrev; .byte 8", 5: ".short 5; .byte 1, 8; .long .debug_abbrev"}[version]
    lines = [
        ".text", ".globl main", ".type main, @function", "main: .cfi_startproc", "push %rbx", ".cfi_adjust_cfa_offset 8",
        *code, "xor %eax, %eax", "pop %rbx", "ret", ".cfi_endproc", ".Lend: .size main, . - main",
        f".comm kept, {8 * len(CALLS)}", '.section .debug_abbrev,"",@progbits', *abbreviations, ".byte 0",
        '.section .debug_info,"",@progbits', ".Lunit: .long .Lunit_end - .Lversion", f".Lversion: {head}",
        one("top", "unit", ".byte 4", '.asciz "app.cpp"', ".quad main", ".long .Lend - main"),
        one("app", "namespace", '.asciz "app"'), one("point", "struct", '.asciz "Point"'),
        one("pair", "struct", '.asciz "pair<int>"'), ".byte 0",
        one("unnamed", "unnamed"), one("int", "base", '.asciz "int"', ".byte 5, 4"),
        one("constant", "const", ".long .Lpoint - .Lunit"), one("one", "pointer", ".long .Lconstant - .Lunit"),
        one("pointer", "pointer", ".long .Lone - .Lunit"), one("anything", "anything"),
        one("row", "array", ".long .Lint - .Lunit"),
        one("main", "function", '.asciz "main"', ".quad main", ".long .Lend - main"), *calls, ".byte 0",
        ".byte 0", ".Lunit_end:", '.section .note.GNU-stack,"",@progbits']
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("version", [4, 5])
def test_types_that_a_new_clang_writes_at_calls(tools, tmp_path, version):
    recording = recorded(tools, tmp_path, written_by_new_clang(version), "app.s", "g++")
    types = types_of(recording, "--lens", "m=never-freed&focus=main")
    wanted = {}
    for _, size, _, name in CALLS:
        label = name or "(type not known)"
        wanted[label] = wanted.get(label, 0) + size
    assert types == wanted


def test_another_language_has_one_row(tools):
    recording = tools.record("/bin/sh", "-c", "true")
    assert set(types_of(recording, "--lens", "m=bytes")) <= {"(type not known)"}
    assert recording.json("--by", "type")["by"] == "class"


NIM = """
import std/posix
type
  Session = ref object
    id: int
    name: string
  Point = object
    x, y: float
var
  kept: seq[Session]
  points: seq[ref Point]
  texts: seq[string]
  lists: seq[seq[int]]
proc open(i: int) = kept.add Session(id: i)
proc mark(i: int) =
  var p: ref Point
  new(p)
  points.add p
proc write(i: int) = texts.add "a text of some length " & $i
proc list(i: int) = lists.add newSeq[int](20)
for i in 0..<4000:
  open(i)
  mark(i)
  write(i)
  list(i)
exitnow(0) # with all of them
"""


@pytest.mark.attach
@pytest.mark.parametrize("flags", [(), ("-d:release",), ("-d:useMalloc",)], ids=" ".join)
def test_objects_of_nims_refc(tools, tmp_path, flags):
    """Each is a cell: its symbol says which."""
    if not shutil.which("nim"):
        pytest.skip("nim is not installed")
    (tmp_path / "cells.nim").write_text(NIM)
    subprocess.run(["nim", "c", "--hints:off", "--gc:refc", "--debugger:native", *flags, f"--nimcache:{tmp_path}/cache",
                    f"-o:{tmp_path}/cells", tmp_path / "cells.nim"], check=True, timeout=100)
    for k in range(10):  # on a busy machine a program does not wait long enough for the look at its end
        recording = tools.record(tmp_path / "cells", name=f"cells{k}")
        data = recording.json("--limit", "1")
        if data["memory"]["looks"] and data["leaks"]["classes"]:
            break
    parts = recording.json("--by", "type", "--lens", "m=never-freed")["parts"]
    blocks = {part["label"]: part["blocks"] for part in parts}
    assert blocks["session"] == blocks["point"] == 4000 and blocks["seq[int]"] >= 4000, blocks
    assert 4000 <= blocks["string"] < 4100, blocks
    classes = [one for one in data["leaks"]["classes"] if one.get("name") == "session"]
    assert classes and all(one["kind"] == "nim" and one["blocks"] > 0 for one in classes), classes
    assert "open" in {frame["function"] for frame in classes[0]["stack"]}, classes
