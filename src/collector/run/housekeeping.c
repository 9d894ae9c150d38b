// SPDX-License-Identifier: MIT
/* The work between two rounds of events, from samples to checkpoints. */
#include "collector/run/parts.h"

enum {
	CHECKPOINT_GAP_NS = 1000000000,
	CHECKPOINT_GAP_MIN_NS = 300000000,
	AGE_MAX_NS = 1900000000,       // figures in the file are at most 2 s old,
	LARGE_AGE_MAX_NS = 4500000000, // or 5 s
	LARGE_NODES = 500000,          // above that many nodes, and in a tree of processes
	CHECKPOINT_COST = 100,         // checkpoints take a 100th of the time, if that is soon enough
	CLOCK_GAP_NS = 1000000000,
	END_WAIT_BYTES = 20
			<< 20,           // for so much RSS the program's end waits a ms more for the last look,
	END_WAIT_MOST_MS = 1000, // but never longer than this
};

static void announce(void *user, uint32_t id, const struct wire_module *module) {
	struct run *run = user;
	modules_add(&run->modules, id, module);
	if (module->kind == MODULE_FILE) {
		own_heaps_meet(&run->own_heaps, module->path, false);
		units_meet(&run->units, run->modules.files.items[id].fd, run->modules.files.items[id].path,
				module);
	}
}

void run_take_modules(struct run *run) {
	if (!run->tree) {
		tries_poll_modules(&run->tries, announce, run);
	}
}

/**
 * From one checkpoint's start to the next's. Its figures are the newest until the next is written,
 * which takes about as long again; twice the wall time leaves a reserve. Their CPU time decides how
 * rare they are: on a busy machine, the rest of the wall time is waiting. The states of
 * a tree are large, with rows for each process, most of which are final.
 */
static uint64_t checkpoint_gap_ns(const struct run *run, struct keeper_cost cost) {
	bool is_large = run->tree || run->tries.n_nodes > LARGE_NODES;
	uint64_t age_ns = is_large ? LARGE_AGE_MAX_NS : AGE_MAX_NS;
	uint64_t longest_ns = CHECKPOINT_GAP_MIN_NS;
	if (age_ns > 2 * cost.wall_ns + longest_ns) {
		longest_ns = age_ns - 2 * cost.wall_ns;
	}
	uint64_t gap_ns = cost.cpu_ns * CHECKPOINT_COST;
	gap_ns = gap_ns < CHECKPOINT_GAP_NS ? CHECKPOINT_GAP_NS : gap_ns;
	return gap_ns > longest_ns ? longest_ns : gap_ns;
}

static void keep(struct run *run) {
	uint64_t n_events = order_counts(run->order).events;
	if (run->now_ns < run->next_checkpoint_ns || !keeper_is_ready(run->keeper) ||
			(n_events == run->last_events && run->last_events > 0 && !namer_pending(run->names))) {
		return;
	}
	uint64_t start_ns = clock_now_ns(), start_cpu_ns = clock_thread_cpu_ns();
	struct recording *r = run_state(run, false);
	struct keeper_cost cost = keeper_cost(run->keeper);
	keeper_give(run->keeper, r);
	cost.wall_ns += clock_now_ns() - start_ns;
	cost.cpu_ns += clock_thread_cpu_ns() - start_cpu_ns;
	run->next_checkpoint_ns = run->now_ns + checkpoint_gap_ns(run, cost);
	run->last_events = n_events;
}

/** If the kernel no longer trusts the clock that orders events, count stamps instead. */
static void look_at_clock(struct run *run) {
	_Atomic uint32_t *stamps = &run->segment.common->stamps;
	if (run->now_ns < run->next_clock_ns || atomic_load(stamps) != STAMPS_CLOCK) {
		return;
	}
	run->next_clock_ns = run->now_ns + CLOCK_GAP_NS;
	if (!clock_has_stamps()) {
		atomic_store(stamps, STAMPS_COUNTED);
		run_say(run,
				"the kernel marked the processor's clock (TSC) as unstable: until now the order "
				"of events across threads, and so the peak, may be wrong");
	}
}

void run_note_own_heap(void *user, const char *module, const char *functions, uint32_t n,
		const char *why) {
	struct run *run = user;
	const struct rec_allocator a = {
			.module = texts_id_of(&run->texts, module),
			.functions = texts_id_of(&run->texts, functions),
			.why = texts_id_of(&run->texts, why),
			.n_functions = n,
	};
	(void)vec_add(&run->allocators, a);
	if (run->n_collectors < (unsigned)run->own_heaps.has_collector + run->own_heaps.has_go) {
		run->collectors[run->n_collectors++] = a; // just met
	}
}

static void look_for_own_heaps(struct run *run) {
	uint32_t exec = atomic_load(&run->segment.header->exec);
	bool is_preloaded = run->recorder && exec != EXEC_SEIZED && exec != EXEC_INJECTED;
	own_heaps_look(&run->own_heaps, run->program, is_preloaded, run->samples.code_bytes,
			run->now_ns);
}

/** Which look is due; REC_ATS: none. */
static enum rec_look_at look_at_rss(struct run *run) {
	if (!run->records_mappings || run->samples.n == 0) {
		return REC_ATS;
	}
	uint64_t rss_bytes = run->samples.items[run->samples.n - 1].rss_bytes;
	uint64_t wait_ms = RUN_END_WAIT_MS + rss_bytes / END_WAIT_BYTES;
	_Atomic uint32_t *most_ms = &run->segment.header->end_wait_ms;
	if (atomic_load(most_ms) > 0 && !run->options->leaks) {
		atomic_store(most_ms, wait_ms < END_WAIT_MOST_MS ? (uint32_t)wait_ms : END_WAIT_MOST_MS);
	}
	bool is_searched = run->old_heap.snapshot != 0; // old blocks will be known soon
	enum rec_look_at at;
	return !is_searched && looks_want(&run->looks, rss_bytes, run->now_ns, &at) ? at : REC_ATS;
}

enum rec_look_at run_housekeep(struct run *run, bool is_idle) {
	struct err err;
	enum rec_look_at due = REC_ATS;
	look_at_clock(run);
	unseen_take(&run->unseen);
	run_take_modules(run);
	run_look_at_threads(run);
	run_look_at_program(run);
	if (run->tree) {
		run_tree_see_ends(run);
	}
	if (run->now_ns >= run->samples.next_ns) {
		if (samples_take(&run->samples, run->program, run->now_ns, is_idle,
					aggregate_now(run_aggregate(run)).live_bytes, &run->segment) &&
				run->tree) {
			run_tree_sample(run);
		}
		ending_look(&run->ending, run->program, run->now_ns);
		if (run->exec_why == REC_WHY_NONE && atomic_load(&run->segment.header->n_images) == 0) {
			// No image has announced itself, and maybe none will
			(void)reason_presence(&run->children.reason, run->program, &run->exec_why);
		}
		look_for_own_heaps(run);
		due = look_at_rss(run);
	}
	if (run->records_mappings && ending_is_near(&run->ending, run->now_ns)) {
		due = REC_AT_TRIGGER;
	}
	uint64_t every_ns = run->options->leaks_every_ns;
	if (every_ns > 0 && run->now_ns / every_ns > run->n_leaks && run_may_scan(run)) {
		run->n_leaks = run->now_ns / every_ns;
		due = REC_AT_REQUEST;
	}
	if (run->samples.seccomp_mode == 1) {
		atomic_store(&run->segment.header->no_syscalls, 1);
	}
	if (run->samples.seccomp_mode > 1) {
		run_note_sandbox(run);
	}
	for (pid_t pid; (pid = watch_take_visitor(run->watch)) != 0;) {
		children_note(&run->children, pid);
	}
	children_take(&run->children, run->segment.header, !run->exec_watch.is_told && !run->join,
			run->now_ns);
	if (run->join) {
		run->join(run);
	}
	units_step(&run->units, &run->tries, run->names, run->now_ns);
	namer_step(run->names, &run->tries, run->now_ns, false);
	jit_step(&run->jit, &run->tries, run->names, run->now_ns, false);
	run_take_old_blocks(run, false);
	keep(run);
	if (keeper_failure(run->keeper, &err)) {
		run_say(run, "cannot update the file now; recording continues: %s", err.text);
	}
	if (control_asked(run->control) == CONTROL_STATUS) {
		control_answer(run->control, run_put_status, run);
	}
	return due;
}
