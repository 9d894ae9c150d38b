// SPDX-License-Identifier: MIT
#pragma once
/**
 * A run-time error, as one message that callers extend. A function that can fail returns false and
 * fills `err`; callers prepend what they know:
 *
 *   err_set(err, ERR_FORMAT, "stack %u is undefined", id)          "stack 99 is undefined"
 *   err_add(err, "block %d", 12)                          "block 12: stack 99 is undefined"
 *
 * Both return false, so that `return err_set(...)` works. `err` may be NULL if the caller does not
 * need the message. Messages are for people and say what failed and why, without a final period or
 * line breaks. Longer ones are truncated.
 */

#include "base/attr.h"

#include <stddef.h>

enum err_code {
	ERR_NONE = 0,
	ERR_FORMAT,      // invalid input bytes
	ERR_SYSTEM,      // a system call failed; errno's text is in the message
	ERR_NOT_FOUND,   // nothing of that name
	ERR_UNSUPPORTED, // recognized, but not supported
	ERR_LIMIT,       // larger than we accept
	ERR_MEMORY,      // an allocation failed
	ERR_USAGE,       // an invalid request or option
};

struct err {
	enum err_code code;
	char text[512];
};

bool err_set(struct err *err, enum err_code code, const char *fmt, ...) ATTR_PRINTF(3, 4);
bool err_add(struct err *err, const char *fmt, ...) ATTR_PRINTF(2, 3);

/** Like err_set with ERR_SYSTEM; ": " and the text of `errnum` are appended. */
bool err_system(struct err *err, int errnum, const char *fmt, ...) ATTR_PRINTF(3, 4);

/** ERR_MEMORY, "out of memory"; and where there is a pointer to return. */
bool err_memory(struct err *err);
static inline void *err_memory_null(struct err *err) {
	(void)err_memory(err);
	return NULL;
}

// ---- memory
//
// Beside a process that stands still, whoever finds no memory gets NULL or false and goes on with
// less. An answer without its memory is none, and neither is a recording: what answers or records
// says so first, and then its code never gets NULL: the process ends with a sentence.

/**
 * From now on, a lack of memory prints "PROGRAM: out of memory" and ends the process with that
 * status. That holds for arenas, growing arrays, indexes, buffers and memory_new; an arena that has
 * reached its max_bytes still gives NULL. One thread calls it, before others need memory.
 */
void memory_must(const char *program, int status);

/** The same, but `end` ends the process, on whatever thread. NULL: callers are told once more. */
void memory_must_or(void (*end)(void *user), void *user);

/** To be called where there is none. NULL; or, after memory_must, it does not return. */
ATTR_COLD void *memory_lacks(void);

/** As calloc, but for the end of the process. Freed by the caller. */
void *memory_new(size_t n, size_t size);

// ---- assertions about our own code
//
// If check(cond) fails, the process prints where and aborts. Never used on input. Enabled in all
// builds, so use it on rare paths, not in inner loops.

#define check(cond) ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))

ATTR_NORETURN ATTR_COLD void check_failed(const char *cond, const char *file, int line);
