// SPDX-License-Identifier: MIT

/*
 * From the beginning of each function all ways through it are followed, and what is known of the
 * frame is noted at each instruction. Functions begin where a symbol says so, where a call goes,
 * and where a pointer to code is made; a jump by a table goes to what the table says.
 *
 * Functions that do not return are recognized by their names. After a call of one that is not
 * recognized, the code behind the call is followed by mistake; therefore the beginning of a
 * function overrides what was noted there. Otherwise each instruction is decoded once.
 */

#include "injector/resident/frames.h"

#include "injector/resident/flow.h"

#include <elf.h>

enum {
	FUNCTION_MAX = 1 << 16, // how far the ways of a switch can be from it
	TEXT_MAX = 64 << 20,
};

static bool is_known(const struct frame_row *row) {
	return row->sp != 0 || row->bp != 0 || row->is_end;
}

static bool has_tables(const struct flow *f, uint64_t at) {
	return code_map_function_at(&f->tables, at) != CODE_NO_FUNCTION;
}

static void mark(struct flow *f, uint64_t at, unsigned marks) {
	if (flow_is_inside(f, at)) {
		f->marks[at - f->start] |= (uint8_t)marks;
	}
}

static void add_begin(struct flow *f, uint64_t at) {
	if (!flow_is_inside(f, at) || (f->marks[at - f->start] & FLOW_BEGIN) != 0) {
		return;
	}
	mark(f, at, FLOW_BEGIN);
	struct flow_place *item = has_tables(f, at) ? NULL : vec_push(&f->begins);
	if (item) {
		*item = (struct flow_place){.at = at, .row = flow_entry};
	}
}

static void add_place(struct flow *f, uint64_t at, const struct frame_row *row, bool is_forced) {
	struct flow_place *item = flow_is_inside(f, at) ? vec_push(&f->places) : NULL;
	if (item) {
		*item = (struct flow_place){at, *row, is_forced};
	}
}

// ---- ways

static void add_ways(struct flow *f, const struct step *s, uint64_t at, const struct frame_row *row,
		bool is_forced) {
	size_t width = s->has_addresses ? sizeof(uint64_t) : sizeof(int32_t);
	struct slice ways = module_code_bytes(f->module, s->table, s->n_ways * width);
	for (size_t k = 0; k + width <= ways.size; k += width) {
		uint64_t to;
		int32_t distance;
		memcpy(&distance, ways.data + k, sizeof distance);
		to = s->table + (uint64_t)(int64_t)distance;
		if (s->has_addresses) {
			memcpy(&to, ways.data + k, sizeof to);
		}
		if (to - at + FUNCTION_MAX < 2 * FUNCTION_MAX) {
			add_place(f, to, row, is_forced);
		}
	}
}

/** Note where an instruction leads besides the next. Is that the next one of its way? */
static bool goes_on(struct flow *f, const struct step *s, uint64_t at, const struct frame_row *row,
		bool is_forced) {
	switch (s->way) {
	case STEP_ON: return true;
	case STEP_CALL:
		add_begin(f, s->to);
		return !flow_is_inside(f, s->to) || (f->marks[s->to - f->start] & FLOW_NO_RETURN) == 0;
	case STEP_BRANCH: add_place(f, s->to, row, is_forced); return true;
	case STEP_JUMP:
		if (row->sp == STEP_ENTRY_SP && row->bp_at == 0 && !row->is_end) {
			add_begin(f, s->to); // a call at the very end, or the same as one
		} else {
			add_place(f, s->to, row, is_forced);
		}
		return false;
	case STEP_SWITCH: add_ways(f, s, at, row, is_forced); return false;
	default: return false;
	}
}

/** One way, until it ends, is known already, or comes to another function's beginning. */
static void walk(struct flow *f, const struct flow_place *from) {
	struct frame_row row = from->row;
	struct step_hints hints = {0};
	struct step s;
	for (uint64_t at = from->at; flow_is_inside(f, at) && is_known(&row); at += s.n_bytes) {
		struct frame_row *noted = &f->rows[at - f->start];
		const struct frame_row before = row;
		unsigned marks = f->marks[at - f->start];
		bool is_begun = ((marks & FLOW_BEGIN) != 0 && !flow_row_is_same(&row, &flow_entry)) ||
				((marks & FLOW_COLD) != 0 && at != from->at);
		bool is_done = noted->n_bytes != 0 && (!from->is_forced || flow_row_is_same(&row, noted));
		if (is_begun || is_done || f->patience == 0 ||
				!step_over(&s, &row, &hints, f->code + (at - f->start), f->end - at, at)) {
			return;
		}
		f->patience--;
		f->pages[(at - f->start) / FLOW_PAGE] = 1;
		*noted = before;
		noted->n_bytes = s.n_bytes;
		add_begin(f, s.pointer);
		if (!goes_on(f, &s, at, &row, from->is_forced)) {
			return;
		}
	}
}

static void follow(struct flow *f) {
	while (f->begins.n > 0) {
		struct flow_place begin = f->begins.items[--f->begins.n];
		const struct frame_row *noted = &f->rows[begin.at - f->start];
		begin.is_forced = noted->n_bytes != 0 && !flow_row_is_same(noted, &flow_entry);
		walk(f, &begin);
		while (f->places.n > 0) {
			const struct flow_place place = f->places.items[--f->places.n];
			walk(f, &place);
		}
	}
}

// ---- modules

static bool never_returns(const char *name) {
	static const char *const names[] = {"abort", "exit", "_exit", "_Exit", "quick_exit",
			"__assert_fail", "__stack_chk_fail", "longjmp", "siglongjmp", "_longjmp",
			"pthread_exit", "__pthread_exit", "thrd_exit", "malloc_printerr", "__libc_fatal",
			"__fortify_fail", "__chk_fail", "_Unwind_Resume", "_dl_signal_error",
			"__assert_fail_base"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(name, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

static void add_symbols(struct flow *f) {
	struct elf_symbols symbols = elf_symbols_all(&f->module->image);
	struct elf_symbol symbol;
	while (elf_symbols_next(&symbols, &symbol)) {
		if (symbol.type != STT_FUNC || symbol.section == SHN_UNDEF) {
			continue;
		}
		if (!strstr(symbol.name, ".cold")) {
			add_begin(f, symbol.address);
			mark(f, symbol.address, never_returns(symbol.name) ? FLOW_NO_RETURN : 0);
		} else {
			mark(f, symbol.address, FLOW_COLD);
		}
	}
}

/** Is there an allocation function of that module, or its beginning, that no table covers? */
static bool needs_frames(const struct flow *f, const struct found_functions *functions,
		bool is_program) {
	bool needs = is_program && f->module->image.entry != 0 &&
			!has_tables(f, f->module->image.entry);
	for (size_t i = 0; i < functions->n && !needs; i++) {
		const struct found_function *function = &functions->items[i];
		needs = function->module_start == f->module->start &&
				!has_tables(f, function->address - f->module->bias);
	}
	return needs;
}

static void follow_segment(struct buffer *out, struct flow *f, const struct elf_segment *s) {
	struct slice code = module_code_bytes(f->module, s->address, s->file_bytes);
	f->code = code.data;
	f->start = s->address;
	f->end = s->address + code.size;
	f->patience = 4 * code.size;
	f->rows = calloc(code.size, sizeof *f->rows);
	f->marks = calloc(code.size, 1);
	f->pages = calloc(code.size / FLOW_PAGE + 1, 1);
	if (f->rows && f->marks && f->pages) {
		add_begin(f, f->module->image.entry);
		add_symbols(f);
		follow(f);
		flow_put_records(out, f);
	}
	free(f->rows);
	free(f->marks);
	free(f->pages);
	vec_finish(&f->begins);
	vec_finish(&f->places);
}

void frames_make(struct buffer *out, const struct modules_code *modules,
		const struct found_functions *functions) {
	for (size_t i = 0; i < modules->n; i++) {
		struct flow f = {.module = &modules->items[i]};
		struct elf_segment s;
		(void)code_map_init(&f.tables, &f.module->image); // none at all: there are none
		bool needs = needs_frames(&f, functions, i == 0);
		for (uint32_t k = 0; needs && elf_segment_at(&f.module->image, k, &s); k++) {
			if (s.type == PT_LOAD && (s.flags & PF_X) != 0 && s.file_bytes > 0 &&
					s.file_bytes < TEXT_MAX) {
				follow_segment(out, &f, &s);
			}
		}
		code_map_finish(&f.tables);
	}
	if (out->size > 0) {
		buffer_u32(out, 0);
	}
}
