// SPDX-License-Identifier: MIT
/*
 * Writes how many blocks of each size were allocated: "size TAB count", ascending. Blocks of a
 * stack with many sizes count at the mean size of their class, so counts are exact, bytes nearly.
 * Stacks outside the lens are excluded. Sizes have no time: a lens with a range is refused.
 */
#include "export/export.h"

struct size_count {
	uint64_t size, count;
};

static void put_sizes(struct buffer *out, struct size_count *sizes, uint32_t n) {
	qsort(sizes, n, sizeof *sizes, by_number);
	for (uint32_t i = 0; i < n;) {
		uint64_t size = sizes[i].size, count = 0;
		for (; i < n && sizes[i].size == size; i++) {
			count += sizes[i].count;
		}
		buffer_printf(out, "%" PRIu64 "\t%" PRIu64 "\n", size, count);
	}
}

bool export_histogram(const struct export_request *request, const struct export_sink *sink,
		struct err *err) {
	const struct recording *r = &request->session->recording;
	if (request->lens->has_range || request->base) {
		return err_unsupported(err,
				"the histogram format holds a whole recording, not a range or a comparison");
	}
	if (r->sizes.n == 0 && r->summary.allocations) {
		return err_unsupported(err, "the input does not contain block sizes");
	}
	SCOPED(arena) scratch = {0};
	SCOPED(buffer) out = {0};
	struct lens_result costs;
	struct size_count *sizes = arena_new(&scratch, struct size_count, r->sizes.n);
	if (!lens_apply(request->lens, r, request->session->names, &scratch, &costs, err)) {
		return false;
	}
	uint32_t n = 0;
	EACH_THAT(s, r->sizes, s->count && costs.stacks[s->stack].allocations) {
		sizes[n++] = (struct size_count){s->bytes / s->count, s->count};
	}
	put_sizes(&out, sizes, n);
	return sink->write(sink->user, buffer_view(&out), err);
}
