// SPDX-License-Identifier: MIT
#include "recorder/preload/real.h"

#include "recorder/preload/early.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

static _Thread_local bool is_finding __attribute__((tls_model("initial-exec")));

/** The next definition after ours. NULL: there is none. errno as it was. */
static void *find_next(const char *name) {
	int before = errno;
	is_finding = true;
	void *found = dlsym(RTLD_NEXT, name);
	is_finding = false;
	errno = before;
	return found;
}

// For each hook: what to do without a real function, and the function that stands in the table
// first, which finds the real one. A call from inside dlsym finds nothing and changes nothing.
#define HOOK(result, name, parameters, arguments, what, without)            \
	static result without_##name parameters {                               \
		return without;                                                     \
	}                                                                       \
	static result find_##name parameters {                                  \
		if (is_finding) {                                                   \
			return without_##name arguments;                                \
		}                                                                   \
		result(*found) parameters = (result(*) parameters)find_next(#name); \
		if (found == NULL) {                                                \
			found = without_##name;                                         \
		}                                                                   \
		__atomic_store_n(&real.name, found, __ATOMIC_RELAXED);              \
		return found arguments;                                             \
	}
#include "recorder/hooks.def"
#undef HOOK

#define HOOK(result, name, ...) .name = find_##name,
struct real real = {
#include "recorder/hooks.def"
};
#undef HOOK
