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
 * JSON_OBJECT(&j, "totals") and JSON_LIST are closed where the block ends that they stand in.
 */

#include "base/buffer.h"

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
static inline void json_close_at(struct json *const *j) {
	json_close(*j);
}

void json_number(struct json *j, const char *key, uint64_t v);
/** Fields that are numbers, under their own names: JSON_FIELDS(j, costs, bytes, blocks). */
#define JSON_FIELD(j, of, field) json_number((j), #field, (of)->field)
#define JSON_FIELDS(j, of, ...)  FOR_FIELDS(JSON_FIELD, j, of, __VA_ARGS__)
void json_signed(struct json *j, const char *key, int64_t v);
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);

/** Null if it is not known, or empty. */
void json_number_if(struct json *j, const char *key, bool is_known, uint64_t v);
void json_string_if(struct json *j, const char *key, struct slice text);

void json_string(struct json *j, const char *key, struct slice text);
void json_text(struct json *j, const char *key, const char *text); // NULL: null

/** One or more items that were written earlier, with their commas: for frequent items. */
void json_raw(struct json *j, struct slice items);
