// SPDX-License-Identifier: MIT

#include "recorder/core/unwind/eh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/** An .eh_frame being written: one CIE as gcc writes it, one FDE. */
static struct {
	uint8_t bytes[512];
	size_t n;
} frame;

static char code[256]; // what the FDE covers

static void put(const void *bytes, size_t n) {
	memcpy(frame.bytes + frame.n, bytes, n);
	frame.n += n;
}

static void put_u32(uint32_t value) {
	put(&value, sizeof(value));
}

static void put_u64(uint64_t value) {
	put(&value, sizeof(value));
}

/** End the record that began at `start`, padded with nops. */
static void close_record(size_t start) {
	while ((frame.n - start) % 8 != 4) {
		frame.bytes[frame.n++] = 0;
	}
	uint32_t length = (uint32_t)(frame.n - start - 4);
	memcpy(frame.bytes + start, &length, sizeof(length));
}

static struct eh_tables write_frame(const char *augmentation, const uint8_t *program, size_t n) {
	memset(&frame, 0, sizeof(frame));
	put_u32(0);
	put_u32(0);
	put("\1", 1);
	put(augmentation, strlen(augmentation) + 1);
	put("\1\x78\x10", 3);       // code 1, data -8, return address in 16
	put("\1\0", 2);             // augmentation: pointers absolute
	put("\x0c\7\x08\x90\1", 5); // CFA = rsp + 8, pc at CFA - 8
	close_record(0);
	size_t fde = frame.n;
	put_u32(0);
	put_u32((uint32_t)frame.n);
	put_u64((uint64_t)code);
	put_u64(sizeof(code));
	put("\0", 1);
	put(program, n);
	close_record(fde);
	put_u32(0);
	return (struct eh_tables){NULL, frame.bytes, (uint64_t)frame.bytes,
			(uint64_t)frame.bytes + sizeof(frame.bytes)};
}

#define ROW(PROGRAM, AT) row_of("zR", (const uint8_t *)PROGRAM, sizeof(PROGRAM) - 1, AT)

static struct eh_fde found;

static struct eh_row row_of(const char *augmentation, const uint8_t *program, size_t n,
		unsigned at) {
	struct eh_row row;
	struct eh_tables tables = write_frame(augmentation, program, n);
	assert_true(eh_find(&tables, (uint64_t)code + at, &found));
	assert_true(eh_row(&found, (uint64_t)code + at, &row));
	return row;
}

static void assert_cfa(const struct eh_row *row, unsigned reg, int32_t offset) {
	assert_int_equal(row->cfa_how, EH_CFA_OFFSET);
	assert_int_equal(row->cfa_register, reg);
	assert_int_equal(row->cfa_value, offset);
}

// push rbp; mov rsp, rbp; ... pop rbp
#define PROLOGUE "\x41\x0e\x10\x86\2\x43\x0d\6\x50\x0c\7\x08"

static void test_prologue(void **state) {
	(void)state;
	struct eh_row row = ROW(PROLOGUE, 0);
	assert_cfa(&row, REG_SP, 8);
	assert_int_equal(row.how[REG_PC], EH_AT);
	assert_int_equal(row.value[REG_PC], -8);
	assert_int_equal(row.how[REG_BP], EH_SAME);
	row = ROW(PROLOGUE, 1);
	assert_cfa(&row, REG_SP, 16);
	assert_int_equal(row.value[REG_BP], -16);
	row = ROW(PROLOGUE, 4);
	assert_cfa(&row, REG_BP, 16);
	row = ROW(PROLOGUE, 19);
	assert_cfa(&row, REG_BP, 16);
	row = ROW(PROLOGUE, 20);
	assert_cfa(&row, REG_SP, 8);
}

static void test_remember(void **state) {
	(void)state;
	// Offset 16, remembered; offset 8 and rbp restored for one byte; then as remembered
	const char program[] = "\x41\x0e\x10\x86\2\x41\x0a\x0e\x08\xc6\x41\x0b";
	struct eh_row row = ROW(program, 2);
	assert_cfa(&row, REG_SP, 8);
	assert_int_equal(row.how[REG_BP], EH_SAME);
	row = ROW(program, 3);
	assert_cfa(&row, REG_SP, 16);
	assert_int_equal(row.how[REG_BP], EH_AT);
}

static void test_forms(void **state) {
	(void)state;
	struct eh_row row = ROW("\x07\x10", 0); // the outermost frame
	assert_int_equal(row.how[REG_PC], EH_UNDEFINED);
	row = ROW("\x02\x10\x0e\x30\x03\x20\x00\x0e\x40", 0x30); // advances of 1 and 2 bytes
	assert_cfa(&row, REG_SP, 0x40);
	row = ROW("\x05\x06\x03", 0); // offset_extended
	assert_int_equal(row.value[REG_BP], -24);
	row = ROW("\x11\x06\x7e", 0); // offset_extended_sf: -2 * -8
	assert_int_equal(row.value[REG_BP], 16);
	row = ROW("\x12\x07\x7e\x13\x7d", 0); // def_cfa_sf, def_cfa_offset_sf
	assert_cfa(&row, REG_SP, 24);
	row = ROW("\x09\x06\x03", 0);
	assert_int_equal(row.how[REG_BP], EH_REGISTER);
	assert_int_equal(row.value[REG_BP], 3);
	row = ROW("\x14\x06\x01", 0);
	assert_int_equal(row.how[REG_BP], EH_IS);
	row = ROW("\x2e\x10", 0); // size of arguments: means nothing here
	assert_cfa(&row, REG_SP, 8);
	row = row_of("zRS", (const uint8_t *)"", 0, 0);
	assert_true(found.is_signal);
}

static bool load(void *memory, uint64_t address, uint64_t *value) {
	*value = address + 1;
	return memory == NULL;
}

static void test_expressions(void **state) {
	(void)state;
	uint64_t regs[REG_N] = {0};
	uint64_t value;
	regs[REG_SP] = 1000;
	regs[REG_PC] = 0x1b;
	const struct eh_machine machine = {regs, 1u << REG_SP | 1u << REG_PC, load, NULL};
	// CFA of a PLT entry: rsp + 8 + ((rip & 15) >= 11) * 8
	struct eh_row row = ROW("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 0);
	assert_int_equal(row.cfa_how, EH_CFA_EXPR);
	struct eh_expr expr = eh_expression(&found, row.cfa_value);
	assert_true(eh_evaluate(expr, &machine, false, 0, &value));
	assert_int_equal(value, 1016);
	regs[REG_PC] = 0x1a;
	assert_true(eh_evaluate(expr, &machine, false, 0, &value));
	assert_int_equal(value, 1008);
	// rbp at *(rbp + 0), which is not known here
	row = ROW("\x10\x06\x02\x76\x00", 0);
	assert_int_equal(row.how[REG_BP], EH_AT_EXPR);
	assert_false(eh_evaluate(eh_expression(&found, row.value[REG_BP]), &machine, true, 7, &value));
	// *(start + 8), then a jump over a drop
	row = ROW("\x16\x06\x08\x23\x08\x06\x2f\x01\x00\x13\x96", 0);
	assert_true(eh_evaluate(eh_expression(&found, row.value[REG_BP]), &machine, true, 7, &value));
	assert_int_equal(value, 16);
	// A loop for ever ends
	row = ROW("\x16\x06\x04\x96\x2f\xfc\xff", 0);
	assert_false(eh_evaluate(eh_expression(&found, row.value[REG_BP]), &machine, true, 7, &value));
}

static void test_broken(void **state) {
	(void)state;
	struct eh_row row;
	struct eh_fde fde;
	struct eh_tables tables = write_frame("zR", (const uint8_t *)"\x3f", 1);
	assert_false(eh_find(&tables, (uint64_t)code + sizeof(code), &fde));
	assert_true(eh_find(&tables, (uint64_t)code, &fde));
	assert_false(eh_row(&fde, (uint64_t)code, &row)); // an unknown instruction
	tables = write_frame("zR", (const uint8_t *)"\x0b", 1);
	assert_true(eh_find(&tables, (uint64_t)code, &fde));
	assert_false(eh_row(&fde, (uint64_t)code, &row)); // nothing was remembered
	// Every cut and every flipped byte: no crash, nothing read beyond the tables
	for (size_t i = 0; i < frame.n; i++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			tables = write_frame("zR", (const uint8_t *)PROLOGUE, sizeof(PROLOGUE) - 1);
			frame.bytes[i] ^= (uint8_t)(1u << bit);
			tables.high = tables.low + frame.n;
			if (eh_find(&tables, (uint64_t)code + 2, &fde)) {
				(void)eh_row(&fde, (uint64_t)code + 2, &row);
			}
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_prologue),
			cmocka_unit_test(test_remember),
			cmocka_unit_test(test_forms),
			cmocka_unit_test(test_expressions),
			cmocka_unit_test(test_broken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
