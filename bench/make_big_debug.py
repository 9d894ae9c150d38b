#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Make a program with as much DWARF as asked for: make_big_debug.py OUT MEGABYTES

One C++ unit full of templates (-O2 -g) is compiled once, to assembler text. Each further unit is a
copy of the text with its namespace renamed, so that its functions are its own, while the standard
library's instances are shared and thrown away by the linker, as in a real program.
"""

import concurrent.futures
import os
import subprocess
import sys
import tempfile
from pathlib import Path

UNIT = r"""
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
namespace unit_00000 {
template <int N> struct key {
	std::string name;
	int n;
	bool operator<(const key &o) const { return n < o.n || (n == o.n && name < o.name); }
	bool operator==(const key &o) const { return n == o.n && name == o.name; }
};
template <int N> struct hash {
	std::size_t operator()(const key<N> &k) const { return std::hash<std::string>{}(k.name) + N; }
};
template <int N> long work(int argc, char **argv) {
	std::map<key<N>, std::vector<key<N>>> tree;
	std::unordered_map<key<N>, std::set<key<N>>, hash<N>> table;
	std::vector<std::function<long(const key<N> &)>> calls;
	std::variant<std::string, key<N>, std::vector<key<N>>> one = key<N>{"x", argc};
	for (int i = 0; i < argc; i++) {
		key<N> k{argv[i], i * N};
		tree[k].push_back(k);
		table[k].insert(k);
		calls.push_back([k, argc](const key<N> &o) { return (long)(k.n + o.n * argc); });
	}
	long sum = 0;
	for (auto &[k, list] : tree) {
		std::sort(list.begin(), list.end());
		std::stable_sort(list.rbegin(), list.rend());
		sum += std::accumulate(list.begin(), list.end(), 0L,
				[](long s, const key<N> &e) { return s + e.n; });
		for (auto &c : calls) {
			sum += c(k);
		}
	}
	return sum + (long)table.size() + (long)one.index();
}
long all(int argc, char **argv) {
	std::regex r("(a|b)*c[0-9]+");
	std::smatch m;
	std::string s = argv[0];
	return std::regex_search(s, m, r) + WORK;
}
}
""".replace("#include <memory>", "#include <memory>\n#include <numeric>").replace(
    "WORK", " + ".join(f"work<{n}>(argc, argv)" for n in range(8)))

MAIN = "{declare}int main(int c, char **v) {{ long s = 0; {call} return s == 42; }}\n"


def run(*command):
    subprocess.run(command, check=True)


def debug_bytes(path):
    out = subprocess.run(["size", "-A", path], check=True, capture_output=True, text=True).stdout
    return sum(int(line.split()[1]) for line in out.splitlines() if line.startswith(".debug"))


def make_copy(folder, text, n):
    source, unit = folder / f"{n}.s", folder / f"{n}.o"
    source.write_bytes(text.replace(b"unit_00000", b"unit_%05d" % n))
    run("as", "-o", unit, source)
    source.unlink()


def make(out, megabytes, linker=None, compiler="g++", options=("-O2", "-g")):
    with tempfile.TemporaryDirectory(dir=Path(out).resolve().parent) as name:
        folder = Path(name)
        (folder / "unit.cpp").write_text(UNIT)
        run(compiler, "-std=c++17", *options, "-S", "-o", folder / "unit.s", folder / "unit.cpp")
        text = (folder / "unit.s").read_bytes()
        make_copy(folder, text, 0)
        n_units = max(1, round(megabytes * 1e6 / debug_bytes(folder / "0.o")))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda n: make_copy(folder, text, n), range(1, n_units)))
        units = range(n_units)
        (folder / "main.cpp").write_text(MAIN.format(
            declare="".join(f"namespace unit_{n:05} {{ long all(int, char **); }}\n" for n in units),
            call=" ".join(f"s += unit_{n:05}::all(c, v);" for n in units)))
        run(compiler, *([f"-fuse-ld={linker}"] if linker else []), "-o", out,
            folder / "main.cpp", *(folder / f"{n}.o" for n in units))
    return debug_bytes(out)


if __name__ == "__main__":
    print(f"{make(sys.argv[1], float(sys.argv[2]), *sys.argv[3:4]) / 1e6:.0f} MB of DWARF")
