// SPDX-License-Identifier: MIT
/* Adds and merges threads, and counts frees by other threads. */
#include "engine/costs/threads.h"

static uint32_t new_record(struct threads *t) {
	while (t->unused_hint < t->records.n && t->records.items[t->unused_hint].is_used) {
		t->unused_hint++;
	}
	if (t->unused_hint == t->records.n) {
		(void)vec_push(&t->records);
	}
	struct thread_record *r = &t->records.items[t->unused_hint];
	*r = (struct thread_record){.is_used = true};
	t->n_used++;
	return t->unused_hint++;
}

void threads_init(struct threads *t) {
	*t = (struct threads){.merge_at = THREADS_MANY};
	(void)vec_push(&t->ids);
	(void)new_record(t); // THREAD_NONE
}

void threads_finish(struct threads *t) {
	CALL_FOR(vec_finish, t, ids, records, handovers);
	index_finish(&t->handover_index);
}

uint64_t threads_bytes(const struct threads *t) {
	return t->ids.capacity * sizeof *t->ids.items + t->records.capacity * sizeof *t->records.items +
			t->handovers.capacity * sizeof *t->handovers.items + index_bytes(&t->handover_index);
}

static struct thread_record *find_group(const struct threads *t, uint32_t name, uint32_t image) {
	return FIND_IN(r, t->records,
			r->is_used && r->n_merged > 0 && r->name == name && r->image == image);
}

/** The group that takes threads like this one; if there is none, `single` becomes it. */
static struct thread_record *group_for(struct threads *t, struct thread_record *single) {
	struct thread_record *group = find_group(t, single->name, single->image);
	if (!group && t->n_groups >= THREAD_GROUPS) {
		// Too many names: the rest share no name
		single->name = 0;
		single->image = 0;
		group = find_group(t, 0, 0);
	}
	if (!group) {
		group = single;
		group->merged_allocations = t->ids.items[single->id].allocations;
		group->tid = 0;
		group->n_merged = 1;
		t->n_groups++;
	}
	return group;
}

static void add_record(const struct threads *t, struct thread_record *group,
		const struct thread_record *r, uint32_t epoch) {
	group->peak_bytes = thread_peak_bytes(group, epoch) + thread_peak_bytes(r, epoch);
	group->epoch = epoch;
	group->live_bytes += r->live_bytes;
	group->merged_allocations += t->ids.items[r->id].allocations;
	ADD_FIELDS(group, r, allocated_bytes, frees, temporary, foreign_frees);
	group->first_ns = r->first_ns < group->first_ns ? r->first_ns : group->first_ns;
	group->last_ns = r->last_ns > group->last_ns ? r->last_ns : group->last_ns;
	group->n_merged++;
}

static struct rec_handover *handover_of(struct threads *t, uint32_t from, uint32_t to) {
	for (;; to = THREAD_NONE) {
		uint64_t hash = hash_u64((uint64_t)from << 32 | to);
		uint32_t found = INDEX_FIND(&t->handover_index, hash, i,
				t->handovers.items[i].from == from && t->handovers.items[i].to == to);
		if (found != INDEX_NONE) {
			return &t->handovers.items[found];
		}
		if (t->handovers.n < HANDOVERS_MAX || to == THREAD_NONE) {
			index_put(&t->handover_index, hash, (uint32_t)t->handovers.n);
			t->handovers.items[t->handovers.n] = (struct rec_handover){.from = from, .to = to};
			return &t->handovers.items[t->handovers.n++];
		}
	}
}

void handovers_reserve(struct threads *t, uint32_t more) {
	(void)vec_reserve(&t->handovers, more);
	(void)index_reserve(&t->handover_index, more);
}

void handovers_count(struct threads *t, uint32_t from, uint32_t to, uint64_t bytes) {
	struct rec_handover *h = handover_of(t, t->ids.items[from].record, t->ids.items[to].record);
	h->blocks++;
	h->bytes += bytes;
}

/** Records moved: renumber the pairs. There are no more than before. */
static void renumber_handovers(struct threads *t, const uint32_t *new_record_of) {
	size_t n = t->handovers.n;
	memset(t->handover_index.slots, 0, index_bytes(&t->handover_index));
	t->handover_index.n = 0;
	t->handovers.n = 0;
	for (size_t i = 0; i < n; i++) {
		// Reading stays ahead of writing
		struct rec_handover old = t->handovers.items[i];
		struct rec_handover *h = handover_of(t, new_record_of[old.from], new_record_of[old.to]);
		ADD_FIELDS(h, &old, blocks, bytes);
	}
}

static bool is_mergeable(const struct thread_record *r) {
	return r->is_used && r->has_ended && r->n_merged == 0;
}

/** How much an ended thread must have allocated to stay separate. */
static uint64_t bytes_to_be_kept(const struct threads *t, uint64_t *scratch) {
	size_t n = 0;
	EACH_THAT(r, t->records, is_mergeable(r)) {
		scratch[n++] = r->allocated_bytes;
	}
	if (n <= THREADS_KEPT) {
		return 0;
	}
	qsort(scratch, n, sizeof *scratch, by_number);
	return scratch[n - THREADS_KEPT - 1] + 1;
}

static void merge_records(struct threads *t, uint64_t kept_bytes, uint32_t *new_record_of,
		uint32_t epoch) {
	for (uint32_t i = 0; i < t->records.n; i++) {
		struct thread_record *r = &t->records.items[i];
		new_record_of[i] = i;
		if (!is_mergeable(r) || r->allocated_bytes >= kept_bytes) {
			continue;
		}
		struct thread_record *group = group_for(t, r);
		if (group != r) {
			add_record(t, group, r, epoch);
			new_record_of[i] = (uint32_t)(group - t->records.items);
			t->ids.items[r->id].record = new_record_of[i];
			t->records.items[i].is_used = false;
			t->n_used--;
			t->unused_hint = i < t->unused_hint ? i : t->unused_hint;
		}
	}
}

static void merge_ended(struct threads *t, uint32_t epoch) {
	FREED uint64_t *scratch = memory_new(t->records.n, sizeof *scratch);
	FREED uint32_t *new_record_of = memory_new(t->records.n, sizeof *new_record_of);
	merge_records(t, bytes_to_be_kept(t, scratch), new_record_of, epoch);
	if (t->handovers.n) {
		renumber_handovers(t, new_record_of);
	}
	// Most are alive: retry at twice as many
	t->merge_at = t->n_used * 2 > THREADS_MANY ? t->n_used * 2 : THREADS_MANY;
}

uint32_t threads_add(struct threads *t, uint32_t tid, uint32_t image, uint64_t now_ns,
		uint32_t epoch) {
	if (t->n_used >= t->merge_at) {
		merge_ended(t, epoch);
	}
	if (t->ids.n >= THREADS_MAX) {
		return THREAD_NONE;
	}
	uint32_t id = (uint32_t)t->ids.n, record = new_record(t);
	(void)vec_add(&t->ids, (struct thread_id){.record = record});
	struct thread_record *r = &t->records.items[record];
	r->id = id;
	r->tid = tid;
	r->image = image;
	r->first_ns = now_ns;
	r->last_ns = now_ns;
	return id;
}

void threads_end(struct threads *t, uint32_t id, uint64_t now_ns) {
	struct thread_record *r = thread_record_of(t, id);
	if (!r->has_ended && r->n_merged == 0) {
		r->has_ended = true;
		r->last_ns = now_ns > r->first_ns ? now_ns : r->first_ns;
	}
}

void threads_restart_epochs(struct threads *t, uint32_t epoch) {
	for (size_t i = 0; i < t->records.n; i++) {
		t->records.items[i].epoch = t->records.items[i].epoch == epoch;
	}
}
