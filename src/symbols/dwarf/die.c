// SPDX-License-Identifier: MIT
/* Reads the attributes of a debugging information entry in one pass. */
#include "symbols/dwarf/unit.h"

static int keep_attribute(Dwarf_Attribute *attribute, void *arg) {
	struct die_facts *f = arg;
	switch (dwarf_whatattr(attribute)) {
	case DW_AT_call_return_pc: // GNU uses the low pc of a call
	case DW_AT_low_pc: f->low = *attribute; break;
	case DW_AT_high_pc: f->high = *attribute; break;
	case DW_AT_ranges: f->ranges = *attribute; break;
	case DW_AT_abstract_origin: f->origin = *attribute; break;
	case DW_AT_specification: f->origin = f->origin.form ? f->origin : *attribute; break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name: f->linkage_name = *attribute; break;
	case DW_AT_name: f->name = *attribute; break;
	case DW_AT_call_file: f->call_file = *attribute; break;
	case DW_AT_call_line: f->call_line = *attribute; break;
	case DW_AT_LLVM_alloc_type: f->allocates = *attribute; break;
	default: break;
	}
	return DWARF_CB_OK;
}

struct die_facts die_facts(Dwarf_Die *die) {
	struct die_facts facts = {0};
	(void)dwarf_getattrs(die, keep_attribute, &facts, 0);
	return facts;
}

uint64_t die_number(Dwarf_Attribute *attribute) {
	Dwarf_Word number = 0;
	return attribute->form && dwarf_formudata(attribute, &number) == 0 ? number : 0;
}

static const char *die_text(const struct unit *unit, Dwarf_Attribute *attribute) {
	return !attribute->form ? NULL
			: unit->split   ? split_text(unit->split, attribute)
							: dwarf_formstring(attribute);
}

const char *die_own_name(const struct unit *unit, Dwarf_Die *die) {
	struct die_facts facts = die_facts(die);
	return die_text(unit, &facts.name);
}

struct die_ranges die_ranges_init(const struct unit *unit, Dwarf_Die *die,
		struct die_facts *facts) {
	struct die_ranges r = {.unit = unit, .die = die, .is_list = facts->ranges.form != 0};
	Dwarf_Word size;
	if (r.is_list && unit->split) {
		split_ranges_init(&r.split, unit->split, &facts->ranges);
	} else if (!r.is_list) {
		r.is_done = !facts->low.form || !facts->high.form ||
				dwarf_formaddr(&facts->low, &r.only.start) != 0;
		if (!r.is_done && dwarf_formaddr(&facts->high, &r.only.end) != 0) {
			r.is_done = dwarf_formudata(&facts->high, &size) != 0;
			r.only.end = r.only.start + size;
		}
	}
	return r;
}

static bool next_of_list(struct die_ranges *r, struct die_range *out) {
	if (r->unit->split) {
		return split_ranges_next(&r->split, r->unit->split, out);
	}
	r->next = dwarf_ranges(r->die, r->next, &r->base, &out->start, &out->end);
	return r->next > 0;
}

bool die_ranges_next(struct die_ranges *r, struct die_range *out) {
	while (!r->is_done) {
		if (!r->is_list) {
			r->is_done = true;
			*out = r->only;
		} else if (!next_of_list(r, out)) {
			r->is_done = true;
			return false;
		}
		// -1 and -2 as a start would wrap; 0, 1, -1 and -2 all mark discarded code
		if (out->start > 1 && out->start >= r->unit->first_code && out->end > out->start &&
				out->start < (uint64_t)-2) {
			return true;
		}
	}
	return false;
}

struct die_name die_name(const struct unit *unit, Dwarf_Die *die, struct die_facts facts) {
	enum { STEPS_MAX = 16 }; // damaged data could form a circle
	struct die_name name = {.declared = *die};
	for (int step = 0; step < STEPS_MAX; step++) {
		name.linkage = name.linkage ?: die_text(unit, &facts.linkage_name);
		name.plain = name.plain ?: die_text(unit, &facts.name);
		Dwarf_Die next;
		if ((name.linkage && name.plain) || !facts.origin.form ||
				!dwarf_formref_die(&facts.origin, &next)) {
			break;
		}
		name.declared = next;
		facts = die_facts(&next);
	}
	return name;
}

/** What a scope other than a function adds before "::"; NULL: nothing. */
static const char *scope_name(const struct unit *unit, Dwarf_Die *die, const char *plain) {
	const char *own = die_own_name(unit, die);
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace: return own ? own : "(anonymous namespace)";
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return own ? own : strcmp(plain, "operator()") == 0 ? "{lambda}" : "{unnamed}";
	case DW_TAG_module:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type: return own;
	default: return NULL;
	}
}

bool die_child_towards(Dwarf_Die *parent, Dwarf_Off target, Dwarf_Die *out) {
	Dwarf_Die next;
	if (dwarf_child(parent, out) != 0) {
		return false;
	}
	while (dwarf_dieoffset(out) < target && dwarf_siblingof(out, &next) == 0 &&
			dwarf_dieoffset(&next) <= target && dwarf_dieoffset(&next) > dwarf_dieoffset(out)) {
		*out = next;
	}
	return dwarf_dieoffset(out) <= target;
}

enum { FUNCTIONS_MAX = 8 }; // nested functions: damaged data could form a circle

static const char *add_scope(const char *scopes, const struct unit *unit, Dwarf_Die *die,
		const char *plain, struct arena *scratch, int n_functions) {
	const char *scope;
	if (dwarf_tag(die) == DW_TAG_subprogram && n_functions < FUNCTIONS_MAX) {
		struct die_name function = die_name(unit, die, die_facts(die));
		if (function.plain && dwarf_dieoffset(&function.declared) != dwarf_dieoffset(die)) {
			return die_qualified(&function, unit, scratch,
					n_functions + 1); // it has its own scopes
		}
		scope = function.plain;
	} else {
		scope = scope_name(unit, die, plain);
	}
	return !scope ? scopes : *scopes ? arena_printf(scratch, "%s::%s", scopes, scope) : scope;
}

const char *die_qualified(const struct die_name *name, const struct unit *unit,
		struct arena *scratch, int n_functions) {
	enum { DEPTH_MAX = 100 };
	Dwarf_Die target = name->declared, at, child;
	Dwarf_Off offset = dwarf_dieoffset(&target);
	if (!dwarf_cu_die(target.cu, &at, NULL, NULL, NULL, NULL, NULL, NULL)) {
		return name->plain;
	}
	const char *scopes = "";
	for (int depth = 0; depth < DEPTH_MAX && die_child_towards(&at, offset, &child) &&
			dwarf_dieoffset(&child) < offset;
			depth++) {
		scopes = add_scope(scopes, unit, &child, name->plain, scratch, n_functions);
		at = child;
	}
	return *scopes ? arena_printf(scratch, "%s::%s", scopes, name->plain) : name->plain;
}
