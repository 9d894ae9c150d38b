// SPDX-License-Identifier: MIT
#include "symbols/names/names.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { TEXT_AT = 0x1000, TEXT_BYTES = 0x1000, N_MAX = 64 };

/** An ELF image with one section of code and one symbol table, made for a test. */
struct made {
	Elf64_Ehdr header;
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[N_MAX];
	char names[N_MAX * 24];
};

static void make(struct made *m) {
	memset(m, 0, sizeof *m);
	memcpy(m->header.e_ident, ELFMAG, SELFMAG);
	m->header.e_ident[EI_CLASS] = ELFCLASS64;
	m->header.e_ident[EI_DATA] = ELFDATA2LSB;
	m->header.e_shoff = offsetof(struct made, sections);
	m->header.e_shentsize = sizeof(Elf64_Shdr);
	m->header.e_shnum = 4;
	m->sections[1] = (Elf64_Shdr){.sh_type = SHT_NOBITS,
			.sh_flags = SHF_EXECINSTR,
			.sh_addr = TEXT_AT,
			.sh_size = TEXT_BYTES};
	m->sections[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
			.sh_link = 3,
			.sh_offset = offsetof(struct made, symbols),
			.sh_size = sizeof(Elf64_Sym)};
	m->sections[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct made, names),
			.sh_size = 1};
}

static void add(struct made *m, const char *name, uint64_t at, uint64_t size, int type, int bind) {
	size_t i = m->sections[2].sh_size / sizeof(Elf64_Sym);
	m->symbols[i] = (Elf64_Sym){.st_name = (Elf64_Word)m->sections[3].sh_size,
			.st_info = (unsigned char)ELF64_ST_INFO(bind, type),
			.st_shndx = 1,
			.st_value = at,
			.st_size = size};
	strcpy(m->names + m->sections[3].sh_size, name);
	m->sections[3].sh_size += strlen(name) + 1;
	m->sections[2].sh_size += sizeof(Elf64_Sym);
}

static void fill(struct symbol_table *t, const struct made *m) {
	struct elf_image e;
	assert_true(elf_image_init(&e, slice_of(m, sizeof *m)));
	*t = (struct symbol_table){0};
	symbol_table_add(t, &e, SHT_SYMTAB, SYMBOL_FUNCTIONS);
	symbol_table_sort(t);
}

static const char *name_at(const struct symbol_table *t, uint64_t address) {
	const struct symbol_entry *e = symbol_table_find(t, address);
	return e ? e->name : "-";
}

static void finds_by_address(void **state) {
	(void)state;
	struct made m;
	struct symbol_table t;
	make(&m);
	add(&m, "sized", 0x1100, 0x40, STT_FUNC, STB_GLOBAL);
	add(&m, "label", 0x1110, 0, STT_NOTYPE, STB_LOCAL);  // inside of sized
	add(&m, "inner", 0x1120, 0x10, STT_FUNC, STB_LOCAL); // inside of sized
	add(&m, "open", 0x1200, 0, STT_NOTYPE, STB_GLOBAL);  // to the next
	add(&m, "next", 0x1300, 0x10, STT_FUNC, STB_GLOBAL);
	add(&m, "last", 0x1f00, 0, STT_FUNC, STB_GLOBAL);   // to the section's end
	add(&m, "data", 0x1400, 8, STT_OBJECT, STB_GLOBAL); // no function
	add(&m, ".L1", 0x1500, 0, STT_NOTYPE, STB_LOCAL);   // an assembler's own
	fill(&t, &m);
	assert_string_equal(name_at(&t, 0x10ff), "-");
	assert_string_equal(name_at(&t, 0x1100), "sized");
	assert_string_equal(name_at(&t, 0x1115), "sized");
	assert_string_equal(name_at(&t, 0x1125), "inner");
	assert_string_equal(name_at(&t, 0x113f), "sized");
	assert_string_equal(name_at(&t, 0x1140), "-"); // a gap is not the function before it
	assert_string_equal(name_at(&t, 0x12ff), "open");
	assert_string_equal(name_at(&t, 0x1300), "next");
	assert_string_equal(name_at(&t, 0x1310), "-");
	assert_string_equal(name_at(&t, 0x1400), "-");
	assert_string_equal(name_at(&t, 0x1500), "-");
	assert_string_equal(name_at(&t, 0x1fff), "last");
	assert_string_equal(name_at(&t, 0x2000), "-");
	vec_finish(&t);
}

static void shows_the_best_of_several(void **state) {
	(void)state;
	struct made m;
	struct symbol_table t;
	make(&m);
	add(&m, "__libc_malloc", 0x1100, 0x10, STT_FUNC, STB_GLOBAL);
	add(&m, "malloc", 0x1100, 0x10, STT_FUNC, STB_GLOBAL);
	add(&m, "_malloc_local", 0x1100, 0x10, STT_FUNC, STB_LOCAL);
	add(&m, "weak", 0x1200, 0x10, STT_FUNC, STB_WEAK);
	add(&m, "strong_", 0x1200, 0x10, STT_FUNC, STB_GLOBAL);
	add(&m, "label", 0x1300, 0, STT_NOTYPE, STB_GLOBAL);
	add(&m, "sized", 0x1300, 0x10, STT_FUNC, STB_LOCAL);
	fill(&t, &m);
	assert_string_equal(name_at(&t, 0x1100), "malloc");
	assert_string_equal(name_at(&t, 0x1200), "strong_");
	assert_string_equal(name_at(&t, 0x1300), "sized");
	assert_false(t.is_nim);
	vec_finish(&t);
	add(&m, "NimMain", 0x1400, 0x10, STT_FUNC, STB_GLOBAL);
	fill(&t, &m);
	assert_true(t.is_nim);
	vec_finish(&t);
}

/** The rule of symbol_table.h, by looking at every symbol. */
static const Elf64_Sym *slowly(const struct made *m, uint64_t address) {
	const Elf64_Sym *best = NULL;
	size_t n = m->sections[2].sh_size / sizeof(Elf64_Sym);
	for (size_t i = 1; i < n; i++) {
		const Elf64_Sym *s = &m->symbols[i];
		if (s->st_size && s->st_value <= address && address < s->st_value + s->st_size &&
				(!best || s->st_value > best->st_value)) {
			best = s;
		}
	}
	return best;
}

static void equals_the_slow_way(void **state) {
	(void)state;
	unsigned seed = 5;
	for (int round = 0; round < 200; round++) {
		struct made m;
		struct symbol_table t;
		make(&m);
		// Nested and overlapping ones, each at an address of its own
		for (int i = 0; i < 50; i++) {
			char name[24];
			snprintf(name, sizeof name, "f%d", i);
			add(&m, name, TEXT_AT + (uint64_t)i * 64 + (uint64_t)(rand_r(&seed) % 64),
					1 + (uint64_t)rand_r(&seed) % 300, STT_FUNC, STB_GLOBAL);
		}
		fill(&t, &m);
		for (uint64_t at = TEXT_AT; at < TEXT_AT + TEXT_BYTES; at += 7) {
			const Elf64_Sym *want = slowly(&m, at);
			assert_string_equal(name_at(&t, at), want ? m.names + want->st_name : "-");
		}
		vec_finish(&t);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(finds_by_address),
			cmocka_unit_test(shows_the_best_of_several),
			cmocka_unit_test(equals_the_slow_way),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
