// SPDX-License-Identifier: MIT
/*
 * The shared table holds the rules in the order of their making, so that few pages are touched; an
 * index with open addressing names each by its number, from 1 on. A slot is claimed by exchanging
 * its key for SLOT_BUSY, filled in, and opened by storing the key. A reader copies the rule and
 * then checks that key and generation are unchanged. Rules of an earlier generation may be
 * overwritten. When all slots or all places of a key are taken, an empty table four times as large
 * replaces this one: rules are quickly remade, so none are moved. Old tables stay mapped, for
 * readers.
 */
#include "recorder/core/unwind/rules.h"

#include "recorder/core/unwind/modules.h"
#include "recorder/core/unwind/runtimes.h"
#include "recorder/core/unwind/walk.h"

enum {
	FIRST_BITS = 12,
	GROWTH_BITS = 2,
	N_TABLES = 5,   // 2^12 .. 2^20 rules
	INDEX_BITS = 2, // of the index, more than of the slots
	PROBES = 16,
};

#define SLOT_BUSY UINT64_MAX
_Static_assert((RULE_KEY_MASK & SLOT_BUSY) != SLOT_BUSY, "no key");

struct slot {
	_Atomic uint64_t key; // 0: empty
	_Atomic uint64_t where;
	_Atomic uint64_t step;
	_Atomic uint32_t generation;
	uint32_t reserved;
};
_Static_assert(sizeof(struct slot) == 32, "two to a cache line");

static _Atomic(struct slot *) tables[N_TABLES]; // the index follows the slots
static _Atomic uint32_t n_taken[N_TABLES];
static _Atomic uint32_t n_tables;

static unsigned table_bits(unsigned index) {
	return FIRST_BITS + GROWTH_BITS * index;
}

static bool grow(uint32_t n) {
	if (n == N_TABLES || !segment_may_call_system()) {
		return false;
	}
	size_t bytes = (sizeof(struct slot) + (sizeof(uint32_t) << INDEX_BITS)) << table_bits(n);
	bool ok = SYS_MAP_ONCE(&tables[n], bytes) != NULL;
	(void)(ok && atomic_compare_exchange_strong(&n_tables, &n, n + 1));
	return ok;
}

bool rules_setup(void) {
	return atomic_load(&n_tables) > 0 || grow(0);
}

// ---- from a row to a rule

/** Is an expression register + constant? Evaluated at two values, it moves along. True: *offset. */
static bool is_register_plus(struct eh_expr expr, unsigned reg, uint64_t pc, int32_t *offset) {
	const uint64_t probes[2] = {1ull << 40, (1ull << 40) + 0x12345678};
	uint64_t regs[REG_N];
	uint64_t results[2];
	sys_fill(regs, 0, sizeof(regs));
	regs[REG_PC] = pc;
	const struct eh_machine machine = {regs, 1u << reg | 1u << REG_PC, NULL, NULL};
	for (unsigned i = 0; i < 2; i++) {
		regs[reg] = probes[i];
		if (!eh_evaluate(expr, &machine, false, 0, &results[i])) {
			return false;
		}
		results[i] -= probes[i];
	}
	*offset = (int32_t)results[0];
	return results[0] == results[1] && (uint64_t)(int64_t)*offset == results[0];
}

/** How the CFA is found; its constant goes to `*offset`. */
static enum rule_kind cfa_kind(int32_t *offset, const struct eh_fde *fde, const struct eh_row *row,
		uint64_t pc) {
	*offset = row->cfa_value;
	if (row->cfa_how == EH_CFA_OFFSET) {
		return row->cfa_register == REG_SP    ? RULE_SP
				: row->cfa_register == REG_BP ? RULE_BP
											  : RULE_SLOW;
	}
	struct eh_expr expr = eh_expression(fde, row->cfa_value);
	if (is_register_plus(expr, REG_SP, pc, offset)) { // entries of the PLT
		return RULE_SP;
	}
	// It may end by loading from the address that the rest of it yields
	bool is_deref = expr.end - expr.at >= 3 && *--expr.end == DW_OP_deref &&
			is_register_plus(expr, REG_BP, pc, offset);
	return is_deref ? RULE_DEREF : RULE_SLOW;
}

/** How the caller's bp is found. False: only the slow path can. */
static bool find_bp(int32_t *bp, enum rule_kind kind, int32_t cfa, const struct eh_fde *fde,
		const struct eh_row *row, uint64_t pc) {
	*bp = RULE_BP_SAME;
	switch (row->how[REG_BP]) {
	case EH_SAME:
	case EH_UNDEFINED: return true;
	case EH_AT: *bp = row->value[REG_BP]; return kind != RULE_DEREF;
	case EH_AT_EXPR:
		if (kind == RULE_SP ||
				!is_register_plus(eh_expression(fde, row->value[REG_BP]), REG_BP, pc, bp)) {
			return false;
		}
		*bp -= kind == RULE_BP ? cfa : 0;
		return true;
	default: return false;
	}
}

static uint64_t step_of_row(const struct eh_fde *fde, const struct eh_row *row, uint64_t pc) {
	if (row->how[REG_PC] == EH_UNDEFINED) {
		return rule_step(RULE_END, 0, RULE_BP_SAME);
	}
	bool is_usual = row->how[REG_PC] == EH_AT && row->value[REG_PC] == -8 &&
			(row->how[REG_SP] == EH_SAME || (row->how[REG_SP] == EH_IS && row->value[REG_SP] == 0));
	int32_t cfa = 0;
	int32_t bp = RULE_BP_SAME;
	enum rule_kind kind = is_usual ? cfa_kind(&cfa, fde, row, pc) : RULE_SLOW;
	if (kind == RULE_SLOW || cfa > RULE_CFA_MAX || cfa < -RULE_CFA_MAX ||
			!find_bp(&bp, kind, cfa, fde, row, pc)) {
		return rule_step(RULE_SLOW, 0, RULE_BP_SAME);
	}
	return rule_step(kind, cfa, bp);
}

/**
 * Compares the first and the last word. They may be anything, so sanitizers do not check the loads.
 */
static bool is_signal_trampoline(uint64_t pc) {
	const uint64_t code = (uint64_t)SIGNAL_TRAMPOLINE, last = SIGNAL_TRAMPOLINE_BYTES - 8;
	return segment_may_call_system() && sys_is_readable(pc) && sys_is_readable(pc + last) &&
			walk_load(pc) == walk_load(code) && walk_load(pc + last) == walk_load(code + last);
}

bool rule_find_fde(uint64_t key, struct eh_fde *fde, uint64_t *lookup_pc, uint32_t *module_id) {
	struct module module = {0};
	uint64_t pc = rule_lookup_pc(key);
	bool is_call = (key & WIRE_EXACT_PC) == 0;
	bool has_module = module_find(pc, &module);
	*module_id = module.id;
	*lookup_pc = pc;
	if (has_module && module.tables.hdr != NULL && eh_find(&module.tables, pc, fde)) {
		return true;
	}
	// A return address without a call: makecontext() stores the address of a function's first byte
	if (has_module && module.tables.hdr != NULL && is_call &&
			eh_find(&module.tables, pc + 1, fde) && fde->start == pc + 1) {
		*lookup_pc = pc + 1;
		return true;
	}
	return registered_find(pc, fde) ||
			(has_module && module.tables.hdr == NULL && eh_find(&module.tables, pc, fde));
}

static void compile(struct rule *r, uint64_t key) {
	struct eh_fde fde;
	struct eh_row row;
	uint64_t lookup_pc;
	uint32_t module_id;
	uint64_t pc = key & WIRE_PC_MASK;
	bool has_fde = rule_find_fde(key, &fde, &lookup_pc, &module_id);
	r->where = key | (uint64_t)module_id << WIRE_MODULE_SHIFT;
	bool is_candidate = module_id != 0 && (!has_fde || fde.is_signal); // musl has no tables for it
	if (is_candidate && is_signal_trampoline(pc)) {
		r->step = rule_step(RULE_SIGNAL, 0, RULE_BP_SAME);
	} else if (!has_fde) {
		r->step = rule_step(module_id != 0 ? RULE_FRAME : RULE_JIT, 16, -16);
	} else if (!eh_row(&fde, lookup_pc, &row)) {
		r->step = rule_step(RULE_SLOW, 0, RULE_BP_SAME);
	} else {
		r->step = step_of_row(&fde, &row, pc);
	}
	r->step |= (module_id != 0 || !has_fde) && runtimes_cover(r->where) ? RULE_OF_RUNTIME : 0;
}

// ---- the shared table

static struct slot *slots_of(uint32_t table) {
	return atomic_load_explicit(&tables[table], memory_order_acquire);
}

/** The `i`th place of the index where the number of that rule may stand. */
static _Atomic uint32_t *place_of(uint32_t table, uint64_t key, unsigned i) {
	unsigned bits = table_bits(table) + INDEX_BITS;
	_Atomic uint32_t *places = (void *)(slots_of(table) + (1ull << table_bits(table)));
	return &places[((key * 0x9E3779B97F4A7C15ull >> (64 - bits)) + i) & ((1ull << bits) - 1)];
}

static bool read_slot(struct slot *s, struct rule *r, uint64_t key, uint32_t generation) {
	// The acquire pairs with write_slot(); all reads in between stay before the second look
	if (atomic_load_explicit(&s->key, memory_order_acquire) != key ||
			atomic_load_explicit(&s->generation, memory_order_acquire) != generation) {
		return false;
	}
	r->where = atomic_load_explicit(&s->where, memory_order_acquire);
	r->step = atomic_load_explicit(&s->step, memory_order_acquire);
	return atomic_load_explicit(&s->key, memory_order_relaxed) == key &&
			atomic_load_explicit(&s->generation, memory_order_relaxed) == generation;
}

static bool write_slot(struct slot *s, uint64_t seen, const struct rule *r, uint32_t generation) {
	if (seen == SLOT_BUSY || !atomic_compare_exchange_strong(&s->key, &seen, SLOT_BUSY)) {
		return false;
	}
	// Releases: none of these may be seen before SLOT_BUSY
	atomic_store_explicit(&s->generation, generation, memory_order_release);
	atomic_store_explicit(&s->where, r->where, memory_order_release);
	atomic_store_explicit(&s->step, r->step, memory_order_release);
	atomic_store_explicit(&s->key, r->where & RULE_KEY_MASK, memory_order_release);
	return true;
}

static bool find(uint32_t table, struct rule *r, uint64_t key, uint32_t generation) {
	uint32_t number = 1;
	for (unsigned i = 0; i < PROBES && number != 0; i++) {
		// Acquire pairs with the exchange in insert()
		number = atomic_load_explicit(place_of(table, key, i), memory_order_acquire);
		if (number != 0 && read_slot(&slots_of(table)[number], r, key, generation)) {
			return true;
		}
	}
	return false;
}

static bool insert(uint32_t table, const struct rule *r, uint32_t generation) {
	const uint64_t key = r->where & RULE_KEY_MASK;
	for (unsigned i = 0; i < PROBES; i++) {
		_Atomic uint32_t *place = place_of(table, key, i);
		uint32_t number = atomic_load_explicit(place, memory_order_acquire);
		uint32_t fresh = number == 0 ? segment_take(&n_taken[table], 1u << table_bits(table)) : 0;
		if (fresh != 0 && atomic_compare_exchange_strong(place, &number, fresh)) {
			number = fresh;
		}
		if (number == 0) {
			return false;
		}
		struct slot *s = &slots_of(table)[number];
		uint64_t seen = atomic_load_explicit(&s->key, memory_order_acquire);
		bool is_ours_to_take = seen == 0 || seen == key ||
				atomic_load_explicit(&s->generation, memory_order_relaxed) != generation;
		if (is_ours_to_take && write_slot(s, seen, r, generation)) {
			return true;
		}
	}
	return false;
}

void rule_get(struct rule *rule, uint64_t key, bool is_stale) {
	uint32_t generation = atomic_load_explicit(&code_generation, memory_order_acquire);
	uint32_t n = atomic_load_explicit(&n_tables, memory_order_acquire);
	if (!is_stale && find(n - 1, rule, key, generation)) {
		return;
	}
	runtimes_look();
	compile(rule, key);
	if (insert(n - 1, rule, generation)) {
		return;
	}
	if (grow(n)) {
		(void)insert(n, rule, generation);
		return;
	}
	// It cannot grow: the newest matters more than what is in its place
	_Atomic uint32_t *place = place_of(n - 1, key, 0);
	uint32_t number = 0, any = 1 + (uint32_t)(key % ((1u << table_bits(n - 1)) - 1));
	number = atomic_compare_exchange_strong(place, &number, any) ? any : number;
	struct slot *s = &slots_of(n - 1)[number];
	(void)write_slot(s, atomic_load(&s->key), rule, generation);
}
