"""What is generated of man/ and docs/ is what the build generates."""

import os
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def test_generated_parts_are_up_to_date():
    build = os.environ.get("HEAPTRACK_BUILD", SOURCE / "build")
    checked = subprocess.run([SOURCE / "tools/docs", "--check", build], capture_output=True,
                             text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
