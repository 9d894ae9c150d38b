// SPDX-License-Identifier: MIT
/* Matches functions and modules against the texts of a lens. */
#include "engine/lens.h"

#include <regex.h>

/** A text to look for. Plain texts ignore case. */
struct pattern {
	struct slice text; // plain: in lower case
	bool is_regex;
	regex_t regex;
};

static uint8_t lower(uint8_t c) {
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

// The C library expands repetitions: "((a{1,100}){1,100}){1,100}" took 11 GB; these limits keep it
// at a few MB
enum { EXPANDED_MAX = 1000, GROUPS_MAX = 32 };

/** After a '[': the offset after its ']'. */
static size_t skip_bracket(struct slice p, size_t i) {
	i += i < p.size && p.data[i] == '^';
	i += i < p.size && p.data[i] == ']';
	for (; i < p.size && p.data[i] != ']'; i++) {
		if (p.data[i] == '[' && i + 1 < p.size && memchr(":.=", p.data[i + 1], 3)) {
			uint8_t kind = p.data[i + 1]; // "[:alpha:]"
			for (i += 2; i + 1 < p.size && (p.data[i] != kind || p.data[i + 1] != ']'); i++) {}
			i++;
		}
	}
	return i + 1;
}

/** The larger number of "{2,5}", and where it ends. */
static uint64_t read_bound(struct slice p, size_t *i) {
	uint64_t most = 1, n = 0;
	for (; *i < p.size && p.data[*i] != '}'; (*i)++) {
		uint8_t c = p.data[*i];
		n = !isdigit(c) ? 0 : n > EXPANDED_MAX ? n : n * 10 + (uint64_t)(c - '0');
		most = n > most ? n : most;
	}
	(*i)++;
	return most;
}

/** An expression's length in characters, repetitions expanded; any above EXPANDED_MAX will do. */
static uint64_t expanded_size(struct slice p) {
	uint64_t total[GROUPS_MAX] = {0}, last = 0; // of the open groups; of the newest part
	unsigned depth = 0;
	for (size_t i = 0; i < p.size && total[depth] <= EXPANDED_MAX;) {
		uint8_t c = p.data[i++];
		uint64_t before = last;
		if (c == '(') {
			if (++depth == GROUPS_MAX) {
				return EXPANDED_MAX + 1;
			}
			total[depth] = last = 0;
			continue;
		}
		if (c == ')' && depth > 0) {
			last = total[depth--];
		} else if (c == '{' || c == '+') {
			last *= c == '+' ? 2 : read_bound(p, &i); // x+ is expanded to xx*
			total[depth] += last - before;
			continue;
		} else {
			i = c == '[' ? skip_bracket(p, i) : c == '\\' ? i + 1 : i;
			last = memchr("*?|", c, 3) ? last : 1;
			if (memchr("*?|", c, 3)) {
				continue;
			}
		}
		total[depth] += last;
	}
	return SUM(d, depth + 1, total[d]);
}

static bool compile(struct slice pattern, regex_t *regex, struct err *err) {
	FREED char *text = strndup((const char *)pattern.data, pattern.size) ?: memory_lacks();
	int wrong = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
	if (wrong) {
		char why[128];
		(void)regerror(wrong, regex, why, sizeof why);
		return err_set(err, wrong == REG_ESPACE ? ERR_MEMORY : ERR_USAGE, "%s", why);
	}
	return true;
}

bool lens_pattern_is_valid(struct slice pattern, struct err *err) {
	regex_t regex;
	if (memchr(pattern.data, 0, pattern.size)) {
		return err_usage(err, "a zero byte");
	}
	if (expanded_size(pattern) > EXPANDED_MAX) {
		return err_limit(err, "longer than %d characters with its repetitions expanded",
				EXPANDED_MAX);
	}
	bool ok = compile(pattern, &regex, err);
	if (ok) {
		regfree(&regex);
	}
	return ok;
}

/** lens_pattern_is_valid was asked. */
static void pattern_init(struct pattern *p, const struct lens_text *text, struct arena *arena) {
	*p = (struct pattern){.is_regex = text->is_regex, .text = text->text};
	if (p->is_regex && !compile(text->text, &p->regex, NULL)) {
		(void)memory_lacks();
	}
	uint8_t *copy = arena_new(arena, uint8_t, text->text.size + 1);
	for (size_t i = 0; i < text->text.size; i++) {
		copy[i] = lower(text->text.data[i]);
	}
	p->text = slice_of(copy, text->text.size);
}

static bool holds_plain(struct slice s, struct slice text) {
	return text.size == 0 ||
			(text.size <= s.size &&
					ANY(i, s.size - text.size + 1,
							ALL(k, text.size, lower(s.data[i + k]) == text.data[k])));
}

static bool holds(const struct pattern *p, struct slice s) {
	if (!p->is_regex) {
		return holds_plain(s, p->text);
	}
	regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)s.size};
	const char *text = s.size ? (const char *)s.data : "";
	return regexec(&p->regex, text, 1, &range, REG_STARTEND) == 0;
}

/** The results so far, by function and by module. */
struct found {
	uint8_t *functions, *modules; // 0: not asked yet, 1: no, 2: yes
};

static bool any_holds(const struct pattern *p, struct slice a, struct slice b, uint8_t *known) {
	*known = *known ? *known : holds(p, a) || holds(p, b) ? 2 : 1;
	return *known == 2;
}

static void match_locations(const struct pattern *p, uint32_t bit, const struct recording *r,
		const struct names *n, struct found *found, uint32_t *locations) {
	for (uint32_t i = 1; i < r->locations.n; i++) {
		const struct name_list frames = names_of(n, i);
		struct slice module = frames.items[0].module;
		bool is_found = any_holds(p, module, module, &found->modules[r->locations.items[i].module]);
		is_found = is_found ||
				FIND_IN(f, frames,
						any_holds(p, f->function, f->file, &found->functions[f->function_id]));
		locations[i] |= is_found ? bit : 0;
	}
}

static void match_text(const struct lens_text *text, uint32_t bit, const struct recording *r,
		const struct names *n, uint32_t *locations) {
	SCOPED(arena) scratch = {0};
	struct found found = {
			.functions = arena_new(&scratch, uint8_t, names_n_functions(n)),
			.modules = arena_new(&scratch, uint8_t, r->modules.n),
	};
	struct pattern p = {0};
	pattern_init(&p, text, &scratch);
	match_locations(&p, bit, r, n, &found, locations);
	if (p.is_regex) {
		regfree(&p.regex);
	}
}

bool lens_is_named(struct slice function, struct slice name) {
	if (slice_equal(function, name)) {
		return true;
	}
	name.size -= name.size > 2 && ends_with(name, "()") ? 2 : 0;
	if (name.size == 0 || !begins_with(function, name)) {
		return false;
	}
	bool is_all = memchr(name.data, '(', name.size) || memchr(name.data, '<', name.size);
	return function.size == name.size ||
			(!is_all && (function.data[name.size] == '(' || function.data[name.size] == '<'));
}

static bool is_one_of(struct slice function, const struct slice *names, uint32_t n) {
	return ANY(i, n, lens_is_named(function, names[i]));
}

static void match_functions(const struct lens *l, const struct recording *r, const struct names *n,
		uint8_t *functions) {
	enum { IS_KNOWN = 0x80 };
	for (uint32_t i = 0; i < r->locations.n; i++) {
		const struct name_list frames = names_of(n, i);
		EACH_THAT(f, frames, functions[f->function_id] == 0) {
			bool is_focus = is_one_of(f->function, l->focus, l->n_focus);
			bool is_hidden = is_one_of(f->function, l->hide, l->n_hide);
			functions[f->function_id] = (uint8_t)(IS_KNOWN | (is_focus ? LENS_IS_FOCUS : 0) |
					(is_hidden ? LENS_IS_HIDDEN : 0));
		}
	}
}

struct lens_match lens_match_names(const struct lens *l, const struct recording *r,
		const struct names *n, struct arena *arena) {
	struct lens_match out = {0};
	out.locations = l->n_texts ? arena_new(arena, uint32_t, r->locations.n) : NULL;
	for (uint32_t i = 0; i < l->n_texts; i++) {
		match_text(&l->texts[i], (uint32_t)1 << i, r, n, out.locations);
	}
	if (l->n_focus || l->n_hide) {
		out.functions = arena_new(arena, uint8_t, names_n_functions(n));
		match_functions(l, r, n, out.functions);
	}
	return out;
}
