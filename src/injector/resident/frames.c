// SPDX-License-Identifier: MIT
/*
 * Makes unwind tables for code that has none. All ways through each function are followed from its
 * beginning, and what is known of the frame is noted at each instruction. Functions begin at
 * symbols, at the targets of calls, and where a pointer to code leads; a jump through a table goes
 * where the table says.
 *
 * Functions that do not return are recognized by name. After a call of one that is not recognized,
 * the code after the call is followed by mistake; so a function's beginning overrides what was
 * noted there. Otherwise each instruction is decoded once.
 *
 * The notes become DWARF call frame instructions: only differences to the row before are written,
 * and a record ends at the first gap.
 */
#include "injector/resident/blob.h"
#include "machine.h"

#include <dwarf.h>

enum {
	PAGE = 4096,
	FUNCTION_MAX = 1 << 16, // the farthest that a switch's ways can be from it
	TEXT_MAX = 64 << 20,
};

/** Of places. */
enum {
	IS_BEGIN = 1,  // a function begins there
	IS_COLD = 2,   // the cold part of a function, which is jumped to
	NO_RETURN = 4, // what begins there never returns
};

struct place {
	uint64_t at;
	struct frame_row row;
	bool is_forced; // what was noted there is wrong
};

/** A segment of code, with what is known before each of its instructions. */
struct flow {
	const struct module_code *module;
	struct code_map tables; // functions that have unwind tables
	uint64_t start, end;    // of the code, as the file counts
	const uint8_t *code;
	struct frame_row *rows; // one per byte
	uint8_t *marks;         // likewise: IS_BEGIN...
	uint8_t *pages;         // is anything noted in that page?
	uint64_t patience;      // instructions left to look at
	VEC(struct place) begins, places;
};

static const struct frame_row entry_row = {.sp = STEP_ENTRY_SP};

static bool is_inside(const struct flow *f, uint64_t at) {
	return at >= f->start && at < f->end;
}

static bool is_same(const struct frame_row *a, const struct frame_row *b) {
	return a->sp == b->sp && a->bp == b->bp && a->bp_at == b->bp_at && a->is_end == b->is_end;
}

// ---- records

/** Set the length of the record that begins at `at`, and pad it to a multiple of 8. */
static void end_record(struct buffer *out, size_t at) {
	while (!out->failed && (out->size - at) % STEP_WORD != 4) {
		buffer_u8(out, 0);
	}
	uint32_t n_bytes = (uint32_t)(out->size - at - sizeof(uint32_t));
	if (!out->failed) {
		memcpy((uint8_t *)out->data + at, &n_bytes, sizeof n_bytes);
	}
}

/** At a function's beginning the return address is one word below the CFA. */
static void put_common(struct buffer *out) {
	const uint8_t common[] = {1, 'z', 'R', 0, // version, augmentation
			1, 0x78, MACHINE_DWARF_RA,        // code by 1, data by -8
			1, 0,                             // addresses as they are
			DW_CFA_def_cfa, MACHINE_DWARF_SP, STEP_WORD,
			(uint8_t)(DW_CFA_offset | MACHINE_DWARF_RA), 1};
	buffer_u32(out, 0);
	buffer_u32(out, 0);
	buffer_bytes(out, common, sizeof common);
	end_record(out, 0);
}

static void put_row(struct buffer *out, const struct frame_row *before,
		const struct frame_row *row) {
	if (row->sp != before->sp || (row->sp == 0 && row->bp != before->bp)) {
		buffer_u8(out, DW_CFA_def_cfa);
		buffer_varint(out, row->sp != 0 ? MACHINE_DWARF_SP : MACHINE_DWARF_BP);
		buffer_varint(out, (uint64_t)STEP_WORD * (row->sp != 0 ? row->sp : row->bp));
	}
	if (row->bp_at != before->bp_at) {
		buffer_u8(out,
				(uint8_t)((row->bp_at != 0 ? DW_CFA_offset : DW_CFA_restore) | MACHINE_DWARF_BP));
		if (row->bp_at != 0) {
			buffer_varint(out, row->bp_at);
		}
	}
	if (row->is_end) {
		buffer_u8(out, DW_CFA_undefined);
		buffer_varint(out, MACHINE_DWARF_RA);
	}
}

/** A record of the notes from `at` up to the first gap. Returns where it ends. */
static uint64_t put_record(struct buffer *out, const struct flow *f, uint64_t at) {
	size_t begin = out->size;
	struct frame_row before = entry_row;
	uint64_t start = at, told = at;
	bool is_end = f->rows[at - f->start].is_end;
	buffer_u32(out, 0);
	buffer_u32(out, (uint32_t)(begin + sizeof(uint32_t)));
	buffer_u64(out, f->module->bias + start);
	size_t size_at = out->size;
	buffer_u64(out, 0);
	buffer_u8(out, 0);
	for (const struct frame_row *row; is_inside(f, at) &&
			(row = &f->rows[at - f->start])->n_bytes != 0 && row->is_end == is_end;
			at += row->n_bytes) {
		if (is_same(row, &before) && at != start) {
			continue;
		}
		if (at - told >= 0x40) {
			buffer_u8(out, DW_CFA_advance_loc4);
			buffer_u32(out, (uint32_t)(at - told));
		} else if (at != told) {
			buffer_u8(out, (uint8_t)(DW_CFA_advance_loc | (at - told)));
		}
		put_row(out, &before, row);
		told = at;
		before = *row;
	}
	uint64_t n_bytes = at - start;
	if (!out->failed) {
		memcpy((uint8_t *)out->data + size_at, &n_bytes, sizeof n_bytes);
	}
	end_record(out, begin);
	return at;
}

/** Add what was noted, after a common record if `out` is empty. */
static void put_records(struct buffer *out, const struct flow *f) {
	if (out->size == 0) {
		put_common(out);
	}
	for (uint64_t at = f->start; at < f->end;) {
		uint64_t into = at - f->start;
		if (!f->pages[into / PAGE]) {
			at += PAGE - into % PAGE; // almost nothing of a large program is looked at
		} else {
			at = f->rows[into].n_bytes != 0 ? put_record(out, f, at) : at + 1;
		}
	}
}

// ---- functions

static bool has_tables(const struct flow *f, uint64_t at) {
	return code_map_function_at(&f->tables, at) != CODE_NO_FUNCTION;
}

static void mark(struct flow *f, uint64_t at, unsigned marks) {
	if (is_inside(f, at)) {
		f->marks[at - f->start] |= (uint8_t)marks;
	}
}

static void add_begin(struct flow *f, uint64_t at) {
	if (!is_inside(f, at) || (f->marks[at - f->start] & IS_BEGIN) != 0) {
		return;
	}
	mark(f, at, IS_BEGIN);
	if (!has_tables(f, at)) {
		(void)vec_add(&f->begins, (struct place){.at = at, .row = entry_row});
	}
}

static void add_place(struct flow *f, uint64_t at, const struct frame_row *row, bool is_forced) {
	if (is_inside(f, at)) {
		(void)vec_add(&f->places, (struct place){at, *row, is_forced});
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

/** Note where an instruction leads besides the next. Is that next one part of its way? */
static bool goes_on(struct flow *f, const struct step *s, uint64_t at, const struct frame_row *row,
		bool is_forced) {
	switch (s->way) {
	case STEP_ON: return true;
	case STEP_CALL:
		add_begin(f, s->to);
		return !is_inside(f, s->to) || (f->marks[s->to - f->start] & NO_RETURN) == 0;
	case STEP_BRANCH: add_place(f, s->to, row, is_forced); return true;
	case STEP_JUMP:
		if (row->sp == STEP_ENTRY_SP && row->bp_at == 0 && !row->is_end) {
			add_begin(f, s->to); // a call at the very end, or a tail call
		} else {
			add_place(f, s->to, row, is_forced);
		}
		return false;
	case STEP_SWITCH: add_ways(f, s, at, row, is_forced); return false;
	default: return false;
	}
}

/** Follow one way until it ends, is known, or comes to another function's beginning. */
static void walk(struct flow *f, const struct place *from) {
	struct frame_row row = from->row;
	struct step_hints hints = {0};
	struct step s;
	for (uint64_t at = from->at; is_inside(f, at) && (row.sp != 0 || row.bp != 0 || row.is_end);
			at += s.n_bytes) {
		struct frame_row *noted = &f->rows[at - f->start];
		const struct frame_row before = row;
		unsigned marks = f->marks[at - f->start];
		bool is_begun = ((marks & IS_BEGIN) != 0 && !is_same(&row, &entry_row)) ||
				((marks & IS_COLD) != 0 && at != from->at);
		bool is_done = noted->n_bytes != 0 && (!from->is_forced || is_same(&row, noted));
		if (is_begun || is_done || f->patience == 0 ||
				!step_over(&s, &row, &hints, f->code + (at - f->start), f->end - at, at)) {
			return;
		}
		f->patience--;
		f->pages[(at - f->start) / PAGE] = 1;
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
		struct place begin = f->begins.items[--f->begins.n];
		const struct frame_row *noted = &f->rows[begin.at - f->start];
		begin.is_forced = noted->n_bytes != 0 && !is_same(noted, &entry_row);
		walk(f, &begin);
		while (f->places.n > 0) {
			const struct place place = f->places.items[--f->places.n];
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
	return ANY(i, N_OF(names), strcmp(name, names[i]) == 0);
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
			mark(f, symbol.address, never_returns(symbol.name) ? NO_RETURN : 0);
		} else {
			mark(f, symbol.address, IS_COLD);
		}
	}
}

/** Is there an allocation function of that module, or its startup code, that no table covers? */
static bool needs_frames(const struct flow *f, const struct found_functions *functions,
		bool is_program) {
	const struct module_code *m = f->module;
	return (is_program && m->image.entry != 0 && !has_tables(f, m->image.entry)) ||
			FIND_IN(function, *functions,
					function->module_start == m->start &&
							!has_tables(f, function->address - m->bias));
}

static void follow_segment(struct buffer *out, struct flow *f, const struct elf_segment *s) {
	struct slice code = module_code_bytes(f->module, s->address, s->file_bytes);
	f->code = code.data;
	f->start = s->address;
	f->end = s->address + code.size;
	f->patience = 4 * code.size;
	f->rows = calloc(code.size, sizeof *f->rows);
	f->marks = calloc(code.size, 1);
	f->pages = calloc(code.size / PAGE + 1, 1);
	if (f->rows && f->marks && f->pages) {
		add_begin(f, f->module->image.entry);
		add_symbols(f);
		follow(f);
		put_records(out, f);
	}
	free(f->rows);
	free(f->marks);
	free(f->pages);
	CALL_FOR(vec_finish, f, begins, places);
}

void frames_make(struct buffer *out, const struct modules_code *modules,
		const struct found_functions *functions) {
	for (size_t i = 0; i < modules->n; i++) {
		struct flow f = {.module = &modules->items[i]};
		struct elf_segment s;
		(void)code_map_init(&f.tables, &f.module->image); // none at all: there are none
		bool needs = needs_frames(&f, functions, i == 0);
		for (uint32_t k = 0; needs && elf_segment_next(&f.module->image, PT_LOAD, &k, &s);) {
			if ((s.flags & PF_X) != 0 && s.file_bytes > 0 && s.file_bytes < TEXT_MAX) {
				follow_segment(out, &f, &s);
			}
		}
		code_map_finish(&f.tables);
	}
	if (out->size > 0) {
		buffer_u32(out, 0);
	}
}
