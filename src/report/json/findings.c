// SPDX-License-Identifier: MIT
/* The findings for programs. */
#include "report/json/findings.h"

#include "engine/facts_json.h"

static void put_finding(struct json *j, const struct finding *f) {
	static const char *const severities[] = {[FINDING_FACT] = "fact",
			[FINDING_EXPLAINS] = "explains",
			[FINDING_WORTH_IT] = "worth-it",
			[FINDING_LOOK_FIRST] = "look-first"};
	json_open(j, NULL, '{');
	finding_put_json(j, f);
	json_text(j, "severity", severities[f->severity]);
	if (f->function) {
		json_text(j, "place", f->place);
		json_string(j, "package", names_package(f->function));
	}
	json_close(j);
}

void report_json_findings(struct json *j, const struct findings *findings) {
	json_open(j, "findings", '[');
	for (uint32_t i = 0; i < findings->n; i++) {
		put_finding(j, &findings->items[i]);
	}
	json_close(j);
}
