// SPDX-License-Identifier: MIT
/* Why the program ended. A kill is counted at once; freeing the process's memory takes longer. */
#include "collector/watch/watch.h"

static const uint64_t kill_to_end_ns = 3000000000u;

enum {
	CLOSE = 2,               // a half of the limit: from there on it is checked often
	NEAR_PERCENT = 90,       // of the limit
	STEP = 1000,             // by that part of the limit it must have risen
	USE_GAP_NS = 250000000,  // between two looks at what is used,
	CLOSE_GAP_NS = 20000000, // close to the limit,
	NEAR_GAP_NS = 100000000, // and after it was said that it is near
};

static void count_kills(struct ending *e, uint64_t now_ns) {
	uint64_t kills;
	if (e->counts_kills && cgroup_memory_kills(&e->group, &kills) && kills != e->kills) {
		e->kills = kills;
		e->rose_ns = now_ns;
	}
}

void ending_look(struct ending *e, pid_t program, uint64_t now_ns) {
	struct cgroup group;
	if (!cgroup_of_process(&group, program, "memory")) {
		return;
	}
	if (strcmp(group.path, e->group.path) != 0) {
		// An ending process moves to another group, but frees its memory before
		struct process_memory memory;
		if (!process_memory(program, &memory)) {
			return;
		}
		bool has_moved = e->group.path[0] != 0;
		*e = (struct ending){.group = group, .limit_bytes = cgroup_memory_limit(&group)};
		e->counts_kills = cgroup_memory_kills(&group, &e->kills);
		// The program moved here since the last look: a kill counted here may be its own
		e->rose_ns = has_moved && e->limit_bytes > 0 && e->kills > 0 ? now_ns : 0;
	} else {
		count_kills(e, now_ns);
	}
}

bool ending_is_near(struct ending *e, uint64_t now_ns) {
	if (e->limit_bytes == 0 || now_ns < e->next_use_ns) {
		return false;
	}
	uint64_t used = cgroup_memory_used(&e->group, e->limit_bytes / CLOSE);
	e->is_close = used > 0;
	bool is_near = used >= e->limit_bytes / 100 * NEAR_PERCENT &&
			used > e->most_bytes + e->limit_bytes / STEP;
	e->most_bytes = is_near ? used : e->most_bytes;
	e->next_use_ns = now_ns + (is_near ? NEAR_GAP_NS : e->is_close ? CLOSE_GAP_NS : USE_GAP_NS);
	return is_near;
}

static bool was_killed_for_memory(struct ending *e, uint64_t end_ns) {
	count_kills(e, end_ns);
	return e->rose_ns > 0 && end_ns - e->rose_ns < kill_to_end_ns;
}

/** The limit that ended the program; 0: none. */
static uint64_t limit_reached(const struct watch_end *end, uint64_t n_failed) {
	const struct watch_limits *l = &end->limits;
	// On a virtual machine, CPU time counted in ticks falls short of what the limit counts
	uint64_t cpu_ns = (end->usage.user_ns + end->usage.system_ns) / 4 * 5;
	if (end->is_signaled && end->status == SIGXFSZ) {
		return l->file_bytes;
	}
	if (end->is_signaled && end->status == SIGXCPU) {
		return l->cpu_s;
	}
	if (end->is_signaled && end->status == SIGKILL) {
		return cpu_ns / 1000000000 >= l->cpu_s ? l->cpu_s : 0;
	}
	bool has_failed = end->is_signaled || end->status != 0;
	return has_failed && n_failed > 0 ? l->memory_bytes : 0;
}

void ending_judge(struct ending *e, const struct watch_end *end, uint64_t end_ns, uint64_t n_failed,
		struct rec_meta *meta) {
	meta->end_reason = REC_END_PLAIN;
	meta->end_limit = 0;
	if (end->is_detached) {
		return;
	}
	if (end->is_signaled && end->status == SIGKILL && was_killed_for_memory(e, end_ns)) {
		meta->end_reason = REC_END_MEMORY;
		meta->end_limit = e->limit_bytes;
		return;
	}
	meta->end_limit = limit_reached(end, n_failed);
	meta->end_reason = meta->end_limit > 0 ? REC_END_LIMIT : REC_END_PLAIN;
}
