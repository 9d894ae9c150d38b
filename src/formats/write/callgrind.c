// SPDX-License-Identifier: MIT
/*
 * Writes a profile in valgrind's callgrind format: functions with own costs per line, and calls
 * between functions with inclusive costs. A stack adds to the own cost of its innermost function,
 * and once to each distinct call on it, despite recursion. A comparison's base has its own events.
 */
#include "formats/write/text.h"

static const char *const event_names[N_PROFILE_VALUES] = {
		[PROFILE_PEAK_BYTES] = "PeakBytes",
		[PROFILE_LIVE_BYTES] = "NeverFreedBytes",
		[PROFILE_ALLOC_BYTES] = "AllocatedBytes",
		[PROFILE_ALLOC_OBJECTS] = "Allocations",
		[PROFILE_TEMPORARY] = "Temporary",
};

struct cost { // of `function` itself at a line (callee 0), or of a call there
	uint32_t function, line, callee;
	uint32_t last_stack; // + 1: the last stack added
	uint64_t calls;
	uint64_t values[2 * N_PROFILE_VALUES];
};

struct document {
	struct buffer *out;
	const struct profile *p;
	struct arena scratch;
	enum profile_value columns[N_PROFILE_VALUES];
	unsigned n_columns;
	struct index cost_ids;
	struct profile_functions functions;
	uint8_t *is_written; // per function
	VEC(struct cost) costs;
};

static struct cost *find_cost(struct document *d, uint32_t frame, uint32_t callee) {
	uint32_t function = d->functions.of_frame[frame], line = d->p->frames.items[frame].line;
	const uint32_t hash = hash_pair(hash_pair(function, line), callee);
	uint32_t id = VEC_FIND_OR_ADD(&d->cost_ids, &d->costs, hash, c,
			c->function == function && c->line == line && c->callee == callee,
			(struct cost){.function = function, .line = line, .callee = callee});
	return &d->costs.items[id];
}

static void add(struct document *d, struct cost *c, uint32_t sample) {
	const struct profile_sample *s = &d->p->samples.items[sample];
	if (c->last_stack == sample + 1) {
		return;
	}
	c->last_stack = sample + 1;
	c->calls += s->values[PROFILE_ALLOC_OBJECTS];
	for (unsigned i = 0; i < d->n_columns; i++) {
		unsigned column = s->is_base ? d->n_columns + i : i;
		c->values[column] += s->values[d->columns[i]];
	}
}

static void add_stack(struct document *d, uint32_t sample) {
	const struct profile_node *nodes = d->p->nodes.items;
	uint32_t node = d->p->samples.items[sample].node;
	if (node == 0) {
		return;
	}
	add(d, find_cost(d, nodes[node].frame, 0), sample);
	for (; nodes[node].parent; node = nodes[node].parent) {
		uint32_t caller = nodes[nodes[node].parent].frame;
		add(d, find_cost(d, caller, d->functions.of_frame[nodes[node].frame]), sample);
	}
}

ORDER_OF(by_function, struct cost, LOWEST(function) ?: LOWEST(callee) ?: LOWEST(line));

/** Names are written once: "fn=(3) main", then "fn=(3)". A function shares its file's number. */
static void put_function(struct document *d, const char *file_key, const char *key, uint32_t id) {
	const struct profile_frame *f = &d->p->frames.items[d->functions.frame[id]];
	buffer_printf(d->out, "%s=(%u)", file_key, id);
	if (!d->is_written[id]) {
		buffer_u8(d->out, ' ');
		struct slice file = profile_text(d->p, f->file);
		put_plain(d->out, file.size ? file : slice_of_text("???"), "");
	}
	buffer_printf(d->out, "\n%s=(%u)", key, id);
	if (!d->is_written[id]) {
		buffer_u8(d->out, ' ');
		put_plain(d->out, frame_function(d->p, d->functions.frame[id]), "");
	}
	buffer_u8(d->out, '\n');
	d->is_written[id] = 1;
}

static void put_values(struct document *d, uint32_t line, const uint64_t *values) {
	buffer_printf(d->out, "%u", line);
	for (unsigned i = 0; i < d->n_columns * (d->p->is_diff ? 2 : 1); i++) {
		buffer_printf(d->out, " %" PRIu64, values[i]);
	}
	buffer_u8(d->out, '\n');
}

static void put_head(struct document *d) {
	buffer_text(d->out,
			"# callgrind format\nversion: 1\ncreator: heaptrack-" HEAPTRACK_VERSION "\ncmd: ");
	put_plain(d->out, profile_text(d->p, d->p->command ? d->p->command : d->p->program), "");
	buffer_text(d->out, "\npositions: line\nevents:");
	for (int side = 0; side < (d->p->is_diff ? 2 : 1); side++) {
		for (unsigned i = 0; i < d->n_columns; i++) {
			buffer_printf(d->out, " %s%s", side ? "Base" : "", event_names[d->columns[i]]);
		}
	}
	buffer_text(d->out, "\nsummary:");
	for (int side = 0; side < (d->p->is_diff ? 2 : 1); side++) {
		for (unsigned i = 0; i < d->n_columns; i++) {
			buffer_printf(d->out, " %" PRIu64, profile_total(d->p, d->columns[i], side));
		}
	}
	buffer_text(d->out, "\n\n");
}

static void put_costs(struct document *d) {
	uint32_t function = 0;
	EACH(c, d->costs) {
		if (c->function != function) {
			buffer_text(d->out, function ? "\n" : "");
			put_function(d, "fl", "fn", c->function);
			function = c->function;
		}
		if (c->callee) {
			put_function(d, "cfi", "cfn", c->callee);
			buffer_printf(d->out, "calls=%" PRIu64 " %u\n", c->calls ? c->calls : 1,
					d->p->frames.items[d->functions.frame[c->callee]].line);
		}
		put_values(d, c->line, c->values);
	}
}

bool callgrind_encode(struct buffer *out, const struct profile *p,
		const struct write_options *options, struct err *err) {
	(void)err;
	struct document d = {.out = out, .p = p};
	d.n_columns = profile_views(p, options->shown, d.columns);
	d.is_written = arena_new(&d.scratch, uint8_t, p->frames.n + 1ul);
	profile_find_functions(p, PROFILE_BY_FILE, &d.scratch, &d.functions);
	for (uint32_t i = 0; i < p->samples.n; i++) {
		add_stack(&d, i);
	}
	vec_sort(&d.costs, by_function);
	put_head(&d);
	put_costs(&d);
	vec_finish(&d.costs);
	index_finish(&d.cost_ids);
	arena_finish(&d.scratch);
	return true;
}
