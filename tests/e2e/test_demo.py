"""The bundled demo program, of which everything is known (tests/victims/demo.cpp)."""

import pytest

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def demo(build, tmp_path_factory):
    from conftest import Tools
    tools = Tools(build, tmp_path_factory.mktemp("demo"))
    recording = tools.record(tools.victim("demo"))
    recording.known = recording.json()
    yield recording
    tools.finish()


def test_runs_as_without_us(demo):
    assert demo.status == 0, repr(demo)
    assert demo.stdout.startswith("demo: served 1000 requests")
    assert demo.known["summary"]["complete"]
    assert demo.known["summary"]["lost_events"] == 0


def test_peak_is_the_spikes(demo, helpers):
    peak = demo.known["sites"]["peak"]
    assert helpers.total(peak, "bytes") == demo.known["summary"]["peak_bytes"]
    assert helpers.total(helpers.through(peak, "spike"), "bytes") == 2 * 16_000_000
    assert helpers.total(helpers.through(peak, "makeSession"), "bytes") == 500 * 10_000
    assert 37_000_000 < demo.known["summary"]["peak_bytes"] < 39_000_000


def test_never_freed_is_two_of_three_tokens(demo, helpers):
    tokens = helpers.through(demo.known["sites"]["never_freed"], "leakyParse")
    assert helpers.total(tokens, "blocks") == 1_000
    assert helpers.through(tokens, "parseConfig") == tokens
    allocated = helpers.through(demo.known["sites"]["allocations"], "leakyParse")
    assert helpers.total(allocated, "allocations") == 1_500


def test_temporaries_are_strings(demo, helpers):
    strings = helpers.through(demo.known["sites"]["temporary"], "temp")
    assert helpers.total(strings, "temporary") == 50_000
    assert demo.known["summary"]["temporary"] >= 50_000


def test_matrix_grew_by_doubling(demo, helpers):
    matrix = helpers.through(demo.known["sites"]["allocations"], "buildMatrix")
    assert helpers.total(matrix, "allocations") == 22


def test_report_ends_with_the_classic_lines(demo):
    lines = demo.report().splitlines()
    assert [line.split(":")[0] for line in lines[-6:]] == [
        "total runtime", "calls to allocation functions", "temporary memory allocations",
        "peak heap memory consumption", "peak RSS (including heaptrack overhead)",
        "total memory leaked"]
