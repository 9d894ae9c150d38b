// SPDX-License-Identifier: MIT
/* Compares words by the number of typing errors between them. */
#include "base/nearest.h"

enum { NAME_MAX_BYTES = 64 };

/** How many letters have to be changed, left out, put in, or exchanged with their neighbour. */
static unsigned distance(struct slice a, struct slice b) {
	unsigned rows[3][NAME_MAX_BYTES + 1];
	for (size_t k = 0; k <= b.size; k++) {
		rows[0][k] = (unsigned)k;
	}
	for (size_t i = 1; i <= a.size; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
		row[0] = (unsigned)i;
		for (size_t k = 1; k <= b.size; k++) {
			unsigned least = above[k - 1] + (a.data[i - 1] != b.data[k - 1]);
			least = above[k] + 1 < least ? above[k] + 1 : least;
			least = row[k - 1] + 1 < least ? row[k - 1] + 1 : least;
			if (i > 1 && k > 1 && a.data[i - 1] == b.data[k - 2] &&
					a.data[i - 2] == b.data[k - 1] && two_above[k - 2] + 1 < least) {
				least = two_above[k - 2] + 1;
			}
			row[k] = least;
		}
	}
	return rows[a.size % 3][b.size];
}

struct nearest nearest_init(struct slice word) {
	return (struct nearest){.word = word, .least = (unsigned)(word.size / 3) + 1};
}

void nearest_try(struct nearest *n, const char *name) {
	struct slice text = slice_of_text(name);
	if (n->word.size > NAME_MAX_BYTES || text.size > NAME_MAX_BYTES) {
		return;
	}
	unsigned d = distance(n->word, text);
	if (d < n->least) {
		n->least = d;
		n->name = name;
	}
}
