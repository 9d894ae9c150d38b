"""The pages of docs/guide are true: their commands print what the pages show."""

import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2]
CASES = sorted(page.parent.name for page in (SOURCE / "docs/guide").glob("*/README.md"))


@pytest.mark.long
@pytest.mark.serial
@pytest.mark.timeout(400)
@pytest.mark.parametrize("case", CASES)
def test_a_page_is_true(build, case):
    finished = subprocess.run([SOURCE / "tools/guide", "--build", build, case], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=390, check=False)
    if finished.returncode == 77:
        pytest.skip(finished.stdout.strip())
    assert finished.returncode == 0, finished.stdout


def test_the_index_names_every_case():
    index = (SOURCE / "docs/guide/README.md").read_text()
    assert CASES and all(f"({case}/README.md)" in index for case in CASES)
