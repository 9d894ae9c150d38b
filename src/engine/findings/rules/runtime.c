// SPDX-License-Identifier: MIT
/* What a runtime holds for scripts, where, by which functions, and how theirs get names. */
#include "engine/findings/parts.h"

/** ", 25.8 MB of it in libjvm.so, 9.0 MB asked for by Arena::grow()". */
static void put_largest(struct finder *f, const struct place *p, uint64_t bytes) {
	FREED uint64_t *weights = weights_in(f, p, BY_PEAK_BYTES);
	struct asker a = runtime_largest_asker(f, p, weights);
	bool is_program = slice_equal(p->name->module, names_program(f->r));
	if (!is_program) {
		SAY(f, ", %s of it in %.*s", HUMAN_BYTES(p->peak_bytes), SLICE_ARG(p->name->function));
	}
	if (a.name && a.weight >= bytes / 10) {
		SAY(f, ", %s %sasked for by %.*s", HUMAN_BYTES(a.weight), is_program ? "of it " : "",
				SLICE_ARG(short_name_of(f, a.name)));
	}
}

void find_runtime(struct finder *f) {
	const struct recording *r = f->r;
	uint64_t bytes = 0;
	const struct place *largest = MOST_OF(p, f->places, f->n_places,
			p->name->is_runtime ? (bytes += p->peak_bytes, p->peak_bytes) : 0);
	if (!f->runs_scripts || bytes < r->summary.peak_bytes / 4 || bytes == 0) {
		return;
	}
	SAY(f, "%.*s holds %s (%s of the peak) for what it runs",
			SLICE_ARG(path_base(names_program(r))), HUMAN_BYTES(bytes),
			HUMAN_PERCENT(bytes, r->summary.peak_bytes));
	put_largest(f, largest, bytes);
	finder_put(f, "bytes", bytes);
	f->draft.lens = "m=peak&fold=0";
	finder_say(f, FINDING_FACT, millionths(bytes, r->summary.peak_bytes));
}

static bool has_script_names(const struct finder *f) {
	const struct recording *r = f->r;
	return ANY(i, r->locations.n,
			(r->locations.items[i].module == 0 ||
					r->modules.items[r->locations.items[i].module].kind != 0) &&
					!r->locations.items[i].is_mark && names_of(f->names, i).items->has_name);
}

/** Append to a finished sentence, before its full stop. */
static void say_more(struct finder *f, struct finding *out, const char *more, const char *more2) {
	SAY(f, "%.*s; %s%s", (int)strlen(out->text) - 1, out->text, more, more2);
	out->text = finder_end_sentence(f);
}

/** Does a sentence end at the runtime (all of R is its own product), or at unnamed library code? */
static bool is_about_runtime(const struct finder *f, const struct finding *out) {
	const struct name *name = out->function;
	return strcmp(out->id, "runtime") == 0 || (strcmp(out->id, "mapped") == 0 && !name) ||
			(name &&
					(name->is_runtime || (!name->has_name && name->owner == OWNER_LIBRARY) ||
							(!f->runs_scripts && name->owner == OWNER_YOURS)));
}

void runtime_say_flag(struct finder *f) {
	char flag[RUNTIME_FLAG_MAX], who[64];
	const char *language;
	bool is_told = has_script_names(f) ||
			!runtime_naming_flag(f->r->strings.items[f->r->meta.exe], &language, flag);
	if (!is_told && f->r->processes.n > 0 && strcmp(language, "Python") != 0) {
		(void)format_text(flag, sizeof flag, "record it without --children");
	}
	EACH(out, f->found) {
		if (!is_told && is_about_runtime(f, out)) {
			(void)snprintf(who, sizeof who, "to name the %s functions behind it, ", language);
			say_more(f, out, who, flag);
			is_told = true;
		} else if (strcmp(out->id, "runtime") == 0) {
			say_more(f, out, "its own functions: heaptrack_print --bottom-up --lens fold=0", "");
		}
	}
}
