// SPDX-License-Identifier: MIT
/* States a finding: its sentence, its numbers, its lens, and the function it is about. */
#include "engine/findings/parts.h"

void finder_begin(struct finder *f, const char *id, const char *title) {
	f->draft = (struct finding){.id = id, .title = title, .text = "", .lens = "", .place = ""};
}

uint64_t finding_number(const struct finding *f, const char *name) {
	const struct finding_number *number = FIND(item, f->numbers, f->n_numbers,
			strcmp(item->name, name) == 0);
	return number ? number->value : 0;
}

void finder_put(struct finder *f, const char *name, uint64_t value) {
	if (f->draft.n_numbers < FINDING_NUMBERS_MAX) {
		f->draft.numbers[f->draft.n_numbers++] = (struct finding_number){name, value};
	}
}

static const char *keep(struct finder *f, struct buffer *text) {
	const char *kept = arena_text(f->arena, buffer_view(text));
	buffer_finish(text);
	return kept;
}

const char *finder_end_sentence(struct finder *f) {
	SAY(f, ".");
	return keep(f, &f->text);
}

void finder_say(struct finder *f, enum finding_severity severity, uint64_t weight) {
	f->draft.text = finder_end_sentence(f);
	f->draft.severity = severity;
	f->draft.weight = weight;
	f->draft.number = (uint32_t)f->found.n;
	(void)vec_add(&f->found, f->draft);
	finder_begin(f, f->rule->id, f->rule->title);
}

struct slice short_name_of(struct finder *f, const struct name *name) {
	return slice_of_text(function_short(name->function, f->arena));
}

static const char *place_of_name(struct finder *f, const struct name *name) {
	struct buffer text = {0};
	if (name->file.size > 0) {
		buffer_slice(&text, path_base(name->file));
		if (name->line > 0) { // Python functions only have a file
			buffer_printf(&text, ":%" PRIu32, name->line);
		}
	} else if (name->has_name && !name->is_runtime) {
		buffer_slice(&text, path_base(name->module));
	}
	return keep(f, &text);
}

bool finder_has_said(const struct finder *f, const char *id, const struct name *about) {
	return FIND_IN(said, f->found,
				   strcmp(said->id, id) == 0 &&
						   (!about ||
								   (said->function ? said->function->function_id ==
														   about->function_id
												   : about->is_runtime))) != NULL;
}

void finder_about(struct finder *f, const struct name *name, const char *metric) {
	struct buffer lens = {0};
	if (metric) {
		buffer_printf(&lens, "m=%s", metric);
	}
	if (name->has_name) { // unnamed frames are addresses: nothing to focus on
		buffer_text(&lens, metric ? "&focus=" : "focus=");
		lens_put_encoded(&lens, name->function, "-_.~:()");
	}
	f->draft.lens = keep(f, &lens);
	f->draft.function = name;
	f->draft.place = place_of_name(f, name);
}

const char *name_words(struct finder *f, const struct name *name) {
	struct buffer words = {0};
	const char *place = place_of_name(f, name);
	bool is_of_others = name->owner == OWNER_LIBRARY && !name->is_runtime;
	struct slice package = is_of_others ? names_package(name) : (struct slice){0};
	// A library that is its own package is already named
	bool has_package = is_of_others &&
			(name->has_name || !slice_equal(package, path_base(name->module)));
	bool is_in_program = name->is_runtime && !f->runs_scripts &&
			slice_equal(name->module, names_program(f->r));
	buffer_printf(&words, "%s%.*s", is_in_program ? "the runtime in " : "",
			SLICE_ARG(short_name_of(f, name)));
	if (*place && !slice_is(package, place)) {
		buffer_printf(&words, " %s", place);
	}
	if (has_package) {
		buffer_printf(&words, " (%.*s)", SLICE_ARG(package));
	}
	return keep(f, &words);
}

void put_freed_before(struct finder *f) {
	uint64_t freed = f->r->summary.old_freed_bytes;
	if (freed > 0) {
		SAY(f, "; meanwhile %s from before the attach were freed", HUMAN_BYTES(freed));
		finder_put(f, "before_attach_freed_bytes", freed);
	} else if (finder_unknown_frees(f) > 0) {
		SAY(f, "; meanwhile %s blocks from before the attach were freed",
				HUMAN_COUNT(finder_unknown_frees(f)));
		finder_put(f, "before_attach_freed_blocks", finder_unknown_frees(f));
	}
}
