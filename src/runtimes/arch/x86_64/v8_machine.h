// SPDX-License-Identifier: MIT
#pragma once
/** How V8's interpreter calls a handler, and then takes bytecode and offset from its frame. */

// call *%rcx
#define V8_CALL "\xff\xd1"
// mov -0x20(%rbp),%r12; mov -0x24(%rbp),%r9d
#define V8_GOES_ON "\x4c\x8b\x65\xe0\x44\x8b\x4d\xdc"
