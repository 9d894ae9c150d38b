// SPDX-License-Identifier: MIT
/* Names the functions that a walk found, with the lines of their calls. */
#include "symbols/dwarf/unit.h"

static bool is_c(int language) {
	return language == DW_LANG_C || language == DW_LANG_C89 || language == DW_LANG_C99 ||
			language == DW_LANG_C11 || language == 0x2c; // DW_LANG_C17, newer than the header
}

enum names_scheme answer_scheme(struct unit *unit) {
	if (!is_c(dwarf_srclang(&unit->tree_die))) {
		return NAMES_MARKED;
	}
	const char *name = die_own_name(unit, &unit->tree_die);
	return name && ends_with(slice_of_text(name), ".nim.c") ? NAMES_NIM : NAMES_C;
}

static void set_name(struct symbols_frame *frame, struct name_pool *pool, const char *linkage,
		enum names_scheme scheme) {
	const struct name name = name_pool_get(pool, linkage, scheme);
	COPY_FIELDS(frame, &name, symbol, function);
}

/** Does the symbol stand for this subprogram, or one of its parts? */
static bool is_symbol_of(const struct symbol_entry *entry, const struct unit *unit, Dwarf_Die *die,
		struct die_facts *facts) {
	struct die_ranges ranges = die_ranges_init(unit, die, facts);
	struct die_range r;
	return SOME(entry && die_ranges_next(&ranges, &r), r.start == entry->start);
}

/** Name a function without a linkage name: C, hidden in its unit, or minimal debug data. */
static void name_plain(struct asking *a, struct symbols_frame *frame, const struct die_name *name,
		const struct symbol_entry *entry) {
	struct name_pool *pool = a->question->pool;
	if (entry &&
			(slice_equal(names_without_suffixes(entry->name), slice_of_text(name->plain)) ||
					(starts_with_any(slice_of_text(entry->name), "|_Z|_R|_D") &&
							a->unit->scheme == NAMES_MARKED))) {
		set_name(frame, pool, entry->name, a->unit->scheme);
	} else if (a->unit->scheme != NAMES_MARKED) {
		set_name(frame, pool, name->plain, a->unit->scheme);
	} else {
		const char *qualified = die_qualified(name, a->unit, &a->scratch, 0);
		frame->function = name_pool_get(pool, qualified, NAMES_TEXT).function;
	}
}

/** Name a function of a chain. The symbol at `pc` may add to it; inlined functions have none. */
static void name_frame(struct asking *a, struct symbols_frame *frame, struct chain_link *link,
		struct die_facts *facts, uint64_t pc) {
	struct name_pool *pool = a->question->pool;
	const struct symbol_entry *entry = link->outer ? NULL
												   : symbol_table_find(a->question->table, pc);
	entry = is_symbol_of(entry, a->unit, &link->die, facts) ? entry : NULL;
	const struct die_name name = die_name(a->unit, &link->die, *facts);
	if (!name.linkage) {
		if (name.plain) {
			name_plain(a, frame, &name, entry);
		} else if (entry) {
			set_name(frame, pool, entry->name, a->unit->scheme);
		}
		return;
	}
	// A clone's symbol says which clone it is: foo.part.0
	bool is_same = entry &&
			slice_equal(names_without_suffixes(entry->name), names_without_suffixes(name.linkage));
	set_name(frame, pool, is_same ? entry->name : name.linkage, a->unit->scheme);
	if (name.plain && strncmp(name.linkage, "_ZN", 3) == 0 &&
			dwarf_srclang(&a->unit->tree_die) == DW_LANG_Rust) {
		const char *filled = generics_filled(frame->function, a->unit, &name, &a->scratch);
		frame->function = name_pool_get(pool, filled, NAMES_TEXT).function;
	}
}

/** DWARF 5 has folders relative to the compilation's, which comes first. */
static const char *full_path(struct asking *a, Dwarf_Files *files, const char *path) {
	const char *const *folders;
	size_t n;
	if (*path == '/' || dwarf_getsrcdirs(files, &folders, &n) != 0 || n == 0 || !folders[0] ||
			*folders[0] != '/') {
		return name_pool_get(a->question->pool, path, NAMES_PATH).function;
	}
	const char *joined = arena_printf(&a->scratch, "%s/%s", folders[0], path);
	return name_pool_get(a->question->pool, joined, NAMES_PATH).function;
}

static void set_file(struct asking *a, struct symbols_frame *frame, Dwarf_Files *files, size_t i) {
	const char *path = dwarf_filesrc(files, i, NULL, NULL);
	frame->file = path ? full_path(a, files, path) : NULL;
}

static void set_line(struct asking *a, struct symbols_frame *frame, uint64_t pc) {
	Dwarf_Line *line = dwarf_getsrc_die(&a->unit->lines_die, pc);
	Dwarf_Files *files;
	size_t index;
	int number = 0;
	if (!line || dwarf_line_file(line, &files, &index) != 0) {
		return;
	}
	set_file(a, frame, files, index);
	bool has_line = frame->file && dwarf_lineno(line, &number) == 0 && number > 0;
	frame->line = has_line ? (uint32_t)number : 0;
}

/** Files are numbered by the attribute's unit, or its skeleton. */
static void set_call(struct asking *a, struct symbols_frame *frame, struct die_facts *facts) {
	Dwarf_Die unit = a->unit->lines_die;
	Dwarf_Files *files;
	size_t n_files;
	frame->line = (uint32_t)die_number(&facts->call_line);
	bool has_files = facts->call_file.form &&
			(a->unit->split ||
					dwarf_cu_die(facts->call_file.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL)) &&
			dwarf_getsrcfiles(&unit, &files, &n_files) == 0;
	if (has_files) {
		set_file(a, frame, files, die_number(&facts->call_file));
	}
}

/** Follow the attribute to a named type, past modifiers. False: none; void if *n_pointers. */
static bool find_type(Dwarf_Die *type, unsigned attribute, int *n_pointers) {
	enum { STEPS_MAX = 16 }; // damaged data could form a circle
	Dwarf_Attribute to;
	int step = 0;
	for (; step < STEPS_MAX && dwarf_attr(type, attribute, &to); step++) {
		if (!dwarf_formref_die(&to, type)) {
			step = STEPS_MAX;
			break;
		}
		attribute = DW_AT_type;
		switch (dwarf_tag(type)) {
		case DW_TAG_pointer_type: ++*n_pointers; break;
		case DW_TAG_array_type:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type: break;
		default: return true;
		}
	}
	*n_pointers = step < STEPS_MAX ? *n_pointers : 0;
	return false;
}

/** What a call allocates, as a C++ type name, if it has one. */
static void set_type(struct asking *a, struct symbols_frame *frame, Dwarf_Die *call) {
	Dwarf_Die type = *call;
	int n_pointers = 0;
	const char *text = NULL;
	if (find_type(&type, DW_AT_LLVM_alloc_type, &n_pointers)) {
		const struct die_name name = die_name(a->unit, &type, die_facts(&type));
		text = name.plain ? die_qualified(&name, a->unit, &a->scratch, 0) : NULL;
	} else if (n_pointers) {
		text = "void";
	}
	if (text && *text) {
		text = arena_printf(&a->scratch, "%s%.*s", text, n_pointers, "****************");
		frame->allocates = name_pool_get(a->question->pool, text, NAMES_TEXT).function;
	}
}

void answer_chain(struct asking *a, size_t i) {
	struct walk *w = a->walk;
	uint64_t pc = w->pcs[i];
	uint32_t n = 0;
	for (uint32_t at = w->found[i].head; at; at = w->links.items[at - 1].outer) {
		n++;
	}
	struct symbols_frame *frames = arena_new(a->question->pool->arena, struct symbols_frame, n);
	set_line(a, &frames[0], pc);
	if (w->found[i].call) {
		set_type(a, &frames[0], &w->links.items[w->found[i].call - 1].die);
	}
	uint32_t at = w->found[i].head;
	for (uint32_t k = 0; k < n; k++) {
		struct chain_link *link = &w->links.items[at - 1];
		struct die_facts facts = die_facts(&link->die);
		name_frame(a, &frames[k], link, &facts, pc);
		if (link->outer) {
			set_call(a, &frames[k + 1], &facts);
		}
		at = link->outer;
	}
	a->question->answers[i] = (struct symbols_answer){.n_frames = n, .frames = frames};
}

void answer_variable(struct asking *a, Dwarf_Die *die, struct symbols_frame *out) {
	struct die_facts facts = die_facts(die);
	const struct die_name name = die_name(a->unit, die, facts);
	if (!name.plain) {
		return;
	}
	const char *qualified = die_qualified(&name, a->unit, &a->scratch, 0);
	out->function = name_pool_get(a->question->pool, qualified, NAMES_TEXT).function;
	(void)dwarf_attr_integrate(die, DW_AT_decl_line, &facts.call_line);
	(void)dwarf_attr_integrate(die, DW_AT_decl_file, &facts.call_file);
	set_call(a, out, &facts);
}

void answer_lines(struct asking *a, struct die_range range) {
	struct walk *w = a->walk;
	for (size_t i = sorted_first(w->pcs, w->n, range.start); i < w->n && w->pcs[i] < range.end;
			i++) {
		struct symbols_answer *answer = &a->question->answers[i];
		struct symbols_frame frame = {0};
		if (w->found[i].owner || answer->n_frames) {
			continue;
		}
		set_line(a, &frame, w->pcs[i]);
		if (frame.file) {
			answer->n_frames = 1;
			answer->frames = arena_copy(a->question->pool->arena, &frame, 1, sizeof frame);
		}
	}
}
