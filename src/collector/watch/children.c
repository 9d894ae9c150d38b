// SPDX-License-Identifier: MIT
/*
 * Finds the processes that the program started and that are not recorded, in the segment's table,
 * among its descendants, and among all processes. A process is identified by pid and start time.
 * Daemons left the family: their environment tells.
 */
#include "collector/watch/watch.h"

enum {
	GAP_MIN_NS = 10000000,
	GAP_MAX_NS = 250000000,
	COST_MAX_NS = 2000000000,
	GAP_PART = 16,          // of the run so far
	COST_PART = 20,         // checks take at most a 20th of the time
	KIDS_MAX = 256,         // of one process, in one look
	WALK_MAX = 1024,        // processes in one look
	SEARCH_NS = 1000000000, // until the first search for daemons; doubles each time
	SEARCH_MAX = 8192,
	NEW_NS = 100000000, // in which no 32,768 processes and threads are started
};

void children_init(struct children *c, pid_t program, struct reason_context reason) {
	*c = (struct children){.program = program, .reason = reason, .next_search_ns = SEARCH_NS};
	c->program_start_ticks = process_start_ticks(program);
	c->pid_space = process_pid_space(0);
}

static struct child *find(struct children *c, uint32_t pid, uint64_t start_ticks) {
	return FIND_IN(item, *c, item->pid == pid && item->start_ticks == start_ticks);
}

static struct child *add(struct children *c) {
	return c->n < CHILDREN_MAX ? vec_push(c) : NULL;
}

// The kernel calls programs that start themselves again by /proc/self/exe "exe"
static void choose_name(struct child *child) {
	if (strcmp(child->name, "exe") == 0 && child->exe[0]) {
		(void)snprintf(child->name, sizeof child->name, "%.*s", (int)sizeof child->name - 1,
				path_base_name(child->exe));
	}
}

/** A program of several names (busybox) acts by the one it is called by: take it as the path. */
static void take_other_name(struct child *child) {
	char called[sizeof child->exe] = {0};
	if (process_read((pid_t)child->pid, "cmdline", called, sizeof called - 1) > 0 &&
			strcmp(path_base_name(called), child->name) == 0 &&
			strcmp(path_base_name(called), path_base_name(child->exe)) != 0) {
		memcpy(child->exe, called, sizeof called);
	}
}

/** What the process is now, from outside. What is unreadable stays as announced. */
static void look_closer(struct child *child) {
	char name[sizeof child->name], exe[sizeof child->exe];
	pid_t pid = (pid_t)child->pid;
	if (process_thread_name(pid, pid, name, sizeof name)) {
		memcpy(child->name, name, sizeof name);
	}
	if (process_link(pid, "exe", exe, sizeof exe)) {
		memcpy(child->exe, exe, sizeof exe);
		take_other_name(child);
	}
	(void)process_exe(pid, &child->file);
	choose_name(child);
}

// ---- those that announce themselves

/** Find a process by its pid in another namespace. 0: it is gone. */
static uint32_t find_outside(const struct wire_child *entry) {
	pid_t pids[SEARCH_MAX];
	size_t n = process_all(0, pids, SEARCH_MAX);
	const pid_t *found = FIND(pid, pids, n,
			process_start_ticks(*pid) == entry->start_ticks &&
					process_pid_inside(*pid) == (pid_t)entry->pid &&
					process_pid_space(*pid) == entry->pid_space);
	return found ? (uint32_t)*found : 0;
}

static struct child *find_announced(struct children *c, const struct wire_child *entry) {
	// In another namespace the same pid and time is another process. 0: unknown
	return FIND_IN(child, *c,
			child->pid_inside == entry->pid && child->start_ticks == entry->start_ticks &&
					(child->pid_space == entry->pid_space || child->pid_space == 0 ||
							entry->pid_space == 0));
}

/** The entry is the program's memory: texts may be unterminated. */
static void take_entry(struct children *c, const struct wire_child *entry) {
	struct child *child = find_announced(c, entry);
	bool is_known = child && child->is_announced && child->n_announced == entry->n_announced;
	if (is_known || !(child = child ?: add(c))) {
		return;
	}
	bool is_ours = entry->pid_space == 0 || entry->pid_space == c->pid_space;
	if (child->pid == 0) {
		child->pid_inside = entry->pid;
		COPY_FIELDS(child, entry, pid_space, start_ticks);
		child->pid = is_ours ? entry->pid : find_outside(entry);
	}
	child->is_announced = true;
	child->n_announced = entry->n_announced;
	child->is_fork = child->was_announced_as_fork = entry->is_fork != 0;
	child->why = REC_WHY_NONE;
	memcpy(child->name, entry->comm, sizeof child->name - 1);
	memcpy(child->exe, entry->exe, sizeof child->exe - 1);
	choose_name(child);
	child->peak_rss_bytes = 0; // that of what it was before, if anything
	child->file = (struct process_exe){0};
	if (child->pid != 0 && process_start_ticks((pid_t)child->pid) == child->start_ticks) {
		look_closer(child);
		// If the file is another, it may have execed since: look_at_living finds out
		bool is_it = memcmp(child->exe, entry->exe, strnlen(entry->exe, sizeof child->exe - 1)) ==
				0;
		child->file.inode = is_it ? child->file.inode : 1;
	}
}

void children_read(struct children *c, struct segment_header *header) {
	uint32_t n = wire_children_in_use(header);
	for (uint32_t i = 0; i < n; i++) {
		struct wire_child *entry = &header->children[i], copy;
		uint32_t pid = atomic_load_explicit(&entry->pid, memory_order_acquire);
		if (pid == 0 || pid == WIRE_CHILD_CLAIMED) {
			continue;
		}
		memcpy(&copy, entry, sizeof copy);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&entry->pid, memory_order_relaxed) != pid) {
			continue; // being replaced
		}
		copy.pid = pid;
		take_entry(c, &copy);
		const struct child *child = find_announced(c, &copy);
		if (child && child->pid != 0 && child->is_gone) {
			(void)atomic_compare_exchange_strong(&entry->pid, &pid, 0); // room for others
		}
	}
}

// ---- those that do not

static void add_silent(struct children *c, pid_t pid, uint64_t start_ticks, bool is_fork,
		enum rec_why why) {
	struct child *child = add(c);
	if (child) {
		child->pid = (uint32_t)pid;
		child->pid_inside = (uint32_t)(process_pid_inside(pid) ?: pid); // it may be gone
		child->pid_space = process_pid_space(pid);
		child->start_ticks = start_ticks;
		child->is_fork = is_fork;
		child->why = why;
		look_closer(child);
	}
}

struct relative {
	pid_t pid;
	bool has_recorder;
	struct process_exe file;
};

/** Note a child of `parent`, unless it will announce itself. */
static struct relative meet(struct children *c, const struct relative *parent, pid_t pid) {
	struct relative r = {.pid = pid};
	uint64_t start_ticks = process_start_ticks(pid);
	const struct child *known = find(c, (uint32_t)pid, start_ticks);
	(void)process_exe(pid, &r.file);
	bool is_copy = process_is_same_file(&r.file, &parent->file);
	r.has_recorder = known ? known->why == REC_WHY_NONE : is_copy && parent->has_recorder;
	if (known || r.has_recorder) {
		return r;
	}
	enum rec_why why;
	enum reason_presence presence = reason_presence(&c->reason, pid, &why);
	r.has_recorder = presence == REASON_PRESENT;
	if (presence == REASON_ABSENT && start_ticks != 0) {
		add_silent(c, pid, start_ticks, is_copy, why);
	}
	return r;
}

static void walk_descendants(struct children *c, bool is_recorded) {
	struct relative all[WALK_MAX] = {{.pid = c->program, .has_recorder = is_recorded},
			{.pid = getpid(), .has_recorder = true}}; // who gets a tree's daemons, and has copies
	size_t n = 2;
	(void)process_exe(c->program, &all[0].file);
	(void)process_exe(getpid(), &all[1].file);
	for (size_t i = 0; i < n; i++) {
		pid_t kids[KIDS_MAX];
		size_t n_kids = process_children(all[i].pid, kids, KIDS_MAX);
		for (size_t k = 0; k < n_kids && n < WALK_MAX; k++) {
			if (kids[k] != c->program && kids[k] != getpid()) { // which may descend from it
				all[n++] = meet(c, &all[i], kids[k]);
			}
		}
	}
}

static void search_daemons(struct children *c, uint64_t now_ns) {
	pid_t pids[SEARCH_MAX];
	pid_t after = now_ns < NEW_NS ? c->program : 0;
	size_t n = c->reason.segment ? process_all(after, pids, SEARCH_MAX) : 0;
	for (size_t i = 0; i < n; i++) {
		enum rec_why why;
		uint64_t start_ticks = process_start_ticks(pids[i]);
		if (start_ticks >= c->program_start_ticks && pids[i] != c->program &&
				!find(c, (uint32_t)pids[i], start_ticks) &&
				reason_was_started_by(&c->reason, pids[i]) &&
				reason_presence(&c->reason, pids[i], &why) == REASON_ABSENT) {
			add_silent(c, pids[i], start_ticks, false, why);
		}
	}
}

void children_note(struct children *c, pid_t pid) {
	enum rec_why why;
	uint64_t start_ticks = process_start_ticks(pid);
	if (start_ticks == 0 || reason_presence(&c->reason, pid, &why) != REASON_PRESENT) {
		return;
	}
	struct child *known = find(c, (uint32_t)pid, start_ticks);
	if (known) { // from before it execed this program
		known->is_fork = false;
		look_closer(known);
	} else {
		add_silent(c, pid, start_ticks, false, REC_WHY_NONE);
	}
}

// ---- the living

static void look_at_living(struct children *c) {
	c->n_living = 0;
	EACH(child, *c) {
		pid_t pid = (pid_t)child->pid;
		struct process_memory memory;
		struct process_exe file;
		enum rec_why why;
		if (child->is_gone || pid == 0) {
			continue;
		}
		if (process_start_ticks(pid) != child->start_ticks) {
			child->is_gone = true;
			continue;
		}
		c->n_living++;
		if (!process_memory(pid, &memory)) {
			continue; // a zombie, or about to exec
		}
		if (process_exe(pid, &file) && child->file.inode != 0 &&
				!process_is_same_file(&file, &child->file) &&
				reason_presence(&c->reason, pid, &why) == REASON_ABSENT) {
			// It execed a program that does not announce itself
			child->is_fork = false;
			child->why = why;
			child->peak_rss_bytes = 0;
			look_closer(child);
		}
		RAISE_TO(child->peak_rss_bytes, memory.peak_rss_bytes);
	}
}

/** Did one announce itself since the last look? */
static bool has_news(struct children *c, const struct segment_header *header) {
	uint64_t n = SUM(i, wire_children_in_use(header), header->children[i].n_announced);
	bool is_new = n != c->n_seen;
	c->n_seen = n;
	return is_new;
}

static uint64_t gap_after(uint64_t now_ns, uint64_t cost_ns) {
	uint64_t gap_ns = now_ns / GAP_PART;
	gap_ns = gap_ns < GAP_MIN_NS ? GAP_MIN_NS : gap_ns > GAP_MAX_NS ? GAP_MAX_NS : gap_ns;
	cost_ns = cost_ns * COST_PART < COST_MAX_NS ? cost_ns * COST_PART : COST_MAX_NS;
	return gap_ns > cost_ns ? gap_ns : cost_ns;
}

void children_take(struct children *c, struct segment_header *header, bool is_recorded,
		uint64_t now_ns) {
	if (now_ns < c->next_ns && (now_ns - c->last_ns < GAP_MIN_NS || !has_news(c, header))) {
		return;
	}
	uint64_t start_ns = clock_thread_cpu_ns();
	children_read(c, header);
	walk_descendants(c, is_recorded);
	look_at_living(c);
	c->last_ns = now_ns;
	c->next_ns = now_ns + gap_after(now_ns, clock_thread_cpu_ns() - start_ns);
	if (now_ns >= c->next_search_ns) {
		c->next_search_ns = now_ns * 2;
		search_daemons(c, now_ns);
	}
}

void children_take_last(struct children *c, struct segment_header *header, uint64_t now_ns) {
	c->next_ns = c->next_search_ns = 0;
	children_take(c, header, true, now_ns);
}

struct children_counts children_counts(const struct children *c,
		const struct segment_header *header) {
	struct children_counts n = {.forked = atomic_load(&header->n_children_forked),
			.executed = atomic_load(&header->n_children_executed)};
	EACH(child, *c) {
		bool is_counted_as_fork = child->is_announced && child->was_announced_as_fork;
		n.forked += !child->is_announced && child->is_fork;
		n.executed += (!child->is_announced || is_counted_as_fork) && !child->is_fork;
		n.forked -= is_counted_as_fork && !child->is_fork && n.forked > 0;
	}
	return n;
}
