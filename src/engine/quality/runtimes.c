// SPDX-License-Identifier: MIT
/* What is known of the runtimes: options that name functions, tools that show own memory. */
#include "engine/findings.h"

static const struct runtime {
	const char *name; // of the program; a version may follow
	const char *language;
	const char *naming;    // options, or what else to do. NULL: none is known
	unsigned naming_minor; // of version 3: since when
	const char *objects;   // what it keeps in mappings of its own; NULL: nothing
	const char *telling;   // who tells of them
} runtimes[] = {
		{"node", "JavaScript", "--perf-basic-prof --interpreted-frames-native-stack", 0,
				"JavaScript's objects", "node --heap-prof tells of them"},
		{"nodejs", "JavaScript", "--perf-basic-prof --interpreted-frames-native-stack", 0,
				"JavaScript's objects", "node --heap-prof tells of them"},
		{"python", "Python", "-X perf", 12, "small objects",
				"--python-objects shows them without -E"},
		{"php", "PHP", NULL, 0, "what scripts hold", "USE_ZEND_ALLOC=0 records it"},
		{"java", "Java", NULL, 0, "Java's objects", "jcmd PID GC.class_histogram tells of them"},
		{"mono", "C#", "--jitmap", 0, NULL, NULL},
		{"ruby", "Ruby", NULL, 0, "Ruby's objects", "ObjectSpace.dump_all tells of them"},
		{"R", "R", "call Rprofmem() in the script", 0, NULL, NULL},
};

static const struct runtime *find(struct slice name) {
	return FIND(r, runtimes, sizeof runtimes / sizeof *runtimes, is_called_after(name, r->name));
}

/** The 11 of "python3.11"; 0: the name does not say. */
static unsigned minor_of(struct slice name) {
	unsigned minor = 0;
	size_t i = name.size;
	while (i > 0 && isdigit(name.data[i - 1])) {
		i--;
	}
	for (size_t k = i; i > 0 && name.data[i - 1] == '.' && k < name.size && minor < 1000; k++) {
		minor = minor * 10 + (unsigned)(name.data[k] - '0');
	}
	return minor;
}

bool runtime_naming_flag(struct slice exe, const char **language, char out[RUNTIME_FLAG_MAX]) {
	const struct slice name = path_base(exe);
	const struct runtime *r = find(name);
	if (!r || !r->naming) {
		return false;
	}
	*language = r->language;
	if (*r->naming != '-') {
		(void)snprintf(out, RUNTIME_FLAG_MAX, "%s", r->naming);
	} else if (minor_of(name) >= r->naming_minor) {
		(void)snprintf(out, RUNTIME_FLAG_MAX, "start it as %.*s %s", SLICE_ARG(name), r->naming);
	} else {
		(void)snprintf(out, RUNTIME_FLAG_MAX, "start it with %s 3.%u or later and %s", r->language,
				r->naming_minor, r->naming);
	}
	return true;
}

bool runtime_own_memory(struct slice exe, char out[RUNTIME_FLAG_MAX]) {
	const struct slice name = path_base(exe);
	const struct runtime *r = find(name);
	bool has_own = r && r->objects;
	if (has_own) {
		(void)snprintf(out, RUNTIME_FLAG_MAX, "%.*s maps %s itself; %s", SLICE_ARG(name),
				r->objects, r->telling);
	}
	return has_own;
}
