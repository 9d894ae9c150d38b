// SPDX-License-Identifier: MIT
/* Reads JSON value by value, checking its syntax on the way. */
#include "base/json.h"
#include "base/text.h"

static void fail(struct json_reader *j) {
	j->failed = true;
	j->at = j->end;
}

void json_reader_init(struct json_reader *j, struct slice bytes) {
	*j = (struct json_reader){
			.start = bytes.data,
			.at = bytes.data,
			.end = bytes.data + bytes.size,
	};
}

void json_reader_finish(struct json_reader *j) {
	CALL_FOR(buffer_finish, j, key_text, value_text);
}

static uint8_t look(struct json_reader *j) {
	while (j->at < j->end &&
			(*j->at == ' ' || *j->at == '\n' || *j->at == '\r' || *j->at == '\t')) {
		j->at++;
	}
	return j->at < j->end ? *j->at : 0;
}

static bool take(struct json_reader *j, uint8_t c) {
	if (look(j) != c || j->at == j->end) {
		return false;
	}
	j->at++;
	return true;
}

void json_enter(struct json_reader *j, char kind) {
	if (!take(j, (uint8_t)kind) || j->depth == JSON_READ_DEPTH) {
		fail(j);
		return;
	}
	j->closer[j->depth++] = kind == '{' ? '}' : ']';
	j->has_items = false;
}

// ---- texts

static bool take_hex(struct json_reader *j, uint32_t *out) {
	*out = 0;
	for (int i = 0; i < 4; i++) {
		int digit = j->at < j->end ? hex_digit(*j->at++) : -1;
		if (digit < 0) {
			return false;
		}
		*out = *out << 4 | (uint32_t)digit;
	}
	return true;
}

/** After "\u". An unpaired surrogate becomes U+FFFD. */
static bool take_unicode(struct json_reader *j, struct buffer *out) {
	uint32_t c, low;
	if (!take_hex(j, &c)) {
		return false;
	}
	if (c >= 0xd800 && c < 0xdc00 && j->end - j->at >= 6 && j->at[0] == '\\' && j->at[1] == 'u') {
		const uint8_t *before = j->at;
		j->at += 2;
		if (!take_hex(j, &low)) {
			return false;
		}
		if (low >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		} else {
			j->at = before;
		}
	}
	buffer_utf8(out, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	return true;
}

static bool take_escape(struct json_reader *j, struct buffer *out) {
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	uint8_t c = j->at < j->end ? *j->at++ : 0;
	const char *known = c ? strchr(names, c) : NULL;
	if (known) {
		buffer_u8(out, (uint8_t)values[known - names]);
	}
	return known || (c == 'u' && take_unicode(j, out));
}

/** Texts without escapes are borrowed from the input. */
static struct slice take_string(struct json_reader *j, struct buffer *store) {
	if (!take(j, '"')) {
		fail(j);
		return (struct slice){0};
	}
	const uint8_t *first = j->at;
	bool has_escapes = false;
	buffer_clear(store);
	while (j->at < j->end && *j->at != '"') {
		uint8_t c = *j->at++;
		if (c == '\\') {
			if (!has_escapes) {
				buffer_bytes(store, first, (size_t)(j->at - 1 - first));
				has_escapes = true;
			}
			if (!take_escape(j, store)) {
				fail(j);
			}
		} else if (c < ' ') {
			fail(j);
		} else if (has_escapes) {
			buffer_u8(store, c);
		}
	}
	if (j->at == j->end || store->failed) {
		fail(j);
		return (struct slice){0};
	}
	struct slice plain = slice_of(first, (size_t)(j->at - first));
	j->at++;
	return has_escapes ? buffer_view(store) : plain;
}

struct slice json_take_text(struct json_reader *j) {
	return take_string(j, &j->value_text);
}

// ---- items

bool json_next(struct json_reader *j) {
	if (j->failed || j->depth == 0) {
		return false;
	}
	uint8_t closer = j->closer[j->depth - 1];
	if (take(j, closer)) {
		j->depth--;
		j->has_items = true; // of the outer bracket, of which this was an item
		return false;
	}
	if (j->has_items && !take(j, ',')) {
		fail(j);
		return false;
	}
	j->has_items = true;
	if (closer == '}') {
		j->key = take_string(j, &j->key_text);
		if (!take(j, ':')) {
			fail(j);
		}
	}
	if (look(j) == closer || j->at == j->end) { // nothing after a comma or a colon
		fail(j);
	}
	return !j->failed;
}

bool json_key_is(const struct json_reader *j, const char *key) {
	return slice_is(j->key, key);
}

char json_peek(struct json_reader *j) {
	uint8_t c = look(j);
	return c == '-' || (c >= '0' && c <= '9') ? '0' : (char)c;
}

// ---- numbers and words

struct number {
	bool is_negative, is_integer;
	uint64_t whole; // saturated
	double value;   // without the sign
};

static bool at_digit(const struct json_reader *j) {
	return j->at < j->end && *j->at >= '0' && *j->at <= '9';
}

static bool is_at(struct json_reader *j, char a, char b) {
	return j->at < j->end && (*j->at == a || *j->at == b);
}

static void take_exponent(struct json_reader *j, struct number *n) {
	j->at++;
	bool is_negative = is_at(j, '-', '-');
	j->at += is_at(j, '-', '+');
	int exponent = 0;
	if (!at_digit(j)) {
		fail(j);
	}
	for (; at_digit(j); j->at++) {
		exponent = exponent < 1000 ? exponent * 10 + (*j->at - '0') : exponent;
	}
	for (; exponent > 0; exponent--) {
		n->value = is_negative ? n->value / 10 : n->value * 10;
	}
	n->is_integer = false;
}

static struct number take_any_number(struct json_reader *j) {
	struct number n = {.is_integer = true};
	(void)look(j);
	n.is_negative = is_at(j, '-', '-');
	j->at += n.is_negative;
	if (!at_digit(j)) {
		fail(j);
	}
	struct slice digits = slice_of(j->at, (size_t)(j->end - j->at)), rest = digits;
	(void)take_fraction(&rest, &n.value);
	const size_t size = digits.size - rest.size;
	n.is_integer = !size || !memchr(digits.data, '.', size);
	j->at = rest.data;
	if (size > 1 && ((*digits.data == '0' && is_digit(digits.data[1])) || rest.data[-1] == '.')) {
		fail(j);
	}
	n.whole = take_decimal(&digits, &n.whole) ? n.whole : UINT64_MAX;
	if (is_at(j, 'e', 'E')) {
		take_exponent(j, &n);
	}
	if (!n.is_integer) {
		n.whole = n.value >= 1.8e19 ? UINT64_MAX : (uint64_t)n.value;
	}
	return j->failed ? (struct number){0} : n;
}

int64_t json_take_signed(struct json_reader *j) {
	struct number n = take_any_number(j);
	int64_t v = n.whole > INT64_MAX ? INT64_MAX : (int64_t)n.whole;
	return n.is_negative ? -v : v;
}

uint64_t json_take_number(struct json_reader *j) {
	struct number n = take_any_number(j);
	return n.is_negative ? 0 : n.whole;
}

static bool take_word(struct json_reader *j, const char *word) {
	size_t n = strlen(word);
	(void)look(j);
	if ((size_t)(j->end - j->at) < n || memcmp(j->at, word, n) != 0) {
		return false;
	}
	j->at += n;
	return true;
}

bool json_take_bool(struct json_reader *j) {
	if (take_word(j, "true")) {
		return true;
	}
	if (!take_word(j, "false")) {
		fail(j);
	}
	return false;
}

static void skip_scalar(struct json_reader *j) {
	char c = json_peek(j);
	if (c == '"') {
		(void)json_take_text(j);
	} else if (c == '0') {
		(void)take_any_number(j);
	} else if (!take_word(j, "null")) {
		(void)json_take_bool(j);
	}
}

void json_skip(struct json_reader *j) {
	unsigned depth = j->depth;
	do {
		char c = json_peek(j);
		if (c == '{' || c == '[') {
			json_enter(j, c);
		} else {
			skip_scalar(j);
		}
		// To the next value, leaving brackets that end here
		while (!j->failed && j->depth > depth && !json_next(j)) {}
	} while (!j->failed && j->depth > depth);
}
