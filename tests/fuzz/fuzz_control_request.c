// SPDX-License-Identifier: MIT
#include "collector/control.h"

#include <stdlib.h>
#include <string.h>

/** A line is a command or has a complaint; one with a byte below space is never a command. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	enum control_command command = CONTROL_COMMANDS;
	struct err err = {0};
	bool ok = control_request(slice_of(data, size), &command, &err);
	if (ok != (err.code == ERR_NONE) || (ok && command >= CONTROL_COMMANDS) ||
			(!ok && !err.text[0]) || (ok && size > 0 && memchr(data, 0, size))) {
		abort();
	}
	return 0;
}
