// SPDX-License-Identifier: MIT
/*
 * Fills in the type parameters in a name of Rust's legacy scheme. "alloc::boxed::Box<T>::new": its
 * DIE has a child per parameter, and their values in its own name, "new<[u64; 32]>".
 */
#include "symbols/dwarf/unit.h"

enum { PARAMETERS_MAX = 16, BYTES_MAX = 1000 }; // names of nested closures get long

struct parameters {
	struct slice names[PARAMETERS_MAX], values[PARAMETERS_MAX];
	size_t n_names, n_values;
};

static void take_names(struct parameters *p, const struct unit *unit, Dwarf_Die function) {
	Dwarf_Die child;
	for (int end = dwarf_child(&function, &child); end == 0 && p->n_names < PARAMETERS_MAX;
			end = dwarf_siblingof(&child, &child)) {
		if (dwarf_tag(&child) == DW_TAG_template_type_parameter) {
			const char *name = die_own_name(unit, &child);
			p->names[p->n_names++] = name ? slice_of_text(name) : (struct slice){0};
		}
	}
}

/** Both of "new<(u8, fn() -> u16), [u64; 32]>". */
static void take_values(struct parameters *p, const char *plain) {
	struct slice rest = slice_of_text(strchr(plain, '<') + 1);
	size_t n;
	while ((n = find_outside_brackets(rest, ",>")) < rest.size && p->n_values < PARAMETERS_MAX) {
		p->values[p->n_values++] = trimmed(slice_of(rest.data, n));
		rest = rest.data[n] == ',' ? slice_from(rest, n + 1) : (struct slice){0};
	}
}

const char *generics_filled(const char *function, const struct unit *unit,
		const struct die_name *name, struct arena *arena) {
	struct parameters p = {0};
	if (!strchr(name->plain, '<')) {
		return function;
	}
	take_names(&p, unit, name->declared);
	take_values(&p, name->plain);
	if (p.n_names == 0 || p.n_names != p.n_values) {
		return function;
	}
	SCOPED(buffer) out = {0};
	bool is_part = false; // of a path: "T" is a parameter, but not in "a::T"
	for (const char *at = function; *at;) {
		size_t n = 0;
		while (isalnum((unsigned char)at[n]) || at[n] == '_') {
			n++;
		}
		const struct slice word = slice_of(at, n);
		__auto_type found = FIND(it, p.names, n > 0 && !is_part ? p.n_names : 0,
				slice_equal(*it, word));
		buffer_slice(&out, found ? p.values[found - p.names] : slice_of(at, n ? n : 1));
		at += n ? n : 1;
		is_part = at[-1] == ':';
	}
	return out.size > BYTES_MAX ? function : arena_text(arena, buffer_view(&out));
}
