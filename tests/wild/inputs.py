"""Inputs of the programs, made on the spot by Python's library alone and the same each time."""

import csv
import io
import json
import math
import random
import struct
import tarfile
import wave
import zlib

WORDS = ("alpha beta gamma delta memory heap stack block thread free calls peak report file line "
         "render window socket query index table column vector matrix parser token tree").split()


def words(path, lines=6000):
    numbers = random.Random(1)
    path.write_text("".join(" ".join(numbers.choices(WORDS, k=9)) + f" {i}\n" for i in range(lines)))


def rows():
    numbers = random.Random(2)
    return [{"id": i, "name": f"row {i}", "tag": numbers.choice(WORDS), "score": numbers.random()}
            for i in range(4000)]


def rows_json(path):
    path.write_text(json.dumps(rows(), indent=1))


def rows_csv(path):
    text = io.StringIO()
    writer = csv.DictWriter(text, ["id", "name", "tag", "score"])
    writer.writeheader()
    writer.writerows(rows())
    path.write_text(text.getvalue())


def rows_sql(path):
    lines = ["create table t(id integer primary key, name text, tag text, score real);", "begin;"]
    lines += [f"insert into t values({r['id']}, '{r['name']}', '{r['tag']}', {r['score']});"
              for r in rows()]
    lines += ["commit;", "create index i on t(tag, score);",
              "select tag, count(*), round(sum(score), 6) from t group by tag order by 2, 1;"]
    path.write_text("\n".join(lines) + "\n")


def page_xml(path):
    entries = "".join(f'<row id="{r["id"]}"><name>{r["name"]}</name><tag>{r["tag"]}</tag></row>\n'
                      for r in rows())
    path.write_text(f"<?xml version='1.0'?>\n<rows>\n{entries}</rows>\n")


def page_xsl(path):
    path.write_text("""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/><xsl:key name="tags" match="row" use="tag"/>
<xsl:template match="/rows"><xsl:for-each select="row[generate-id() = generate-id(key('tags', tag)[1])]">
<xsl:sort select="tag"/><xsl:value-of select="concat(tag, ' ', count(key('tags', tag)), '&#10;')"/>
</xsl:for-each></xsl:template></xsl:stylesheet>""")


def page_html(path):
    entries = "".join(f"<tr><td>{r['id']}<td><b>{r['name']}</b><td><a href='#{r['id']}'>{r['tag']}</a>"
                      for r in rows()[:1500])
    path.write_text(f"<html><title>Rows</title><body><h1>Rows</h1><p>Text &amp; more<table>{entries}"
                    "</table></body></html>")


def pixels(width, height):
    """RGB rows of a picture with slopes and noise."""
    numbers = random.Random(3)
    return [bytes(value & 255 for x in range(width)
                  for value in (x + y, x * y // 64, numbers.randrange(32) + y))
            for y in range(height)]


def photo_ppm(path, width=320, height=240):
    path.write_bytes(b"P6\n%d %d\n255\n" % (width, height) + b"".join(pixels(width, height)))


def photo_png(path, width=320, height=240):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    data = zlib.compress(b"".join(b"\0" + row for row in pixels(width, height)))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2,
                                                                       0, 0, 0))
                     + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def drawing_svg(path):
    shapes = "".join(f'<circle cx="{i * 37 % 400}" cy="{i * 53 % 300}" r="{i % 40}" fill="#{i:06x}" '
                     'opacity=".4"/>' for i in range(300))
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300">{shapes}'
                    '<text x="20" y="40" font-size="24">Heap</text></svg>')


def tone_wav(path, seconds=3):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(22050)
        file.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(i * i / 9e5)))
                                  for i in range(22050 * seconds)))


def graph_dot(path):
    edges = "".join(f"n{i} -> n{i * 7 % 60}; n{i} -> n{(i * 3 + 1) % 60};\n" for i in range(60))
    path.write_text(f"digraph g {{\n{edges}}}\n")


def page_ps(path):
    lines = "".join(f"72 {720 - i % 60 * 11} moveto (Line {i} of the page) show\n"
                    + ("showpage\n" if i % 60 == 59 else "") for i in range(240))
    path.write_text(f"%!PS\n/Helvetica findfont 10 scalefont setfont\n{lines}")


def forest(path):
    for i in range(60):
        (path / f"d{i % 7}").mkdir(parents=True, exist_ok=True)
        words(path / f"d{i % 7}" / f"file{i}.txt", lines=40 + i)


def forest_tar(path):
    with tarfile.open(path, "w") as tar:
        for i in range(60):
            data = f"file {i}\n".encode() * 300
            entry = tarfile.TarInfo(f"forest/d{i % 7}/file{i}.txt")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


def prog_c(path):
    functions = "".join(f"int f{i}(int x) {{ int s = 0; for (int i = 0; i < x; i++) "
                        f"s += i * {i} ^ (s >> 3); return s; }}\n" for i in range(60))
    calls = " + ".join(f"f{i}(n)" for i in range(60))
    path.write_text(f"#include <stdio.h>\n#include <stdlib.h>\n{functions}\n"
                    f"int main(int n, char **v) {{ printf(\"%d\\n\", {calls}); return !v; }}\n")


def prog_cpp(path):
    path.write_text("""#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>
template <int N> struct tower { static int up(int x) { return tower<N - 1>::up(x * N + 1); } };
template <> struct tower<0> { static int up(int x) { return x; } };
int main() {
	std::map<std::string, std::vector<int>> all;
	for (int i = 0; i < 3000; i++) { all["key " + std::to_string(i % 97)].push_back(i); }
	for (auto &row : all) { std::sort(row.second.rbegin(), row.second.rend()); }
	std::printf("%zu %d\\n", all.size(), tower<40>::up(1));
}
""")


def module_py(path):
    body = "".join(f"class C{i}:\n    def m(self, x):\n        return [y * {i} for y in range(x)]\n\n"
                   for i in range(150))
    path.write_text(body + "print(sum(C7().m(9)))\n")


def page_tex(path):
    text = "".join(f"\\section{{Part {i}}} Some text with $x_{{{i}}}^2 + y$ and \\emph{{more}}.\n\n"
                   * 3 for i in range(30))
    path.write_text("\\documentclass{article}\\begin{document}\n" + text + "\\end{document}\n")


def reads_fa(path):
    numbers = random.Random(4)
    path.write_text("".join(f">read{i}\n{''.join(numbers.choices('ACGT', k=200))}\n"
                            for i in range(400)))


MAKERS = {name.replace("_", "."): maker for name, maker in list(globals().items())
          if name in ("rows_json", "rows_csv", "rows_sql", "page_xml", "page_xsl", "page_html",
                      "photo_ppm", "photo_png", "drawing_svg", "tone_wav", "graph_dot", "page_ps",
                      "forest_tar", "prog_c", "prog_cpp", "module_py", "page_tex", "reads_fa")}
MAKERS.update({"words.txt": words, "forest": forest})


def make(folder, text):
    """Make in a folder every input that the text names."""
    for name, maker in MAKERS.items():
        if name in text:
            maker(folder / name)
