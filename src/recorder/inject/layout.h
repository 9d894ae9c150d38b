// SPDX-License-Identifier: MIT
#pragma once

// Offsets of struct inject_frame (inject.h) for the assembler; inject.c asserts them.

#define INJECT_CALLED 0
#define INJECT_RDI    80
#define INJECT_RSI    88
#define INJECT_RDX    96
#define INJECT_RCX    104
#define INJECT_R8     112
#define INJECT_R9     120
#define INJECT_RAX    128
#define INJECT_R10    136
#define INJECT_R11    144
