// SPDX-License-Identifier: MIT
/*
 * Keeps the list of units, and closes elfutils' handle before it gets large.
 *
 * elfutils keeps everything it read of a unit until its handle is closed. So we keep the list of
 * units with their ranges, and reopen the handle whenever the units walked have cost enough: memory
 * stays flat however much DWARF there is. Pages of the file count as memory too, and the kernel
 * maps more than are read: they are released every few units.
 *
 * Of a file with compressed sections, as Debian's are, only the units wanted according to
 * .debug_aranges are listed: most programs only ask a C library about the call of main. If that
 * does not know an address, all units are listed.
 */
#include "symbols/dwarf/unit.h"

enum {
	HANDLE_BYTES_MAX = 40 << 20,
	UNITS_TO_RELAX = 64,
	QUESTIONS_MAX = 16,             // answered by .debug_aranges; then all units are listed
	VARIABLES_COST_MAX = 512 << 20, // about 0.9 s
};

struct unit_entry {
	Dwarf_Off unit;   // where it begins
	Dwarf_Off offset; // of its first DIE
	uint64_t bytes;
	size_t first_range, n_ranges;
};

struct debug_data {
	struct arena arena;   // for decompressed sections
	struct slice aranges; // .debug_aranges; empty: nothing is compressed
	Elf *elf, *alternate_elf;
	Dwarf *handle, *alternate;
	struct split_source splits;
	const struct mapped_file *file; // that of `elf`
	uint64_t first_code;
	uint64_t handle_bytes; // an estimate, since it was opened
	unsigned n_units_read; // since pages were released
	bool has_all_units;
	unsigned n_questions;         // while it has not
	VEC(struct unit_entry) units; // in the order of the file
	VEC(struct die_range) ranges;
	struct variables variables;
};

/** Not written to unless sections are compressed. */
static Elf *open_elf(const struct mapped_file *file, struct arena *arena) {
	struct slice image = compose_is_packed(&file->elf) ? compose_unpacked(&file->elf, arena)
													   : file->bytes;
	return image.size ? elf_memory((char *)image.data, image.size) : NULL;
}

static bool open_handle(struct debug_data *d) {
	d->handle = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	d->handle_bytes = 0;
	if (d->handle && d->alternate) {
		dwarf_setalt(d->handle, d->alternate);
	}
	return d->handle != NULL;
}

static void relax(struct debug_data *d) {
	mapped_file_relax(d->file);
	if (d->alternate) {
		mapped_file_relax(&d->splits.files->alternate);
	}
	d->n_units_read = 0;
}

static void count_unit(struct debug_data *d) {
	if (++d->n_units_read == UNITS_TO_RELAX) {
		relax(d);
	}
}

/** Release what elfutils has read. If that fails, the file cannot be read any more. */
static void renew_handle(struct debug_data *d) {
	dwarf_end(d->handle);
	relax(d);
	(void)open_handle(d);
}

static void add_unit(struct debug_data *d, Dwarf_Die *die) {
	struct unit_entry *entry = vec_push(&d->units);
	entry->offset = dwarf_dieoffset(die);
	entry->unit = entry->offset - dwarf_cuoffset(die);
	entry->first_range = d->ranges.n;
	struct unit unit = {.lines_die = *die, .tree_die = *die, .first_code = d->first_code};
	struct die_facts facts = die_facts(die);
	struct die_ranges ranges = die_ranges_init(&unit, die, &facts);
	struct die_range r;
	while (die_ranges_next(&ranges, &r)) {
		(void)vec_add(&d->ranges, r);
	}
	entry->n_ranges = d->ranges.n - entry->first_range;
}

/** List all units with code, in the order of the file. */
static void list_units(struct debug_data *d) {
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;
	d->units.n = d->ranges.n = 0;
	while (dwarf_get_units(d->handle, cu, &cu, NULL, &type, &die, NULL) == 0) {
		Dwarf_Off here = dwarf_dieoffset(&die);
		if (d->units.n && !d->units.items[d->units.n - 1].bytes) {
			struct unit_entry *last = &d->units.items[d->units.n - 1];
			last->bytes = here - last->offset;
		}
		if (type == DW_UT_type || type == DW_UT_split_type) {
			continue;
		}
		add_unit(d, &die);
		if (d->units.items[d->units.n - 1].n_ranges == 0) {
			d->units.n--;
		}
		count_unit(d);
	}
	d->has_all_units = true;
	renew_handle(d);
}

// ---- some units of a compressed file

/** List the unit at `offset`. False: unreadable. */
static bool add_unit_at(struct debug_data *d, Dwarf_Off offset) {
	Dwarf_Off next;
	size_t header_bytes;
	Dwarf_Die die;
	if (dwarf_next_unit(d->handle, offset, &next, &header_bytes, NULL, NULL, NULL, NULL, NULL,
				NULL) != 0 ||
			!dwarf_offdie(d->handle, offset + header_bytes, &die)) {
		return false;
	}
	add_unit(d, &die);
	d->units.items[d->units.n - 1].bytes = next - offset;
	return true;
}

/** Also list these units, in the order of the file. False: one is unreadable. */
static bool add_units(struct debug_data *d, uint64_t *at, size_t n) {
	size_t n_before = d->units.n;
	qsort(at, n, sizeof *at, by_number);
	if (n == 0 || at[n - 1] == AHEAD_NONE) {
		return n == 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct unit_entry key = {.unit = at[i]};
		bool is_new = (i == 0 || at[i] != at[i - 1]) &&
				(n_before == 0 || !bsearch(&key, d->units.items, n_before, sizeof key, by_number));
		if (is_new && !add_unit_at(d, at[i])) {
			return false;
		}
	}
	qsort(d->units.items, d->units.n, sizeof *d->units.items, by_number);
	return true;
}

/** Do the listed units have code at all addresses of a question? */
static bool have_all_code(const struct debug_data *d, const struct debug_question *q) {
	SCOPED(walk) w = walk_init(q->pcs, q->n);
	EACH(range, d->ranges) {
		for (size_t k = sorted_first(q->pcs, q->n, range->start);
				k < q->n && q->pcs[k] < range->end && !w.found[k].owner; k++) {
			w.found[k].owner = 1;
		}
	}
	return ALL(k, q->n, w.found[k].owner != 0);
}

/** List only the units of the question's addresses. False: impossible. */
static bool list_wanted_units(struct debug_data *d, const struct debug_question *q) {
	bool is_worth_it = d->aranges.size && d->n_questions++ < QUESTIONS_MAX;
	FREED uint64_t *units = memory_new(q->n, sizeof *units);
	return is_worth_it && ahead_units(d->aranges, q->pcs, q->n, units) &&
			add_units(d, units, q->n) && have_all_code(d, q);
}

// ----

struct debug_data *debug_data_create(const struct module_files *files,
		const struct symbols_options *options, const char *module_path) {
	const struct mapped_file *file = module_files_dwarf(files);
	if (!file) {
		return NULL;
	}
	struct debug_data *d = memory_new(1, sizeof *d);
	(void)elf_version(EV_CURRENT);
	d->arena.may_lack = d->splits.arena.may_lack = true;
	d->splits.files = files;
	d->splits.program = file;
	d->splits.options = options;
	d->splits.module_path = module_path;
	d->file = file;
	d->first_code = elf_first_code_address(&file->elf);
	d->elf = open_elf(file, &d->arena);
	if (compose_is_packed(&file->elf)) {
		d->aranges = compose_section_bytes(&file->elf, ".debug_aranges", &d->arena);
	}
	if (files->alternate.bytes.size) {
		d->alternate_elf = open_elf(&files->alternate, &d->arena);
		d->alternate = dwarf_begin_elf(d->alternate_elf, DWARF_C_READ, NULL);
	}
	if (!d->elf || !open_handle(d)) {
		debug_data_destroy(d);
		return NULL;
	}
	return d;
}

void debug_data_destroy(struct debug_data *d) {
	if (!d) {
		return;
	}
	dwarf_end(d->handle);
	dwarf_end(d->alternate);
	elf_end(d->elf);
	elf_end(d->alternate_elf);
	split_source_finish(&d->splits);
	arena_finish(&d->arena);
	CALL_FOR(vec_finish, d, units, ranges, variables);
	free(d);
}

static bool entry_is_wanted(const struct debug_data *d, const struct unit_entry *e,
		const struct walk *w) {
	return ANY(i, e->n_ranges, walk_wants(w, d->ranges.items[e->first_range + i]));
}

static void ask_unit(struct asking *a, struct debug_data *d, const struct unit_entry *e) {
	struct walk *w = a->walk;
	walk_unit(w, a->unit, false);
	// Nested functions are searched only if something is missing
	if (entry_is_wanted(d, e, w) && dwarf_srclang(&a->unit->tree_die) != DW_LANG_Mips_Assembler) {
		walk_unit(w, a->unit, true);
	}
	EACH(i, w->claimed) {
		answer_chain(a, *i);
	}
	for (size_t i = 0; i < e->n_ranges; i++) {
		answer_lines(a, d->ranges.items[e->first_range + i]);
	}
	walk_next_unit(w);
}

/**
 * Reopen the handle, and step to unit `e`: to reach it, elfutils reads the heads of all units
 * before, which is most of a large file's pages.
 */
static void renew_up_to(struct debug_data *d, const struct unit_entry *e) {
	size_t wanted = (size_t)(e - d->units.items);
	Dwarf_Die die;
	renew_handle(d);
	for (size_t i = 0; d->handle && i < wanted; i += UNITS_TO_RELAX) {
		(void)dwarf_offdie(d->handle, d->units.items[i].offset, &die);
		relax(d);
	}
}

/** The unit that begins with `die`; `split` is zeroed, and must be closed. */
static struct unit unit_of(struct debug_data *d, Dwarf_Die *die, struct split *split) {
	bool is_split = split_open(split, &d->splits, die);
	return (struct unit){.first_code = d->first_code,
			.lines_die = *die,
			.tree_die = is_split ? split->root : *die,
			.split = is_split ? split : NULL};
}

/** Unreadable units are skipped. */
static void open_and_ask(struct debug_data *d, const struct debug_question *q, struct walk *w,
		const struct unit_entry *e) {
	Dwarf_Die die;
	if (d->handle_bytes > HANDLE_BYTES_MAX) {
		renew_up_to(d, e);
	}
	if (!d->handle || !dwarf_offdie(d->handle, e->offset, &die)) {
		return;
	}
	SCOPED_BY(split_close) struct split split = {0};
	struct unit unit = unit_of(d, &die, &split);
	unit.scheme = answer_scheme(&unit);
	struct asking a = {.question = q, .unit = &unit, .walk = w};
	ask_unit(&a, d, e);
	Dwarf_Lines *lines;
	size_t n_lines = 0;
	(void)dwarf_getsrclines(&unit.lines_die, &lines, &n_lines);
	// A generous estimate of elfutils' line table
	d->handle_bytes += e->bytes + split.arena.bytes + n_lines * 64 + 4096;
	count_unit(d);
	arena_finish(&a.scratch);
}

void debug_data_ask(struct debug_data *d, const struct debug_question *q) {
	SCOPED(walk) w = walk_init(q->pcs, q->n);
	if (!d->has_all_units && !list_wanted_units(d, q)) {
		list_units(d);
	}
	EACH_THAT(e, d->units, entry_is_wanted(d, e, &w)) {
		open_and_ask(d, q, &w, e);
	}
	renew_handle(d);
}

// ---- variables

/** Search all units, within VARIABLES_COST_MAX. */
static void search_variables(struct debug_data *d, const struct symbol_table *table) {
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	while (d->variables.cost < VARIABLES_COST_MAX &&
			dwarf_get_units(d->handle, cu, &cu, NULL, NULL, &die, NULL) == 0) {
		SCOPED_BY(split_close) struct split split = {0};
		if (die.addr) { // damaged units have none
			struct unit unit = unit_of(d, &die, &split);
			variables_search(&d->variables, &unit, split_addresses(&d->splits, &die), table);
			count_unit(d);
		}
	}
	vec_sort(&d->variables, by_number);
	renew_handle(d);
}

void debug_data_declared(struct debug_data *d, const struct symbol_table *table, uint64_t start,
		struct name_pool *pool, struct symbols_frame *out) {
	struct variables *v = &d->variables;
	if (v->cost == 0) {
		search_variables(d, table);
	}
	const struct debug_question q = {.pool = pool};
	for (size_t i = sorted_first_of(v->items, v->n, sizeof *v->items, start); !out->function &&
			i < v->n && v->items[i].address == start && v->cost < VARIABLES_COST_MAX;
			i++) {
		SCOPED_BY(split_close) struct split split = {0};
		Dwarf_Die die;
		if (dwarf_offdie(d->handle, v->items[i].unit, &die)) {
			struct unit unit = unit_of(d, &die, &split);
			struct asking a = {.question = &q, .unit = &unit};
			if (variables_find(v, i, &unit, &die)) {
				answer_variable(&a, &die, out);
			}
			arena_finish(&a.scratch);
		}
	}
}
