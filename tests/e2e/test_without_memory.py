"""heaptrack finds no memory while it records: the program does not notice, and the file is as it was last saved."""

import re
import signal
import subprocess
import sys

import pytest

from conftest import wait_until

# Ever more blocks: heaptrack needs memory for each
GROWS = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("told", flush=True), sys.exit(9)))
print("begins", flush=True)
kept, end = [], time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    kept += [bytearray(16) for _ in range(1000)]
    time.sleep(0.005)
print("done", len(kept) > 1000, flush=True)
sys.exit(7)
"""
SAYS = "out of memory: recording has stopped, the file is as it was last saved"


def grows(tools, seconds, *options):
    running = tools.start_record(sys.executable, "-c", GROWS, str(seconds), options=options,
                                 env={"PYTHONMALLOC": "malloc"})
    lose_memory(tools, running)
    return running


def lose_memory(tools, running):
    """Once something was saved, it gets no more pages than it has."""
    wait_until(lambda: running.file.is_file() and
               re.search(r"allocations +[1-9]", tools.run(tools.heaptrack_print, running.file).stdout), what="a saved state")
    subprocess.run(["prlimit", "--pid", str(running.pid), "--data=1"], check=True)


def assert_saved(tools, file):
    known = tools.json(file)
    assert known["summary"]["allocations"] > 1000, known["quality"]
    assert "incomplete" in known["quality"]["verdict"]


@pytest.mark.parametrize("options", [(), ("--leaks",)], ids=["plain", "leaks"])
def test_a_program_that_it_started_runs_to_its_end(tools, options):
    running = grows(tools, 6, *options)
    answer = running.wait()
    assert answer.stdout == "begins\ndone True\n" and answer.status == 7, repr(answer)
    assert answer.stderr.count(SAYS) == 1, repr(answer)
    assert_saved(tools, running.file)


def test_all_processes_of_a_tree_run_to_their_end(tools):
    running = tools.start_record(sys.executable, "-c", f"""
import subprocess, sys
grows = {GROWS!r}
first = subprocess.Popen([sys.executable, "-c", grows, "6"])
print([first.wait(), subprocess.call([sys.executable, "-c", grows, "1"])], flush=True)
sys.exit(5)
""", options=("--children",), env={"PYTHONMALLOC": "malloc"})
    lose_memory(tools, running)
    answer = running.wait()
    assert answer.stdout == "begins\ndone True\nbegins\ndone True\n[7, 7]\n" and answer.status == 5, repr(answer)
    assert answer.stderr.count(SAYS) == 1, repr(answer)
    assert_saved(tools, running.file)


def test_signals_still_reach_it(tools):
    running = grows(tools, 100)
    wait_until(lambda: SAYS in running.finished(0).stderr)
    running.process.send_signal(signal.SIGTERM)
    answer = running.wait()
    assert answer.status == 9 and "told" in answer.stdout, repr(answer)


def test_a_program_that_it_attached_to_goes_on(tools):
    program = tools.start(sys.executable, "-c", GROWS, "8", env={"PYTHONMALLOC": "malloc"})
    wait_until(lambda: "begins" in program.finished(0).stdout)
    running = tools.start(tools.heaptrack, "-o", tools.folder / "attached.zst", "-p", str(program.pid))
    running.file = tools.folder / "attached.zst"
    running.wait_for_attach()
    lose_memory(tools, running)
    answer = running.wait()
    assert answer.status == 1 and answer.stderr.count(SAYS) == 1, repr(answer)
    assert_saved(tools, running.file)
    wait_until(lambda: "not attached" in tools.run(tools.heaptrack, "--detach", str(program.pid)).stderr)
    answer = program.wait()
    assert answer.stdout == "begins\ndone True\n" and answer.status == 7, repr(answer)
