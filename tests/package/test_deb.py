"""The package of `make deb`: what is in it, what it asks for, and what lintian says."""

import hashlib
import re
import shutil
import subprocess

import pytest

DEB_MAX_BYTES = 600_000
OLDEST_GLIBC = (2, 28)


@pytest.fixture(scope="module")
def deb(made):
    return next(made("packaging/deb").glob("*.deb"))


@pytest.fixture(scope="module")
def tree(deb, tmp_path_factory):
    folder = tmp_path_factory.mktemp("deb")
    subprocess.run(["dpkg-deb", "-R", deb, folder], check=True, timeout=60)
    return folder


def field(deb, name):
    return subprocess.run(["dpkg-deb", "-f", deb, name], check=True, capture_output=True, text=True,
                          timeout=60).stdout.strip()


def test_name_and_relations(deb):
    assert field(deb, "Package") == "heaptrack-c" and ":" not in field(deb, "Version")
    assert field(deb, "Provides") == "heaptrack"
    for relation in ("Conflicts", "Replaces"):
        assert field(deb, relation) == "heaptrack, heaptrack-gui, libheaptrack"


def test_size(deb):
    assert deb.stat().st_size <= DEB_MAX_BYTES


def readelf(option, file):
    return subprocess.run(["readelf", "-W", option, file], check=True, capture_output=True, text=True,
                          timeout=60).stdout


def test_symbols_of_glibc(tree):
    files = [tree / "usr/bin/heaptrack", *(tree / "usr/lib/heaptrack").glob("*.so")]
    assert len(files) == 3
    for file in files:
        asked = re.findall(r"GLIBC_(\d+)\.(\d+)", readelf("--dyn-syms", file))
        assert max([OLDEST_GLIBC, *(tuple(map(int, version)) for version in asked)]) == OLDEST_GLIBC, file


def test_each_library_is_asked_for(deb, tree):
    """What the program is linked with comes from a package that Depends names."""
    wanted = {re.sub(r"t64$", "", word.split()[0]) for word in re.split(r"[,|]", field(deb, "Depends"))}
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", tree / "usr/bin/heaptrack")):
        path = shutil.which("ldconfig", path="/sbin:/usr/sbin") and subprocess.run(
            ["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True, timeout=60).stdout
        at = re.search(rf"^\s*{re.escape(library)} .* => (\S+)$", path, re.MULTILINE)[1]
        owners = subprocess.run(["dpkg", "-S", at, at.removeprefix("/usr"), "/usr" + at], capture_output=True,
                                text=True, check=False, timeout=60).stdout
        assert {row.split(":")[0] for row in owners.splitlines()} & wanted, library


def test_files_are_as_their_sums_say(tree):
    rows = (tree / "DEBIAN/md5sums").read_text().splitlines()
    names = {row.split("  ")[1] for row in rows}
    assert names == {str(path.relative_to(tree)) for path in (tree / "usr").rglob("*")
                     if path.is_file() and not path.is_symlink()}
    for row in rows:
        digest, name = row.split("  ")
        assert hashlib.md5((tree / name).read_bytes()).hexdigest() == digest


def test_lintian(deb):
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    said = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", deb], capture_output=True,
                          text=True, timeout=300, check=False)
    assert said.returncode == 0 and said.stdout == "", said.stdout + said.stderr


def test_desktop_files(tree):
    share = tree / "usr/share"
    for tool, *words in (["desktop-file-validate", share / "applications/heaptrack-viewer.desktop"],
                         ["appstreamcli", "validate", "--no-net", share / "metainfo/heaptrack.metainfo.xml"]):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
        said = subprocess.run([tool, *words], capture_output=True, text=True, timeout=60, check=False)
        assert said.returncode == 0, said.stdout + said.stderr


def test_a_recording_is_known_by_its_kind(tree, tools, tmp_path):
    if not shutil.which("update-mime-database"):
        pytest.skip("shared-mime-info is not installed")
    shutil.copytree(tree / "usr/share/mime", tmp_path / "mime")
    subprocess.run(["update-mime-database", tmp_path / "mime"], check=True, timeout=60)
    head = tools.record("/bin/true").file.read_bytes()[:64]
    magic = (tmp_path / "mime/magic").read_bytes()
    row = re.search(rb"\[60:application/x-heaptrack\]\n>(\d+)=(..)(.*)\n", magic, re.DOTALL)
    at, n = int(row[1]), int.from_bytes(row[2], "big")
    assert head[at:at + n] == row[3][:n] == b"heaptrk"


@pytest.mark.parametrize("shell, file", [
    ("bash", "bash-completion/completions/heaptrack"), ("zsh", "zsh/site-functions/_heaptrack"),
    ("fish", "fish/vendor_completions.d/heaptrack.fish")])
def test_completions(tree, tools, shell, file):
    said = tools.run(tools.build / "tools/manual/heaptrack-completion", shell)
    assert (tree / "usr/share" / file).read_text() == said.stdout and "heaptrack_print" in said.stdout


def test_a_manual_page_for_each_command(tree):
    pages = {path.name for path in (tree / "usr/share/man/man1").iterdir()}
    assert pages == {f"{path.name}.1.gz" for path in (tree / "usr/bin").iterdir()}
