"""Runs a program in a sandbox: sandbox.py ACTION CALL,... PROGRAM ARGUMENTS...

A filter of seccomp answers the calls of these numbers with ACTION (errno, unknown, kill) and allows all
others. CALL/VALUE is a call with this second argument, as `ioctl` has its request there. "witnesses" are
the calls with which newer kernels say more about a process than older ones.
"""

import ctypes
import os
import struct
import sys

LOAD, IS_EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER, SECOND = 0, 24  # in struct seccomp_data: of the call, and the lower half of its second argument
ALLOW, ACTIONS = 0x7fff0000, {"errno": 0x00050001, "unknown": 0x00050019, "kill": 0x80000000}
IOCTL, PERF = {"x86_64": (16, 298)}.get(os.uname().machine, (29, 241))
PAGEMAP_SCAN, PROCMAP_QUERY = 0xc0606610, 0xc0686611
WITNESSES = f"{IOCTL}/{PAGEMAP_SCAN},{IOCTL}/{PROCMAP_QUERY},{PERF}"
NO_NEW_PRIVS, SET_SECCOMP, MODE_FILTER = 38, 22, 2


def main():
    action, program = ACTIONS[sys.argv[1]], sys.argv[3:]
    code = []
    for call in filter(None, sys.argv[2].replace("witnesses", WITNESSES).split(",")):
        number, _, value = call.partition("/")
        has_value = [(LOAD, 0, 0, SECOND), (IS_EQUAL, 0, 1, int(value))] if value else []
        answer = [*has_value, (RETURN, 0, 0, action)]
        code += [(LOAD, 0, 0, NUMBER), (IS_EQUAL, 0, len(answer), int(number)), *answer]
    code.append((RETURN, 0, 0, ALLOW))
    packed = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i) for i in code))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(packed)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(SET_SECCOMP, MODE_FILTER, ctypes.c_void_p(ctypes.addressof(head)), 0, 0) != 0:
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
    os.execvp(program[0], program)


main()
