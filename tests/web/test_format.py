"""The page writes figures as the report does."""

import json
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/referee"))

from figures import in_time

# Around each change of the unit, up to days
DURATIONS_NS = [1_000_000, 9_940_000, 12_300_000, 999_400_000, 999_600_000, 59_990_000_000, 60_000_000_000,
                75_250_000_000, 119_990_000_000, 119_996_000_000, 125_900_000_000, 3_599_900_000_000,
                3_600_000_000_000, 86_399_900_000_000, 200_000_900_000_000]


def test_a_duration_is_written_as_in_the_report(web, tmp_path):
    module = tmp_path / "format.mjs"
    subprocess.run([web / "node_modules/.bin/esbuild", SOURCE / "web/src/ui/format.ts", "--bundle",
                    "--format=esm", f"--outfile={module}", "--log-level=warning"], check=True, timeout=120)
    program = f"import {{duration}} from {json.dumps(str(module))}; " \
              f"console.log(JSON.stringify({DURATIONS_NS}.map(duration)))"
    said = subprocess.run(["node", "--input-type=module", "-e", program], check=True, capture_output=True,
                          text=True, timeout=60)
    assert json.loads(said.stdout) == [in_time(ns) for ns in DURATIONS_NS]
