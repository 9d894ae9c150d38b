"""Run a program in a container made by hand: container.py [--no-proc] ROOT PROGRAM [ARGUMENT...]

It gets a pid namespace, where it is process 1, and a mount namespace in which ROOT is all there is
(pivot_root), with a /proc of its own unless --no-proc. Ends with the program's status, and takes the
program along when it is killed.
"""

import ctypes
import os
import sys

CLONE_NEWNS, CLONE_NEWPID = 0x20000, 0x20000000
MS_BIND, MS_REC, MS_PRIVATE, MNT_DETACH = 0x1000, 0x4000, 0x40000, 2
PR_SET_PDEATHSIG, SIGKILL, SYS_PIVOT_ROOT = 1, 9, 155
libc = ctypes.CDLL(None, use_errno=True)


def ask(result, what):
    if result != 0:
        sys.exit(f"container.py: {what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags):
    ask(libc.mount(source, target, kind, ctypes.c_ulong(flags), None), f"mount {target.decode()}")


def enter(root, has_proc):
    mount(b"none", b"/", None, MS_REC | MS_PRIVATE)
    mount(root.encode(), root.encode(), None, MS_BIND | MS_REC)
    os.chdir(root)
    if has_proc:
        mount(b"proc", b"proc", b"proc", 0)
    ask(libc.syscall(SYS_PIVOT_ROOT, b".", b"."), "pivot_root")
    ask(libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")


def main():
    arguments = sys.argv[1:]
    has_proc = arguments[0] != "--no-proc"
    root, *command = arguments if has_proc else arguments[1:]
    ask(libc.unshare(CLONE_NEWNS | CLONE_NEWPID), "unshare")
    child = os.fork()
    if child == 0:
        libc.prctl(PR_SET_PDEATHSIG, SIGKILL)
        enter(root, has_proc)
        os.execv(command[0], command)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.exit(128 - status if status < 0 else status)


main()
