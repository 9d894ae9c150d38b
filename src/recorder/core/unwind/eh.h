// SPDX-License-Identifier: MIT
#pragma once
/**
 * From a program counter to the row of the unwind tables that describes its caller: how each of the
 * caller's registers is found. Only the tables are read, never the stack. Any thread, any signal
 * handler; less than 1 KiB of stack.
 */

#include "regs.h"
#include "wire/image.h"

/** The tables of one module, or (without `hdr`) a bare sequence of records. */
struct eh_tables {
	const uint8_t *hdr;   // .eh_frame_hdr, or NULL
	const uint8_t *frame; // .eh_frame if there is no `hdr`
	uint64_t low, high;   // all that may be read lies in [low, high)
};

/** How a register of the caller is found. Zero: unchanged from the callee. */
enum eh_how {
	EH_SAME,
	EH_UNDEFINED,
	EH_AT,         // saved at CFA + value
	EH_IS,         // CFA + value itself
	EH_REGISTER,   // in register `value`
	EH_AT_EXPR,    // saved at the address that an expression yields, with the CFA pushed first
	EH_IS_EXPR,    // what an expression yields
	EH_CFA_OFFSET, // (CFA only) register + offset
	EH_CFA_EXPR,   // (CFA only) an expression
};

struct eh_row {
	uint8_t cfa_how, cfa_register;
	uint8_t how[REG_N];
	int32_t cfa_value;    // offset, or like `value`
	int32_t value[REG_N]; // bytes, register, or where the expression (ULEB length first) begins,
						  // counted from the record
};

/** The record that covers `pc`. False: none does. */
bool eh_find(const struct eh_tables *tables, uint64_t pc, struct eh_fde *fde);

/** The row of `fde` at `pc`. False: unknown or broken instructions. */
bool eh_row(const struct eh_fde *fde, uint64_t pc, struct eh_row *row);

/** Lowest and highest program counter that a bare sequence of records covers. */
bool eh_range(const uint8_t *frame, uint64_t *low, uint64_t *high);

struct eh_expr {
	const uint8_t *at, *end;
};
struct eh_expr eh_expression(const struct eh_fde *fde, int32_t value);

struct eh_machine {
	const uint64_t *regs;
	uint32_t known;                                                // bit per register
	bool (*load)(void *memory, uint64_t address, uint64_t *value); // NULL: nothing can be loaded
	void *memory;
};

/** Evaluate. `has_start`: push `start` first. False: unknown register, unreadable memory. */
bool eh_evaluate(struct eh_expr expr, const struct eh_machine *machine, bool has_start,
		uint64_t start, uint64_t *result);
