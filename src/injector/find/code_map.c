// SPDX-License-Identifier: MIT
/*
 * Bounds the functions of a file without symbols. Every byte of the code is first looked at as if a
 * distance or an address stood there, which is quick. What fits is then decoded from the beginning
 * of its function on: only an instruction counts.
 */
#include "injector/find/functions.h"

#include <dwarf.h>

/** The file's `n` bytes from `address` on; empty if it does not have them all. */
static struct slice bytes_at(const struct elf_image *e, uint64_t address, size_t n) {
	struct slice bytes = elf_bytes_from(e, address, NULL);
	return n <= bytes.size ? slice_of(bytes.data, n) : (struct slice){0};
}

// ---- functions

/** How addresses are written, by the CIE `bytes` of a record. Negative: it cannot be read. */
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
		return DW_EH_PE_absptr;
	}
	c = cursor_init(slice_of(rest.data + n + 1, rest.size - n - 1));
	(void)cursor_varint(&c); // code alignment
	(void)cursor_varint(&c); // data alignment, as long as a number without sign
	(void)cursor_varint(&c); // the return address's register
	(void)cursor_varint(&c); // the augmentation's length
	int encoding = augmentation[0] == 'z' ? DW_EH_PE_absptr : -1;
	for (const char *at = augmentation + 1; encoding >= 0 && *at && !c.failed; at++) {
		uint8_t byte = *at == 'S' ? 0 : cursor_u8(&c); // 'S', a signal handler, has no byte
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
	if (encoding == (DW_EH_PE_pcrel | DW_EH_PE_sdata4)) {
		address = at + (uint64_t)(int64_t)(int32_t)cursor_u32(c);
		size = cursor_u32(c);
	} else if (encoding == DW_EH_PE_absptr) {
		address = cursor_u64(c);
		size = cursor_u64(c);
	} else {
		return true; // another way: one that we shall not find
	}
	return c->failed || size == 0 || bytes_at(m->image, address, size).size == 0 ||
			vec_add(&m->functions, (struct code_function){address, size});
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

bool code_map_init(struct code_map *m, const struct elf_image *image) {
	struct elf_section section;
	*m = (struct code_map){.image = image};
	if (!elf_section_find(image, ".eh_frame", &section) || !add_functions(m, &section) ||
			m->functions.n == 0) {
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
	struct slice code = bytes_at(m->image, f->address, f->size);
	return (struct function_code){code.data, code.size, code.size, f->address};
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

/** Until there is one more than `max`. */
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
	size_t n = strlen(text) + 1;
	out->is_whole |= out->n == 0;
	for (uint32_t i = 0; elf_segment_next(m->image, PT_LOAD, &i, &s);) {
		struct slice bytes = elf_bytes_from(m->image, s.address, NULL);
		for (const uint8_t *at = bytes.data, *end = bytes.data + bytes.size;
				(s.flags & PF_W) == 0 && (at = memmem(at, (size_t)(end - at), text, n)); at += n) {
			code_map_users(m, s.address + (uint64_t)(at - bytes.data), out);
		}
	}
}

bool code_map_refers(const struct code_map *m, uint32_t user, uint32_t used) {
	return code_refers(code_map_code(m, user), m->functions.items[used].address, false);
}
