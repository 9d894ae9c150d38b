// SPDX-License-Identifier: MIT

/*
 * One island of code per module, near enough for a jump of 5 bytes. Per function it holds the way
 * into the recorder and the beginning of the function, which had to make place for the jump:
 *
 *      push %rbp;  mov %rsp, %rbp;  push what(%rip);  jmp *stub(%rip);  what: ...;  stub: ...
 *      <moved instructions>;  jmp rest
 *
 * A function that was hooked by an earlier attach, and still has the same bytes, uses what lies there.
 */

#include "base/vec.h"
#include "injector/target/target.h"

#include <stdlib.h>
#include <string.h>

enum {
	RELAY_BYTES = 32,
	PLACE_BYTES = RELAY_BYTES + RELOCATE_CODE_MAX,
	FUNCTION_MAX = 256 << 10, // no allocation function is longer
	PAGE = 4096,
};

static void note_refusal(struct plan *p, const struct found_function *f, const char *why) {
	if (f->what == RESIDENT_CONFINES) {
		return; // nothing is missing without it
	}
	buffer_printf(&p->refused, "%s\t%s\t%s\n", f->module, f->name, why);
}

/** A hook of an earlier attach at the same place. */
static struct resident_hook *known_hook(struct injector *in, const struct found_function *f) {
	for (uint32_t i = 0; i < in->resident.n_hooks && i < RESIDENT_HOOKS; i++) {
		struct resident_hook *hook = &in->resident.hooks[i];
		uint8_t now[RESIDENT_PATCH_MAX];
		if ((hook->address == f->address || hook->address == f->address + 4) &&
				hook->n_bytes <= RESIDENT_PATCH_MAX &&
				tracee_read(&in->tracee, hook->address, now, hook->n_bytes) &&
				(memcmp(now, hook->original, hook->n_bytes) == 0 ||
						(hook->is_patched && memcmp(now, hook->patch, hook->n_bytes) == 0))) {
			return hook;
		}
	}
	return NULL;
}

static bool add_known(struct injector *in, const struct found_function *f,
		const struct resident_hook *hook) {
	struct planned *planned = vec_push(&in->plan.hooks);
	if (planned) {
		planned->hook = (uint32_t)(hook - in->resident.hooks);
		planned->function = f;
		planned->is_reused = true;
	}
	return planned != NULL;
}

/** The function's bytes, and some behind it. NULL: not readable. */
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

/** The way into the recorder, at `at`. */
static void put_relay(uint8_t *to, uint64_t what, uint64_t stub) {
	static const uint8_t code[] = {
			0x55,                   // push %rbp
			0x48, 0x89, 0xe5,       // mov %rsp, %rbp
			0xff, 0x35, 6, 0, 0, 0, // push 6(%rip): the first word behind
			0xff, 0x25, 8, 0, 0, 0, // jmp *8(%rip): the second
	};
	_Static_assert(sizeof code + 16 == RELAY_BYTES, "two words follow");
	memcpy(to, code, sizeof code);
	memcpy(to + sizeof code, &what, sizeof what);
	memcpy(to + sizeof code + 8, &stub, sizeof stub);
}

/** Which of the recorder's stubs takes such calls: there are shorter ones for what nearly all calls are. */
static uint64_t stub_for(const struct injector *in, const struct resident_hook *hook) {
	bool allocates = hook->what == RESIDENT_ALLOCATES && hook->size == 0 &&
			hook->times == RESIDENT_NO_REGISTER;
	bool frees = hook->what == RESIDENT_FREES && hook->ptr == 0 && hook->behind == 0;
	uint64_t at = allocates ? in->blob.stub_allocates_at
			: frees         ? in->blob.stub_frees_at
							: in->blob.stub_at;
	return in->resident.at + RESIDENT_IMAGE_AT + at;
}

static void put_patch(struct resident_hook *hook, uint64_t relay) {
	int32_t distance = (int32_t)(relay - (hook->address + RELOCATE_JUMP_BYTES));
	hook->n_bytes = RELOCATE_JUMP_BYTES;
	hook->patch[0] = 0xe9;
	memcpy(hook->patch + 1, &distance, sizeof distance);
}

/** One function into an island's next place. False: out of memory, or of hooks. */
static bool add_new(struct injector *in, struct island *island, unsigned *n,
		const struct found_function *f) {
	struct plan *p = &in->plan;
	struct function_code code;
	struct err why = {0};
	struct relocated moved;
	uint64_t at = island->at + *n * PLACE_BYTES;
	uint8_t *bytes = read_function(in, f, &code);
	bool ok = bytes && relocate(&moved, &code, at + RELAY_BYTES, &why);
	if (!ok || in->resident.n_hooks == RESIDENT_HOOKS) {
		note_refusal(p, f, !bytes ? "it cannot be read" : !ok ? why.text : "too many functions");
		free(bytes);
		return true;
	}
	struct planned *planned = vec_push(&p->hooks);
	if (planned) {
		uint32_t index = in->resident.n_hooks++;
		struct resident_hook *hook = &in->resident.hooks[index];
		*hook = (struct resident_hook){
				.moved = at + RELAY_BYTES,
				.called = at + RELAY_BYTES,
				.address = moved.patch_at,
				.what = f->what,
				.ptr = f->ptr,
				.size = f->size_register,
				.times = f->times,
				.behind = f->behind,
		};
		put_patch(hook, at);
		memcpy(hook->original, bytes + (moved.patch_at - f->address), hook->n_bytes);
		uint8_t *place = island->code + *n * PLACE_BYTES;
		put_relay(place, in->resident_at + offsetof(struct resident, hooks) + index * sizeof *hook,
				stub_for(in, hook));
		memcpy(place + RELAY_BYTES, moved.code, moved.n_code);
		*planned = (struct planned){index, moved, f, false};
		++*n;
	}
	free(bytes);
	return planned != NULL;
}

static bool take_place(struct process_space *s, const struct island *island) {
	struct mapping *m = vec_push(&s->mappings);
	if (!m) {
		return false;
	}
	struct mapping taken = {.start = island->at, .end = island->at + island->bytes, .name = ""};
	size_t i = s->mappings.n - 1;
	for (; i > 0 && s->mappings.items[i - 1].start > taken.start; i--) {
		s->mappings.items[i] = s->mappings.items[i - 1];
	}
	s->mappings.items[i] = taken;
	return true;
}

/** All functions of the module that `functions[first]` lies in. */
static bool plan_module(struct injector *in, size_t first, struct err *err) {
	const struct found_function *f = &in->functions.items[first];
	struct plan *p = &in->plan;
	unsigned n_new = 0;
	for (size_t i = first; i < in->functions.n; i++) {
		const struct found_function *other = &in->functions.items[i];
		n_new += other->module_start == f->module_start && !other->why_not &&
				!known_hook(in, other);
	}
	struct island *island = NULL;
	if (n_new > 0) {
		island = vec_push(&p->islands);
		if (!island) {
			return err_memory(err);
		}
		island->bytes = (n_new * PLACE_BYTES + PAGE - 1) & ~(uint64_t)(PAGE - 1);
		island->at = process_space_gap_near(&in->space, f->module_start, f->module_end,
				island->bytes);
		island->code = calloc(1, island->bytes);
		if (!island->code || (island->at && !take_place(&in->space, island))) {
			return err_memory(err);
		}
	}
	unsigned n = 0;
	for (size_t i = first; i < in->functions.n; i++) {
		const struct found_function *other = &in->functions.items[i];
		const struct resident_hook *known;
		if (other->module_start != f->module_start) {
			continue;
		}
		bool ok = true;
		if (other->why_not) {
			note_refusal(p, other, other->why_not);
		} else if ((known = known_hook(in, other))) {
			ok = add_known(in, other, known);
		} else if (!island->at) {
			note_refusal(p, other, "no free memory within reach of a jump");
		} else {
			ok = add_new(in, island, &n, other);
		}
		if (!ok) {
			return err_memory(err);
		}
	}
	return true;
}

static bool is_first_of_module(const struct injector *in, size_t i) {
	for (size_t k = 0; k < i; k++) {
		if (in->functions.items[k].module_start == in->functions.items[i].module_start) {
			return false;
		}
	}
	return true;
}

/** What is called for `f`, a function that throws: its quiet twin, by its moved beginning if that is hooked. */
static uint64_t quiet_entry(struct injector *in, const struct found_function *f) {
	for (size_t i = 0; i < in->plan.hooks.n; i++) {
		const struct planned *planned = &in->plan.hooks.items[i];
		if (planned->function->address == f->quiet_at) {
			return injector_hook_of(in, planned)->moved;
		}
	}
	return f->quiet_at;
}

static void call_quiet_ones(struct injector *in) {
	for (size_t i = 0; i < in->plan.hooks.n; i++) {
		const struct planned *planned = &in->plan.hooks.items[i];
		if (planned->function->quiet_at != 0) {
			injector_hook_of(in, planned)->called = quiet_entry(in, planned->function);
		}
	}
}

bool plan_make(struct injector *in, struct err *err) {
	for (size_t i = 0; i < in->functions.n; i++) {
		if (is_first_of_module(in, i) && !plan_module(in, i, err)) {
			return false;
		}
	}
	call_quiet_ones(in);
	return true;
}

void plan_finish(struct plan *p) {
	for (size_t i = 0; i < p->islands.n; i++) {
		free(p->islands.items[i].code);
	}
	vec_finish(&p->islands);
	vec_finish(&p->hooks);
	buffer_finish(&p->refused);
}
