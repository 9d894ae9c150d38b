// SPDX-License-Identifier: MIT
/* Splits and joins trees of pieces. */
#include "engine/mappings/pieces.h"

/** Split `tree` at an address that no piece crosses. */
static void split(struct pieces *p, uint32_t tree, uint64_t at, uint32_t *below, uint32_t *above) {
	if (tree == PIECE_NONE) {
		*below = *above = PIECE_NONE;
	} else if (p->items[tree].start < at) {
		*below = tree;
		split(p, p->items[tree].right, at, &p->items[tree].right, above);
	} else {
		*above = tree;
		split(p, p->items[tree].left, at, below, &p->items[tree].left);
	}
}

/** All of `below` is below all of `above`. */
static uint32_t join(struct pieces *p, uint32_t below, uint32_t above) {
	if (below == PIECE_NONE || above == PIECE_NONE) {
		return below | above;
	}
	if (hash_u64(below) > hash_u64(above)) {
		p->items[below].right = join(p, p->items[below].right, above);
		return below;
	}
	p->items[above].left = join(p, below, p->items[above].left);
	return above;
}

uint32_t pieces_find(const struct pieces *p, uint64_t at) {
	uint32_t i = p->root;
	while (i != PIECE_NONE && (at < p->items[i].start || at >= p->items[i].end)) {
		i = at < p->items[i].start ? p->items[i].left : p->items[i].right;
	}
	return i;
}

void pieces_put_back(struct pieces *p, uint32_t tree) {
	uint32_t below, above, first = tree;
	if (tree == PIECE_NONE) {
		return;
	}
	while (p->items[first].left != PIECE_NONE) {
		first = p->items[first].left;
	}
	split(p, p->root, p->items[first].start, &below, &above);
	p->root = join(p, join(p, below, tree), above);
}

void pieces_put(struct pieces *p, const struct piece *piece) {
	uint32_t i = p->unused;
	if (i != PIECE_NONE) {
		p->unused = p->items[i].left;
	} else {
		i = (uint32_t)p->n;
		(void)(p->n < UINT32_MAX ? vec_push(p) : memory_lacks());
	}
	p->items[i] = *piece;
	p->items[i].left = p->items[i].right = PIECE_NONE;
	p->n_used++;
	pieces_put_back(p, i);
}

/** Cut the piece across this address, if any. */
static void cut(struct pieces *p, uint64_t at) {
	uint32_t i = pieces_find(p, at);
	if (i != PIECE_NONE && p->items[i].start < at) {
		struct piece rest = p->items[i];
		rest.start = p->items[i].end = at;
		pieces_put(p, &rest);
	}
}

uint32_t pieces_take(struct pieces *p, uint64_t start, uint64_t end) {
	uint32_t below, taken, above;
	if (p->root == PIECE_NONE) {
		return PIECE_NONE;
	}
	cut(p, start);
	cut(p, end);
	split(p, p->root, start, &below, &above);
	split(p, above, end, &taken, &above);
	p->root = join(p, below, above);
	return taken;
}

void pieces_give(struct pieces *p, uint32_t tree) {
	if (tree != PIECE_NONE) {
		struct piece *piece = &p->items[tree];
		pieces_give(p, piece->left);
		pieces_give(p, piece->right);
		piece->left = p->unused;
		p->unused = tree;
		p->n_used--;
	}
}

void pieces_walk(const struct pieces *p, uint32_t tree, void (*visit)(void *user, struct piece *),
		void *user) {
	if (tree != PIECE_NONE) {
		pieces_walk(p, p->items[tree].left, visit, user);
		visit(user, &p->items[tree]);
		pieces_walk(p, p->items[tree].right, visit, user);
	}
}

uint64_t pieces_next(const struct pieces *p, uint64_t at) {
	uint64_t next = UINT64_MAX;
	for (uint32_t i = p->root; i != PIECE_NONE;) {
		const struct piece *piece = &p->items[i];
		if (at >= piece->start && at < piece->end) {
			return piece->end;
		}
		next = at < piece->start ? piece->start : next;
		i = at < piece->start ? piece->left : piece->right;
	}
	return next;
}

void pieces_mend(struct pieces *p, uint64_t at) {
	uint32_t before = pieces_find(p, at - 1), i = pieces_find(p, at);
	if (i == PIECE_NONE || before == PIECE_NONE || i == before ||
			p->items[i].mapping != p->items[before].mapping ||
			p->items[i].sort != p->items[before].sort) {
		return;
	}
	uint64_t end = p->items[i].end;
	pieces_give(p, pieces_take(p, at, end));
	p->items[before].end = end;
}
