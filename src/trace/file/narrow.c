// SPDX-License-Identifier: MIT
/* Leaves out what a file that may not grow has no room for. */
#include "trace/file/narrow.h"

static void cut_string(uint32_t *id, const struct recording *r) {
	*id = *id < r->strings.n ? *id : 0;
}

static void cut_strings(struct recording *r) {
	struct rec_meta *m = &r->meta;
	cut_string(&m->exe, r);
	cut_string(&m->cwd, r);
	cut_string(&m->host, r);
	cut_string(&m->version, r);
	cut_string(&m->called, r);
	if ((uint64_t)m->argv_first + m->n_argv > r->strings.n) {
		m->argv_first = m->n_argv = 0;
	}
	for (uint32_t i = 0; i < r->modules.n; i++) {
		cut_string(&r->modules.items[i].path, r);
		cut_string(&r->modules.items[i].package, r);
		cut_string(&r->modules.items[i].suppressions, r);
	}
	for (uint32_t i = 0; i < r->threads.n; i++) {
		cut_string(&r->threads.items[i].name, r);
	}
	for (uint32_t i = 0; i < r->children.n; i++) {
		cut_string(&r->children.items[i].name, r);
		cut_string(&r->children.items[i].exe, r);
	}
	for (uint32_t i = 0; i < r->images.n; i++) {
		cut_string(&r->images.items[i].exe, r);
	}
	for (uint32_t i = 0; i < r->marks.n; i++) {
		cut_string(&r->marks.items[i].name, r);
	}
	for (uint32_t i = 0; i < r->allocators.n; i++) {
		cut_string(&r->allocators.items[i].module, r);
		cut_string(&r->allocators.items[i].functions, r);
		cut_string(&r->allocators.items[i].why, r);
	}
	for (uint32_t i = 0; i < r->parts.n; i++) {
		cut_string(&r->parts.items[i].name, r);
	}
}

static void to_log(struct recording *r, const struct counts_row *log) {
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		uint32_t *node = &r->stacks.items[i].node;
		while (*node >= log->nodes) {
			*node = r->nodes.items[*node].parent;
		}
	}
	for (uint32_t i = 0; i < r->mappings.n; i++) {
		uint32_t *node = &r->mappings.items[i].node;
		while (*node >= log->nodes) {
			*node = r->nodes.items[*node].parent;
		}
	}
	r->nodes.n = log->nodes;
	r->locations.n = log->locations;
	r->frames.n = log->frames;
	r->strings.n = log->strings;
	cut_strings(r);
}

static void to_totals(struct recording *r) {
	if (r->stacks.n > 0) {
		struct rec_stack *sum = &r->stacks.items[0];
		for (uint32_t i = 1; i < r->stacks.n; i++) {
			rec_stack_add(sum, &r->stacks.items[i]);
		}
		for (uint32_t i = 1; i < r->lifetimes.n; i++) {
			rec_lifetimes_add(&r->lifetimes.items[0], &r->lifetimes.items[i]);
		}
		sum->node = sum->thread = 0;
		r->stacks.n = 1;
		r->lifetimes.n = r->lifetimes.n ? 1 : 0;
	}
	r->threads.n = r->threads.n ? 1 : 0;
	r->children.n = r->marks.n = 0;
}

void narrow(struct recording *r, const struct counts_row *log, enum narrow_level level) {
	switch (level) {
	case NARROW_TO_LOG: to_log(r, log); return;
	case NARROW_TO_STACKS:
		r->mapping_edges.n = r->mapping_intervals.n = r->ranges.n = r->mappings.n = 0;
		r->untouched.n = 0;
		for (uint32_t i = 0; i < r->parts.n; i++) {
			r->parts.items[i].mapping = 0;
		}
		r->edges.n = r->curve.n = r->intervals.n = r->sizes.n = r->handovers.n = r->samples.n = 0;
		return;
	case NARROW_TO_TOTALS: to_totals(r); return;
	case N_NARROW_LEVELS: return;
	}
}
