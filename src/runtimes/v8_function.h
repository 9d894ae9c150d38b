// SPDX-License-Identifier: MIT
#pragma once
/** Functions and scripts of V8's heap: names, and lines of positions in the source. */

#include "runtimes/v8_heap.h"

enum v8_name_from {
	V8_UNNAMED,
	V8_NAME,     // the function's own
	V8_INFERRED, // by the compiler, from what it is assigned to
	V8_SOURCE,   // by us, from what stands before it in the source
};

struct v8_shared {
	uint64_t object; // SharedFunctionInfo
	uint64_t script; // 0: a function without source
	int32_t start;   // position of its parameters; -1: not known
	int32_t end;     // of its body; less than the start: not known
};

/** What a SharedFunctionInfo, or a function, refers to. False: it is none. */
bool v8_shared_of(struct v8_heap *h, uint64_t object, struct v8_shared *out);
bool v8_shared_of_function(struct v8_heap *h, uint64_t function, struct v8_shared *out);

/** The function's name as UTF-8, in `out`, which is emptied first. */
enum v8_name_from v8_function_name(struct v8_heap *h, const struct v8_shared *s,
		struct buffer *out);

/** The file of a function as UTF-8; none for code that has none, such as eval's. */
bool v8_script_name(struct v8_heap *h, uint64_t script, struct buffer *out);

/**
 * The number of a script among the heap's, of which the ends of its lines are known from then on.
 * -1: it cannot be read.
 */
int32_t v8_script_of(struct v8_heap *h, uint64_t script);

/** The line, from 1, of a position in its source. 0: not known. */
uint32_t v8_script_line(const struct v8_heap *h, int32_t script, int32_t position);
