"""The values that the page watches."""

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def test_runs_when_what_it_reads_is_another(web, tmp_path):
    subprocess.run([web / "node_modules/.bin/esbuild", HERE.parents[1] / "web/src/signal.ts", "--format=esm",
                    f"--outfile={tmp_path}/signal.mjs", "--log-level=warning"], check=True, timeout=120)
    done = subprocess.run(["node", HERE / "signal.mjs", tmp_path / "signal.mjs"], capture_output=True, text=True,
                          check=True, timeout=60)
    seen = json.loads(done.stdout)
    assert seen["unasked"] == 0, "nothing is computed before it is asked for"
    assert seen["said"] == ["odd 10", "odd 20", "even", "odd 40"], seen
    assert seen["runs"] == 4, "once for each value of what it reads, in a batch for the last"
    assert seen["ended"] == 4 and seen["asked"] == "even", seen
    assert seen["copies"][-1] == [1, 2], seen
    assert seen["failed"] == "bad" and seen["recovered"] == "good", seen
