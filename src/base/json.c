// SPDX-License-Identifier: MIT
/* Escapes text and places commas. */
#include "base/json.h"

#include "base/err.h"
#include "base/visible.h"

#include <inttypes.h>

struct json json_init(struct buffer *out) {
	return (struct json){.out = out};
}

static void escape(struct buffer *out, struct slice s) {
	buffer_u8(out, '"');
	while (s.size > 0) {
		size_t n = utf8_length(s);
		uint8_t c = s.data[0];
		if (n == 0) {
			buffer_text(out, "\xef\xbf\xbd");
			n = 1;
		} else if (c == '"' || c == '\\') {
			buffer_u8(out, '\\');
			buffer_u8(out, c);
		} else if (c < 0x20 || c == 0x7f) {
			buffer_printf(out, "\\u%04x", c);
		} else {
			buffer_bytes(out, s.data, n);
		}
		s = slice_from(s, n);
	}
	buffer_u8(out, '"');
}

static void begin_item(struct json *j, const char *key) {
	if (j->depth > 0) {
		bool *has_item = &j->has_item[j->depth - 1];
		if (*has_item) {
			buffer_u8(j->out, ',');
		}
		*has_item = true;
	}
	if (key) {
		escape(j->out, slice_of_text(key));
		buffer_u8(j->out, ':');
	}
}

void json_open(struct json *j, const char *key, char kind) {
	check(j->depth < JSON_DEPTH);
	begin_item(j, key);
	buffer_u8(j->out, (uint8_t)kind);
	j->closer[j->depth] = kind == '{' ? '}' : ']';
	j->has_item[j->depth++] = false;
}

void json_close(struct json *j) {
	check(j->depth > 0);
	buffer_u8(j->out, (uint8_t)j->closer[--j->depth]);
}

void json_number(struct json *j, const char *key, uint64_t v) {
	begin_item(j, key);
	buffer_printf(j->out, "%" PRIu64, v);
}

void json_signed(struct json *j, const char *key, int64_t v) {
	begin_item(j, key);
	buffer_printf(j->out, "%" PRId64, v);
}

void json_bool(struct json *j, const char *key, bool v) {
	begin_item(j, key);
	buffer_text(j->out, v ? "true" : "false");
}

void json_null(struct json *j, const char *key) {
	begin_item(j, key);
	buffer_text(j->out, "null");
}

void json_number_if(struct json *j, const char *key, bool is_known, uint64_t v) {
	if (is_known) {
		json_number(j, key, v);
	} else {
		json_null(j, key);
	}
}

void json_string(struct json *j, const char *key, struct slice text) {
	begin_item(j, key);
	escape(j->out, text);
}

void json_string_if(struct json *j, const char *key, struct slice text) {
	if (text.size) {
		json_string(j, key, text);
	} else {
		json_null(j, key);
	}
}

void json_text(struct json *j, const char *key, const char *text) {
	if (text) {
		json_string(j, key, slice_of_text(text));
	} else {
		json_null(j, key);
	}
}

void json_raw(struct json *j, struct slice items) {
	begin_item(j, NULL);
	buffer_slice(j->out, items);
}
