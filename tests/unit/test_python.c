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
#include "python/3_11.h"
#include "python/3_12.h"
#include "python/3_13.h"

static const struct python_image *const images[] = {&python_3_11, &python_3_12, &python_3_13};
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
		void *image = (void *)(uintptr_t)images[i];
		assert_null(python_prove(&l, read_image, image));
		l.code_type += 8;
		assert_non_null(python_prove(&l, read_image, image));
	}
}

/** Each offset off by a word, zero, anything; the layouts of all other versions. */
static void test_wrong_layouts_are_refused(void **state) {
	(void)state;
	static const unsigned read[] = {PYTHON_HEAD, PYTHON_THREADS, PYTHON_THREAD_ID, PYTHON_TOP,
			PYTHON_CODE, PYTHON_PREVIOUS};
	for (size_t i = 0; i < N_IMAGES; i++) {
		void *image = (void *)(uintptr_t)images[i];
		for (size_t k = 0; k < sizeof read / sizeof *read; k++) {
			const uint32_t wrong[] = {8, (uint32_t)-8, 16, 4096, 0x7fffff00};
			for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
				struct wire_layout l = layout_of(images[i]);
				l.fields[read[k]] += wrong[w];
				assert_non_null(python_prove(&l, read_image, image));
			}
		}
		for (size_t k = 0; k < N_IMAGES; k++) {
			struct wire_layout l = layout_of(images[k]);
			l.state = images[i]->state;
			l.code_type = images[i]->code_type;
			assert_true(!python_prove(&l, read_image, image) == (i == k));
		}
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_code_is_decoded),
			cmocka_unit_test(test_any_excerpt_is_safe),
			cmocka_unit_test(test_layout_is_proved),
			cmocka_unit_test(test_wrong_layouts_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
