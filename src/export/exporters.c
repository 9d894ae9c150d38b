// SPDX-License-Identifier: MIT
/*
 * Finds an export by its name and runs it. A writer of profiles gets one of what was asked for,
 * writes it into memory, and the whole is handed out: the largest are some hundred bytes per stack.
 */
#include "export/export.h"

#define ROW(id, name, suffix, about)        {name, suffix, .write = export_##id},
#define WRITER_ROW(id, name, suffix, about) {name, suffix, .encode = id##_encode},
static const struct exporter exporters[] = {EXPORTS(ROW, WRITER_ROW)};

const struct exporter *exporter_find(struct slice name, struct err *err) {
	enum { N = sizeof exporters / sizeof *exporters };
	SCOPED(buffer) names = {0};
	for (size_t i = 0; i < N; i++) {
		if (slice_equal(name, slice_of_text(exporters[i].name))) {
			return &exporters[i];
		}
		buffer_printf(&names, "%s%s", i ? ", " : "", exporters[i].name);
	}
	(void)err_set(err, ERR_USAGE, "unknown export \"%.*s\"; use one of: %.*s", SLICE_ARG(name),
			SLICE_ARG(buffer_view(&names)));
	return NULL;
}

bool exporter_is_packed(const struct exporter *e) {
	const char *dot = strrchr(e->suffix, '.');
	return dot && strcmp(dot, ".gz") == 0;
}

bool exporter_write(const struct exporter *e, const struct export_request *request,
		const struct export_sink *sink, struct err *err) {
	if (e->write) {
		return e->write(request, sink, err);
	}
	SCOPED(arena) arena = {0};
	SCOPED(buffer) out = {0};
	struct profile p;
	bool ok = profile_of_request(&p, request, &arena, err);
	struct write_options options = request->options;
	if (ok && !request->has_shown) {
		options.shown = profile_value_shown(request->lens, &p);
	}
	return ok && e->encode(&out, &p, &options, err) &&
			sink->write(sink->user, buffer_view(&out), err);
}
