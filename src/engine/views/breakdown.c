// SPDX-License-Identifier: MIT
/* Distributes the costs of stacks over the parts of a breakdown. */
#include "engine/breakdown.h"

#include "engine/views/types.h"

const char *const breakdown_names[N_BREAKDOWNS] = {
		[BY_SITE] = "site",
		[BY_CLASS] = "class",
		[BY_GRADE] = "grade",
		[BY_THREAD] = "thread",
		[BY_TID] = "tid",
		[BY_PROCESS] = "process",
		[BY_COMMAND] = "command",
		[BY_SIZE] = "size",
		[BY_LIFETIME] = "lifetime",
};

struct taker {
	enum breakdown_by by;
	const struct lens *lens;
	const struct recording *recording;
	const struct names *names;
	const struct lens_result *result;
	struct arena *arena;
	VEC(struct part) parts;
	struct part rest;
};

static const struct name *site_of(const struct taker *t, uint32_t stack) {
	return lens_site(t->lens, t->names, t->recording->stacks.items[stack].node);
}

static uint64_t weight_of(const struct taker *t, uint32_t stack) {
	return lens_weight(t->lens, &t->result->stacks[stack]);
}

static void add_stack(const struct taker *t, struct part *part, uint32_t stack) {
	part->heaviest = part->n_stacks++ == 0 ? stack : part->heaviest;
	lens_costs_add(&part->costs, &t->result->stacks[stack]);
}

// ---- by a stack's site or thread

/** The part with number *which - 1; if that is 0, a fresh one. NULL: the rest. */
static struct part *add_to_part(struct taker *t, uint32_t *which, uint32_t stack,
		struct part fresh) {
	if (which && !*which) {
		(void)vec_add(&t->parts, fresh);
		*which = (uint32_t)t->parts.n;
	}
	struct part *part = which ? &t->parts.items[*which - 1] : &t->rest;
	add_stack(t, part, stack);
	return part;
}

#define EACH_STACK_THAT_COSTS(i, t) \
	EACH_NUMBER(i, (t)->recording->stacks.n, lens_costs_any(&(t)->result->stacks[i]))

static void take_sites(struct taker *t) {
	uint32_t n_functions = names_n_functions(t->names);
	FREED uint32_t *part_of = memory_new(n_functions + 1ul, sizeof *part_of); // the last: of none
	SCOPED(map) lines = {0};
	EACH_NUMBER(i, t->recording->stacks.n, site_of(t, i) && weight_of(t, i) > 0) {
		const uint64_t line = name_line(site_of(t, i));
		(void)map_put(&lines, line, map_get(&lines, line) + weight_of(t, i));
	}
	EACH_STACK_THAT_COSTS(i, t) {
		const struct name *name = site_of(t, i);
		uint32_t number = name ? name->function_id : n_functions;
		struct part fresh = {
				.name = name,
				.label = name ? name->function : slice_of_text("(no stack)"),
		};
		struct part *part = add_to_part(t, &part_of[number], i, fresh);
		const uint64_t of_line = name ? map_get(&lines, name_line(name)) : 0;
		if (of_line > part->of_line ||
				(of_line == part->of_line && weight_of(t, i) > weight_of(t, part->heaviest))) {
			part->name = name;
			part->heaviest = i;
			part->of_line = of_line;
		}
	}
}

/** The part of a type already seen under another function; else a new one. */
static struct part *part_of_type(struct taker *t, struct index *known, struct slice type) {
	struct slice text = slice_of_text(type_shown(type, t->arena));
	uint64_t h = slice_hash(SLICE_HASH, text);
	uint32_t id = VEC_FIND_OR_ADD(known, &t->parts, h, p, slice_equal(p->label, text),
			(struct part){.label = text});
	return &t->parts.items[id];
}

/** What type a stack's blocks had in all looks: votes > 0 if all but 1 in 100 agree. */
struct seen {
	uint32_t name; // string: of a type
	int64_t votes;
};

/** Per node. */
static struct seen *types_seen(const struct recording *r) {
	struct seen *seen = memory_new(r->nodes.n + 1ul, sizeof *seen);
	EACH(c, r->classes) {
		struct seen *s = &seen[c->node];
		s->name = s->name ?: c->name;
		s->votes += c->name && c->name == s->name ? c->blocks : c->blocks * -100ll;
	}
	seen[0] = (struct seen){0}; // of no stack, or several
	return seen;
}

/** For the blocks that count, where each was looked at (memory_as_recording). NULL: unknown. */
static const struct rec_grade *grade_of(const struct recording *r, uint32_t stack) {
	bool has_grades = r->of == METRIC_OF_GRADED || r->of == METRIC_OF_UNREACHABLE;
	return has_grades ? &r->grades.items[stack] : NULL;
}

static void take_classes(struct taker *t) {
	SCOPED(index) known = {0};
	FREED struct seen *seen = types_seen(t->recording);
	FREED uint32_t *part_of = memory_new(names_n_frames(t->names) + 1ul, sizeof *part_of);
	EACH_STACK_THAT_COSTS(i, t) {
		const struct rec_grade *grade = grade_of(t->recording, i);
		const struct rec_class *class = grade && grade->class ? &t->recording->classes
																		 .items[grade->class - 1]
															  : NULL;
		uint32_t node = t->recording->stacks.items[i].node, none = 0;
		struct slice type = t->recording->strings.items[class ? class->name : seen[node].name];
		const struct name *f = class ? NULL : type_of_stack(t->recording, t->names, node, &type);
		uint32_t *which = f ? &part_of[names_number(t->names, f)] : &none;
		if (!*which && (f || class || seen[node].votes > 0)) {
			struct part *part = part_of_type(t, &known, type);
			*which = (uint32_t)(part - t->parts.items) + 1;
			part->class = class ? class : part->class;
		}
		add_stack(t, *which ? &t->parts.items[*which - 1] : &t->rest, i);
	}
}

static void take_grades(struct taker *t) {
	uint32_t part_of[REC_GRADES] = {0};
	EACH_STACK_THAT_COSTS(i, t) {
		const struct rec_grade *row = grade_of(t->recording, i);
		const unsigned grade = row ? row->grade : 0;
		const struct part fresh = {.label = slice_of_text(lens_grade_names[grade])};
		(void)add_to_part(t, row ? &part_of[grade] : NULL, i, fresh);
	}
}

/** By name, as in the lens, or each apart. */
static void take_threads(struct taker *t) {
	const struct recording *r = t->recording;
	uint32_t n = t->by == BY_TID ? r->threads.n : r->strings.n;
	FREED uint32_t *part_of = memory_new(n + 1ul, sizeof *part_of);
	FREED bool *is_counted = memory_new(r->threads.n + 1ul, sizeof *is_counted);
	EACH_STACK_THAT_COSTS(i, t) {
		uint32_t thread = r->stacks.items[i].thread;
		const struct rec_thread *who = &r->threads.items[thread];
		struct slice label = r->strings.items[who->name];
		struct part fresh = {
				.label = label.size ? label : slice_of_text("(no name)"),
				.tid = t->by == BY_TID && !who->n_merged ? who->tid : 0,
		};
		uint32_t number = t->by == BY_TID ? thread : who->name;
		struct part *part = add_to_part(t, thread ? &part_of[number] : NULL, i, fresh);
		if (thread && !is_counted[thread]) {
			is_counted[thread] = true;
			part->n_threads += who->n_merged ? who->n_merged : 1;
		}
	}
}

/** In a tree: by the process of a stack's threads, or the command that it executed. */
static void take_processes(struct taker *t) {
	const struct recording *r = t->recording;
	const bool is_by_command = t->by == BY_COMMAND;
	FREED uint32_t *part_of = memory_new(r->processes.n + r->commands.n, sizeof *part_of);
	EACH_STACK_THAT_COSTS(i, t) {
		const struct rec_stack *s = &r->stacks.items[i];
		const uint32_t process = rec_thread_process(r, s->thread);
		const uint32_t number = is_by_command ? s->command : process;
		if (number == 0) {
			add_stack(t, &t->rest, i);
			continue;
		}
		const struct rec_process *p = &r->processes.items[is_by_command ? 0 : process];
		const uint32_t command = is_by_command ? number : p->command;
		struct part fresh = {.label = r->strings.items[r->commands.items[command].name]};
		fresh.tid = p->pid;
		(void)add_to_part(t, &part_of[number], i, fresh);
	}
}

// ---- by class: sizes and lifetimes

enum { SIZE_CLASSES = 65 }; // 0, 1, 2 .. 3, 4 .. 7 ...

static unsigned size_class(uint64_t size) {
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

/** What a size of a stack costs under a lens without range, as far as known. */
static struct lens_costs size_costs(const struct rec_size *z, const struct lens *l) {
	struct lens_costs c = {.allocations = z->count, .allocated_bytes = z->bytes};
	enum metric_rule rule = lens_metrics[l->metric].rule;
	if (rule == METRIC_MADE) {
		c.blocks = z->count;
		c.bytes = z->bytes;
	} else if (rule == METRIC_NEVER_FREED || rule == METRIC_KEPT) {
		c.blocks = z->live;
		c.bytes = z->is_class ? 0 : z->live * z->size;
	}
	return c;
}

/** If a stack made only one class of sizes, all its costs go there; else each size's. */
static void add_sizes(struct taker *t, struct part *classes, uint32_t stack,
		const struct rec_size *sizes, uint32_t n) {
	if (n > 0 && ALL(i, n, size_class(sizes[i].size) == size_class(sizes[0].size))) {
		add_stack(t, &classes[size_class(sizes[0].size)], stack);
		return;
	}
	struct lens_costs rest = t->result->stacks[stack];
	for (uint32_t i = 0; i < n && !t->lens->has_range; i++) {
		struct lens_costs c = size_costs(&sizes[i], t->lens);
		lens_costs_add(&classes[size_class(sizes[i].size)].costs, &c);
		rest = lens_costs_between(&c, &rest);
	}
	lens_costs_add(&t->rest.costs, &rest);
}

static void take_sizes(struct taker *t) {
	const struct recording *r = t->recording;
	struct part classes[SIZE_CLASSES] = {0};
	uint32_t at = 0;
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		uint32_t first = at;
		while (at < r->sizes.n && r->sizes.items[at].stack == i) {
			at++;
		}
		if (lens_costs_any(&t->result->stacks[i])) {
			add_sizes(t, classes, i, r->sizes.items + first, at - first);
		}
	}
	EACH_NUMBER(i, (unsigned)SIZE_CLASSES, lens_costs_any(&classes[i].costs)) {
		uint64_t least = i ? (uint64_t)1 << (i - 1) : 0;
		classes[i].least = least;
		classes[i].label = slice_of_text(arena_printf(t->arena, i < 2 ? "%s" : "%s to %s",
				HUMAN_BYTES(least), HUMAN_BYTES(least * 2 - 1)));
		(void)vec_add(&t->parts, classes[i]);
	}
}

static uint64_t lifetime_least_ns(unsigned class) {
	return class ? (uint64_t)1000 << (2 * (class - 1)) : 0;
}

static const char *lifetime_words(unsigned class, struct arena *arena) {
	bool is_last = class == REC_LIFETIMES - 1;
	uint64_t ns = lifetime_least_ns(is_last ? class : class + 1);
	return ns < 1000000
			? arena_printf(arena, "below %u us", (unsigned)(ns / 1000))
			: arena_printf(arena, "%s %s", is_last ? "from" : "below", HUMAN_DURATION(ns));
}

/** How many blocks of each lifetime a stack made; the rest are live, or what a range asks for. */
static void take_lifetimes(struct taker *t) {
	const struct recording *r = t->recording;
	uint64_t blocks[REC_LIFETIMES] = {0};
	bool is_counted = lens_metrics[t->lens->metric].rule == METRIC_MADE;
	t->rest.costs = t->result->total;
	for (uint32_t i = 0; i < r->lifetimes.n && !t->lens->has_range; i++) {
		for (int k = 0; k < REC_LIFETIMES && lens_costs_any(&t->result->stacks[i]); k++) {
			blocks[k] += r->lifetimes.items[i].blocks[k];
		}
	}
	EACH_NUMBER(k, (unsigned)REC_LIFETIMES, blocks[k]) {
		struct part part = {
				.label = slice_of_text(lifetime_words(k, t->arena)),
				.least = lifetime_least_ns(k),
				.costs = {.allocations = blocks[k], .blocks = is_counted ? blocks[k] : 0},
		};
		(void)vec_add(&t->parts, part);
		t->rest.costs = lens_costs_between(&part.costs, &t->rest.costs);
	}
}

// ---- all breakdowns

HEAVIEST_FIRST(heaviest_first, struct part, heaviest);

bool breakdown_is_ranked(enum breakdown_by by) {
	return by < BY_SIZE;
}

struct breakdown breakdown_make(enum breakdown_by by, const struct lens *l,
		const struct recording *r, const struct names *n, const struct lens_result *result,
		struct arena *arena) {
	static const struct {
		void (*take)(struct taker *t);
		const char *rest;
	} ways[N_BREAKDOWNS] = {
			[BY_SITE] = {take_sites, ""},
			[BY_CLASS] = {take_classes, "(type not known)"},
			[BY_GRADE] = {take_grades, "(grades not told apart)"},
			[BY_THREAD] = {take_threads, "(threads not told apart)"},
			[BY_TID] = {take_threads, "(threads not told apart)"},
			[BY_PROCESS] = {take_processes, "(processes not told apart)"},
			[BY_COMMAND] = {take_processes, "(processes not told apart)"},
			[BY_SIZE] = {take_sizes, "(sizes not told apart)"},
			[BY_LIFETIME] = {take_lifetimes, "(never freed, or lifetimes not told apart)"},
	};
	struct taker t = {by, l, r, n, result, arena, {0}, {.is_rest = true}};
	t.rest.label = slice_of_text(ways[by].rest);
	ways[by].take(&t);
	if (breakdown_is_ranked(by) && t.parts.n) {
		qsort_r(t.parts.items, t.parts.n, sizeof *t.parts.items, heaviest_first, (void *)l);
	}
	const struct lens_costs *c = &t.rest.costs;
	if (lens_costs_any(c) || c->allocated_bytes || c->temporary) {
		(void)vec_add(&t.parts, t.rest);
	}
	struct breakdown out = {.n = (uint32_t)t.parts.n};
	out.parts = arena_copy(arena, t.parts.items, t.parts.n, sizeof *t.parts.items);
	vec_finish(&t.parts);
	return out;
}
