// SPDX-License-Identifier: MIT
/* Finds who keeps what is never freed. A runtime keeps tables of its own, whoever called it. */
#include "base/text.h"
#include "engine/names/parts.h"

static bool is_noisy_function(const struct name *f) {
	static const char *const noisy[] = {"_IO_", "_dl_", "__nss", "__gconv", "_nl_", "setlocale",
			"tzset", "__tz", "__new_exitfn", "allocate_dtv", "allocate_stack",
			"__cxa_thread_atexit", "__cxa_get_globals", "_dlerror", "__libc_alloc_buffer",
			"std::locale", "std::io::stdio", "std::rt::", "std::thread::", "std::sys",
			"<std::io::stdio", "call_init"};
	const bool is_internal = starts_with(f->function, "__GI_"); // the C library's own entrance
	const size_t skipped = is_internal ? sizeof "__GI_" - 1 : 0;
	const struct slice name = slice_of(f->function.data + skipped, f->function.size - skipped);
	return STARTS_WITH_ANY(name, noisy) || starts_with(path_base(f->module), "ld-");
}

const struct name *names_keeper(const struct names *n, uint32_t node) {
	const struct name *site = names_site(n, node), *f;
	struct stack_walk w = stack_walk_init(n->recording, n, node);
	while (site && !site->is_runtime && (f = stack_walk_next(&w)) && f != site) {
		if (f->is_runtime && !f->is_wrapper && is_noisy_function(f)) {
			return &n->frames[n->n_frames + n->recording->locations.items[w.location].module];
		}
	}
	return site;
}
