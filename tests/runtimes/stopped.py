"""Programs that stop themselves and say which JavaScript is on their stack, and how it is found from outside."""

import json
import os
import signal
import subprocess


def stops_of(node, words, script):
    """A pid and the true stack at each stop: function (None: none), file, line, name of the method."""
    with subprocess.Popen([node, *words, script], stdout=subprocess.PIPE, text=True) as program:
        try:
            while True:
                pid, status = os.waitpid(program.pid, os.WUNTRACED)
                if not os.WIFSTOPPED(status):
                    program.returncode = os.waitstatus_to_exitcode(status)
                    assert program.returncode == 0, program.returncode
                    return
                yield pid, json.loads(program.stdout.readline())["stack"]
                os.kill(pid, signal.SIGCONT)
        finally:
            if program.returncode is None:
                program.kill()


def frames_of(tool, pid, *image):
    """The frames that the tool finds: kind, function, file, line, is the name from the source."""
    out = subprocess.run([tool, str(pid), *image], check=True, timeout=60, stdout=subprocess.PIPE).stdout.decode()
    frames = []
    for text in out.splitlines():
        kind, function, file, line, is_guess = text.split("\t")
        frames.append((kind, function, file, int(line), is_guess == "1"))
    return frames
