"""What programs are called that wrote over their arguments, as servers do to show what they are doing."""

import json
import shutil
import subprocess

import pytest

from attaching import attach, known, target  # noqa: F401

# As setproctitle of BSD does it: over all arguments, and zeros behind
RENAMES = """
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
#ifdef TITLE
	char *end = argv[argc - 1] + strlen(argv[argc - 1]);
	size_t room = (size_t)(end - argv[0]);
	const char *title = TITLE;
	memset(argv[0], 0, room);
	memcpy(argv[0], title, strlen(title) < room ? strlen(title) : room);
#endif
	for (;;) { void *volatile p = malloc(100); free(p); puts("ready"); fflush(stdout); usleep(10000); }
}
"""
ROOM = "x" * 80


def titled(target, build, folder, title, *arguments):
    (folder / "renames.c").write_text(RENAMES)
    subprocess.run(["gcc", "-g", f'-DTITLE="{title}"', folder / "renames.c", "-o", folder / "renames"], check=True)
    victim = target([folder / "renames", *arguments])
    attach(build, victim.pid, folder / "out", duration="300ms")
    page = subprocess.run([build / "heaptrack_print", folder / "out.zst"], capture_output=True, text=True,
                          check=True).stdout
    victim.end()
    return page.split("   ")[0], known(build, folder / "out.zst")["program"]["command"]


@pytest.mark.parametrize("title, shown", [
    ("store *:6379", "store *:6379 (renames)"),
    ("/opt/bin/store unix:/tmp/a.sock", "store unix:/tmp/a.sock (renames)"),
    ("renames: worker process ", "renames: worker process"),
])
def test_a_title_is_said_as_it_is(build, target, tmp_path, title, shown):
    said, command = titled(target, build, tmp_path, title, ROOM, ROOM, ROOM)
    assert said == shown
    assert command == [title.rstrip()]


def test_arguments_that_are_empty_stay(build, target, tmp_path):
    """Nothing was written over: the program was called so."""
    (tmp_path / "waits.c").write_text(RENAMES)
    subprocess.run(["gcc", tmp_path / "waits.c", "-o", tmp_path / "waits"], check=True)
    victim = target([tmp_path / "waits", "", "b", ""])
    attach(build, victim.pid, tmp_path / "out", duration="300ms")
    assert known(build, tmp_path / "out.zst")["program"]["command"][1:] == ["", "b", ""]
    victim.end()


@pytest.mark.parametrize("link, shown", [("teller", "teller"), ("renames.new", "renames.new"), ("ren", "renames")])
@pytest.mark.parametrize("how", ["symbolic", "hard"])
def test_a_link_names_the_program(tools, tmp_path, link, shown, how):
    """The file is called by the link that started it, in all that is said of it, if its own name does not tell more."""
    (tmp_path / "renames.c").write_text(RENAMES.replace("for (;;)", "for (int i = 0; i < 2000; i++)").replace(
        "usleep(10000)", "usleep(1)"))
    subprocess.run(["gcc", "-s", tmp_path / "renames.c", "-o", tmp_path / "renames"], check=True)
    if how == "symbolic":
        (tmp_path / link).symlink_to("renames")
    else:
        (tmp_path / link).hardlink_to(tmp_path / "renames")
    if how == "hard" and link == "ren":
        shown = "ren"  # it is the file itself
    recording = tools.record(tmp_path / link)
    text, data = recording.report(), recording.json()
    assert f"{shown}, no symbols" in text and text.split()[0] == link, text
    modules = {frame["module"] for site in data["sites"]["allocations"] for frame in site["stack"] if frame["owner"] == "yours"}
    assert modules == {str(tmp_path / shown)}, modules


def test_a_link_names_a_program_that_is_attached_to(build, target, tmp_path):
    (tmp_path / "renames.c").write_text(RENAMES)
    subprocess.run(["gcc", "-g", tmp_path / "renames.c", "-o", tmp_path / "renames"], check=True)
    (tmp_path / "teller").symlink_to("renames")
    victim = target([tmp_path / "teller"])
    attach(build, victim.pid, tmp_path / "out", duration="300ms")
    sites = known(build, tmp_path / "out.zst")["sites"]["allocations"]
    assert str(tmp_path / "teller") in {frame["module"] for site in sites for frame in site["stack"]}, sites
    victim.end()


def test_redis_is_called_what_it_calls_itself(build, target, tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server here")
    victim = target(["redis-server", "--port", "0", "--unixsocket", str(tmp_path / "s"), "--save", "", "--dir",
                     str(tmp_path)], ready="ready to accept")
    attach(build, victim.pid, tmp_path / "out", duration="500ms")
    data = json.loads(subprocess.run([build / "heaptrack_print", "--json", tmp_path / "out.zst"],
                                     capture_output=True, text=True, check=True).stdout)
    assert len(data["program"]["command"]) == 1 and data["program"]["command"][0].startswith("redis-server "), data
    victim.end()
