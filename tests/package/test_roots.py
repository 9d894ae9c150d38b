"""Clean roots of Debian 11, 12 and 13, and one like Fedora's: install, record, print, attach, upgrade, remove; nothing
is left.

mmdebstrap makes them, so this takes root and the network; `--long` alone. The .deb takes the place of KDE's
heaptrack, the archive stands beside nothing. The root like Fedora's has Debian's programs in Fedora's places: dnf and
rpm instead of apt and dpkg, and libraries in /usr/lib64.
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
SOURCE = Path(__file__).resolve().parents[2]
SUITES = ["bullseye", "bookworm", "trixie"]
# What apt, dpkg and their triggers keep for themselves
NOT_OURS = ("var/lib/dpkg", "var/lib/apt", "var/lib/dnf", "var/lib/rpm", "var/cache", "var/log", "tmp", "proc", "run",
            "etc/ld.so.cache", "dev", "home", "root")


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


def new_root(folder, suite, packages):
    for tool in ("mmdebstrap", "musl-gcc"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    if os.geteuid() != 0:
        pytest.skip("roots are made by root")
    path = folder / "root"
    made = subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", f"--include={packages}", suite, path],
                          capture_output=True, text=True, timeout=1200, check=False)
    if made.returncode != 0:
        pytest.skip(f"{suite} cannot be had: {made.stderr[-300:]}")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["musl-gcc", "-static", "-O1", "-o", path / "tmp/program", folder / "program.c"], check=True,
                   timeout=60)
    (path / "home/x").mkdir()
    return Root(path)


@pytest.fixture(scope="module", params=SUITES)
def root(request, tmp_path_factory):
    return new_root(tmp_path_factory.mktemp(request.param), request.param, "xz-utils")


@pytest.fixture(scope="module")
def fedora(tmp_path_factory):
    """Not a package of it is Fedora's, but nothing is left of Debian's places and package manager."""
    if not shutil.which("rpmbuild"):
        pytest.skip("rpmbuild is not installed")
    root = new_root(tmp_path_factory.mktemp("fedora"), "bookworm", "dnf,rpm,perl")
    multiarch, lib64 = root.path / "usr/lib/x86_64-linux-gnu", root.path / "usr/lib64"
    (lib64 / "ld-linux-x86-64.so.2").unlink()  # which leads to the other folder
    for path in multiarch.iterdir():
        path.rename(lib64 / path.name)
    multiarch.rmdir()
    (root.path / "etc/ld.so.conf.d/lib64.conf").write_text("/usr/lib64\n")
    subprocess.run(["chroot", root.path, "/sbin/ldconfig"], check=True, timeout=60)
    for name in ("var/lib/dpkg", "var/lib/apt", "usr/lib/apt", "usr/lib/dpkg"):
        shutil.rmtree(root.path / name)
    for path in [*(root.path / "usr/bin").glob("apt*"), *(root.path / "usr/bin").glob("dpkg*")]:
        path.unlink()
    root.run("dnf", "--version")  # python compiles it
    return root


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


def rpm_of(folder, name, version, tree):
    """A package of these files, by the spec of ours."""
    files = folder / "files"
    of_the_system = {"usr", "usr/bin", "usr/include", "usr/lib", "usr/share", "usr/share/doc", "usr/share/man",
                     "usr/share/man/man1", "usr/share/man/man5"}
    files.write_text("".join(f"{'%dir ' if path.is_dir() else ''}/{path.relative_to(tree)}\n"
                             for path in sorted(tree.rglob("*"))
                             if str(path.relative_to(tree)) not in of_the_system))
    spec = folder / "package.spec"
    text = (SOURCE / "packaging/heaptrack-c.spec").read_text()
    spec.write_text(text if name == "heaptrack-c" else
                    text.replace("heaptrack-c\n", f"{name}\n").replace("Provides:  heaptrack\n", "")
                    .replace("Conflicts: heaptrack\n", ""))
    defined = {"_topdir": folder / "top", "_rpmdir": folder / "out", "tree": tree, "files_of_tree": files,
               "release_version": version}
    subprocess.run(["rpmbuild", "-bb", "--quiet", *(f"--define={name} {value}" for name, value in defined.items()), spec],
                   check=True, timeout=120, capture_output=True)
    return next((folder / "out").rglob(f"{name}-{version}*.rpm"))


def newer_rpm(rpm, folder):
    """The same package, of a later version: one file is gone, one is new."""
    tree = folder / "tree"
    tree.mkdir()
    with open(rpm, "rb") as file:
        packed = subprocess.run(["rpm2archive", "-"], check=True, stdin=file, stdout=subprocess.PIPE, timeout=60).stdout
    subprocess.run(["tar", "-xzf", "-"], cwd=tree, input=packed, check=True, timeout=60)
    doc = tree / "usr/share/doc/heaptrack-c"
    (doc / "README.md").rename(doc / "README")
    return rpm_of(folder, "heaptrack-c", "0.1.1", tree)


TOOLS = {"dnf": [["dnf", "-q", "-y", "install"], ["dnf", "-q", "-y", "upgrade"], ["dnf", "-q", "-y", "remove"]],
         "rpm": [["rpm", "-i"], ["rpm", "-U"], ["rpm", "-e"]]}


@pytest.mark.parametrize("tool", TOOLS)
def test_rpm(fedora, made, tmp_path, tool):
    rpm = next(made("packaging/rpm").glob("*.rpm"))
    install, upgrade, remove = TOOLS[tool]
    before = fedora.files()
    shutil.copy(rpm, fedora.path / "tmp/heaptrack-c.rpm")
    fedora.run(*install, "/tmp/heaptrack-c.rpm")
    assert "heaptrack-c" in fedora.run("heaptrack", "--version")
    works(fedora)
    shutil.copy(newer_rpm(rpm, tmp_path), fedora.path / "tmp/newer.rpm")
    fedora.run(*upgrade, "/tmp/newer.rpm")
    assert fedora.run("rpm", "-q", "--qf", "%{VERSION}", "heaptrack-c") == "0.1.1"
    doc = fedora.path / "usr/share/doc/heaptrack-c"
    assert (doc / "README").exists() and not (doc / "README.md").exists()
    works(fedora)
    fedora.run("rpm", "-V", "heaptrack-c")
    fedora.run(*remove, "heaptrack-c")
    assert fedora.files() == before


def test_rpm_takes_the_place_of_kdes(fedora, made, tmp_path):
    """A package named as Fedora names KDE's, with one of its files."""
    tree = tmp_path / "kde"
    (tree / "usr/bin").mkdir(parents=True)
    (tree / "usr/bin/heaptrack").write_text("#!/bin/sh\necho KDE\n")
    (tree / "usr/bin/heaptrack").chmod(0o755)
    before = fedora.files()
    shutil.copy(rpm_of(tmp_path, "heaptrack", "1.5.0", tree), fedora.path / "tmp/kde.rpm")
    shutil.copy(next(made("packaging/rpm").glob("*.rpm")), fedora.path / "tmp/heaptrack-c.rpm")
    fedora.run("dnf", "-q", "-y", "install", "/tmp/kde.rpm")
    fedora.run("dnf", "-q", "-y", "install", "/tmp/heaptrack-c.rpm", status=1)
    assert fedora.run("heaptrack") == "KDE\n"
    fedora.run("dnf", "-q", "-y", "--allowerasing", "install", "/tmp/heaptrack-c.rpm")
    assert "heaptrack-c" in fedora.run("heaptrack", "--version")
    fedora.run("rpm", "-q", "heaptrack", status=1)
    fedora.run("dnf", "-q", "-y", "remove", "heaptrack-c")
    assert fedora.files() == before
