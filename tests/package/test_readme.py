"""The lines of README.md's chapter Install, run as they are written.

What needs the rights of root or a daemon has a stand-in before it: sudo runs the words that follow it, dpkg and rpm
install into an empty root (test_roots.py does so into whole ones, by apt and dnf), and docker is podman, which needs no
daemon.
"""

import functools
import http.server
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
CHAPTER = re.search(r"^## Install\n(.*?)^## ", README, re.MULTILINE | re.DOTALL)[1]
LINES = {re.sub(r"^sudo ", "", line).split()[0]: line
         for line in re.findall(r"^    (.*?)(?: +# .*)?$", CHAPTER, re.MULTILINE)}

STAND_INS = {
    "sudo": 'exec "$@"',
    "apt": 'exec dpkg --root "$ROOT" --log /dev/null --force-not-root --force-depends -i "$2"',
    "rpm": 'exec /usr/bin/rpm --root "$ROOT" --nodeps "$@"',
    "docker": 'exec $PODMAN "$@"',
}


@pytest.fixture
def type_in(tmp_path):
    """Run a line of the chapter in this folder; what it prints."""
    (tmp_path / "bin").mkdir()
    for name, text in STAND_INS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)

    def type_in(command, folder, **more):
        env = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "ROOT": str(tmp_path / "root"),
               "no_proxy": "*", **more}
        done = subprocess.run(["sh", "-c", LINES[command]], cwd=folder, env=env, capture_output=True, text=True,
                              timeout=120, check=False)
        assert done.returncode == 0, (LINES[command], done.stdout, done.stderr)
        return done.stdout
    return type_in


def needs(tool):
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")


def test_every_line_has_its_test():
    assert set(LINES) == {"curl", "apt", "rpm", "npx", "docker"}


def test_curl(dist, type_in, tmp_path):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=dist))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        type_in("curl", tmp_path, RELEASE=f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        server.server_close()
    said = subprocess.run([tmp_path / ".local/bin/heaptrack", "--version"], check=True, capture_output=True, timeout=60)
    assert b"heaptrack-c" in said.stdout


def test_apt(made, type_in, tmp_path):
    needs("dpkg")
    for name in ("info", "updates"):
        (tmp_path / "root/var/lib/dpkg" / name).mkdir(parents=True)
    (tmp_path / "root/var/lib/dpkg/status").write_text("")
    type_in("apt", made("packaging/deb"))
    assert (tmp_path / "root/usr/bin/heaptrack").exists()


def test_rpm(made, type_in, tmp_path):
    needs("rpmbuild")
    type_in("rpm", made("packaging/rpm"))
    assert (tmp_path / "root/usr/bin/heaptrack").exists()


def test_npx(project, type_in):
    (project / "app.js").write_text("")
    for old in project.glob("*.zst"):
        old.unlink()
    type_in("npx", project, npm_config_offline="true")
    assert len(list(project.glob("heaptrack.node.*.zst"))) == 1


def test_docker(made, type_in, podman):
    said = type_in("docker", made("packaging/image"), PODMAN=" ".join(podman))
    assert re.search(r"^Loaded image: .*/heaptrack:\d", said, re.MULTILINE)
