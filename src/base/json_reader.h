// SPDX-License-Identifier: MIT
#pragma once
/**
 * Reads values from JSON in order, with a sticky error like that of a cursor: after a syntax error,
 * or a value of another kind than requested, `failed` is set, no more items follow, and numbers and
 * texts are 0 and empty. No tree is built; the only memory used is one text. Numbers with a
 * fraction are truncated; those beyond 64 bits are clamped.
 *
 *   json_enter(&j, '{');
 *   while (json_next(&j)) {
 *       if (json_key_is(&j, "bytes")) { bytes = json_take_number(&j); } else { json_skip(&j); }
 *   }
 *
 * Each json_next is followed by exactly one json_take_*, json_skip, or json_enter and its loop to
 * the end.
 */

#include "base/buffer.h"

enum { JSON_READ_DEPTH = 2048 };

struct json_reader {
	const uint8_t *start, *at, *end;
	bool failed;
	unsigned depth;
	uint8_t closer[JSON_READ_DEPTH]; // of each open bracket: '}' or ']'
	bool has_items;                  // the innermost bracket gave an item already
	struct slice key;
	struct buffer key_text, value_text; // of texts with escapes
};

void json_reader_init(struct json_reader *j, struct slice bytes);
void json_reader_finish(struct json_reader *j);

/** `kind`: '{' or '['. */
void json_enter(struct json_reader *j, char kind);

/**
 * True: there is an item, in an object its key is in j->key. False: the bracket closed, or failed.
 */
bool json_next(struct json_reader *j);
bool json_key_is(const struct json_reader *j, const char *key);

/** The first byte of the next value: '{' '[' '"' 't' 'f' 'n', '0' for numbers; 0: none. */
char json_peek(struct json_reader *j);

uint64_t json_take_number(struct json_reader *j); // negative ones are 0
int64_t json_take_signed(struct json_reader *j);
double json_take_double(struct json_reader *j);
bool json_take_bool(struct json_reader *j);

/** Decoded, as UTF-8; valid until the next text is taken. */
struct slice json_take_text(struct json_reader *j);

/** Skip the next value, of any depth. */
void json_skip(struct json_reader *j);
