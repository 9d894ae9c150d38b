"""The rows of src/wire/allocators.def for tests: what each function is called, takes and does."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

SRC = Path(__file__).resolve().parents[1] / "src"
TABLE = """\
#define HOOK(result, name, parameters, arguments, what, ...) @result|name|parameters|arguments|what@
#define OPERATOR_NEW(name, ...) @void *|name|||OPERATOR@
#define OPERATOR_DELETE(name, ...) @void|name|||OPERATOR@
#include "%s"
"""


class Row(NamedTuple):
    result: str
    name: str
    parameters: str  # "(size_t n, size_t size)"
    arguments: list  # ["n", "size"]
    word: str        # ALLOCATES, FREES, ...
    operands: list   # of the word


def rows(table="wire/allocators.def"):
    """As the compiler sees the table."""
    text = subprocess.run(["gcc", "-E", "-P", "-I", SRC, "-"], input=TABLE % table, check=True,
                          capture_output=True, text=True, timeout=60).stdout
    found = []
    for row in re.findall(r"@([^@]*)@", " ".join(text.split())):
        result, name, parameters, arguments, what = (part.strip() for part in row.split("|"))
        word, *operands = re.findall(r"\w+", what)
        found.append(Row(result, name, parameters, re.findall(r"\w+", arguments), word, operands))
    return found
