"""Every package, built twice from one commit: in another folder, later, with another umask, locale, time zone, home and
order of the files in a folder. The same bytes."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

SOURCE = Path(__file__).resolve().parents[2]
SCRIPTS = ["tools/dist", "packaging/deb", "packaging/rpm", "packaging/npm", "packaging/image"]
MADE = {".tar.xz", ".spdx.json", "install.sh", "SHA256SUMS", ".deb", ".rpm", ".tgz", ".image.tar"}
COMMITTED = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
             for what, value in (("NAME", "x"), ("EMAIL", "x@example.org"), ("DATE", "1700000000 +0000"))}
ENVIRONMENTS = [
    {"LC_ALL": "C.UTF-8", "TZ": "UTC"},
    {"LC_ALL": "C", "LANGUAGE": "de", "TZ": "Asia/Kathmandu", "USER": "someone", "COLUMNS": "200"},
]
UMASKS = [0o022, 0o077]


def copy_of_the_tree(folder):
    """What is committed and changed here, as the one commit of a repository."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=SOURCE,
                            check=True, capture_output=True, text=True, timeout=60).stdout
    for name in filter(lambda name: name and (SOURCE / name).exists(), listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(SOURCE / name, folder / name, follow_symlinks=False)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True, timeout=120, env=dict(os.environ, **COMMITTED))


def all_made_in(folder, page, env, umask):
    """{name: bytes} of all that is published, built in this folder."""
    env = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"} | env
    for command in (["meson", "setup", "b", "-Dtests=false", f"-Dweb_prebuilt={page}"], ["ninja", "-C", "b", "-j2"],
                    *([script, "b", "out"] for script in SCRIPTS)):
        done = subprocess.run(["sh", "-c", f'umask {umask:o}; exec "$@"', "sh", *command], cwd=folder, env=env,
                              timeout=3000, check=False, capture_output=True, text=True)
        assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


@pytest.fixture
def disordered(tmp_path):
    """A folder whose files are listed in the opposite order, if this machine can mount one."""
    below, folder = tmp_path / "below", tmp_path / "a-longer" / "other-place"
    below.mkdir()
    folder.mkdir(parents=True)
    mounted = shutil.which("disorderfs") and subprocess.run(
        ["disorderfs", "--sort-dirents=yes", "--reverse-dirents=yes", "--multi-user=no", below, folder],
        capture_output=True, timeout=60, check=False).returncode == 0
    yield folder
    if mounted:
        subprocess.run(["fusermount", "-u", "-z", folder], check=True, timeout=60)


def test_two_builds_are_the_same_bytes(build, disordered, tmp_path):
    for tool in ("rpmbuild", "npm", "dpkg-deb"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    page, made = build / "src/web/page.html", []
    (tmp_path / "one").mkdir()
    (tmp_path / "home").mkdir()
    for folder, env, umask in zip((tmp_path / "one", disordered), ENVIRONMENTS, UMASKS):
        copy_of_the_tree(folder)
        made.append(all_made_in(folder, page, env | {"HOME": str(tmp_path / "home")} if umask == 0o077 else env, umask))
    one, other = made
    assert one.keys() == other.keys()
    assert {kind for kind in MADE if not any(name.endswith(kind) for name in one)} == set()
    assert [name for name in one if one[name] != other[name]] == []
