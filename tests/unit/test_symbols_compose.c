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
	struct elf_section s;
	assert_true(elf_image_init(&e, image));
	assert_true(elf_section_find(&e, name, &s));
	return elf_section_bytes(&e, &s);
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

/** All of its one section, .debug_info, in one step. */
static void assert_section_is_text(const struct elf_image *e) {
	struct unpacked *u = unpacked_create(e);
	assert_non_null(u);
	assert_int_equal(unpacked_reach(u, UNPACKED_LINE, UINT64_MAX).size, 0);
	assert_true(slice_equal(unpacked_reach(u, UNPACKED_INFO, UINT64_MAX), text()));
	assert_true(slice_equal(section_of(unpacked_image(u), ".debug_info"), text()));
	unpacked_destroy(u);
}

static void assert_section_is_zero(const struct elf_image *e) {
	struct unpacked *u = unpacked_create(e);
	assert_non_null(u);
	struct slice all = unpacked_reach(u, UNPACKED_INFO, UINT64_MAX);
	assert_true(all.size > 1 && all.data[0] == 0);
	assert_memory_equal(all.data, all.data + 1, all.size - 1);
	unpacked_destroy(u);
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
	assert_section_is_text(&e);
	assert_true(slice_equal(unpacked(image, ".debug_info", &arena), text()));

	// Claims that are not true, and schemes that nobody knows
	image = packed_image(".debug_info", ELFCOMPRESS_ZSTD, TEXT_BYTES + 1, data, &arena);
	assert_int_equal(unpacked(image, ".debug_info", &arena).size, 0);
	assert_true(elf_image_init(&e, image));
	assert_section_is_zero(&e);
	image = packed_image(".debug_info", ELFCOMPRESS_ZSTD, UINT64_MAX / 2, data, &arena);
	assert_int_equal(unpacked(image, ".debug_info", &arena).size, 0);
	assert_true(elf_image_init(&e, image));
	assert_null(unpacked_create(&e));
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

static bool is_there(const struct unpacked *u, size_t from, size_t to) {
	struct slice section = section_of(unpacked_image(u), ".debug_info");
	return memcmp(section.data + from, long_text().data + from, to - from) == 0;
}

static bool is_zero_from(const struct unpacked *u, size_t from) {
	struct slice section = section_of(unpacked_image(u), ".debug_info");
	return section.data[from] == 0 &&
			memcmp(section.data + from, section.data + from + 1, section.size - from - 1) == 0;
}

static struct slice pack_long(struct arena *arena) {
	uLongf n = compressBound(LONG_BYTES);
	uint8_t *packed = arena_alloc(arena, n, 1);
	assert_int_equal(compress(packed, &n, long_text().data, LONG_BYTES), Z_OK);
	return slice_of(packed, n);
}

static void as_much_as_is_asked_for(void **state) {
	(void)state;
	struct arena arena = {0};
	struct slice packed = pack_long(&arena);
	struct elf_image e;
	assert_true(elf_image_init(&e,
			packed_image(".debug_info", ELFCOMPRESS_ZLIB, LONG_BYTES, packed, &arena)));
	struct unpacked *u = unpacked_create(&e);
	assert_non_null(u);
	assert_true(is_zero_from(u, 0));

	// In steps: never less than asked for, never less than before, and not all at once
	size_t n = 0;
	for (size_t end = 1; end < LONG_BYTES / 4; end = end * 3 + 1) {
		size_t before = n;
		n = unpacked_reach(u, UNPACKED_INFO, end).size;
		assert_true(n >= end && n >= before && n < LONG_BYTES);
		assert_true(is_there(u, 0, n));
		assert_true(is_zero_from(u, n));
	}
	assert_int_equal(unpacked_reach(u, UNPACKED_INFO, 1).size, n);
	assert_int_equal(unpacked_reach(u, UNPACKED_INFO, LONG_BYTES + 1).size, LONG_BYTES);
	assert_true(is_there(u, 0, LONG_BYTES));
	unpacked_destroy(u);
	arena_finish(&arena);
}

static void what_is_missing_stays_zero(void **state) {
	(void)state;
	struct arena arena = {0};
	struct slice packed = pack_long(&arena);
	packed.size /= 4;
	struct elf_image e;
	assert_true(elf_image_init(&e,
			packed_image(".debug_info", ELFCOMPRESS_ZLIB, LONG_BYTES, packed, &arena)));
	struct unpacked *u = unpacked_create(&e);
	assert_non_null(u);
	size_t n = unpacked_reach(u, UNPACKED_INFO, 1000).size;
	assert_true(n >= 1000 && n < LONG_BYTES / 4);
	assert_true(is_there(u, 0, n));
	assert_int_equal(unpacked_reach(u, UNPACKED_INFO, LONG_BYTES / 4).size, LONG_BYTES);
	assert_int_equal(section_of(unpacked_image(u), ".debug_info").data[LONG_BYTES - 1], 0);
	unpacked_destroy(u);
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
			cmocka_unit_test(as_much_as_is_asked_for),
			cmocka_unit_test(what_is_missing_stays_zero),
			cmocka_unit_test(old_packing_is_unpacked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
