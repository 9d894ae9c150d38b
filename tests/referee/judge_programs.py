#!/usr/bin/python3
"""The long form of the referee: records every program of tests/wild and random ones, and judges each.

    judge_programs.py [NAME...] [--jobs N] [--bound SECONDS] [--again] [--list]

A name is that of a program ("redis"), of a server attached to ("redis-attached") or of a random program
("plain-20"); without one, all are judged. Each is recorded once, with --events, to build/check/referee/NAME.zst,
and its verdict is kept beside it. Started again, it takes what this build of heaptrack has recorded and judged,
and goes on with the rest; --again judges anew what was recorded. One line for each program, at once. A program
that is not judged within its bound, of time or of memory, is ended and counted as skipped: it says nothing.
"""

import argparse
import concurrent.futures
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), *(str(HERE.parent / name) for name in ("wild", "random", ""))]

import generate
import judge as random_programs
import programs
import recorders
import referee
from _pytest.outcomes import OutcomeException, Skipped

import conftest

BUILD = Path(os.environ.get("HEAPTRACK_BUILD") or HERE.parents[1] / "build").resolve()
FOLDER = BUILD / "check" / "referee"
BOUND = 900  # seconds for one program, recorded and judged
MEMORY = 6 << 30  # bytes: a judge holds some 500 of them for each event
EVENTS = 512 << 20  # bytes of a recording: more hold more events than that
RIGHT, MISSING = "nothing is wrong", "skipped: cannot be recorded here: "


class TooLarge(Exception):
    """More than its bound allows."""


def record_program(program, out, folder, options=("--events",)):
    """A program of tests/wild, in a folder made for it."""
    stage_of(program, out, folder, lambda stage, file: stage.run(BUILD / "heaptrack", "-q", "-f", *options, "-o", file))


def record_attached(program, out, folder):
    """A server of tests/wild, attached to while its clients ask."""
    stage_of(program, out, folder, lambda stage, file: stage.attached(file, "--events"))


def record_random(kind_and_seed, out, folder):
    kind, seed = kind_and_seed
    made = random_programs.Judged(seed, kind, BUILD, folder, random_programs.PATIENCE).record("--events")
    made.recording.rename(out)


def stage_of(program, out, folder, record):
    tools = conftest.Tools(BUILD, folder)
    stage = None
    try:
        stage = recorders.Stage(program, tools, folder, conftest)
        file = stage.folder / "events.zst"  # where its user may write
        record(stage, file)
        shutil.move(file, out)
    finally:
        tools.finish()
        if stage:
            stage.finish()


def cases():
    """{name: (how to record it, what)}"""
    rows = (*programs.SHORT, *programs.LONG)
    return {**{row.name: (record_program, row) for row in rows},
            **{f"{row.name}-attached": (record_attached, row) for row in rows if row.client},
            **{f"{kind}-{seed}": (record_random, (kind, seed)) for kind in generate.KINDS for seed in range(20, 24)}}


def stamp():
    """Which build it is."""
    digest = hashlib.sha256()
    for name in ("heaptrack", "libheaptrack_preload.so", "libheaptrack_inject.so"):
        if (BUILD / name).exists():
            digest.update((BUILD / name).read_bytes())
    return digest.hexdigest()[:16]


# ---- one


def judge_one(name, build):
    """Record it where this build has not, judge it; its verdict."""
    out, made_by = FOLDER / f"{name}.zst", FOLDER / f"{name}.by"
    record, what = cases()[name]
    try:
        if not out.exists() or not made_by.exists() or made_by.read_text() != build:
            made_by.unlink(missing_ok=True)
            out.unlink(missing_ok=True)
            with tempfile.TemporaryDirectory() as folder:
                record(what, out, Path(folder))
            made_by.write_text(build)
        if out.stat().st_size > EVENTS:
            raise TooLarge(f"{out.stat().st_size >> 20} MiB")
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        return "\n".join(referee.Referee(out, BUILD).judge()) or RIGHT
    except (Skipped, random_programs.Impossible) as missing:
        return f"{MISSING}{missing}"
    except (TooLarge, MemoryError) as large:
        return f"skipped: too large to judge: {large!r}"
    except (OutcomeException, OSError, AssertionError, RuntimeError, subprocess.SubprocessError) as problem:
        return f"not recorded: {problem}"


def judge_within(name, build, bound):
    """In this process, and no longer than its bound."""
    def stop(*_):
        raise TooLarge(f"not done after {bound} s")
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(bound)
    verdict = judge_one(name, build)
    signal.alarm(0)
    (FOLDER / f"{name}.verdict").write_text(f"{build}\n{verdict}\n")


# ---- all


def known_verdict(name, build):
    file = FOLDER / f"{name}.verdict"
    by, _, verdict = file.read_text().strip().partition("\n") if file.exists() else ("", "", "")
    return verdict if by == build else None


def judge_apart(name, options, build):
    """A process for each, so that its memory is bounded; (name, verdict, seconds)."""
    verdict, start = None if options.again else known_verdict(name, build), time.monotonic()
    if verdict is None or verdict.startswith(MISSING):  # it may have been installed since
        (FOLDER / f"{name}.verdict").unlink(missing_ok=True)
        log = FOLDER / f"{name}.log"
        with open(log, "wb") as said:
            subprocess.run([sys.executable, __file__, "--one", "--bound", str(options.bound), name], check=False,
                           stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        verdict = known_verdict(name, build) or "the referee failed: " + log.read_text(errors="replace")[-2000:]
    return name, verdict, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--bound", type=int, default=BOUND)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    wanted, build = options.names or list(cases()), stamp()
    if unknown := set(wanted) - set(cases()):
        parser.error(f"unknown: {' '.join(sorted(unknown))}")
    if options.list:
        print("\n".join(wanted))
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    if options.one:
        return judge_within(wanted[0], build, options.bound)
    counts = {"right": 0, "wrong": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(judge_apart, name, options, build) for name in wanted]):
            name, verdict, seconds = done.result()
            counts["right" if verdict == RIGHT else "skipped" if verdict.startswith("skipped: ") else "wrong"] += 1
            print(f"{name:24} {seconds:6.1f} s  " + verdict.replace("\n", "\n" + " " * 36), flush=True)
    print("referee: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
