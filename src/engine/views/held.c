// SPDX-License-Identifier: MIT
/*
 * What holds live blocks, as call stacks, so that every view of stacks shows it: "insert() called
 * by table() called by g_cache" are insert()'s blocks, to which table()'s blocks lead, which
 * g_cache holds. A site's frame is the one that names it.
 */
#include "engine/memory.h"

/** Grow a table of the recording by as many rows as there are holders. */
#define MAKE_ROOM(table)                                                       \
	(r->table.items = memcpy(arena_alloc(&r->arena, r->table.n + r->holders.n, \
									 sizeof *r->table.items),                  \
			 r->table.items, r->table.n * sizeof *r->table.items))

/** A location with the one frame that names a stack, or an empty one. */
static struct rec_location place_of(const struct recording *r, const struct names *n,
		uint32_t node) {
	const struct name *site = names_site(n, node);
	const struct name *frame = site ? names_site_frame(n, node, site) : NULL;
	for (; frame && node != 0; node = r->nodes.items[node].parent) {
		const struct name_list list = names_of(n, r->nodes.items[node].location);
		if (frame >= list.items && frame < list.items + list.n) {
			struct rec_location place = r->locations.items[r->nodes.items[node].location];
			place.first_frame += (uint32_t)(frame - list.items);
			place.n_frames = place.n_frames > 0;
			return place;
		}
	}
	return (struct rec_location){0};
}

/** A location that has only a name, and perhaps a line. */
static struct rec_location place_called(struct recording *r, const struct rec_holder *h) {
	r->frames.items[r->frames.n] = (struct rec_frame){.function = h->name,
			FIELDS_OF(h, file, line)};
	return (struct rec_location){.first_frame = (uint32_t)r->frames.n++, .n_frames = 1};
}

void held_add_stacks(struct recording *r, const struct names *n) {
	MAKE_ROOM(frames);
	MAKE_ROOM(locations);
	MAKE_ROOM(nodes);
	EACH(h, r->holders) {
		const uint32_t maker = h->mapping ? r->mappings.items[h->mapping - 1].node : 0;
		const struct rec_location place = h->kind == REC_HOLDER_BLOCKS
				? place_of(r, n, r->stacks.items[h->stack].node)
				: maker ? place_of(r, n, maker)
						: place_called(r, h);
		r->locations.items[r->locations.n] = place;
		r->nodes.items[r->nodes.n] = (struct rec_node){.parent = h->above
						? r->holders.items[h->above - 1].node
						: 0,
				.location = (uint32_t)r->locations.n++};
		h->node = (uint32_t)r->nodes.n++;
	}
}
