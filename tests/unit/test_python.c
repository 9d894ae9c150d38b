// SPDX-License-Identifier: MIT
/* CPython's layouts and code objects, from what its versions have in memory, without any of them. */
#include "runtimes/python.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

struct python_bytes {
	uint64_t at;
	size_t n;
	const uint8_t *bytes;
};
struct python_image {
	uint16_t version;
	uint64_t state, code_type, thread;
	const char *name, *file;
	const uint8_t *excerpt;
	size_t excerpt_bytes;
	const uint32_t *lines; // by position
	size_t n_lines;
	const struct python_bytes *memory;
	size_t n_memory;
};
struct python_object {
	const char *type;
	uint64_t bytes;
	uint64_t words[PYTHON_HEAD_WORDS];
};
#include "python/3_11.h"
#include "python/3_12.h"
#include "python/3_13.h"
#include "python/3_14.h"
#include "python/types_3_11.h"
#include "python/types_3_12.h"
#include "python/types_3_13.h"
#include "python/types_3_14.h"

static const struct python_image *const images[] = {&python_3_11, &python_3_12, &python_3_13,
		&python_3_14};
enum { N_IMAGES = sizeof images / sizeof *images };

static bool read_image(void *user, uint64_t address, void *out, size_t bytes) {
	const struct python_image *image = user;
	if (address == image->thread && bytes == sizeof image->thread) {
		memcpy(out, &image->thread, bytes); // the data of a thread begin with where they are
		return true;
	}
	for (size_t i = 0; i < image->n_memory; i++) {
		const struct python_bytes *m = &image->memory[i];
		if (address >= m->at && address - m->at <= m->n && m->n - (address - m->at) >= bytes) {
			memcpy(out, m->bytes + (address - m->at), bytes);
			return true;
		}
	}
	return false;
}

static struct program_memory memory_of(const struct python_image *image) {
	return (struct program_memory){read_image, (void *)(uintptr_t)image};
}

static bool read_noise(void *user, uint64_t address, void *out, size_t bytes) {
	uint64_t *state = user;
	for (size_t i = 0; i < bytes; i++) {
		*state = *state * 6364136223846793005u + address + 1;
		((uint8_t *)out)[i] = (uint8_t)(*state >> 56);
	}
	return true;
}

/** A layout as python_find makes it, of a file with nothing but the symbols: see the real ones in e2e. */
static struct wire_layout layout_of(const struct python_image *image) {
	struct wire_layout l;
	assert_true(python_layout_of(image->version, &l));
	l.state = image->state;
	l.code_type = image->code_type;
	return l;
}

static void test_code_is_decoded(void **state) {
	(void)state;
	for (size_t i = 0; i < N_IMAGES; i++) {
		const struct python_image *image = images[i];
		struct arena arena = {0};
		struct python_code code;
		const struct wire_layout l = layout_of(image);
		assert_true(
				python_decode(slice_of(image->excerpt, image->excerpt_bytes), &l, &code, &arena));
		assert_true(slice_equal(code.name, slice_of_text(image->name)));
		assert_true(slice_equal(code.file, slice_of_text(image->file)));
		assert_true(image->n_lines > 40);
		for (size_t k = 0; k < image->n_lines; k++) {
			assert_int_equal(python_line(&code, (uint32_t)k), image->lines[k]);
		}
		assert_int_equal(python_line(&code, (uint32_t)image->n_lines), 0);
		assert_int_equal(python_line(&code, UINT32_MAX), 0);
		arena_finish(&arena);
	}
}

/** Torn anywhere, and with any byte changed, it is refused, or something is decoded. */
static void test_any_excerpt_is_safe(void **state) {
	(void)state;
	for (size_t i = 0; i < N_IMAGES; i++) {
		const struct python_image *image = images[i];
		const struct wire_layout l = layout_of(image);
		for (size_t n = 0; n < 2 * image->excerpt_bytes; n++) {
			size_t kept = n < image->excerpt_bytes ? n : image->excerpt_bytes;
			uint8_t *copy = malloc(kept + 1); // of just that size: a sanitizer sees what is behind
			memcpy(copy, image->excerpt, kept);
			if (n >= image->excerpt_bytes) {
				copy[n - image->excerpt_bytes] ^= (uint8_t)(1 + n % 255);
			}
			struct arena arena = {0};
			struct python_code code;
			if (python_decode(slice_of(copy, kept), &l, &code, &arena)) {
				assert_true(code.name.size > 0 && code.file.size > 0);
				for (uint32_t k = 0; k < 200; k++) {
					(void)python_line(&code, k);
				}
			}
			arena_finish(&arena);
			free(copy);
		}
	}
}

static void test_layout_is_proved(void **state) {
	(void)state;
	for (size_t i = 0; i < N_IMAGES; i++) {
		struct wire_layout l = layout_of(images[i]);
		const struct program_memory image = memory_of(images[i]);
		assert_null(python_prove(&l, &image));
		l.code_type += 8;
		assert_non_null(python_prove(&l, &image));
	}
}

/** Each offset off by a word, zero, anything; the layouts of all other versions. */
static void test_wrong_layouts_are_refused(void **state) {
	(void)state;
	static const unsigned read[] = {PYTHON_HEAD, PYTHON_THREADS, PYTHON_THREAD_ID, PYTHON_TOP,
			PYTHON_CODE, PYTHON_PREVIOUS};
	for (size_t i = 0; i < N_IMAGES; i++) {
		const struct program_memory image = memory_of(images[i]);
		for (size_t k = 0; k < sizeof read / sizeof *read; k++) {
			const uint32_t wrong[] = {8, (uint32_t)-8, 16, 4096, 0x7fffff00};
			for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
				struct wire_layout l = layout_of(images[i]);
				l.fields[read[k]] += wrong[w];
				assert_non_null(python_prove(&l, &image));
			}
		}
		for (size_t k = 0; k < N_IMAGES; k++) {
			struct wire_layout l = layout_of(images[k]);
			l.state = images[i]->state;
			l.code_type = images[i]->code_type;
			assert_true(!python_prove(&l, &image) == (i == k));
		}
	}
}

// ---- types

struct typed_image {
	const struct python_image *image;
	const struct python_object *objects;
	size_t n;
};
#define TYPED(version)                                                         \
	{                                                                          \
		&python_typed_##version, python_objects_##version,                     \
				sizeof python_objects_##version / sizeof(struct python_object) \
	}
static const struct typed_image typed[] = {TYPED(3_11), TYPED(3_12), TYPED(3_13), TYPED(3_14)};

/** What is said of a block, which lasts until the next call. */
static const char *type_of(const struct python_image *image, const uint64_t *words,
		uint64_t bytes) {
	static struct texts names;
	struct wire_layout l = {.code_type = image->code_type};
	struct python_types t = {&l, memory_of(image), &names, {0}};
	texts_finish(&names);
	names = (struct texts){0};
	uint32_t first = python_type_of(&t, words, bytes);
	assert_int_equal(python_type_of(&t, words, bytes), first); // when it was met
	map_finish(&t.known);
	static char out[128];
	(void)snprintf(out, sizeof out, "%.*s", first ? (int)names.items[first].size : 0,
			first ? (const char *)names.items[first].data : "");
	texts_finish(&names);
	names = (struct texts){0};
	return out;
}

static void test_objects_have_types(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
		assert_true(typed[i].n >= 25);
		for (size_t k = 0; k < typed[i].n; k++) {
			const struct python_object *o = &typed[i].objects[k];
			assert_string_equal(type_of(typed[i].image, o->words, o->bytes), o->type);
		}
	}
}

/** A type is there, but not where an object of it has it, or no object can be before it. */
static void test_what_is_no_object_has_no_type(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
		for (size_t k = 0; k < typed[i].n; k++) {
			const struct python_object *o = &typed[i].objects[k];
			uint64_t words[PYTHON_HEAD_WORDS];
			size_t at = 0;
			while (at < 4 &&
					strcmp(type_of(typed[i].image, o->words, (at + 2) * 8), o->type) != 0) {
				at++; // the fewest bytes: its count of references is there
			}
			const uint64_t counts[] = {0, 1 << 20, typed[i].image->code_type};
			for (size_t c = 0; c < 3; c++) {
				memcpy(words, o->words, sizeof words);
				words[at] = counts[c];
				assert_string_equal(type_of(typed[i].image, words, o->bytes), "");
			}
			for (unsigned shift = 2; shift < 5; shift += 2) { // among words of something else
				memset(words, 0, sizeof words);
				unsigned to = (unsigned)(at + shift) % PYTHON_HEAD_WORDS;
				words[to] = 1;
				words[to + 1] = o->words[at + 1];
				assert_string_equal(type_of(typed[i].image, words, o->bytes), "");
			}
			memcpy(words, o->words, sizeof words);
			words[at + 1] += 8; // in a type
			assert_string_equal(type_of(typed[i].image, words, o->bytes), "");
		}
	}
}

static void test_tables_of_dicts(void **state) {
	(void)state;
	static const struct {
		uint64_t words[PYTHON_HEAD_WORDS], bytes;
	} tables[] = {
			// of 8 places with texts alone, as in {"a": 1}; with anything; of 65536 places
			{{1, 0x10303, 4, 1}, 32 + 8 + 5 * 16},
			{{1, 0x00303, 0, 5}, 32 + 8 + 5 * 24},
			{{1, 0x01210, 43690, 0}, 32 + 262144 + 43690 * 24},
	};
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		uint64_t words[PYTHON_HEAD_WORDS];
		memcpy(words, tables[i].words, sizeof words);
		assert_string_equal(type_of(&python_typed_3_13, words, tables[i].bytes), "table of dict");
		assert_string_equal(type_of(&python_typed_3_13, words, tables[i].bytes + 8), "");
		assert_string_equal(type_of(&python_typed_3_13, words, tables[i].bytes - 8), "");
		words[3] = 50000;
		assert_string_equal(type_of(&python_typed_3_13, words, tables[i].bytes), "");
		words[3] = 0;
		words[1] ^= 1 << 8;
		assert_string_equal(type_of(&python_typed_3_13, words, tables[i].bytes), "");
	}
}

/** Types whose every word is anything, or that lead to themselves. */
static void test_any_type_is_safe(void **state) {
	(void)state;
	struct texts names = {0};
	uint64_t random = 1;
	struct wire_layout l = {.code_type = 0x1000};
	struct python_types t = {&l, {read_noise, &random}, &names, {0}};
	for (size_t i = 0; i < 100000; i++) {
		uint64_t words[PYTHON_HEAD_WORDS];
		(void)read_noise(&random, i, words, sizeof words);
		for (size_t k = 0; k < PYTHON_HEAD_WORDS; k += 2) {
			words[k] = words[k] >> 60;
			words[k + 1] = i % 2 ? words[k + 1] >> 20 & ~7ull : 0x2000;
		}
		(void)python_type_of(&t, words, words[0] * 16);
	}
	map_finish(&t.known);
	texts_finish(&names);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_code_is_decoded),
			cmocka_unit_test(test_any_excerpt_is_safe),
			cmocka_unit_test(test_layout_is_proved),
			cmocka_unit_test(test_wrong_layouts_are_refused),
			cmocka_unit_test(test_objects_have_types),
			cmocka_unit_test(test_what_is_no_object_has_no_type),
			cmocka_unit_test(test_tables_of_dicts),
			cmocka_unit_test(test_any_type_is_safe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
