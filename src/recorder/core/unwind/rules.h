// SPDX-License-Identifier: MIT
#pragma once
/**
 * Rows of the unwind tables, reduced to the few forms in use. A rule is made when its program
 * counter first occurs; all threads share it, lock-free. Any thread, any signal handler.
 */

#include "recorder/core/attr.h"
#include "recorder/core/unwind/eh.h"
#include "wire/segment.h"

/**
 * The key of a rule: a program counter, and WIRE_EXACT_PC as in a node's `where`. Not UINT64_MAX.
 */
#define RULE_KEY_MASK (WIRE_PC_MASK | WIRE_EXACT_PC)

enum rule_kind {
	RULE_NONE,   // (an empty place of a cache)
	RULE_SP,     // CFA = sp + cfa
	RULE_BP,     // CFA = bp + cfa
	RULE_DEREF,  // CFA = the word at bp + cfa; the caller's bp at bp + bp (over-aligned frames)
	RULE_SIGNAL, // the kernel's signal frame lies at sp
	RULE_FRAME,  // no table covers this: frame pointers, if they make sense
	RULE_JIT,    // the same, and in no known module. May become known any time
	RULE_END,    // outermost frame
	RULE_SLOW,   // another form: needs all registers (walk.c)
};

/** The caller's bp is ours. Otherwise it lies at CFA + bp (but see RULE_DEREF). */
#define RULE_BP_SAME INT32_MIN

struct rule {
	uint64_t where; // key and module, as in a node. 0: no rule
	uint64_t step;  // the whole step to the caller: rule_step()
};
_Static_assert(sizeof(struct rule) == 16, "four to a cache line");
enum { RULE_CFA_MAX = (1 << 26) - 1 };

/** Of a step: the frame is a runtime's, and stands for frames of its own. */
#define RULE_OF_RUNTIME (1ull << 32)

static inline bool rule_is_of(const struct rule *r, uint64_t key) {
	return ((r->where ^ key) & RULE_KEY_MASK) == 0;
}

/** bits 0..31 bp | 32 RULE_OF_RUNTIME | 33..59 cfa | 60..63 kind */
static inline uint64_t rule_step(enum rule_kind kind, int32_t cfa, int32_t bp) {
	return (uint64_t)kind << 60 | (uint64_t)(uint32_t)cfa << 37 >> 4 | (uint32_t)bp;
}

static inline enum rule_kind step_kind(uint64_t step) {
	return (enum rule_kind)(step >> 60);
}

static inline int64_t step_cfa(uint64_t step) {
	return (int64_t)(step << 4) >> 37;
}

static inline int32_t step_bp(uint64_t step) {
	return (int32_t)(uint32_t)step;
}

/** Prepare the shared table. False: no memory. */
bool rules_setup(void);

/** The rule of `key`. `is_stale`: the table's is known to be out of date. */
COLD void rule_get(struct rule *rule, uint64_t key, bool is_stale);

/** The program counter to look up: a return address is just behind its call. */
static inline uint64_t rule_lookup_pc(uint64_t key) {
	return (key & WIRE_EXACT_PC) != 0 ? key & WIRE_PC_MASK : key - 1;
}

/**
 * The unwind record of `key`, and the program counter that selects its row. False: none.
 * `module_id` is set in any case; 0: no known module.
 */
bool rule_find_fde(uint64_t key, struct eh_fde *fde, uint64_t *lookup_pc, uint32_t *module_id);
