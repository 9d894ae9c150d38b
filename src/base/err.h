// SPDX-License-Identifier: MIT
#pragma once
/**
 * A run-time error, as one message that callers extend. A function that can fail returns false and
 * fills `err`; callers prepend what they know:
 *
 *   err_format(err, "stack %u is undefined", id)          "stack 99 is undefined"
 *   err_add(err, "block %d", 12)                          "block 12: stack 99 is undefined"
 *
 * Both return false, so that `return err_set(...)` works. `err` may be NULL if nobody needs the
 * message. Messages are for people and say what failed and why, without a final full stop or line
 * breaks. Longer ones are truncated.
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
	ERR_LATER,       // not possible now, but soon
};

struct err {
	enum err_code code;
	char text[512];
};

bool err_set(struct err *err, enum err_code code, const char *fmt, ...) ATTR_PRINTF(3, 4);
bool err_add(struct err *err, const char *fmt, ...) ATTR_PRINTF(2, 3);

#define err_format(err, ...)      err_set((err), ERR_FORMAT, __VA_ARGS__)
#define err_unsupported(err, ...) err_set((err), ERR_UNSUPPORTED, __VA_ARGS__)
#define err_limit(err, ...)       err_set((err), ERR_LIMIT, __VA_ARGS__)
#define err_not_found(err, ...)   err_set((err), ERR_NOT_FOUND, __VA_ARGS__)
#define err_failed(err, ...)      err_set((err), ERR_SYSTEM, __VA_ARGS__)
#define err_usage(err, ...)       err_set((err), ERR_USAGE, __VA_ARGS__)

/** Like err_set with ERR_SYSTEM; appends ": " and the text of `errnum`. */
bool err_system(struct err *err, int errnum, const char *fmt, ...) ATTR_PRINTF(3, 4);

/** ERR_MEMORY, "out of memory". The other returns NULL. */
bool err_memory(struct err *err);
static inline void *err_memory_null(struct err *err) {
	(void)err_memory(err);
	return NULL;
}

// ---- memory
//
// Without memory_must, callers get NULL or false for lack of memory: beside a stopped process, code
// must go on with less. Programs that answer or record call memory_must first, since an answer or a
// recording is useless without its memory: their code never gets NULL, and the process ends with a
// message.

/**
 * From now on, a lack of memory prints "PROGRAM: out of memory" and ends the process with this
 * status. Applies to arenas, growing arrays, indexes, buffers and memory_new; but an arena at its
 * max_bytes still returns NULL. Call from one thread, before others need memory.
 */
void memory_must(const char *program, int status);

/** The same, but `end` ends the process, on any thread. NULL: callers get NULL again. */
void memory_must_or(void (*end)(void *user), void *user);

/** Call for lack of memory. Returns NULL, or after memory_must does not return. */
ATTR_COLD void *memory_lacks(void);

/** As calloc, but may end the process. Freed by the caller. */
void *memory_new(size_t n, size_t size);

// ---- assertions about our own code
//
// If check(cond) fails, the process prints where and aborts. Never use it on input. Enabled in all
// builds, so use it on rare paths, not in inner loops.

#define check(cond) ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))

ATTR_NORETURN ATTR_COLD void check_failed(const char *cond, const char *file, int line);
