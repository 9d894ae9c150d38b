// SPDX-License-Identifier: MIT
/* Tells from a function's name whether it allocates, by the words around a verb ("xmalloc"). */
#include "engine/names/owner.h"

// The verbs of allocation functions; "0", "_n", "_array" and the like may follow
static const char *const verbs[] = {"malloc", "calloc", "realloc", "zalloc", "memalign", "valloc",
		"allocarray", "strdup", "strndup", "memdup", "alloc_or_die", "malloc_or_die"};

static struct slice without_underscores(struct slice s) {
	while (s.size > 0 && s.data[s.size - 1] == '_') {
		s.size--;
	}
	return s;
}

/** "x", "g", "my", "sqlite3": prefixes that projects use. Longer ones name work. */
static bool is_wrapper_prefix(struct slice s) {
	static const char prefixes[] =
			"|safe|checked|must|sqlite3|zend|pymem|pymem_raw|pyobject|_pyobject|_pymem_raw|git|curl"
			"|curlx|emacs|util|mem|__libc|__rust|libc|array|g_try|gc_debug";
	const char *list = prefixes;
	struct slice one;
	s = without_underscores(s);
	return s.size <= 3 ||
			SOME(next_text(&list, &one),
					one.size == s.size &&
							strncasecmp((const char *)s.data, (const char *)one.data, s.size) == 0);
}

static bool is_wrapper_suffix(struct slice s) {
	static const char suffixes[] =
			"||0|2|n|_n|0_n|_n0|array|_array|f|_aligned|_usable|_internal|_fallback|_or_die|_atomic"
			"|_kind|_uncollectable";
	return is_any(s, suffixes);
}

/** The last occurrence of a verb in a C name, ignoring case: its position + 1 and end; or 0. */
static size_t find_verb(struct slice s, const char *verb, size_t *end) {
	size_t n = strlen(verb);
	for (size_t i = s.size >= n ? s.size - n + 1 : 0; i-- > 0;) {
		if (strncasecmp((const char *)s.data + i, verb, n) == 0) {
			*end = i + n;
			return i + 1;
		}
	}
	return 0;
}

// The C library's and the allocators'
static const char allocators[] =
#define HOOK(result, name, ...) "|" #name
#include "wire/allocators.def"
		;

static bool is_of_library(struct slice f) {
	static const char begins[] = "|operator new|__rust_|__rdl_|__rg_|g_slice_alloc";
	static const char
			whole[] = "|g_slice_copy|g_object_new|g_object_newv|g_object_new_valist"
					  "|g_object_new_with_properties|g_type_create_instance|asprintf|xasprintf";
	return contains(f, "::GlobalAlloc>::") || starts_with_any(f, begins) || is_any(f, whole) ||
			is_any(f, allocators);
}

bool owner_is_allocation_function(struct slice f) {
	if (is_of_library(f)) {
		return true;
	}
	if (f.size > 40 || contains(f, "::") || contains(f, "<")) {
		return false;
	}
	f = before_first(f, '(');
	(void)take_prefix(&f, "__GI_"); // glibc's own debug data name __libc_malloc so
	for (size_t i = 0; i < N_OF(verbs); i++) {
		size_t end, at = find_verb(f, verbs[i], &end);
		if (at && is_wrapper_prefix(slice_of(f.data, at - 1)) &&
				is_wrapper_suffix(slice_from(f, end))) {
			return true;
		}
	}
	return false;
}

/** The last part of a qualified name, without parameters and template arguments. */
static struct slice last_part(struct slice f) {
	f = slice_of(f.data, find_outside_brackets(f, "("));
	return slice_from(f, last_part_at(f));
}

static bool has_word(struct slice name, const char *word) {
	size_t end;
	return find_verb(name, word, &end) > 0;
}

bool owner_speaks_of_allocating(struct slice function) {
	struct slice name = last_part(function);
	// "load_from_memory" is work
	bool is_memory = has_word(name, "memory") &&
			(has_word(name, "acquire") || has_word(name, "get"));
	static const char *const words[] = {"alloc", "operator new", "strdup", "strndup", "memdup",
			"mem_get", "mem_reget", "mmap"};
	return is_memory || ANY(i, N_OF(words), has_word(name, words[i]));
}

/** "_objalloc_", "apr_pool": hand out parts of what they allocate. */
static bool is_pool(struct slice s) {
	static const char *const pools[] = {"alloc", "allocator", "arena", "mem", "obstack", "pool",
			"slab"};
	s = without_underscores(s);
	size_t end;
	return ANY(i, N_OF(pools), find_verb(s, pools[i], &end) && end == s.size);
}

bool owner_is_called_like_allocating(struct slice function) {
	static const char *const ends[] = {"malloc", "calloc", "realloc", "zalloc", "palloc", "mallocz",
			"strdup", "strndup", "memdup", "mem_get", "mmap"};
	struct slice name = last_part(function);
	size_t end, at = find_verb(name, "alloc", &end);
	struct slice before = slice_of(name.data, at ? at - 1 : 0);
	bool is_one = at && end == name.size && (is_wrapper_prefix(before) || is_pool(before));
	is_one |= find_verb(name, "memory", &end) && end == name.size &&
			(has_word(name, "alloc") || has_word(name, "acquire"));
	for (size_t i = 0; i < N_OF(ends); i++) {
		is_one |= find_verb(name, ends[i], &end) &&
				(end == name.size || (i < 3 && name.data[end] == '_')); // png_malloc_warn
	}
	return is_one;
}
