// SPDX-License-Identifier: MIT
#pragma once

#include "base/attr.h"

#include <stdbool.h>

/**
 * What went wrong in the world, as one sentence that grows on its way up. A function that can fail
 * returns false and fills `err`; whoever adds knowledge prepends it:
 *
 *   err_set(err, ERR_FORMAT, "stack %u is undefined", id)          "stack 99 is undefined"
 *   err_add(err, "block %d", 12)                          "block 12: stack 99 is undefined"
 *
 * Both return false, so that `return err_set(...)` reads well. `err` may be NULL where the
 * caller does not care. Messages are for people: what was wrong, with what; no trailing stop,
 * no line ends. Longer ones are cut.
 */
enum err_code {
	ERR_NONE = 0,
	ERR_FORMAT,      // bytes that are not what they should be
	ERR_SYSTEM,      // the system refused; errno's text is in the message
	ERR_NOT_FOUND,   // nothing of that name
	ERR_UNSUPPORTED, // we know what it is and cannot do it
	ERR_LIMIT,       // larger than we accept
	ERR_MEMORY,      // an allocation failed
	ERR_USAGE,       // what was asked for makes no sense
};

struct err {
	enum err_code code;
	char text[512];
};

bool err_set(struct err *err, enum err_code code, const char *fmt, ...) ATTR_PRINTF(3, 4);
bool err_add(struct err *err, const char *fmt, ...) ATTR_PRINTF(2, 3);

/** Like err_set with ERR_SYSTEM; ": " and the text of `errnum` are appended. */
bool err_system(struct err *err, int errnum, const char *fmt, ...) ATTR_PRINTF(3, 4);

/** ERR_MEMORY, "out of memory". */
bool err_memory(struct err *err);
