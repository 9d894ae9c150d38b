// SPDX-License-Identifier: MIT
#include "engine/findings.h"

#include "engine/findings/parts.h"
#include "engine/shorten.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

// The rules run one after the other over the same sites and curves; each states what it is sure of.
// Then what matters most is put first.

struct finding *finder_add(struct finder *f, const char *id, const char *title) {
	static struct finding nobody_sees_it;
	if (f->n == f->capacity) {
		uint32_t capacity = f->capacity ? f->capacity * 2 : 32;
		struct finding *items = arena_new(f->arena, struct finding, capacity);
		if (!items) {
			f->failed = true;
			return &nobody_sees_it;
		}
		if (f->n) {
			memcpy(items, f->items, f->n * sizeof *items);
		}
		f->items = items;
		f->capacity = capacity;
	}
	struct finding *out = &f->items[f->n++];
	*out = (struct finding){.id = id, .title = title, .text = "", .lens = "", .place = ""};
	return out;
}

void finding_put(struct finding *out, const char *name, uint64_t value) {
	if (out->n_numbers < FINDING_NUMBERS_MAX) {
		out->numbers[out->n_numbers++] = (struct finding_number){name, value};
	}
}

uint64_t finding_number(const struct finding *f, const char *name) {
	for (uint32_t i = 0; i < f->n_numbers; i++) {
		if (strcmp(f->numbers[i].name, name) == 0) {
			return f->numbers[i].value;
		}
	}
	return 0;
}

static const char *keep(struct finder *f, struct buffer *text) {
	const char *kept = text->failed ? NULL : arena_text(f->arena, buffer_view(text));
	f->failed |= !kept;
	buffer_finish(text);
	return kept ? kept : "";
}

void finder_say(struct finder *f, struct finding *out, struct buffer *sentence) {
	buffer_u8(sentence, '.');
	out->text = keep(f, sentence);
}

struct slice short_name_of(struct finder *f, const struct name *name) {
	const char *text = function_short(name->function, f->arena);
	f->failed |= !text;
	return slice_of_text(text ? text : "?");
}

static const char *place_of_name(struct finder *f, const struct name *name) {
	struct buffer text = {0};
	if (name->file.size > 0) {
		buffer_slice(&text, path_base(name->file));
		if (name->line > 0) { // Python's functions have a file alone
			buffer_printf(&text, ":%" PRIu32, name->line);
		}
	} else if (name->has_name && !name->is_runtime) {
		buffer_slice(&text, path_base(name->module));
	}
	return keep(f, &text);
}

/** As in a URL: the lens is one. */
static void put_encoded(struct buffer *out, struct slice s) {
	for (size_t i = 0; i < s.size; i++) {
		uint8_t c = s.data[i];
		if (isalnum(c) || strchr("-_.~:()", c)) {
			buffer_u8(out, c);
		} else {
			buffer_printf(out, "%%%02X", c);
		}
	}
}

void finder_about(struct finder *f, struct finding *out, const struct name *name,
		const char *metric) {
	struct buffer lens = {0};
	if (metric) {
		buffer_printf(&lens, "m=%s", metric);
	}
	if (name->has_name) { // else there is nothing to focus on: each of its frames is an address
		buffer_text(&lens, metric ? "&focus=" : "focus=");
		put_encoded(&lens, name->function);
	}
	out->lens = keep(f, &lens);
	out->function = name;
	out->place = place_of_name(f, name);
}

void put_name(struct finder *f, struct buffer *out, const struct name *name) {
	const char *place = place_of_name(f, name);
	bool is_of_others = name->owner == OWNER_LIBRARY && !name->is_runtime;
	struct slice package = is_of_others ? names_package(name) : (struct slice){0};
	// A library that is its own package stands there already
	bool has_package = is_of_others &&
			(name->has_name || !slice_equal(package, path_base(name->module)));
	buffer_printf(out, "%.*s", SLICE_ARG(short_name_of(f, name)));
	if (*place && !slice_equal(package, slice_of_text(place))) {
		buffer_printf(out, " %s", place);
	}
	if (has_package) {
		buffer_printf(out, " (%.*s)", SLICE_ARG(package));
	}
}

const struct name *caller_of_site(struct finder *f, uint32_t stack) {
	uint32_t node = f->r->stacks.items[stack].node;
	const struct name *site = names_site(f->names, node), *frame;
	struct stack_walk w = stack_walk_init(f->r, f->names, node);
	bool is_behind = false;
	while ((frame = stack_walk_next(&w))) {
		if (is_behind && frame->owner == OWNER_YOURS && frame->has_name &&
				frame->function_id != site->function_id) {
			return frame;
		}
		is_behind |= frame == site;
	}
	return NULL;
}

/** "ld, no symbols": whose code called an allocation function that nobody with a name calls. */
static const struct name *module_behind(const struct finder *f, uint32_t stack) {
	uint32_t node = f->r->stacks.items[stack].node;
	const struct name *site = names_site(f->names, node), *frame;
	struct stack_walk w = stack_walk_init(f->r, f->names, node);
	bool is_behind = false;
	while (site->is_wrapper && (frame = stack_walk_next(&w))) {
		if (is_behind && frame->owner == OWNER_YOURS && !frame->has_name) {
			return names_without_symbols(f->names, frame);
		}
		is_behind |= frame == site;
	}
	return NULL;
}

/**
 * The frame of a dependency or of the library that the site called to have its memory, maybe through
 * functions without a name.
 */
static const struct name *called_by_site(struct finder *f, uint32_t stack) {
	uint32_t node = f->r->stacks.items[stack].node;
	const struct name *site = names_site(f->names, node), *frame, *last = NULL;
	struct stack_walk w = stack_walk_init(f->r, f->names, node);
	while ((frame = stack_walk_next(&w)) && frame != site) {
		last = frame->has_name ? frame : last;
	}
	return last && !last->is_runtime && !last->is_wrapper && last->owner != OWNER_YOURS ? last
																						: NULL;
}

/** The same of its heaviest stack, if it is so for most of the place. */
static const struct name *called_by_place(struct finder *f, const struct place *p, enum weight by) {
	const struct name *via = called_by_site(f, p->heaviest[by]);
	uint64_t all = 0, through = 0;
	for (uint32_t i = 0; via && i < f->r->stacks.n; i++) {
		if (f->place_of[i] == p - f->places) {
			const struct name *other = called_by_site(f, i);
			uint64_t weight = stack_weight(&f->r->stacks.items[i], by);
			all += weight;
			through += other && other->function_id == via->function_id ? weight : 0;
		}
	}
	return through > all / 5 * 3 ? via : NULL;
}

const struct name *finder_site(const struct finder *f, uint32_t stack) {
	const struct name *site = names_site(f->names, f->r->stacks.items[stack].node);
	return site && !site->has_name ? names_without_symbols(f->names, site) : site;
}

static const struct name *name_by(const struct finder *f, const struct place *p, enum weight by) {
	return finder_site(f, p->heaviest[by]);
}

void finder_about_place(struct finder *f, struct finding *out, const struct place *p,
		enum weight by, const char *metric) {
	finder_about(f, out, name_by(f, p, by), metric);
}

void put_place_name(struct finder *f, struct buffer *out, const struct place *p, enum weight by) {
	put_name(f, out, name_by(f, p, by));
	const struct name *asker = p->name->is_runtime ? runtime_asker(f, p, by) : NULL;
	if (asker) {
		buffer_printf(out, " via %.*s", SLICE_ARG(short_name_of(f, asker)));
	}
	const struct name *via = called_by_place(f, p, by);
	const struct name *caller = caller_of_site(f, p->heaviest[by]);
	caller = caller ? caller : module_behind(f, p->heaviest[by]);
	if (via) {
		buffer_printf(out, " via %.*s (%.*s)", SLICE_ARG(short_name_of(f, via)),
				SLICE_ARG(names_package(via)));
	}
	if (caller) {
		buffer_printf(out, " <- %.*s", SLICE_ARG(short_name_of(f, caller)));
	}
}

void put_freed_before(const struct finder *f, struct buffer *out, struct finding *finding) {
	uint64_t freed = f->r->summary.old_freed_bytes;
	char text[HUMAN_MAX];
	if (freed > 0) {
		buffer_printf(out, "; meanwhile %s from before the attach were freed",
				human_bytes(text, freed));
		finding_put(finding, "before_attach_freed_bytes", freed);
	} else if (finder_unknown_frees(f) > 0) {
		buffer_printf(out, "; meanwhile %s blocks from before the attach were freed",
				human_count(text, finder_unknown_frees(f)));
		finding_put(finding, "before_attach_freed_blocks", finder_unknown_frees(f));
	}
}

struct usual_size usual_size_of(const struct finder *f, const struct place *p,
		bool (*counts)(const struct rec_stack *s)) {
	const struct recording *r = f->r;
	struct usual_size out = {0};
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		const struct rec_stack *s = &r->stacks.items[i];
		bool is_counted = f->place_of[i] == p - f->places && counts(s);
		out.n += is_counted ? s->allocations : 0;
	}
	for (uint32_t i = 0; i < r->sizes.n; i++) {
		const struct rec_size *s = &r->sizes.items[i];
		if (f->place_of[s->stack] == p - f->places && !s->is_class && s->count > out.count &&
				counts(&r->stacks.items[s->stack])) {
			out.size = s->size;
			out.count = s->count;
		}
	}
	return out;
}

/** What would be felt counts three times what only explains; facts come last, what asks for a look first. */
static uint64_t rank_of(const struct finding *f) {
	const uint64_t all = 4000000; // more than the largest weight three times
	switch (f->severity) {
	case FINDING_LOOK_FIRST: return 2 * all + f->weight;
	case FINDING_WORTH_IT: return all + 3 * f->weight;
	case FINDING_EXPLAINS: return all + f->weight;
	default: return f->weight;
	}
}

static int most_important_first(const void *a, const void *b) {
	uint64_t x = rank_of(a), y = rank_of(b);
	return x < y ? 1 : x > y ? -1 : 0;
}

bool findings_make(struct findings *out, const struct recording *r, const struct names *n,
		struct arena *arena, struct err *err) {
	*out = (struct findings){0};
	struct finder f = {.r = r, .names = n, .arena = arena, .out = out};
	f.failed = !finder_gather(&f);
	if (!f.failed) {
		if (!(f.r->missing & REC_LIVE_BYTES)) {
			find_held(&f);
		}
		if (!(f.r->missing & REC_PEAK_BYTES)) {
			find_peak(&f);
		}
		find_churn(&f);
		find_unseen(&f);
		find_steady(&f);
		find_runtime(&f);
		find_advice(&f);
	}
	if (f.n > 1) {
		qsort(f.items, f.n, sizeof *f.items, most_important_first);
	}
	runtime_say_flag(&f);
	out->items = f.items;
	out->n = f.n;
	arena_finish(&f.scratch);
	return !f.failed || err_memory(err);
}
