"""What is to be known of a program."""

import dataclasses
import signal


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    package: str
    command: str
    before: str = ""  # run by sh in the folder, once, not recorded
    files: dict = dataclasses.field(default_factory=dict)
    env: dict = dataclasses.field(default_factory=dict)
    stdin: str = ""
    judged: str = ""
    more: str = ""  # what we record and KDE's does not: then only what is missing counts
    alone: str = ""  # why KDE's cannot judge: only status and output do
    twice: int = 0  # addresses that may be handed out twice, as docs/recorder.md says of it
    status: int = 0
    same_output: bool = True  # what it writes to stdout is the same each time
    screen: bool = False  # needs an X server
    user: str = ""  # whom it runs as, where root is refused
    ready: str = ""  # of a server: a port, a file, or "says TEXT"
    client: str = ""  # run by sh once it is ready
    end: signal.Signals = signal.SIGTERM


P = Program  # for tables
