// SPDX-License-Identifier: MIT
#include "judge.h"

#include "sys/process.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N_MAP = 1 << 20 };

struct held {
	uint64_t ptr; // 0: empty
	uint32_t serial;
};
static struct held *map;
static uint8_t *row; // by serial: what the row of events said
struct judged judged;

struct pending {
	uint32_t serials[64];
	unsigned n;
};
static struct pending *pendings; // by thread id
static uint32_t n_pendings;

static size_t home_of(uint64_t ptr) {
	return (ptr * 0x9E3779B97F4A7C15ull >> 40) % N_MAP;
}

static struct held *find(uint64_t ptr) {
	size_t i = home_of(ptr);
	while (map[i].ptr != 0 && map[i].ptr != ptr) {
		i = (i + 1) % N_MAP;
	}
	return &map[i];
}

static void forget(struct held *h) {
	size_t hole = (size_t)(h - map);
	for (size_t i = (hole + 1) % N_MAP; map[i].ptr != 0; i = (i + 1) % N_MAP) {
		size_t home = home_of(map[i].ptr);
		if ((i - home + N_MAP) % N_MAP >= (i - hole + N_MAP) % N_MAP) {
			map[hole] = map[i];
			hole = i;
		}
	}
	map[hole].ptr = 0;
}

static void judge_end(uint64_t ptr, uint32_t serial) {
	struct held *h = find(ptr);
	if (h->ptr == 0 || h->serial != serial) {
		judged.wrong++;
		return;
	}
	forget(h);
}

static void judge_begin(uint64_t ptr, uint32_t serial) {
	struct held *h = find(ptr);
	judged.twice += h->ptr != 0;
	*h = (struct held){ptr, serial};
	row[serial] |= TRUTH_ALLOC;
}

static void judge_event(const struct trace_event *e) {
	struct pending *p = &pendings[e->thread];
	uint32_t serial = (uint32_t)e->size;
	switch (e->kind) {
	case TRACE_ALLOC: judge_begin(e->ptr, serial); return;
	case TRACE_FREE:
		judge_end(e->ptr, serial);
		row[serial] |= TRUTH_FREE;
		return;
	case TRACE_REALLOC:
		judge_end(e->ptr, serial);
		if (p->n == 64) { // jumps left some
			memmove(p->serials, p->serials + 1, 63 * sizeof p->serials[0]);
			p->n--;
		}
		p->serials[p->n++] = serial;
		return;
	case TRACE_MOVED:
	case TRACE_STAYED:
		if (p->n == 0) {
			judged.unpaired++;
			return;
		}
		p->n--;
		if (e->kind == TRACE_MOVED) {
			row[p->serials[p->n]] |= TRUTH_FREE;
		} else if (p->serials[p->n] != serial) {
			judged.unpaired++;
		}
		judge_begin(e->ptr, serial);
		return;
	default: judged.wrong++; return;
	}
}

static void judge(void *user, const struct trace_event *events, size_t n) {
	(void)user;
	for (size_t i = 0; i < n; i++) {
		judge_event(&events[i]);
	}
	judged.events += n;
}

static uint32_t judge_thread(void *user, const struct order_thread *thread) {
	(void)user;
	(void)thread;
	if (++judged.threads >= n_pendings) {
		n_pendings *= 2;
		pendings = realloc(pendings, n_pendings * sizeof *pendings);
		memset(pendings + n_pendings / 2, 0, n_pendings / 2 * sizeof *pendings);
	}
	return (uint32_t)judged.threads;
}

static void judge_thread_ended(void *user, uint32_t thread) {
	(void)user;
	(void)thread;
	judged.ended++;
}

static void judge_image(void *user, uint32_t image) {
	(void)user;
	(void)image;
	judged.wrong++; // there is but one
}

static bool is_thread_alive(void *user, uint32_t pid, uint32_t tid) {
	(void)user;
	return syscall(SYS_tgkill, pid, tid, 0) == 0;
}

static bool is_thread_running(void *user, uint32_t pid, uint32_t tid) {
	(void)user;
	return process_thread_is_running((pid_t)pid, (pid_t)tid);
}

const struct order_sink judge_sink = {
		.events = judge,
		.late_events = judge,
		.thread = judge_thread,
		.thread_ended = judge_thread_ended,
		.image = judge_image,
		.is_thread_alive = is_thread_alive,
		.is_thread_running = is_thread_running,
};

bool judge_set_up(uint32_t n_serials) {
	row = calloc(n_serials, 1);
	map = calloc(N_MAP, sizeof *map);
	n_pendings = 1024;
	pendings = calloc(n_pendings, sizeof *pendings);
	return row && map && pendings;
}

uint64_t judge_count_misjudged(const _Atomic uint8_t *truth, uint32_t n_serials) {
	uint64_t n = 0;
	for (uint32_t serial = 1; serial < n_serials; serial++) {
		n += row[serial] != atomic_load_explicit(&truth[serial], memory_order_relaxed);
	}
	return n;
}
