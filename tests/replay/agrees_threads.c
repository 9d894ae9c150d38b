// SPDX-License-Identifier: MIT

/* Compares the threads of a recording with the replay, and what they freed for each other. */

#include "replay/agrees.h"

static bool thread_agrees(const struct rec_thread *ours, const struct rec_thread *theirs,
		struct err *why) {
	return SAME(why, "allocations", ours->allocations, theirs->allocations) &&
			SAME(why, "allocated_bytes", ours->allocated_bytes, theirs->allocated_bytes) &&
			SAME(why, "frees", ours->frees, theirs->frees) &&
			SAME(why, "temporary", ours->temporary, theirs->temporary) &&
			SAME(why, "live_bytes", ours->live_bytes, theirs->live_bytes) &&
			SAME(why, "peak_bytes", ours->peak_bytes, theirs->peak_bytes) &&
			SAME(why, "foreign_frees", ours->foreign_frees, theirs->foreign_frees);
}

static void add_to_threads(struct rec_thread *threads, const struct replay_block *b,
		uint64_t peak) {
	struct rec_thread *owner = &threads[b->thread];
	owner->allocations++;
	owner->allocated_bytes += b->size;
	owner->temporary += b->is_temporary;
	owner->live_bytes += b->death == UINT64_MAX ? b->size : 0;
	owner->peak_bytes += b->birth <= peak && b->death > peak ? b->size : 0;
	if (b->death != UINT64_MAX && !b->is_gone) {
		threads[b->freed_by].frees++;
		owner->foreign_frees += b->freed_by != b->thread;
	}
}

static int compare_handovers(const void *x, const void *y) {
	const struct rec_handover *a = x;
	const struct rec_handover *b = y;
	if (a->from != b->from) {
		return a->from < b->from ? -1 : 1;
	}
	return a->to < b->to ? -1 : a->to > b->to;
}

/** Sort, and add up what is equal. Gives how many are left. */
static size_t add_up_handovers(struct rec_handover *items, size_t n) {
	qsort(items, n, sizeof *items, compare_handovers);
	size_t n_out = 0;
	for (size_t i = 0; i < n; i++) {
		if (n_out && compare_handovers(&items[n_out - 1], &items[i]) == 0) {
			items[n_out - 1].blocks += items[i].blocks;
			items[n_out - 1].bytes += items[i].bytes;
		} else {
			items[n_out++] = items[i];
		}
	}
	return n_out;
}

static bool handovers_agree(const struct replay *r, const struct recording *rec, struct err *why) {
	struct rec_handover *ours = need(r->blocks.n, sizeof *ours);
	size_t n = 0;
	for (size_t i = 0; i < r->blocks.n; i++) {
		const struct replay_block *b = &r->blocks.items[i];
		if (b->death != UINT64_MAX && !b->is_gone && b->freed_by != b->thread) {
			ours[n++] = (struct rec_handover){b->thread, b->freed_by, 1, b->size};
		}
	}
	n = add_up_handovers(ours, n);
	struct rec_handover *theirs = need(rec->handovers.n, sizeof *theirs);
	if (rec->handovers.n) {
		memcpy(theirs, rec->handovers.items, rec->handovers.n * sizeof *theirs);
	}
	size_t n_theirs = add_up_handovers(theirs, rec->handovers.n);
	bool ok = SAME(why, "number of handovers", n, n_theirs);
	for (size_t i = 0; ok && i < n; i++) {
		ok = SAME(why, "handover: from", ours[i].from, theirs[i].from) &&
				SAME(why, "handover: to", ours[i].to, theirs[i].to) &&
				SAME(why, "handover: blocks", ours[i].blocks, theirs[i].blocks) &&
				SAME(why, "handover: bytes", ours[i].bytes, theirs[i].bytes);
	}
	free(theirs);
	free(ours);
	return ok;
}

static void add_thread(struct rec_thread *sum, const struct rec_thread *t) {
	sum->allocations += t->allocations;
	sum->allocated_bytes += t->allocated_bytes;
	sum->frees += t->frees;
	sum->temporary += t->temporary;
	sum->live_bytes += t->live_bytes;
	sum->peak_bytes += t->peak_bytes;
	sum->foreign_frees += t->foreign_frees;
}

/** Merged threads can be compared only in sum. */
bool agrees_by_thread(const struct replay *r, const struct recording *rec, struct err *why) {
	size_t n = rec->threads.n > r->thread_allocations.n ? rec->threads.n : r->thread_allocations.n;
	struct rec_thread *ours = need(n, sizeof *ours);
	for (size_t i = 0; i < r->blocks.n; i++) {
		add_to_threads(ours, &r->blocks.items[i], rec->summary.peak_time_ns);
	}
	struct rec_thread our_sum = {0};
	struct rec_thread their_sum = {0};
	bool ok = true;
	bool compare_each = !are_merged(rec);
	for (size_t i = 0; i < n; i++) {
		add_thread(&our_sum, &ours[i]);
	}
	for (uint32_t i = 0; ok && i < rec->threads.n; i++) {
		add_thread(&their_sum, &rec->threads.items[i]);
		ok = !compare_each || thread_agrees(&ours[i], &rec->threads.items[i], why) ||
				err_add(why, "thread %" PRIu32, i);
	}
	ok = ok && (thread_agrees(&our_sum, &their_sum, why) || err_add(why, "all threads"));
	free(ours);
	return ok && (!compare_each || handovers_agree(r, rec, why));
}
