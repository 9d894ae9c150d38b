// SPDX-License-Identifier: MIT
/* Parses suppression rules, applies them by string, location and node. Rule numbers are + 1. */
#include "engine/suppress.h"

static const char built_in[] =
		// caches and registries that live as long as the process
		"leak:^__nss_module_allocate$\n"
		"leak:^__gconv_read_conf$\n"
		"leak:^__new_exitfn$\n"
		"leak:^tzset_internal$\n"
		"leak:^g_main_context_new$\n"
		"leak:^g_thread_self$\n";

bool suppression_matches(struct slice pattern, struct slice name) {
	if (pattern.size == 0 || name.size == 0) {
		return false;
	}
	bool at_start = pattern.data[0] == '^';
	bool at_end = pattern.size > 1 && pattern.data[pattern.size - 1] == '$';
	struct slice parts = slice_of(pattern.data + at_start, pattern.size - at_start - at_end);
	return slice_equal(pattern, name) ||
			(parts.size > 0 && has_parts(name, parts, at_start, at_end));
}

// ---- rules

static void add_line(struct suppressions *s, struct slice line, enum suppression_source source) {
	line = trimmed(line);
	if (line.size == 0 || line.data[0] == '#') {
		return;
	}
	struct slice pattern = line;
	if (!take_prefix(&pattern, "leak:") || pattern.size == 0) {
		buffer_printf(&s->complaints, "invalid suppression line: %.*s\n", SLICE_ARG(line));
		return;
	}
	const struct suppression rule = {
			.pattern = slice_of(arena_text(&s->arena, pattern), pattern.size),
			.source = source,
	};
	(void)vec_add(&s->rules, rule);
}

void suppressions_add(struct suppressions *s, struct slice text, enum suppression_source source) {
	for (struct slice line; next_line(&text, &line);) {
		add_line(s, line, source);
	}
}

void suppressions_add_built_in(struct suppressions *s) {
	suppressions_add(s, slice_of_text(built_in), SUPPRESSION_BUILT_IN);
}

void suppressions_finish(struct suppressions *s) {
	arena_finish(&s->arena);
	vec_finish(&s->rules);
	buffer_finish(&s->complaints);
}

// ---- applying

static uint32_t earlier(uint32_t a, uint32_t b) {
	return !a ? b : !b || a < b ? a : b;
}

static uint32_t rule_of_location(const struct recording *r, const struct rec_location *l,
		const uint32_t *of_string) {
	const struct rec_module *m = &r->modules.items[l->module];
	uint32_t path = l->module && r->strings.items[m->path].size == 0 ? r->meta.exe : m->path;
	uint32_t rule = l->module ? of_string[path] : 0;
	for (uint32_t i = 0; i < l->n_frames; i++) {
		const struct rec_frame *f = &r->frames.items[l->first_frame + i];
		rule = earlier(rule, of_string[f->function]);
		rule = earlier(rule, of_string[f->symbol]);
		rule = earlier(rule, of_string[f->file]);
	}
	return rule;
}

/** The rule of each node; NULL: no rule matches. */
static uint32_t *find_rules(const struct suppressions *s, const struct recording *r,
		struct arena *scratch) {
	uint32_t *of_string = arena_new(scratch, uint32_t, r->strings.n);
	uint32_t *of_location = arena_new(scratch, uint32_t, r->locations.n);
	uint32_t any = 0;
	for (uint32_t i = 1; i < r->strings.n; i++) {
		const struct suppression *rule = FIND_IN(x, s->rules,
				suppression_matches(x->pattern, r->strings.items[i]));
		of_string[i] = rule ? (uint32_t)(rule - s->rules.items) + 1 : 0;
	}
	for (uint32_t i = 1; i < r->locations.n; i++) {
		of_location[i] = rule_of_location(r, &r->locations.items[i], of_string);
		any |= of_location[i];
	}
	if (!any) {
		return NULL; // as in most recordings
	}
	uint32_t *of_node = arena_new(scratch, uint32_t, r->nodes.n);
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct rec_node *n = &r->nodes.items[i];
		of_node[i] = of_node[n->parent] ?: of_location[n->location];
	}
	return of_node;
}

/** Its live blocks count as freed at the very end. */
static void free_stack(struct recording *r, uint32_t stack, struct suppression *rule) {
	struct rec_stack *s = &r->stacks.items[stack];
	rule->n_stacks++;
	if (s->live_blocks) {
		r->suppressed.items[r->suppressed.n++] = (struct rec_suppressed){stack, s->live_blocks,
				s->live_bytes, s->left_bytes};
	}
	rule->blocks += s->live_blocks;
	rule->bytes += s->live_bytes;
	r->summary.frees += s->live_blocks;
	r->summary.live_blocks -= s->live_blocks;
	r->summary.live_bytes -= s->live_bytes;
	r->summary.suppressed_blocks += s->live_blocks;
	r->summary.suppressed_bytes += s->live_bytes;
	r->summary.left_blocks -= s->left_blocks;
	r->summary.left_bytes -= s->left_bytes;
	s->live_blocks = s->live_bytes = s->left_blocks = s->left_bytes = 0;
}

int suppressed_heaviest_first(const void *a, const void *b) {
	const struct rec_suppressed *x = a, *y = b;
	return compare_u64(y->bytes, x->bytes) ?: compare_u64(x->stack, y->stack);
}

/** Update the largest tables, only if a rule covers a stack. */
static void free_details(struct recording *r, const uint32_t *of_node) {
	EACH_THAT(v, r->intervals, v->until == REC_NEVER && of_node[r->stacks.items[v->stack].node]) {
		v->until = (uint16_t)r->edges.n;
	}
	EACH(z, r->sizes) {
		z->live = of_node[r->stacks.items[z->stack].node] ? 0 : z->live;
	}
}

void suppressions_apply(struct suppressions *s, struct recording *r) {
	SCOPED(arena) scratch = {0};
	const uint32_t *of_node = find_rules(s, r, &scratch);
	bool is_any = false;
	if (!of_node) {
		return;
	}
	r->suppressed.items = arena_new(&r->arena, struct rec_suppressed, r->stacks.n);
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		uint32_t rule = of_node[r->stacks.items[i].node];
		if (rule) {
			free_stack(r, i, &s->rules.items[rule - 1]);
			is_any = true;
		}
	}
	if (is_any) {
		qsort(r->suppressed.items, r->suppressed.n, sizeof *r->suppressed.items,
				suppressed_heaviest_first);
		free_details(r, of_node);
	}
}
