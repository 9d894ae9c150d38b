"""install.sh: one line to install, one to remove, and nothing left of it."""

import os
import re
import shutil
import subprocess

import pytest


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def install(dist, home):
    def install(*options, script=dist / "install.sh", shell="sh"):
        return subprocess.run([shell, script, *options], cwd=home, capture_output=True, text=True, timeout=60,
                              env={"PATH": os.environ["PATH"], "HOME": str(home)}, check=False)
    return install


def below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_install_run_upgrade_remove(install, home, shell):
    (home / ".local/share").mkdir(parents=True)  # which was there before
    said = install(shell=shell)
    assert said.returncode == 0, said.stderr
    assert f'export PATH="{home}/.local/bin:$PATH"' in said.stdout
    first = below(home)
    assert ".local/bin/heaptrack_print" in first
    heaptrack = home / ".local/bin/heaptrack"
    assert subprocess.run([heaptrack, "-q", "-o", home / "true.zst", "true"], check=False, timeout=60).returncode == 0
    (home / "true.zst").unlink()
    (home / ".local/lib/heaptrack/of-an-older-version").write_text("")
    with open(home / ".local/lib/heaptrack/installed", "a", encoding="utf-8") as file:
        file.write("lib/heaptrack/of-an-older-version\n")
    assert install(shell=shell).returncode == 0
    assert below(home) == first
    said = install("--uninstall", shell=shell)
    assert said.returncode == 0, said.stderr
    assert below(home) == [".local", ".local/share"]
    said = install("--uninstall", shell=shell)
    assert said.returncode == 1 and "not installed" in said.stderr


def test_another_prefix(install, home):
    assert install("--prefix", "tools/heaptrack").returncode == 0
    assert subprocess.run([home / "tools/heaptrack/bin/heaptrack", "--version"], check=False).returncode == 0
    assert install("--uninstall", "--prefix", "tools/heaptrack").returncode == 0
    assert below(home) == ["tools"]


def test_a_damaged_archive_is_not_installed(dist, install, home, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(dist, copy)
    archive = next(copy.glob("*.tar.xz"))
    with open(archive, "r+b") as file:
        middle = archive.stat().st_size // 2
        file.seek(middle)
        byte, = file.read(1)
        file.seek(middle)
        file.write(bytes([byte ^ 1]))
    said = install("--from", str(copy))
    assert said.returncode == 1 and "SHA256SUMS" in said.stderr
    (copy / "SHA256SUMS").write_text("")
    assert install("--from", str(copy)).returncode == 1
    assert below(home) == []


def test_nothing_is_left_to_fill_in(dist):
    assert re.findall("@[A-Z]+@", (dist / "install.sh").read_text()) == []


def test_files_of_others_are_left_alone(install, home):
    (home / ".local/bin").mkdir(parents=True)
    (home / ".local/bin/heaptrack").write_text("of someone else")
    said = install()
    assert said.returncode == 1 and "not of this heaptrack" in said.stderr
    assert below(home) == [".local", ".local/bin", ".local/bin/heaptrack"]
    assert (home / ".local/bin/heaptrack").read_text() == "of someone else"


def test_wrong_options(install, home):
    for options in (["--perfix", "x"], ["--prefix"], ["--from", "/nowhere"], ["--prefix", "a folder"]):
        said = install(*options)
        assert said.returncode == 1 and said.stderr.startswith("install.sh: "), said
    assert below(home) == []
