// SPDX-License-Identifier: MIT
#include "symbols/files/files.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <cmocka.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum { TEXT_BYTES = 10000 };

static struct slice text(void) {
	static uint8_t data[TEXT_BYTES];
	for (size_t i = 0; i < sizeof data; i++) {
		data[i] = (uint8_t)(i * i >> 7);
	}
	return slice_of(data, sizeof data);
}

static struct slice section_of(struct slice image, const char *name) {
	struct elf_image e;
	assert_true(elf_image_init(&e, image));
	struct elf_section s = elf_section_named(&e, name);
	assert_int_not_equal(s.type, SHT_NULL);
	return s.bytes;
}

static void sections_come_back(void **state) {
	(void)state;
	struct arena arena = {0};
	uint8_t zlib[TEXT_BYTES * 2], zstd[TEXT_BYTES * 2];
	uLongf n_zlib = sizeof zlib;
	assert_int_equal(compress(zlib, &n_zlib, text().data, text().size), Z_OK);
	size_t n_zstd = ZSTD_compress(zstd, sizeof zstd, text().data, text().size, 3);
	assert_false(ZSTD_isError(n_zstd));
	const struct compose_section sections[] = {
			compose_plain(".debug_plain", text()),
			compose_plain(".debug_empty", (struct slice){0}),
			{".debug_zlib", slice_of(zlib, n_zlib), TEXT_BYTES, ELFCOMPRESS_ZLIB},
			{".debug_zstd", slice_of(zstd, n_zstd), TEXT_BYTES, ELFCOMPRESS_ZSTD},
			{".debug_cut", slice_of(zlib, n_zlib / 2), TEXT_BYTES, ELFCOMPRESS_ZLIB},
	};
	struct slice image = compose_image(sections, 5, &arena);
	assert_true(slice_equal(section_of(image, ".debug_plain"), text()));
	assert_true(slice_equal(section_of(image, ".debug_zlib"), text()));
	assert_true(slice_equal(section_of(image, ".debug_zstd"), text()));
	assert_int_equal(section_of(image, ".debug_empty").size, 0);
	struct slice cut = section_of(image, ".debug_cut");
	assert_int_equal(cut.size, TEXT_BYTES);
	assert_int_equal(cut.data[0], 0);
	arena_finish(&arena);
}

/** An image whose one section is compressed as compilers write it, with a claimed size. */
static struct slice packed_image(const char *name, uint32_t type, uint64_t claim, struct slice data,
		struct arena *arena) {
	uint8_t *bytes = arena_alloc(arena, sizeof(Elf64_Chdr) + data.size, 1);
	Elf64_Chdr header = {.ch_type = type, .ch_size = claim, .ch_addralign = 1};
	memcpy(bytes, &header, sizeof header);
	memcpy(bytes + sizeof header, data.data, data.size);
	struct compose_section section = compose_plain(name,
			slice_of(bytes, sizeof header + data.size));
	struct slice image = compose_image(&section, 1, arena);
	Elf64_Ehdr *ehdr = (Elf64_Ehdr *)image.data;
	Elf64_Shdr *table = (Elf64_Shdr *)(image.data + ehdr->e_shoff);
	table[1].sh_flags |= SHF_COMPRESSED;
	return image;
}

static struct slice unpacked(struct slice image, const char *name, struct arena *arena) {
	struct elf_image e;
	assert_true(elf_image_init(&e, image));
	return compose_section_bytes(&e, name, arena);
}

static void assert_is_zero(struct slice all) {
	assert_true(all.size > 1 && all.data[0] == 0);
	assert_memory_equal(all.data, all.data + 1, all.size - 1);
}

static void packed_sections_are_unpacked(void **state) {
	(void)state;
	struct arena arena = {0};
	uint8_t packed[TEXT_BYTES * 2];
	size_t n = ZSTD_compress(packed, sizeof packed, text().data, text().size, 3);
	struct slice data = slice_of(packed, n);
	struct slice image = packed_image(".debug_info", ELFCOMPRESS_ZSTD, TEXT_BYTES, data, &arena);
	struct elf_image e;
	assert_true(elf_image_init(&e, image));
	assert_true(compose_is_packed(&e));
	assert_true(slice_equal(section_of(compose_unpacked(&e, &arena), ".debug_info"), text()));
	assert_true(slice_equal(unpacked(image, ".debug_info", &arena), text()));

	// Claims that are not true, and schemes that nobody knows
	image = packed_image(".debug_info", ELFCOMPRESS_ZSTD, TEXT_BYTES + 1, data, &arena);
	assert_int_equal(unpacked(image, ".debug_info", &arena).size, 0);
	assert_true(elf_image_init(&e, image));
	assert_is_zero(section_of(compose_unpacked(&e, &arena), ".debug_info"));
	image = packed_image(".debug_info", ELFCOMPRESS_ZSTD, UINT64_MAX / 2, data, &arena);
	assert_int_equal(unpacked(image, ".debug_info", &arena).size, 0);
	assert_true(elf_image_init(&e, image));
	assert_int_equal(compose_unpacked(&e, &arena).size, 0);
	image = packed_image(".debug_info", 77, TEXT_BYTES, data, &arena);
	assert_int_equal(unpacked(image, ".debug_info", &arena).size, 0);
	assert_int_equal(unpacked(image, ".debug_line", &arena).size, 0);
	arena_finish(&arena);
}

enum { LONG_BYTES = 1 << 20 };

/** Packs to a third: in it every place is told from all others. */
static struct slice long_text(void) {
	static uint32_t data[LONG_BYTES / 4];
	for (uint32_t i = 0; i < LONG_BYTES / 4; i++) {
		data[i] = i * 7;
	}
	return slice_of(data, sizeof data);
}

/** What was unpacked before the damage is not used, either. */
static void what_is_cut_is_zero(void **state) {
	(void)state;
	struct arena arena = {0};
	uLongf n = compressBound(LONG_BYTES);
	uint8_t *packed = arena_alloc(&arena, n, 1);
	struct elf_image e;
	assert_int_equal(compress(packed, &n, long_text().data, LONG_BYTES), Z_OK);
	for (unsigned part = 1; part <= 4; part *= 4) {
		struct slice data = slice_of(packed, n / part);
		assert_true(elf_image_init(&e,
				packed_image(".debug_info", ELFCOMPRESS_ZLIB, LONG_BYTES, data, &arena)));
		struct slice section = section_of(compose_unpacked(&e, &arena), ".debug_info");
		assert_int_equal(section.size, LONG_BYTES);
		if (part == 1) {
			assert_true(slice_equal(section, long_text()));
		} else {
			assert_is_zero(section);
		}
	}
	arena_finish(&arena);
}

static void old_packing_is_unpacked(void **state) {
	(void)state;
	struct arena arena = {0};
	uint8_t bytes[12 + TEXT_BYTES * 2] = "ZLIB";
	bytes[10] = TEXT_BYTES >> 8;
	bytes[11] = TEXT_BYTES & 0xff;
	uLongf n = sizeof bytes - 12;
	assert_int_equal(compress(bytes + 12, &n, text().data, text().size), Z_OK);
	struct compose_section section = compose_plain(".zdebug_info", slice_of(bytes, n + 12));
	struct slice image = compose_image(&section, 1, &arena);
	assert_true(slice_equal(unpacked(image, ".debug_info", &arena), text()));
	arena_finish(&arena);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(sections_come_back),
			cmocka_unit_test(packed_sections_are_unpacked),
			cmocka_unit_test(what_is_cut_is_zero),
			cmocka_unit_test(old_packing_is_unpacked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
