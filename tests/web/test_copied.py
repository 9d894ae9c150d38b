"""Tables are copied with exact figures, as CSV and Markdown; pictures as SVG and PNG, or saved."""

import csv
import shutil

import pytest


def of_csv(text):
    return [list(csv.reader(part.splitlines())) for part in text.split("\n\n")]


def of_markdown(text):
    tables = [[line.strip("| ").split(" | ") for line in part.splitlines()] for part in text.split("\n\n")]
    assert all(set(rows[1]) == {"---"} for rows in tables), text
    return [rows[:1] + rows[2:] for rows in tables]


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_tables_and_pictures_are_copied(browser, pages, browse, ask):
    if browser == "firefox" and not shutil.which("firefox-esr"):
        pytest.skip("firefox-esr is not installed")
    seen = browse("copied.mjs", pages.page("demo").as_uri(), browser, "Threads", "Tree", "Sizes")
    assert not seen["wrong"], seen["wrong"]
    summary = ask(pages.recording("demo"))["summary"]

    (heads, *threads), = of_csv(seen["Threads"]["CSV"])
    rows = [dict(zip(heads, row, strict=True)) for row in threads]
    assert sum(int(row["allocated"]) for row in rows) == summary["allocated_bytes"]
    assert sum(int(row["allocations"]) for row in rows) == summary["allocations"]

    (heads, *nodes), = of_csv(seen["Tree"]["CSV"])
    rows = [dict(zip(heads, row, strict=True)) for row in nodes]
    assert int(rows[0]["Peak"]) == summary["peak_bytes"] and rows[0]["level"] == "1"
    assert any(row["function"] == "spike()" and row["place"] == "demo.cpp:37" for row in rows), rows

    sizes = of_csv(seen["Sizes"]["CSV"])
    calls = sizes[0][0].index("calls")
    assert sum(int(row[calls]) for row in sizes[0][1:]) == summary["allocations"]
    for view in ("Threads", "Tree", "Sizes"):
        assert [[cell.strip() for cell in row] for table in of_markdown(seen[view]["Markdown"]) for row in table] == \
            [row for table in of_csv(seen[view]["CSV"]) for row in table], view
    for view, pictures, word in (("Flame graph", 1, "spike()  32.0 MB · 85 %"), ("Timeline", 3, "leakyParse()")):
        svg = seen[f"{view} as SVG"]
        assert svg["root"] == "svg" and svg["pictures"] == pictures and word in svg["texts"], svg
        assert svg["alike"] > 0.97, svg["alike"]  # letters are smoothed in another way
        png = seen[f"{view} as PNG"]
        assert png["type"] == "image/png" and png["width"] >= 1000 and png["isOpaque"], png
        assert png["alike"] > 0.97, png
    assert len(seen["charts"]) == 3, seen["charts"]
    for chart in seen["charts"]:
        assert chart["height"] == 2 * (chart["shown"] + 26) and chart["alike"] > 0.97, chart
    assert seen["treemap"]["colours"] > 4 and seen["treemap"]["isOpaque"], seen["treemap"]
    if browser == "chromium":
        assert seen["picture"] == "\x89PNG\r\n\x1a\n"
        assert seen["saved"] == ["pictures.png", "\x89PNG\r\n\x1a\n"]
