"""Every view shows what is under the lens, with the numbers of the program, or says what it shows."""

import json
import re
import subprocess

import pytest

RANGE = "t=0.5-2.1"


def number(text):
    return int(re.match(r"[\d,]+", text)[0].replace(",", ""))


def as_bytes(text):
    figure, unit = re.match(r"([\d.]+) (B|kB|MB)", text).groups()
    return float(figure) * {"B": 1, "kB": 1e3, "MB": 1e6}[unit]


@pytest.fixture(scope="module")
def see(pages, browse):
    def run(name, *wanted):
        seen = browse("under_lens.mjs", pages.page(name).as_uri(), *wanted)
        assert not seen["wrong"], seen["wrong"]
        return [dict(view, tables=dict(view["tables"])) for view in seen["views"]]
    return run


@pytest.fixture(scope="module")
def by_thread(build, pages):
    def run(lens):
        said = subprocess.run(
            [build / "heaptrack_print", "--json", "--limit", "0", "--by", "tid", "--lens", lens,
             pages.recording("threads")], capture_output=True, timeout=300, check=True).stdout
        return {part["tid"]: part["blocks"] for part in json.loads(said)["parts"] if part["blocks"]}
    return run


def test_threads(see, ask, by_thread, pages):
    made = ask(pages.recording("threads"))
    moments = made["timeline"]
    middle = next(m["time_ns"] for m in moments if 2 * m["allocations"] >= moments[-1]["allocations"]) / 1e9
    text = next(site["stack"][0]["function"] for site in made["sites"]["allocations"] if site["stack"][0]["function"])
    words = [f"t=start-{middle:.9f}", f"q={text}"]
    views = see("threads", *(f"threads:{word}" for word in words))
    for word, view in zip(words, views, strict=True):
        rows = {int(re.search(r"\((\d+)\)$", row["thread"])[1]): number(row["allocations"])
                for row in view["tables"]["Threads"] if re.search(r"\(\d+\)$", row["thread"])}
        assert rows == by_thread(f"m=allocations&{word}") and rows, word
        assert any("under the lens" in hint for hint in view["hints"]), view["hints"]
        assert "frees" not in view["tables"]["Threads"][0], "not known under a lens"


def test_never_freed(see, ask, pages):
    view, = see("demo", f"never-freed:{RANGE}")
    theirs = ask(pages.recording("demo"), f"m=never-freed&{RANGE}")["totals"]
    rows = next(iter(view["tables"].values()))
    assert sum(number(row["blocks never freed"]) for row in rows) == theirs["blocks"]
    whole = ask(pages.recording("demo"))["summary"]["never_freed_blocks"]
    assert 0 < theirs["blocks"] < whole, "the range makes a difference"
    assert any("never freed;" in hint for hint in view["hints"]), view["hints"]


def test_strip_and_timeline(see, ask, pages):
    """All that leakyParse allocates is alive at the end, which is its largest."""
    flame, timeline = see("demo", "flame:focus=leakyParse", "timeline:focus=leakyParse")
    totals = ask(pages.recording("demo"), "m=never-freed&focus=leakyParse")["totals"]
    largest = re.escape(f"{totals['bytes'] / 1000:.1f} kB")
    assert re.search(rf"under the lens.*largest {largest} at", flame["charts"][0]), flame["charts"]
    assert re.search(rf"largest {largest} at", timeline["charts"][0]), timeline["charts"]
    made = ask(pages.recording("demo"), "m=allocations&focus=leakyParse")["totals"]["allocations"]
    rows = timeline["tables"]["Allocations so far"]
    assert number(rows[-1]["at most"]) == made


def test_who_allocated_in_a_range(see, ask, pages):
    """Of all lifetimes: what the program says was allocated."""
    view, = see("demo", f"sizes:{RANGE}")
    rows = view["tables"]["Who allocated the blocks of the range"]
    made = ask(pages.recording("demo"), f"m=allocations&{RANGE}")["totals"]["allocations"]
    assert sum(number(row["allocations"]) for row in rows) == made > 1000, rows


@pytest.mark.parametrize("words", [RANGE, "focus=leakyParse", "t=0.2-0.4&q=leakyParse"])
def test_overview(see, ask, pages, words):
    """Cards and tables have the program's figures for the lens."""
    view, = see("demo", f"overview:{words}")
    cards = dict(view["cards"])
    of = {metric: ask(pages.recording("demo"), f"m={metric}&{words}")["totals"]
          for metric in ("peak", "never-freed", "allocations")}
    for title, metric in (("Peak", "peak"), ("Never freed", "never-freed")):
        assert as_bytes(cards[title]) == pytest.approx(of[metric]["bytes"], rel=0.002), (title, cards)
        rows = next(rows for name, rows in view["tables"].items() if name.startswith(title))
        assert sum(number(row["blocks"]) for row in rows) == of[metric]["blocks"] > 0, rows
    largest = ask(pages.recording("demo"))["summary"]["peak_bytes"]
    if "leakyParse" in words:  # the chart is of all of the time: all of it is alive at the end
        largest = ask(pages.recording("demo"), "m=never-freed&" + words.split("&")[-1])["totals"]["bytes"]
    said = re.search(r"largest ([\d.]+\s\w+) at", view["charts"][0])[1]
    assert as_bytes(said) == pytest.approx(largest, rel=0.002), view["charts"]
    rows = next(rows for rows in view["tables"].values() if rows and "% of allocations" in rows[0])
    assert sum(number(row["calls"]) for row in rows) == of["allocations"]["allocations"], rows


@pytest.fixture(scope="module")
def details(browse, pages):
    seen = browse("details.mjs", pages.page("demo").as_uri())
    assert not seen["wrong"], seen["wrong"]
    return seen


def test_stacks_are_of_one_answer(details):
    """Whatever is said of them while the next answer is worked out: no share is of another one's total."""
    shares = [float(share) for text in details["said"]
              for share in re.findall(r"([\d.]+)\s% of these", text.replace(",", ""))]
    assert len(shares) > 5 and max(shares) <= 100, details["said"]


def test_a_list_says_how_many_more_it_has_and_shows_them(details):
    (before, after), text = details["more"]["rows"], details["more"]["text"]
    left = int(re.fullmatch(r"(\d+) more", text)[1])
    assert after == min(4 * before, before + left) > before, details["more"]


def test_the_start_is_compared_as_nothing(see):
    """It had the figures of the end."""
    view, = see("demo", "compare:cmp=@start-1")
    rows = next(rows for title, rows in view["tables"].items() if title.startswith("Before (start) and now"))
    assert [row["before"] for row in rows] == ["0 B", "0", "0", "0", "0 s"], rows
    assert all(row["difference"] == f"+{row['now']}" for row in rows), rows


@pytest.mark.parametrize("word", ["grade=unreachable", "m=none", "q=/(/", "t=9-1", "colours=red"])
def test_a_word_that_the_page_does_not_know_is_told(see, word):
    said, silent = see("demo", f"tree:{word}&fold=0", "tree:m=allocations&fold=0&dir=bu&sort=tree:1")
    assert f"Ignored in the address: {word}" in said["notes"], said
    assert not any("Ignored" in note for note in silent["notes"]), silent


def test_who_keeps_most_are_told_apart(see):
    """Three instances of one template were one name, three times."""
    view, = see("looks", "timeline:m=peak")
    rows = next(rows for title, rows in view["tables"].items() if title.startswith("Between marks"))
    told = [re.findall(r"(\S.*?) [\d.]+\s[kM]?B", row["who keeps most"]) for row in rows]
    assert any("push" in name and "[" in name for names in told for name in names), rows
    assert all(len({name.strip(", ") for name in names}) == len(names) for names in told), rows
