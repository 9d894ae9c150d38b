// SPDX-License-Identifier: MIT
#pragma once

// Offsets of struct inject_frame (inject.h) for the assembler; inject.c asserts them.

#define INJECT_MOVED 0
#define INJECT_R11   64
#define INJECT_R10   72
#define INJECT_R9    80
#define INJECT_R8    88
#define INJECT_RDI   96
#define INJECT_RSI   104
#define INJECT_RDX   112
#define INJECT_RCX   120
#define INJECT_RAX   128

/** The system call, of a number that does not exist, that a remote call ends with. */
#define INJECT_DONE 0x6865617
