"""What a search marks, letter after letter."""

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def test_what_is_typed_on_marks_what_it_marks_alone(web, tmp_path):
    subprocess.run([web / "node_modules/.bin/esbuild", HERE.parents[1] / "web/src/data/match.ts", "--bundle",
                    "--format=esm", f"--outfile={tmp_path}/match.mjs", "--log-level=warning"], check=True, timeout=120)
    done = subprocess.run(["node", HERE / "match.mjs", tmp_path / "match.mjs"], capture_output=True, text=True,
                          check=True, timeout=60)
    seen = json.loads(done.stdout)
    alone = {of["text"]: of["alone"] for of in seen}
    assert alone["com"] == [1, 2, 3, 4, 6] and alone["compo"] == [2, 3, 4, 6], alone
    assert alone["mpo"] == [2, 3, 4, 5, 6] and alone["app::c"] == [1], alone
    assert alone["x$"] == [6] and alone["x$y"] == [7], alone
    for of in seen:
        assert of["behind"] in (None, of["alone"]), of


def test_boxes_that_letters_fade_look_as_if_all_was_drawn_anew(pages, browse):
    found = browse("letters.mjs", pages.page("clang++").as_uri(), "clang::Px")
    assert not found["wrong"] and found["seen"] == [True] * 9, found
    assert found["differed"] >= 3, "some letters mark other boxes"
