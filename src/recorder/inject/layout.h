// SPDX-License-Identifier: MIT
#pragma once
/** Offsets of struct inject_frame for the assembler, which inject.c asserts. */

#define INJECT_RDI  64
#define INJECT_RSI  72
#define INJECT_RDX  80
#define INJECT_RCX  88
#define INJECT_R8   96
#define INJECT_R9   104
#define INJECT_RAX  112
#define INJECT_R10  120
#define INJECT_R11  128
#define INJECT_WHAT 136

// Of struct resident_hook
#define INJECT_CALLED 16
