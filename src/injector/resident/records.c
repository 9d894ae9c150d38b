// SPDX-License-Identifier: MIT

/*
 * Writing unwind tables. Rows become DWARF's call frame instructions: only what differs from the
 * row before is written, and a record ends at the first gap.
 */

#include "injector/resident/flow.h"
#include "machine.h"

#include <dwarf.h>

static void put_uleb(struct buffer *out, uint64_t value) {
	do {
		buffer_u8(out, (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0)));
		value >>= 7;
	} while (value != 0);
}

/** The length of the record that begins at `at`, and zeros up to a multiple of 8. */
static void end_record(struct buffer *out, size_t at) {
	while (!out->failed && (out->size - at) % STEP_WORD != 4) {
		buffer_u8(out, 0);
	}
	uint32_t n_bytes = (uint32_t)(out->size - at - sizeof(uint32_t));
	if (!out->failed) {
		memcpy((uint8_t *)out->data + at, &n_bytes, sizeof n_bytes);
	}
}

/** At a function's beginning the return address lies one word below the CFA. */
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

static void put_advance(struct buffer *out, uint64_t n) {
	if (n < 0x40) {
		buffer_u8(out, (uint8_t)(DW_CFA_advance_loc | n));
	} else if (n <= UINT8_MAX) {
		buffer_u8(out, DW_CFA_advance_loc1);
		buffer_u8(out, (uint8_t)n);
	} else {
		buffer_u8(out, DW_CFA_advance_loc4);
		buffer_u32(out, (uint32_t)n);
	}
}

static void put_row(struct buffer *out, const struct frame_row *before,
		const struct frame_row *row) {
	if (row->sp != before->sp || (row->sp == 0 && row->bp != before->bp)) {
		buffer_u8(out, DW_CFA_def_cfa);
		put_uleb(out, row->sp != 0 ? MACHINE_DWARF_SP : MACHINE_DWARF_BP);
		put_uleb(out, (uint64_t)STEP_WORD * (row->sp != 0 ? row->sp : row->bp));
	}
	if (row->bp_at != before->bp_at) {
		buffer_u8(out,
				(uint8_t)((row->bp_at != 0 ? DW_CFA_offset : DW_CFA_restore) | MACHINE_DWARF_BP));
		if (row->bp_at != 0) {
			put_uleb(out, row->bp_at);
		}
	}
	if (row->is_end) {
		buffer_u8(out, DW_CFA_undefined);
		put_uleb(out, MACHINE_DWARF_RA);
	}
}

/** Of what was noted from `at` on, as far as it goes without a hole. Where it ends. */
static uint64_t put_record(struct buffer *out, const struct flow *f, uint64_t at) {
	size_t begin = out->size;
	struct frame_row before = flow_entry;
	uint64_t start = at, told = at;
	bool is_end = f->rows[at - f->start].is_end;
	buffer_u32(out, 0);
	buffer_u32(out, (uint32_t)(begin + sizeof(uint32_t)));
	buffer_u64(out, f->module->bias + start);
	size_t size_at = out->size;
	buffer_u64(out, 0);
	buffer_u8(out, 0);
	for (const struct frame_row *row; flow_is_inside(f, at) &&
			(row = &f->rows[at - f->start])->n_bytes != 0 && row->is_end == is_end;
			at += row->n_bytes) {
		if (flow_row_is_same(row, &before) && at != start) {
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

void flow_put_records(struct buffer *out, const struct flow *f) {
	if (out->size == 0) {
		put_common(out);
	}
	for (uint64_t at = f->start; at < f->end;) {
		uint64_t into = at - f->start;
		if (!f->pages[into / FLOW_PAGE]) {
			at += FLOW_PAGE - into % FLOW_PAGE; // of a large program next to nothing is looked at
		} else {
			at = f->rows[into].n_bytes != 0 ? put_record(out, f, at) : at + 1;
		}
	}
}
