// SPDX-License-Identifier: MIT

/* Each source of rules is added behind those that come before it. */

#include "session/open/parts.h"
#include "sys/file.h"

#include <stdio.h>
#include <stdlib.h>

enum { RULES_BYTES_MAX = 1 << 20 };

/** What is wrong with a file, or with a line of it, is a complaint: the rest holds. */
static bool add_file(struct naming_rules *rules, const char *folder, const char *name,
		const char *beside, struct arena *arena, struct buffer *complaints, struct err *err) {
	char *path;
	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		return err_memory(err);
	}
	struct buffer text = {0};
	struct err why = {0};
	bool ok = true;
	if (!file_read_found(path, beside, &text, RULES_BYTES_MAX, &why)) {
		ok = why.code != ERR_MEMORY || err_memory(err);
		buffer_printf(complaints, "%s; its rules are ignored\n", why.text);
	} else {
		ok = naming_rules_parse(rules, buffer_view(&text), path, arena, complaints, err);
	}
	buffer_finish(&text);
	free(path);
	return ok;
}

static bool add_folder_of(struct naming_rules *rules, const char *recording, struct arena *arena,
		struct buffer *complaints, struct err *err) {
	const char *slash = strrchr(recording, '/');
	char *folder = slash ? strndup(recording, (size_t)(slash - recording)) : strdup(".");
	bool ok = folder ? add_file(rules, folder, ".heaptrackrc", recording, arena, complaints, err)
					 : err_memory(err);
	free(folder);
	return ok;
}

bool session_rules(struct naming_rules *rules, const char *recording, const char *const *folds,
		uint32_t n_folds, struct arena *arena, struct buffer *complaints, struct err *err) {
	for (uint32_t i = 0; i < n_folds; i++) {
		if (!naming_rules_add(rules, NAMING_FOLD, slice_of_text(folds[i]), arena, err)) {
			return false;
		}
	}
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	return (!recording || add_folder_of(rules, recording, arena, complaints, err)) &&
			(!config || !*config ||
					add_file(rules, config, "heaptrackrc", NULL, arena, complaints, err)) &&
			(!home || !*home ||
					add_file(rules, home, ".heaptrackrc", NULL, arena, complaints, err));
}
