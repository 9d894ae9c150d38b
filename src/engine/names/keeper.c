// SPDX-License-Identifier: MIT
/* Finds who keeps what is never freed, and who maps memory: runtimes do so for themselves. */
#include "engine/names/parts.h"

static bool is_noisy_function(const struct name *f) {
	static const char noisy
			[] = "|_IO_|_dl_|__nss|__gconv|_nl_|setlocale|tzset|__tz|__new_exitfn"
				 "|allocate_dtv|allocate_stack|__cxa_thread_atexit|__cxa_get_globals|_dlerror"
				 "|__libc_alloc_buffer|std::locale|std::io::stdio|std::rt::|std::thread::|std::sys"
				 "|<std::io::stdio|call_init";
	const bool is_internal = starts_with(f->function, "__GI_"); // the C library's internal alias
	const size_t skipped = is_internal ? sizeof "__GI_" - 1 : 0;
	const struct slice name = slice_from(f->function, skipped);
	return starts_with_any(name, noisy) || starts_with(path_base(f->module), "ld-");
}

const struct name *names_keeper(const struct names *n, uint32_t node) {
	struct stack_walk w = stack_walk_init(n->recording, n, node);
	const struct name *const site = w.site, *f;
	while (site && !site->is_runtime && (f = stack_walk_next(&w)) && f != site) {
		if (f->is_runtime && !f->is_wrapper && is_noisy_function(f)) {
			return &n->frames[n->n_frames + n->recording->locations.items[w.location].module];
		}
	}
	return site;
}

/** Only those whose functions get names, which would stand for memory they did not map. */
static bool is_interpreter(const struct names *n, uint32_t module) {
	const struct slice name = path_base(names_module_path(n->recording, module));
	return is_called_after(name, "python") || is_called_after(name, "node") ||
			starts_with(name, "libpython") || starts_with(name, "libnode.");
}

const struct name *names_mapper(const struct names *n, uint32_t node, const struct name **running) {
	struct stack_walk w = stack_walk_init(n->recording, n, node);
	const struct name *site = w.site, *f = NEXT_FRAME_THAT(frame, &w, !frame->is_wrapper);
	const uint32_t module = f ? n->recording->locations.items[w.location].module : 0;
	bool is_own = f && site && !site->is_runtime && !slice_equal(site->module, f->module) &&
			is_interpreter(n, module);
	*running = is_own ? site : NULL;
	return is_own ? &n->frames[n->n_frames + module] : site;
}
