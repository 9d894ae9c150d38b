// SPDX-License-Identifier: MIT
/*
 * Writes what calls that map have mapped, as valgrind's massif does with --pages-as-heap=yes: the
 * recording with mappings in place of blocks is exported like any other.
 */
#include "engine/memory.h"
#include "export/export.h"

bool export_massif_pages(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	const struct lens *lens = request->lens;
	if (lens->has_range || lens->n_threads || request->base) {
		return err_set(err, ERR_UNSUPPORTED,
				"the massif-pages format holds a whole recording, not a range, a thread or a "
				"comparison");
	}
	struct session pages = *request->session; // of whose recording mappings are taken for blocks
	struct export_request mapped = *request;
	mapped.session = &pages;
	mapped.options.massif.is_of_pages = true;
	SCOPED(arena) arena = {0};
	SCOPED(buffer) out = {0};
	struct profile p;
	bool ok = memory_as_recording(&request->session->recording, LENS_MAPPED, UINT64_MAX, &arena,
			&pages.recording, err);
	pages.recording.of = METRIC_OF_BLOCKS; // an export knows no others
	ok = ok && profile_of_request(&p, &mapped, &arena, err) &&
			massif_encode(&out, &p, &mapped.options, err) &&
			sink->write(sink->user, buffer_view(&out), err);
	return ok;
}
