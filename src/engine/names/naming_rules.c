// SPDX-License-Identifier: MIT
/* Parses and matches the user's rules about whose code a frame is. */
#include "engine/naming_rules.h"

enum { COMPLAINTS_MAX = 3, LINE_SHOWN_MAX = 80 };

void naming_rules_add(struct naming_rules *rules, enum naming_kind kind, struct slice pattern,
		struct arena *arena) {
	const char *text = arena_text(arena, pattern);
	(void)vec_add(rules, (struct naming_rule){kind, slice_of(text, pattern.size)});
}

/** False: invalid. */
static bool parse_line(struct naming_rules *rules, struct slice line, struct arena *arena) {
	static const struct {
		const char *word;
		enum naming_kind kind;
	} kinds[] = {{"yours", NAMING_YOURS}, {"library", NAMING_LIBRARY}, {"fold", NAMING_FOLD}};
	line = trimmed(before_first(line, '#'));
	if (line.size == 0) {
		return true;
	}
	size_t n = 0;
	while (n < line.size && !isspace(line.data[n])) {
		n++;
	}
	struct slice pattern = trimmed(slice_from(line, n));
	__auto_type kind = FIND(k, kinds, N_OF(kinds), slice_is(slice_of(line.data, n), k->word));
	bool is_rule = kind && pattern.size > 0;
	if (is_rule) {
		naming_rules_add(rules, kind->kind, pattern, arena);
	}
	return is_rule;
}

void naming_rules_parse(struct naming_rules *rules, struct slice text, const char *name,
		struct arena *arena, struct buffer *complaints) {
	unsigned n_bad = 0;
	struct slice line;
	for (unsigned number = 1; next_line(&text, &line); number++) {
		if (!parse_line(rules, line, arena) && n_bad++ < COMPLAINTS_MAX) {
			line.size = line.size < LINE_SHOWN_MAX ? line.size : LINE_SHOWN_MAX;
			buffer_printf(complaints,
					"%s: line %u: \"%.*s\" is not a rule and is ignored; use yours PATTERN, "
					"library PATTERN or fold PATTERN\n",
					name, number, SLICE_ARG(line));
		}
	}
	if (n_bad > COMPLAINTS_MAX) {
		buffer_printf(complaints, "%s: %u more such lines\n", name, n_bad - COMPLAINTS_MAX);
	}
}

const struct naming_rule *naming_rules_find(const struct naming_rules *rules, struct slice function,
		struct slice file, struct slice module) {
	return FIND(r, rules ? rules->items : NULL, rules ? rules->n : 0,
			has_parts(function, r->pattern, false, false) ||
					has_parts(file, r->pattern, false, false) ||
					has_parts(module, r->pattern, false, false));
}
