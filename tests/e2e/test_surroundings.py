"""What lies around a recording, and around heaptrack: files that were not asked for, names in use,
limits that are low."""

import glob
import os
import resource
import shutil
import socket
import subprocess

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


# --- .heaptrackrc


@pytest.fixture
def recording(tools):
    made = tools.record(tools.victim("blocks"), "10")
    assert made.status == 0, repr(made)
    return made


def fifo(path):
    os.mkfifo(path)


def link(path):
    other = path.with_name("secret")
    other.write_text("the password is 1234\n")
    path.symlink_to(other)


def listener(path):
    with socket.socket(socket.AF_UNIX) as s:
        os.chdir(path.parent)
        s.bind(path.name)


def large(path):
    path.write_text("#" * (1 << 20) + "\nfold x\n")


def of_another(path):
    path.write_text("fold x\n")
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize("make, why", [
    (fifo, "not a regular file"), (link, "a symbolic link"), (listener, "No such device"),
    (os.mkdir, "not a regular file"), (large, "larger than"),
    pytest.param(of_another, "owned by user 65534", marks=needs_root)])
def test_rules_that_are_not_to_be_read(tools, recording, tmp_path, monkeypatch, make, why):
    """A warning, and the report is what it is without the file."""
    plain = recording.report()
    monkeypatch.chdir(tmp_path)
    make(tmp_path / ".heaptrackrc")
    for options in ([], ["--json"], ["--tree"], ["--export", "folded=-"], ["--fail-if", "peak>1G"]):
        shown = tools.print(recording.file, *options)
        assert len(shown.stderr.splitlines()) == 1, repr(shown)
        assert f".heaptrackrc: {why}" in shown.stderr and "password" not in shown.stderr, repr(shown)
    assert recording.report() == plain
    again = tools.run(tools.heaptrack, "-q", "-o", tmp_path / "more", "true")
    assert again.status == 0, repr(again)


def test_a_line_that_is_no_rule(tools, recording, tmp_path):
    """It is named, and the others hold."""
    (tmp_path / ".heaptrackrc").write_text("forget allocate\nfold allocate\n")
    shown = tools.print(recording.file)
    assert "line 1: \"forget allocate\" is not a rule" in shown.stderr, repr(shown)
    assert "\n  allocate " not in shown.stdout and "\n  main " in shown.stdout, repr(shown)


def test_a_linked_file_at_home(tools, recording, tmp_path):
    """People keep these in a repository of their own."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "kept").write_text("fold allocate\nnonsense\n")
    (home / ".heaptrackrc").symlink_to(tmp_path / "kept")
    shown = tools.run(tools.heaptrack_print, recording.file, env={"HOME": str(home)})
    assert shown.status == 0 and 'line 2: "nonsense"' in shown.stderr, repr(shown)


@pytest.mark.parametrize("command", [["heaptrack"], ["heaptrack", "-a"], ["heaptrack_print"],
                                     ["heaptrack_gui"], ["heaptrack", "--interpret"]])
def test_a_fifo_is_no_recording(tools, tmp_path, command):
    os.mkfifo(tmp_path / "fifo")
    shown = tools.run(tools.build / command[0], *command[1:], tmp_path / "fifo", timeout=20)
    assert shown.status in (1, 126) and len(shown.stderr.splitlines()) == 1, repr(shown)


# --- names that are in use


def test_several_at_once_to_one_name(tools, helpers, tmp_path):
    """Each gets a file of its own, whole, and says which."""
    go = tmp_path / "go"
    script = "until (-e $ARGV[0]) { select undef, undef, undef, 0.01 } print $$"
    running = [tools.start(tools.heaptrack, "-o", tmp_path / "same", "perl", "-e", script, go)
               for _ in range(6)]
    helpers.wait_until(lambda: len(list(tmp_path.glob("same*.zst"))) == 6, what="six files")
    go.touch()
    said = set()
    for one in running:
        finished = one.wait()
        assert finished.status == 0, repr(finished)
        said.add(finished.stderr.partition('heaptrack --analyze "')[2].partition('"')[0])
        report = tools.json(finished.stderr.partition('--analyze "')[2].partition('"')[0])
        assert report["summary"]["complete"] and str(report["program"]["pid"]) == finished.stdout, repr(finished)
    assert said == {str(path) for path in tmp_path.glob("same*.zst")} and len(said) == 6, said


def remove(path):
    path.unlink()


def replace(path):
    other = path.with_name("other")
    other.write_text("another's")
    other.rename(path)


def move(path):
    path.rename(path.with_name("moved.zst"))


def remove_folder(path):
    path.unlink()
    path.parent.rmdir()


@pytest.mark.parametrize("act, status, said, where", [
    (remove, 0, "was removed while recording", "x.zst"),
    (replace, 0, "was replaced while recording", "x.1.zst"),
    (move, 0, "was moved to", "moved.zst"),
    (remove_folder, 1, "the recording is lost", None)])
def test_a_file_that_goes_while_it_is_recorded(tools, helpers, tmp_path, act, status, said, where):
    """It is written anew and said where, or said to be lost."""
    folder = tmp_path / "folder"
    folder.mkdir()
    running = tools.start(tools.heaptrack, "-o", folder / "x", "perl", "-e", "$| = 1; print 1; <>",
                          stdin=subprocess.PIPE)
    helpers.wait_until(lambda: (folder / "x.zst").exists() and running.outputs[0].seek(0, 2),
                       what="the start")
    act(folder / "x.zst")
    running.process.stdin.close()
    finished = running.wait()
    assert finished.status == status and said in finished.stderr, repr(finished)
    if where:
        assert f'--analyze "{folder / where}"' in finished.stderr, repr(finished)
        assert tools.json(folder / where)["summary"]["complete"]
        assert not list(folder.glob("*.part")), list(folder.iterdir())
    else:
        assert "--analyze" not in finished.stderr and not folder.exists(), repr(finished)


def test_the_programs_own_name(tools, tmp_path):
    """-o app ./app: heaptrack_print app means the recording."""
    (tmp_path / "app").write_bytes(tools.victim("blocks").read_bytes())
    (tmp_path / "app").chmod(0o755)
    made = tools.run(tools.heaptrack, "-o", "app", "./app", "5", cwd=tmp_path)
    assert made.status == 0, repr(made)
    shown = tools.run(tools.heaptrack_print, "app", cwd=tmp_path)
    assert shown.status == 0 and "peak heap" in shown.stdout, repr(shown)


def test_other_names_of_the_commands(tools, recording, tmp_path):
    """A link is what it leads to, whatever it is called; any other name is heaptrack."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "show").symlink_to(tools.heaptrack_print)
    (tmp_path / "bin" / "again").symlink_to("../show")
    (tmp_path / "tracer").symlink_to(tools.heaptrack)
    for name in ("show", "bin/again"):
        shown = tools.run(tmp_path / name, recording.file)
        assert shown.status == 0 and "peak heap" in shown.stdout, repr(shown)
    by_path = tools.run("show", recording.file, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert by_path.status == 0 and "peak heap" in by_path.stdout, repr(by_path)
    made = tools.run(tmp_path / "tracer", "-o", tmp_path / "t", "true")
    assert made.status == 0 and (tmp_path / "t.zst").is_file(), repr(made)


def test_options_behind_the_file(tools, recording):
    shown = tools.run(tools.heaptrack, "-a", recording.file, "--json")
    assert shown.status == 0 and shown.stdout == tools.print(recording.file, "--json").stdout


# --- limits


def limit(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def as_nobody(which, value):
    def become():
        resource.setrlimit(which, (value, value))
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    return become


@pytest.mark.parametrize("kilobytes", [64, 128])
def test_a_small_stack(tools, tmp_path, kilobytes):
    """The program has it, and heaptrack one that is large enough."""
    if os.geteuid() != 0:
        pytest.skip("only root can raise a limit that was set")
    made = tools.run(tools.heaptrack, "-o", tmp_path / "t", tools.victim("demo"), "1",
                     preexec_fn=limit(resource.RLIMIT_STACK, kilobytes << 10))
    assert made.status == 0 and "peak heap" in made.stderr, repr(made)
    limits = tools.run(tools.heaptrack, "-o", tmp_path / "u", "sh", "-c", "ulimit -s; ulimit -n",
                       preexec_fn=limit(resource.RLIMIT_STACK, kilobytes << 10))
    assert limits.stdout.split()[0] == str(kilobytes), repr(limits)
    for options in ([], ["--full"], ["--html", tmp_path / "page.html"]):
        shown = tools.run(tools.heaptrack_print, *options, tmp_path / "t.zst",
                          preexec_fn=limit(resource.RLIMIT_STACK, kilobytes << 10))
        assert shown.status == 0, repr(shown)


@needs_root
@pytest.mark.parametrize("files", [4, 6, 8, 12, 20, 40])
@pytest.mark.parametrize("becomes", [limit, as_nobody])
def test_few_open_files(tools, tmp_path, becomes, files):
    """The program runs with its limit, recorded or said not to be."""
    folder = tmp_path / "all"
    folder.mkdir()
    for file in (tools.heaptrack, tools.preload, tools.build / "libheaptrack_inject.so"):
        (folder / file.name).write_bytes(file.read_bytes())
        (folder / file.name).chmod(0o755)
    for path in (folder, *folder.parents):
        if path.is_relative_to("/tmp") and path != path.parent:
            path.chmod(path.stat().st_mode | 0o755)
    (folder / "out").mkdir()
    (folder / "out").chmod(0o777)
    made = tools.run(folder / "heaptrack", "-o", folder / "out" / "t", "sh", "-c", "ulimit -n",
                     preexec_fn=becomes(resource.RLIMIT_NOFILE, files))
    assert made.status == 0 and made.stdout == f"{files}\n", repr(made)
    if (folder / "out" / "t.zst").exists():
        assert tools.json(folder / "out" / "t.zst")["summary"]["allocations"] > 0
    else:
        assert "runs unrecorded" in made.stderr or "nothing was recorded" in made.stderr, repr(made)


def test_a_folder_for_temporary_files_that_is_not_there(tools, tmp_path):
    missing = tmp_path / "missing"
    made = tools.run(tools.heaptrack, "true", cwd="/proc/self", env={"TMPDIR": str(missing)})
    assert made.status == 0 and not missing.exists(), repr(made)
    written = made.stderr.partition('written to "')[2].partition('"')[0]
    assert written.startswith("/tmp/heaptrack.true."), repr(made)
    os.unlink(written)


# --- programs that start others, and that allocate by themselves


@needs_root
def test_root_records_programs_of_root(tools, tmp_path):
    """A set-uid program of root gives root no rights, so nothing keeps the recorder out."""
    program = tmp_path / "program"
    program.write_bytes(tools.victim("blocks").read_bytes())
    program.chmod(0o4755)
    made = tools.record(program, "5")
    assert made.status == 0 and made.json()["summary"]["allocations"] > 0, repr(made)


def test_sudo_is_no_program_to_record(tools, tmp_path):
    """heaptrack goes between, as with timeout."""
    if not shutil.which("sudo") or subprocess.run(["sudo", "-n", "true"], check=False).returncode:
        pytest.skip("sudo is not installed, or asks for a password")
    made = tools.record("sudo", "-n", tools.victim("blocks"), "5")
    assert made.status == 0 and made.json()["summary"]["allocations"] > 0, repr(made)


def test_go_is_said(tools, tmp_path):
    """Its runtime asks the system itself: nothing is announced, and the program runs."""
    (tmp_path / "a.go").write_text('package main\nimport "fmt"\nfunc main() { fmt.Print("hi") }\n')
    try:
        subprocess.run(["go", "build", "-o", tmp_path / "go", tmp_path / "a.go"], check=True,
                       env={**os.environ, "GOCACHE": str(tmp_path / "cache"), "CGO_ENABLED": "0",
                            "GOFLAGS": "-mod=mod"})
    except FileNotFoundError:
        pytest.skip("go is not installed")
    made = tools.record(tmp_path / "go")
    assert (made.status, made.stdout) == (0, "hi"), repr(made)
    assert "is a Go program" in made.stderr and "written to" not in made.stderr, repr(made)
    assert not made.file.exists() and len(made.stderr.splitlines()) == 1, repr(made)


@pytest.mark.parametrize("flags", [(), ("-s",)], ids=["", "stripped"])
@pytest.mark.parametrize("section", [".go.buildinfo", ".gopclntab"])
def test_go_is_known_by_one_of_its_sections(tools, helpers, tmp_path, section, flags):
    """esbuild keeps no .go.buildinfo. Launched and attached: no advice to build it with symbols."""
    program = tmp_path / "go"
    (tmp_path / "go.c").write_text(f"""__attribute__((section("{section}"))) const char info[] = "x";
        void _start(void) {{ for (;;) __asm__ volatile("syscall" :: "a"(34) : "rcx", "r11", "memory"); }}""")
    subprocess.run(["gcc", "-O1", "-static", "-nostdlib", *flags, tmp_path / "go.c", "-o", program], check=True)
    running = tools.start(program)
    attached = tools.run(tools.heaptrack, "-p", running.pid, "-o", tmp_path / "attached")
    assert attached.status == 1 and "(runtime/pprof)" in attached.stderr, repr(attached)
    running.end()
    launched = tools.start_record(program)
    helpers.wait_until(lambda: "is a Go program" in launched.finished(0).stderr, what="what it says")
    launched.end()


# --- counts


def test_a_clock_that_is_not_the_systems(tools):
    """libfaketime around all: another date, and time ten times as fast. Nothing is lost by it."""
    library = next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), None)
    if not library:
        pytest.skip("faketime is not installed")
    made = tools.record(tools.victim("blocks"), "20000",
                        env={"LD_PRELOAD": library, "FAKETIME": "-15d x10"})
    assert made.status == 0, repr(made)
    summary = made.json()["summary"]
    assert summary["allocations"] > 20000 and summary["lost_events"] == 0, summary
    assert summary["complete"], summary


def test_events_that_the_budget_drops_are_counted(tools):
    for options, drops in ((("--events=1M",), True), (("--events",), False)):
        made = tools.record(tools.victim("blocks"), "400000", options=options)
        assert made.status == 0, repr(made)
        report = made.json()
        given = report["summary"]["allocations"] + report["summary"]["frees"]
        dropped = report["quality"]["events_dropped"]
        assert (0 < dropped < given) if drops else dropped == 0, (options, dropped, given)
