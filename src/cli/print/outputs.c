// SPDX-License-Identifier: MIT
/* Refuses outputs that would overwrite an input or each other. */
#include "cli/print/outputs.h"

#include "base/check.h"
#include "sys/file.h"

bool outputs_add(struct outputs *o, const char *path, struct err *err) {
	if (!path) {
		return true;
	}
	bool is_device = strncmp(path, "/dev/", strlen("/dev/")) == 0; // takes what several write
	for (uint32_t i = 0; i < o->n; i++) {
		if (strcmp(o->paths[i], path) == 0 && !is_device) {
			return err_set(err, ERR_USAGE, "%s is named as output more than once",
					strcmp(path, "-") == 0 ? "standard output" : path);
		}
	}
	check(o->n < OUTPUTS_MAX);
	o->paths[o->n++] = path;
	return true;
}

bool outputs_spare(const struct outputs *o, const struct session *sessions, uint32_t n,
		struct err *err) {
	for (uint32_t i = 0; i < o->n; i++) {
		for (uint32_t k = 0; k < n; k++) {
			if (file_is_one(o->paths[i], sessions[k].path)) {
				return err_set(err, ERR_USAGE, "refusing to overwrite the input file %s",
						o->paths[i]);
			}
		}
	}
	return true;
}
