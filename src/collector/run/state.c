// SPDX-License-Identifier: MIT
/*
 * The recording as of now, as a snapshot: every table is copied, a few ms for 800,000 nodes, so
 * that the keeper's thread can encode it while the run's thread goes on.
 */
#include "collector/run/parts.h"

enum { ON_THEIR_WAY_NS = 1000000000 }; // newer events may still come

static void copy_tables(struct recording *r, const struct run *run) {
	const struct symbols_rows *frames = namer_frames(run->names);
	(void)RECORDING_PUT(r, strings, run->texts.items, run->texts.n);
	(void)RECORDING_PUT(r, modules, run->modules.records.items, run->modules.records.n);
	(void)RECORDING_PUT(r, locations, run->tries.locations, run->tries.n_locations);
	(void)RECORDING_PUT(r, frames, frames->items, frames->n);
	(void)RECORDING_PUT(r, nodes, run->tries.nodes, run->tries.n_nodes);
	(void)RECORDING_PUT(r, samples, run->samples.items, run->samples.n);
	(void)RECORDING_PUT(r, images, run->images.items, run->images.n);
	(void)RECORDING_PUT(r, allocators, run->allocators.items, run->allocators.n);
}

static void put_children(struct recording *r, struct run *run) {
	(void)RECORDING_ROOM(r, children, run->children.n);
	struct rec_child *row = r->children.items;
	EACH(c, run->children) {
		*row++ = (struct rec_child){
				FIELDS_OF(c, is_fork, peak_rss_bytes),
				.pid = c->pid ? c->pid : c->pid_inside,
				.name = texts_id_of(&run->texts, c->name),
				.exe = texts_id_of(&run->texts, c->exe),
				.why = (uint8_t)c->why,
		};
	}
}

/** The segment's marks. They are the program's memory: names may be unterminated, times wrong. */
static void put_marks(struct recording *r, struct run *run) {
	uint32_t n = atomic_load(&run->segment.header->n_marks);
	n = n < WIRE_N_MARKS ? n : WIRE_N_MARKS;
	r->marks.items = arena_new(&r->arena, struct rec_mark, n ? n : 1);
	EACH_OF(mark, run->segment.marks, n) {
		uint64_t time_ns = atomic_load_explicit(&mark->time_ns, memory_order_acquire);
		char name[WIRE_MARK_NAME];
		memcpy(name, mark->name, sizeof name);
		name[sizeof name - 1] = '\0';
		if (time_ns > 0) {
			r->marks.items[r->marks.n++] = (struct rec_mark){
					.time_ns = time_ns < run->now_ns ? time_ns : run->now_ns,
					.name = texts_id_of(&run->texts, name),
			};
		}
	}
	vec_sort(&r->marks, by_number);
}

uint64_t run_lost_events(const struct run *run) {
	struct order_counts counts = order_counts(run->order);
	const struct segment_header *h = run->segment.header;
	return counts.lost + counts.bad_entries + atomic_load(&h->lost_no_slot) +
			atomic_load(&h->lost_early);
}

static void put_quality(struct rec_quality *q, const struct run *run) {
	struct order_counts counts = order_counts(run->order);
	const struct segment_header *h = run->segment.header;
	q->lost_events += run_lost_events(run);
	q->truncated_stacks = counts.truncated;
	q->abandoned_hooks = counts.abandoned;
	q->runtime_mismatches = atomic_load(&run->segment.header->runtime_mismatches);
	q->skipped_numbers = counts.unpublished;
	struct children_counts children = children_counts(&run->children, h);
	q->children_forked += children.forked;
	q->children_executed += children.executed;
	uint32_t n_marks = atomic_load(&h->n_marks);
	q->marks_dropped = n_marks > WIRE_N_MARKS ? n_marks - WIRE_N_MARKS : 0;
	q->looks_refused = run->looks.items.n == 0 ? run->looks_refused : 0;
	q->detail_ends_ns = run->detail_ends_ns;
	q->recording_stopped_early = run->stopped_early;
	q->stopped_ns = run->stopped_early ? run->last_event_ns : 0;
}

// Sampled high-water marks may miss a run's end, and a short one. The kernel's account survives
// exec, so it includes the fork of heaptrack before: it is the program's only if higher. All these
// counts lag behind the pages themselves
static void put_peak_rss(struct rec_summary *summary, const struct run *run) {
	uint64_t account = run->end.max_rss_bytes;
	COPY_FIELDS(summary, &run->samples, peak_rss_bytes, peak_rss_time_ns);
	if (account > run->rss_before_exec && account > summary->peak_rss_bytes) {
		summary->peak_rss_bytes = account;
		summary->peak_rss_time_ns = run->now_ns;
	}
	if (run->looks.peak_bytes > summary->peak_rss_bytes) {
		summary->peak_rss_bytes = run->looks.peak_bytes;
		summary->peak_rss_time_ns = run->looks.peak_ns;
	}
}

static void put_process(struct recording *r, const struct run *run) {
	struct rec_summary *summary = &r->summary;
	summary->failed = order_counts(run->order).failed;
	if (recording_is_tree(r)) { // the rest, of one process, would say nothing of the others
		const struct rec_sample *most = MOST(s, r->samples, s->rss_bytes);
		if (most) {
			summary->peak_rss_bytes = most->rss_bytes;
			summary->peak_rss_time_ns = most->time_ns;
		}
		return;
	}
	put_peak_rss(summary, run);
	struct process_usage usage = run->end.usage;
	if (run->end.time_ns == 0 && !process_usage(run->program, &usage)) {
		return;
	}
	COPY_FIELDS(summary, &usage, minor_faults, major_faults);
	summary->user_cpu_ns = usage.user_ns;
	summary->system_cpu_ns = usage.system_ns;
}

static void put_meta(struct rec_meta *meta, struct run *run, bool is_last) {
	*meta = run->meta;
	meta->memory_limit_bytes = run->ending.limit_bytes;
	meta->written_ns = run->now_ns;
	meta->duration_ns = run->now_ns;
	meta->n_images = run->tree ? run->first.image : (uint32_t)run->images.n;
	if (run->end.time_ns > 0) {
		meta->duration_ns = run->end.time_ns - run->segment.start_ns;
		meta->ended = run->end.is_detached ? REC_DETACHED
				: run->end.is_signaled     ? REC_SIGNALED
										   : REC_EXITED;
		meta->exit_status = run->end.status;
		ending_judge(&run->ending, &run->end, run->now_ns, order_counts(run->order).failed, meta);
	}
	meta->is_complete = is_last;
}

struct recording *run_state(struct run *run, bool is_last) {
	struct recording *r = keeper_take(run->keeper);
	uint64_t coming_ns = is_last ? 0 : ON_THEIR_WAY_NS;
	uint64_t known_ns = run->now_ns - LOWER_TO(coming_ns, run->now_ns);
	aggregate_until(run_aggregate(run), known_ns);
	aggregate_snapshot(run_aggregate(run), run->now_ns, r);
	if (run->records_mappings || (run->tree && !run->options->no_memory)) {
		mappings_until(run->mappings, known_ns);
		mappings_snapshot(run->mappings, run->now_ns, r);
	}
	if (run->tree) {
		run_tree_put(run, r);
	}
	put_children(r, run);
	put_marks(r, run);
	copy_tables(r, run); // after those two, whose names may be new texts
	looks_put(&run->looks, r);
	// A module may be announced before the first event of its image is taken
	EACH(m, r->modules) {
		m->image = m->image < r->images.n ? m->image : r->images.n;
	}
	put_quality(&r->quality, run);
	put_process(r, run);
	// How far off the peak may be, because late events were missing before
	if (run->late_allocated_bytes > 0 || run->late_freed_bytes > 0) {
		uint64_t peak = r->summary.peak_bytes;
		r->summary.peak_low_bytes = peak -
				(run->late_freed_bytes < peak ? run->late_freed_bytes : peak);
		r->summary.peak_high_bytes = peak + run->late_allocated_bytes;
	}
	put_meta(&r->meta, run, is_last);
	return r;
}
