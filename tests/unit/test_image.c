// SPDX-License-Identifier: MIT

/* The file to read is this test itself, and the oracle is libelf. */

#include "elf/image.h"
#include "own_bytes.h"

#include <elf.h>
#include <gelf.h>

static void agrees_with_libelf(void **state) {
	(void)state;
	struct slice bytes = own_bytes();
	struct elf_image e;
	assert_true(elf_image_init(&e, bytes));
	elf_version(EV_CURRENT);
	Elf *oracle = elf_memory((char *)bytes.data, bytes.size);
	assert_non_null(oracle);
	size_t n, names;
	assert_int_equal(elf_getshdrnum(oracle, &n), 0);
	assert_int_equal(elf_getshdrstrndx(oracle, &names), 0);
	assert_int_equal(e.n_sections, n);
	for (uint32_t i = 1; i < n; i++) {
		GElf_Shdr h;
		struct elf_section s;
		assert_non_null(gelf_getshdr(elf_getscn(oracle, i), &h));
		assert_true(elf_section_at(&e, i, &s));
		assert_string_equal(s.name, elf_strptr(oracle, names, h.sh_name));
		assert_true(s.address == h.sh_addr && s.offset == h.sh_offset && s.size == h.sh_size);
		assert_true(s.type == h.sh_type && s.flags == h.sh_flags && s.link == h.sh_link);
		assert_int_equal(s.bytes.size, h.sh_type == SHT_NOBITS ? 0 : h.sh_size);
	}
	size_t n_segments;
	assert_int_equal(elf_getphdrnum(oracle, &n_segments), 0);
	assert_int_equal(e.n_segments, n_segments);
	for (uint32_t i = 0; i < n_segments; i++) {
		GElf_Phdr h;
		struct elf_segment s;
		uint32_t next = i;
		assert_non_null(gelf_getphdr(oracle, (int)i, &h));
		assert_true(elf_segment_next(&e, h.p_type, &next, &s));
		assert_int_equal(next, i + 1);
		assert_true(s.type == h.p_type && s.address == h.p_vaddr && s.offset == h.p_offset);
		assert_true(s.file_bytes == h.p_filesz && s.memory_bytes == h.p_memsz);
	}
	elf_end(oracle);
	free((void *)bytes.data);
}

static void symbols_agree_with_libelf(void **state) {
	(void)state;
	struct slice bytes = own_bytes();
	struct elf_image e;
	assert_true(elf_image_init(&e, bytes));
	Elf *oracle = elf_memory((char *)bytes.data, bytes.size);
	size_t n_seen = 0;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(oracle, scn));) {
		GElf_Shdr h;
		gelf_getshdr(scn, &h);
		if (h.sh_type != SHT_SYMTAB && h.sh_type != SHT_DYNSYM) {
			continue;
		}
		Elf_Data *data = elf_getdata(scn, NULL);
		struct elf_symbols symbols = elf_symbols_of(&e, h.sh_type);
		assert_true(symbols.n > 0);
		for (int i = 1; i < (int)(h.sh_size / h.sh_entsize); i++, n_seen++) {
			GElf_Sym want;
			struct elf_symbol got;
			gelf_getsym(data, i, &want);
			assert_true(elf_symbols_next(&symbols, &got));
			assert_string_equal(got.name, elf_strptr(oracle, h.sh_link, want.st_name));
			assert_true(got.address == want.st_value && got.size == want.st_size);
			assert_int_equal(got.type, GELF_ST_TYPE(want.st_info));
			assert_int_equal(got.section, want.st_shndx);
		}
		struct elf_symbol none;
		assert_false(elf_symbols_next(&symbols, &none));
	}
	assert_true(n_seen > 50);
	elf_end(oracle);
	free((void *)bytes.data);
}

/** Touch all that can be asked of an image, so that a sanitizer sees each byte that is read. */
static size_t ask_everything(const struct elf_image *e) {
	size_t sum = elf_build_id(e).size + elf_first_code_address(e) % 2;
	struct elf_section s;
	for (uint32_t i = 0; elf_section_at(e, i, &s); i++) {
		struct slice b = s.bytes;
		sum += strlen(s.name) + (b.size ? b.data[0] + b.data[b.size - 1] : 0);
	}
	static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
	for (int i = 0; i < 2; i++) {
		struct elf_symbols symbols = elf_symbols_of(e, types[i]);
		for (struct elf_symbol symbol; elf_symbols_next(&symbols, &symbol);) {
			sum += strlen(symbol.name);
		}
	}
	const char *text;
	uint32_t crc;
	struct slice id;
	sum += elf_debug_link(e, &text, &crc) ? strlen(text) + crc % 2 : 0;
	sum += elf_alternate_link(e, &text, &id) ? strlen(text) + id.size : 0;
	return sum;
}

static void any_damage_is_safe(void **state) {
	(void)state;
	struct slice whole = own_bytes();
	struct elf_image e;
	unsigned seed = 7;
	size_t n_read = 0;
	for (int round = 0; round < 600; round++) {
		// A truncation, or flips where they hurt: in the headers and the tables
		size_t size = round % 2 ? whole.size : (size_t)rand_r(&seed) % whole.size;
		uint8_t *copy = malloc(size + 1);
		memcpy(copy, whole.data, size);
		for (int k = 0; round % 2 && k < 20; k++) {
			bool is_header = rand_r(&seed) % 2;
			size_t from = is_header ? 4 : size - 4000;
			copy[from + (size_t)rand_r(&seed) % (is_header ? 1200 : 4000)] = (uint8_t)rand_r(&seed);
		}
		uint8_t *tight = malloc(size ? size : 1);
		memcpy(tight, copy, size);
		free(copy);
		if (elf_image_init(&e, slice_of(tight, size))) {
			n_read += ask_everything(&e) > 0;
		}
		free(tight);
	}
	assert_true(n_read > 300); // most are still ELF files: the damage was inside
	free((void *)whole.data);
}

static void takes_no_other_files(void **state) {
	(void)state;
	struct elf_image e;
	assert_false(elf_image_init(&e, slice_of_text("#!/bin/sh")));
	uint8_t bytes[64] = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB};
	assert_false(elf_image_init(&e, slice_of(bytes, sizeof bytes)));
	bytes[EI_CLASS] = ELFCLASS64;
	assert_false(elf_image_init(&e, slice_of(bytes, 63)));
	assert_true(elf_image_init(&e, slice_of(bytes, sizeof bytes)));
	assert_int_equal(e.n_sections, 0);
	assert_int_equal(elf_build_id(&e).size, 0);
}

// A function in two parts, and one that only goes on in it
__asm__(".text\ndivided: .cfi_startproc\n test %edi, %edi\n jne divided_far\ndivided_back: ret\n"
		".cfi_endproc\n.size divided, . - divided\n"
		".section .text.unlikely,\"ax\"\ndivided_far: .cfi_startproc\n nop\n jmp divided_back\n"
		"divided_end: .cfi_endproc\n"
		"goes_on: .cfi_startproc\n nop\n jmp divided\n.cfi_endproc\n.text");
extern const uint8_t divided[], divided_far[], divided_end[], goes_on[];

static void finds_the_parts_of_a_function(void **state) {
	(void)state;
	struct slice bytes = own_bytes();
	struct elf_image e;
	assert_true(elf_image_init(&e, bytes));
	struct elf_symbols symbols = elf_symbols_of(&e, SHT_SYMTAB);
	struct elf_symbol s;
	assert_true(elf_symbols_find(&symbols, "divided", &s));
	const uint64_t near = s.address, far = near + (uint64_t)(divided_far - divided);
	const uint64_t end = near + (uint64_t)(divided_end - divided);
	struct elf_code part;
	struct map known = {0};
	for (unsigned i = 0; i < 3; i++) { // without what is known, to fill that, and from it
		struct map *m = i > 0 ? &known : NULL;
		assert_true(elf_other_part(&e, m, near + 1, &part));
		assert_true(part.address == far && part.bytes.size == end - far);
		assert_true(elf_other_part(&e, m, end - 1, &part));
		assert_true(part.address == near && part.bytes.size == s.size);
		assert_false(elf_other_part(&e, m, near + (uint64_t)(goes_on - divided), &part));
		assert_false(elf_other_part(&e, m, 0, &part) || elf_other_part(&e, m, UINT64_MAX, &part));
	}
	assert_int_equal(known.n, 3);
	map_finish(&known);
	free((void *)bytes.data);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(agrees_with_libelf),
			cmocka_unit_test(symbols_agree_with_libelf),
			cmocka_unit_test(any_damage_is_safe),
			cmocka_unit_test(finds_the_parts_of_a_function),
			cmocka_unit_test(takes_no_other_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
