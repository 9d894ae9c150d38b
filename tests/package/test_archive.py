"""The archive of `make dist`: runs unpacked, from anywhere, beside any C library, and records with each."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
ARCHIVE_MAX_BYTES = 2_500_000
OLDEST_GLIBC = (2, 28)
PROGRAM = """
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void allocate(int i) { kept = malloc(100 + i); if (i % 2) free(kept); }
int main(void) { for (int i = 0; i < 1000; i++) allocate(i); return 7; }
"""


def check_record(file, command):
    """The report of heaptrack_print, by whatever starts it, about PROGRAM."""
    text = subprocess.run([*command, "--json", file], check=True, capture_output=True, timeout=60).stdout
    summary = json.loads(text)["summary"]
    assert summary["allocations"] - 1000 in range(0, 10)
    assert summary["never_freed_blocks"] - 500 in range(0, 10)
    assert summary["complete"] and summary["lost_events"] == 0


def record(command, program, folder, name):
    """Record with `command`, report with the heaptrack_print beside it."""
    output = folder / f"{name}.zst"
    done = subprocess.run([command, "-q", "-o", output, program], cwd=folder, timeout=60,
                          env={"PATH": os.environ["PATH"]}, check=False)
    assert done.returncode == 7
    check_record(output, [Path(command).resolve().parent / "heaptrack_print"])
    return output


@pytest.fixture
def program(tmp_path):
    def compile_with(compiler, *options, text=PROGRAM):
        (tmp_path / "program.c").write_text(text)
        path = tmp_path / f"program-{compiler}"
        subprocess.run([compiler, "-O1", *options, "-o", path, tmp_path / "program.c"], check=True, timeout=60)
        return path
    return compile_with


@pytest.mark.parametrize("compiler", ["gcc", "musl-gcc"])
def test_records_with_each_libc(unpacked, program, tmp_path, compiler):
    record(unpacked / "bin" / "heaptrack", program(compiler), tmp_path, compiler)


def test_runs_through_a_symbolic_link(unpacked, program, tmp_path):
    link = tmp_path / "heaptrack"
    link.symlink_to(unpacked / "bin" / "heaptrack")
    record(link, program("gcc"), tmp_path, "link")


def test_stands_beside_kdes(unpacked, program, tmp_path):
    subprocess.run(["/usr/bin/heaptrack", "-o", tmp_path / "kde", program("gcc")], timeout=60,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    assert list(tmp_path.glob("kde*"))
    record(unpacked / "bin" / "heaptrack", program("gcc"), tmp_path, "ours")


def readelf(option, file):
    return subprocess.run(["readelf", "-W", option, file], check=True, capture_output=True, text=True,
                          timeout=60).stdout


def test_the_commands_need_no_library_and_no_loader(unpacked):
    program = unpacked / "bin" / "heaptrack"
    assert "INTERP" not in readelf("-l", program)
    assert "(NEEDED)" not in readelf("-d", program)


def test_the_recorders_start_with_old_glibc(unpacked):
    recorders = sorted((unpacked / "lib" / "heaptrack").glob("*.so"))
    assert [path.name for path in recorders] == ["libheaptrack_inject.so", "libheaptrack_preload.so"]
    for path in recorders:
        asked = re.findall(r"GLIBC_(\d+)\.(\d+)", readelf("--dyn-syms", path))
        assert max([OLDEST_GLIBC, *(tuple(map(int, version)) for version in asked)]) == OLDEST_GLIBC, path


def test_records_where_there_is_no_glibc(unpacked, program, tmp_path):
    """A root that holds the archive and a static program, and nothing else."""
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    (root / "tmp").mkdir()
    subprocess.run(["cp", "-a", unpacked, root / "h"], check=True, timeout=60)
    program("musl-gcc", "-static").rename(root / "program")
    inside = ["unshare", "-rmpf", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root]
    done = subprocess.run([*inside, "/h/bin/heaptrack", "-q", "-o", "/tmp/out.zst", "/program"], timeout=60,
                          env={"PATH": os.environ["PATH"]}, check=False)
    assert done.returncode == 7
    check_record("/tmp/out.zst", [*inside, "/h/bin/heaptrack_print"])


ENDLESS = """
#include <stdlib.h>
#include <time.h>
static void *volatile kept;
__attribute__((noinline)) static void allocate(void) { kept = malloc(100); }
int main(void) { for (;;) { allocate(); nanosleep(&(struct timespec){0, 1000000}, NULL); } }
"""
ALPINE = """mount -t proc proc "$0/proc" && mount --bind /dev/null "$0/dev/null" &&
exec chroot "$0" /bin/busybox sh -ec '
    /bin/busybox --install -s /bin; export PATH=/bin:/home/.local/bin HOME=/home
    works() {
        for name in dynamic static; do
            status=0; heaptrack -q -o /tmp/$1-$name /$name || status=$?
            echo $status; heaptrack_print --json /tmp/$1-$name.zst >/tmp/$1-$name.json
            heaptrack_print --html /tmp/$1-$name.html /tmp/$1-$name.zst
            /endless-$name & pid=$!
            sleep 0.5; heaptrack -q -o /tmp/$1-attached -p $pid --duration 1s
            kill $pid; heaptrack_print --json /tmp/$1-attached.zst >/tmp/$1-attached-$name.json
        done
    }
    sh /dist/install.sh; works first
    echo lib/heaptrack/of-an-older-version >>/home/.local/lib/heaptrack/installed
    touch /home/.local/lib/heaptrack/of-an-older-version
    sh /dist/install.sh; works upgraded
    ls /home/.local/lib/heaptrack
    sh /dist/install.sh --uninstall'"""


def test_installs_and_records_as_on_alpine(dist, program, tmp_path):
    """A root of musl's loader and busybox, in which install.sh runs: installed, used, upgraded, used, removed."""
    busybox, musl = shutil.which("busybox"), Path("/lib/ld-musl-x86_64.so.1")
    if not busybox or not musl.exists():
        pytest.skip("busybox or musl is not installed")
    if b"dynamically" in subprocess.run(["file", "-L", busybox], capture_output=True, check=False, timeout=60).stdout:
        pytest.skip("busybox is not static: it is that of busybox-static")
    root = tmp_path / "root"
    for name in ("proc", "tmp", "bin", "lib", "home", "dev"):
        (root / name).mkdir(parents=True)
    (root / "dev/null").touch()
    shutil.copy(busybox, root / "bin/busybox")
    shutil.copy(musl, root / "lib")
    shutil.copytree(dist, root / "dist")
    for name, options in (("dynamic", []), ("static", ["-static"])):
        program("musl-gcc", *options).rename(root / name)
        program("musl-gcc", *options, text=ENDLESS).rename(root / f"endless-{name}")
    done = subprocess.run(["unshare", "-rmpf", "sh", "-c", ALPINE, root], capture_output=True, text=True, timeout=120,
                          env={"PATH": os.environ["PATH"]}, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert re.findall(r"^7$", done.stdout, re.MULTILINE) == ["7"] * 4 and list((root / "home").iterdir()) == []
    assert "libheaptrack_preload.so" in done.stdout and "of-an-older-version" not in done.stdout
    for name in (f"{when}-{name}" for when in ("first", "upgraded") for name in ("dynamic", "static")):
        summary = json.loads((root / f"tmp/{name}.json").read_text())["summary"]
        assert summary["allocations"] - 1000 in range(10) and summary["never_freed_blocks"] - 500 in range(10)
        assert summary["complete"] and summary["lost_events"] == 0
        assert "<html" in (root / f"tmp/{name}.html").read_text()[:500]
        attached = json.loads((root / f"tmp/{name.replace('-', '-attached-')}.json").read_text())
        assert attached["summary"]["allocations"] > 10 and attached["summary"]["lost_events"] == 0
        assert "allocate" in json.dumps(attached["sites"]["never_freed"])


def test_serves_the_page(unpacked, program, tmp_path, helpers):
    file = record(unpacked / "bin" / "heaptrack", program("gcc"), tmp_path, "shown")
    with open(tmp_path / "said", "w+", encoding="utf-8") as said:
        gui = subprocess.Popen([unpacked / "bin" / "heaptrack_gui", "--no-browser", "--keep", file],
                               stdout=said, stdin=subprocess.DEVNULL)
        try:
            address = helpers.wait_until(lambda: re.search(r"http://\S+", (tmp_path / "said").read_text()))[0]
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                                 urllib.request.HTTPCookieProcessor())
            assert b"<html" in opener.open(address, timeout=30).read()[:500]
        finally:
            gui.terminate()
            gui.wait(30)


def test_size_and_sums(dist):
    rows = [line.split("  ") for line in (dist / "SHA256SUMS").read_text().splitlines()]
    names = [name for _, name in rows]
    assert sorted(names) == sorted(path.name for path in dist.iterdir() if path.name != "SHA256SUMS")
    for digest, name in rows:
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest
    archive = next(dist.glob("*.tar.xz"))
    assert archive.stat().st_size <= ARCHIVE_MAX_BYTES


def test_what_is_in_it_is_named(dist, unpacked):
    document = json.loads(next(dist.glob("*.spdx.json")).read_text())
    parts = {part["name"]: part for part in document["packages"]}
    assert document["spdxVersion"] == "SPDX-2.3" and parts.pop("heaptrack")["licenseDeclared"] == "MIT"
    assert {"preact", "libzstd", "elfutils", "libmicrohttpd", "zydis", "glibc"} <= set(parts)
    identifiers = [part["SPDXID"] for part in document["packages"]]
    assert len(set(identifiers)) == len(identifiers)
    assert {row["relatedSpdxElement"] for row in document["relationships"]} == set(identifiers)
    licences = {path.name for path in (unpacked / "share/doc/heaptrack/licences").iterdir()}
    assert licences == {name for name, part in parts.items() if "pkg:deb" in str(part)}


def test_it_writes_the_page_that_opens_recordings(dist, unpacked, build, tmp_path):
    if not (build / "src/wasm/engine.wasm").exists():
        pytest.skip("built without the engine for browsers (-Dviewer=enabled)")
    subprocess.run([unpacked / "bin/heaptrack_print", "--viewer", tmp_path / "v.html"], check=True, timeout=60)
    assert 'id="engine"' in (tmp_path / "v.html").read_text(encoding="utf-8")
    document = json.loads(next(dist.glob("*.spdx.json")).read_text())
    assert "wasi-libc" in {part["name"] for part in document["packages"]}
