// SPDX-License-Identifier: MIT
#include "engine/names/owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

struct judged {
	const char *text;
	enum code code;
};

#define CHECK(judge, table)                                                     \
	for (size_t i = 0; i < sizeof(table) / sizeof *(table); i++) {              \
		enum code code = judge(slice_of_text((table)[i].text));                 \
		if (code != (table)[i].code) {                                          \
			fail_msg("%s: %d, not %d", (table)[i].text, code, (table)[i].code); \
		}                                                                       \
	}

static void knows_library_sources(void **state) {
	(void)state;
	static const struct judged files[] = {
			{"/usr/include/c++/12/bits/stl_vector.h", CODE_RUNTIME},
			{"/usr/include/boost/any.hpp", CODE_LIBRARY},
			{"/rustc/59807616e/library/alloc/src/raw_vec.rs", CODE_RUNTIME},
			{"/usr/src/rustc-1.63.0/library/core/src/ops.rs", CODE_RUNTIME},
			{"/home/u/.cargo/registry/src/index-1/serde_json-1.0/src/de.rs", CODE_LIBRARY},
			{"/home/u/.cargo/git/checkouts/x/src/lib.rs", CODE_LIBRARY},
			{"/srv/app/node_modules/level/binding.cc", CODE_LIBRARY},
			{"node:internal/fs/streams", CODE_RUNTIME},
			{"/home/u/.nimble/pkgs2/chronos/chronos.nim", CODE_LIBRARY},
			{"/usr/lib/nim/lib/system/alloc.nim", CODE_RUNTIME},
			{"./malloc/malloc.c", CODE_RUNTIME},
			{"/b/_deps/fmt-src/src/format.cc", CODE_LIBRARY},
			{"/rust/deps/hashbrown-0.15/src/raw/mod.rs", CODE_RUNTIME},
			{"/home/u/src/app.cpp", CODE_UNSURE},
			{"src/main.rs", CODE_UNSURE},
			{"/srv/library/x.c", CODE_UNSURE},
			{"/srv/app/addon/binding.cc", CODE_UNSURE},
			{"./src/jq.c", CODE_UNSURE},
	};
	CHECK(owner_of_file, files);
}

static void knows_library_functions(void **state) {
	(void)state;
	static const struct judged functions[] = {
			{"std::string::_M_create(unsigned long&, unsigned long)", CODE_RUNTIME},
			{"operator new(unsigned long)", CODE_RUNTIME},
			{"app::Row& std::vector<app::Row>::emplace_back<int>(int&&)", CODE_RUNTIME},
			{"void std::f<int>(int)", CODE_RUNTIME},
			{"std::vector<int> app::rows<int>(int)", CODE_UNSURE},
			{"std::unique_ptr<T> (anonymous namespace)::make<T>()", CODE_UNSURE},
			{"bool boost::asio::poll<int>(int)", CODE_LIBRARY},
			{"<alloc::string::String as core::clone::Clone>::clone", CODE_RUNTIME},
			{"__libc_start_main_impl", CODE_RUNTIME},
			{"start_thread", CODE_RUNTIME},
			{"malloc", CODE_RUNTIME},
			{"v8::internal::Factory::NewFillerObject(int)", CODE_RUNTIME},
			{"g_malloc", CODE_LIBRARY},
			{"boost::asio::detail::run()", CODE_LIBRARY},
			{"main", CODE_UNSURE},
			{"mallocator", CODE_UNSURE},
			{"start_threads", CODE_UNSURE},
			{"standard::f()", CODE_UNSURE},
			{"spike()", CODE_UNSURE},
			{"g_mallocx", CODE_UNSURE},
	};
	CHECK(owner_of_function, functions);
}

static void knows_modules(void **state) {
	(void)state;
	static const struct judged modules[] = {
			{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", CODE_RUNTIME},
			{"/lib64/ld-linux-x86-64.so.2", CODE_RUNTIME},
			{"/opt/node/lib/libnode.so.108", CODE_RUNTIME},
			{"/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so", CODE_RUNTIME},
			{"/usr/lib/x86_64-linux-gnu/libcurl.so.4", CODE_LIBRARY},
			{"/srv/app/node_modules/x/build/Release/x.node", CODE_LIBRARY},
			{"/srv/venv/lib/python3.11/site-packages/numpy/core/_umath.so", CODE_LIBRARY},
			{"/srv/app/build/Release/addon.node", CODE_UNSURE},
			{"/home/u/libcore.so", CODE_UNSURE},
	};
	CHECK(owner_of_module, modules);
}

static void knows_allocation_functions(void **state) {
	(void)state;
	static const char *const wrappers[] = {"__GI___libc_malloc", "malloc",
			"operator new[](unsigned long)", "xmalloc", "g_malloc0", "zmalloc", "my_malloc",
			"safe_calloc", "_PyObject_Malloc", "sqlite3Malloc", "xstrdup", "__rust_alloc",
			"git__malloc", "je_malloc", "posix_memalign", "reallocarray", "PyMem_RawMalloc",
			"xrealloc(void*, unsigned long)", "g_malloc0_n", "g_try_malloc", "g_memdup2",
			"g_slice_alloc0", "g_object_new_with_properties", "GC_malloc_atomic", "GC_malloc_kind",
			"GC_malloc_uncollectable", "GC_debug_malloc", "GC_strdup",
			"<app::Jemalloc as core::alloc::global::GlobalAlloc>::alloc"};
	static const char *const work[] = {"main", "mallocator", "parse", "leaky_malloc",
			"malloc_table", "app::malloc", "duplicate", "strdup_all", "allocate",
			"build_realloc_list", "g_object_new_label", "malloc_kinds", "g_type_create"};
	for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
		if (!owner_is_allocation_function(slice_of_text(wrappers[i]))) {
			fail_msg("%s", wrappers[i]);
		}
	}
	for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
		if (owner_is_allocation_function(slice_of_text(work[i]))) {
			fail_msg("%s", work[i]);
		}
	}
}

static void assert_text(struct slice s, const char *expected) {
	char text[64];
	(void)snprintf(text, sizeof text, "%.*s", SLICE_ARG(s));
	assert_string_equal(text, expected);
}

static void knows_crates_modules_and_packages(void **state) {
	(void)state;
	static const char *const crates[][2] = {{"app::parse::line", "app"},
			{"<app::A as core::fmt::Debug>::fmt", "app"}, {"<&mut app::A as x::Y>::z", "app"},
			{"<[T] as alloc::slice::Concat>::concat", "alloc"}, {"main", ""},
			{"<u64 as core::fmt::Display>::fmt", "core"}, {"<u8 as app::Wire>::put", "app"},
			{"<alloc::vec::Vec<app::A> as app::Wire>::put", "app"},
			{"<alloc::vec::Vec<T> as core::clone::Clone>::clone", "core"},
			{"<fn(u8) -> u16 as app::Wire>::put", "app"}, {"<[T]>::sort", ""},
			{"core::ptr::drop_in_place<app::A>", "core"}};
	for (size_t i = 0; i < sizeof crates / sizeof *crates; i++) {
		assert_text(owner_crate_of(slice_of_text(crates[i][0])), crates[i][1]);
	}
	assert_true(owner_is_rust_symbol(slice_of_text("_ZN3app4main17h0123456789abcdefE")));
	assert_true(owner_is_rust_symbol(slice_of_text("_RNvCs1234_3app4main")));
	assert_false(owner_is_rust_symbol(slice_of_text("_ZN3app4mainEv")));
	assert_text(nim_module_of(slice_of_text("newSeq__system_208")), "system");
	assert_text(nim_module_of(slice_of_text("plain_c_name")), "");
	static const char *const packages[][2] =
			{{"/h/.cargo/registry/src/index.crates.io-6f17/serde_json-1.0.140/src/de.rs",
					 "serde_json"},
					{"/a/node_modules/@scope/name/build/x.node", "@scope/name"},
					{"/a/node_modules/a/node_modules/b/x.cc", "b"},
					{"/h/.nimble/pkgs2/chronos-4.0.3-abc/chronos.nim", "chronos"},
					{"/rustc/59807616e/library/alloc/src/raw_vec.rs", "alloc"},
					{"/usr/lib/python3.11/json/decoder.py", "python"},
					{"<frozen importlib._bootstrap>", "python"}, {"<string>", ""},
					{"/v/lib/python3.11/site-packages/yaml/loader.py", "yaml"},
					{"/h/src/app.cpp", ""}};
	for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
		assert_text(owner_package_of_file(slice_of_text(packages[i][0])), packages[i][1]);
	}
}

static void knows_runtimes(void **state) {
	(void)state;
	static const char *const runtimes[] = {"/usr/bin/node", "/usr/bin/python3.11", "python",
			"/opt/node_debug", "/usr/bin/perl5.36.0", "/usr/bin/mono-sgen"};
	static const char *const own[] = {"/home/u/nodeps", "/usr/bin/jq", "/home/u/pythonista",
			"/usr/bin/monodoc", ""};
	for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
		assert_true(owner_is_runtime(slice_of_text(runtimes[i])));
	}
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		assert_false(owner_is_runtime(slice_of_text(own[i])));
	}
}

static void knows_folders_of_one_program(void **state) {
	(void)state;
	static const char *const folders[][2] = {{"/usr/lib/R/bin/exec/R", "/usr/lib/R/"},
			{"/usr/lib/libreoffice/program/soffice.bin", "/usr/lib/libreoffice/"},
			{"/usr/lib/x86_64-linux-gnu/app/bin/app", "/usr/lib/x86_64-linux-gnu/app/"},
			{"/usr/lib/x86_64-linux-gnu/app", ""}, {"/usr/bin/gs", ""}, {"/home/u/lib/x/app", ""},
			{"", ""}};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		assert_text(owner_product_folder_of(slice_of_text(folders[i][0])), folders[i][1]);
	}
}

static void knows_libraries_of_the_system(void **state) {
	(void)state;
	static const char *const system[] = {"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
			"/lib/libz.so.1", "/usr/lib64/libuv.so.1"};
	static const char *const other[] = {"/usr/lib/x86_64-linux-gnu/perl/5.36/auto/POSIX/POSIX.so",
			"/usr/lib/python3/dist-packages/numpy/core.so", "/home/u/lib/libz.so", "/usr/lib/", ""};
	for (size_t i = 0; i < sizeof system / sizeof *system; i++) {
		assert_true(owner_is_of_system(slice_of_text(system[i])));
	}
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		assert_false(owner_is_of_system(slice_of_text(other[i])));
	}
}

static void knows_libraries_beside_a_program(void **state) {
	(void)state;
	static const struct {
		const char *exe, *path;
		bool is_beside;
	} all[] = {
			{"/opt/jdk/bin/java", "/opt/jdk/lib/libjava.so", true},
			{"/opt/jdk/bin/java", "/opt/jdk/lib/server/libjvm.so", false}, // known by its name
			{"/opt/jdk/bin/java", "/opt/other/lib/libjava.so", false},
			{"/usr/local/bin/python3", "/usr/local/lib/libmine.so", false},
			{"/bin/perl", "/lib/libz.so", false},
			{"/home/u/node", "/home/u/lib/addon.so", false},
			{"node", "/lib/addon.so", false},
			{"/opt/jdk/bin/java", "/opt/jdk/lib", false},
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		assert_int_equal(owner_is_in_prefix_of(slice_of_text(all[i].exe),
								 slice_of_text(all[i].path)),
				all[i].is_beside);
	}
}

static void knows_names_that_speak_of_allocating(void **state) {
	(void)state;
	static const char *const speak[] = {"ngx_palloc", "isc__mem_get", "my_mmap",
			"AcquireAlignedMemory", "llvm::User::operator new(unsigned long, unsigned int)",
			"pool::Pool<int (*)(long)>::allocate(unsigned long)", "MemoryContextAlloc"};
	static const char *const silent[] = {"main", "parse(allocator&)", "stbi_load_from_memory",
			"std::allocator<int>::resize(int)", "vector<alloc_t>::push_back(int)", ""};
	for (size_t i = 0; i < sizeof speak / sizeof *speak; i++) {
		assert_true(owner_speaks_of_allocating(slice_of_text(speak[i])));
	}
	for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
		assert_false(owner_speaks_of_allocating(slice_of_text(silent[i])));
	}
}

static void knows_names_that_only_memory_has(void **state) {
	(void)state;
	static const char *const sure[] = {"_MagickReallocateResourceLimitedMemory", "apr_palloc",
			"my_pool_calloc", "BigAlloc", "CRYPTO_strndup", "pool::realloc(void*, unsigned long)",
			"my_mmap", "isc__mem_get", "png_malloc_warn", "table_realloc_array", "_objalloc_alloc",
			"my_arena_alloc", "MemPoolAlloc", "arena::Arena::arena_alloc(unsigned long)"};
	static const char *const unsure[] = {"allocate_users", "session_alloc", "load_from_memory",
			"Rf_allocVector3", "ggc_internal_alloc(unsigned long)", "item_alloc", ""};
	for (size_t i = 0; i < sizeof sure / sizeof *sure; i++) {
		assert_true(owner_is_called_like_allocating(slice_of_text(sure[i])));
	}
	for (size_t i = 0; i < sizeof unsure / sizeof *unsure; i++) {
		assert_false(owner_is_called_like_allocating(slice_of_text(unsure[i])));
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(knows_library_sources),
			cmocka_unit_test(knows_library_functions),
			cmocka_unit_test(knows_modules),
			cmocka_unit_test(knows_allocation_functions),
			cmocka_unit_test(knows_crates_modules_and_packages),
			cmocka_unit_test(knows_runtimes),
			cmocka_unit_test(knows_folders_of_one_program),
			cmocka_unit_test(knows_libraries_of_the_system),
			cmocka_unit_test(knows_libraries_beside_a_program),
			cmocka_unit_test(knows_names_that_speak_of_allocating),
			cmocka_unit_test(knows_names_that_only_memory_has),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
