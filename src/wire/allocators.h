// SPDX-License-Identifier: MIT
#pragma once
/**
 * The table of all allocation functions (.def), and its column "what it does" as words.
 *
 * OPERANDS_##what is the word and its operands.
 */

#define OPERANDS_ALLOCATES(size)             ALLOCATES, size
#define OPERANDS_ALLOCATES_N(n, size)        ALLOCATES_N, n, size
#define OPERANDS_ALLOCATES_TEXT              ALLOCATES_TEXT, none
#define OPERANDS_ALLOCATES_AT(at, size)      ALLOCATES_AT, at, size
#define OPERANDS_REALLOCATES(ptr, size)      REALLOCATES, ptr, size
#define OPERANDS_REALLOCATES_N(ptr, n, size) REALLOCATES_N, ptr, n, size
#define OPERANDS_REALLOCATES_AT(at, n, size) REALLOCATES_AT, at, n, size
#define OPERANDS_FREES(ptr)                  FREES, ptr
#define OPERANDS_NEW(size, twin)             NEW, size, twin
#define OPERANDS_NEW_N(n, size, twin)        NEW_N, n, size, twin
#define OPERANDS_RENEW(ptr, size, twin)      RENEW, ptr, size, twin
#define OPERANDS_RENEW_N(ptr, n, size, twin) RENEW_N, ptr, n, size, twin
#define OPERANDS_NEW_NOTHROW(size)           NEW_NOTHROW, size
#define OPERANDS_DELETE(ptr)                 DELETE, ptr
