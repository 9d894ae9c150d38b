// SPDX-License-Identifier: MIT
/*
 * Attaches to a running program, and undoes an attach that was interrupted.
 *
 *   heaptrack                 guardian                    program
 *      │ start, look at it ──────►│ checks only              │
 *      │ memory ─────────────────►│ stops one thread ───────►│ maps the resident, makes a memfd
 *      │ fills it in              │                          │
 *      │ attach ─────────────────►│ stops all ──────────────►│ maps the memfd, is patched
 *      │ records                  │ looks for new libraries  │
 *      │ detach ─────────────────►│ stops all ──────────────►│ is as it was
 *      │ takes the rest, writes   │                          │
 */
#include "collector/start/steps.h"

static bool prepare(struct run *run, struct err *err) {
	char folder[4096];
	const char *recorder = launch_find(RECORDER_INJECTED, &run->arena, err);
	if (!recorder || !guardian_start(&run->guardian, recorder, NULL, err)) {
		return false;
	}
	const bool is_tree = run->options->children;
	if (!is_tree) {
		guardian_await(&run->guardian, run->program, INJECTOR_RUNNING);
	}
	if (!(is_tree ? run_make_segment(run, 0, -1, err) &&
								guardian_token(&run->guardian, run->program, run->segment.token,
										NULL, NULL, err)
				  : guardian_awaited(&run->guardian, &run->program_inside, err) &&
								run_make_injected_segment(run, err)) ||
			!running_prepare(run, err)) {
		return false;
	}
	run->meta.source = REC_ATTACHED;
	if (process_link(run->program, "cwd", folder, sizeof folder)) {
		run->meta.cwd = texts_id_of(&run->texts, folder);
	}
	return true;
}

// ---- the program's descendants

/** The program that the process runs now, as a number. 0: it is gone. */
static uint64_t what_runs(pid_t pid) {
	struct process_exe exe;
	return process_exe(pid, &exe) ? (exe.stack ^ exe.inode << 20 ^ exe.device << 40) | 1 : 0;
}

/** It goes on unrecorded, listed as a child. What it was recorded as before an exec is gone. */
static void note_refused(struct run *run, pid_t pid, const struct err *why) {
	struct child *child = FIND_IN(c, run->children, (pid_t)c->pid == pid && !c->is_gone);
	struct member **member = FIND_IN(m, run->members, (*m)->pid == pid);
	if (child && (child->why == REC_WHY_PARENT || child->why == REC_WHY_RIGHTS)) {
		child->why = REC_WHY_REFUSED;
	}
	if (member) {
		run_tree_exec(*member);
	}
	run->n_refused++;
	run_say(run, "process %d (%s) is not recorded: %s", (int)pid, child ? child->name : "?",
			why->text);
}

/** Once for each program that it executes. */
static void join(struct run *run, pid_t pid) {
	const uint64_t now = what_runs(pid);
	struct err err = {0};
	if (now == 0 || map_get(&run->tried, (uint64_t)pid) == now || cells_has(run->cells, pid) ||
			run->end.time_ns > 0 || watch_has_ended(run->watch, NULL)) {
		return;
	}
	if (guardian_token(&run->guardian, pid, run->segment.token, run_drain, run, &err) &&
			guardian_attach(&run->guardian, 0, run_drain, run, &err)) {
		struct injector_report r = {0};
		(void)run_note_hooks(run, false, &r);
		RAISE_TO(run->longest_pause_ns, r.longest_pause_ns);
		run->n_joined++;
	} else if (err.code != ERR_LATER && what_runs(pid) == now) {
		note_refused(run, pid, &err);
	}
	(void)(err.code != ERR_LATER && map_put(&run->tried, (uint64_t)pid, now));
}

/** A copy of a recorded process will soon ask for its cell itself. */
static bool is_on_its_way(const struct run *run, const struct child *child) {
	enum { SOON_NS = 300000000 };
	return child->is_fork && child->start_ticks >= process_start_ticks(run->guardian.pid) &&
			clock_wall_ns() < process_start_wall_ns((pid_t)child->pid) + SOON_NS;
}

static void join_tree(struct run *run) {
	const bool is_new = run->children.last_ns == run->now_ns;
	for (size_t i = 0; i < run->members.n; i++) { // some may come meanwhile
		struct member *m = run->members.items[i];
		if (m->cell->fork && !m->is_told) {
			guardian_adopt(&run->guardian, m->pid);
			m->is_told = true;
		}
		join(run, m->pid); // if it execed
	}
	for (size_t i = 0; is_new && i < run->children.n; i++) {
		const struct child *child = &run->children.items[i];
		const bool has_failed = child->is_announced && child->is_fork; // to join by itself
		if (child->pid != 0 && !child->is_gone && !has_failed && !is_on_its_way(run, child)) {
			join(run, (pid_t)child->pid);
		}
	}
}

static void join_descendants(struct run *run) {
	uint32_t n;
	do {
		n = run->n_joined + run->n_refused;
		run->now_ns = clock_now_ns() - run->segment.start_ns;
		run->children.next_ns = 0;
		children_take(&run->children, run->segment.header, false, run->now_ns);
		join_tree(run);
	} while (run->n_joined + run->n_refused > n);
}

static bool start(struct run *run, const struct attach_options *attach, struct err *err) {
	struct watch_params params;
	if (!running_watch(run, &params, err)) {
		return false;
	}
	if (run->cells) { // their recorders ask at the door
		run->join = join_tree;
		run->meta.old_unknown = REC_OLD_TREE;
		run_open_door(run);
		return run_start_watch(run, params, err) &&
				(guardian_attach(&run->guardian, 0, run_drain, run, err) ||
						(watch_has_ended(run->watch, NULL) && err_unsupported(err, "interrupted")));
	}
	aggregate_expect_old_blocks(run_aggregate(run));
	(void)smaps_read(&run->before, run->program, "maps");
	units_expect(&run->units, &run->before, 1);
	if (!guardian_attach(&run->guardian, attach->max_pause_ns, run_drain, run, err)) {
		return false;
	}
	params.ends_ns = attach->duration_ns ? clock_now_ns() + attach->duration_ns : 0;
	return run_start_watch(run, params, err);
}

// ---- what the user is told

/** Note why existing blocks are unknown, if they are: for the file and the user. */
static void note_no_copy(struct run *run, enum injector_no_copy why, uint64_t max_pause_ns) {
	static const uint8_t whys[] = {[INJECTOR_COPIED] = REC_OLD_KNOWN,
			[INJECTOR_COPY_LATE] = REC_OLD_LATE,
			[INJECTOR_COPY_OFF] = REC_OLD_OFF,
			[INJECTOR_COPY_FAILED] = REC_OLD_REFUSED};
	char text[QUALITY_OLD_MAX];
	run->meta.old_unknown = whys[why];
	run->meta.max_pause_ns = max_pause_ns;
	if (run->meta.old_unknown) {
		run_say(run, "%s", quality_why_old(&run->meta, text));
	}
}

/** Say how long copies will stop the program, by its pages (docs/leaks.md). False: no room. */
static bool foretell(struct run *run, struct err *err) {
	enum { LEAST_US = 2000, PER_GB_US = 28000, HUGE_PER_GB_US = 1200, GB = 1000000000 };
	SCOPED(smaps) now = {0};
	if (!smaps_read(&now, run->program, "smaps")) {
		return true; // the attach is refused, and says why
	}
	const uint64_t bytes = SUM(i, now.n, now.items[i].anonymous_bytes);
	uint64_t huge = SUM(i, now.n, now.items[i].huge_bytes);
	LOWER_TO(huge, bytes);
	const uint64_t us = ((bytes - huge) * PER_GB_US + huge * HUGE_PER_GB_US) / GB;
	run_say(run,
			"reading %s of memory: the program will stand twice, for about %s each time, longer if "
			"processors are busy, and take up to %s more if it writes to all of it meanwhile",
			HUMAN_BYTES(bytes), HUMAN_DURATION((us > LEAST_US ? us : LEAST_US) * 1000),
			HUMAN_BYTES(bytes));
	ending_look(&run->ending, run->program, 0);
	return run_has_room(run, &now, err);
}

static void say_attached_to_tree(struct run *run, const struct injector_report *first) {
	char text[QUALITY_OLD_MAX];
	run->longest_pause_ns = first->longest_pause_ns;
	join_descendants(run);
	run_say(run, "%s", quality_why_old(&run->meta, text));
	run_say(run,
			"attached to process %d, %u functions hooked, and to %u of its descendants%s; each was "
			"stopped for at most %.2f ms; Ctrl+C detaches and leaves them running",
			(int)run->program, first->n_functions, run->n_joined,
			run->n_refused > 0 ? FORMAT(32, ", but not to %u", run->n_refused) : "",
			(double)run->longest_pause_ns / 1e6);
	run_say(run,
			"programs that they execute from now on are recorded from shortly after their start; "
			"those that end sooner are not recorded");
}

static void say_attached(struct run *run, uint64_t max_pause_ns) {
	struct injector_report r;
	if (!run_note_hooks(run, !run->only_looks, &r)) {
		return;
	}
	if (run->cells) {
		say_attached_to_tree(run, &r);
		return;
	}
	note_no_copy(run, r.no_copy, max_pause_ns);
	if (r.snapshot != 0) {
		run_say(run,
				"copied memory to find existing blocks: stopped for %.2f ms, not counted in the "
				"next line",
				(double)r.snapshot_ns / 1e6);
	}
	if (!run->only_looks) {
		run_say(run,
				"attached to process %d: %u functions hooked, %u thread%s stopped for %.2f ms; "
				"Ctrl+C detaches and leaves it running",
				(int)run->program, r.n_functions, r.n_threads, r.n_threads == 1 ? "" : "s",
				(double)r.longest_pause_ns / 1e6);
	}
	run_expect_old_blocks(run, r.snapshot);
}

static void say_detached(struct run *run) {
	struct injector_report r;
	char text[1];
	if (guardian_report(&run->guardian, &r, text, sizeof text)) {
		run_say(run,
				"detached: the program was stopped %u times, for %.2f ms in all, at most %.2f ms "
				"at a time; one thread for %.2f ms more",
				r.n_stops, (double)r.all_pause_ns / 1e6, (double)r.longest_pause_ns / 1e6,
				(double)r.one_pause_ns / 1e6);
	}
}

/** Nothing is left of processes that ended meanwhile. */
static void leave_tree(struct run *run) {
	struct err err = {0};
	run_drain(run);
	join_tree(run); // adopts the last copies, and attaches to nothing more
	if (!guardian_detach(&run->guardian, run_drain, run, &err)) {
		run_say(run, "%s", err.text);
	}
	run->end.time_ns = run->end.is_detached ? clock_now_ns() : run->end.time_ns;
	run_tree_see_ends(run);
	const size_t n = SUM(i, run->members.n, !run->members.items[i]->has_ended);
	run_say(run, "detached; %zu process%s on", n, n == 1 ? " goes" : "es go");
}

/** From here on, only threads still inside the recorder produce events. */
static void leave(struct run *run) {
	struct err err = {0};
	if (run->cells) {
		leave_tree(run);
		return;
	}
	(void)run_note_hooks(run, false, NULL); // with libraries loaded later
	if (run->end.is_detached) {
		if (!guardian_detach(&run->guardian, run_drain, run, &err)) {
			run_say(run, "%s", err.text);
		}
		run->end.time_ns = clock_now_ns();
		run->segment.is_lived_in = true;
		say_detached(run);
	}
	run_take_old_blocks(run, true);
}

// ---- all of it

bool attach_program(const struct run_options *options, const struct attach_options *attach,
		struct run_result *result, struct err *err) {
	struct run *run = running_create(options, attach->pid, result);
	run->leave = leave;
	run->only_looks = attach->only_looks;
	bool ok = (!run->only_looks || !options->leaks || foretell(run, err)) && prepare(run, err) &&
			start(run, attach, err);
	if (ok) {
		say_attached(run, attach->max_pause_ns);
		run->ends_ns = run->join && attach->duration_ns ? clock_now_ns() + attach->duration_ns : 0;
		run_loop(run);
		result->exit_status = 0;
		run_close(run, result);
	}
	run_destroy(run, result->was_recorded);
	return ok;
}

bool attach_check(const struct attach_options *attach, struct injector_check *out,
		struct err *err) {
	SCOPED(arena) arena = {0};
	*out = (struct injector_check){0};
	const char *recorder = launch_find(RECORDER_INJECTED, &arena, err);
	return recorder &&
			(attach->pid != 0
							? injector_check(attach->pid, recorder, attach->max_pause_ns, out, err)
							: injector_check_machine(true, err));
}

bool attach_repair(pid_t pid, bool *was_attached, struct err *err) {
	sigset_t all, before;
	(void)sigfillset(&all); // an interrupted repair would be worse than none
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	bool ok = injector_repair(pid, NULL, was_attached, err);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return ok;
}
