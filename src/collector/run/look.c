// SPDX-License-Identifier: MIT
/*
 * Looks at the program's memory, and what points to its live blocks (--leaks).
 *
 *   stop the program at a moment when all that it has done is known
 *   copy it, and let it go on; at its end it waits instead
 *   a scanner (looks/graph.c), forked now, reads the copy, while events are digested again
 *   when it has ended, the look has its grades, and the copy is dropped
 */
#include "collector/run/parts.h"
#include "engine/memory.h"

enum {
	LAST_ROUNDS_NS = 20000000, // for events before the look at the end: other threads may go on
	LOOK_ROUNDS = 10,          // without any, before another look
};

static const uint64_t scan_most_ns = (RUN_LEAKS_WAIT_MS - RUN_LEAKS_WAIT_MS / 30) * 1000000ull;
static const uint64_t last_scan_ns = RUN_LEAKS_WAIT_MS / 3 * 1000000ull; // for which the end waits

static bool is_attached(const struct run *run) {
	return run->meta.source == REC_ATTACHED;
}

/** The heap walk only knows glibc's blocks. */
static bool has_unknown(const struct run *run, const struct rec_allocator *it) {
	const char *module = (const char *)run->texts.items[it->module].data;
	bool is_other = it > run->allocators.items || !find_is_libc(module);
	return it->why || (is_attached(run) && run->allocators.n > 1 && is_other);
}

/** Are all live blocks known? False: `err` says why not. */
static bool has_all_blocks(const struct run *run, struct err *err) {
	char old[QUALITY_OLD_MAX];
	const struct rec_allocator *other = FIND_IN(it, run->allocators, has_unknown(run, it));
	if (is_attached(run) && run->meta.old_unknown != REC_OLD_KNOWN) {
		return err_unsupported(err, "%s", quality_why_old(&run->meta, old));
	}
	if (other) {
		return err_unsupported(err, "blocks of %.*s are not known",
				SLICE_ARG(run->texts.items[other->module]));
	}
	return (run->old_heap.snapshot == 0 && run_lost_events(run) == 0) ||
			err_unsupported(err, "not all blocks that live are known");
}

/** The stacks of the threads that allocated. Their slots are the program's memory. */
static struct parts_thread *find_stacks(const struct run *run) {
	struct parts_thread *threads = memory_new(run->threads.n + 1, sizeof *threads);
	for (size_t i = 0; i < run->threads.n; i++) {
		const struct thread_slot *slot = segment_slot(&run->segment, run->threads.items[i].slot);
		threads[i] = (struct parts_thread){.sp = slot->stack_at,
				.fs_base = slot->thread_area,
				.tid = run->threads.items[i].tid};
	}
	return threads;
}

static struct looks_known known_of(struct run *run, const struct parts_thread *threads,
		bool has_all) {
	unseen_take(&run->unseen);
	struct err err;
	return (struct looks_known){
			.in = {.blocks = run_aggregate(run),
					.mappings = run->mappings,
					.before = run->before.n > 0 ? &run->before : NULL,
					.seen = run->unseen.items,
					.n_seen = run->unseen.n,
					.threads = threads,
					.n_threads = threads ? run->threads.n : 0,
					.knows_all_blocks = has_all && has_all_blocks(run, &err)},
			.limit_bytes = run->ending.limit_bytes,
			.texts = &run->texts,
			.modules = &run->modules,
			.tries = &run->tries,
	};
}

static bool keep_look(struct run *run, struct view *view, enum rec_look_at at, bool has_all) {
	FREED struct parts_thread *threads = find_stacks(run);
	const struct looks_known known = known_of(run, threads, has_all);
	bool had_unseen = run->looks.has_unseen;
	unseen_name(&run->unseen, &view->areas);
	bool ok = looks_add(&run->looks, view, &known, run->program, at, run->now_ns);
	if (run->looks.has_unseen && !had_unseen) {
		unseen_ask_for_code(&run->unseen);
	}
	return ok;
}

static int open_memory(pid_t pid) {
	return open(PROCESS_PATH(pid, "mem"), O_RDONLY | O_CLOEXEC);
}

static bool read_view(struct run *run, struct view *view) {
	CLOSED int memory = open_memory(run->program);
	bool ok = view_read(view, run->program, memory, &run->ending.group, run->segment.header->own);
	run->looks_refused += view->is_refused;
	struct units *u = &run->units;
	bool is_python = u->candidate.n_ranges > 0 && !u->why;
	struct python_types types = {is_python ? &u->candidate : NULL, u->v8.memory, &run->texts, {0}};
	if (ok) {
		nim_put_types(&u->nim, &types);
	}
	if (ok && (is_python || types.known.n > 0)) {
		types_read(view, run_aggregate(run), &types);
	}
	return ok;
}

// ---- a stopped program

/** Its threads, and what the kernel keeps for it. */
struct held {
	int threads; // a file of struct graph_thread
	struct kept kept;
};

/**
 * Is everything known that the stopped program did? Not if a thread has yet to write it down, or is
 * resizing a block, which has no address then. Others may be inside an allocation function: a block
 * that was not returned yet holds nothing.
 */
static bool is_settled(struct run *run) {
	enum { WITHIN_NS = 1000000000, IDLE = 10 };
	if (!run_drain_all(run, WITHIN_NS, IDLE)) {
		return false;
	}
	const struct aggregate *blocks = run_aggregate(run);
	return ALL(i, run->threads.n, !aggregate_has_pending(blocks, run->threads.items[i].id));
}

/** Stop it at such a moment. All go on before a new try: a stopped thread may hold a lock. */
static int stop_settled(struct run *run, struct err *err) {
	enum { TRIES = 200, PAUSE_NS = 500000 };
	for (unsigned i = 0; i < TRIES; i++) {
		int fd = guardian_hold(&run->guardian, run->program, err);
		if (fd < 0 || is_settled(run)) {
			return fd;
		}
		file_close(fd);
		guardian_release(&run->guardian);
		clock_sleep_ns(PAUSE_NS);
		run_drain(run);
	}
	(void)err_unsupported(err, "a thread stays in realloc");
	return -1;
}

/** `held` has no threads yet; finish it in any case. False: `err` says why the program goes on. */
static bool hold(struct run *run, struct held *held, struct err *err) {
	if (run->guardian.pid == 0) {
		return err_unsupported(err, "the program cannot be stopped");
	}
	if (!has_all_blocks(run, err)) {
		return false;
	}
	kept_find(&held->kept, run->program);
	held->threads = stop_settled(run, err);
	kept_read(&held->kept, run->program);
	return held->threads >= 0;
}

// ---- its copy

/** How much the program's control group can still take. */
static uint64_t left_bytes(const struct run *run) {
	uint64_t limit = run->ending.limit_bytes;
	uint64_t used = limit > 0 ? cgroup_memory_used(&run->ending.group, 0) : 0;
	return limit == 0 ? UINT64_MAX : used < limit ? limit - used : 0;
}

bool run_has_room(const struct run *run, const struct smaps *areas, struct err *err) {
	uint64_t limit = run->ending.limit_bytes, left = left_bytes(run);
	uint64_t bytes = SUM(i, areas->n, areas->items[i].anonymous_bytes);
	return bytes + bytes / 5 < left ||
			err_limit(err,
					"a copy of the program may take up to %s, and its control group has %s left "
					"of %s",
					HUMAN_BYTES(bytes + bytes / 5), HUMAN_BYTES(left), HUMAN_BYTES(limit));
}

/** `held` as from hold(). 0: `err` says why there is no copy. */
static pid_t copy(struct run *run, const struct view *view, struct held *held, struct err *err) {
	const struct segment_header *h = run->segment.header;
	const struct injector_room room = {atomic_load(&h->errand_at), atomic_load(&h->errand_code),
			ANY(i, view->areas.n, view->areas.items[i].is_left_out)};
	run->look_pause_ns = 0;
	return !run_has_room(run, &view->areas, err) || !hold(run, held, err)
			? 0
			: guardian_copy(&run->guardian, &room, &run->look_pause_ns, err);
}

// ---- what points to live blocks

void run_say_ungraded(struct run *run, const char *why) {
	if (strcmp(run->why_ungraded, why) != 0) {
		(void)snprintf(run->why_ungraded, sizeof run->why_ungraded, "%s", why);
		run_say(run, "what points to live blocks is not known: %s", why);
	}
}

/** Let `pid` be read: the program, or its copy, with the program as just before (`running`). */
static bool scan(struct run *run, const struct held *held, pid_t pid, const struct view *running,
		struct err *err) {
	run_take_modules(run);
	struct looks_known known = known_of(run, NULL, true);
	if (!has_all_blocks(run, err)) { // by what came before it stopped
		return false;
	}
	known.has_old = is_attached(run);
	CLOSED int memory = open_memory(pid);
	const struct scan scan = {
			.program = run->program,
			.pid = pid,
			.memory = memory,
			.running = running,
			.own = run->segment.header->own,
			.known = &known,
			.threads = held->threads,
			.kept = &held->kept,
	};
	run->scan_until_ns = clock_now_ns() + scan_most_ns;
	return scanner_start(&run->scanner, &scan, err);
}

/** Scan this moment. `running`: as just before, to be copied; NULL: the program waits. */
static void begin_scan(struct run *run, const struct view *running) {
	struct held held = {.threads = -1};
	struct err err = {0};
	pid_t pid = running              ? copy(run, running, &held, &err)
			: hold(run, &held, &err) ? run->program
									 : 0;
	if (pid == 0 || !scan(run, &held, pid, running, &err)) {
		run_say_ungraded(run, err.text);
		if (held.threads >= 0) {
			guardian_release(&run->guardian);
		}
	}
	file_close(held.threads);
	CALL_FOR(vec_finish, &held.kept, files, words);
}

static bool is_over(const struct run *run, bool waits) {
	uint64_t now_ns = clock_now_ns();
	uint64_t left_ns = run->scan_until_ns > now_ns ? run->scan_until_ns - now_ns : 0;
	return scanner_has_ended(&run->scanner, waits ? left_ns : 0) || left_ns == 0;
}

/** Of blocks from before an attach, the scanner only knows sizes. */
static void name_old(struct run *run, struct graded *graded) {
	EACH_THAT(row, graded->grades, row->stack == GRAPH_OLD) {
		const uint64_t bytes = memory_is_unreachable(row->grade) ? row->bytes / row->blocks : 0;
		row->stack = run_old_stack(run, bytes, false);
	}
	EACH_THAT(h, graded->holders, h->kind == REC_HOLDER_BLOCKS && h->stack >= GRAPH_OLD) {
		h->stack = run_old_stack(run, h->bytes / h->blocks, true);
	}
}

void run_take_grades(struct run *run, bool waits) {
	enum { SMALL = 10 }; // part of the group's limit that is left: the copy's end comes too late
	struct graded graded = {0};
	struct err err;
	bool is_full = run->scanner.pid != 0 && left_bytes(run) < run->ending.limit_bytes / SMALL;
	if (run->scanner.pid == 0 || !(is_full || is_over(run, waits))) {
		return;
	}
	run->why_ungraded[0] = '\0';
	(void)err_limit(&err, is_full ? "its control group was nearly full" : "it takes too long");
	if (scanner_finish(&run->scanner, &graded, &run->texts, &err)) {
		name_old(run, &graded);
		looks_take_graded(&run->looks, run->asked_look_ns, &graded);
		run->last_events = run->next_checkpoint_ns = 0;
	} else {
		run_say_ungraded(run, err.text);
		CALL_FOR(vec_finish, &graded, grades, classes, holders);
	}
	guardian_release(&run->guardian);
	if (run->is_scan_asked) {
		run->is_scan_asked = false;
		control_answer(run->control, run_put_look, run);
	}
}

// ---- looks

bool run_look(struct run *run, enum rec_look_at at) {
	SCOPED(view) view = {0};
	bool is_asked = at == REC_AT_REQUEST || at == REC_AT_DETACH;
	bool ok = run->records_mappings && read_view(run, &view);
	if (ok) { // else nobody mapped what came just before
		(void)run_drain_all(run, LAST_ROUNDS_NS, LOOK_ROUNDS);
	}
	if (ok && is_asked && run->options->leaks && run->scanner.pid == 0) {
		begin_scan(run, &view);
		run->is_graded |= at == REC_AT_DETACH || run->only_looks;
	}
	if (ok) {
		view_take_rss(&view, run->program);
		ok = keep_look(run, &view, at, true);
		run->asked_look_ns = is_asked ? run->now_ns : run->asked_look_ns;
	}
	if (at == REC_AT_REQUEST || at == REC_AT_TRIGGER) {
		run->last_events = 0; // it shall be in the file soon, even if nothing else happens
		run->next_checkpoint_ns = 0;
	}
	return ok;
}

/** The program waits for the scanner: that is not its own time. */
static void wait_at_end(struct run *run) {
	uint64_t start_ns = clock_now_ns();
	if (run->scanner.pid > 0) {
		(void)is_over(run, true);
		run->segment.start_ns += clock_now_ns() - start_ns;
	}
}

void run_answer_look(struct run *run) {
	bool is_for_program = segment_state(&run->segment) == SEGMENT_LOOKING ||
			control_asked(run->control) != CONTROL_LOOK; // it just gave up
	bool ok = run_look(run, REC_AT_REQUEST);
	run->is_scan_asked = ok && !is_for_program && run->scanner.pid > 0;
	if (is_for_program) {
		(void)segment_let_go_on(&run->segment, SEGMENT_LOOKING);
	} else if (!run->is_scan_asked) {
		control_answer(run->control, ok ? run_put_look : run_put_no_look, run);
	}
}

/** The program waits at its end only until it was read: joining comes later. */
void run_look_at_end(struct run *run) {
	SCOPED(view) view = {0};
	LOWER_TO(run->scan_until_ns, clock_now_ns() + last_scan_ns);
	wait_at_end(run);
	run_take_grades(run, true);
	bool has_all = run_drain_all(run, LAST_ROUNDS_NS, LAST_ROUNDS_NS / RUN_PAUSE_NS);
	run_take_modules(run);
	run->units.is_last = true;
	units_step(&run->units, &run->tries, run->names, run->now_ns); // they are read in its memory
	bool is_read = read_view(run, &view);
	if (run->options->leaks) {
		begin_scan(run, NULL);
		run->is_graded = true;
	}
	if (run->scanner.pid > 0) {
		wait_at_end(run);
		guardian_release(&run->guardian);
	}
	atomic_store(&run->segment.header->end_wait_ms, 0); // it is looked at once
	if (segment_let_go_on(&run->segment, SEGMENT_ENDING) && is_read) {
		(void)keep_look(run, &view, run->options->leaks_before_exit ? REC_AT_REQUEST : REC_AT_END,
				has_all);
	}
	run->asked_look_ns = run->now_ns;
	run_take_grades(run, true);
}
