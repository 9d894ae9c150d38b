"""tests/run: what its suites may take, when too long is a failure, and which tests it calls slow."""

import os
import sys
import time
import types
from pathlib import Path

import pytest

import scripts

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import aside  # noqa: E402
import budget  # noqa: E402
from conftest import wait_until  # noqa: E402

suites = scripts.load("tests/run")
BUDGETS = {name: seconds for name, seconds, _ in suites.SUITES}


def test_all_suites_fit_into_20_minutes():
    assert min(BUDGETS.values()) > 0
    assert sum(BUDGETS[name] for name, _, _ in suites.chosen([])) <= 1200


def test_quick_fits_into_90_seconds():
    assert sum(BUDGETS[name] for name in suites.QUICK) <= 90
    assert [name for name, _, _ in suites.chosen(["quick"])] == ["build", *suites.QUICK]


def test_the_build_goes_first_and_nothing_runs_twice():
    assert [name for name, _, _ in suites.chosen(["e2e", "unit"])] == ["build", "unit", "e2e"]
    assert [name for name, _, _ in suites.chosen([])] == [name for name in BUDGETS if name != "quick"]


@pytest.mark.parametrize("seconds, limit, others, cores, remark, is_late", [
    (99, 100, 0.5, 2, "", False),
    (101, 100, 0.02, 2, "over budget", False),
    (126, 100, 0.02, 2, "over budget", True),
    (101, 100, 0.34, 2, "over budget, but the machine was busy: others used 34 % of it", False),
    (126, 100, 0.02, 1, "over budget, but budgets are for 2 cores", False),
    (126, None, 0.02, 2, "", False),
])
def test_too_long_is_a_failure_on_a_machine_said_to_be_quiet(seconds, limit, others, cores, remark, is_late):
    assert budget.judge(seconds, limit, others, cores, True) == (remark, is_late)
    assert budget.judge(seconds, limit, others, cores, False) == (remark, False)


def test_what_others_use_is_not_ours(monkeypatch):
    """Of 10 s on two cores all were at work, our own processes for 14 s: 6 of 20 s were others'."""
    readings = iter([(100, 5, 1000), (110, 19, 1020)])
    monkeypatch.setattr(budget.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(budget.Stopwatch, "read", lambda _: next(readings))
    assert budget.Stopwatch().stop() == (10, pytest.approx(0.3))


def test_the_kernels_counts_are_read(tmp_path):
    """All but idle, iowait, and guest, which is part of user; only of the cores that are ours."""
    stat = tmp_path / "stat"
    stat.write_text("cpu  111 222 333 9000 4000 10 20 30 50 0\n"
                    "cpu0 100 200 300 5000 4000 10 20 30 50 0\n"
                    "cpu10 11 22 33 4000 0 0 0 0 0 0\n")
    assert budget.used_by_all({0}, stat) == 6.6
    assert budget.used_by_all({0, 10}, stat) == 7.26
    assert budget.used_by_all(budget.os.sched_getaffinity(0)) > 0


def test_the_slowest_tests_are_named(tmp_path):
    report = tmp_path / "e2e.xml"
    report.write_text('<testsuites><testsuite>'
                      '<testcase classname="e2e.test_a" name="test_x[1]" time="1.5"/>'
                      '<testcase classname="e2e.test_b" name="test_y" time="22.0"/>'
                      '</testsuite></testsuites>')
    assert budget.slowest([report, tmp_path / "missing.xml"], 10) == [
        (22.0, "tests/e2e/test_b.py::test_y"), (1.5, "tests/e2e/test_a.py::test_x[1]")]
    assert len(budget.slowest([report], 1)) == 1


SOMETIMES = """
import os, pathlib, time
HERE = pathlib.Path(__file__).parent
def test_beside_others():
    assert os.environ.get("PYTEST_XDIST_WORKER") is None, "beside others"
def test_always():
    assert False, "always"
def test_never():
    pass
"""


@pytest.mark.parametrize("is_quiet, counts, note", [(False, (2, 1), "1 passed only alone"), (True, (1, 2), "")])
def test_what_fails_beside_others_is_run_again_alone_and_named(tmp_path, monkeypatch, is_quiet, counts, note):
    """Not on a machine that is said to be quiet. What fails twice has failed."""
    pytest.importorskip("xdist")
    (tmp_path / "tests/some").mkdir(parents=True)
    (tmp_path / "tests/pytest.ini").write_text("[pytest]\nmarkers = serial: nothing beside them\n")
    (tmp_path / "tests/some/test_some.py").write_text(SOMETIMES)
    for name, value in [("SOURCE", tmp_path), ("LOGS", tmp_path), ("REPORTS", []), ("CORES", 1)]:
        monkeypatch.setattr(suites, name, value)
    monkeypatch.setattr(os, "environ", {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")})
    result = suites.pytest_suite("some")(types.SimpleNamespace(long=False, quiet=is_quiet), 60)
    assert (result.passed, result.failed, result.note) == (*counts, note), result.details
    said = {f"{word} tests/some/test_some.py::{test}" for word, test in [("passed", "test_beside_others"), ("FAILED", "test_always")]}
    assert is_quiet or said <= set(result.details.splitlines()), result.details


def test_what_needs_a_build_has_it_begun():
    assert {suite for suites_of, _ in suites.BUILDS.values() for suite in suites_of} == \
        {"package", "small", "sanitized", "unit-clang", "unit-asan", "unit-tsan", "fuzz"}
    order = list(BUDGETS)
    first = [min(map(order.index, suites_of)) for suites_of, _ in suites.BUILDS.values()]
    assert first == sorted(first), "they are made in the order in which they are waited for"


COUNTS = "import time\nwhile True: print(time.monotonic(), flush=True)"


@pytest.fixture
def beside(tmp_path):
    """A command beside the tests that writes without end, and its log."""
    beside, log = aside.Aside(), tmp_path / "log"
    beside.begin("counts", lambda run: run([sys.executable, "-c", COUNTS], log, 60))
    wait_until(lambda: beside.process and log.stat().st_size > 1000, what="its start")
    yield beside, log
    beside.end()


def test_what_is_made_aside_leaves_the_processors_to_others_and_is_counted(beside):
    beside, log = beside
    assert os.getpriority(os.PRIO_PROCESS, beside.process.pid) == aside.POLITE > aside.OURS
    wait_until(lambda: beside.used() > 0, what="its use of a processor")
    beside.end()
    status, said = beside.result("counts")
    assert status == -9 and said and beside.used() == 0
    beside.begin("too late", lambda run: run(["true"], log, 60))
    assert beside.result("too late") == (1, "")


def test_it_stands_still_while_time_is_measured(beside):
    beside, log = beside
    with beside.standing_still():
        wait_until(lambda: Path(f"/proc/{beside.process.pid}/stat").read_text().split()[2] == "T", what="its stop")
        size = log.stat().st_size
        time.sleep(0.1)
        assert log.stat().st_size == size
    wait_until(lambda: log.stat().st_size > size, what="that it goes on")
