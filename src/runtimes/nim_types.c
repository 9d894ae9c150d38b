// SPDX-License-Identifier: MIT
/*
 * With refc, objects of Nim's garbage collector begin with a reference count and the address of
 * their type, whose symbol holds its name: NTIsession__HASH, NTIrefsession__HASH for ref session,
 * NTIseqLsessionT__HASH for seq[session]; strDesc for strings made at run time.
 */
#include "runtimes/nim.h"

static struct slice name_of(const char *symbol) {
	struct slice name = slice_of_text(symbol);
	const char *hash = strstr(symbol, "__");
	return starts_with(name, "strDesc__")       ? slice_of_text("string")
			: hash && take_prefix(&name, "NTI") ? slice_of(symbol + 3, (size_t)(hash - symbol - 3))
												: (struct slice){0};
}

void nim_find_types(const struct elf_image *e, uint64_t bias, struct arena *arena,
		struct nim_types *out) {
	struct elf_symbols symbols = elf_symbols_all(e);
	struct elf_symbol s;
	if (!elf_symbols_find(&symbols, "NimMain", &s)) {
		return;
	}
	symbols = elf_symbols_all(e);
	while (elf_symbols_next(&symbols, &s)) {
		const struct slice name = s.type == STT_OBJECT ? name_of(s.name) : (struct slice){0};
		if (name.size > 0) {
			(void)vec_add(out, (struct nim_type){bias + s.address, arena_text(arena, name)});
		}
	}
}

void nim_put_types(const struct nim_types *t, struct python_types *out) {
	EACH(type, *t) {
		char name[256];
		size_t n = strlen(type->name);
		bool is_ref = starts_with(slice_of_text(type->name), "ref") &&
				FIND_IN(of, *t, strcmp(of->name, type->name + 3) == 0);
		bool is_seq = n > 5 && strncmp(type->name, "seqL", 4) == 0 && type->name[n - 1] == 'T';
		(void)snprintf(name, sizeof name, is_seq ? "seq[%.*s]" : "%.*s", (int)(is_seq ? n - 5 : n),
				type->name +
						(is_seq                  ? 4
										: is_ref ? 3
												 : 0));
		(void)map_put(&out->known, type->address, (uint64_t)texts_id_of(out->names, name) << 3);
	}
}
