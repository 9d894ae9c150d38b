"""The commands of docs/exports.md and docs/ci.md do what the pages say."""

import os
import re
import shutil
import subprocess
import tarfile
import xml.etree.ElementTree

import conftest
import pytest

DOCS = conftest.SOURCE / "docs"
APP = r"""
#include <stdlib.h>
#include <string.h>
static char *volatile kept[100];
static void fill(int n) {
	for (int i = 0; i < n; i++) {
		kept[i] = malloc(1000);
		memset(kept[i], 1, 1000);
	}
}
int main(void) {
	fill(50);
	for (int i = 0; i < 30; i++) {
		free(kept[99] = malloc(64));
	}
	for (int i = 0; i < 50 - NEVER_FREED; i++) {
		free(kept[i]);
	}
	return 0;
}
"""
NEEDS = {"ms_print": "ms_print", "go tool": "go", "callgrind_annotate": "callgrind_annotate",
         "jq": "jq", "massif.out": "valgrind"}


def blocks(document):
    text = (DOCS / document).read_text()
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


CASES = [(document, block) for document in ("exports.md", "ci.md") for block in blocks(document)]


def compile_app(folder, never_freed=5):
    (folder / "app.c").write_text(APP.replace("NEVER_FREED", str(never_freed)))
    subprocess.run(["gcc", "-O1", "-g", "app.c", "-o", "app"], cwd=folder, check=True, timeout=120)


def environment(build, **more):
    return {**os.environ, "PATH": f"{build}:{os.environ['PATH']}", **more}


@pytest.fixture(scope="module")
def folder(build, tmp_path_factory):
    """The files that the pages speak of."""
    folder = tmp_path_factory.mktemp("docs")
    compile_app(folder)
    tools = conftest.Tools(build, folder)
    for name in ("app", "base", "run1", "run2", "run3", "base1", "base2", "base3"):
        recording = tools.record(folder / "app", name=name)
        assert recording.status == 0, repr(recording)
    tools.finish()
    if shutil.which("valgrind"):
        subprocess.run(["valgrind", "-q", "--tool=massif", "--massif-out-file=massif.out", "./app"],
                       cwd=folder, check=True, timeout=300)
    return folder


def bash(tools, script, folder, **more):
    return tools.run("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script, cwd=folder,
                     timeout=300, env=environment(tools.build, **more))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("document,block", CASES)
def test_commands_run(tools, folder, tmp_path, document, block):
    for word, tool in NEEDS.items():
        if word in block and not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    copy = tmp_path / "folder"
    shutil.copytree(folder, copy)
    done = bash(tools, block, copy, PPROF_TMPDIR=str(tmp_path))
    assert done.status == 0, repr(done)
    for line in block.splitlines():
        for out in re.findall(r"--(?:export [a-z-]+=|junit )(\S+)", line):
            assert out == "-" or (copy / out).stat().st_size > 0, line


def test_every_export_has_its_row(tools, tmp_path):
    done = tools.run(tools.heaptrack_print, "--export", "nothing=x", tmp_path)
    names = done.stderr.split("use one of: ")[1].strip().split(", ")
    text = (DOCS / "exports.md").read_text()
    for name in names:
        assert f"**{name}**" in text, name
    table = text.split("## The formats")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)
    assert set(rows) == set(names) - {"heaptrack-raw"}


def test_every_gate_is_understood(tools, folder):
    text = (DOCS / "ci.md").read_text()
    rows = re.findall(r"^\| (`.*`) \|", text, re.MULTILINE)
    gates = [gate for row in rows for gate in re.findall(r"`([^`]+)`", row)]
    assert len(gates) >= 10
    for gate in gates:
        done = tools.run(tools.heaptrack_print, "-d", folder / "base.zst", "--fail-if", gate,
                         folder / "app.zst")
        assert done.status in (0, 3) and done.stderr == "", repr(done)


# ---- the job

def steps_of_job():
    """name: script, of the steps that run something."""
    job = re.search(r"^```yaml\n(.*?)^```$", (DOCS / "ci.md").read_text(),
                    re.MULTILINE | re.DOTALL)[1]
    steps = re.findall(r"      - name: (.+)\n(?:        shell: (.+)\n)?        run: \|\n"
                       r"((?:          .*\n)+)", job)
    return {name: (shell, re.sub("^          ", "", script, flags=re.MULTILINE))
            for name, shell, script in steps}


def run_job(tools, folder, never_freed):
    """Both checkouts as the job finds them; the last step's end, and the files it leaves."""
    home = folder / "home"
    home.mkdir(parents=True)
    for side, n in (("base", 5), ("new", never_freed)):
        (folder / side).mkdir()
        compile_app(folder / side, n)
        (folder / side / "app").unlink()
        (folder / side / "Makefile").write_text("app: app.c\n\tgcc -O1 -g app.c -o app\n")
    (folder / "new" / "ci").mkdir()
    with tarfile.open(folder / "new" / "ci" / "heaptrack.tar.xz", "w:xz") as archive:
        for name in ("heaptrack", "heaptrack_print"):
            link = tarfile.TarInfo(f"heaptrack-1/bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, str(tools.build / name)
            archive.addfile(link)
    files = {name: folder / name for name in ("GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
    path = os.environ["PATH"]
    for shell, script in steps_of_job().values():
        options = ["-eo", "pipefail"] if shell == "bash" else ["-e"]  # as GitHub's runner does
        done = tools.run("bash", "--noprofile", "--norc", *options, "-c", script, cwd=folder,
                         timeout=300, env={"HOME": str(home), "PATH": path,
                                           **{name: str(file) for name, file in files.items()}})
        if files["GITHUB_PATH"].exists():
            path = files["GITHUB_PATH"].read_text().strip() + ":" + os.environ["PATH"]
        if done.status:
            return done
    return done


@pytest.mark.timeout(600)
@pytest.mark.parametrize("never_freed,status", [(5, 0), (40, 3)])
def test_the_job_passes_and_fails(tools, tmp_path, never_freed, status):
    assert list(steps_of_job()) == ["Install heaptrack", "Build", "Record", "Judge"]
    folder = tmp_path / "work"
    done = run_job(tools, folder, never_freed)
    assert done.status == status, repr(done)
    root = xml.etree.ElementTree.parse(folder / "heap.xml").getroot()
    assert root.find("testsuite").get("tests") == "3"
    assert root.find("testsuite").get("failures") == ("1" if status else "0")
    summary = (folder / "GITHUB_STEP_SUMMARY").read_text()
    assert summary == done.stdout and ("fill app.c:" in summary) == bool(status)
