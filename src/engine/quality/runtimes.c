// SPDX-License-Identifier: MIT
/* What is known of runtimes: options that name functions, tools that show their own memory. */
#include "engine/findings.h"

static const struct runtime {
	const char *name; // of the program; a version may follow
	const char *language;
	const char *naming;  // options, or other advice; NULL: none
	const char *objects; // what it keeps in its own mappings; or NULL
	const char *telling; // what shows them
} runtimes[] = {
		{"node", "JavaScript", "--perf-basic-prof --interpreted-frames-native-stack",
				"JavaScript's objects", "node --heap-prof tells of them"},
		{"nodejs", "JavaScript", "--perf-basic-prof --interpreted-frames-native-stack",
				"JavaScript's objects", "node --heap-prof tells of them"},
		{"python", "Python", "use Python 3.11 to 3.14", "small objects",
				"heaptrack --python-objects records them (not under python -E or -I)"},
		{"php", "PHP", NULL, "what scripts hold", "USE_ZEND_ALLOC=0 records it"},
		{"java", "Java", NULL, "Java's objects", "jcmd PID GC.class_histogram tells of them"},
		{"mono", "C#", "--jitmap", NULL, NULL},
		{"ruby", "Ruby", NULL, "Ruby's objects", "ObjectSpace.dump_all tells of them"},
		{"R", "R", "call Rprofmem() in the script", NULL, NULL},
};

static const struct runtime *find(struct slice name) {
	return FIND(r, runtimes, N_OF(runtimes), is_called_after(name, r->name));
}

bool runtime_naming_flag(struct slice exe, const char **language, char out[RUNTIME_FLAG_MAX]) {
	const struct slice name = path_base(exe);
	const struct runtime *r = find(name);
	if (!r || !r->naming) {
		return false;
	}
	*language = r->language;
	if (*r->naming == '-') {
		(void)snprintf(out, RUNTIME_FLAG_MAX, "start it as %.*s %s", SLICE_ARG(name), r->naming);
	} else {
		(void)snprintf(out, RUNTIME_FLAG_MAX, "%s", r->naming);
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
