// SPDX-License-Identifier: MIT
#pragma once
/**
 * A streaming JSON writer: it adds commas and escapes, and the caller balances brackets. Text is
 * UTF-8; invalid bytes become U+FFFD, so the output always parses. Numbers are decimal integers. In
 * an object pass the key, in an array NULL.
 *
 *   struct json j = json_init(&out);
 *   json_open(&j, NULL, '{');  json_number(&j, "bytes", 12);  json_close(&j);
 *
 * JSON_OBJECT(&j, "totals") and JSON_LIST are closed at the end of the block, as is
 * JSON_DOCUMENT(&j), the object of a whole document, which ends with a newline.
 */

#include "base/slice.h"

enum { JSON_DEPTH = 32 };
struct json {
	struct buffer *out;
	unsigned depth;
	bool has_item[JSON_DEPTH];
	char closer[JSON_DEPTH];
};

struct json json_init(struct buffer *out);

/** `kind`: '{' or '['. */
void json_open(struct json *j, const char *key, char kind);
void json_close(struct json *j);

#define JSON_OBJECT(j, key)             JSON_OPENED((j), (key), '{', __LINE__)
#define JSON_LIST(j, key)               JSON_OPENED((j), (key), '[', __LINE__)
#define JSON_OPENED(j, key, kind, line) JSON_SCOPE(j, key, kind, line)
#define JSON_SCOPE(j, key, kind, line)    \
	SCOPED_BY(json_close_at)              \
	struct json *const json_##line = (j); \
	json_open(json_##line, key, kind)
#define JSON_DOCUMENT(j)                       \
	SCOPED_BY(json_end_at)                     \
	struct json *const json_document_at = (j); \
	json_open(json_document_at, NULL, '{')
static inline void json_close_at(struct json *const *j) {
	json_close(*j);
}
static inline void json_end_at(struct json *const *j) {
	json_close(*j);
	buffer_u8((*j)->out, '\n');
}

void json_number(struct json *j, const char *key, uint64_t v);
/** Fields as numbers under their own names: JSON_FIELDS(j, costs, bytes, blocks). */
#define JSON_FIELD(j, of, field) json_number((j), #field, (of)->field)
#define JSON_FIELDS(j, of, ...)  FOR_FIELDS(JSON_FIELD, j, of, __VA_ARGS__)
void json_signed(struct json *j, const char *key, int64_t v);
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);

/** Null if unknown or empty. */
void json_number_if(struct json *j, const char *key, bool is_known, uint64_t v);
void json_string_if(struct json *j, const char *key, struct slice text);

void json_string(struct json *j, const char *key, struct slice text);
void json_text(struct json *j, const char *key, const char *text); // NULL: null
/** Fields as texts, like JSON_FIELDS. */
#define JSON_TEXT(j, of, field) json_text((j), #field, (of)->field)
#define JSON_TEXTS(j, of, ...)  FOR_FIELDS(JSON_TEXT, j, of, __VA_ARGS__)

/** Items written earlier, with their commas: for frequent ones. */
void json_raw(struct json *j, struct slice items);

// ---- a reader of values in order, with a sticky error like a cursor's
//
// After a syntax error, or a value of another kind than requested, `failed` is set, no more items
// follow, and numbers and texts are 0 and empty. Builds no tree; the only memory used is one text.
// Numbers with a fraction are truncated; those beyond 64 bits are clamped.
//
//   JSON_EACH(&j, '{') {
//       if (json_key_is(&j, "bytes")) { bytes = json_take_number(&j); } else { json_skip(&j); }
//   }
//
// It loops over json_enter and json_next. Follow each json_next by exactly one json_take_*,
// json_skip, or json_enter and its loop to the end.

enum { JSON_READ_DEPTH = 2048 };

struct json_reader {
	const uint8_t *start, *at, *end;
	bool failed;
	unsigned depth;
	uint8_t closer[JSON_READ_DEPTH]; // of each open bracket
	bool has_items;                  // the innermost bracket has had an item
	struct slice key;
	struct buffer key_text, value_text; // of texts with escapes
};

void json_reader_init(struct json_reader *j, struct slice bytes);
void json_reader_finish(struct json_reader *j);

/** `kind`: '{' or '['. */
void json_enter(struct json_reader *j, char kind);

/** True: an item; in an object its key is j->key. False: the bracket closed, or failure. */
bool json_next(struct json_reader *j);
#define JSON_EACH(j, kind) for (json_enter((j), (kind)); json_next(j);)
bool json_key_is(const struct json_reader *j, const char *key);

/** The first byte of the next value: '{' '[' '"' 't' 'f' 'n', '0' for numbers; 0: none. */
char json_peek(struct json_reader *j);

uint64_t json_take_number(struct json_reader *j); // negative ones are 0
int64_t json_take_signed(struct json_reader *j);
bool json_take_bool(struct json_reader *j);

/** Decoded, as UTF-8; valid until the next text is taken. */
struct slice json_take_text(struct json_reader *j);

/** Skip the next value, of any depth. */
void json_skip(struct json_reader *j);
