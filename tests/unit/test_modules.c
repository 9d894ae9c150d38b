// SPDX-License-Identifier: MIT

#include "../fake_segment.h"
#include "recorder/core/capture/capture.h"
#include "recorder/core/segment.h"
#include "recorder/core/unwind/mapped_image.h"
#include "recorder/core/unwind/modules.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <cmocka.h>

#define LIBRARY "libz.so.1" // one that this program does not need

static int setup(void **state) {
	(void)state;
	fake_segment(1024, 16);
	return capture_setup() ? 0 : 1;
}

static const struct wire_module *find(uint64_t pc, struct module *module) {
	assert_true(module_find(pc, module));
	assert_true(module_covers(pc));
	assert_in_range(module->id, 1, atomic_load(&segment.header->n_modules));
	const struct wire_module *m = &segment.modules[module->id];
	assert_int_equal(atomic_load(&m->state), 1);
	assert_true(pc >= m->start && pc < m->end);
	return m;
}

static void test_program_and_libc(void **state) {
	(void)state;
	struct module module;
	const struct wire_module *m = find((uint64_t)setup, &module);
	char path[WIRE_MODULE_PATH];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path);
	assert_true(n > 0);
	assert_int_equal(m->path_bytes, n);
	assert_memory_equal(m->path, path, (size_t)n);
	assert_int_equal(m->image, 1);
	assert_non_null(module.tables.hdr);
	uint32_t id = module.id;
	find((uint64_t)test_program_and_libc, &module);
	assert_int_equal(module.id, id);

	m = find((uint64_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &module);
	assert_int_not_equal(module.id, id);
	assert_non_null(strstr(m->path, "libc.so"));
	assert_true(m->build_id_bytes > 0);
	assert_int_equal(m->path_bytes, strlen(m->path));
}

static void test_vdso(void **state) {
	(void)state;
	struct module module;
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	if (start == 0) {
		skip();
	}
	const struct wire_module *m = find(start + 0x400, &module);
	assert_true(m->start == start);
	assert_non_null(strstr(m->path, "vdso"));
	assert_non_null(module.tables.hdr);
}

static void test_in_no_module(void **state) {
	(void)state;
	struct module module;
	char *pages = fake_pages(4096);
	assert_false(module_find((uint64_t)pages, &module));
	assert_false(module_find(0x1000, &module));
	assert_false(module_covers((uint64_t)pages));
}

static void test_loader(void **state) {
	(void)state;
	assert_false(module_is_loader((uint64_t)setup));
	assert_false(module_is_loader((uint64_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
	assert_true(module_is_loader(image_auxiliary(AT_BASE) + 0x2000));
}

static uint64_t load(void **library) {
	*library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (*library == NULL) {
		skip();
	}
	return (uint64_t)dlsym(*library, "zlibVersion");
}

// The same file at the same place keeps its id; what is gone is said to be
static void test_load_and_unload(void **state) {
	(void)state;
	void *library;
	struct module module;
	uint64_t pc = load(&library);
	uint64_t start = find(pc, &module)->start;
	uint32_t id = module.id;
	uint32_t generation = atomic_load(&code_generation);
	capture_modules_changed(); // nothing has
	assert_int_equal(atomic_load(&code_generation), generation);
	for (unsigned i = 0; i < 50; i++) {
		dlclose(library);
		generation = atomic_load(&code_generation);
		capture_modules_changed();
		assert_int_not_equal(atomic_load(&code_generation), generation);
		assert_true(segment.modules[id].is_unloaded);
		assert_false(module_covers(pc));
		pc = load(&library);
		const struct wire_module *m = find(pc, &module);
		if (m->start == start) {
			assert_int_equal(module.id, id);
		}
		assert_false(m->is_unloaded);
	}
	assert_true(atomic_load(&segment.header->n_modules) < 8);
	dlclose(library);
	capture_modules_changed();
}

static struct image seen;
static uint64_t wanted;

static void look(const struct image *image) {
	if (wanted >= image->start && wanted < image->end) {
		seen = *image;
	}
}

// What systems without _dl_find_object go by says the same
static void test_maps_agree_with_loader(void **state) {
	(void)state;
	const uint64_t pcs[] = {(uint64_t)setup, (uint64_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"),
			(uint64_t)dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests")};
	for (unsigned i = 0; i < sizeof(pcs) / sizeof(*pcs); i++) {
		struct module module;
		const struct wire_module *m = find(pcs[i], &module);
		memset(&seen, 0, sizeof(seen));
		wanted = pcs[i];
		(void)images_visit(look, 0);
		assert_true(seen.start == m->start && seen.end == m->end && seen.bias == m->bias);
		assert_ptr_equal(seen.eh_frame_hdr, module.tables.hdr);
		assert_int_equal(seen.build_id_bytes, m->build_id_bytes);
		assert_memory_equal(seen.build_id, m->build_id, m->build_id_bytes);
	}
}

static const char *bare_path;
static const uint8_t *seen_frames;

static void look_for_bare(const struct image *image) {
	if (image->path_bytes == strlen(bare_path) &&
			memcmp(image->path, bare_path, image->path_bytes) == 0) {
		seen = *image;
		seen_frames = image_frames(image);
	}
}

/** As Debian's musl-gcc links: only the file says where its tables lie. */
static void test_tables_without_hdr(void **state) {
	(void)state;
	struct eh_fde fde;
	bare_path = BARE_LIBRARY;
	void *library = dlopen(bare_path, RTLD_NOW);
	assert_non_null(library);
	uint64_t pc = (uint64_t)dlsym(library, "bare_function");
	memset(&seen, 0, sizeof(seen));
	seen_frames = NULL;
	(void)images_visit(look_for_bare, 0);
	assert_true(pc >= seen.start && pc < seen.end);
	assert_null(seen.eh_frame_hdr);
	assert_non_null(seen_frames);
	const struct eh_tables tables = {NULL, seen_frames, seen.start, seen.end};
	assert_true(eh_find(&tables, pc, &fde));
	assert_true(fde.start == pc);

	struct image other = seen; // of another file, or of none
	other.path = "/proc/self/exe";
	other.path_bytes = strlen(other.path);
	assert_null(image_frames(&other));
	other.path = "/nowhere";
	other.path_bytes = strlen(other.path);
	assert_null(image_frames(&other));
	dlclose(library);
}

static void test_full_table(void **state) {
	(void)state;
	void *library;
	struct module module;
	uint32_t n = atomic_exchange(&segment.header->n_modules, segment.n_modules - 1);
	uint64_t pc = load(&library);
	// An earlier test may have it known at this very place; then it keeps its id
	assert_true(module_find(pc, &module));
	const struct wire_module *m = &segment.modules[module.id < 16 ? module.id : 0];
	assert_true(module.id == WIRE_MODULE_MAX + 1 || (pc >= m->start && pc < m->end));
	assert_non_null(module.tables.hdr);
	atomic_store(&segment.header->n_modules, n);
	dlclose(library);
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_program_and_libc),
			cmocka_unit_test(test_vdso),
			cmocka_unit_test(test_in_no_module),
			cmocka_unit_test(test_loader),
			cmocka_unit_test(test_load_and_unload),
			cmocka_unit_test(test_maps_agree_with_loader),
			cmocka_unit_test(test_tables_without_hdr),
			cmocka_unit_test(test_full_table),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
