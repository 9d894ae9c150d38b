// SPDX-License-Identifier: MIT
/*
 * Events of a file. They go to the engine in batches, with the time of the last `c`. Interpreted
 * files say only which size and stack came or went: their events are paired here.
 */
#include "session/kde/parts.h"

enum { KDE_AHEAD = 8 };

static bool has_addresses(const struct kde_import *k) {
	return k->is_raw || k->reader.format == 0;
}

struct aggregate *kde_aggregate(void) {
	struct aggregate_limits limits = aggregate_default_limits();
	limits.max_sizes_per_stack = 1 << 20;
	return aggregate_create(&limits);
}

static void set_rules(const struct kde_import *k, struct aggregate *a) {
	aggregate_follow_kde(a, !k->is_raw);
	if (!has_addresses(k)) {
		aggregate_expect_numbers(a);
	}
}

/** Set the aggregate's rules before its first event: by then the kind of file is known. */
static void begin_events(struct kde_import *k) {
	if (!k->has_events) {
		set_rules(k, k->feed.aggregate);
		k->has_events = true;
	}
}

/** Each field is stored in place: copying a struct right after its stores would wait for them. */
static inline void add_event(struct kde_import *k, enum trace_event_kind kind, uint64_t ptr,
		uint64_t size, uint32_t node) {
	struct trace_event *e = feed_next(&k->feed);
	e->ptr = ptr;
	e->size = size;
	e->time_ns = k->time_ms * 1000000;
	e->node = node;
	e->thread = 0;
	e->kind = kind;
	if (feed_is_full(&k->feed)) {
		feed_pass(&k->feed);
	}
}

static bool on_alloc(struct kde_import *k, uint32_t number, struct err *err) {
	struct kde_info *info = &k->infos.items[k->infos.items[number].same];
	k->last_info = number;
	uint32_t block = k->unused_block;
	if (block != KDE_NO_BLOCK) {
		k->unused_block = k->next_block.items[block];
		__builtin_prefetch(&k->next_block.items[k->unused_block], 1); // needed soon
	} else {
		if (k->next_block.n == UINT32_MAX) {
			return err_memory(err);
		}
		block = (uint32_t)k->next_block.n;
		(void)vec_push(&k->next_block);
	}
	k->next_block.items[block] = info->newest;
	info->newest = block;
	k->live_bytes += info->size;
	add_event(k, TRACE_ALLOC, block, info->size, info->node);
	return true;
}

static void on_free(struct kde_import *k, uint32_t number) {
	struct kde_info *info = &k->infos.items[k->infos.items[number].same];
	bool is_temporary = k->last_info == number;
	k->last_info = 0;
	uint32_t block = info->newest;
	uint64_t ptr = TRACE_UNKNOWN_PTR;
	if (block != KDE_NO_BLOCK) {
		info->newest = k->next_block.items[block];
		k->next_block.items[block] = k->unused_block;
		k->unused_block = block;
		k->live_bytes -= info->size;
		ptr = block;
	}
	add_event(k, TRACE_FREE, ptr, is_temporary, 0);
}

/** A block that is freed at once, as most are: its number remains the next unused one. */
static void on_blink(struct kde_import *k, uint32_t number) {
	const struct kde_info *info = &k->infos.items[number];
	k->last_info = 0;
	add_event(k, TRACE_ALLOC, k->unused_block, info->size, info->node);
	add_event(k, TRACE_FREE, k->unused_block, true, 0);
}

static uint32_t known_node(const struct kde_import *k, uint64_t node) {
	return node < k->nodes.n ? (uint32_t)node : 0;
}

static bool add_info(struct kde_import *k, const struct heaptrack_record *r, struct err *err) {
	struct kde_info info = {.same = (uint32_t)k->infos.n};
	if (!r->is_bad) {
		info.size = r->numbers[0];
		info.node = known_node(k, r->numbers[1]);
	}
	uint64_t hash = hash_u64(info.size ^ (uint64_t)info.node << 33);
	info.same = INDEX_FIND_OR_ADD(&k->info_index, hash, i,
			k->infos.items[i].size == info.size && k->infos.items[i].node == info.node, info.same);
	return (k->infos.n < UINT32_MAX && vec_add(&k->infos, info)) || err_memory(err);
}

/** Drop half of the samples, the smaller one of each pair. */
static void thin_samples(struct kde_import *k) {
	size_t n = 0;
	for (size_t i = 0; i + 1 < k->samples.n; i += 2) {
		const struct rec_sample *s = &k->samples.items[i];
		k->samples.items[n++] = s[0].rss_bytes >= s[1].rss_bytes ? s[0] : s[1];
	}
	k->samples.n = n;
	k->sample_ms = k->time_ms / n + 1;
}

/** R: resident pages. Before 1.2.0 too many: decimal was read as hexadecimal; shown as by KDE. */
static void on_resident(struct kde_import *k, uint64_t pages) {
	uint64_t bytes = pages * k->out->meta.page_bytes;
	if (bytes > k->peak_rss_bytes) {
		k->peak_rss_bytes = bytes;
		k->peak_rss_ms = k->time_ms;
	}
	if (has_addresses(k)) {
		feed_drain(&k->feed);
		k->live_bytes = aggregate_now(k->feed.aggregate).live_bytes;
	}
	struct rec_sample sample = {
			.time_ns = k->time_ms * 1000000,
			.rss_bytes = bytes,
			.heap_bytes = k->live_bytes,
	};
	size_t n = k->samples.n;
	if (n && sample.time_ns < k->samples.items[n - 1].time_ns + k->sample_ms * 1000000) {
		struct rec_sample *last = &k->samples.items[n - 1];
		*last = last->rss_bytes >= bytes ? *last : sample;
		return;
	}
	(void)vec_add(&k->samples, sample);
	if (k->samples.n == KDE_SAMPLES) {
		thin_samples(k);
	}
}

/** A: heaptrack was attached here; earlier events do not count. */
static void on_attached(struct kde_import *k) {
	feed_drain(&k->feed);
	aggregate_destroy(k->feed.aggregate);
	k->feed.aggregate = kde_aggregate();
	set_rules(k, k->feed.aggregate);
	k->out->meta.was_attached = true;
	k->live_bytes = 0;
	k->peak_rss_bytes = 0;
	for (size_t i = 0; i < k->infos.n; i++) {
		k->infos.items[i].newest = KDE_NO_BLOCK;
	}
	k->next_block.n = 1;
	k->unused_block = KDE_NO_BLOCK;
}

/** A free in a file with addresses. An allocation with one number there is damage. */
static void on_address(struct kde_import *k, const struct heaptrack_event *e) {
	bool is_temporary = e->number == k->last_ptr;
	k->last_ptr = 0;
	if (e->is_free) {
		add_event(k, TRACE_FREE, e->number, is_temporary && !k->is_raw, 0);
	}
}

bool kde_events(void *user, const struct heaptrack_event *events, size_t n, struct err *err) {
	struct kde_import *k = user;
	bool by_address = has_addresses(k), ok = true;
	if (by_address || k->infos.n) {
		begin_events(k);
	}
	for (size_t i = 0; ok && i < n; i++) {
		uint64_t number = events[i].number;
		if (!by_address && i + KDE_AHEAD < n) {
			uint64_t soon = events[i + KDE_AHEAD].number;
			__builtin_prefetch(&k->infos.items[soon < k->infos.n ? soon : 0], 1);
		}
		if (by_address) {
			on_address(k, &events[i]);
		} else if (number >= k->infos.n) {
			continue;
		} else if (i + 1 < n && !events[i].is_free && events[i + 1].is_free &&
				events[i + 1].number == number && k->unused_block != KDE_NO_BLOCK) {
			on_blink(k, (uint32_t)number);
			i++;
		} else if (events[i].is_free) {
			on_free(k, (uint32_t)number);
		} else {
			ok = on_alloc(k, (uint32_t)number, err);
		}
	}
	return ok;
}

/** + or -, in any kind of file. */
static bool on_event(struct kde_import *k, const struct heaptrack_record *r, struct err *err) {
	if (r->is_bad) {
		return true;
	}
	if (r->n == 3 && has_addresses(k)) {
		// Raw files, and those before format 1, have address, size and stack in each event
		begin_events(k);
		k->last_ptr = r->numbers[2];
		add_event(k, TRACE_ALLOC, r->numbers[2], r->numbers[0], known_node(k, r->numbers[1]));
		return true;
	}
	return kde_events(k, &(struct heaptrack_event){*r->numbers, r->kind == '-'}, 1, err);
}

bool kde_event(struct kde_import *k, const struct heaptrack_record *r, struct err *err) {
	switch (r->kind) {
	case '+':
	case '-': return on_event(k, r, err);
	case 'a': return add_info(k, r, err);
	case 'c':
		// A smaller one is damage
		k->time_ms = !r->is_bad && r->numbers[0] > k->time_ms && r->numbers[0] < UINT32_MAX * 64ull
				? r->numbers[0]
				: k->time_ms;
		return true;
	case 'R':
		if (!r->is_bad) {
			on_resident(k, r->numbers[0]);
		}
		return true;
	default: on_attached(k); return true;
	}
}
