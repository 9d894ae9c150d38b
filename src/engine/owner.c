// SPDX-License-Identifier: MIT
#include "engine/owner.h"

#include <string.h>

static bool starts_with(struct slice s, const char *prefix) {
	size_t n = strlen(prefix);
	return s.size >= n && memcmp(s.data, prefix, n) == 0;
}

static bool contains(struct slice s, const char *part) {
	return memmem(s.data, s.size, part, strlen(part)) != NULL;
}

#define ANY(test, s, list) any((test), (s), (list), sizeof(list) / sizeof *(list))

static bool any(bool (*test)(struct slice, const char *), struct slice s, const char *const *list,
		size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (test(s, list[i])) {
			return true;
		}
	}
	return false;
}

// Where the system, the language distributions and the package managers keep sources
static const char *const library_roots[] = {
		"/usr/",
		"/rustc/",
		"/lib/",
};
static const char *const library_parts[] = {
		"/rust/deps/",
		"library/std/",
		"library/core/",
		"library/alloc/",
		"/.cargo/registry/",
		"/.cargo/git/",
		"/node_modules/",
		"/.nimble/",
		"/nim/lib/",
		"/lib/system/", // Nim's own modules, in any installation
		"/_deps/",
		"/.conan",
		"/vcpkg/",
};
static const char *const relative_roots[] = {
		"./csu/",
		"./elf/",
		"./malloc/",
		"./libio/",
		"./nptl/",
		"./stdlib/",
		"./string/",
		"./posix/",
		"./iconv/",
		"./intl/",
		"./misc/",
		"./sysdeps/",
		"../sysdeps/",
		"./build-tree/",
};

bool owner_file_is_library(struct slice file) {
	return ANY(starts_with, file, library_roots) || ANY(contains, file, library_parts) ||
			ANY(starts_with, file, relative_roots);
}

// Namespaces and families whose owner the name tells
static const char *const library_functions[] = {
		"std::",
		"__gnu_cxx::",
		"__cxxabiv1::",
		"__cxa_",
		"core::",
		"alloc::",
		"<alloc::",
		"<core::",
		"<std::",
		"hashbrown::",
		"operator new",
		"operator delete",
		"__rust_",
		"__rdl_",
		"__rg_",
		"rust_begin_unwind",
		"boost::",
		"g_malloc",
		"g_slice_",
		"g_realloc",
		"g_strdup",
		"QArrayData::",
		"QListData::",
		"QHashData::",
		"v8::",
		"node::",
		"_start",
		"__libc_",
		"__GI_",
		"_dl_",
		"_IO_",
		"start_thread",
		"clone3",
		"clone",
		"call_init",
		"void std::",
		"malloc",
		"calloc",
		"realloc",
};

bool owner_function_is_library(struct slice function) {
	for (size_t i = 0; i < sizeof library_functions / sizeof *library_functions; i++) {
		const char *name = library_functions[i];
		size_t n = strlen(name);
		char last = name[n - 1];
		bool is_prefix = last == ':' || last == '_' || strncmp(name, "operator", 8) == 0;
		if (is_prefix ? starts_with(function, name) : slice_equal(function, slice_of_text(name))) {
			return true;
		}
	}
	return false;
}

bool owner_module_is_library(struct slice path) {
	return starts_with(path, "/usr/lib") || starts_with(path, "/lib") ||
			starts_with(path, "linux-vdso") || starts_with(path, "[") ||
			starts_with(path, "/usr/local/lib") || contains(path, "/libheaptrack_preload.so");
}

static struct slice base_name(struct slice path) {
	const uint8_t *slash = memrchr(path.data, '/', path.size);
	if (!slash) {
		return path;
	}
	size_t skip = (size_t)(slash + 1 - path.data);
	return slice_of(path.data + skip, path.size - skip);
}

bool owner_is_runtime(struct slice exe) {
	static const char *const runtimes[] = {"node", "nodejs", "python", "java", "ruby", "perl"};
	struct slice name = base_name(exe);
	for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++) {
		size_t n = strlen(runtimes[i]);
		// python3.11, node_debug, ruby2.7, perl5.36.0
		if (starts_with(name, runtimes[i]) &&
				(name.size == n || strchr("0123456789._-", name.data[n]))) {
			return true;
		}
	}
	return false;
}
