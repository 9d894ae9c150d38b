// SPDX-License-Identifier: MIT
#include "recorder/preload/real.h"

#include "machine.h"
#include "recorder/preload/early.h"
#include "recorder/preload/lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>

// Glibc before 2.34 has these in a file of their own
#pragma weak dlsym
#pragma weak dlopen
#pragma weak dlclose

static _Thread_local bool is_finding __attribute__((tls_model("initial-exec")));

/** The names of loaded objects, borrowed from the loader. */
struct objects {
	const char *names[256];
	unsigned n;
};

static int note_object(struct dl_phdr_info *info, size_t bytes, void *arg) {
	(void)bytes;
	struct objects *objects = arg;
	if (objects->n == sizeof objects->names / sizeof *objects->names) {
		return 1;
	}
	objects->names[objects->n++] = info->dlpi_name;
	return 0;
}

/** Without us, callers in a scope of their own would have found it there. */
static void *look_in_objects(const char *name, const void *ours) {
	struct objects objects = {.n = 0};
	(void)dl_iterate_phdr(note_object, &objects);
	for (unsigned i = 0; i < objects.n; i++) {
		void *library = objects.names[i][0] == '\0'
				? NULL
				: dlopen(objects.names[i], RTLD_LAZY | RTLD_NOLOAD);
		void *found = library == NULL ? NULL : dlsym(library, name);
		if (library != NULL) {
			(void)dlclose(library);
		}
		if (found != NULL && found != ours) {
			return found;
		}
	}
	return NULL;
}

MACHINE_ALIGNS_STACK void *real_find_global(const char *name, const void *ours) {
	int before = errno;
	is_finding = true;
	void *found = &dlsym == NULL ? lookup_function(name, ours) : dlsym(RTLD_NEXT, name);
	is_finding = false;
	errno = before;
	return found;
}

MACHINE_ALIGNS_STACK void *real_find_loaded(const char *name, const void *ours) {
	if (&dlopen == NULL) {
		return NULL;
	}
	int before = errno;
	is_finding = true;
	void *found = look_in_objects(name, ours);
	is_finding = false;
	errno = before;
	return found;
}

static void *find_library(const char *name, const void *ours) {
	void *found = real_find_global(name, ours);
	return found != NULL ? found : real_find_loaded(name, ours);
}

#pragma GCC diagnostic ignored "-Wunused-parameter" // they take what the real ones take

// For each hook: what to do without a real function, and the function that stands in the table
// first, which finds the real one. A call from inside dlsym finds nothing and changes nothing.
#define FOUND_BY(find, result, name, parameters, arguments, without)                             \
	extern result our_##name parameters __asm__(#name);                                          \
	static result without_##name parameters {                                                    \
		return without;                                                                          \
	}                                                                                            \
	static result find_##name parameters {                                                       \
		if (is_finding) {                                                                        \
			return without_##name arguments;                                                     \
		}                                                                                        \
		result(*found) parameters = (result(*) parameters)find(#name, (const void *)our_##name); \
		if (found == NULL) {                                                                     \
			found = without_##name;                                                              \
		}                                                                                        \
		__atomic_store_n(&real.name, found, __ATOMIC_RELAXED);                                   \
		return found arguments;                                                                  \
	}
#define HOOK(result, name, parameters, arguments, what, without) \
	FOUND_BY(real_find_global, result, name, parameters, arguments, without)
#define LIBRARY_HOOK(result, name, parameters, arguments, what, without) \
	FOUND_BY(find_library, result, name, parameters, arguments, without)
#include "recorder/hooks.def"
#undef HOOK

#define HOOK(result, name, ...) .name = find_##name,
struct real real = {
#include "recorder/hooks.def"
};
#undef HOOK
