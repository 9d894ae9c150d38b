// SPDX-License-Identifier: MIT
#include "session/rules.h"

#include "sys/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RULES_BYTES_MAX = 1 << 20 };

/** A file that is not there says nothing. */
static bool add_file(struct naming_rules *rules, const char *folder, const char *name,
		struct arena *arena, struct err *err) {
	char *path;
	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		return err_memory(err);
	}
	struct buffer text = {0};
	bool ok = true;
	if (access(path, R_OK) == 0) {
		ok = file_read_whole(path, &text, RULES_BYTES_MAX, err) &&
				(naming_rules_parse(rules, buffer_view(&text), arena, err) ||
						err_add(err, "%s", path));
	}
	buffer_finish(&text);
	free(path);
	return ok;
}

static bool add_folder_of(struct naming_rules *rules, const char *recording, struct arena *arena,
		struct err *err) {
	const char *slash = strrchr(recording, '/');
	char *folder = slash ? strndup(recording, (size_t)(slash - recording)) : strdup(".");
	bool ok = folder ? add_file(rules, folder, ".heaptrackrc", arena, err) : err_memory(err);
	free(folder);
	return ok;
}

bool session_rules(struct naming_rules *rules, const char *recording, const char *const *folds,
		uint32_t n_folds, struct arena *arena, struct err *err) {
	for (uint32_t i = 0; i < n_folds; i++) {
		if (!naming_rules_add(rules, NAMING_FOLD, slice_of_text(folds[i]), arena, err)) {
			return false;
		}
	}
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	return add_folder_of(rules, recording, arena, err) &&
			(!config || !*config || add_file(rules, config, "heaptrackrc", arena, err)) &&
			(!home || !*home || add_file(rules, home, ".heaptrackrc", arena, err));
}
