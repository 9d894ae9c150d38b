"""Where the recording goes: names, suffixes, what is in the way, and disks without room."""

import os
import pwd
import resource
import shutil
import socket
import subprocess
import textwrap

import pytest


@pytest.fixture
def record(tools, tmp_path):
    """heaptrack OPTIONS perl -e 1 in a folder of its own."""
    folder = tmp_path / "work"
    folder.mkdir()

    def run(*options, status=0, **more):
        more.setdefault("cwd", folder)
        finished = tools.run(tools.heaptrack, *options, "perl", "-e", "print 'hello'", **more)
        assert finished.status == status, repr(finished)
        return finished

    run.folder = folder
    return run


def written(finished):
    lines = [line for line in finished.stderr.splitlines()
             if line.startswith("heaptrack output will be written to ")]
    assert len(lines) == 1, repr(finished)
    return lines[0].split('"')[1]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_default_name_has_the_programs_pid(tools, tmp_path):
    finished = tools.run(tools.heaptrack, "perl", "-e", "print $$", cwd=tmp_path)
    expected = tmp_path / f"heaptrack.perl.{finished.stdout}.zst"
    assert written(finished) == str(expected)
    assert expected.is_file()
    assert f'  heaptrack --analyze "{expected}"' in finished.stderr.splitlines()
    assert tools.json(expected)["summary"]["complete"]


def test_nothing_of_ours_on_stdout_and_at_most_ten_lines_after(record):
    finished = record()
    assert finished.stdout == "hello"
    after = finished.stderr.split("\n", 1)[1].rstrip("\n").split("\n")
    assert len(after) <= 10, finished.stderr


def test_quiet_prints_nothing(record):
    assert record("-q").stderr == ""
    assert record("--quiet").stderr == ""


@pytest.mark.parametrize("given, made", [
    ("plain", "plain.zst"),
    ("lodestar.heapdump", "lodestar.heapdump.zst"),
    ("already.zst", "already.zst"),
    ("other.gz", "other.zst"),
    ("two words/and more", "two words/and more.zst"),
    ("new/folders/deep", "new/folders/deep.zst"),
    ("host-%h", f"host-{socket.gethostname()}.zst"),
])
def test_names(record, given, made):
    finished = record("-o", given)
    assert (record.folder / made).is_file()
    assert written(finished) == made
    said = [line for line in finished.stderr.splitlines() if line.startswith("heaptrack: ")]
    assert len(said) == (1 if given.endswith(".gz") else 0), finished.stderr


@pytest.mark.parametrize("option", ["-o", "--output", "--output-file"])
def test_pid_in_the_name(tools, tmp_path, option):
    finished = tools.run(tools.heaptrack, option, "x.%p", "perl", "-e", "print $$", cwd=tmp_path)
    assert names(tmp_path / "") == sorted(set(names(tmp_path)))
    assert (tmp_path / f"x.{finished.stdout}.zst").is_file()


def test_an_existing_recording_is_moved_aside(record):
    for expected in (["t.zst"], ["t.1.zst", "t.zst"], ["t.1.zst", "t.2.zst", "t.zst"]):
        before = {name: (record.folder / name).stat().st_ino for name in names(record.folder)}
        finished = record("-o", "t")
        assert names(record.folder) == expected
        if before:
            newest = expected[-2]
            assert (record.folder / newest).stat().st_ino == before["t.zst"]
            assert newest in finished.stderr
        for name in set(before) - {"t.zst"}:
            assert (record.folder / name).stat().st_ino == before[name]


def test_force_replaces_a_recording(record):
    record("-o", "t")
    record("-f", "-o", "t")
    assert names(record.folder) == ["t.zst"]


@pytest.mark.parametrize("options", [[], ["-f"]])
def test_what_is_no_recording_is_never_touched(record, options):
    precious = record.folder / "t.zst"
    precious.write_text("my thesis")
    finished = record(*options, "-o", "t", status=1)
    assert precious.read_text() == "my thesis"
    assert finished.stdout == ""  # it has not run
    assert len(finished.stderr.splitlines()) == 1 and '"t.zst"' in finished.stderr
    assert names(record.folder) == ["t.zst"]


def test_folders_and_devices_are_refused(record):
    (record.folder / "folder").mkdir()
    for name in ("folder", "folder/", "/dev/null"):
        finished = record("-o", name, status=1)
        assert len(finished.stderr.splitlines()) == 1 and name in finished.stderr
        assert finished.stdout == ""
    assert not os.path.exists("/dev/null.zst")


def as_nobody():
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def for_all(tools, tmp_path):
    """A copy of what is needed that every user can run, and a folder for all."""
    folder = tmp_path / "all"
    (folder / "tmp").mkdir(parents=True)
    for file in (tools.heaptrack, tools.preload):
        shutil.copy(file, folder)
    for path in [folder, *folder.parents]:
        if path.is_relative_to("/tmp") and path.owner() == pwd.getpwuid(os.getuid()).pw_name:
            path.chmod(path.stat().st_mode | 0o755)
    (folder / "tmp").chmod(0o777)
    return folder


@needs_root
def test_a_folder_that_cannot_be_written(tools, for_all):
    finished = tools.run(for_all / "heaptrack", "perl", "-e", "print 'hello'", cwd="/usr",
                         env={"TMPDIR": str(for_all / "tmp")}, preexec_fn=as_nobody)
    assert finished.stdout == "hello" and finished.status == 0, repr(finished)
    assert written(finished).startswith(f"{for_all}/tmp/heaptrack.perl.")
    assert sum("is not writable" in line for line in finished.stderr.splitlines()) == 1

    finished = tools.run(for_all / "heaptrack", "-o", "/usr/t", "perl", "-e", "print 'hello'",
                         preexec_fn=as_nobody)
    assert finished.status == 1 and finished.stdout == ""
    assert len(finished.stderr.splitlines()) == 1 and "/usr/t" in finished.stderr


@needs_root
def test_under_sudo_the_file_is_the_callers(record):
    nobody = pwd.getpwnam("nobody")
    record("-o", "new/t", env={"SUDO_UID": str(nobody.pw_uid), "SUDO_GID": str(nobody.pw_gid)})
    for made in (record.folder / "new", record.folder / "new/t.zst"):
        assert made.stat().st_uid == nobody.pw_uid
        assert made.stat().st_gid == nobody.pw_gid


GROWING = ["perl", "-e", "for my $i (1 .. 40) { my @kept = map { 'x' x $_ } 1 .. 20000;"
           " select(undef, undef, undef, 0.05) } print 'done'"]


def test_a_limit_on_file_size_harms_nothing(tools, tmp_path):
    """ulimit -f: writes fail with EFBIG, and SIGXFSZ ends whoever does not ignore it."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    finished = tools.run(tools.heaptrack, "-o", tmp_path / "t", *GROWING, preexec_fn=limit)
    assert finished.status == 0 and finished.stdout == "done", repr(finished)
    if (tmp_path / "t.zst").exists():  # had the right to raise the limit for itself
        assert tools.json(tmp_path / "t.zst")["summary"]["complete"]
    else:
        assert "ulimit -f" in finished.stderr and "unrecorded" in finished.stderr


@pytest.fixture
def small_disk(tmp_path, request):
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={getattr(request, 'param', '64k')}", "none", folder],
        capture_output=True).returncode == 0
    if not mounted:
        pytest.skip("needs to mount a file system")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_never_harms_the_program(tools, small_disk):
    # Room for the head of a file, not for the stacks of this program
    (small_disk / "filler").write_bytes(bytes(40 << 10))
    finished = tools.run(tools.heaptrack, "-o", small_disk / "t", "python3", "-c",
                         "import json, time; time.sleep(1.5); print('done')")
    assert finished.status == 0 and finished.stdout == "done\n", repr(finished)
    assert "nearly full" in finished.stderr
    assert sum("cannot update the file now" in line
               for line in finished.stderr.splitlines()) <= 1
    assert not [name for name in names(small_disk) if name.endswith(".part")]


@pytest.mark.parametrize("small_disk", ["20m"], indirect=True)
def test_totals_go_on_when_the_disk_is_full(tools, helpers, small_disk, tmp_path):
    """Somebody fills the disk after 1.5 s: totals stay exact, what came later has no stacks of its
    own, and a part of the disk is left as it was found."""
    go = tmp_path / "go"
    program = textwrap.dedent(f"""\
        import json, os, sys, time
        time.sleep(1.5)
        while not os.path.exists({str(go)!r}):
            time.sleep(0.05)
        import decimal, argparse, unittest, xml.dom.minidom, email.message
        kept = [bytes(1000 + i) for i in range(20000)]
        time.sleep(2.5)
        print("done")
        """)
    environment = dict(os.environ, PYTHONMALLOC="malloc")
    whole = tools.record("python3", "-c", program.replace("while not", "while False and not"),
                         env=environment)
    file = small_disk / "t.zst"
    running = tools.start(tools.heaptrack, "-o", file, "python3", "-c", program, env=environment)
    helpers.wait_until(lambda: file.exists() and file.stat().st_size > 20000,
                       what="a checkpoint")
    free = os.statvfs(small_disk).f_bavail * 4096
    (small_disk / "filler").write_bytes(bytes(free - (1 << 20)))  # less than is to be left
    go.touch()
    finished = running.wait(60)
    assert finished.status == 0 and finished.stdout == "done\n", repr(finished)
    assert os.statvfs(small_disk).f_bavail * 4096 > 1 << 19, "the rest was used up"
    known, expected = tools.json(file, "--limit", "1"), whole.json("--limit", "1")
    for what in ("allocations", "allocated_bytes", "peak_bytes"):
        assert known["summary"][what] == pytest.approx(expected["summary"][what], rel=0.02), what
    assert known["summary"]["complete"] and known["quality"]["detail_ends_ns"] > 10**9
    assert any("disk was nearly full" in line["text"] for line in known["quality"]["sentences"])
    assert "disk was nearly full" in finished.stderr
    assert "disk was nearly full" in tools.print(file).stdout


@pytest.mark.timeout(600)
@pytest.mark.parametrize("small_disk, n_events", [
    ("5m", 16_000_000), pytest.param("20m", 60_000_000, marks=pytest.mark.long)],
    indirect=["small_disk"])
def test_totals_go_on_when_events_fill_the_disk(tools, small_disk, n_events):
    """The single events of a program that allocates without end: they stop, the totals do not."""
    file = small_disk / "t.zst"
    finished = tools.run(tools.heaptrack, "--events", "-o", file, tools.victim("many_stacks"),
                         n_events, "random", timeout=500)
    assert finished.status == 3, repr(finished)
    truth = dict(zip(("allocations", "allocated_bytes", "peak_bytes", "never_freed_blocks",
                      "never_freed_bytes"), map(int, finished.stdout.split())))
    left = os.statvfs(small_disk)
    assert left.f_bavail * left.f_frsize >= left.f_blocks * left.f_frsize // 25, "it was used up"
    known = tools.json(file, "--limit", "5")
    assert {name: known["summary"][name] for name in truth} == truth
    assert known["summary"]["complete"] and known["summary"]["lost_events"] == 0
    assert 0 < known["quality"]["detail_ends_ns"] < known["summary"]["duration_ns"]
    assert "individual events are no longer kept" in finished.stderr
    assert "the disk was nearly full: from " in tools.print(file).stdout


def test_a_file_that_is_moved_meanwhile_stays_moved(tools, tmp_path, helpers):
    running = tools.start_record("sh", "-c", "sleep 1; exit 3")
    helpers.wait_until(running.file.exists, what="the file")
    running.file.rename(tmp_path / "moved.zst")
    assert running.wait().status == 3
    assert not running.file.exists()
    assert tools.json(tmp_path / "moved.zst")["summary"]["complete"]


def test_a_copy_from_the_middle_has_names(tools, tmp_path, helpers):
    running = tools.start_record(tools.victim("demo"))
    copy = tmp_path / "copy.zst"

    def has_names():
        if running.file.exists():
            shutil.copy(running.file, copy)
            found = tools.run(tools.heaptrack_print, "--json", copy)
            return found.status == 0 and "parseConfig" in found.stdout
        return False

    helpers.wait_until(has_names, what="names in a copy")
    assert running.process.poll() is None, "the program had ended"
    running.wait()


def test_a_module_is_said_once(tools):
    """A runtime's stacks are named after the module: it is not their place as well."""
    recording = tools.record("/usr/bin/python3", "-c", "import json")
    rows = [line.split() for line in recording.report("--by", "site").splitlines()[3:]]
    assert rows and any("python3" in row[3] for row in rows)
    assert all(len(row) < 5 or row[-1] != row[-2] for row in rows), rows
