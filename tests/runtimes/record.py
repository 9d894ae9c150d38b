#!/usr/bin/python3
"""record.py NODE TOOL OUT [WORD...]: records images of memory from a node that runs frames.js, for test_v8.

OUT is text, packed by zstd: what tests/tools/v8_frames writes of each stop, without memory that the file has already,
and "t" lines: the functions with a line that Error's stack had there.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from stopped import frames_of, stops_of


def main(node, tool, out, *words):
    folder = Path(tempfile.gettempdir()) / "app"  # the name is in the image
    folder.mkdir(exist_ok=True)
    shutil.copy(Path(__file__).with_name("frames.js"), folder)
    lines, memory, symbols = [], {}, set()
    image = Path(out).with_suffix(".image")
    for pid, truth in stops_of(node, words, folder / "frames.js"):
        frames_of(tool, pid, str(image))
        for line in image.read_text(encoding="utf-8").splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "m":
                address, _, content = rest.partition(" ")
                if memory.get(address) == content:
                    continue
                memory[address] = content
            elif kind in ("s", "b", "i", "o"):
                if line in symbols:
                    continue
                symbols.add(line)
            lines.append(line)
        lines += [f"t {function or ''}\t{file or ''}\t{line}" for function, file, line, _ in truth if line]
        lines.append("z")
    subprocess.run(["zstd", "-q", "-f", "--ultra", "-22", "--long=27", "-o", out],
                   input=("\n".join(lines) + "\n").encode(), check=True)
    image.unlink()


main(*sys.argv[1:])
