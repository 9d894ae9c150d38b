"""What can be asked of the page while it still reads the recording."""

import re


def total_in(box):
    return re.search(r", ([\d.]+ \w*B), 100 %", box)[1]


def test_answers_while_the_rest_is_read(pages, browse, ask):
    seen = browse("loading.mjs", f"file://{pages.page('demo')}")
    assert not seen["wrong"], seen["wrong"]
    assert seen["isBusy"]
    peak = ask(pages.recording("demo"))["summary"]["peak_bytes"]
    assert total_in(seen["root"]) == f"{peak / 1e6:.1f} MB", seen["root"]
    assert "by itself" in seen["tip"] and "alive over time" not in seen["tip"], seen["tip"]
    assert "Never freed" in seen["details"] and "Live over time" not in seen["details"]
    for view in ("range", "timeline"):  # no figure where none is known yet
        assert "Reading when each block lived" in seen[view], seen[view]

    in_range = ask(pages.recording("demo"), seen["lens"])["totals"]
    assert total_in(seen["then"]) == f"{in_range['bytes'] / 1e6:.1f} MB", seen["then"]
    assert seen["said"].endswith(f"{in_range['allocations']:,} allocations, Peak {in_range['bytes'] / 1e6:.1f} MB")
    assert "Live over time" in seen["detailsThen"] and "What if" in seen["detailsThen"]
