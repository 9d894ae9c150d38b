// SPDX-License-Identifier: MIT
#pragma once
/**
 * What the recorder reads of ELF images in memory, and heaptrack of their files: unwind tables and
 * build-ids. .eh_frame is a sequence of records, each a CIE or an FDE. A CIE holds what functions
 * of one kind share; an FDE is one function and refers to its CIE. Each contains a small program
 * that, run up to a program counter, yields its row. Nothing outside the given bounds is read. Any
 * thread, any signal handler; no libc function.
 */

#include <dwarf.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	EH_PE_FORMAT = 0x0f, // parts of an encoding
	EH_PE_RELATION = 0x70,
};

/** A cursor over bytes with a sticky failure: past the end it reads zeros. */
struct eh_cursor {
	const uint8_t *at, *end;
	bool failed;
};

/** One function's record. */
struct eh_fde {
	uint64_t start, end;             // program counters [start, end)
	const uint8_t *program, *finish; // its instructions
	const uint8_t *cie_program, *cie_finish;
	uint64_t code_align;
	int64_t data_align;
	const uint8_t *record; // offsets of expressions count from here
	uint8_t pc_encoding;
	uint8_t pc_register;
	bool has_augmentation;
	bool is_signal; // augmentation 'S': the frame a signal handler returns to
};

// ---- bytes

static inline uint64_t eh_fixed(struct eh_cursor *c, unsigned bytes) {
	if ((size_t)(c->end - c->at) < bytes) {
		c->failed = true;
		c->at = c->end;
		return 0;
	}
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++) {
		value |= (uint64_t)c->at[i] << (8 * i);
	}
	c->at += bytes;
	return value;
}

static inline int64_t eh_fixed_signed(struct eh_cursor *c, unsigned bytes) {
	unsigned unused = 64 - 8 * bytes;
	return (int64_t)(eh_fixed(c, bytes) << unused) >> unused;
}

/** A LEB128 number as unsigned, with its number of bits and its last byte. */
static inline uint64_t eh_leb(struct eh_cursor *c, unsigned *shift, uint64_t *last) {
	uint64_t value = 0;
	*shift = 0;
	do {
		*last = eh_fixed(c, 1);
		value |= *shift < 64 ? (*last & 0x7f) << *shift : 0;
		*shift += 7;
	} while (*last & 0x80);
	return value;
}

static inline uint64_t eh_uleb(struct eh_cursor *c) {
	unsigned shift;
	uint64_t last;
	return eh_leb(c, &shift, &last);
}

static inline int64_t eh_sleb(struct eh_cursor *c) {
	unsigned shift;
	uint64_t last;
	uint64_t value = eh_leb(c, &shift, &last);
	return (int64_t)(shift < 64 && (last & 0x40) != 0 ? value | ~0ull << shift : value);
}

/** A pc-relative one counts from where it lies in memory now. */
static inline uint64_t eh_pointer(struct eh_cursor *c, uint8_t encoding, uint64_t data_base) {
	uint64_t here = (uint64_t)c->at;
	uint64_t value = 0;
	switch (encoding & EH_PE_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: value = eh_fixed(c, 8); break;
	case DW_EH_PE_uleb128: value = eh_uleb(c); break;
	case DW_EH_PE_sleb128: value = (uint64_t)eh_sleb(c); break;
	case DW_EH_PE_udata2: value = eh_fixed(c, 2); break;
	case DW_EH_PE_udata4: value = eh_fixed(c, 4); break;
	case DW_EH_PE_sdata2: value = (uint64_t)eh_fixed_signed(c, 2); break;
	case DW_EH_PE_sdata4: value = (uint64_t)eh_fixed_signed(c, 4); break;
	default: c->failed = true;
	}
	switch (encoding & EH_PE_RELATION) {
	case 0: return value;
	case DW_EH_PE_pcrel: return value + here;
	case DW_EH_PE_datarel: return value + data_base;
	default: c->failed = true; return 0;
	}
}

// ---- records

/**
 * Bounds of the record at `at`, whose own `at` is set behind the length. False: it is empty, as the
 * last one is, or broken; then its end is the limit.
 */
static inline bool eh_record_open(struct eh_cursor *c, const uint8_t *at, const uint8_t *limit) {
	*c = (struct eh_cursor){at, limit, false};
	uint64_t bytes = eh_fixed(c, 4);
	if (bytes == 0xffffffff) {
		bytes = eh_fixed(c, 8);
	}
	if (c->failed || bytes > (uint64_t)(c->end - c->at)) {
		return false;
	}
	c->end = c->at + bytes;
	return bytes != 0;
}

static inline void eh_augmentation_read(struct eh_cursor *c, const char *letters,
		struct eh_fde *fde) {
	if (*letters != 'z') {
		c->failed = c->failed || *letters != '\0';
		return;
	}
	fde->has_augmentation = true;
	uint64_t bytes = eh_uleb(c);
	if (bytes > (uint64_t)(c->end - c->at)) {
		c->failed = true;
		return;
	}
	const uint8_t *program = c->at + bytes;
	for (letters++; *letters != '\0'; letters++) {
		switch (*letters) {
		case 'R': fde->pc_encoding = (uint8_t)eh_fixed(c, 1); break;
		case 'L': (void)eh_fixed(c, 1); break;
		case 'P': (void)eh_pointer(c, (uint8_t)eh_fixed(c, 1) & ~EH_PE_RELATION & 0x7f, 0); break;
		case 'S': fde->is_signal = true; break;
		default: break; // its data lie within the length
		}
	}
	c->at = program;
}

static inline bool eh_cie_read(struct eh_fde *fde, const uint8_t *at, const uint8_t *limit) {
	struct eh_cursor c;
	if (!eh_record_open(&c, at, limit) || eh_fixed(&c, 4) != 0) {
		return false;
	}
	uint64_t version = eh_fixed(&c, 1);
	const char *letters = (const char *)c.at;
	while (eh_fixed(&c, 1) != 0) {}
	if (c.failed || (version != 1 && version != 3)) {
		return false;
	}
	fde->code_align = eh_uleb(&c);
	fde->data_align = eh_sleb(&c);
	fde->pc_register = (uint8_t)(version == 1 ? eh_fixed(&c, 1) : eh_uleb(&c));
	fde->pc_encoding = DW_EH_PE_absptr;
	fde->is_signal = false;
	fde->has_augmentation = false;
	eh_augmentation_read(&c, letters, fde);
	fde->cie_program = c.at;
	fde->cie_finish = c.end;
	return !c.failed;
}

/** Read the FDE at `at`, entirely in [low, high). False: it is a CIE, or broken. */
static inline bool eh_fde_read(struct eh_fde *fde, const uint8_t *at, uint64_t low, uint64_t high) {
	struct eh_cursor c;
	const uint8_t *limit = (const uint8_t *)high;
	if ((uint64_t)at < low || (uint64_t)at >= high || !eh_record_open(&c, at, limit)) {
		return false;
	}
	const uint8_t *here = c.at;
	uint64_t back = eh_fixed(&c, 4);
	if (back == 0 || back > (uint64_t)here - low || !eh_cie_read(fde, here - back, limit)) {
		return false;
	}
	fde->record = at;
	fde->start = eh_pointer(&c, fde->pc_encoding, 0);
	fde->end = fde->start + eh_pointer(&c, fde->pc_encoding & EH_PE_FORMAT, 0);
	if (fde->has_augmentation) {
		uint64_t bytes = eh_uleb(&c);
		c.failed = c.failed || bytes > (uint64_t)(c.end - c.at);
		c.at += c.failed ? 0 : bytes;
	}
	fde->program = c.at;
	fde->finish = c.end;
	return !c.failed;
}

// ---- notes

/** The build-id among notes padded to `align`. Returns its bytes, 0 if there is none. */
static inline uint32_t note_build_id(const uint8_t *notes, uint64_t bytes, uint64_t align,
		const uint8_t **id) {
	enum { GNU = 0x554e47 }; // the name "GNU", its terminating zero included
	const uint64_t mask = (align == 8 ? 8 : 4) - 1;
	for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes;) {
		struct eh_cursor c = {notes + at, notes + bytes, false};
		uint64_t name = eh_fixed(&c, 4), data = eh_fixed(&c, 4), type = eh_fixed(&c, 4);
		uint64_t data_at = (at + sizeof(Elf64_Nhdr) + name + mask) & ~mask;
		if (data_at + data > bytes) {
			break;
		}
		if (type == NT_GNU_BUILD_ID && name == 4 && eh_fixed(&c, 4) == GNU && data != 0) {
			*id = notes + data_at;
			return (uint32_t)data;
		}
		at = (data_at + data + mask) & ~mask;
	}
	return 0;
}
