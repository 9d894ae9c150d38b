"""What the page's tests share: the page's tools, the recordings, and the page served."""

import gc
import json
import os
import re
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from page_recordings import Recordings, wait_for

SOURCE = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent

# Trees of a hundred thousand nodes have no cycles, and the collector looks through them all again and again
gc.disable()


@pytest.fixture(scope="session")
def web(build):
    """The folder with the npm packages that the build fetched; without the page, no test of it."""
    folder = build / "src/web/page"
    if not (folder / "node_modules/playwright-core").is_dir():
        pytest.skip("built without the page (-Dweb=enabled, or -Dweb_node_modules)")
    return folder


@pytest.fixture(scope="session")
def pages(build, web, tmp_path_factory):
    """The recordings and their pages; one folder for all workers of this run."""
    base = tmp_path_factory.getbasetemp()
    return Recordings(build, (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "pages")


@pytest.fixture(scope="session")
def modules(web, pages):
    """The page's arithmetic as one module for node."""
    return pages.once("data.mjs", lambda out: subprocess.run(
        [web / "node_modules/.bin/esbuild", SOURCE / "web/src/data/index.ts", "--bundle",
         "--format=esm", f"--outfile={out}", "--log-level=warning"], check=True, timeout=120))


@pytest.fixture(scope="session")
def serve(build, pages):
    """with serve(recording, ...) as address: the page as heaptrack_gui serves it."""
    if b"MHD_start_daemon" not in (build / "heaptrack").read_bytes():
        pytest.skip("built without the served page")

    @contextmanager
    def start(*recordings):
        said = pages.folder / f".said.{os.getpid()}"
        with open(said, "w+", encoding="utf-8") as out:
            gui = subprocess.Popen([build / "heaptrack_gui", "--no-browser", "--keep", *recordings],
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            try:
                yield wait_for(lambda: re.search(r"http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}(?=\s)",
                                                 said.read_text(encoding="utf-8")), 120,
                               f"the address of {recordings}")[0]
            finally:
                gui.send_signal(signal.SIGTERM)
                assert gui.wait(120) == 0
    return start


@pytest.fixture(scope="session")
def ask(build):
    """ask(recording, lens): what the program says, without a lens of the whole recording.

    Words of an address that are not the lens's are left out.
    """
    words_of_lens = ("m", "t", "q", "focus", "hide", "fold", "threads", "process", "group")

    def run(recording, lens=None):
        about = []
        if lens is not None:
            words = [word for word in lens.split("&") if word.split("=")[0] in words_of_lens]
            about = ["--tree", "--lens", "&".join(words)]
        asked = subprocess.run([build / "heaptrack_print", "--json", "--limit", "0", *about,
                                recording], capture_output=True, timeout=300, check=False)
        assert asked.returncode == 0, (lens, asked.stderr)
        return json.loads(asked.stdout)
    return run


@pytest.fixture(scope="session")
def browse(web):
    """browse(script, address, *words, timeout): the JSON that a script of this folder prints.

    Figures have a plain space before their unit there; on the page it is one at which no line ends.
    """
    def run(script, *words, timeout=600):
        done = subprocess.run(["node", HERE / script, web, *map(str, words)], capture_output=True,
                              text=True, timeout=timeout, check=False)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.replace("\u00a0", " "))
    return run
