"""Clean roots of Debian 11, 12 and 13: install, record, print, attach, upgrade, remove; nothing is left.

mmdebstrap makes them, so this takes root and the network; `--long` alone. The .deb takes the place of KDE's
heaptrack, the archive stands beside nothing.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

PROGRAM = """
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void allocate(int i) { kept = malloc(100 + i); if (i % 2) free(kept); }
int main(void) { for (int i = 0; i < 1000; i++) allocate(i); return 7; }
"""
SUITES = ["bullseye", "bookworm", "trixie"]
# What apt, dpkg and their triggers keep for themselves
NOT_OURS = ("var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "tmp", "proc", "run", "etc/ld.so.cache", "dev",
            "home", "root")


class Root:
    def __init__(self, path):
        self.path = path

    def run(self, *command, status=0, timeout=600):
        inside = ["unshare", "-mpf", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', self.path]
        done = subprocess.run([*inside, *command], capture_output=True, text=True, timeout=timeout, check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin:/home/x/.local/bin", "HOME": "/home/x",
                                   "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"})
        assert done.returncode == status, (command, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def apt(self, *words):
        return self.run("apt-get", "-qq", "-y", "-o", "Dpkg::Use-Pty=0", "--no-install-recommends", *words)

    def files(self):
        names = set()
        for folder, folders, files in os.walk(self.path):
            inside = Path(folder).relative_to(self.path)
            folders[:] = [name for name in folders if str(inside / name) not in NOT_OURS]
            names |= {str(inside / name) for name in [*files, *folders] if str(inside / name) not in NOT_OURS}
        return names


@pytest.fixture(scope="module", params=SUITES)
def root(request, tmp_path_factory):
    for tool in ("mmdebstrap", "musl-gcc"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    if os.geteuid() != 0:
        pytest.skip("roots are made by root")
    folder = tmp_path_factory.mktemp(request.param)
    path = folder / "root"
    made = subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", "--include=xz-utils", request.param, path],
                          capture_output=True, text=True, timeout=1200, check=False)
    if made.returncode != 0:
        pytest.skip(f"{request.param} cannot be had: {made.stderr[-300:]}")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["musl-gcc", "-static", "-O1", "-o", path / "tmp/program", folder / "program.c"], check=True,
                   timeout=60)
    (path / "home/x").mkdir()
    return Root(path)


def works(root):
    """Records a static program to the block, perl of this Debian, and one that runs already."""
    root.run("heaptrack", "-q", "-o", "/tmp/static", "/tmp/program", status=7)
    summary = json.loads(root.run("heaptrack_print", "--json", "/tmp/static.zst"))["summary"]
    assert summary["allocations"] - 1000 in range(10) and summary["never_freed_blocks"] - 500 in range(10)
    assert summary["complete"] and summary["lost_events"] == 0
    root.run("heaptrack", "-q", "-o", "/tmp/perl", "perl", "-e", "@a = map { 'x' x 5000 } 1 .. 2000")
    summary = json.loads(root.run("heaptrack_print", "--json", "/tmp/perl.zst"))["summary"]
    assert summary["allocations"] > 2000 and summary["peak_bytes"] > 10_000_000 and summary["lost_events"] == 0
    root.run("heaptrack_print", "--html", "/tmp/page.html", "/tmp/perl.zst")
    assert "<html" in (root.path / "tmp/page.html").read_text()[:500]
    root.run("sh", "-c", """
        perl -e 'for (1 .. 400) { push @a, "x" x 5000; select undef, undef, undef, .01 }' & pid=$!
        sleep 0.5; heaptrack -q -o /tmp/attached -p $pid --duration 1s; status=$?
        kill $pid; exit $status""")
    summary = json.loads(root.run("heaptrack_print", "--json", "/tmp/attached.zst"))["summary"]
    assert summary["allocations"] > 10
    for path in (root.path / "tmp").glob("*.zst"):
        path.unlink()


def newer(deb, folder):
    """The same package, of a later version."""
    tree = folder / "tree"
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True, timeout=60)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace("-1\nArchitecture", "-2\nArchitecture"))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", tree, folder / "newer.deb"], check=True, timeout=60,
                   stdout=subprocess.DEVNULL)
    return folder / "newer.deb"


def test_deb(root, made, tmp_path):
    deb = next(made("packaging/deb").glob("*.deb"))
    before = root.files()
    root.apt("update")
    root.apt("install", "heaptrack")
    shutil.copy(deb, root.path / "tmp/heaptrack-c.deb")
    root.apt("install", "/tmp/heaptrack-c.deb")
    assert "heaptrack-c" in root.run("heaptrack", "--version")
    assert not (root.path / "var/lib/dpkg/info/libheaptrack.list").exists()
    works(root)
    shutil.copy(newer(deb, tmp_path), root.path / "tmp/newer.deb")
    root.apt("install", "/tmp/newer.deb")
    assert root.run("dpkg-query", "-W", "-f", "${Version}", "heaptrack-c").endswith("-2")
    works(root)
    root.apt("purge", "heaptrack-c")
    root.apt("autoremove", "--purge")
    assert root.files() - before == set()


def test_archive(root, dist):
    before = root.files()
    shutil.copytree(dist, root.path / "tmp/dist", dirs_exist_ok=True)
    for _ in ("install", "upgrade"):
        root.run("sh", "/tmp/dist/install.sh")
        works(root)
    root.run("sh", "/tmp/dist/install.sh", "--uninstall")
    assert root.files() == before and list((root.path / "home/x").iterdir()) == []
