// SPDX-License-Identifier: MIT
#include "trace/recording.h"

void recording_finish(struct recording *r) {
	if (r) {
		arena_finish(&r->arena);
		*r = (struct recording){0};
	}
}
