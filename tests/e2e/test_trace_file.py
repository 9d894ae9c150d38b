"""The file while it grows: whole for zstd at every instant, and readable in every copy."""

import json
import shutil
import subprocess
import time

import pytest

# Ever new stacks, sizes and strings for so many seconds, and until told: log, slots and events all grow
PROGRAM = """
import json, os, sys, time
end = time.monotonic() + float(sys.argv[1])
kept = []
while time.monotonic() < end or not os.path.exists(sys.argv[2]):
    source = "def f%d(n):\\n return [f%d(n - 1), 'x' * n] if n else []" % (len(kept), len(kept))
    scope = {}
    exec(source, scope)
    kept.append(json.loads(json.dumps(scope["f%d" % len(kept)](len(kept) % 50))))
"""


def copy_of(file, to):
    """Copy it; True if it did not change meanwhile."""
    before = file.stat()
    shutil.copyfile(file, to)
    after = file.stat()
    return (before.st_mtime_ns, before.st_size, before.st_ino) == \
        (after.st_mtime_ns, after.st_size, after.st_ino)


@pytest.mark.parametrize("options", [(), ("--events=1M",)], ids=["plain", "events"])
def test_growing_file_is_whole_at_every_instant(tools, helpers, tmp_path, options, is_long):
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    enough = tmp_path / "enough"
    running = tools.start_record("/usr/bin/python3", "-c", PROGRAM, "60" if is_long else "8", enough,
                                 options=options, env={"PYTHONMALLOC": "malloc"})
    copy = tmp_path / "copy.zst"
    n_whole = n_opened = 0
    opens_from = time.monotonic() + 4
    while running.process.poll() is None:
        if not running.file.exists():
            time.sleep(0.01)
            continue
        if copy_of(running.file, copy):
            judged = subprocess.run(["zstd", "-q", "-t", copy], capture_output=True, text=True)
            if judged.returncode:  # its writer stood still in the middle of a frame, and goes on
                assert "unexpected end of file" in judged.stderr, judged.stderr
                helpers.wait_until(lambda: running.file.stat().st_size > copy.stat().st_size)
                continue
            n_whole += 1
        if time.monotonic() > opens_from:
            shown = tools.print(copy, "--json", "--limit", "1").stdout_bytes
            assert json.loads(shown)["summary"]["allocations"] > 0
            n_opened += 1
        if n_whole > 5 and n_opened > 2:
            enough.touch()
    finished = running.wait()
    assert finished.status == 0, repr(finished)
    assert n_whole > 5 and n_opened > 2, (n_whole, n_opened)
    subprocess.run(["zstd", "-q", "-t", running.file], check=True)
    assert tools.json(running.file, "--limit", "1")["summary"]["complete"]
