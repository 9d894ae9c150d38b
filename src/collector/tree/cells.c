// SPDX-License-Identifier: MIT
/* Each process waits at the door for its answer, so while it is served its pid is its own. */
#include "collector/tree/cells.h"

enum {
	JOIN_PATIENCE_MS = 1000, // for what a process says of itself, on a busy machine
	GENERATIONS_MOST = 256,
};

struct cells {
	pthread_mutex_t lock;          // for all below
	struct cell *items[CELLS_MAX]; // NULL: free
	struct cell program;           // the first of them
	VEC(struct arrival) arrivals;
	struct shared_memory common;  // struct wire_common
	struct segment_params params; // of the next one, but for its number and owners
	uint32_t n_processes;
	_Atomic uint64_t n_refused;
	_Atomic bool is_closed; // none is given out any more
	bool is_secret;         // who knows the token is one of them, or a copy
};

struct cells *cells_create(struct segment_params *params, struct err *err) {
	struct cells *c = memory_new(1, sizeof *c);
	if (!shared_memory_init(&c->common,
				memfd_create(SEGMENT_MAPPING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING), WIRE_PAGE_MOST,
				err)) {
		free(c);
		return NULL;
	}
	(void)pthread_mutex_init(&c->lock, NULL);
	params->options |= SEGMENT_TREE;
	params->n_slots = CELL_SLOTS;
	params->node_capacity = CELL_NODES;
	params->module_capacity = CELL_MODULES;
	params->slot_bytes = CELL_SLOT_BYTES;
	params->common = (struct wire_common *)(void *)c->common.base;
	params->process = c->n_processes = 1;
	c->params = *params;
	return c;
}

struct cell *cells_begin(struct cells *c, struct segment *first, pid_t program, bool is_secret) {
	c->is_secret = is_secret;
	c->program = (struct cell){first, .pid = program, .fd = -1, .time_ns = first->start_ns};
	c->params.first = first;
	return c->items[0] = &c->program;
}

static void drop(struct cell *cell) {
	if (cell->own.header) {
		segment_close(&cell->own);
	}
	segment_finish(&cell->own);
	file_close(cell->fd);
	free(cell);
}

void cells_destroy(struct cells *c) {
	if (!c) {
		return;
	}
	EACH(a, c->arrivals) {
		free(a->exe);
	}
	EACH_OF_THAT(cell, c->items + 1, CELLS_MAX - 1, *cell) {
		drop(*cell);
	}
	vec_finish(&c->arrivals);
	shared_memory_finish(&c->common);
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

// ---- who may have one

static bool is_alive(const struct cell *cell) {
	struct pollfd end = {.fd = cell->fd, .events = POLLIN};
	return cell->fd < 0 || poll(&end, 1, 0) == 0;
}

static struct cell *find(const struct cells *c, pid_t pid) {
	struct cell *const *at = FIND(it, c->items, CELLS_MAX,
			*it && (*it)->pid == pid && is_alive(*it));
	return at ? *at : NULL;
}

/** Does it descend from a process that has a cell? *parent: that one's number, if it is known. */
static bool descends(const struct cells *c, pid_t pid, uint32_t *parent) {
	struct process_usage usage;
	*parent = 0;
	for (int i = 0; i < GENERATIONS_MOST && pid > 1 && process_usage(pid, &usage); i++) {
		pid = usage.parent;
		const struct cell *cell = find(c, pid);
		if (cell) {
			*parent = cell->segment->process;
			return true;
		}
		if (pid == getpid()) { // its own parent has ended, and we are given its orphans
			return true;
		}
	}
	return false;
}

// ---- what it gets

static bool is_full(const struct cells *c) {
	uint64_t bytes = 0;
	EACH_OF_THAT(cell, c->items, CELLS_MAX, *cell) {
		struct stat st;
		bytes += fstat((*cell)->segment->memory.fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
	}
	return bytes > CELLS_TOUCHED_MOST;
}

/** A cell for a new process. NULL: there is no room. */
static struct cell *make(struct cells *c, const struct wire_join *join, pid_t pid,
		uint32_t parent) {
	struct cell **place = FIND(it, c->items, CELLS_MAX, !*it);
	if (!place || is_full(c)) {
		return NULL;
	}
	struct cell *cell = memory_new(1, sizeof *cell);
	*cell = (struct cell){
			.segment = &cell->own,
			.pid = pid,
			.fd = (int)syscall(SYS_pidfd_open, pid, 0),
			.parent = join->process > 0 && join->process <= c->n_processes ? join->process : parent,
			.fork = join->fork,
			.time_ns = clock_now_ns(),
	};
	c->params.process = c->n_processes + 1;
	c->params.first_owner = (uint32_t)(place - c->items) * CELL_SLOTS;
	if (cell->fd < 0 || !segment_init(&cell->own, &c->params, NULL)) {
		drop(cell);
		return NULL;
	}
	c->n_processes++;
	return *place = cell;
}

/** One that has a cell asks for it again, because it has executed a program. NULL: refused. */
static const struct cell *make_or_find(struct cells *c, const struct wire_join *join, pid_t pid,
		uint32_t parent) {
	struct cell *cell = find(c, pid);
	if (cell && join->fork != 0) {
		return NULL; // it is no copy that has just begun
	}
	if (!(cell = cell ?: make(c, join, pid, parent))) {
		c->n_refused++;
		return NULL;
	}
	char path[PATH_MAX], link[sizeof path];
	const bool is_known = process_link(pid, "exe", path, sizeof path);
	const bool is_link = is_known && process_called(pid, path, link, sizeof link);
	(void)process_exe(pid, &cell->exe);
	const uint32_t next = atomic_load(&cell->segment->header->n_images) + 1;
	(void)vec_add(&c->arrivals,
			(struct arrival){
					.cell = cell,
					.image = join->fork ? join->image : next,
					.exe = is_known ? strdup(is_link ? link : path) : NULL,
			});
	return cell;
}

bool cells_serve(struct cells *c, int connection, const struct ucred *who) {
	struct wire_join join;
	struct pollfd said = {.fd = connection, .events = POLLIN};
	uint32_t parent = 0;
	if (c->is_closed) { // perhaps by this thread, with the lock
		return false;
	}
	(void)pthread_mutex_lock(&c->lock);
	bool may = who->uid == geteuid() || geteuid() == 0;
	bool is_known = may && (find(c, who->pid) || descends(c, who->pid, &parent));
	(void)pthread_mutex_unlock(&c->lock);
	if (!is_known && !(may && c->is_secret)) {
		return false;
	}
	if (poll(&said, 1, JOIN_PATIENCE_MS) == 0) {
		return true; // it gets no answer, and asks again
	}
	if ((said.revents & POLLHUP) != 0 || // it has not waited for us
			recv(connection, &join, sizeof join, MSG_DONTWAIT) != (ssize_t)sizeof join ||
			!(is_known || join.fork)) { // it is a daemon: its parent has ended
		return false;
	}
	(void)pthread_mutex_lock(&c->lock);
	const struct cell *cell = make_or_find(c, &join, who->pid, parent);
	bool ok = cell && fd_send(connection, "", 1, cell->segment->memory.fd, MSG_DONTWAIT);
	(void)(ok && fd_send(connection, "", 1, c->common.fd, MSG_DONTWAIT)); // a copy has it
	(void)pthread_mutex_unlock(&c->lock);
	return ok;
}

// ---- the recording's side

bool cells_has(struct cells *c, pid_t pid) {
	struct process_exe now;
	(void)pthread_mutex_lock(&c->lock);
	const struct cell *cell = find(c, pid);
	// What it runs is not known for a moment in an exec, which may yet fail
	bool has_one = cell &&
			(atomic_load(&cell->segment->header->exec_ns) == 0 || !process_exe(pid, &now) ||
					now.stack == 0 || memcmp(&now, &cell->exe, sizeof now) == 0);
	(void)pthread_mutex_unlock(&c->lock);
	return has_one;
}

bool cells_take(struct cells *c, struct arrival *out) {
	(void)pthread_mutex_lock(&c->lock);
	bool has_one = c->arrivals.n > 0;
	if (has_one) {
		*out = c->arrivals.items[0];
		c->arrivals.n--;
		memmove(c->arrivals.items, c->arrivals.items + 1, c->arrivals.n * sizeof *out);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return has_one;
}

uint32_t cells_exe(struct cells *c, const struct cell *cell, uint32_t image, struct texts *texts) {
	(void)pthread_mutex_lock(&c->lock);
	const struct arrival *a = FIND_IN(it, c->arrivals, it->cell == cell && it->image == image);
	const uint32_t exe = texts_id_of(texts, a && a->exe ? a->exe : "");
	(void)pthread_mutex_unlock(&c->lock);
	return exe;
}

void cells_close(struct cells *c) {
	atomic_store(&c->is_closed, true);
	EACH_OF_THAT(cell, c->items, CELLS_MAX, *cell) {
		segment_close((*cell)->segment);
	}
}

void cells_give_back(struct cells *c, struct cell *cell) {
	(void)pthread_mutex_lock(&c->lock);
	vec_keep(&c->arrivals, 0, a, a->cell != cell || (free(a->exe), false));
	*FIND(it, c->items, CELLS_MAX, *it == cell) = NULL;
	(void)pthread_mutex_unlock(&c->lock);
	drop(cell);
}

uint64_t cells_refused(const struct cells *c) {
	return atomic_load(&c->n_refused);
}
