// SPDX-License-Identifier: MIT

// Who was not recorded, and what records it.

#include "engine/quality_parts.h"

#include <inttypes.h>
#include <stdio.h>

static void say_unrecorded_images(struct quality_writer *w) {
	const struct recording *r = w->recording;
	for (uint32_t i = 0; i < r->images.n; i++) {
		const struct rec_image *m = &r->images.items[i];
		char at[HUMAN_MAX];
		if (m->is_too_narrow) {
			quality_say(w, "unrecorded-image", m->time_ns,
					"%s after the start the program became %.*s, whose address space is too narrow for "
					"the recorder (ulimit -v): what that allocated is missing; with 100 MB more it is "
					"recorded",
					human_duration(at, m->time_ns), SLICE_ARG(r->strings.items[m->exe]));
		} else if (m->is_unrecorded) {
			quality_say(w, "unrecorded-image", m->time_ns,
					"%s after the start the program became %.*s, which the recorder did not get into "
					"(%s): what that allocated is missing",
					human_duration(at, m->time_ns), SLICE_ARG(r->strings.items[m->exe]),
					r->allocators.n
							? "where it was put into a program, it does not follow to the next"
							: "it is static, or its environment was emptied");
		}
	}
}

static void say_children(struct quality_writer *w) {
	const struct recording *r = w->recording;
	uint64_t n = r->quality.children_forked + r->quality.children_executed;
	if (n == 0) {
		return;
	}
	const struct rec_child *largest = NULL;
	for (uint32_t i = 0; i < r->children.n; i++) {
		const struct rec_child *c = &r->children.items[i];
		largest = !largest || c->peak_rss_bytes > largest->peak_rss_bytes ? c : largest;
	}
	char count[HUMAN_MAX], size[HUMAN_MAX];
	human_count(count, n);
	if (!largest || largest->name == 0) {
		quality_say(w, "children", n, "%s child process%s not recorded", count,
				n == 1 ? " was" : "es were");
		return;
	}
	struct slice exe = r->strings.items[largest->exe ? largest->exe : largest->name];
	quality_say(w, "children", n,
			"%s child process%s not recorded; the largest, %.*s (pid %u%s%s), would be by: "
			"heaptrack %.*s ...",
			count, n == 1 ? " was" : "es were", SLICE_ARG(r->strings.items[largest->name]),
			largest->pid, largest->peak_rss_bytes ? ", " : "",
			largest->peak_rss_bytes ? human_bytes(size, largest->peak_rss_bytes) : "",
			SLICE_ARG(exe));
}

void quality_say_unrecorded(struct quality_writer *w) {
	say_unrecorded_images(w);
	say_children(w);
}
