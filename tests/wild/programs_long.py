"""The programs of the long form, which installs them: see programs.py."""

import os

from program import P

PHP = """<?php
$words = []; foreach (file("words.txt") as $line) foreach (mb_split(" ", trim($line)) as $w)
  $words[mb_strtoupper($w)] = ($words[mb_strtoupper($w)] ?? 0) + 1;
for ($i = 0; $i < 3000; $i++) mb_ereg("(h.a)p$i|([a-z]+)", "heap$i of words", $found);
$doc = new DOMDocument; $doc->load("page.xml"); $path = new DOMXPath($doc);
$base = new SQLite3(":memory:"); $base->exec("create table t(a, b)");
for ($i = 0; $i < 500; $i++) $base->exec("insert into t values($i, 'row $i')");
$image = imagecreatetruecolor(64, 64); imagefilledellipse($image, 32, 32, 20, 20, 255);
ob_start(); imagepng($image); $png = ob_get_clean();
echo count($words), " ", $path->query("//row")->length, " ", strlen($png), " ",
  gmp_strval(gmp_pow(7, 500)), " ", bcpow("3", "400"), " ", (new Collator("de"))->compare("a", "B"), " ",
  $base->querySingle("select count(*) from t"), "\\n";"""

JAVA = """import java.util.*; import java.util.stream.*;
public class Work { public static void main(String[] a) {
  Map<Integer, List<String>> m = IntStream.range(0, 50000).mapToObj(i -> "k" + i * 7919)
    .collect(Collectors.groupingBy(String::length)); System.out.println(new TreeMap<>(m.keySet().stream()
    .collect(Collectors.toMap(k -> k, k -> m.get(k).size())))); } }"""

RUBY = """words = File.read("words.txt").split.tally
text = words.sort.map { |w, n| "#{w}=#{n}" }.join(",")
puts text.size, (1..300).inject(:*).to_s.size, words.keys.grep(/[ae]{2}/).inspect"""

LUA = """local n = {} for line in io.lines("words.txt") do for w in line:gmatch("%a+") do n[w] = (n[w] or 0) + 1
end end local t = {} for w, c in pairs(n) do t[#t + 1] = w .. c end table.sort(t)
print(table.concat(t, ","))"""

R = """d <- read.csv("rows.csv"); print(aggregate(score ~ tag, d, mean)); print(coef(lm(score ~ id, d)))"""

OCTAVE = """a = reshape(mod((1:40000) * 7919, 1009), 200, 200); printf("%g\\n", trace(a * a'), sum(svd(a)(1)));"""

RUST = """use std::collections::HashMap;
fn main() { let mut m: HashMap<String, Vec<usize>> = HashMap::new();
for i in 0..3000usize { m.entry(format!("k{}", i * 7919 % 97)).or_default().push(i); }
println!("{} {}", m.len(), m.values().map(|v| v.iter().sum::<usize>()).sum::<usize>()); }"""

QML = """import QtQuick 2.0
Rectangle { width: 300; height: 200; Repeater { model: 200; Text { text: "row " + index; y: index } }
NumberAnimation on opacity { from: .5; to: 1; duration: 300; onRunningChanged: if (!running) Qt.quit() } }"""

ERLANG = "'io:format(\"~p~n\", [length([X || X <- lists:seq(1, 9000), X rem 7 == 0])]), halt().'"

CACHE = """import socket
with socket.create_connection(("127.0.0.1", {port})) as one:
    file = one.makefile("rwb")
    for i in range(600):
        value = b"v" * (i * 7 % 900)
        file.write(b"set k%d 0 0 %d\\r\\n%s\\r\\nget k%d\\r\\n" % (i, len(value), value, i // 2))
        file.flush()
        while file.readline() != b"END\\r\\n":
            pass
"""

WISH = """canvas .c; pack .c; for {set i 0} {$i < 300} {incr i} { .c create oval $i 0 [expr $i + 9] 30 }
button .b -text Press; pack .b; update; puts [llength [.c find all]]; exit"""

LONG = [
    # interpreters and compilers
    P("php", "php-cli php-mbstring php-xml php-sqlite3 php-gd php-gmp php-bcmath php-intl",
      "php work.php", files={"work.php": PHP}),
    P("ruby", "ruby", "ruby work.rb", files={"work.rb": RUBY}),
    P("lua", "lua5.4", "lua5.4 work.lua", files={"work.lua": LUA}),
    P("luajit", "luajit", "luajit work.lua", files={"work.lua": LUA}),
    P("guile", "guile-3.0", "guile --no-auto-compile work.scm", files={"work.scm":
      "(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2)))))(display (f 18))(newline)\n"
      "(display (string-length (number->string (expt 7 900))))(newline)\n"}),
    P("ecl", "ecl", "ecl --norc --load work.lisp", files={"work.lisp":
      "(dotimes (i 100000) (make-string 100))\n(print (expt 7 90))\n(quit)\n"}),
    P("csc", "chicken-bin", "csc -:hi4m -o out work.scm", files={"work.scm":
      "(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2)))))(display (f 20))(newline)\n"}),
    P("doveconf", "dovecot-core", "doveconf -n -c work.conf", files={"work.conf": "protocols = imap\nssl = no\n"}),
    P("gawk", "gawk", "gawk '{for (i = 1; i <= NF; i++) n[$i]++} END {print asorti(n), n[\"heap\"]}' words.txt"),
    P("swipl", "swi-prolog-nox", "swipl -q -g \"numlist(1,2000,L),foldl([X,A,B]>>(B is A+X),L,0,S),"
      "print(S),nl\" -t halt"),
    P("ocaml", "ocaml-nox", "ocamlopt -o out work.ml", files={"work.ml":
      "let () = List.init 900 string_of_int |> String.concat \",\" |> String.length |> print_int\n"}),
    P("pypy", "pypy3", "pypy3 -S module.py"),
    P("sbcl", "sbcl", "sbcl --noinform --no-userinit --eval '(progn (print (expt 7 99)) (exit))'"),
    P("gp", "pari-gp", "gp -q -f work.gp", files={"work.gp":
      "print(factor(2^101-1));print(matdet(matrix(40,40,i,j,gcd(i,j))));quit\n"}),
    P("R", "r-base-core", "$(R RHOME)/bin/exec/R --no-save --no-echo -f work.R",
      files={"work.R": R}, env={"R_HOME": "/usr/lib/R", "LD_LIBRARY_PATH": "/usr/lib/R/lib"}),
    P("octave", "octave", "octave-cli --no-init-file -q --no-history work.m",
      files={"work.m": OCTAVE}, env={"OMP_NUM_THREADS": "1"}),
    P("erlang", "erlang-base", "erl -noshell -eval " + ERLANG, env={"BINDIR": "/usr/lib/erlang/bin",
      "ROOTDIR": "/usr/lib/erlang", "EMU": "beam", "PROGNAME": "erl"}, judged="$(ls /usr/lib/erlang/erts-*/bin/beam.smp) "
      "-- -root /usr/lib/erlang -bindir $(echo /usr/lib/erlang/erts-*/bin) -progname erl -- -home . -- -noshell -eval "
      + ERLANG, more="the shell script and the launcher before it"),
    P("java", "openjdk-17-jre-headless", "java -Xmx200m -XX:+UseSerialGC -cp . Work",
      files={"Work.java": JAVA}, before="javac Work.java"),
    P("javac", "openjdk-17-jdk-headless", "javac -J-Xmx200m Work.java", files={"Work.java": JAVA}),
    P("mono", "mono-mcs", "mono $(ls /usr/lib/mono/4.5/mcs.exe) work.cs", files={"work.cs":
      "class W { static void Main() { System.Console.WriteLine(\"heap\"); } }\n"}),
    P("rustc-rustup", "", "$(ls ~/.cargo/bin/rustc) -O --edition 2021 work.rs -o out",
      files={"work.rs": RUST}, env={"HOME": os.path.expanduser("~")},
      alone="KDE's knows neither rustc's own malloc nor what its launcher becomes"),
    P("rustc-debian", "rustc", "/usr/bin/rustc -O --edition 2021 work.rs -o out", files={"work.rs": RUST}),
    P("gfortran", "gfortran", "$(gfortran -print-prog-name=f951) -quiet -O2 work.f90 -o -", files={"work.f90":
      "program p\n  real :: a(50,50), b(50,50)\n  a = 1.5\n  b = matmul(a, transpose(a))\n"
      "  print *, sum(b)\nend program\n"}),
    P("gnat", "gnat", "gcc -c work.adb", files={"work.adb": "with Ada.Text_IO;\nprocedure Work is\nbegin\n"
      "   Ada.Text_IO.Put_Line (Integer'Image (7 ** 9));\nend Work;\n"}),
    P("gdc", "gdc", "gdc -c work.d", files={"work.d":
      "import std.stdio, std.algorithm, std.range;\nvoid main() { writeln(iota(99).map!(x => x * x).sum); }\n"}),
    P("ldc", "ldc", "ldc2 -c work.d", files={"work.d":
      "import std.stdio, std.algorithm, std.range;\nvoid main() { writeln(iota(99).map!(x => x * x).sum); }\n"}),
    P("cobol", "gnucobol3", "cobc -x -C work.cob", files={"work.cob":
      "       identification division.\n       program-id. work.\n       procedure division.\n"
      "           display 'heap'. stop run.\n"}),
    P("valac", "valac", "valac -C work.vala", files={"work.vala":
      "void main () { var t = new HashTable<string, int> (str_hash, str_equal); t.insert (\"a\", 1);"
      " print (\"%u\\n\", t.size ()); }\n"}),
    P("tcc", "tcc", "tcc -c prog.c"),
    P("nasm", "nasm", "nasm -f elf64 work.asm", files={"work.asm": "section .text\n" + "".join(
      f"l{i}: mov rax, {i}\n jmp l{i * 7 % 600}\n" for i in range(600))}),
    P("cppcheck", "cppcheck", "cppcheck -q --enable=style prog.c"),
    P("clang-tidy", "clang-tidy", "clang-tidy --quiet prog.c --"),
    P("clang++", "clang", "clang++ -O2 -c prog.cpp"),
    P("lld", "lld", "ld.lld -r -o both.o prog.o prog2.o",
      before="gcc -g -c prog.c; g++ -g -Dmain=other -c -o prog2.o prog.cpp"),
    P("cmake", "cmake", "cmake -S . -B out", files={"CMakeLists.txt":
      "cmake_minimum_required(VERSION 3.18)\nproject(p C)\nadd_executable(p prog.c)\n"}, same_output=False),
    P("doxygen", "doxygen", "doxygen -", files={"doxy": "INPUT=prog.c prog.cpp\nEXTRACT_ALL=YES\n"
      "QUIET=YES\nGENERATE_LATEX=NO\nNUM_PROC_THREADS=1\n"}, stdin="doxy", before="ls prog.c prog.cpp", same_output=False),
    P("ctags", "universal-ctags", "ctags --sort=yes -f - prog.c prog.cpp module.py"),
    P("cscope", "cscope", "cscope -b -k prog.c prog.cpp"),
    P("indent", "indent", "indent -st prog.c"),
    P("astyle", "astyle", "astyle -n prog.cpp", same_output=False),
    P("iverilog", "iverilog", "$(ls /usr/lib/x86_64-linux-gnu/ivl/ivl) -V", same_output=False),
    P("yosys", "yosys", "yosys -q -p 'read_verilog work.v; synth -noabc; stat' -l log", files={"work.v":
      "module m(input clk, input [7:0] a, b, output reg [15:0] q);\n always @(posedge clk) q <= a * b + q;\n"
      "endmodule\n"}, same_output=False),
    P("verilator", "verilator", "verilator_bin --lint-only -Wno-fatal work.v", files={"work.v":
      "module m(input clk, input [7:0] a, b, output reg [15:0] q);\n always @(posedge clk) q <= a * b + q;\n"
      "endmodule\n"}, env={"VERILATOR_ROOT": "/usr/share/verilator"}),
    P("z3", "z3", "z3 work.smt2", files={"work.smt2": "".join(f"(declare-const x{i} Int)\n" for i in range(60))
      + "".join(f"(assert (< x{i} x{i + 1}))\n(assert (> x{i} {i}))\n" for i in range(59)) + "(check-sat)\n"}),
    P("minisat", "minisat", "minisat work.cnf out", status=10, files={"work.cnf": "p cnf 300 900\n" + "".join(
      f"{i % 300 + 1} -{i * 7 % 300 + 1} {i * 13 % 300 + 1} 0\n" for i in range(900))}, same_output=False),
    P("glpsol", "glpk-utils", "glpsol --lp work.lp", files={"work.lp":
      "Maximize\n o: " + " + ".join(f"{i % 9 + 1} x{i}" for i in range(90)) + "\nSubject To\n"
      + "".join(f" c{i}: x{i} + x{i * 7 % 90} + 2 x{i * 3 % 90} <= {i + 9}\n" for i in range(4, 90)
                if len({i, i * 7 % 90, i * 3 % 90}) == 3)
      + "Bounds\n" + "".join(f" x{i} <= 40\n" for i in range(90)) + "End\n"}, same_output=False),
    P("ngspice", "ngspice", "ngspice -b work.cir", files={"work.cir":
      "rc\nv1 1 0 dc 1 ac 1\nr1 1 2 1k\nc1 2 0 1u\n.tran 10u 5m\n.print tran v(2)\n.end\n"}, same_output=False),
    # pictures, sound, documents
    P("gm", "graphicsmagick", "gm convert photo.ppm -resize 60% -blur 1 out.jpg", env={"OMP_NUM_THREADS": "1"}),
    P("ffmpeg", "ffmpeg", "ffmpeg -v error -threads 1 -i tone.wav -c:a flac -f null -"),
    P("ffmpeg-video", "ffmpeg", "ffmpeg -v error -threads 1 -f lavfi -i testsrc=d=1:s=160x120:r=10 "
      "-c:v mpeg4 -threads 1 -y out.avi"),
    P("sox", "sox", "sox tone.wav out.flac reverb"),
    P("flac", "flac", "flac -s tone.wav"),
    P("lame", "lame", "lame --quiet tone.wav out.mp3"),
    P("opusenc", "opus-tools", "opusenc --quiet tone.wav out.opus"),
    P("oggenc", "vorbis-tools", "oggenc -Q tone.wav"),
    P("cwebp", "webp", "cwebp -quiet photo.png -o out.webp"),
    P("optipng", "optipng", "optipng -quiet photo.png"),
    P("pngquant", "pngquant", "pngquant --force --output out.png photo.png",
      more="OpenMP's library calls memalign, which KDE's does not record"),
    P("cjpeg", "libjpeg-turbo-progs", "cjpeg -quality 80 -outfile out.jpg photo.ppm"),
    P("pnmscale", "netpbm", "pamscale 0.5 photo.ppm"),
    P("potrace", "potrace", "potrace -s -o out.svg photo.ppm"),
    P("exiftool", "libimage-exiftool-perl", "exiftool photo.png", same_output=False),
    P("rsvg", "librsvg2-bin", "rsvg-convert -o out.png drawing.svg"),
    P("inkscape", "inkscape", "inkscape --export-filename=out.png drawing.svg", same_output=False),
    P("gimp", "gimp", "gimp-console-2.10 -i -d -f -s --batch-interpreter=plug-in-script-fu-eval "
      "-b '(gimp-quit 0)'", same_output=False),
    P("povray", "povray", "povray +Iwork.pov +Oout.png +W80 +H60 -D +WT1", files={"work.pov":
      "camera { location <0,2,-5> look_at 0 } light_source { <5,9,-5> rgb 1 }\n" + "".join(
        f"sphere {{ <{i % 9 - 4},{i // 9},{i % 5}>, .4 pigment {{ rgb <.{i % 9},.5,.2> }} }}\n"
        for i in range(40))}, same_output=False),
    P("dot", "graphviz", "dot -Tsvg graph.dot"),
    P("gnuplot", "gnuplot-nox", "gnuplot -e \"set term svg; set output 'o.svg'; plot sin(x), x**2; splot x*y\""),
    P("gs", "ghostscript", "gs -q -dNOPAUSE -dBATCH -sDEVICE=png16m -r50 -sOutputFile=p%d.png page.ps"),
    P("pdftotext", "poppler-utils", "pdftotext page.pdf -", before="gs -q -dNOPAUSE -dBATCH -sDEVICE=pdfwrite "
      "-sOutputFile=page.pdf page.ps"),
    P("pdftoppm", "poppler-utils", "pdftoppm -r 40 page.pdf out", before="gs -q -dNOPAUSE -dBATCH "
      "-sDEVICE=pdfwrite -sOutputFile=page.pdf page.ps"),
    P("mutool", "mupdf-tools", "mutool draw -r 40 -o out%d.png page.pdf", before="gs -q -dNOPAUSE -dBATCH "
      "-sDEVICE=pdfwrite -sOutputFile=page.pdf page.ps"),
    P("qpdf", "qpdf", "qpdf --linearize page.pdf out.pdf", before="gs -q -dNOPAUSE -dBATCH "
      "-sDEVICE=pdfwrite -sOutputFile=page.pdf page.ps"),
    P("pdftex", "texlive-latex-base", "pdflatex -interaction=batchmode page.tex"),
    P("pandoc", "pandoc", "pandoc -f html -t markdown page.html"),
    P("tesseract", "tesseract-ocr", "tesseract photo.png stdout", env={"OMP_THREAD_LIMIT": "1"}),
    P("abc2midi", "abcmidi", "abc2midi work.abc -o out.mid", files={"work.abc":
      "X:1\nT:Heap\nM:4/4\nL:1/8\nK:C\n" + "CDEF GABc|cBAG FEDC|\n" * 60}),
    P("lilypond", "lilypond", "lilypond -s work.ly", files={"work.ly": "\\version \"2.22.0\" { c' d' e' f' g' }\n"}),
    P("fontforge", "fontforge-nox", "fontforge -lang=ff -c 'Open(\"/usr/share/fonts/truetype/dejavu/"
      "DejaVuSansMono.ttf\"); Print($fontname); Generate(\"out.otf\")'"),
    P("gnumeric", "gnumeric", "ssconvert rows.csv out.ods"),
    P("abiword", "abiword", "abiword --to=txt page.html", same_output=False),
    P("libreoffice", "libreoffice-calc", "/usr/lib/libreoffice/program/soffice.bin --headless --convert-to ods "
      "-env:UserInstallation=file://{here}/office rows.csv", same_output=False,
      before="/usr/lib/libreoffice/program/soffice.bin --headless --terminate_after_init "
      "-env:UserInstallation=file://$PWD/office; :"),
    # text and data
    P("tidy", "tidy", "tidy -q -o out.html page.html", status=1),
    P("xmllint", "libxml2-utils", "xmllint --xpath 'count(//row[tag=\"heap\"])' page.xml"),
    P("xsltproc", "xsltproc", "xsltproc page.xsl page.xml"),
    P("xmlstarlet", "xmlstarlet", "xmlstarlet sel -t -m //row -v @id -n page.xml"),
    P("w3m", "w3m", "w3m -dump page.html"),
    P("lynx", "lynx", "lynx -dump page.html", same_output=False),
    P("aspell", "aspell aspell-en", "aspell --lang=en list", stdin="words.txt"),
    P("emacs", "emacs-nox", "emacs -Q --batch --eval '(progn (find-file \"words.txt\") (sort-lines nil "
      "(point-min) (point-max)) (message \"%d\" (point-max)))'"),
    P("nano", "nano", "nano --version"),
    P("rg", "ripgrep", "rg -j1 -c 'heap.*tree' words.txt"),
    P("fd", "fd-find", "fdfind -j1 txt forest", same_output=False),
    P("tree", "tree", "tree forest"),
    P("datamash", "datamash", "datamash -W -g 3 count 3 unique 4", stdin="words.txt", before="sort -k3,3 words.txt "
      "> s; mv s words.txt"),
    P("ledger", "ledger", "ledger -f work.dat balance", files={"work.dat": "".join(
      f"2025/{i % 12 + 1:02}/{i % 28 + 1:02} Shop {i % 300}\n    Expenses:Kind{i % 40}:Part{i % 7}   "
      f"${i * 37 % 9000 / 100:.2f}\n    Assets:Bank{i % 5}\n\n" for i in range(3000))}),
    P("hunspell", "hunspell hunspell-en-us", "hunspell -d en_US -l words.txt"),
    P("task", "taskwarrior", "task rc:work.rc import tasks.json", same_output=False, files={
      "work.rc": "data.location=.\nconfirmation=no\nverbose=nothing\n", "tasks.json": "\n".join(
        f'{{"uuid":"00000000-0000-0000-0000-{i:012}","description":"task {i}","status":"pending",'
        f'"entry":"20240101T000000Z","project":"p{i % 9}"}}' for i in range(600))}),
    P("c44", "djvulibre-bin", "c44 photo.ppm out.djvu"),
    P("openscad", "openscad", "openscad -o out.stl work.scad", files={"work.scad":
      "difference() { sphere(9, $fn = 16); cylinder(h = 40, r = 3, center = true, $fn = 12); }\n"},
      same_output=False),
    P("units", "units", "units -t '7 furlongs' 'm'"),
    P("samtools", "samtools", "samtools faidx reads.fa read7 read9"),
    P("bwa", "bwa", "bwa index reads.fa"),
    P("ogr2ogr", "gdal-bin", "gdal_translate -q photo.png out.tif"),
    P("rsync", "rsync", "rsync -a forest/ copy/"),
    P("7z", "p7zip-full", "$(ls /usr/lib/p7zip/7z) a -mmt=1 -bd out.7z forest", same_output=False),
    P("bzip2", "bzip2", "bzip2 -k words.txt"),
    P("brotli", "brotli", "brotli -k words.txt"),
    P("mksquashfs", "squashfs-tools", "mksquashfs forest out -processors 1 -quiet -no-progress", same_output=False),
    P("genisoimage", "genisoimage", "genisoimage -quiet -R -o out.iso forest"),
    P("qemu-img", "qemu-utils", "qemu-img convert -O qcow2 words.txt out.img"),
    P("qemu", "qemu-system-x86", "qemu-system-x86_64 -machine help", same_output=False),
    P("hg", "mercurial", "hg --cwd repo log -p", before="mkdir repo; cd repo; hg init; for i in 1 2 3; do seq $i 300 > "
      "f; hg add -q f; hg commit -qm $i -u a; done", same_output=False),
    P("svn", "subversion", "svnadmin create repo"),
    P("fossil", "fossil", "fossil init --user root out.fossil", same_output=False),
    P("git-gc", "git", "git fsck --strict", before="git init -q .; git config user.name a; "
      "git config user.email a@b.example; git add forest; git commit -qm all"),
    P("gnugo", "gnugo", "gnugo --mode gtp --seed 1 --level 1", stdin="work.gtp", files={"work.gtp":
      "boardsize 9\nplay black E5\ngenmove white\ngenmove black\nshowboard\nquit\n"}),
    P("stockfish", "stockfish", "stockfish bench 16 1 6 default depth", same_output=False),
    P("openssl-speed", "openssl", "openssl genrsa 1024", same_output=False),
    P("ssh-keygen", "openssh-client", "ssh-keygen -q -t ed25519 -N '' -f key"),
    P("dig", "bind9-dnsutils", "dig -v", more="jemalloc's mallocx, which KDE's does not record"),
    P("named-checkzone", "bind9-utils", "named-checkzone a.example zone", files={"zone":
      "$TTL 60\n@ IN SOA a b 1 2 3 4 5\n@ IN NS a\na IN A 127.0.0.1\n" + "".join(
        f"h{i} IN A 127.0.{i % 250}.1\n" for i in range(900))}, same_output=False,
      more="jemalloc's mallocx, which KDE's does not record"),
    P("tshark", "tshark", "tshark -G fields", same_output=False),
    P("gdb-python", "gdb", "gdb -nx -batch -ex 'python print(sum(len(str(i)) for i in range(9000)))'"),
    P("systemd-analyze", "systemd", "systemd-analyze calendar daily", same_output=False),
    # with windows
    P("qml", "qmlscene", "$(ls /usr/lib/qt5/bin/qmlscene) work.qml", screen=True, files={"work.qml": QML},
      env={"QT_QUICK_BACKEND": "software", "LIBGL_ALWAYS_SOFTWARE": "1", "QT_X11_NO_MITSHM": "1"}),
    P("zenity", "zenity", "zenity --info --text heap --timeout 1", screen=True, status=5,
      env={"NO_AT_BRIDGE": "1", "GTK_USE_PORTAL": "0"}),
    P("wish", "tk", "wish work.tcl", screen=True, files={"work.tcl": WISH}),
    P("xwininfo", "x11-utils", "xwininfo -root -tree", screen=True, same_output=False),
    P("xdpyinfo", "x11-utils", "xdpyinfo", screen=True, same_output=False),
    P("import", "imagemagick", "import -window root out.png", screen=True),
    P("xterm", "xterm", "xterm -e true", screen=True),
    P("chromium-script", "chromium", "chromium --headless --no-sandbox --disable-gpu --dump-dom page.html",
      alone="KDE's knows neither what the script becomes nor Chromium's own allocator", same_output=False, twice=13),
    P("firefox", "firefox-esr", "/usr/lib/firefox-esr/firefox-esr --headless --no-remote "
      "--profile {here}/profile --screenshot {here}/out.png file://{here}/page.html", before="mkdir profile",
      same_output=False, env={"MOZ_CRASHREPORTER_DISABLE": "1"},
      alone="its own allocator stands before KDE's recorder"),
    # servers
    P("postgres", "postgresql", "/usr/lib/postgresql/15/bin/postgres --single -D data postgres", stdin="work.sql", user="nobody",
      files={"work.sql": "".join(f"select sum(i * {n}), count(*) from generate_series(1, 3000) i;\n"
        for n in range(20))}, before="/usr/lib/postgresql/15/bin/initdb -D data -A trust -N >/dev/null",
      same_output=False),
    P("memcached", "memcached", "memcached -u nobody -l 127.0.0.1 -p {port} -t 1", ready="{port}",
      files={"client.py": CACHE}, client="python3 client.py"),
    P("lighttpd", "lighttpd", "lighttpd -D -f work.conf", files={"work.conf":
      "server.document-root = var.CWD\nserver.port = {port}\nserver.bind = \"127.0.0.1\"\n"},
      ready="{port}", client="for i in 1 2 3 4 5; do curl -sf -o got http://127.0.0.1:{port}/words.txt || exit 1; done"),
    P("apache", "apache2", "apache2 -X -d . -f work.conf", files={"work.conf":
      "ServerRoot .\nServerName a.example\nListen 127.0.0.1:{port}\nPidFile pid\nErrorLog err.log\n"
      "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n"
      "LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\nDocumentRoot .\n"},
      ready="{port}", client="for i in 1 2 3 4 5; do curl -s -o got http://127.0.0.1:{port}/words.txt || exit 1; done",
      same_output=False),
    P("haproxy", "haproxy", "haproxy -db -f work.cfg", files={"work.cfg":
      "global\n  nbthread 1\ndefaults\n  mode http\n  timeout client 9s\n  timeout server 9s\n  timeout connect 9s\n"
      "frontend f\n  bind 127.0.0.1:{port}\n  http-request return status 200 content-type text/plain string heap\n"}, ready="{port}",
      client="for i in 1 2 3 4 5; do curl -sf -o got http://127.0.0.1:{port}/ || exit 1; done", status=143,
      same_output=False),
    P("dnsmasq", "dnsmasq-base", "dnsmasq -k -u root -p {port} --listen-address=127.0.0.1 --bind-interfaces -h -R "
      "--address=/a.example/127.0.0.9 -C /dev/null -x {here}/pid", ready="pid",
      client="for i in 1 2 3; do dig -p {port} @127.0.0.1 a.example +short || exit 1; done",
      more="KDE's loses what comes after it closes all descriptors"),
    P("unbound", "unbound", "unbound -d -c work.conf", files={"work.conf":
      "server:\n port: {port}\n interface: 127.0.0.1\n chroot: \"\"\n username: \"\"\n pidfile: pid\n use-syslog: no\n"
      " do-daemonize: no\n local-data: \"a.example A 127.0.0.9\"\n num-threads: 1\n"}, ready="{port}",
      client="for i in 1 2 3; do dig -p {port} @127.0.0.1 a.example +short || exit 1; done"),
    P("mosquitto", "mosquitto", "mosquitto -p {port}", ready="{port}", client="sleep 0.2", same_output=False),
    P("redis-scripts", "redis-server", "redis-server --port 0 --unixsocket redis.sock --save '' --dir .",
      ready="redis.sock", client="redis-cli -s redis.sock eval \"for i = 1, 3000 do redis.call('zadd', 'z', i, "
      "string.rep('x', i % 90)) end return redis.call('zcard', 'z')\" 0", same_output=False),
    P("mariadb", "mariadb-server", "mariadbd --no-defaults --user=root --bootstrap --datadir={here}/data "
      "--lc-messages-dir=/usr/share/mysql --innodb-buffer-pool-size=16M", stdin="work.sql", before="mkdir data",
      files={"work.sql": "create database d;\nuse d;\ncreate table t(a int, b text);\n" + "".join(
        f"insert into t values({i}, 'row {i}');\n" for i in range(300))}, same_output=False,
      more="memalign and aligned_alloc, which KDE's does not record"),
    # science, games, languages and servers of which little is known
    P("pspp", "pspp", "pspp -o out.txt work.sps", files={"work.sps": "DATA LIST LIST /a b.\nBEGIN DATA\n" + "".join(
      f"{i} {i * 7 % 31}\n" for i in range(400)) + "END DATA.\nDESCRIPTIVES a b.\n"
      "REGRESSION /VARIABLES=a /DEPENDENT=b.\n"}),
    P("hmmbuild", "hmmer", "hmmbuild --cpu 0 out.hmm work.sto", files={"work.sto": "# STOCKHOLM 1.0\n" + "".join(
      f"s{i} {('ACDEFGHIKL' * 9)[i % 5:][:60]}\n" for i in range(12)) + "//\n"}, same_output=False),
    P("muscle", "muscle", "muscle -align work.fa -output out.fa -threads 1", files={"work.fa": "".join(
      f">s{i}\n{('ACDEFGHIKLMNPQRSTVWY' * 9)[i % 7:][:80 + i % 5]}\n" for i in range(9))}, same_output=False),
    P("clustalw", "clustalw", "clustalw -INFILE=work.fa -OUTFILE=out.aln", files={"work.fa": "".join(
      f">s{i}\n{('ACDEFGHIKLMNPQRSTVWY' * 9)[i % 7:][:80 + i % 5]}\n" for i in range(9))}),
    P("bedtools", "bedtools", "bedtools merge -i work.bed", files={"work.bed": "".join(
      f"chr{1 + i // 3000}\t{i * 30}\t{i * 30 + 20 + i % 40}\n" for i in range(6000))}),
    P("primer3", "primer3", "primer3_core work.txt", files={"work.txt": "SEQUENCE_ID=a\nSEQUENCE_TEMPLATE="
      + "".join("ACGT"[i * i * 7 // 3 % 4] for i in range(600)) + "\nPRIMER_TASK=generic\n=\n"}),
    P("spim", "spim", "spim -file work.s", files={"work.s": ".data\nt: .asciiz \"heap\\n\"\n.text\n.globl main\nmain:\n"
      " li $t0, 300\nl: li $v0, 4\n la $a0, t\n syscall\n addi $t0, -1\n bnez $t0, l\n jr $ra\n"}),
    P("phalanx", "phalanx", "mine -x- -g- -p- bench", before="cp /usr/games/phalanx mine", same_output=False),
    P("gnuchess", "gnuchess", "gnuchess -x", stdin="work.txt", files={"work.txt": "depth 3\ngo\nquit\n"}),
    P("fairymax", "fairymax", "fairymax", stdin="work.txt", files={
      "work.txt": "xboard\nnew\nsd 4\nusermove e2e4\nquit\n"}),
    P("picolisp", "picolisp", "picolisp work.l -bye", files={"work.l":
      "(let L (make (for I 3000 (link (* I I I)))) (println (length L) (apply + L)))\n"}),
    P("chicken", "chicken-bin", "csi -s work.scm", files={"work.scm":
      "(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2)))))\n(display (f 18))\n(newline)\n"}),
    P("yabasic", "yabasic", "yabasic work.bas", files={"work.bas":
      "for i=1 to 2000\n a$=a$+str$(i)+\",\"\nnext i\nprint len(a$)\n"}),
    P("pforth", "pforth", "pforth -q work.fth", files={"work.fth":
      ": t 0 20000 0 do i + loop . cr ;\nt\n: m 200 0 do i 8 * allocate throw free throw loop ;\nm\nbye\n"}),
    P("yasm", "yasm", "yasm -f elf64 -o out.o work.asm", files={"work.asm": "section .text\n" + "".join(
      f"f{i}: mov eax, {i}\n jmp f{i * 7 % 900}\n" for i in range(900))}),
    P("bison", "bison", "bison -o out.c work.y", files={"work.y": "%token N\n%left '+'\n%left '*'\n%%\n"
      "e: e '+' e | e '*' e | '(' e ')' | N ;\n%%\n"}),
    P("flex", "flex", "flex -o out.c work.l", files={"work.l": "%%\n" + "".join(
      f"word{i}[a-f]+ return {i};\n" for i in range(60)) + "%%\n"}),
    P("qalc", "qalc", "qalc -t '2^200 + sqrt(5) * 7 km / 3 h to m/s'"),
    P("dia", "dia", "dia -e out.svg work.dia", screen=True, files={"work.dia": "<?xml version=\"1.0\"?>\n"
      "<dia:diagram xmlns:dia=\"http://www.lysator.liu.se/~alla/dia/\"><dia:layer name=\"b\" visible=\"true\"/>"
      "</dia:diagram>\n"}),
    P("feh", "feh", "feh -D 1 --on-last-slide quit photo.png", screen=True),
    P("ngircd", "ngircd", "ngircd -n -f work.conf", files={"work.conf": "[Global]\nName = irc.a.example\n"
      "Listen = 127.0.0.1\nPorts = {port}\n[Options]\nIdent = no\nDNS = no\nPAM = no\n", "client.py":
      "import socket\nfor i in range(20):\n with socket.create_connection((\"127.0.0.1\", {port})) as s:\n"
      "  s.sendall(b\"NICK a%d\\r\\nUSER a 0 * :a\\r\\nJOIN #heap\\r\\nQUIT\\r\\n\" % i)\n"
      "  while s.recv(4096): pass\n"}, ready="{port}", client="python3 client.py", same_output=False),
    P("tinyproxy", "tinyproxy", "tinyproxy -d -c work.conf", files={"work.conf":
      "Port {port}\nListen 127.0.0.1\nTimeout 5\nMaxClients 10\nStatHost \"a.example\"\n"}, ready="{port}",
      client="for i in 1 2 3 4 5; do curl -s -x http://127.0.0.1:{port} -o got http://a.example/ || exit 1; done",
      same_output=False),
]
