"""The package of rpm: what is in it and what it asks for."""

import os
import shutil
import subprocess

import pytest


@pytest.fixture(scope="module")
def rpm(made):
    if not shutil.which("rpmbuild"):
        pytest.skip("rpmbuild is not installed")
    return next(made("packaging/rpm").glob("*.rpm"))


def query(rpm, *words):
    return subprocess.run(["rpm", "-qp", *words, rpm], check=True, capture_output=True, text=True,
                          timeout=60).stdout.splitlines()


def test_relations(rpm):
    assert query(rpm, "--qf", "%{NAME}\n") == ["heaptrack-c"]
    assert query(rpm, "--conflicts") == ["heaptrack"] and "heaptrack" in query(rpm, "--provides")
    assert [name for name in query(rpm, "--requires") if not name.startswith("rpmlib(")] == []
    assert query(rpm, "--scripts") == []


def test_installs_and_leaves_nothing(rpm, tmp_path):
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    command = ["rpm", "--root", root, "--nodeps", "--dbpath", "/var/lib/rpm"]
    try:
        subprocess.run([*command, "-i", rpm], check=True, timeout=60)
    except subprocess.CalledProcessError:
        if os.geteuid() != 0:
            pytest.skip("rpm installs as root")
        raise
    run = ["unshare", "-rmpf", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root]
    said = subprocess.run([*run, "/usr/bin/heaptrack", "--version"], check=True, capture_output=True, timeout=60)
    assert b"heaptrack-c" in said.stdout
    subprocess.run([*command, "-e", "heaptrack-c"], check=True, timeout=60)
    left = {str(path.relative_to(root / "usr")) for path in (root / "usr").rglob("*") if "rpm" not in path.parts}
    assert left <= {"bin", "include", "lib", "lib/sysimage", "share", "share/doc", "share/man", "share/man/man1",
                    "share/man/man5"}
