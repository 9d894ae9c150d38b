"""The programs of both forms: name, Debian package, command, and what more is to be known of each.

A command runs in a folder that holds the inputs whose names it contains (inputs.py) and `files`.
`{port}` is a free port of the loopback address, `$(...)` what a shell says. `judged` is what KDE's
recorder is given where it loses the program in an exec. A server has a `client`.

    tests/wild/programs.py --packages       what the long form installs, for tools/install-packages
"""

import sys

import pytest

from program import P
from programs_long import LONG

PERL = """my (%words, $text); for my $i (1 .. 9000) { $words{"w" . ($i * 7919 % 1007)} .= "x$i,"; }
for my $word (sort keys %words) { $text .= join("-", reverse split /,/, $words{$word}); }
print length($text), "\\n";"""

PYTHON = """import collections, csv, re, sqlite3, zlib, xml.etree.ElementTree as tree
rows = list(csv.DictReader(open("rows.csv")))
base = sqlite3.connect(":memory:")
base.execute("create table t(a, b)")
base.executemany("insert into t values(?, ?)", [(r["tag"], r["score"]) for r in rows])
print(base.execute("select a, count(*) from t group by a order by 1").fetchall())
print(len(zlib.compress(repr(rows).encode())), len(list(tree.parse("page.xml").iter("row"))))
print(collections.Counter(re.findall(r"\\w+", open("rows.csv").read())).most_common(3))"""

NODE = """const fs = require("fs"), zlib = require("zlib"), crypto = require("crypto");
const rows = JSON.parse(fs.readFileSync("rows.json"));
const tags = {}; for (const r of rows) (tags[r.tag] ??= []).push(r.score);
const packed = zlib.gzipSync(JSON.stringify(tags));
console.log(packed.length, crypto.createHash("sha256").update(zlib.gunzipSync(packed)).digest("hex"));"""

TCL = """set words [dict create]
foreach line [split [read [open words.txt]] \\n] { foreach w $line { dict incr words $w } }
foreach w [lsort [dict keys $words]] { append out "$w [dict get $words $w] " }
puts [string length $out]; puts [llength [regexp -all -inline {\\w+} $out]]"""

# --- the short form: installed with the other tests' tools, or so light that it does not matter

SHORT = [
    # interpreters
    P("perl", "perl", "perl work.pl", files={"work.pl": PERL}),
    P("python", "python3", "python3 -S work.py", files={"work.py": PYTHON}),
    P("python-malloc", "python3", "python3 -S work.py", files={"work.py": PYTHON},
      env={"PYTHONMALLOC": "malloc"}),
    P("compileall", "python3", "python3 -m compileall -q -f module.py"),
    P("node", "nodejs", "node work.js", files={"work.js": NODE}),
    P("tcl", "tcl", "tclsh work.tcl", files={"work.tcl": TCL}),
    P("bash", "bash", "bash work.sh", files={"work.sh":
      "declare -A n; for i in {1..3000}; do n[k$((i % 97))]+=$i,; done; echo ${#n[@]} ${#n[k5]}"}),
    P("dash", "dash", "dash work.sh", files={"work.sh":
      "i=0; while [ $i -lt 1500 ]; do a=\"$a$i,\"; i=$((i+1)); done; echo ${#a}; a=\n"
      "while [ $i -gt 0 ]; do a=$i; i=$((i-1)); done"}),
    P("mawk", "mawk", "mawk '{for (i = 1; i < NF; i++) n[$i]++} END {print n[\"heap\"], n[\"tree\"]}' "
      "words.txt"),
    P("bc", "bc", "bc -lq work.bc", files={"work.bc": "scale=300\n4*a(1)\n2^4000\nquit\n"}),
    P("gdb", "gdb", "gdb -nx -batch -ex 'info line main' -ex 'info functions f1' -ex 'ptype main' prog",
      before="gcc -g -o prog prog.c"),
    P("vim", "vim", "vim -Nu NONE -es -S work.vim words.txt", files={"work.vim":
      "%s/heap/pile/g\ng/stack/normal ddp\n%sort\nwrite! out.txt\nquitall!\n"}),
    P("ed", "ed", "ed -s words.txt", stdin="work.ed", files={"work.ed":
      "g/heap/s/heap/pile/g\n1,100m$\n1,500p\nQ\n"}, before="echo work.ed", same_output=True),
    # compilers and what belongs to them
    P("gcc", "gcc", "gcc -O1 -S -o - prog.c"),
    P("cc1", "gcc", "$(gcc -print-prog-name=cc1) -quiet -O2 prog.c -o - -imultiarch "
      "$(gcc -print-multiarch)"),
    P("cc1plus", "g++", "$(g++ -print-prog-name=cc1plus) -quiet -O1 prog.cpp -o - -D_GNU_SOURCE "
      "-imultiarch $(gcc -print-multiarch)"),
    P("as", "binutils", "as -o prog.o prog.s", before="gcc -S prog.c"),
    P("ld", "binutils", "$(gcc -print-prog-name=ld) -r -o both.o prog.o prog2.o",
      before="gcc -g -c prog.c; g++ -g -Dmain=other -c -o prog2.o prog.cpp"),
    P("gold", "binutils", "ld.gold -r -o both.o prog.o prog2.o",
      before="gcc -g -c prog.c; g++ -g -Dmain=other -c -o prog2.o prog.cpp"),
    P("objdump", "binutils", "objdump -dSr prog.o", before="g++ -g -c prog.cpp"),
    P("nm", "binutils", "nm -C prog.o", before="g++ -g -c prog.cpp"),
    P("readelf", "binutils", "readelf -aw prog.o", before="gcc -g -c prog.c"),
    P("clang", "clang", "clang -O1 -S -o - prog.c"),
    P("llvm-dwarfdump", "llvm", "llvm-dwarfdump prog.o", before="gcc -g -c prog.c"),
    P("dwz", "dwz", "dwz -o out prog", before="g++ -g -o prog prog.cpp"),
    P("make", "make", "make -j2 -s", files={"Makefile":
      "all: prog2\nprog.o: prog.c\n\t$(CC) -c -o $@ $<\nprog2: prog.o\n\t$(CC) -o $@ $<\n"}),
    P("ninja", "ninja-build", "ninja --quiet", files={"build.ninja": "rule t\n  command = touch $out\n"
      + "".join(f"build o{i}: t\n" for i in range(40))}),
    P("meson", "meson", "meson setup out", files={"meson.build":
      "project('p')\nforeach i : range(50)\n  configure_file(output: 'f@0@'.format(i), "
      "configuration: {'a': i})\nendforeach\n"}, same_output=False),
    P("pkg-config", "pkg-config", "pkg-config --list-all"),
    # data
    P("jq", "jq", "jq -c 'group_by(.tag) | map({t: .[0].tag, n: length})' rows.json"),
    P("sqlite3", "sqlite3", "sqlite3 :memory:", stdin="rows.sql"),
    P("sort", "coreutils", "sort --parallel=1 -k3 -k5n words.txt"),
    P("grep", "grep", "grep -E '(heap|stack) .*(tree|token)' words.txt"),
    P("sed", "sed", "sed -E 's/(heap|stack) ([a-z]+)/\\2 \\1/g; $!N; P; D' words.txt"),
    P("diff", "diffutils", "diff words.txt other.txt", status=1,
      before="sed 's/heap/pile/' words.txt > other.txt"),
    P("patch", "patch", "patch words.txt change", status=0,
      before="sed '7~90s/heap/pile/' words.txt > other.txt; diff -u words.txt other.txt > change; :"),
    P("find", "findutils", "find forest -name '*3*' -newer forest/d0 -o -size +3k -print",
      same_output=False),
    P("git-log", "git", "git log -p --stat --oneline", before="git init -q .; git config user.name a; "
      "git config user.email a@b.example; for i in 1 2 3 4 5 6 7 8; do seq $i 400 > f$i; git add f$i; "
      "git commit -qm $i; done"),
    P("git-pack", "git", "git -c pack.threads=1 repack -adfq", before="git init -q .; git config user.name a; "
      "git config user.email a@b.example; git add forest; git commit -qm all"),
    P("xz", "xz-utils", "xz -T1 -c words.txt"),
    P("zstd", "zstd", "zstd -q --single-thread -9 -c words.txt"),
    P("tar", "tar", "tar -cf out.tar forest"),
    P("unzip", "unzip", "unzip -qo forest.zip", before="python3 -m zipfile -c forest.zip forest"),
    P("openssl", "openssl", "openssl x509 -in cert.pem -noout -text", before="openssl req -x509 -newkey "
      "rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=a.example -days 9 2>/dev/null"),
    P("gpg", "gnupg", "gpg --batch --homedir keys --print-md SHA512 words.txt", before="mkdir -m 700 keys"),
    P("file", "file", "file prog.c page.xml rows.json words.txt photo.png forest.tar tone.wav"),
    P("man", "man-db", "man --nj -l page.1", files={"page.1":
      ".TH PAGE 1\n" + "".join(f".SH PART {i}\n.B bold\ntext \\fIitalic\\fP\n" for i in range(80))}),
    P("groff", "groff-base", "groff -Tascii -man page.1", files={"page.1":
      ".TH PAGE 1\n" + "".join(f".SH PART {i}\n.B bold\ntext\n" for i in range(80))}),
    P("troff", "groff-base", "troff -Tascii -man page.1", files={"page.1":
      ".TH PAGE 1\n" + "".join(f".SH PART {i}\n.B bold\ntext\n" for i in range(80))}),
    P("identify", "imagemagick", "identify -verbose photo.png", same_output=False),
    P("convert", "imagemagick", "convert photo.ppm -resize 50% -blur 2 -rotate 9 out.png",
      env={"MAGICK_THREAD_LIMIT": "1"}),
    P("tic", "ncurses-bin", "tic -o out xterm.ti", before="infocmp xterm > xterm.ti"),
    P("msgfmt", "gettext", "msgfmt -o out.mo words.po", files={"words.po":
      'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n' + "".join(
          f'msgid "message {i}"\nmsgstr "Nachricht {i}"\n\n' for i in range(900))}),
    P("dpkg-query", "dpkg", "dpkg-query -W -f '${Package} ${Version}\\n'"),
    P("apt-config", "apt", "apt-config dump"),
    P("nim", "nim", "nim check --hints:off --nimcache:cache work.nim", files={"work.nim":
      "import strutils, tables\nvar t = initTable[string, int]()\n"
      "for w in readFile(\"words.txt\").splitWhitespace: t.mgetOrPut(w, 0).inc\necho t.len\n"}),
    # servers
    P("redis", "redis-server", "redis-server --port 0 --unixsocket redis.sock --save '' --dir .",
      ready="redis.sock", client="redis-benchmark -s redis.sock -q -n 3000 -c 10 -t set,lpush,hset -r 500",
      same_output=False),
    P("nginx", "nginx-light", "nginx -p . -c nginx.conf -e err.log", files={"nginx.conf":
      "daemon off; master_process off; pid nginx.pid; error_log err.log;\nevents {}\n"
      "http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; "
      "uwsgi_temp_path t4; scgi_temp_path t5; server { listen 127.0.0.1:{port}; root .; gzip on; "
      "gzip_types *; } }\n"}, ready="nginx.pid",
      client="for i in 1 2 3 4 5; do curl -sf --compressed -o got http://127.0.0.1:{port}/words.txt "
             "|| exit 1; done"),
    P("curl", "curl", "curl -s --proto =file file:///etc/services"),
]

# What they allocate is their scripts', which KDE's does not name, or is no block of KDE's
NOT_JUDGED = {"perl", "python", "python-malloc", "compileall", "node", "meson", "ruby", "java", "javac", "pypy",
              "exiftool", "hg", "man"}


def with_names():
    """Those whose first finding is judged by the stacks of KDE's recording: test_first.py."""
    return [program for program in SHORT + LONG
            if program.name not in NOT_JUDGED and not program.alone]


def params():
    """All programs; those of the long form are marked so."""
    return [pytest.param(program, id=program.name) for program in SHORT] + [
        pytest.param(program, id=program.name, marks=[pytest.mark.long, pytest.mark.timeout(1800)])
        for program in LONG]


if __name__ == "__main__" and sys.argv[1:] == ["--packages"]:
    for row in LONG:
        for package in row.package.split():
            print(package, "long", f"file:/usr/share/doc/{package}", "recorded")
