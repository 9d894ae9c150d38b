// SPDX-License-Identifier: MIT
/* Tells by tables of names whose code modules, files and functions are: the first match decides. */
#include "engine/names/owner.h"

#include "engine/names.h"

enum how { BEGINS, CONTAINS };

struct rule {
	enum how how; // for any of the texts
	enum code code;
	const char *texts;
};

#define FIRST(rules, s) first((rules), N_OF(rules), (s))

static bool contains_any(struct slice s, const char *list) {
	struct slice text;
	return SOME(next_text(&list, &text), s.size && memmem(s.data, s.size, text.data, text.size));
}

static enum code first(const struct rule *rules, size_t n, struct slice s) {
	const struct rule *found = FIND(r, rules, n,
			r->how == BEGINS ? starts_with_any(s, r->texts) : contains_any(s, r->texts));
	return found ? found->code : CODE_UNSURE;
}

static struct slice behind(struct slice s, size_t n) {
	return n < s.size ? slice_from(s, n) : (struct slice){0};
}

// Where systems, language distributions and package managers keep sources
static const struct rule files[] = {
		{CONTAINS, CODE_LIBRARY,
				"|/.cargo/registry/|/.cargo/git/|/node_modules/|/.nimble/|/site-packages/"
				"|/dist-packages/|/lib/python2.|/lib/python3."},
		{BEGINS, CODE_RUNTIME, "|/rustc/|node:|/usr/include/c++/|/usr/lib/gcc/|/usr/lib/nim/"},
		{CONTAINS, CODE_RUNTIME,
				"|/rust/deps/|library/std/|library/core/|library/alloc/"
				"|/nim/lib/|/lib/system/|/lib/system.nim" // Nim's modules, anywhere
				"|/libstdc++-v3/"},
		{CONTAINS, CODE_LIBRARY, "|/_deps/|/.conan|/vcpkg/"},
		{BEGINS, CODE_LIBRARY, "|/usr/|/lib/"},
		// The C library, as distributions build it
		{BEGINS, CODE_RUNTIME,
				"|./csu/|./elf/|./malloc/|./libio/|./nptl/|./stdlib/|./string/|./posix/|./iconv/"
				"|./intl/|./misc/|./sysdeps/|../sysdeps/|./build-tree/"},
};

enum code owner_of_file(struct slice file) {
	return FIRST(files, file);
}

// Namespaces and families whose name reveals the owner, for use without a file
static const char runtime_families[] =
		"|std::|__gnu_cxx::|__cxxabiv1::|__cxa_|operator new|operator delete"
		"|static initializers of eh_alloc.cc|core::|alloc::|<alloc::|<core::|<std::|__rust_|__rdl_"
		"|__rg_|__asan|__lsan|__ubsan|__sanitizer|__intercept|v8::|node::|Builtins_|__libc_|__GI_"
		"|_dl_|_IO_";
static const char runtime_functions
		[] = "|rust_begin_unwind|_start|start_thread|clone3|clone|call_init|malloc|calloc|realloc";
static const char library_families
		[] = "|boost::|absl::|google::protobuf::|g_slice_|QArrayData::|QListData::|QHashData::";
static const char library_functions[] = "|g_malloc|g_realloc|g_strdup";

enum code owner_of_function(struct slice function) {
	function = function_proper(function);
	if (starts_with_any(function, runtime_families) || is_any(function, runtime_functions)) {
		return CODE_RUNTIME;
	}
	bool is_library = starts_with_any(function, library_families) ||
			is_any(function, library_functions);
	return is_library ? CODE_LIBRARY : CODE_UNSURE;
}

// By file name. libuv is node's event loop: what it calls is not its own
static const char runtime_modules[] =
		"|libc.so|libc-2.|libc.musl|ld-linux|ld-musl|libstdc++.so|libc++.so|libc++abi.so"
		"|libgcc_s.so|libm.so|libpthread|libdl.so|librt.so|libnode.so|libuv.so|libv8|libpython"
		"|libjvm.so|libmono|mscorlib.dll|System.|libruby|libperl|libasan.so|liblsan.so|libubsan.so"
		"|libclang_rt.|libtsan.so|libjemalloc.so|libmimalloc.so|libtcmalloc|libheaptrack_preload.so"
		"|linux-vdso|[";

static const struct rule module_paths[] = {
		{CONTAINS, CODE_RUNTIME, "|/lib-dynload/"}, // Python's own extension modules
		{CONTAINS, CODE_LIBRARY,
				"|/node_modules/|/site-packages/|/dist-packages/|/_deps/|/.conan|/vcpkg/"},
		{BEGINS, CODE_LIBRARY, "|/usr/lib|/usr/local/lib|/lib"},
};

enum code owner_of_module(struct slice path) {
	return starts_with_any(path_base(path), runtime_modules) ? CODE_RUNTIME
															 : FIRST(module_paths, path);
}

struct slice owner_product_folder_of(struct slice exe) {
	static const char shared[] = "|/usr/lib/|/usr/libexec/|/usr/lib64/|/usr/share/|/lib/";
	struct slice rest = exe, part;
	bool is_shared = take_any(&rest, shared);
	while (is_shared && take_part(&rest, '/', &part) && rest.data > part.data + part.size) {
		if (!contains(part, "-linux-")) { // else it is the architecture's, with all libraries
			return slice_of(exe.data, (size_t)(rest.data - exe.data));
		}
	}
	return (struct slice){0};
}

bool owner_is_of_system(struct slice path) {
	bool is_shared = take_any(&path, "|/usr/lib/|/usr/lib64/|/lib/|/lib64/");
	struct slice rest = path, folder;
	bool is_in_folder = take_part(&rest, '/', &folder) && rest.size > 0;
	path = is_in_folder && contains(folder, "-linux-") ? rest : path;
	return is_shared && path.size > 0 && !memchr(path.data, '/', path.size);
}

bool owner_is_in_prefix_of(struct slice exe, struct slice path) {
	struct slice bin = slice_of(exe.data, exe.size - path_base(exe).size);
	struct slice lib = slice_of(path.data, path.size - path_base(path).size);
	struct slice prefix = slice_of(bin.data, bin.size - (ends_with(bin, "/bin/") ? 5 : bin.size));
	// /usr/local also has what people built themselves
	return owner_is_runtime(exe) && prefix.size > 0 && !slice_is(prefix, "/usr/local") &&
			begins_with(lib, prefix) && slice_is(behind(lib, prefix.size), "/lib/");
}

bool owner_is_runtime(struct slice exe) {
	static const char *const runtimes[] = {"node", "nodejs", "python", "java", "ruby", "perl",
			"mono"};
	struct slice name = path_base(exe);
	// python3.11, node_debug, ruby2.7, perl5.36.0
	return ANY(i, N_OF(runtimes), is_called_after(name, runtimes[i]));
}

/** The crate that begins a type or path: "app" for "&mut app::A<u8>". Empty: a built-in type. */
static struct slice crate_of_path(struct slice f) {
	static const char skipped[] = "|<|&|mut |dyn |*const |*mut |[|(";
	while (take_any(&f, skipped)) {}
	size_t n = 0;
	while (n < f.size && (isalnum(f.data[n]) || f.data[n] == '_')) {
		n++;
	}
	return starts_with(behind(f, n), "::") ? slice_of(f.data, n) : (struct slice){0};
}

/** The trait in "<Vec<T> as app::Trait>::f": what follows the first " as " of the outermost "<". */
static struct slice trait_of(struct slice f) {
	size_t depth = 0;
	for (size_t i = 0; i < f.size && (i == 0 || depth > 0); i++) {
		step_brackets(f, i, &depth);
		if (depth == 1 && starts_with(behind(f, i), " as ")) {
			return behind(f, i + strlen(" as "));
		}
	}
	return (struct slice){0};
}

// "<app::A as core::fmt::Debug>::fmt" is app's. A trait's functions for built-in and library types
// are where the trait is: "<u64 as app::Trait>::f", "<alloc::vec::Vec<T> as app::Trait>::f".
struct slice owner_crate_of(struct slice f) {
	struct slice crate = crate_of_path(f);
	struct slice of_trait = crate_of_path(trait_of(f));
	bool is_trait = of_trait.size > 0 && (crate.size == 0 || owner_of_crate(crate) == CODE_RUNTIME);
	return is_trait ? of_trait : crate;
}

enum code owner_of_crate(struct slice crate) {
	static const char runtime[] =
			"|std|core|alloc|test|proc_macro|hashbrown|gimli|addr2line|miniz_oxide|rustc_demangle"
			"|object|std_detect|adler|adler2|panic_unwind|panic_abort|compiler_builtins|unwind"
			"|rustc_std_workspace_core|rustc_std_workspace_alloc|__rustc";
	return is_any(crate, runtime) ? CODE_RUNTIME : CODE_UNSURE;
}

bool owner_is_rust_symbol(struct slice s) {
	if (starts_with(s, "_R")) {
		return true;
	}
	// The old scheme: _ZN...17h0123456789abcdefE, maybe with a clone's suffix
	const uint8_t *end = s.size ? memrchr(s.data, 'E', s.size) : NULL;
	return starts_with(s, "_ZN") && end && end - s.data >= 22 && memcmp(end - 19, "17h", 3) == 0 &&
			ALL(i, 16, isxdigit(end[-1 - i]));
}

/** The part of the path after `folder`, up to the next slash. */
static struct slice part_behind(struct slice path, const char *folder) {
	const uint8_t *at = path.size ? memmem(path.data, path.size, folder, strlen(folder)) : NULL;
	if (!at) {
		return (struct slice){0};
	}
	struct slice rest = behind(path, (size_t)(at - path.data) + strlen(folder));
	const uint8_t *slash = rest.size ? memchr(rest.data, '/', rest.size) : NULL;
	return slash ? slice_of(rest.data, (size_t)(slash - rest.data)) : (struct slice){0};
}

/** "serde_json-1.0.140" gives "serde_json"; "chronos-4.0.3-abc123" gives "chronos". */
static struct slice without_version(struct slice s) {
	for (size_t i = 1; i + 1 < s.size; i++) {
		if (s.data[i] == '-' && (isdigit(s.data[i + 1]) || s.data[i + 1] == '#')) {
			return slice_of(s.data, i);
		}
	}
	return s;
}

static struct slice last_npm_package(struct slice file) {
	static const char folder[] = "/node_modules/";
	struct slice package = {0}, next = part_behind(file, folder);
	while (next.size > 0) {
		package = next;
		struct slice rest = behind(file, (size_t)(next.data - file.data));
		if (next.data[0] == '@') { // a scope: the name is the next part
			struct slice name = part_behind(rest, "/");
			package.size = name.size ? package.size + 1 + name.size : package.size;
		}
		next = part_behind(rest, folder);
	}
	return package;
}

struct slice owner_package_of_file(struct slice file) {
	struct slice package = last_npm_package(file);
	if (package.size > 0) {
		return package;
	}
	struct slice registry = part_behind(file, "/.cargo/registry/src/");
	if (registry.size > 0) {
		return without_version(part_behind(behind(file, (size_t)(registry.data - file.data)), "/"));
	}
	static const char *const folders[] = {"/.cargo/git/checkouts/", "/.nimble/pkgs2/",
			"/.nimble/pkgs/", "/rust/deps/", "/site-packages/", "/dist-packages/", "/_deps/",
			"/share/nodejs/"};
	for (size_t i = 0; i < N_OF(folders); i++) {
		package = part_behind(file, folders[i]);
		if (package.size > 0) {
			return without_version(package);
		}
	}
	if (starts_with(file, "/rustc/") || contains(file, "/library/std/")) {
		return part_behind(file, "/library/");
	}
	bool is_python = contains(file, "/lib/python3.") || starts_with(file, "<frozen ");
	return is_python ? slice_of_text("python") : (struct slice){0};
}
