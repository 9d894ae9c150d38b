"""No test lies in a folder without being run: what is there is in the table of its meson.build."""

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("folder, pattern", [
    ("unit", "test_*.c"), ("fuzz", "fuzz_*.c"), ("victims", "*.c"), ("victims", "*.cpp"),
])
def test_every_program_is_built(folder, pattern):
    table = (TESTS / folder / "meson.build").read_text()
    for path in sorted((TESTS / folder).glob(pattern)):
        name = path.name if folder == "victims" else path.stem.split("_", 1)[1]
        assert f"'{name}'" in table, f"{path.name} is missing in tests/{folder}/meson.build"
