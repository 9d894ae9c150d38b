"""Names: programs built by several compilers, in every form of debug data, against other readers.

Each address of the code (or a sample of them) is asked of our `symbols` (through
build/bench/bench_symbols) and of an oracle: binutils' addr2line or LLVM's symbolizer. The whole
chain must agree: the number of frames, each function, file and line. Where an oracle cannot read a
form (addr2line: split and dwz data, clang's DWARF 5), the same code in a form that it reads stands in
for it: debug options do not change code.
"""

import collections
import http.server
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from symbols_oracle import (COMPILERS, SOURCES, Programs, Resolver, code_addresses, compare, plain,
                            run)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    return Programs(tmp_path_factory.mktemp("symbols"))


@pytest.fixture
def resolver(build):
    resolver = Resolver(build)
    assert resolver.program.is_file(), "bench/bench_symbols is not built"
    return resolver



# ---- functions in two parts, of which one has no symbol when all but the dynamic ones are gone

DIVIDED = """
extern int puts(const char *);
__attribute__((cold, noinline)) int rare(int n) { return puts("rare") + n; }
#define FUNCTION(name) int name(int n) { for (int i = 0; i < n; i++) { if (n == i * 77) { n += rare(n); n ^= 5; } n += i; } return n; }
FUNCTION(first) FUNCTION(second) FUNCTION(third)
static int quiet(int n) { return first(n) + second(n) * third(n); }
int main(int n, char **words) { return quiet(n); }
"""


def parts_of(program):
    """Of the parts without a symbol in .dynsym: their addresses, and of which function they are."""
    for line in run("nm", "-S", program)[0].splitlines():
        found = re.match(r"(\w+) (\w+) t (\S+?)\.cold", line)
        if found:
            start, size = int(found[1], 16), int(found[2], 16)
            yield from ((start + i, found[3]) for i in range(1, size, max(1, size // 8)))


def test_parts_of_stripped_functions(programs, resolver):
    source = programs.folder / "divided.c"
    source.write_text(DIVIDED, encoding="utf-8")
    program = programs.folder / "divided"
    run("gcc", "-O2", "-rdynamic", "-o", program, source)
    parts = dict(parts_of(program))
    assert {"first", "second", "third"} <= set(parts.values())
    run("strip", program)
    answers = resolver.ask(program, list(parts))
    assert {a: answers[a][0][0] for a in parts} == parts


# ---- forms of debug data that both read

DIRECT = {
    "gcc-O0": ("gcc", "-g", "-O0"),
    "gcc-O2": ("gcc", "-g", "-O2"),
    "gcc-O3-lto": ("gcc", "-g", "-O3", "-flto"),
    "gcc-dwarf4": ("gcc", "-gdwarf-4", "-O2"),
    "gcc-dwarf5": ("gcc", "-gdwarf-5", "-O2"),
    "gcc-g1": ("gcc", "-g1", "-O2"),
    "gcc-gz": ("gcc", "-g", "-gz", "-O2"),
    "gcc-type-units": ("gcc", "-gdwarf-4", "-fdebug-types-section", "-O2"),
    "clang-O0": ("clang", "-g", "-O0"),
    "clang-O2": ("clang", "-g", "-O2"),
    "clang-O3-lto": ("clang", "-g", "-O3", "-flto", "-fuse-ld=lld"),
    "clang-dwarf4": ("clang", "-gdwarf-4", "-O2"),
    "clang-dwarf5": ("clang", "-gdwarf-5", "-O2"),
    "clang-lines-only": ("clang", "-gline-tables-only", "-O2"),
    "clang-gz": ("clang", "-g", "-gz", "-O2"),
}


@pytest.mark.parametrize("form", DIRECT)
def test_equals_llvm(form, programs, resolver):
    program = programs.get(*DIRECT[form])
    assert compare(resolver, program, program, "llvm", code_addresses(program)) > 0.88


# addr2line (binutils 2.40) loses inlined calls of clang's DWARF 5 (ranges by index): not asked there
@pytest.mark.parametrize("form", [f for f in DIRECT if f.startswith("gcc") or f in
                                  ("clang-O0", "clang-dwarf4")])
def test_equals_addr2line(form, programs, resolver):
    program = programs.get(*DIRECT[form])
    assert compare(resolver, program, program, "addr2line", code_addresses(program)) > 0.95


@pytest.mark.parametrize("linker, more", [
    ("gold", ("-Wl,--gc-sections", "-Wl,--icf=all")), ("lld", ("-Wl,--gc-sections",))])
def test_other_linkers(linker, more, programs, resolver):
    """Thrown-away sections leave tombstones behind."""
    program = programs.get("gcc", "-g", "-O2", "-ffunction-sections",
                           link=(f"-fuse-ld={linker}", *more))
    assert compare(resolver, program, program, "llvm", code_addresses(program)) > 0.95


# ---- rust

def knows(*flags):
    return subprocess.run(["rustc", *flags, "--print", "sysroot"], capture_output=True,
                          check=False).returncode == 0


@pytest.mark.parametrize("flags", [
    ("-Cdebuginfo=2", "-Copt-level=2"),
    ("-Cdebuginfo=2", "-Copt-level=0"),
    ("-Cdebuginfo=1", "-Copt-level=2"),
    ("-Cdebuginfo=line-tables-only", "-Copt-level=2"),
    ("-Cdebuginfo=2", "-Copt-level=2", "-Zunstable-options", "-Csymbol-mangling-version=legacy"),
    ("-Cdebuginfo=2", "-Copt-level=2", "-Csymbol-mangling-version=v0"),
], ids=lambda flags: "-".join(f.split("=")[-1] for f in flags))
def test_rust(flags, programs, resolver):
    if "-Cdebuginfo=line-tables-only" in flags and not knows(*flags):
        pytest.skip("this rustc has no line tables alone")
    program = programs.rust(*flags)
    addresses = code_addresses(program)
    assert compare(resolver, program, program, "llvm", addresses) > 0.9
    for frames in resolver.ask(program, addresses).values():
        for function, *_ in frames:
            assert not re.search(r"17h[0-9a-f]{16}|::h[0-9a-f]{16}|\[[0-9a-f]{8,}\]|^_R|^_ZN",
                                 function), function


# ---- split DWARF

@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("version", [4, 5])
def test_split(compiler, version, programs, resolver):
    flags = (f"-gdwarf-{version}", "-O2")
    whole = programs.get(compiler, *flags)
    split = programs.get(compiler, *flags, "-gsplit-dwarf")
    addresses = code_addresses(whole)
    assert code_addresses(split) == addresses
    assert compare(resolver, split, whole, "llvm", addresses) > 0.95


def test_split_compressed_and_with_type_units(programs, resolver):
    whole = programs.get("clang", "-gdwarf-5", "-O2")
    split = programs.get("clang", "-gdwarf-5", "-O2", "-gsplit-dwarf", "-fdebug-types-section",
                         "-gz")
    assert compare(resolver, split, whole, "llvm", code_addresses(whole)) > 0.95


@pytest.mark.parametrize("compiler, version, packer", [
    ("gcc", 4, "dwp"), ("gcc", 5, "llvm-dwp"), ("clang", 5, "llvm-dwp")])
def test_split_package(compiler, version, packer, programs, resolver):
    flags = (f"-gdwarf-{version}", "-O2")
    whole = programs.get(compiler, *flags)
    # A linker's option that changes nothing: a build of its own, whose .dwo files may go
    split = programs.get(compiler, *flags, "-gsplit-dwarf", link=("-Wl,-O1",))
    run(packer, "-e", split, "-o", f"{split}.dwp", cwd=split.parent)
    for half in split.parent.glob(f"{split.name}.objects/*.dwo"):
        half.unlink()
    assert compare(resolver, split, whole, "llvm", code_addresses(whole)) > 0.95


def test_split_without_its_other_half(programs, resolver):
    split = programs.get("gcc", "-gdwarf-5", "-O2", "-gsplit-dwarf", link=("-Wl,-O2",))
    for half in split.parent.glob(f"{split.name}.objects/*.dwo"):
        half.unlink()
    addresses = code_addresses(split)
    answers = resolver.ask(split, addresses)
    assert all(len(frames) == 1 for frames in answers.values())
    assert sum(frames[0][3] > 0 for frames in answers.values()) > 0.9 * len(addresses)


# ---- files apart

def test_dwz(programs, resolver):
    """Debug data of two programs, the shared part in a file of its own; and of one, in itself."""
    folder = programs.folder / "dwz"
    folder.mkdir()
    first, second = programs.get("gcc", "-g", "-O2"), programs.get("gcc", "-gdwarf-5", "-O2", "-gz=none")
    one = Path(shutil.copy(first, folder / "one"))
    two = Path(shutil.copy(second, folder / "two"))
    run("dwz", "-m", "common", one.name, two.name, cwd=folder)
    addresses = code_addresses(first)
    assert compare(resolver, one, first, "llvm", addresses) > 0.95
    assert compare(resolver, two, second, "llvm", code_addresses(second)) > 0.95
    (folder / "common").rename(folder / "elsewhere")
    without = resolver.ask(one, addresses)
    assert all(frames and frames[-1][0] != "??" for frames in without.values())
    # Another file under that name is not used
    shutil.copy(two, folder / "common")
    assert resolver.ask(one, addresses) == without
    alone = programs.copy(first, "alone")
    run("dwz", alone)
    assert compare(resolver, alone, first, "llvm", addresses) > 0.95


def build_id(path):
    return re.search(r"Build ID: (\w+)", run("readelf", "-n", path)[0])[1]


def separate(programs, name, program):
    stripped = programs.copy(program, name)
    debug = programs.folder / f"{name}.debug"
    run("objcopy", "--only-keep-debug", stripped, debug)
    run("strip", stripped)
    return stripped, debug


def test_separate_by_build_id(programs, resolver):
    whole = programs.get("gcc", "-g", "-O2")
    stripped, debug = separate(programs, "by-id", whole)
    addresses = code_addresses(whole)
    identity = build_id(whole)
    assert not any(resolver.ask(stripped, addresses).values())
    for root, option in ((programs.folder / "debugs", "--debug-path"),
                         (programs.folder / "root" / "usr/lib/debug", "--sysroot")):
        place = root / ".build-id" / identity[:2]
        place.mkdir(parents=True)
        shutil.copy(debug, place / f"{identity[2:]}.debug")
        given = root if option == "--debug-path" else programs.folder / "root"
        assert compare(resolver, stripped, whole, "llvm", addresses, option, given) > 0.95
    # The module itself is gone: its debug file alone will do
    gone = programs.folder / "gone"
    answers = resolver.ask(gone, addresses, "--build-id", identity, "--debug-path",
                           programs.folder / "debugs")
    assert answers == resolver.ask(whole, addresses)
    # A debug file of another build in that place is refused
    other = programs.get("gcc", "-g", "-O0")
    shutil.copy(other, programs.folder / "debugs/.build-id" / identity[:2] / f"{identity[2:]}.debug")
    assert not any(resolver.ask(stripped, addresses, "--debug-path",
                                programs.folder / "debugs").values())


@pytest.mark.parametrize("has_build_id", [True, False])
def test_separate_by_link(has_build_id, programs, resolver):
    whole = programs.get("gcc", "-g", "-O2", *(() if has_build_id else ("-Wl,--build-id=none",)))
    stripped, debug = separate(programs, f"by-link-{has_build_id}", whole)
    run("objcopy", f"--add-gnu-debuglink={debug}", stripped)
    addresses = code_addresses(whole)
    assert compare(resolver, stripped, whole, "llvm", addresses) > 0.95
    hidden = debug.parent / f".debug-{has_build_id}"
    hidden.mkdir()
    debug = debug.rename(hidden / debug.name)
    assert not any(resolver.ask(stripped, addresses).values())
    assert any(resolver.ask(stripped, addresses, "--debug-path", hidden).values())
    # Damage in it: refused by the checksum, where there is no build-id that says more
    if not has_build_id:
        with open(debug, "ab") as file:
            file.write(b"!")
        assert not any(resolver.ask(stripped, addresses, "--debug-path", hidden).values())


def test_other_build_is_never_used(programs, resolver):
    program, other = programs.get("gcc", "-g", "-O2"), programs.get("gcc", "-g", "-O0")
    addresses = code_addresses(program)
    assert any(resolver.ask(program, addresses, "--build-id", build_id(program)).values())
    assert not any(resolver.ask(program, addresses, "--build-id", build_id(other)).values())
    assert resolver.cost["unresolved"] == "1"
    # The right one is below the sysroot, under the same path
    root = programs.folder / "image"
    place = root / str(program).lstrip("/")
    place.parent.mkdir(parents=True)
    shutil.copy(other, place)
    answers = resolver.ask(program, addresses, "--build-id", build_id(other), "--sysroot", root)
    assert answers == resolver.ask(place, addresses)


def test_minidebuginfo(programs, resolver):
    """Function names of a stripped program, packed into it, as Fedora does."""
    whole = programs.get("gcc", "-g", "-O2")
    mini, debug = separate(programs, "mini", whole)
    names = programs.folder / "mini.names"
    keep = programs.folder / "mini.keep"
    keep.write_text("".join(row.split()[-1] + "\n" for row in
                            run("nm", "--defined-only", whole)[0].splitlines()
                            if row.split()[-2] in "tTwW"))
    run("objcopy", "-S", f"--keep-symbols={keep}", debug, names)
    run("xz", "-f", "-k", programs.folder / "mini.names")
    run("objcopy", f"--add-section=.gnu_debugdata={programs.folder}/mini.names.xz", mini)
    addresses = code_addresses(whole)
    named = programs.copy(whole, "named")
    run("strip", "--strip-debug", named)
    want = resolver.ask(named, addresses)
    assert resolver.ask(mini, addresses) == want and any(want.values())


# ---- compressed data, of which only the units that are asked for are listed

def assert_one_by_one(resolver, module, addresses, whole, *options):
    """Each address alone, in a process of its own, and a few together: as all of them."""
    for address in addresses:
        assert resolver.ask(module, [address], *options) == {address: whole[address]}
    draw = random.Random(5)
    for _ in range(10):
        some = sorted(draw.sample(addresses, 5))
        assert resolver.ask(module, some, *options) == {a: whole[a] for a in some}


def test_parts_of_compressed_debug_data(programs, resolver):
    """The C library's, as Debian has it, against the same file decompressed."""
    libc = Path(re.search(r"libc\.so\.6 => (\S+)", run("ldd", "/bin/ls")[0])[1]).resolve()
    identity = build_id(libc)
    packed = Path(f"/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug")
    if not packed.exists():
        pytest.skip("libc6-dbg is not installed")
    assert " C " in run("readelf", "-SW", packed)[0]
    place = programs.folder / "libc" / ".build-id" / identity[:2]
    place.mkdir(parents=True)
    run("objcopy", "--decompress-debug-sections", packed, place / packed.name)
    addresses = code_addresses(libc)
    whole = resolver.ask(libc, addresses, "--debug-path", programs.folder / "libc")
    assert resolver.ask(libc, addresses) == whole
    assert sum(frames != [] and frames[0][3] > 0 for frames in whole.values()) > 0.95 * len(addresses)
    # The last one first
    assert resolver.ask(libc, addresses[::-1]) == whole
    assert_one_by_one(resolver, libc, addresses[::len(addresses) // 60], whole)
    main = dynamic_functions(libc)["__libc_start_main"]
    resolver.ask(libc, [main + 8])
    print(resolver.cost)
    assert float(resolver.cost["peak_rss_mb"]) < 20, "a dozen MB of sections on top of five"


@pytest.mark.parametrize("compiler, flags", [("gcc", ("-gdwarf-4",)), ("gcc", ("-gdwarf-5",)),
                                             ("gcc", ("-g", "-flto")), ("clang", ("-gdwarf-5",)),
                                             ("clang", ("-gdwarf-4", "-gdwarf-aranges"))])
def test_parts_of_a_compressed_program(compiler, flags, programs, resolver):
    """With and without .debug_aranges, with units that refer to each other."""
    plain_program = programs.get(compiler, *flags, "-O2")
    program = programs.copy(plain_program, f"{plain_program.name}.packed")
    run("objcopy", "--compress-debug-sections", program)
    addresses = code_addresses(plain_program)
    whole = resolver.ask(plain_program, addresses)
    assert resolver.ask(program, addresses) == whole
    assert_one_by_one(resolver, program, addresses[::len(addresses) // 40], whole)


def test_misleading_aranges(programs, resolver):
    """Each set of ranges names the unit of another one: answers are those of the units."""
    plain_program = programs.get("gcc", "-gdwarf-5", "-O2")
    program = programs.copy(plain_program, "misled")
    dump = programs.folder / "misled.aranges"
    run("objcopy", f"--dump-section=.debug_aranges={dump}", program)
    table, places, at = bytearray(dump.read_bytes()), [], 0
    while at < len(table):
        places.append(at + 6)  # behind length and version
        at += 4 + int.from_bytes(table[at:at + 4], "little")
    units = [bytes(table[p:p + 4]) for p in places]
    assert len(set(units)) >= 3
    for place, unit in zip(places, units[1:] + units[:1]):
        table[place:place + 4] = unit
    dump.write_bytes(table)
    run("objcopy", f"--update-section=.debug_aranges={dump}", program)
    run("objcopy", "--compress-debug-sections", program)
    addresses = code_addresses(plain_program)
    whole = resolver.ask(plain_program, addresses)
    assert_one_by_one(resolver, program, addresses[::len(addresses) // 40], whole)


# ---- names

def test_names_are_those_of_cxxfilt(programs, resolver):
    """Ours are demangled as c++filt does it, but for the suffixes of copies."""
    program = programs.get("gcc", "-g", "-O2")
    names = {(function, plain(symbol))
             for frames in resolver.ask(program, code_addresses(program)).values()
             for function, symbol, *_ in frames if symbol.startswith("_Z")}
    out, _ = run("c++filt", stdin="\n".join(symbol for _, symbol in names))
    assert [function for function, _ in names if function != "_Zebra"] == \
        [line for line in out.splitlines() if line != "_Zebra"]
    assert len(names) > 100


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [("-g", "-O0"), ("-g", "-O2"), ("-O1",)], ids="".join)
def test_c_functions_stay_c(compiler, flags, programs, resolver):
    program = programs.get(compiler, *flags)
    at = {line.split()[-1]: int(line.split()[0], 16)
          for line in run("nm", "--defined-only", program)[0].splitlines()}
    answers = resolver.ask(program, [at["plain_c"], at["_Zebra"], at["main"]])
    assert answers[at["_Zebra"]][-1][:2] == ("_Zebra", "_Zebra")
    assert answers[at["plain_c"]][-1][:2] == ("plain_c", "plain_c")
    assert answers[at["main"]][-1][0] == "main"


def test_hidden_functions_have_scopes(programs, resolver):
    """No linkage name in the debug data (gcc, inside a unit): the scopes are ours to add."""
    program = programs.get("gcc", "-g", "-O2")
    functions = {f for frames in resolver.ask(program, code_addresses(program, 10**6)).values()
                 for f, *_ in frames}
    assert "outer::inner::adder" in functions
    assert "(anonymous namespace)::throwing" in functions or \
        "(anonymous namespace)::throwing(int)" in functions
    assert not any(f in ("adder", "throwing", "operator()") for f in functions), functions


def test_return_addresses(programs, resolver):
    """Looked up one byte before: the call, not what follows it."""
    program = programs.get("gcc", "-g", "-O2")
    addresses = code_addresses(program)
    exact = resolver.ask(program, [a - 1 for a in addresses])
    returns = resolver.ask(program, addresses, "--returns")
    assert [returns[a] for a in addresses] == [exact[a - 1] for a in addresses]


def test_open_file_of_a_deleted_program(programs, resolver):
    """Only its descriptor is left; what lies at its path now is another program."""
    program = programs.get("gcc", "-g", "-O2")
    addresses = code_addresses(program)
    deleted = programs.copy(program, "deleted")
    fd = os.open(deleted, os.O_RDONLY)
    deleted.unlink()
    shutil.copy("/bin/true", deleted)
    done = subprocess.run([resolver.program, "--print", "--fd", f"/proc/self/fd/{fd}"],
                          input="\n".join(f"{a:x}" for a in addresses), text=True,
                          capture_output=True, pass_fds=[fd], check=True)
    os.close(fd)
    out, _ = run(resolver.program, "--print", program,
                 stdin="\n".join(f"{a:x}" for a in addresses))
    assert done.stdout == out


# ---- the network

class Servant(http.server.BaseHTTPRequestHandler):
    asked = []

    def do_GET(self):
        Servant.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *_):
        pass


def test_no_server_is_asked(programs, resolver, tmp_path):
    whole = programs.get("gcc", "-g", "-O2")
    stripped, _ = separate(programs, "served", whole)
    addresses = code_addresses(whole)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Servant)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Servant.asked.clear()
    env = {**os.environ, "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}",
           "DEBUGINFOD_CACHE_PATH": str(tmp_path), "no_proxy": "*", "NO_PROXY": "*"}
    try:
        assert not any(resolver.ask(stripped, addresses, env=env).values())
        resolver.ask(whole, addresses, env=env)
        assert Servant.asked == []
    finally:
        server.shutdown()
        server.server_close()


# ---- stripped programs of the system, and size

def dynamic_functions(path):
    """name -> address, of functions with a size"""
    found = {}
    for line in run("nm", "-D", "--defined-only", "--print-size", path)[0].splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "TW" and int(words[1], 16) > 1:
            found[words[3].split("@")[0]] = int(words[0], 16)
    return found


@pytest.mark.parametrize("pattern", ["/usr/bin/node", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so*",
                                     "/usr/lib/x86_64-linux-gnu/libclang-cpp.so*"])
def test_system_binaries_by_dynamic_symbols(pattern, resolver):
    paths = sorted(Path("/").glob(pattern.lstrip("/")))
    if not paths:
        pytest.skip(f"no {pattern}")
    functions = dynamic_functions(paths[0].resolve())
    by_address = collections.defaultdict(set)
    for name, address in functions.items():
        by_address[address].add(plain(name))
    addresses = sorted(random.Random(2).sample(sorted(by_address), min(20000, len(by_address))))
    answers = resolver.ask(paths[0].resolve(), [a + 1 for a in addresses])
    print(paths[0].name, resolver.cost)
    wrong = [a for a in addresses if not answers[a + 1] or
             plain(answers[a + 1][-1][1]).split("@")[0] not in by_address[a]]
    assert not wrong, [(hex(a), answers[a + 1], by_address[a]) for a in wrong[:5]]
    assert float(resolver.cost["cpu_ms"]) < 3000


def big_program(folder, megabytes, *more):
    sys.path.insert(0, str(SOURCES.parents[2] / "bench"))
    import make_big_debug
    program = folder / "big"
    size = make_big_debug.make(program, megabytes, *more)
    assert size > 0.85e6 * megabytes
    return program


def big_answers(resolver, program, n):
    """Function addresses spread over all units, within the budget of memory and time."""
    rows = [row.split() for row in
            run("nm", "--defined-only", "--print-size", program)[0].splitlines()]
    at = sorted({int(row[0], 16) + 9 for row in rows
                 if len(row) == 4 and row[2] in "tTW" and int(row[1], 16) > 9})
    addresses = at if len(at) <= n else sorted(random.Random(3).sample(at, n))
    answers = resolver.ask(program, addresses)
    print(resolver.cost)
    assert float(resolver.cost["peak_rss_mb"]) <= 300
    assert float(resolver.cost["wall_ms"]) <= 15000
    return addresses, answers


@pytest.mark.serial
@pytest.mark.timeout(600)
def test_big(tmp_path, resolver):
    program = big_program(tmp_path, 100)
    addresses, answers = big_answers(resolver, program, 5000)
    assert float(resolver.cost["peak_rss_mb"]) <= 120
    sample = sorted(random.Random(4).sample(addresses, 500))
    compare(resolver, program, program, "addr2line", sample)
    assert {a: answers[a] for a in sample} == resolver.ask(program, sample)


@pytest.mark.long
@pytest.mark.serial
@pytest.mark.timeout(3600)
def test_a_gigabyte(tmp_path, resolver):
    big_answers(resolver, big_program(tmp_path, 1050, "gold"), 20000)
