"""The container image: a whole layout, whose one layer runs as a root of its own."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
VERSION = re.search(r"^\s*version: '(.*)',", (SOURCE / "meson.build").read_text(), re.MULTILINE)[1]
IMAGE_MAX_BYTES = 2_500_000


@pytest.fixture(scope="module")
def image(made):
    return next(made("packaging/image").glob("*.image.tar"))


@pytest.fixture(scope="module")
def layout(image, tmp_path_factory):
    folder = tmp_path_factory.mktemp("image")
    with tarfile.open(image) as tar:
        tar.extractall(folder)
    return folder


def blob(layout, row):
    content = (layout / "blobs" / row["digest"].replace(":", "/")).read_bytes()
    assert "sha256:" + hashlib.sha256(content).hexdigest() == row["digest"]
    assert len(content) == row["size"]
    return content


def test_both_layouts_name_the_same(image, layout):
    assert image.stat().st_size <= IMAGE_MAX_BYTES
    assert json.loads((layout / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads((layout / "index.json").read_text())
    manifest = json.loads(blob(layout, index["manifests"][0]))
    config = json.loads(blob(layout, manifest["config"]))
    for_docker, = json.loads((layout / "manifest.json").read_text())
    assert for_docker["Config"] == "blobs/" + manifest["config"]["digest"].replace(":", "/")
    assert for_docker["Layers"] == ["blobs/" + row["digest"].replace(":", "/") for row in manifest["layers"]]
    assert config["config"]["Entrypoint"] == ["/usr/local/bin/heaptrack"]


@pytest.mark.parametrize("kind", ["docker-archive", "oci"])
def test_others_understand_it(image, layout, kind):
    if not shutil.which("skopeo"):
        pytest.skip("skopeo is not installed")
    said = subprocess.run(["skopeo", "inspect", f"{kind}:{image if kind == 'docker-archive' else layout}"], check=True,
                          capture_output=True, text=True, timeout=60).stdout
    about = json.loads(said)
    assert (about["Os"], about["Architecture"], len(about["Layers"])) == ("linux", "amd64", 1)


def test_podman_loads_it_and_builds_on_it(image, podman, tmp_path):
    """With the lines for a Dockerfile of docs/packaging.md, after a program and before its run."""
    def run(*words):
        done = subprocess.run([*podman, *words], timeout=120, check=False, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    run("load", "-i", image)
    about, = json.loads(run("image", "inspect", f"heaptrack:{VERSION}"))
    assert about["Config"]["Entrypoint"] == ["/usr/local/bin/heaptrack"] and about["Architecture"] == "amd64"
    context = tmp_path / "context"
    context.mkdir()
    (tmp_path / "program.c").write_text("#include <stdlib.h>\nint main(void) { return malloc(10) ? 0 : 4; }")
    subprocess.run(["musl-gcc", "-static", "-o", context / "program", tmp_path / "program.c"], check=True, timeout=60)
    lines = re.search(r"```dockerfile\n(.*?)```", (SOURCE / "docs/packaging.md").read_text(), re.DOTALL)[1]
    (context / "Dockerfile").write_text(
        f'FROM scratch\nCOPY program /program\n{lines}RUN ["/usr/local/bin/heaptrack", "-o", "/recorded", "/program"]\n')
    # Not in a container, which the test's own surroundings may forbid
    run("build", "--isolation", "chroot", "--pull=never", "-t", "app", context)
    mounted = run("image", "mount", "app").strip()
    assert os.path.getsize(f"{mounted}/recorded.zst") > 0
    run("image", "umount", "app")
    run("rmi", "app", f"heaptrack:{VERSION}")


def test_the_layer_runs_by_itself(layout, tmp_path):
    manifest = json.loads(blob(layout, json.loads((layout / "index.json").read_text())["manifests"][0]))
    config = json.loads(blob(layout, manifest["config"]))
    row, = manifest["layers"]
    unpacked = subprocess.run(["gzip", "-dc"], input=blob(layout, row), check=True, capture_output=True,
                              timeout=60).stdout
    assert ["sha256:" + hashlib.sha256(unpacked).hexdigest()] == config["rootfs"]["diff_ids"]
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    (root / "tmp").mkdir()
    subprocess.run(["tar", "-C", root, "-xf", "-"], input=unpacked, check=True, timeout=60)
    (tmp_path / "program.c").write_text("#include <stdlib.h>\nint main(void) { return malloc(10) ? 3 : 4; }")
    subprocess.run(["musl-gcc", "-static", "-o", root / "tmp/program", tmp_path / "program.c"], check=True, timeout=60)
    done = subprocess.run(["unshare", "-rmpf", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root,
                           *config["config"]["Entrypoint"], "-q", "-o", "/tmp/out", "/tmp/program"],
                          env={"PATH": os.environ["PATH"]}, timeout=60, check=False)
    assert done.returncode == 3 and (root / "tmp/out.zst").stat().st_size > 0
