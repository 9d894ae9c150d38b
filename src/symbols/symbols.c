// SPDX-License-Identifier: MIT
/*
 * Answers for addresses, from symbol tables and DWARF. A module stays open with its sorted symbols
 * and list of units, since a growing recording asks about the same files again and again.
 */
#include "symbols/symbols.h"

#include "symbols/dwarf/unit.h"

struct module {
	struct module *next;
	const char *path; // lives as long as struct symbols, as does the build-id
	struct slice build_id;
	bool is_found;
	struct module_files files;
	struct symbol_table table, variables;
	bool has_variables; // they were asked for
	struct map parts;   // of functions without a symbol, by start
	struct debug_data *debug;
	Elf *elf;           // of the image
	Dwarf_CFI *callers; // NULL: not asked for, or none
};

struct symbols {
	struct arena arena; // for paths and build-ids
	struct symbols_options options;
	struct module *modules;
};

struct symbols *symbols_create(const struct symbols_options *options) {
	struct symbols *s = memory_new(1, sizeof *s);
	s->options = options ? *options : (struct symbols_options){0};
	return s;
}

static void module_destroy(struct module *m) {
	debug_data_destroy(m->debug);
	(void)dwarf_cfi_end(m->callers);
	(void)elf_end(m->elf);
	CALL_FOR(vec_finish, m, table, variables);
	map_finish(&m->parts);
	module_files_close(&m->files);
	free(m);
}

void symbols_destroy(struct symbols *s) {
	if (!s) {
		return;
	}
	while (s->modules) {
		struct module *next = s->modules->next;
		module_destroy(s->modules);
		s->modules = next;
	}
	arena_finish(&s->arena);
	free(s);
}

static void fill_table(const struct module *m, struct symbol_table *t, enum symbol_sort sort) {
	const struct module_files *f = &m->files;
	symbol_table_add(t, &f->debug.elf, SHT_SYMTAB, sort);
	symbol_table_add(t, &f->image.elf, SHT_SYMTAB, sort);
	// Other tables include the dynamic symbols
	if (t->n == 0) {
		symbol_table_add(t, &f->minidebug_elf, SHT_SYMTAB, sort);
		symbol_table_add(t, &f->image.elf, SHT_DYNSYM, sort);
	}
	symbol_table_sort(t);
}

static struct module *module_create(struct symbols *s, const struct symbols_module *asked) {
	struct module *m = memory_new(1, sizeof *m);
	m->path = arena_text(&s->arena, slice_of_text(asked->path ? asked->path : ""));
	m->build_id = slice_of(arena_text(&s->arena, asked->build_id), asked->build_id.size);
	m->is_found = module_files_find(&m->files, &s->options, asked);
	if (m->is_found) {
		fill_table(m, &m->table, SYMBOL_FUNCTIONS);
		m->debug = debug_data_create(&m->files, &s->options, m->path);
	}
	return m;
}

/** The module, opened if needed. Without a build-id the file must be unchanged. */
static struct module *module_of(struct symbols *s, const struct symbols_module *asked) {
	for (struct module **at = &s->modules; *at; at = &(*at)->next) {
		struct module *m = *at;
		if (strcmp(m->path, asked->path ? asked->path : "") == 0 &&
				slice_equal(m->build_id, asked->build_id)) {
			if (m->is_found &&
					(m->build_id.size || mapped_file_is_current(&m->files.image, asked->fd))) {
				return m;
			}
			*at = m->next;
			module_destroy(m);
			break;
		}
	}
	struct module *m = module_create(s, asked);
	m->next = s->modules;
	s->modules = m;
	return m;
}

/** The function at `pc`, or the one of which that is a part. */
static const struct symbol_entry *find_entry(struct module *m, uint64_t pc) {
	const struct symbol_entry *found = symbol_table_find(&m->table, pc);
	struct elf_code part;
	bool may_be = !found && m->table.n > 0;
	return may_be && elf_other_part(&m->files.image.elf, &m->parts, pc, &part)
			? symbol_table_find(&m->table, part.address)
			: found;
}

/** For an address without a function in DWARF: the symbol's name, with the line if known. */
static void name_by_table(struct module *m, uint64_t pc, struct symbols_answer *answer,
		struct name_pool *pool) {
	const struct symbol_entry *entry = find_entry(m, pc);
	if (!entry || (answer->n_frames && answer->frames[0].function)) {
		return;
	}
	const struct name name = name_pool_get(pool, entry->name,
			m->table.is_nim ? NAMES_NIM : NAMES_MARKED);
	struct symbols_frame *frame = arena_new(pool->arena, struct symbols_frame, 1);
	if (answer->n_frames) {
		*frame = answer->frames[0];
	}
	COPY_FIELDS(frame, &name, function, symbol);
	*answer = (struct symbols_answer){.n_frames = 1, .frames = frame};
}

void symbols_resolve(struct symbols *s, const struct symbols_module *module,
		const struct symbols_wanted *wanted, size_t n, struct symbols_answer *answers,
		struct symbols_facts *facts, struct arena *arena) {
	if (n) {
		memset(answers, 0, n * sizeof *answers);
	}
	FREED uint64_t *pcs = memory_new(n, sizeof *pcs);
	struct module *m = module_of(s, module);
	SCOPED(name_pool) pool = {.arena = arena};
	*facts = (struct symbols_facts){
			.has_symbols = m->table.n > 0,
			.has_lines = m->debug != NULL,
			.is_unresolved = !m->is_found,
	};
	// A return address may be in the next line, or the next function
	for (size_t i = 0; i < n; i++) {
		pcs[i] = wanted[i].address - (!wanted[i].is_exact && wanted[i].address);
	}
	struct debug_question q = {pcs, n, &m->table, &pool, answers};
	if (m->debug) {
		debug_data_ask(m->debug, &q);
	}
	for (size_t i = 0; i < n; i++) {
		name_by_table(m, pcs[i], &answers[i], &pool);
	}
}

bool symbols_variable(struct symbols *s, const struct symbols_module *module, uint64_t address,
		struct symbols_variable *out) {
	struct module *m = module_of(s, module);
	if (m->is_found && !m->has_variables) {
		m->has_variables = true;
		fill_table(m, &m->variables, SYMBOL_VARIABLES);
	}
	const struct symbol_entry *e = symbol_table_find(&m->variables, address);
	*out = e ? (struct symbols_variable){e->start, e->name} : (struct symbols_variable){0};
	return e;
}

void symbols_declared(struct symbols *s, const struct symbols_module *module, uint64_t start,
		struct symbols_frame *out, struct arena *arena) {
	SCOPED(name_pool) pool = {.arena = arena};
	const struct module *m = module_of(s, module);
	*out = (struct symbols_frame){0};
	if (m->debug) {
		debug_data_declared(m->debug, &m->variables, start, &pool, out);
	}
}

// ---- callers

struct step {
	bool (*read)(void *user, uint64_t at, void *out, size_t bytes);
	void *user;
	const uint64_t *registers; // the frame's
	uint64_t cfa;
};

/**
 * Evaluate expressions that add constants to registers and to words of memory, as compilers use.
 * `is_value`: the result is the value, not its address. False: another expression.
 */
static bool evaluate(const struct step *s, const Dwarf_Op *ops, size_t n, uint64_t *out,
		bool *is_value) {
	bool ok = n > 0;
	*is_value = false;
	for (const Dwarf_Op *op = ops; ok && op < ops + n; op++) {
		const bool is_any = op->atom == DW_OP_bregx;
		const uint64_t reg = is_any ? op->number : op->atom - (uint64_t)DW_OP_breg0;
		if (op->atom == DW_OP_call_frame_cfa) {
			*out = s->cfa;
		} else if (op->atom == DW_OP_plus_uconst) {
			*out += op->number;
		} else if (op->atom == DW_OP_deref) {
			ok = s->read(s->user, *out, out, sizeof *out);
		} else if (op->atom == DW_OP_stack_value) {
			*is_value = true;
		} else if ((ok = reg < SYMBOLS_REGISTERS)) {
			*out = s->registers[reg] + (is_any ? op->number2 : op->number);
		}
	}
	return ok;
}

bool symbols_find_caller(struct symbols *s, const struct symbols_module *module, uint64_t pc,
		bool (*read)(void *user, uint64_t at, void *out, size_t bytes), void *user,
		struct symbols_caller *c) {
	enum { KEPT = 1 << 3 | 1 << 6 | 0xf << 12 }; // callee-saved: rbx, rbp...
	struct module *m = module_of(s, module);
	const struct symbols_caller callee = *c;
	struct step step = {read, user, callee.registers, 0};
	FREED Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops, room[3];
	size_t n;
	uint64_t end;
	bool is_signal, is_value;
	if (m->is_found && !m->elf) {
		(void)elf_version(EV_CURRENT);
		m->elf = elf_memory((char *)m->files.image.bytes.data, m->files.image.bytes.size);
		m->callers = dwarf_getcfi_elf(m->elf);
	}
	bool ok = m->callers && dwarf_cfi_addrframe(m->callers, pc, &frame) == 0 &&
			dwarf_frame_info(frame, &c->called, &end, &is_signal) == SYMBOLS_PC && !is_signal &&
			dwarf_frame_cfa(frame, &ops, &n) == 0 && evaluate(&step, ops, n, &step.cfa, &is_value);
	c->called_end = step.cfa;
	for (int i = 0; ok && i < SYMBOLS_REGISTERS; i++) {
		uint64_t *value = &c->registers[i];
		*value = KEPT >> i & 1 ? *value : 0;
		c->saved_at[i] = 0;
		ok = dwarf_frame_register(frame, i, room, &ops, &n) == 0 &&
				(n == 0 || evaluate(&step, ops, n, value, &is_value));
		if (ok && n > 0 && !is_value) {
			c->saved_at[i] = *value;
			ok = read(user, *value, value, sizeof *value);
		}
	}
	return ok;
}

const char *symbols_for_people(const char *linkage_name, struct arena *arena) {
	return names_demangle(linkage_name, NAMES_MARKED, arena);
}

void symbols_put(const struct symbols_answer *answer, struct rec_location *place,
		struct symbols_rows *rows, struct texts *texts) {
	uint32_t n = answer->n_frames < UINT16_MAX ? answer->n_frames : UINT16_MAX;
	if (n == 0) {
		return;
	}
	place->first_frame = (uint32_t)rows->n;
	place->n_frames = (uint16_t)n;
	EACH_OF(f, answer->frames, n) {
		struct rec_frame row = {
				.function = texts_id_of(texts, f->function),
				.symbol = texts_id_of(texts, f->symbol),
				.file = texts_id_of(texts, f->file),
				.line = f->line,
				.allocates = texts_id_of(texts, f->allocates),
		};
		(void)vec_add(rows, row);
	}
}

struct slice symbols_suppressions(const struct symbols_module *module, struct arena *arena) {
	SCOPED_BY(mapped_file_close) struct mapped_file file = {0};
	struct slice text = {0};
	if (module->fd < 0 || !mapped_file_open(&file, module->fd, module->path, (struct slice){0})) {
		return text;
	}
	return elf_returned_text(&file.elf, "__lsan_default_suppressions", &text)
			? slice_of(arena_text(arena, text), text.size)
			: (struct slice){0};
}
