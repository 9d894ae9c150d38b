"""What the page's tests share: the page's tools, and recordings with their pages, made once."""

import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def web(build):
    """The folder with the npm packages that the build fetched; without the page, no test of it."""
    folder = build / "src/web/page"
    if not (folder / "node_modules/playwright-core").is_dir():
        pytest.skip("built without the page (-Dweb=enabled, or -Dweb_node_modules)")
    return folder


@pytest.fixture(scope="session")
def pages(build, web, tmp_path_factory):
    """make(name, command) -> (recording, page): recorded once per run of the tests."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}

    def make(name, *command, options=()):
        if name not in made:
            recording = folder / f"{name}.zst"
            subprocess.run([build / "heaptrack", "-o", recording, *options, *command],
                           cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                           timeout=120, check=False)
            made[name] = (recording, page_of(build, recording, folder / f"{name}.html"))
        return made[name]

    make.folder = folder
    make.page_of = lambda *arguments: page_of(build, *arguments)
    make.demo = lambda: make("demo", build / "tests/victims/demo")
    return make


def page_of(build, recording, page, *options):
    subprocess.run([build / "heaptrack_print", "--html", page, *options, recording],
                   capture_output=True, timeout=120, check=True)
    return page


@pytest.fixture(scope="session")
def modules(web, tmp_path_factory):
    """The page's arithmetic as one module for node."""
    out = tmp_path_factory.mktemp("modules") / "data.mjs"
    subprocess.run([web / "node_modules/.bin/esbuild", SOURCE / "web/src/data/index.ts",
                    "--bundle", "--format=esm", f"--outfile={out}", "--log-level=warning"],
                   check=True, timeout=60)
    return out
