// SPDX-License-Identifier: MIT
/* The table of suppressions that covered something, as KDE's heaptrack_print has it. */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>

/** As KDE's table has it: "8.67KB", "0B". */
static void put_bytes(struct buffer *out, uint64_t bytes) {
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	enum { LAST = sizeof units / sizeof *units - 1 };
	double value = (double)bytes;
	int unit = 0;
	while (unit < LAST && value > 1000) {
		value /= 1000;
		unit++;
	}
	char text[32];
	(void)snprintf(text, sizeof text, unit ? "%.2f%s" : "%.0f%s", value, units[unit]);
	buffer_printf(out, "%16s", text);
}

void report_suppressions(struct buffer *out, const struct suppressions *s) {
	buffer_text(out, "Suppressions used:\n");
	buffer_printf(out, "%16s %16s %s\n", "matches", "leaked", "pattern");
	for (size_t i = 0; i < s->rules.n; i++) {
		const struct suppression *rule = &s->rules.items[i];
		if (rule->n_stacks) {
			buffer_printf(out, "%16" PRIu64 " ", rule->n_stacks);
			put_bytes(out, rule->bytes);
			buffer_printf(out, " %.*s\n", SLICE_ARG(rule->pattern));
		}
	}
}
