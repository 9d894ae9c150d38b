// SPDX-License-Identifier: MIT

/*
 * From the beginning of each function all ways through it are followed, and of each instruction is noted how
 * far the stack pointer is below the CFA, the caller's stack pointer at the call:
 *
 *      push %rbp           8     CFA = rsp + 8
 *      sub  $24, %rsp     16     CFA = rsp + 16, the caller's rbp at CFA - 16
 *      call ...           40     CFA = rsp + 40
 *
 * Where that depends on a register (alloca), a frame pointer helps if there is one. Functions begin where a
 * symbol says so, where a call goes to, and where a pointer to code is made; jumps by a table go where that says.
 * Functions that do not return are known by their names. A call of another such is followed into what lies
 * behind it, by mistake: so a function's beginning wins over what has been noted there. Each instruction is
 * decoded once, but for those.
 */

#include "injector/resident/frames.h"

#include "base/vec.h"
#include "injector/find/code_map.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
	RSP = 4, // registers, as instructions count them
	RBP = 5,
	WORD = 8,
	PAGE = 4096,
	TEXT_MAX = 64 << 20,
	TABLE_MAX = 1024,       // ways of a switch
	FUNCTION_MAX = 1 << 16, // how far they are apart
};

/** Of places. */
enum {
	BEGIN = 1,     // a function begins there
	COLD = 2,      // the seldom used part of a function, which is jumped to
	NO_RETURN = 4, // what begins there never comes back
};

/** What is known before an instruction; distances in words. */
struct row {
	uint16_t sp;     // CFA - rsp; 0: unknown
	uint16_t bp;     // CFA - rbp, where that is a frame pointer; 0: it is none
	uint16_t bp_at;  // the caller's rbp lies so far below the CFA; 0: it is in the register
	uint8_t is_end;  // nobody has called
	uint8_t n_bytes; // of the instruction; 0: not reached
};
static const struct row entry_row = {.sp = 1};

struct place {
	uint64_t at;
	struct row row;
	bool is_forced; // what was noted there is wrong
};

struct flow {
	const struct module_code *module;
	struct code_map tables; // what has tables
	ZydisDecoder decoder;
	uint64_t start, end; // of the code
	const uint8_t *code;
	struct row *rows;  // one per byte
	uint8_t *marks;    // likewise: BEGIN...
	uint8_t *pages;    // is anything noted in that page of code?
	uint64_t patience; // instructions
	struct {
		struct place *items;
		size_t n, capacity;
	} begins, places;
};

// ---- what there is to be done

static bool is_inside(const struct flow *f, uint64_t at) {
	return at >= f->start && at < f->end;
}

static bool has_tables(const struct flow *f, uint64_t at) {
	size_t low = 0, high = f->tables.functions.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct code_function *function = &f->tables.functions.items[middle];
		if (at - function->address < function->size) {
			return true;
		}
		if (function->address <= at) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return false;
}

static void mark(struct flow *f, uint64_t at, unsigned marks) {
	if (is_inside(f, at)) {
		f->marks[at - f->start] |= (uint8_t)marks;
	}
}

static void add_begin(struct flow *f, uint64_t at) {
	if (!is_inside(f, at) || (f->marks[at - f->start] & BEGIN) != 0) {
		return;
	}
	mark(f, at, BEGIN);
	struct place *item = has_tables(f, at) ? NULL : vec_push(&f->begins);
	if (item) {
		*item = (struct place){.at = at, .row = entry_row};
	}
}

static void add_place(struct flow *f, uint64_t at, const struct row *row, bool is_forced) {
	struct place *item = is_inside(f, at) ? vec_push(&f->places) : NULL;
	if (item) {
		*item = (struct place){at, *row, is_forced};
	}
}

// ---- instructions

/** Is the operand in the field `rm` that register itself? */
static bool is_register(const ZydisDecodedInstruction *i, unsigned number) {
	return i->raw.modrm.mod == 3 && i->raw.modrm.rm == number && !i->raw.rex.B;
}

static bool writes_to(const ZydisDecodedInstruction *i, unsigned number) {
	bool is_load = i->opcode == 0x8b || i->opcode == 0x8d || i->opcode == 0x03 || i->opcode == 0x2b;
	return is_load ? i->raw.modrm.reg == number && !i->raw.rex.R : is_register(i, number);
}

static void move_sp(struct row *row, int64_t bytes) {
	int64_t words = row->sp - bytes / WORD;
	bool is_known = row->sp != 0 && bytes % WORD == 0 && words > 0 && words < UINT16_MAX;
	row->sp = is_known ? (uint16_t)words : 0;
}

static void push(struct row *row, const ZydisDecodedInstruction *i) {
	move_sp(row, -WORD);
	if (i->opcode == 0x50 + RBP && !i->raw.rex.B && row->bp_at == 0 && row->bp == 0) {
		row->bp_at = row->sp;
	}
}

static void pop(struct row *row, const ZydisDecodedInstruction *i) {
	if (i->opcode == 0x58 + RBP && !i->raw.rex.B && row->bp_at == row->sp) {
		row->bp_at = 0;
		row->bp = 0;
	}
	move_sp(row, WORD);
}

static void leave(struct row *row) {
	row->sp = row->bp;
	move_sp(row, WORD);
	row->bp = row->bp_at = 0;
}

/** lea n(%rsp), %rsp or lea n(%rbp), %rsp */
static void load_sp(struct row *row, const ZydisDecodedInstruction *i) {
	bool is_plain = i->raw.modrm.mod != 0 && !i->raw.rex.B;
	bool of_sp = is_plain && i->raw.modrm.rm == RSP && i->raw.sib.base == RSP &&
			i->raw.sib.index == RSP && !i->raw.rex.X;
	bool of_bp = is_plain && i->raw.modrm.rm == RBP;
	row->sp = of_sp ? row->sp : of_bp ? row->bp : 0;
	move_sp(row, i->raw.disp.value);
}

static void compute(struct row *row, const ZydisDecodedInstruction *i) {
	bool has_number = i->opcode == 0x83 || i->opcode == 0x81;
	bool of_sp = writes_to(i, RSP);
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (of_sp && has_number) {
			int64_t n = i->raw.imm[0].value.s;
			move_sp(row, i->mnemonic == ZYDIS_MNEMONIC_ADD ? n : -n);
			return;
		}
		break;
	case ZYDIS_MNEMONIC_MOV: {
		bool is_copy = (i->opcode == 0x89 || i->opcode == 0x8b) && i->raw.modrm.mod == 3 &&
				!i->raw.rex.B && !i->raw.rex.R;
		unsigned to = i->opcode == 0x89 ? i->raw.modrm.rm : i->raw.modrm.reg;
		unsigned from = i->opcode == 0x89 ? i->raw.modrm.reg : i->raw.modrm.rm;
		if (is_copy && to == RBP && from == RSP && row->bp_at != 0) {
			row->bp = row->sp;
			return;
		}
		if (is_copy && to == RSP && from == RBP) {
			row->sp = row->bp;
			return;
		}
		of_sp = (i->opcode == 0x89 || i->opcode == 0x8b) && writes_to(i, RSP);
		break;
	}
	case ZYDIS_MNEMONIC_LEA:
		if (of_sp) {
			load_sp(row, i);
			return;
		}
		break;
	case ZYDIS_MNEMONIC_XOR: // of what nobody keeps: the ABI's mark of the outermost frame
		row->is_end |= (i->opcode == 0x31 || i->opcode == 0x33) && is_register(i, RBP) &&
				i->raw.modrm.reg == RBP && !i->raw.rex.R && row->bp_at == 0;
		return;
	case ZYDIS_MNEMONIC_AND: break;
	default: return;
	}
	row->sp = of_sp ? 0 : row->sp;
}

static void step(struct row *row, const ZydisDecodedInstruction *i) {
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ: push(row, i); break;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ: pop(row, i); break;
	case ZYDIS_MNEMONIC_LEAVE: leave(row); break;
	default: compute(row, i); break;
	}
}

// ---- switches

struct hints {
	uint64_t table; // the last place that a pointer was made to
	uint64_t n;     // what was compared with last, and 1: so many ways
};

static void take_hint(struct hints *h, const ZydisDecodedInstruction *i, uint64_t behind) {
	bool is_relative = i->raw.modrm.mod == 0 && i->raw.modrm.rm == RBP;
	if (i->mnemonic == ZYDIS_MNEMONIC_LEA && is_relative) {
		h->table = behind + (uint64_t)i->raw.disp.value;
	} else if (i->mnemonic == ZYDIS_MNEMONIC_CMP && i->raw.imm[0].size != 0) {
		h->n = (uint64_t)i->raw.imm[0].value.s + 1;
	}
}

/** jmp *%rax, of a table of distances from itself, or jmp *table(,%rax,8), of addresses. */
static void follow_table(struct flow *f, const struct hints *h, const ZydisDecodedInstruction *i,
		uint64_t at, const struct row *row, bool is_forced) {
	bool has_addresses = i->raw.modrm.mod == 0 && i->raw.modrm.rm == RSP && i->raw.sib.base == RBP;
	uint64_t table = has_addresses ? (uint64_t)i->raw.disp.value : h->table;
	size_t width = has_addresses ? sizeof(uint64_t) : sizeof(int32_t);
	if (table == 0 || h->n == 0 || h->n > TABLE_MAX || (!has_addresses && i->raw.modrm.mod != 3)) {
		return;
	}
	struct slice ways = module_code_bytes(f->module, table, h->n * width);
	for (size_t k = 0; k + width <= ways.size; k += width) {
		uint64_t to;
		int32_t distance;
		memcpy(&distance, ways.data + k, sizeof distance);
		to = table + (uint64_t)(int64_t)distance;
		if (has_addresses) {
			memcpy(&to, ways.data + k, sizeof to);
		}
		if (to - at + FUNCTION_MAX < 2 * FUNCTION_MAX) {
			add_place(f, to, row, is_forced);
		}
	}
}

// ---- ways

/** Is the next instruction another one's way on? `row` is what is known behind this one. */
static bool goes_on(struct flow *f, const struct hints *h, const ZydisDecodedInstruction *i,
		uint64_t at, const struct row *row, bool is_forced) {
	uint64_t to = at + i->length + (uint64_t)i->raw.imm[0].value.s;
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		if (i->raw.imm[0].is_relative) {
			add_begin(f, to);
		}
		return !i->raw.imm[0].is_relative || !is_inside(f, to) ||
				(f->marks[to - f->start] & NO_RETURN) == 0;
	case ZYDIS_CATEGORY_COND_BR: add_place(f, to, row, is_forced); return true;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (!i->raw.imm[0].is_relative) {
			follow_table(f, h, i, at, row, is_forced);
		} else if (row->sp == 1 && row->bp_at == 0 && !row->is_end) {
			add_begin(f, to); // a call at the very end, or the same as one
		} else {
			add_place(f, to, row, is_forced);
		}
		return false;
	case ZYDIS_CATEGORY_RET: return false;
	default: return i->mnemonic != ZYDIS_MNEMONIC_HLT && i->mnemonic != ZYDIS_MNEMONIC_UD2;
	}
}

static bool is_same(const struct row *a, const struct row *b) {
	return a->sp == b->sp && a->bp == b->bp && a->bp_at == b->bp_at && a->is_end == b->is_end;
}

static bool is_known(const struct row *row) {
	return row->sp != 0 || row->bp != 0 || row->is_end;
}

static void walk(struct flow *f, const struct place *from) {
	struct row row = from->row;
	struct hints hints = {0};
	ZydisDecodedInstruction i;
	for (uint64_t at = from->at; is_inside(f, at) && is_known(&row); at += i.length) {
		struct row *noted = &f->rows[at - f->start];
		unsigned marks = f->marks[at - f->start];
		bool is_begun = ((marks & BEGIN) != 0 && !is_same(&row, &entry_row)) ||
				((marks & COLD) != 0 && at != from->at);
		bool is_done = noted->n_bytes != 0 && (!from->is_forced || is_same(&row, noted));
		if (is_begun || is_done || f->patience == 0 ||
				!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&f->decoder, NULL,
						f->code + (at - f->start), f->end - at, &i))) {
			return;
		}
		f->patience--;
		f->pages[(at - f->start) / PAGE] = 1;
		*noted = row;
		noted->n_bytes = i.length;
		take_hint(&hints, &i, at + i.length);
		if (i.mnemonic == ZYDIS_MNEMONIC_LEA && is_inside(f, hints.table)) {
			add_begin(f, hints.table);
		}
		step(&row, &i);
		if (!goes_on(f, &hints, &i, at, &row, from->is_forced)) {
			return;
		}
	}
}

static void walk_all(struct flow *f) {
	while (f->begins.n > 0) {
		struct place begin = f->begins.items[--f->begins.n];
		const struct row *noted = &f->rows[begin.at - f->start];
		begin.is_forced = noted->n_bytes != 0 && !is_same(noted, &entry_row);
		walk(f, &begin);
		while (f->places.n > 0) {
			const struct place place = f->places.items[--f->places.n];
			walk(f, &place);
		}
	}
}

// ---- records

enum {
	ADVANCE = 0x40,
	ADVANCE_1 = 0x02,
	ADVANCE_2 = 0x03,
	ADVANCE_4 = 0x04,
	UNDEFINED = 0x07,
	DEFINE_CFA = 0x0c,
	OFFSET = 0x80,
	RESTORE = 0xc0,
	DWARF_RBP = 6,
	DWARF_RSP = 7,
	DWARF_RA = 16,
};

static void put_uleb(struct buffer *out, uint64_t value) {
	do {
		buffer_u8(out, (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0)));
		value >>= 7;
	} while (value != 0);
}

/** The length of the record that begins at `at`, and zeros up to a multiple of 8. */
static void end_record(struct buffer *out, size_t at) {
	while (!out->failed && (out->size - at) % WORD != 4) {
		buffer_u8(out, 0);
	}
	uint32_t n_bytes = (uint32_t)(out->size - at - sizeof(uint32_t));
	if (!out->failed) {
		memcpy((uint8_t *)out->data + at, &n_bytes, sizeof n_bytes);
	}
}

static void put_common(struct buffer *out) {
	static const uint8_t common[] = {1, 'z', 'R', 0, // version, augmentation
			1, 0x78, DWARF_RA,                       // code by 1, data by -8
			1, 0,                                    // addresses as they are
			DEFINE_CFA, DWARF_RSP, WORD, OFFSET | DWARF_RA, 1};
	buffer_u32(out, 0);
	buffer_u32(out, 0);
	buffer_bytes(out, common, sizeof common);
	end_record(out, 0);
}

static void put_advance(struct buffer *out, uint64_t n) {
	if (n < 0x40) {
		buffer_u8(out, (uint8_t)(ADVANCE | n));
	} else if (n <= UINT8_MAX) {
		buffer_u8(out, ADVANCE_1);
		buffer_u8(out, (uint8_t)n);
	} else {
		buffer_u8(out, ADVANCE_4);
		buffer_u32(out, (uint32_t)n);
	}
}

static void put_row(struct buffer *out, const struct row *before, const struct row *row) {
	if (row->sp != before->sp || (row->sp == 0 && row->bp != before->bp)) {
		buffer_u8(out, DEFINE_CFA);
		put_uleb(out, row->sp != 0 ? DWARF_RSP : DWARF_RBP);
		put_uleb(out, (uint64_t)WORD * (row->sp != 0 ? row->sp : row->bp));
	}
	if (row->bp_at != before->bp_at) {
		buffer_u8(out, row->bp_at != 0 ? OFFSET | DWARF_RBP : RESTORE | DWARF_RBP);
		if (row->bp_at != 0) {
			put_uleb(out, row->bp_at);
		}
	}
	if (row->is_end) {
		buffer_u8(out, UNDEFINED);
		put_uleb(out, DWARF_RA);
	}
}

/** Of what was noted from `at` on, as far as it goes without a hole. Where it ends. */
static uint64_t put_record(struct buffer *out, const struct flow *f, uint64_t at) {
	size_t begin = out->size;
	struct row before = entry_row;
	uint64_t start = at, told = at;
	bool is_end = f->rows[at - f->start].is_end;
	buffer_u32(out, 0);
	buffer_u32(out, (uint32_t)(begin + sizeof(uint32_t)));
	buffer_u64(out, f->module->bias + start);
	size_t size_at = out->size;
	buffer_u64(out, 0);
	buffer_u8(out, 0);
	for (const struct row *row; is_inside(f, at) && (row = &f->rows[at - f->start])->n_bytes != 0 &&
			row->is_end == is_end;
			at += row->n_bytes) {
		if (is_same(row, &before) && at != start) {
			continue;
		}
		if (at != told) {
			put_advance(out, at - told);
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

static void put_records(struct buffer *out, const struct flow *f) {
	if (out->size == 0) {
		put_common(out);
	}
	for (uint64_t at = f->start; at < f->end;) {
		uint64_t into = at - f->start;
		if (!f->pages[into / PAGE]) {
			at += PAGE - into % PAGE; // of a large program next to nothing is looked at
		} else {
			at = f->rows[into].n_bytes != 0 ? put_record(out, f, at) : at + 1;
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

static void add_symbols(struct flow *f, uint32_t table) {
	struct elf_symbols symbols;
	struct elf_symbol symbol;
	bool has_table = elf_symbols_init(&symbols, &f->module->image, table);
	while (has_table && elf_symbols_next(&symbols, &symbol)) {
		if (symbol.type != STT_FUNC || symbol.section == SHN_UNDEF) {
			continue;
		}
		if (!strstr(symbol.name, ".cold")) {
			add_begin(f, symbol.address);
			mark(f, symbol.address, never_returns(symbol.name) ? NO_RETURN : 0);
		} else {
			mark(f, symbol.address, COLD);
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
	f->pages = calloc(code.size / PAGE + 1, 1);
	if (f->rows && f->marks && f->pages) {
		add_begin(f, f->module->image.entry);
		add_symbols(f, SHT_DYNSYM);
		add_symbols(f, SHT_SYMTAB);
		walk_all(f);
		put_records(out, f);
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
		(void)ZydisDecoderInit(&f.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
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
