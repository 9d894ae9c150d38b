"""A range follows the pointer: with its answer in small recordings, ahead of it in large ones."""

import subprocess


def test_a_small_recording_answers_each_move(pages, browse):
    seen = browse("dragged.mjs", pages.page("demo").as_uri())
    assert not seen["wrong"], seen
    queries = [queries for queries, _, _ in seen["moves"]]
    assert all(later > earlier for earlier, later in zip(queries, queries[1:], strict=False)), seen


def test_a_large_one_answers_once_the_pointer_rests(build, browse, tmp_path):
    page = tmp_path / "large.html"
    subprocess.run([build / "bench/bench_page", "100000", page], check=True, capture_output=True, timeout=300)
    seen = browse("dragged.mjs", page.as_uri())
    assert not seen["wrong"], seen
    widths = [width for _, width, _ in seen["moves"]]
    assert all(later > earlier + 50 for earlier, later in zip(widths, widths[1:], strict=False)), "the shade follows"
    # Each move comes within a picture or two; a busy machine may rest between two of them
    assert seen["moves"][-1][0] < len(widths), seen
    assert seen["rested"][0] > 0 and seen["rested"][2], seen
    assert seen["released"][1] > seen["rested"][1] and seen["released"][0] > seen["rested"][0], seen
