"""What the package tests share: each artefact is made once, of the build, as `make` makes it."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def made(build):
    """made("tools/dist") -> the folder of what that script has made."""
    def made(script):
        folder = build / "check" / "package" / Path(script).name
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder.with_suffix(".lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side, in processes of their own
            run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
            stamp = folder.with_suffix(".run")
            if not stamp.exists() or stamp.read_text(encoding="utf-8") != run:
                for old in folder.iterdir():
                    old.unlink()
                subprocess.run([SOURCE / script, build, folder], cwd=SOURCE, check=True, timeout=900)
                stamp.write_text(run, encoding="utf-8")
        return folder
    return made


def one(folder, pattern):
    found = list(folder.glob(pattern))
    assert len(found) == 1, (folder, pattern, found)
    return found[0]


@pytest.fixture(scope="session")
def dist(made):
    return made("tools/dist")


@pytest.fixture(scope="session")
def unpacked(dist, tmp_path_factory):
    """The archive, unpacked somewhere."""
    folder = tmp_path_factory.mktemp("unpacked")
    subprocess.run(["tar", "-C", folder, "-xf", one(dist, "heaptrack-*.tar.xz")], check=True, timeout=60)
    return one(folder, "*")


@pytest.fixture
def podman():
    """The words of podman with a store of its own: what takes docker's words and needs no daemon."""
    if not shutil.which("podman"):
        pytest.skip("podman is not installed")
    if os.geteuid() != 0:
        pytest.skip("podman needs root for a store of its own")
    with tempfile.TemporaryDirectory(prefix="podman", dir="/tmp") as folder:  # it refuses paths above 50 characters
        words = ["podman", "--root", f"{folder}/store", "--runroot", f"{folder}/run", "--storage-driver", "vfs",
                 "--cgroup-manager", "cgroupfs"]
        yield words
        subprocess.run([*words, "image", "umount", "--all"], check=True, timeout=60, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def npm(made):
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    return made("packaging/npm")


@pytest.fixture(scope="session")
def project(npm, tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text("{}")
    subprocess.run(["npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--silent",
                    *sorted(npm.glob("*.tgz"))], cwd=folder, check=True, timeout=120)
    return folder
