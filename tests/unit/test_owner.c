// SPDX-License-Identifier: MIT
#include "engine/owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void knows_library_sources(void **state) {
	(void)state;
	static const char *const library[] = {"/usr/include/c++/12/bits/stl_vector.h",
			"/rustc/59807616e/library/alloc/src/raw_vec.rs",
			"/home/u/.cargo/registry/src/index-1/serde_json-1.0/src/de.rs",
			"/home/u/.cargo/git/checkouts/x/src/lib.rs", "/srv/app/node_modules/level/binding.cc",
			"/home/u/.nimble/pkgs2/chronos/chronos.nim", "./malloc/malloc.c",
			"/b/_deps/fmt-src/src/format.cc", "/rust/deps/hashbrown-0.15/src/raw/mod.rs"};
	static const char *const own[] = {"/home/u/src/app.cpp", "src/main.rs", "/work/library/x.c",
			"/srv/app/addon/binding.cc", "./src/jq.c"};
	for (size_t i = 0; i < sizeof library / sizeof *library; i++) {
		assert_true(owner_file_is_library(slice_of_text(library[i])));
	}
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		assert_false(owner_file_is_library(slice_of_text(own[i])));
	}
}

static void knows_library_functions(void **state) {
	(void)state;
	static const char *const library[] = {"std::string::_M_create(unsigned long&, unsigned long)",
			"operator new(unsigned long)", "<alloc::string::String as core::clone::Clone>::clone",
			"__libc_start_main_impl", "start_thread", "malloc", "g_malloc", "__rust_alloc"};
	static const char *const own[] = {"main", "mallocator", "start_threads", "standard::f()",
			"spike()", "my_malloc", "g_mallocx"};
	for (size_t i = 0; i < sizeof library / sizeof *library; i++) {
		assert_true(owner_function_is_library(slice_of_text(library[i])));
	}
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		assert_false(owner_function_is_library(slice_of_text(own[i])));
	}
}

static void knows_runtimes(void **state) {
	(void)state;
	static const char *const runtimes[] = {"/usr/bin/node", "/usr/bin/python3.11", "python",
			"/opt/node_debug", "/usr/bin/perl5.36.0"};
	static const char *const own[] = {"/home/u/nodeps", "/usr/bin/jq", "/home/u/pythonista", ""};
	for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
		assert_true(owner_is_runtime(slice_of_text(runtimes[i])));
	}
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		assert_false(owner_is_runtime(slice_of_text(own[i])));
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(knows_library_sources),
			cmocka_unit_test(knows_library_functions),
			cmocka_unit_test(knows_runtimes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
