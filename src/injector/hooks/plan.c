// SPDX-License-Identifier: MIT
/*
 * Planning one island of code for each module, near enough for a jump. For each function it holds
 * the way into the recorder, and the function's beginning, which had to make room for the jump:
 *
 *      function:  jmp island            island:  the relay: to the recorder's stub, about this hook
 *      rest:      ...           ◄────            moved instructions;  jmp rest
 *
 * A function hooked by an earlier attach that still has the same bytes uses what lies there.
 */
#include "injector/hooks/patch.h"
#include "machine.h"

enum {
	PLACE_BYTES = RELOCATE_RELAY_BYTES + RELOCATE_CODE_MAX,
	FUNCTION_MAX = 256 << 10, // no allocation function is longer
	PAGE = 4096,
	GAP_MARGIN = 64 << 10, // left free beside what is there
	LOWEST = 64 << 10,     // vm.mmap_min_addr
};

// ---- gaps

/** A gap in reach of a jump from all of [low, high), out of the way of heap and stacks. 0: none. */
static uint64_t gap_near(const struct process_space *s, uint64_t low, uint64_t high,
		uint64_t bytes) {
	uint64_t best = 0, best_distance = UINT64_MAX, gap_low = LOWEST;
	for (size_t i = 0; i <= s->mappings.n; i++) {
		uint64_t gap_high = i < s->mappings.n ? s->mappings.items[i].start : MACHINE_ADDRESS_END;
		bool is_usable = gap_high > gap_low && gap_high - gap_low >= bytes + 2 * GAP_MARGIN;
		// The heap grows, or will, from the gap's low end; a stack down from its high end
		bool has_heap = i > 0 &&
				(strcmp(s->mappings.items[i - 1].name, "[heap]") == 0 ||
						(s->brk_start >= gap_low && s->brk_start <= gap_high));
		bool has_stack = i < s->mappings.n && strcmp(s->mappings.items[i].name, "[stack]") == 0;
		bool may_use[] = {is_usable && !has_heap, is_usable && !has_stack};
		uint64_t ends[] = {gap_low + GAP_MARGIN, gap_high - GAP_MARGIN - bytes};
		for (unsigned e = 0; e < 2; e++) {
			uint64_t at = ends[e] & ~(uint64_t)(PAGE - 1);
			uint64_t from = at < low ? at : low, to = at + bytes > high ? at + bytes : high;
			uint64_t distance = at < low ? low - at : at - high;
			if (may_use[e] && to - from < MACHINE_REACH && distance < best_distance) {
				best = at;
				best_distance = distance;
			}
		}
		gap_low = i < s->mappings.n ? s->mappings.items[i].end : gap_low;
	}
	return best;
}

// ---- functions

static void note_refusal(struct plan *p, const struct found_function *f, const char *why) {
	if (found_is_beside(f)) {
		p->has_refused_maps |= f->what >= RESIDENT_MAPS && f->what <= RESIDENT_DETACHES;
		return; // without it no block is missed
	}
	buffer_printf(&p->refused, "%s\t%s\t%s\n", f->module, f->name, why);
}

/** The hook of an earlier attach at the same place. */
static struct resident_hook *known_hook(struct injector *in, const struct found_function *f) {
	uint32_t n = in->resident.n_hooks;
	uint8_t now[RESIDENT_PATCH_MAX];
	return FIND(hook, in->resident.hooks, n < RESIDENT_HOOKS ? n : RESIDENT_HOOKS,
			(hook->address == f->address || hook->address == f->address + 4) &&
					hook->n_bytes <= RESIDENT_PATCH_MAX &&
					tracee_read(&in->tracee, hook->address, now, hook->n_bytes) &&
					(memcmp(now, hook->original, hook->n_bytes) == 0 ||
							(hook->is_patched && memcmp(now, hook->patch, hook->n_bytes) == 0)));
}

/** The function's bytes, and some after it. NULL: unreadable. */
static uint8_t *read_function(const struct injector *in, const struct found_function *f,
		struct function_code *code) {
	const size_t behind = 32;
	size_t n = (f->size < FUNCTION_MAX ? f->size : FUNCTION_MAX) + behind;
	uint8_t *bytes = malloc(n);
	if (bytes && !tracee_read(&in->tracee, f->address, bytes, n)) {
		free(bytes);
		return NULL;
	}
	*code = (struct function_code){bytes, n, f->size, f->address};
	return bytes;
}

/** Which stub of the recorder takes such calls: the common kinds have shorter ones. */
static uint64_t stub_for(const struct injector *in, const struct resident_hook *hook) {
	bool allocates = hook->what == RESIDENT_ALLOCATES && hook->size == 0 &&
			hook->times == RESIDENT_NO_REGISTER;
	bool frees = hook->what == RESIDENT_FREES && hook->ptr == 0 && hook->behind == 0;
	uint64_t at = allocates                ? in->blob.stub_allocates_at
			: frees                        ? in->blob.stub_frees_at
			: hook->what == RESIDENT_CALLS ? in->blob.stub_calls_at
										   : in->blob.stub_at;
	return in->resident.at + RESIDENT_IMAGE_AT + at;
}

/** Put one function into an island's next place. False: out of memory. */
static bool add_new(struct injector *in, struct island *island, unsigned *n,
		const struct found_function *f) {
	struct plan *p = &in->plan;
	struct function_code code;
	struct relocated moved;
	uint64_t at = island->at + *n * PLACE_BYTES;
	FREED uint8_t *bytes = read_function(in, f, &code);
	const char *why_not = in->resident.n_hooks == RESIDENT_HOOKS ? "too many functions"
			: bytes ? relocate(&moved, &code, at + RELOCATE_RELAY_BYTES)
					: "it cannot be read";
	if (why_not) {
		note_refusal(p, f, why_not);
		return true;
	}
	struct planned *planned = vec_push(&p->hooks);
	if (planned) {
		uint32_t index = in->resident.n_hooks++;
		struct resident_hook *hook = &in->resident.hooks[index];
		*hook = (struct resident_hook){
				.moved = at + RELOCATE_RELAY_BYTES,
				.called = at + RELOCATE_RELAY_BYTES,
				.address = moved.patch_at,
				FIELDS_OF(f, what, ptr, times, behind),
				.size = f->size_register,
		};
		hook->n_bytes = relocate_put_jump(hook->patch, hook->address, at);
		memcpy(hook->original, bytes + (moved.patch_at - f->address), hook->n_bytes);
		uint8_t *place = island->code + *n * PLACE_BYTES;
		relocate_put_relay(place, injector_hook_at(in, index), stub_for(in, hook));
		memcpy(place + RELOCATE_RELAY_BYTES, moved.code, moved.n_code);
		*planned = (struct planned){index, moved, f, false};
		++*n;
	}
	return planned != NULL;
}

static bool take_place(struct process_space *s, const struct island *island) {
	struct smaps_area taken = {.start = island->at, .end = island->at + island->bytes, .name = ""};
	bool ok = vec_add(&s->mappings, taken);
	vec_sort(&s->mappings, by_number);
	return ok;
}

static bool is_of_module(const struct found_function *f, const struct found_function *of) {
	return f->module_start == of->module_start;
}

/** An island for the functions of `of`'s module. NULL: none needed, or no memory (*ok). */
static struct island *add_island(struct injector *in, const struct found_function *of, bool *ok) {
	const struct found_function *f = in->functions.items;
	uint64_t n_new = SUM(i, in->functions.n,
			is_of_module(&f[i], of) && !f[i].why_not && !known_hook(in, &f[i]));
	struct island *island = n_new > 0 ? vec_push(&in->plan.islands) : NULL;
	*ok = island || n_new == 0;
	if (!island) {
		return NULL;
	}
	island->bytes = round_up(n_new * PLACE_BYTES, PAGE);
	island->at = gap_near(&in->space, of->module_start, of->module_end, island->bytes);
	island->code = calloc(1, island->bytes);
	*ok = island->code && (!island->at || take_place(&in->space, island));
	return island;
}

/** Plan all functions of the module of `functions[first]`, its first. */
static bool plan_module(struct injector *in, size_t first, struct err *err) {
	const struct found_function *of = &in->functions.items[first];
	bool ok;
	struct island *island = add_island(in, of, &ok);
	unsigned n = 0;
	for (size_t i = first; ok && i < in->functions.n; i++) {
		const struct found_function *f = &in->functions.items[i];
		const struct resident_hook *known;
		if (!is_of_module(f, of)) {
			continue;
		}
		if (f->why_not) {
			note_refusal(&in->plan, f, f->why_not);
		} else if ((known = known_hook(in, f))) {
			uint32_t hook = (uint32_t)(known - in->resident.hooks);
			ok = vec_add(&in->plan.hooks,
					(struct planned){.hook = hook, .function = f, .is_reused = true});
		} else if (!island->at) {
			note_refusal(&in->plan, f, "no free memory within reach of a jump");
		} else {
			ok = add_new(in, island, &n, f);
		}
	}
	return ok || err_memory(err);
}

/** For one that throws, call its quiet twin: by its moved beginning, if hooked. */
static void call_quiet_ones(struct injector *in) {
	EACH(planned, in->plan.hooks) {
		uint64_t at = planned->function->quiet_at;
		if (at != 0) {
			const struct planned *twin = FIND_IN(p, in->plan.hooks, p->function->address == at);
			injector_hook_of(in, planned)->called = twin ? injector_hook_of(in, twin)->moved : at;
		}
	}
}

bool plan_make(struct injector *in, struct err *err) {
	const struct found_function *all = in->functions.items;
	bool ok = ALL(i, in->functions.n,
			ANY(k, i, is_of_module(&all[k], &all[i])) || plan_module(in, i, err));
	if (ok) {
		call_quiet_ones(in);
	}
	return ok;
}
