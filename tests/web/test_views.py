"""Every view: nothing for axe to find, nothing cut. The pictures are kept to be looked at."""

import json
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LOOKS = [("light", 1440, 900), ("dark", 1024, 700)]
MORE_LOOKS = [("dark", 1440, 900), ("light", 1024, 700)]

RECORDED = {
    "demo": None,
    "python": ["/usr/bin/python3", "-c",
               "import ast; [ast.parse(open(ast.__file__).read()) for _ in range(3)]"],
}


@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("look", LOOKS + MORE_LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def test_every_view(look, name, pages, web, build, is_long):
    if not is_long and (look in MORE_LOOKS or (name != "demo" and look != LOOKS[0])):
        pytest.skip("long: run with --long")
    _, page = pages(name, *RECORDED[name]) if RECORDED[name] else pages.demo()
    folder = build / "screenshots"
    folder.mkdir(exist_ok=True)
    theme, width, height = look
    looked = subprocess.run(
        ["node", HERE / "views.mjs", web, f"file://{page}", folder, name,
         json.dumps({"theme": theme, "width": width, "height": height})],
        capture_output=True, text=True, timeout=380, check=False)
    assert looked.returncode == 0, looked.stderr[-3000:]
    seen = json.loads(looked.stdout)
    assert not seen["wrong"], seen["wrong"]
    bad = {view: found for view, found in seen["found"].items() if found}
    assert not bad, json.dumps(bad, indent=1)
