// SPDX-License-Identifier: MIT
/*
 * Bounds the functions of a file without symbols. Each byte of code is quickly tried as a distance
 * or an address; what fits is decoded from its function's beginning: only instructions count.
 */
#include "injector/find/functions.h"
#include "wire/image.h"

// ---- functions

/** The functions of which the file has all bytes. */
static bool add_functions(struct code_map *m, const struct elf_section *section) {
	struct slice all = section->bytes;
	const uint8_t *end = all.data + all.size;
	struct eh_cursor record;
	struct eh_fde f;
	bool ok = true;
	for (const uint8_t *at = all.data; ok && at < end; at = record.end) {
		if (!eh_record_open(&record, at, end) ||
				!eh_fde_read(&f, at, (uint64_t)all.data, (uint64_t)end)) {
			continue;
		}
		uint8_t relation = f.pc_encoding & EH_PE_RELATION; // pc-relative, absolute, or unknown
		uint64_t place = relation == DW_EH_PE_pcrel ? section->address - (uint64_t)all.data : 0;
		uint64_t address = f.start + place, size = f.end - f.start;
		ok = relation > DW_EH_PE_pcrel || size == 0 ||
				elf_bytes_from(m->image, address, NULL).size < size ||
				vec_add(&m->functions, (struct code_function){address, size});
	}
	return ok;
}

bool code_map_init(struct code_map *m, const struct elf_image *image) {
	struct elf_section frames = elf_section_named(image, ".eh_frame");
	*m = (struct code_map){.image = image};
	if (!add_functions(m, &frames) || m->functions.n == 0) {
		code_map_finish(m);
		return false;
	}
	qsort(m->functions.items, m->functions.n, sizeof *m->functions.items, by_number);
	return true;
}

void code_map_finish(struct code_map *m) {
	vec_finish(&m->functions);
}

uint32_t code_map_function_at(const struct code_map *m, uint64_t address) {
	const struct code_function *items = m->functions.items;
	size_t after = sorted_first_of(items, m->functions.n, sizeof *items, address + 1);
	return after > 0 && address - items[after - 1].address < items[after - 1].size
			? (uint32_t)(after - 1)
			: CODE_NO_FUNCTION;
}

// ---- users

struct function_code code_map_code(const struct code_map *m, uint32_t function) {
	const struct code_function *f = &m->functions.items[function];
	struct slice code = elf_bytes_from(m->image, f->address, NULL);
	return (struct function_code){code.data, f->size, f->size, f->address};
}

bool code_users_have(const struct code_users *users, uint32_t function) {
	return ANY(i, users->n, users->items[i] == function);
}

static void add_user(const struct code_map *m, uint32_t function, uint64_t address,
		bool is_call_only, size_t max, struct code_users *out) {
	if (function == CODE_NO_FUNCTION || code_users_have(out, function) ||
			!code_refers(code_map_code(m, function), address, is_call_only)) {
		return;
	}
	if (out->n == max) {
		out->is_whole = false;
		return;
	}
	out->items[out->n++] = function;
}

/** Stops at one more than `max`. */
static void add_users(const struct code_map *m, uint64_t address, bool is_call_only, size_t max,
		struct code_users *out) {
	struct elf_segment s;
	out->is_whole |= out->n == 0;
	for (uint32_t i = 0; elf_segment_next(m->image, PT_LOAD, &i, &s);) {
		struct slice code = elf_bytes_from(m->image, s.address, NULL);
		for (size_t at = 0; (s.flags & PF_X) != 0 && out->is_whole &&
				(at = code_next_candidate(code, s.address, at, address)) != SIZE_MAX;
				at++) {
			add_user(m, code_map_function_at(m, s.address + at), address, is_call_only, max, out);
		}
	}
}

struct code_users code_map_users(const struct code_map *m, uint32_t function) {
	struct code_users users = {0};
	if (function != CODE_NO_FUNCTION) {
		add_users(m, m->functions.items[function].address, false, CODE_USERS_MAX, &users);
	}
	return users;
}

bool code_map_is_called(const struct code_map *m, uint32_t function) {
	struct code_users callers = {0};
	add_users(m, m->functions.items[function].address, true, 2, &callers);
	return callers.n > code_users_have(&callers, function);
}

struct code_users code_map_users_of_text(const struct code_map *m, const char *text) {
	struct code_users users = {.is_whole = true};
	struct elf_segment s;
	size_t n = strlen(text) + 1;
	for (uint32_t i = 0; elf_segment_next(m->image, PT_LOAD, &i, &s);) {
		struct slice bytes = elf_bytes_from(m->image, s.address, NULL);
		for (const uint8_t *at = bytes.data, *end = bytes.data + bytes.size;
				(s.flags & PF_W) == 0 && (at = memmem(at, (size_t)(end - at), text, n)); at += n) {
			uint64_t address = s.address + (uint64_t)(at - bytes.data);
			add_users(m, address, false, CODE_USERS_MAX, &users);
		}
	}
	return users;
}

bool code_map_refers(const struct code_map *m, uint32_t user, uint32_t used) {
	return code_refers(code_map_code(m, user), m->functions.items[used].address, false);
}
