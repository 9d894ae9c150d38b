"""Packages of Debian and their sources, fetched while a test runs: by a configuration of apt that is the test's own."""

import shutil
import subprocess
from pathlib import Path

import pytest

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
ARCHIVE = "http://deb.debian.org/debian"
RELEASE = "bookworm"
SECONDS = 600  # for what is large


def ask(folder, kind, *command):
    """Let apt-get fetch something into a folder, where it compares it with Debian's signature.

    Without a network, or anything to fetch it with, the test is skipped.
    """
    for program in ("apt-get", "dpkg-source", "tar"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if not KEYRING.exists():
        pytest.skip(f"{KEYRING} is not installed")
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(f"{kind} [signed-by={KEYRING}] {ARCHIVE} {RELEASE} main\n")
    (folder / "apt.conf").write_text(f'Dir::Etc::sourcelist "{folder}/sources.list";\nDir::Etc::sourceparts "-";\n'
                                     f'Dir::State::lists "{folder}/lists";\nDir::Cache "{folder}/cache";\n'
                                     'APT::Sandbox::User "";\nAcquire::Retries "2";\n')
    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C"}
    for its in (["update", "-q"], command):
        try:
            done = subprocess.run(["apt-get", *its], cwd=folder, env=environment, timeout=SECONDS, check=False,
                                  capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            pytest.skip(f"no answer from {ARCHIVE}")
        if done.returncode != 0 or "Failed to fetch" in done.stderr:
            pytest.skip(f"{ARCHIVE} cannot be reached: {done.stderr[-300:]}")


def fetch_source(package, folder, wanted):
    """Those files of a package's source whose paths in it match. `folder` is where they are then."""
    apt = folder / "apt"
    ask(apt, "deb-src", "source", "-q", "--download-only", package)
    archive, = apt.glob("*.orig.tar.*")
    subprocess.run(["tar", "xf", archive, "--strip-components=1", "--wildcards", *wanted], cwd=folder, check=True,
                   timeout=SECONDS)
    archive.unlink()
    return folder


def fetch_packages(packages, folder):
    """The files of packages, without installing them. `folder` is their root then."""
    apt = folder / "apt"
    ask(apt, "deb", "download", "-q", *packages)
    for package in apt.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True, timeout=SECONDS)
    return folder
