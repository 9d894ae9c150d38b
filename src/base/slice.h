// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Bytes with their length, borrowed. Text in a slice is not zero terminated. */
struct slice {
	const uint8_t *data;
	size_t size;
};

static inline struct slice slice_of(const void *data, size_t size) {
	return (struct slice){data, size};
}

static inline struct slice slice_of_text(const char *text) {
	return (struct slice){(const uint8_t *)text, strlen(text)};
}

static inline bool slice_equal(struct slice a, struct slice b) {
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/** For printf's "%.*s". */
#define SLICE_ARG(s) (int)(s).size, (const char *)(s).data
