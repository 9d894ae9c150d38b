// SPDX-License-Identifier: MIT

/*
 * Every byte of the code is looked at as if a distance or an address stood there, which is quick. What
 * looks right is then decoded, from the beginning of its function on: only an instruction counts.
 */

#include "injector/find/code_map.h"

#include "base/cursor.h"
#include "base/vec.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENCODING_ABSOLUTE = 0x00, // DW_EH_PE_absptr
	ENCODING_RELATIVE = 0x1b, // DW_EH_PE_pcrel | DW_EH_PE_sdata4
	FIRST_INSTRUCTIONS = 16,
};

// ---- bytes by their addresses

/** The file's bytes from `address` on; empty if there are none. */
static struct slice bytes_at(const struct elf_image *e, uint64_t address, size_t n) {
	struct elf_segment s;
	for (uint32_t i = 0; elf_segment_at(e, i, &s); i++) {
		uint64_t into = address - s.address;
		if (s.type == PT_LOAD && address >= s.address && into < s.file_bytes &&
				n <= s.file_bytes - into && s.offset <= e->bytes.size &&
				into <= e->bytes.size - s.offset && n <= e->bytes.size - s.offset - into) {
			return slice_of(e->bytes.data + s.offset + into, n);
		}
	}
	return slice_of(NULL, 0);
}

static bool segment_bytes(const struct elf_image *e, const struct elf_segment *s,
		struct slice *out) {
	bool is_there = s->type == PT_LOAD && s->offset <= e->bytes.size &&
			s->file_bytes <= e->bytes.size - s->offset;
	*out = is_there ? slice_of(e->bytes.data + s->offset, s->file_bytes) : slice_of(NULL, 0);
	return is_there;
}

// ---- functions

/** How the CIE `bytes` of a record says that addresses are written; a negative number if it cannot be read. */
static int encoding_of(struct slice bytes) {
	struct cursor c = cursor_init(bytes);
	uint8_t version = cursor_u8(&c);
	struct slice rest = cursor_rest(&c);
	size_t n = strnlen((const char *)rest.data, rest.size);
	const char *augmentation = (const char *)rest.data;
	if ((version != 1 && version != 3) || n == rest.size) {
		return -1;
	}
	if (augmentation[0] == '\0') {
		return ENCODING_ABSOLUTE;
	}
	c = cursor_init(slice_of(rest.data + n + 1, rest.size - n - 1));
	(void)cursor_varint(&c); // code alignment
	(void)cursor_varint(&c); // data alignment, as long as a number without sign
	(void)cursor_varint(&c); // the return address's register
	(void)cursor_varint(&c); // the augmentation's length
	int encoding = augmentation[0] == 'z' ? ENCODING_ABSOLUTE : -1;
	for (const char *at = augmentation + 1; encoding >= 0 && *at && !c.failed; at++) {
		uint8_t byte = *at == 'S' ? 0
								  : cursor_u8(&c); // of a handler of signals nothing more is said
		if (*at == 'R') {
			return byte;
		}
		// The personality comes before: its pointer is skipped by its size
		if (*at == 'P') {
			(void)cursor_bytes(&c, (byte & 7) == 3 ? 4 : 8);
		}
	}
	return c.failed ? -1 : encoding;
}

/** One record at `at`, which is not a CIE; `cie` are the bytes of its CIE behind the id. */
static bool add_function(struct code_map *m, struct cursor *c, uint64_t at, struct slice cie) {
	int encoding = encoding_of(cie);
	uint64_t address, size;
	if (encoding == ENCODING_RELATIVE) {
		address = at + (uint64_t)(int64_t)(int32_t)cursor_u32(c);
		size = cursor_u32(c);
	} else if (encoding == ENCODING_ABSOLUTE) {
		address = cursor_u64(c);
		size = cursor_u64(c);
	} else {
		return true; // another way: one that we shall not find
	}
	if (c->failed || size == 0 || bytes_at(m->image, address, size).size == 0) {
		return true;
	}
	struct code_function *f = vec_push(&m->functions);
	if (f) {
		*f = (struct code_function){address, size};
	}
	return f != NULL;
}

static bool add_functions(struct code_map *m, const struct elf_section *section) {
	struct slice all = elf_section_bytes(m->image, section);
	bool ok = true;
	for (size_t at = 0; ok && at + 8 <= all.size;) {
		uint32_t length, id;
		memcpy(&length, all.data + at, sizeof length);
		memcpy(&id, all.data + at + 4, sizeof id);
		if (length < 4 || length > all.size - at - 4) {
			at += length == 0 ? 4 : all.size; // an end, behind which there may be more; or nonsense
			continue;
		}
		size_t cie_at = at + 4 - id;
		if (id != 0 && id <= at + 4) {
			uint32_t cie_bytes = 0;
			memcpy(&cie_bytes, all.data + cie_at, sizeof cie_bytes);
			bool is_cie = cie_bytes >= 4 && cie_bytes <= all.size - cie_at - 4;
			struct cursor c = cursor_init(slice_of(all.data + at + 8, length - 4));
			ok = !is_cie ||
					add_function(m, &c, section->address + at + 8,
							slice_of(all.data + cie_at + 8, cie_bytes - 4));
		}
		at += 4 + length;
	}
	return ok;
}

static int compare_functions(const void *a, const void *b) {
	const struct code_function *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

bool code_map_init(struct code_map *m, const struct elf_image *image) {
	struct elf_section section;
	*m = (struct code_map){.image = image};
	if (!elf_section_find(image, ".eh_frame", &section) || !add_functions(m, &section) ||
			m->functions.n == 0) {
		code_map_finish(m);
		return false;
	}
	qsort(m->functions.items, m->functions.n, sizeof *m->functions.items, compare_functions);
	return true;
}

void code_map_finish(struct code_map *m) {
	vec_finish(&m->functions);
}

/** The index of the function that has `address`; UINT32_MAX: none. */
static uint32_t function_with(const struct code_map *m, uint64_t address) {
	size_t low = 0, high = m->functions.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->functions.items[middle].address <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	if (low == 0) {
		return UINT32_MAX;
	}
	const struct code_function *f = &m->functions.items[low - 1];
	return address - f->address < f->size ? (uint32_t)(low - 1) : UINT32_MAX;
}

// ---- instructions

struct walk {
	ZydisDecoder decoder;
	struct slice code;
	size_t at; // of the next
	uint64_t address;
	ZydisDecodedInstruction i;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static void walk_begin(struct walk *w, const struct code_map *m, uint32_t function) {
	const struct code_function *f = &m->functions.items[function];
	w->code = bytes_at(m->image, f->address, f->size);
	w->at = 0;
	w->address = f->address;
	(void)ZydisDecoderInit(&w->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

static bool walk_on(struct walk *w) {
	if (w->at >= w->code.size ||
			!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&w->decoder, w->code.data + w->at,
					w->code.size - w->at, &w->i, w->operands))) {
		return false;
	}
	w->at += w->i.length;
	return true;
}

/** Where the instruction just read goes to, or what it makes a pointer to; 0: neither. */
static uint64_t place_meant(const struct walk *w, bool is_call_only) {
	uint64_t behind = w->address + w->at;
	for (unsigned k = 0; k < w->i.operand_count_visible; k++) {
		const ZydisDecodedOperand *o = &w->operands[k];
		if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative) {
			return behind + (uint64_t)o->imm.value.s;
		}
		if (is_call_only) {
			continue;
		}
		if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
				(w->i.mnemonic == ZYDIS_MNEMONIC_MOV || w->i.mnemonic == ZYDIS_MNEMONIC_PUSH)) {
			return (uint32_t)o->imm.value.u;
		}
		if (w->i.mnemonic == ZYDIS_MNEMONIC_LEA && o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
				o->mem.base == ZYDIS_REGISTER_RIP) {
			return behind + (uint64_t)o->mem.disp.value;
		}
	}
	return 0;
}

static bool refers(const struct code_map *m, uint32_t function, uint64_t address,
		bool is_call_only) {
	struct walk w;
	walk_begin(&w, m, function);
	while (walk_on(&w)) {
		if (place_meant(&w, is_call_only) == address) {
			return true;
		}
	}
	return false;
}

// ---- users

bool code_users_have(const struct code_users *users, uint32_t function) {
	for (size_t i = 0; i < users->n; i++) {
		if (users->items[i] == function) {
			return true;
		}
	}
	return false;
}

static void add_user(const struct code_map *m, uint32_t function, uint64_t address,
		bool is_call_only, size_t max, struct code_users *out) {
	if (function == UINT32_MAX || code_users_have(out, function) ||
			!refers(m, function, address, is_call_only)) {
		return;
	}
	if (out->n == max) {
		out->is_whole = false;
		return;
	}
	out->items[out->n++] = function;
}

/** Until there is one more than `max`. */
static void add_users(const struct code_map *m, uint64_t address, bool is_call_only, size_t max,
		struct code_users *out) {
	struct elf_segment s;
	struct slice code;
	out->is_whole |= out->n == 0;
	for (uint32_t i = 0; elf_segment_at(m->image, i, &s); i++) {
		if ((s.flags & PF_X) == 0 || !segment_bytes(m->image, &s, &code)) {
			continue;
		}
		for (size_t at = 0; at + 4 <= code.size && out->is_whole; at++) {
			uint32_t word;
			memcpy(&word, code.data + at, sizeof word);
			if (word == (uint32_t)(address - (s.address + at + 4)) || word == (uint32_t)address) {
				add_user(m, function_with(m, s.address + at), address, is_call_only, max, out);
			}
		}
	}
}

void code_map_users(const struct code_map *m, uint64_t address, struct code_users *out) {
	add_users(m, address, false, CODE_USERS_MAX, out);
}

bool code_map_is_called(const struct code_map *m, uint32_t function) {
	struct code_users callers = {0};
	add_users(m, m->functions.items[function].address, true, 2, &callers);
	return callers.n > code_users_have(&callers, function);
}

void code_map_users_of_text(const struct code_map *m, const char *text, struct code_users *out) {
	struct elf_segment s;
	struct slice bytes;
	size_t n = strlen(text) + 1;
	out->is_whole |= out->n == 0;
	for (uint32_t i = 0; elf_segment_at(m->image, i, &s); i++) {
		if ((s.flags & PF_W) != 0 || !segment_bytes(m->image, &s, &bytes)) {
			continue;
		}
		for (const uint8_t *at = bytes.data, *end = bytes.data + bytes.size;
				(at = memmem(at, (size_t)(end - at), text, n)); at += n) {
			code_map_users(m, s.address + (uint64_t)(at - bytes.data), out);
		}
	}
}

bool code_map_refers(const struct code_map *m, uint32_t user, uint32_t used) {
	return refers(m, user, m->functions.items[used].address, false);
}

bool code_map_multiplies(const struct code_map *m, uint32_t function) {
	struct walk w;
	walk_begin(&w, m, function);
	while (walk_on(&w)) {
		bool has_constant = w.i.operand_count_visible == 3;
		if (w.i.mnemonic == ZYDIS_MNEMONIC_MUL ||
				(w.i.mnemonic == ZYDIS_MNEMONIC_IMUL && !has_constant)) {
			return true;
		}
	}
	return false;
}

bool code_map_compares_first(const struct code_map *m, uint32_t function, int64_t value) {
	struct walk w;
	walk_begin(&w, m, function);
	for (unsigned n = 0; n < FIRST_INSTRUCTIONS && walk_on(&w); n++) {
		if (w.i.mnemonic == ZYDIS_MNEMONIC_CMP &&
				w.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				w.operands[0].reg.value == ZYDIS_REGISTER_RDI &&
				w.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
				w.operands[1].imm.value.s == value) {
			return true;
		}
	}
	return false;
}
