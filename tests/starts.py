"""What it costs to start programs, in CPU time, compared with starts of which everybody knows the cost.

Milliseconds alone judge the machine: its host's other guests show in no count, and make the same
start cost twice as much.
"""

import os

# Twenty starts of /bin/true by a shell: 10 ms or less on the machine whose figures the tests name
TWENTY = ["/bin/sh", "-c", "i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done"]
TWENTY_MS = 10


def once(command, environment):
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    words = [str(word) for word in command]
    pid = os.posix_spawn(words[0], words, environment, file_actions=quiet)
    _, status, used = os.wait4(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, words
    return 1000 * (used.ru_utime + used.ru_stime)


def cpu_ms(*commands, environment=None, tries=25):
    """User and system time of each command and of what it waited for: the best of some runs, in
    turns, in milliseconds of a machine on which twenty starts take TWENTY_MS or less."""
    environment = dict(os.environ) if environment is None else environment
    rounds = [[once(command, environment) for command in (TWENTY, *commands)] for _ in range(tries)]
    twenty, *best = map(min, zip(*rounds))
    return [ms * min(1, TWENTY_MS / twenty) for ms in best]
