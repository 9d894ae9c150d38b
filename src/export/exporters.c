// SPDX-License-Identifier: MIT
/*
 * Finds an export by its name and runs it. Writers of profiles make the whole file in memory: the
 * largest take some hundred bytes per stack.
 */
#include "engine/memory.h"
#include "export/export.h"

#define ROW(id, name, suffix, about)        {name, suffix, .write = export_##id},
#define WRITER_ROW(id, name, suffix, about) {name, suffix, .encode = id##_encode},
static const struct exporter exporters[] = {EXPORTS(ROW, WRITER_ROW)};

const struct exporter *exporter_find(struct slice name, struct err *err) {
	SCOPED(buffer) names = {0};
	EACH_OF(e, exporters, N_OF(exporters)) {
		if (slice_is(name, e->name)) {
			return e;
		}
		buffer_printf(&names, "%s%s", names.size ? ", " : "", e->name);
	}
	(void)err_usage(err, "unknown export \"%.*s\"; use one of: %.*s", SLICE_ARG(name),
			SLICE_ARG(buffer_view(&names)));
	return NULL;
}

static bool write_profile(profile_writer *encode, const struct export_request *request,
		const struct export_sink *sink, struct err *err) {
	SCOPED(arena) arena = {0};
	SCOPED(buffer) out = {0};
	struct profile p;
	bool ok = profile_of_request(&p, request, &arena, err);
	struct write_options options = request->options;
	options.shown = ok && !request->has_shown ? profile_value_shown(request->lens, &p)
											  : options.shown;
	return ok && encode(&out, &p, &options, err) && sink->write(sink->user, buffer_view(&out), err);
}

bool exporter_write(const struct exporter *e, const struct export_request *request,
		const struct export_sink *sink, struct err *err) {
	return e->write ? e->write(request, sink, err) : write_profile(e->encode, request, sink, err);
}

/** As valgrind's massif with --pages-as-heap=yes: mappings instead of blocks. */
bool export_massif_pages(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	const struct lens *lens = request->lens;
	if (lens->has_range || lens->n_threads || lens->n_processes || request->base) {
		return err_unsupported(err,
				"the massif-pages format holds a whole recording, not a range, threads, processes "
				"or a comparison");
	}
	SCOPED(arena) arena = {0};
	struct session pages = *request->session;
	struct export_request mapped = *request;
	mapped.session = &pages;
	mapped.options.massif.is_of_pages = true;
	bool ok = memory_as_recording(&request->session->recording,
			&(struct lens){.metric = LENS_MAPPED}, &arena, &pages.recording, err);
	pages.recording.of = METRIC_OF_BLOCKS; // exports know no others
	return ok && write_profile(massif_encode, &mapped, sink, err);
}
