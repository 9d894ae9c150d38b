// SPDX-License-Identifier: MIT
/*
 * Writes JUnit's XML as CI servers read it: a suite, a case per gate, a failure with the sentence.
 */
#include "report/compare.h"

static void put_escaped(struct buffer *out, const char *text) {
	for (; *text; text++) {
		switch (*text) {
		case '&': buffer_text(out, "&amp;"); break;
		case '<': buffer_text(out, "&lt;"); break;
		case '>': buffer_text(out, "&gt;"); break;
		case '"': buffer_text(out, "&quot;"); break;
		default:
			buffer_u8(out, (unsigned char)*text < ' ' ? ' ' : (uint8_t)*text); // XML has no others
		}
	}
}

bool report_junit(struct buffer *out, const struct compare_request *request, struct err *err) {
	uint64_t n_failed = SUM(i, request->n_gates, request->gates[i].is_failed);
	buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
	buffer_printf(out,
			"<testsuite name=\"heaptrack\" tests=\"%" PRIu32 "\" failures=\"%" PRIu64
			"\" errors=\"0\" skipped=\"0\">\n",
			request->n_gates, n_failed);
	for (uint32_t i = 0; i < request->n_gates; i++) {
		const struct gate_result *g = &request->gates[i];
		buffer_text(out, "<testcase classname=\"");
		put_escaped(out, request->file);
		buffer_text(out, "\" name=\"");
		put_escaped(out, g->gate->text);
		buffer_text(out, g->is_failed ? "\"><failure message=\"" : "\"><system-out>");
		put_escaped(out, g->sentence);
		buffer_text(out, g->is_failed ? "\"/></testcase>\n" : "</system-out></testcase>\n");
	}
	buffer_text(out, "</testsuite>\n</testsuites>\n");
	return !out->failed || err_memory(err);
}
