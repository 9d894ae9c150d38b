// SPDX-License-Identifier: MIT
#pragma once
/**
 * Reads words, objects and strings of V8's heap in the memory of another process.
 *
 * Nothing that is read is trusted: it may have moved, or never have been what it seems. All readers
 * are bounded and give up instead of going in circles: a heap spends at most `steps` reads.
 */

#include "base/slice.h"
#include "base/vec.h"
#include "runtimes/v8_layout.h"

/** Where bytes come from: a process, an excerpt, an image in a test. */
struct v8_memory {
	/** All `n` bytes, or false. */
	bool (*read)(void *context, uint64_t address, void *out, size_t n);
	void *context;
};

/** The ends of a script's lines, as far as its source could be read. */
struct v8_script {
	uint64_t id; // with the isolate's number
	int32_t first_line;
	uint32_t n_read; // characters of the source
	VEC(uint32_t) ends;
};

/** To be finished. */
struct v8_heap {
	const struct v8_layout *layout;
	struct v8_memory memory;
	uint32_t steps;    // reads that are left
	bool has_failed;   // a read has, since this was last cleared
	uint32_t isolate;  // whose objects are read; numbers of scripts are its own
	uint64_t code_map; // the first word of all Code objects, once one was found; else 0
	VEC(struct v8_script) scripts;
	VEC(uint64_t) copies; // where the code of builtins has been copied to
};

void v8_heap_finish(struct v8_heap *h);

/** `n` bytes at an address. False: they cannot be read, or the steps are used up. */
bool v8_bytes(struct v8_heap *h, uint64_t address, void *out, size_t n);

/** Does the word look like a pointer to an object, and not like a number? */
bool v8_is_object(uint64_t word);

/** The number that a word holds. False: it is a pointer. */
bool v8_is_number(uint64_t word, int32_t *number);

/** A field of an object: as a word, as a 32-bit number, as the number that a word holds. */
bool v8_word(struct v8_heap *h, uint64_t object, int64_t offset, uint64_t *out);
bool v8_int(struct v8_heap *h, uint64_t object, int64_t offset, int32_t *out);
bool v8_number(struct v8_heap *h, uint64_t object, int64_t offset, int32_t *out);

/** An element of an array, weak or not. False as well: beyond its length. */
bool v8_element(struct v8_heap *h, uint64_t array, int64_t index, uint64_t *out);

/** All `n` bytes at an address, and what an array of bytes holds, if at most `max` bytes. */
bool v8_append(struct v8_heap *h, uint64_t address, uint32_t n, struct buffer *out);
bool v8_byte_array(struct v8_heap *h, uint64_t array, int32_t max, struct buffer *out);

/**
 * The instance type of an object. One that was moved while its old copy is still looked at is
 * followed: `*object` is then its new place.
 */
bool v8_type(struct v8_heap *h, uint64_t *object, int32_t *type);
bool v8_is_type(struct v8_heap *h, uint64_t *object, int32_t type);

/** Characters that stand in one piece. */
struct v8_chars {
	uint64_t at;
	uint32_t n;
	uint32_t width; // 1: Latin-1, 2: UTF-16
};

/** False: no string, or one in several pieces. */
bool v8_string_chars(struct v8_heap *h, uint64_t string, struct v8_chars *out);

/** A character of it, from a window that is moved as needed. Zero it to begin. */
struct v8_window {
	uint8_t bytes[1024];
	uint32_t first, n; // characters
};
bool v8_char(struct v8_heap *h, const struct v8_chars *c, struct v8_window *w, uint32_t index,
		uint32_t *out);

/** A string as UTF-8, up to about `max` bytes. False: no string. Some of it may then be there. */
bool v8_string(struct v8_heap *h, uint64_t string, size_t max, struct buffer *out);
