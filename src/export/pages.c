// SPDX-License-Identifier: MIT
/*
 * Writes what calls that map have mapped, as valgrind's massif does with --pages-as-heap=yes: the
 * recording with mappings in place of blocks is exported like any other.
 */
#include "export/export.h"

/** Its tables live in out->arena, all else is r's. False: no memory. */
static bool with_mappings(const struct recording *r, struct recording *out) {
	*out = *r;
	out->arena = (struct arena){0};
	out->stacks.items = arena_new(&out->arena, struct rec_stack, r->mappings.n);
	out->intervals.items = arena_new(&out->arena, struct rec_interval_row, r->mapping_intervals.n);
	out->stacks.n = r->mappings.n;
	out->intervals.n = r->mapping_intervals.n;
	out->edges.items = r->mapping_edges.items;
	out->edges.n = r->mapping_edges.n;
	out->wide.n = 0;
	out->summary.peak_time_ns = r->summary.mapped_peak_time_ns;
	bool ok = out->stacks.items && out->intervals.items;
	for (uint32_t i = 0; ok && i < r->mappings.n; i++) {
		const struct rec_mapping *m = &r->mappings.items[i];
		out->stacks.items[i] = (struct rec_stack){
				FIELDS_OF(m, node, peak_bytes, live_bytes, first_ns, last_ns),
				.allocations = m->maps,
				.allocated_bytes = m->mapped_bytes,
				.peak_blocks = m->peak_maps,
				.live_blocks = m->live_maps,
		};
	}
	return ok &&
			ALL(i, r->mapping_intervals.n,
					recording_set_interval(out, i, &r->mapping_intervals.items[i]));
}

bool export_massif_pages(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	const struct lens *lens = request->lens;
	if (lens->has_range || lens->n_threads || request->base) {
		return err_set(err, ERR_UNSUPPORTED,
				"the massif-pages format holds a whole recording, not a range, a thread or a "
				"comparison");
	}
	if (request->session->recording.mapping_edges.n == 0) {
		return err_set(err, ERR_UNSUPPORTED, "calls that map memory were not recorded");
	}
	struct session pages = *request->session;
	struct export_request mapped = *request;
	mapped.session = &pages;
	mapped.options.massif.is_of_pages = true;
	SCOPED(arena) arena = {0};
	SCOPED(buffer) out = {0};
	struct profile p;
	bool ok = (with_mappings(&request->session->recording, &pages.recording) || err_memory(err)) &&
			profile_of_request(&p, &mapped, &arena, err) &&
			massif_encode(&out, &p, &mapped.options, err) &&
			sink->write(sink->user, buffer_view(&out), err);
	arena_finish(&pages.recording.arena);
	return ok;
}
