"""Every view: nothing for axe to find, nothing cut. The pictures are kept to be looked at."""

import json

import pytest

LOOKS = [("light", 1440, 900), ("dark", 1024, 700), ("light", 390, 844)]
MORE_LOOKS = [("dark", 1440, 900), ("light", 1024, 700), ("light", 720, 450),  # at 200 %
              ("dark", 390, 844)]


def pytest_generate_tests(metafunc):
    """The demo in light and dark, other recordings once; with --long all in all sizes."""
    is_long = metafunc.config.getoption("--long")
    once = [(LOOKS[0], "python3"), (LOOKS[2], "looks"), (LOOKS[1], "tree"), (LOOKS[2], "tree"),
            (LOOKS[0], "massif"), (LOOKS[2], "massif"), (LOOKS[1], "kde"), (LOOKS[0], "attached"), (LOOKS[1], "empty")]
    names = ("demo", "python3", "looks", "clang++", "tree", "massif", "kde", "attached", "empty")
    chosen = [(name, look) for name in names for look in LOOKS + MORE_LOOKS
              if is_long or (look in LOOKS and name == "demo") or (look, name) in once]
    metafunc.parametrize("name,look", chosen, ids=lambda v: v if isinstance(v, str) else f"{v[0]}-{v[1]}")


@pytest.mark.timeout(900)
def test_every_view(look, name, pages, build, browse):
    folder = build / "screenshots"
    folder.mkdir(exist_ok=True)
    theme, width, height = look
    options = {"theme": theme, "width": width, "height": height, "other": str(pages.page("before")),
               "isFlat": name == "massif"}
    page = pages.page(name, "--with-source")
    seen = browse("views.mjs", f"file://{page}", folder, name, json.dumps(options), timeout=850)
    assert not seen["wrong"], seen["wrong"]
    bad = {view: found for view, found in seen["found"].items() if found}
    assert not bad, json.dumps(bad, indent=1)
