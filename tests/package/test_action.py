"""The action: records, holds to limits, reports, as a job runs it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ACTION = Path(__file__).resolve().parents[2] / "packaging" / "action"


@pytest.fixture
def job(tools, dist, tmp_path):
    """Run the action's step with these inputs: the finished process, and the folder of the recordings."""
    def job(**inputs):
        for name in ("output", "summary", "path"):
            (tmp_path / name).write_text("")
        env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "RUNNER_TEMP": str(tmp_path),
               "GITHUB_OUTPUT": str(tmp_path / "output"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
               "GITHUB_PATH": str(tmp_path / "path"), "HEAPTRACK_FROM": str(dist), "HEAPTRACK_RUNS": "2",
               **{f"HEAPTRACK_{name}": str(value) for name, value in inputs.items()}}
        done = subprocess.run([ACTION / "run.sh"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120,
                              check=False)
        recordings = Path(re.search("recordings=(.*)", (tmp_path / "output").read_text())[1])
        return done, recordings, (tmp_path / "summary").read_text()
    return job


def test_within_the_limits(tools, job, tmp_path):
    done, recordings, summary = job(RUN=f"{tools.victim('blocks')} 100", FAIL_IF="peak>500M\nnever-freed>100M\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in recordings.iterdir()) == ["heap.xml", "new1.zst", "new2.zst", "report.md"]
    assert "blocks" in summary and summary == (recordings / "report.md").read_text()
    assert (tmp_path / "path").read_text() == f"{tmp_path}/heaptrack/bin\n"


def test_beyond_a_limit(tools, job):
    done, recordings, summary = job(RUN=f"{tools.victim('blocks')} 100", FAIL_IF="allocations>10")
    assert done.returncode != 0 and "allocations" in summary
    assert "failure" in (recordings / "heap.xml").read_text()


def test_against_a_base(tools, job, tmp_path):
    for name, n in (("base", 100), ("new", 5000)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "n").write_text(str(n))
    (tmp_path / "n").write_text("5000")
    run = f"{tools.victim('blocks')} $(cat n)"
    done, recordings, _ = job(RUN=run, BASE=tmp_path / "base", FAIL_IF="allocations>+5%")
    assert done.returncode != 0 and (recordings / "base2.zst").exists()
    done, _, _ = job(RUN=run, BASE=tmp_path, FAIL_IF="allocations>+5%")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_failing_program_fails_the_step(job):
    done, _, _ = job(RUN="false")
    assert done.returncode == 1


def test_each_input_reaches_the_step():
    text = (ACTION / "action.yml").read_text()
    inputs = re.findall(r"^  ([a-z-]+):\n    description", text.split("outputs:")[0], re.MULTILINE)
    assert inputs and all(f"inputs.{name}" in text for name in inputs)
    asked = set(re.findall(r"\bHEAPTRACK_[A-Z_]+", (ACTION / "run.sh").read_text()))
    assert asked == set(re.findall(r"\bHEAPTRACK_[A-Z_]+", text))
