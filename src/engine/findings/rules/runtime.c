// SPDX-License-Identifier: MIT
#include "engine/findings/parts.h"
#include "engine/names/owner.h"
#include "engine/quality/runtimes.h"

#include <stdio.h>

// What a runtime holds for the scripts that it runs: how much, in which module, which of its functions
// asked for it, and how the scripts' own functions get names.

/** What tells its reader nothing: the language's own library, insides of V8 and of Python. */
static bool is_inside(struct slice function) {
	static const char *const begins[] = {"std::", "void std::", "_"};
	static const char *const parts[] = {"::internal::", "::detail::"};
	bool is_one = false;
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
		size_t n = strlen(begins[i]);
		is_one |= function.size >= n && memcmp(function.data, begins[i], n) == 0;
	}
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		is_one |= memmem(function.data, function.size, parts[i], strlen(parts[i])) != NULL;
	}
	return is_one;
}

/**
 * The runtime's function that asked for a stack's memory: none of those that only hand it out, or are its
 * insides. NULL: code without a name did.
 */
static const struct name *asker_of_stack(const struct finder *f, uint32_t stack) {
	uint32_t node = f->r->stacks.items[stack].node;
	const struct name *site = names_site(f->names, node), *frame;
	struct stack_walk w = stack_walk_init(f->r, f->names, node);
	while ((frame = stack_walk_next(&w))) {
		if (frame->is_wrapper || !slice_equal(frame->module, site->module)) {
			continue;
		}
		if (!frame->has_name ||
				(!owner_speaks_of_allocating(frame->function) && !is_inside(frame->function))) {
			return frame->has_name ? frame : NULL;
		}
	}
	return NULL;
}

struct asker {
	const struct name *name; // NULL: none has a name
	uint64_t weight;
};

/** The one that asked for most of what a module holds. */
static struct asker largest_asker(struct finder *f, const struct place *p, enum weight by) {
	struct asker *askers = arena_new(&f->scratch, struct asker, names_n_functions(f->names) + 1ul);
	struct asker best = {0};
	f->failed |= !askers;
	for (uint32_t i = 0; askers && i < f->r->stacks.n; i++) {
		uint64_t weight = stack_weight(&f->r->stacks.items[i], by);
		bool is_of_place = weight > 0 && f->place_of[i] == p - f->places;
		const struct name *name = is_of_place ? asker_of_stack(f, i) : NULL;
		if (name) {
			struct asker *a = &askers[name->function_id];
			a->name = name;
			a->weight += weight;
			best = a->weight > best.weight ? *a : best;
		}
	}
	return best;
}

const struct name *runtime_asker(struct finder *f, const struct place *p, enum weight by) {
	uint64_t all = 0;
	for (uint32_t i = 0; i < f->r->stacks.n; i++) {
		all += f->place_of[i] == p - f->places ? stack_weight(&f->r->stacks.items[i], by) : 0;
	}
	struct asker a = largest_asker(f, p, by);
	return a.weight > all / 5 * 3 ? a.name : NULL;
}

/** ", 25.8 MB of it in libjvm.so, 9.0 MB asked for by Arena::grow()". */
static void put_largest(struct finder *f, struct buffer *text, const struct place *p,
		uint64_t bytes) {
	char number[HUMAN_MAX];
	struct asker a = largest_asker(f, p, BY_PEAK_BYTES);
	bool is_program = slice_equal(p->name->module, f->r->strings.items[f->r->meta.exe]);
	if (!is_program) {
		buffer_printf(text, ", %s of it in %.*s", human_bytes(number, p->peak_bytes),
				SLICE_ARG(p->name->function));
	}
	if (a.name && a.weight >= bytes / 10) {
		buffer_printf(text, ", %s %sasked for by %.*s", human_bytes(number, a.weight),
				is_program ? "of it " : "", SLICE_ARG(short_name_of(f, a.name)));
	}
}

void find_runtime(struct finder *f) {
	const struct recording *r = f->r;
	const struct place *largest = NULL;
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < f->n_places; i++) {
		const struct place *p = &f->places[i];
		if (p->name->is_runtime) {
			bytes += p->peak_bytes;
			largest = !largest || p->peak_bytes > largest->peak_bytes ? p : largest;
		}
	}
	if (!f->runs_scripts || bytes < r->summary.peak_bytes / 4 || bytes == 0) {
		return;
	}
	struct finding *out = finder_add(f, "runtime", "runtime");
	struct buffer text = {0};
	char a[HUMAN_MAX], b[HUMAN_MAX];
	buffer_printf(&text, "%.*s holds %s (%s of the peak) for what it runs",
			SLICE_ARG(path_base(r->strings.items[r->meta.exe])), human_bytes(a, bytes),
			human_percent(b, bytes, r->summary.peak_bytes));
	put_largest(f, &text, largest, bytes);
	finding_put(out, "bytes", bytes);
	out->lens = "m=peak&fold=0";
	finder_say(f, out, &text);
	out->severity = FINDING_FACT;
	out->weight = millionths(bytes, r->summary.peak_bytes);
}

/** Whether any function of the scripts has a name here. */
static bool has_script_names(const struct finder *f) {
	const struct recording *r = f->r;
	for (uint32_t i = 0; i < r->locations.n; i++) {
		const struct rec_location *l = &r->locations.items[i];
		uint32_t n;
		if (l->module == 0 && !l->is_mark && names_of(f->names, i, &n)->has_name) {
			return true;
		}
	}
	return false;
}

/** "and so on." with more before the stop. */
static void say_more(struct finder *f, struct finding *out, const char *more, const char *more2) {
	struct buffer text = {0};
	buffer_printf(&text, "%.*s; %s%s", (int)strlen(out->text) - 1, out->text, more, more2);
	finder_say(f, out, &text);
}

/** A sentence that stops at the runtime, or at code of others that has no name. */
static bool is_about_runtime(const struct finding *out) {
	const struct name *name = out->function;
	return strcmp(out->id, "runtime") == 0 ||
			(name && (name->is_runtime || (!name->has_name && name->owner == OWNER_LIBRARY)));
}

void runtime_say_flag(struct finder *f) {
	char flag[RUNTIME_FLAG_MAX], who[64];
	const char *language;
	bool is_told = !f->runs_scripts || has_script_names(f) ||
			!runtime_naming_flag(f->r->strings.items[f->r->meta.exe], &language, flag);
	for (uint32_t i = 0; i < f->n; i++) {
		struct finding *out = &f->items[i];
		if (!is_told && is_about_runtime(out)) {
			(void)snprintf(who, sizeof who, "to name the %s functions behind it, ", language);
			say_more(f, out, who, flag);
			is_told = true;
		} else if (strcmp(out->id, "runtime") == 0) {
			say_more(f, out, "its own functions: heaptrack_print --bottom-up --lens fold=0", "");
		}
	}
}
