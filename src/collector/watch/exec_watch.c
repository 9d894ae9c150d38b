// SPDX-License-Identifier: MIT
/* Notices another program. Checks get rarer with its age: it is replaced early or hardly ever. */
#include "collector/watch/watch.h"

static const uint64_t look_gap_ns = 1000000, look_gap_max_ns = 20000000;
enum { LOOKS_PER_AGE = 50 };
static const uint64_t load_patience_ns = 10000000000u;

static bool is_same(const struct process_exe *a, const struct process_exe *b) {
	bool is_same_start = a->stack == b->stack || a->stack == 0 || b->stack == 0;
	return process_is_same_file(a, b) && is_same_start;
}

void exec_watch_init(struct exec_watch *w, const char *path, pid_t pid, bool is_running) {
	struct process_exe now;
	(void)snprintf(w->path, sizeof w->path, "%s", path);
	w->n_programs = 1;
	(void)process_exe_file(path, &w->exe);
	// In another root, that path is another file
	if (process_exe(pid, &now) && (is_running || is_same(&now, &w->exe))) {
		w->exe = now;
	}
}

static void begin(struct exec_watch *w, pid_t pid, const struct process_exe *exe, uint64_t now_ns) {
	memcpy(w->previous, w->path, sizeof w->previous);
	w->n_announced = w->n_last;
	w->n_programs++;
	w->exe = *exe;
	w->since_ns = now_ns;
	w->is_judged = w->is_told = false;
	w->presence = REASON_UNKNOWN;
	if (!process_link(pid, "exe", w->path, sizeof w->path)) {
		w->path[0] = 0;
	}
}

/**
 * If no image was announced since the previous program was last seen, this one is not recorded. An
 * image announced since, as the last, may be the previous program's, late.
 */
static bool is_unrecorded(const struct exec_watch *w, uint32_t n_images) {
	if (n_images <= w->n_announced) {
		return true;
	}
	if (strcmp(w->previous, w->path) == 0) {
		return n_images < w->n_programs; // both have the same modules, but not the same image
	}
	bool has_own = w->has_module(w->user, n_images, path_base_name(w->path));
	if (w->presence == REASON_ABSENT) {
		return !has_own; // unless the recorder was injected later
	}
	return w->n_last == n_images && w->previous[0] && !has_own &&
			w->has_module(w->user, n_images, path_base_name(w->previous));
}

static bool is_time(const struct exec_watch *w, uint32_t n_images, uint64_t now_ns) {
	uint64_t gap = (now_ns - w->since_ns) / LOOKS_PER_AGE;
	gap = gap < look_gap_ns || n_images != w->n_last ? look_gap_ns : gap;
	gap = gap < look_gap_max_ns ? gap : look_gap_max_ns;
	return now_ns - w->looked_ns >= gap;
}

enum exec_news exec_watch_look(struct exec_watch *w, pid_t pid, uint32_t n_images,
		uint64_t now_ns) {
	struct process_exe exe;
	if (!is_time(w, n_images, now_ns) || !process_exe(pid, &exe)) {
		return EXEC_NOTHING_NEW;
	}
	w->looked_ns = now_ns;
	if (!is_same(&exe, &w->exe)) {
		begin(w, pid, &exe, now_ns);
	}
	// The stack is unknown at first, when only the file is known, and during an exec
	w->exe.stack = exe.stack ? exe.stack : w->exe.stack;
	bool has_come = n_images > w->n_last;
	w->n_last = n_images;
	if (w->is_told && has_come) {
		w->is_told = false;
		return EXEC_RECORDED;
	}
	if (w->is_judged || now_ns - w->since_ns < load_patience_ns) {
		return EXEC_NOTHING_NEW;
	}
	w->is_judged = true;
	return (w->is_told = is_unrecorded(w, n_images)) ? EXEC_UNRECORDED : EXEC_NOTHING_NEW;
}

bool exec_watch_end(const struct exec_watch *w, uint32_t n_images) {
	return !w->is_told && is_unrecorded(w, n_images);
}
