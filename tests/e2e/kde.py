"""KDE's own heaptrack as a judge: what its tools say of a file, site by site."""

import collections
import re
import shutil
import subprocess

HEAPTRACK = "/usr/bin/heaptrack"
PRINT = "/usr/bin/heaptrack_print"
INTERPRET = "/usr/lib/heaptrack/libexec/heaptrack_interpret"
GUI = "/usr/bin/heaptrack_gui"

SIX = ["total runtime: ", "calls to allocation functions: ", "temporary memory allocations: ",
       "peak heap memory consumption: ", "peak RSS (including heaptrack overhead): ",
       "total memory leaked: "]


def run(*command, timeout=120, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, timeout=timeout,
                          **more)
    done.stdout = done.stdout.decode(errors="replace")
    return done


def reported(text):
    """The six lines, by name, without the rates: those hang on the runtime's last digit."""
    lines = {}
    for line in text.splitlines():
        for name in SIX:
            if line.startswith(name):
                lines[name.strip(": ")] = line[len(name):].split(" (")[0]
    assert len(lines) == len(SIX), text[-2000:]
    return lines


def totals(file):
    """The six figures that Debian's heaptrack_print has for a file, nothing suppressed."""
    done = run(PRINT, "--disable-builtin-suppressions", "--disable-embedded-suppressions", file)
    assert done.returncode == 0, (file, done.stdout, done.stderr)
    return reported(done.stdout)


def sites(file, program=PRINT):
    """Every site with its figures and whole backtrace, addresses left out: a Counter per section."""
    done = run(program, "-n", "1000000", "-s", "1000000", "-l", "1", "-m", "0", "-t", "0",
               "--disable-builtin-suppressions", "--disable-embedded-suppressions", file)
    found = {}
    text = re.sub(r"0x[0-9a-f]+", "0x", done.stdout)
    for section in re.split(r"\n(?=MOST CALLS|PEAK MEMORY|MEMORY LEAKS|MOST TEMP|total runtime)",
                            text)[1:]:
        title = section.split("\n")[0]
        if not title.startswith("total runtime"):
            entries = re.split(r"\n(?=\S+ (?:calls|peak memory|leaked|temporary) )", section)
            found[title] = collections.Counter(entry.strip() for entry in entries[1:])
    assert len(found) == 4, done.stdout[:2000]
    return found


def record(folder, *command, raw=False, env=None):
    """Record with Debian's heaptrack; gives the file."""
    out = folder / "kde"
    options = ["--raw"] if raw else []
    done = run(HEAPTRACK, *options, "-o", out, *command, cwd=folder, env=env)
    (file,) = list(folder.glob("kde.raw.*" if raw else "kde.zst")) or [None]
    assert file, done.stderr
    return file


def lines(file):
    """The lines of a packed or plain file."""
    opener = {".zst": ["zstd", "-dcq"], ".gz": ["gzip", "-dc"]}.get(file.suffix, ["cat"])
    return run(*opener, file).stdout.splitlines()


def write(path, *text):
    path.write_text("".join(f"{line}\n" for line in text))
    return path


has_gui = shutil.which(GUI) is not None


def peak_kb(*command, timeout=110):
    """What a command writes to stdout, and the largest memory it took. A process of its own starts it:
    a child's peak is never below what its parent held when it was made."""
    done = subprocess.run(["/usr/bin/python3", "-c",
                           "import resource, subprocess, sys\n"
                           "subprocess.run(sys.argv[1:], check=True)\n"
                           "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)",
                           *command], capture_output=True, check=True, text=True, timeout=timeout)
    return done.stdout, int(done.stderr.split()[-1])
