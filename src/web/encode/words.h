// SPDX-License-Identifier: MIT
#pragma once

/** Texts, each kept once and known by its number. Number 0 is the empty text. */

#include "base/buffer.h"
#include "base/index.h"

struct words {
	struct slice *items;
	size_t n, capacity;
	struct index index;
	bool failed;
};

/** Borrows `s` until words_finish. No memory: sets `failed`, gives 0. */
uint32_t words_add(struct words *t, struct slice s);

/** The table of the blob: how many, the length of each, then all of them without a gap. */
void words_write(const struct words *t, struct buffer *out);

void words_finish(struct words *t);
