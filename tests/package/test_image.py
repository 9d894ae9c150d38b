"""The container image: a whole layout, whose one layer runs as a root of its own."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile

import pytest

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
