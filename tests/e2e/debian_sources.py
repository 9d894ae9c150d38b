"""Source packages of Debian, fetched while a test runs: by a configuration of apt that is the test's own."""

import shutil
import subprocess
from pathlib import Path

import pytest

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
ARCHIVE = "http://deb.debian.org/debian"
RELEASE = "bookworm"
SECONDS = 600  # for what is large


def fetch(package, folder, wanted):
    """Those files of the package's source whose paths in it match, in a folder that is returned.

    apt compares them with Debian's signature. Without a network, or anything to fetch them with, the
    test is skipped.
    """
    for program in ("apt-get", "dpkg-source", "tar"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    if not KEYRING.exists():
        pytest.skip(f"{KEYRING} is not installed")
    home = folder / "apt"
    for part in ("lists/partial", "cache/archives/partial"):
        (home / part).mkdir(parents=True, exist_ok=True)
    (home / "sources.list").write_text(f"deb-src [signed-by={KEYRING}] {ARCHIVE} {RELEASE} main\n")
    (home / "apt.conf").write_text(f'Dir::Etc::sourcelist "{home}/sources.list";\nDir::Etc::sourceparts "-";\n'
                                   f'Dir::State::lists "{home}/lists";\nDir::Cache "{home}/cache";\n'
                                   'APT::Sandbox::User "";\nAcquire::Retries "2";\n')
    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "APT_CONFIG": str(home / "apt.conf"), "LC_ALL": "C"}
    for command in (["update", "-q"], ["source", "-q", "--download-only", package]):
        try:
            done = subprocess.run(["apt-get", *command], cwd=home, env=environment, timeout=SECONDS, check=False,
                                  capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            pytest.skip(f"no answer from {ARCHIVE}")
        if done.returncode != 0 or "Failed to fetch" in done.stderr:
            pytest.skip(f"{ARCHIVE} cannot be reached: {done.stderr[-300:]}")
    archive, = home.glob("*.orig.tar.*")
    subprocess.run(["tar", "xf", archive, "--strip-components=1", "--wildcards", *wanted], cwd=folder, check=True,
                   timeout=SECONDS)
    archive.unlink()
    return folder
