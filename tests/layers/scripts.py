"""Scripts of the source tree, which have no .py in their names, as modules."""

import importlib.machinery
import importlib.util
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]


def load(path):
    loader = importlib.machinery.SourceFileLoader(Path(path).name, str(SOURCE / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
