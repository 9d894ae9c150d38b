// SPDX-License-Identifier: MIT
/*
 * Keeps the kernel's records of mappings (perf_event_open, MMAP2), which have no stack. Unmapping
 * is not recorded, but another mapping in that place is. Each thread has its own ring: new ones
 * could inherit an event per processor, at 3.5 us each.
 *
 * Which code makes such calls is told by a tracepoint at each call's end. It slows all system calls
 * of the machine, so it is only used once a look has found such memory.
 */
#include "collector/watch/watch.h"

#include <linux/perf_event.h>

enum { MOST = 1024, LEAST_BYTES = 1 << 20, THREADS_MOST = 64 };
// Watching costs a thread 600 ns per turn on a processor and 500 ns per mapping
enum { FEW = 100, NS_PER_TURN = 1000000, NS_PER_MAP = 100000 };
enum { RING_BYTES = 8192, AT_START = 16, AT_BYTES = 24, AT_NAME = 72, TIME_FROM_END = 8 };
enum { AT_CODE = 8, AT_RESULT = 44 }; // of a sample, if it has IP, TIME and RAW

static size_t all_bytes(void) {
	return (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES;
}

/** NULL: refused. `call_ends`: 0, or the tracepoint that also reports the end of each mmap. */
static struct perf_event_mmap_page *open_ring(pid_t tid, uint64_t call_ends) {
	struct perf_event_attr attr = {
			.type = call_ends ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE,
			.size = sizeof attr,
			.config = call_ends ?: PERF_COUNT_SW_DUMMY,
			.sample_period = call_ends > 0,
			.sample_type = call_ends ? PERF_SAMPLE_TIME | PERF_SAMPLE_IP | PERF_SAMPLE_RAW
									 : PERF_SAMPLE_TIME,
			.sample_id_all = 1,
			.exclude_kernel = 1,
			.mmap_data = 1,
			.mmap2 = 1,
			.use_clockid = 1,
			.clockid = CLOCK_MONOTONIC,
	};
	CLOSED int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *ring = mmap(NULL, all_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return ring == MAP_FAILED ? NULL : ring; // it keeps the event open
}

static void close_ring(struct perf_event_mmap_page *ring) {
	if (ring) {
		(void)munmap(ring, all_bytes());
	}
}

/** Records are whole words, but may wrap around the ring's end. */
static uint64_t word_at(const struct perf_event_mmap_page *ring, uint64_t at) {
	return ((const uint64_t *)((const char *)ring + ring->data_offset))[at % RING_BYTES / 8];
}

/** Something else is there now: of what was there before, the larger rest is kept. */
static void cut(struct unseen *u, const struct parts_seen *seen) {
	EACH_THAT(s, *u, s->start < seen->end && seen->start < s->end && s->time_ns <= seen->time_ns) {
		uint64_t below = seen->start > s->start ? seen->start - s->start : 0;
		uint64_t above = s->end > seen->end ? s->end - seen->end : 0;
		s->end = below >= above ? s->start + below : s->end;
		s->start = below >= above ? s->start : s->end - above;
	}
}

/** A thread's mappings share a name, up to a '/': of a path, only the end would be shown. */
static void keep(struct unseen *u, struct unseen_thread *t, struct parts_seen seen) {
	struct parts_seen *place = FIND_IN(s, *u, s->start == s->end);
	place = place ?: u->n < MOST ? vec_push(u) : &u->items[u->next++ % MOST];
	t->newest = 1 + (size_t)(place - u->items);
	*place = seen;
	(void)(*t->name || process_thread_name(u->program, t->tid, t->name, sizeof t->name));
	(void)snprintf(place->name, sizeof place->name, "thread %d (%.*s), by system calls of its own",
			t->tid, (int)strcspn(t->name, "/"), t->name);
}

/** A call returned: its result is in the mapping just made, or it failed. */
static void take_end(struct unseen *u, struct unseen_thread *t, uint64_t at) {
	uint64_t low = word_at(t->ring, at + AT_RESULT - 4);
	uint64_t result = low >> 32 | word_at(t->ring, at + AT_RESULT + 4) << 32;
	struct parts_seen *seen = t->newest ? &u->items[t->newest - 1] : NULL;
	if (seen && seen->start <= result && result < seen->end) {
		seen->code = word_at(t->ring, at + AT_CODE);
	}
}

/** What was anonymous, private memory. */
static void take(struct unseen *u, struct unseen_thread *t) {
	struct perf_event_mmap_page *ring = t->ring;
	uint64_t end = ring ? __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE) : 0, bytes;
	for (uint64_t at = ring ? ring->data_tail : 0; at < end; at += bytes) {
		uint64_t head = word_at(ring, at), name = word_at(ring, at + AT_NAME);
		uint64_t start = word_at(ring, at + AT_START), n = word_at(ring, at + AT_BYTES);
		bool is_plain = memcmp(&name, "//anon\0", sizeof name) == 0;
		bytes = head >> 48;
		t->n_maps++;
		if ((uint32_t)head == PERF_RECORD_SAMPLE) {
			take_end(u, t, at);
		}
		t->newest = 0;
		if ((uint32_t)head == PERF_RECORD_MMAP2 && is_plain) {
			uint64_t time_ns = word_at(ring, at + bytes - TIME_FROM_END) - u->start_ns;
			struct parts_seen seen = {.start = start, .end = start + n, .time_ns = time_ns};
			cut(u, &seen);
			if (n >= LEAST_BYTES) {
				keep(u, t, seen);
			}
		}
	}
	if (ring) {
		__atomic_store_n(&ring->data_tail, end, __ATOMIC_RELEASE);
	}
}

void unseen_take(struct unseen *u) {
	EACH(t, u->threads) {
		take(u, t);
	}
}

/** How often it got a processor. */
static uint64_t turns_of(pid_t program, pid_t tid) {
	char text[128] = "";
	uint64_t n = 0;
	(void)file_read_small(PROCESS_PATH(program, "task/%d/schedstat", tid), text, sizeof text);
	return sscanf(text, "%*u %*u %" SCNu64, &n) == 1 ? n : 0;
}

void unseen_watch(struct unseen *u, pid_t tid, bool is_old) {
	struct unseen_thread now = {NULL, turns_of(u->program, tid), 0, clock_now_ns(), 0, tid, ""};
	struct unseen_thread *before = FIND_IN(t, u->threads, t->tid == tid);
	if (!process_thread_name(u->program, tid, now.name, sizeof now.name)) {
		return; // a thread of that number may be another process's
	}
	if (before) {
		const uint64_t turns = now.turns - before->turns, ns = now.time_ns - before->time_ns;
		take(u, before);
		bool is_busy = (turns > FEW && turns * NS_PER_TURN > ns) ||
				(before->n_maps > FEW && before->n_maps * NS_PER_MAP > ns);
		now.ring = is_busy ? NULL : before->ring;
		now.newest = before->newest;
		close_ring(is_busy ? before->ring : NULL);
		*before = now;
	} else if (is_old && u->threads.n < THREADS_MOST) {
		now.ring = open_ring(tid, u->call_ends) ?: open_ring(tid, 0);
		*now.name = 0; // it may be about to exec the program
		(void)vec_add(&u->threads, now);
	}
}

void unseen_end(struct unseen *u, pid_t tid) {
	struct unseen_thread *t = FIND_IN(it, u->threads, it->tid == tid);
	if (t) {
		take(u, t);
		close_ring(t->ring);
		*t = u->threads.items[--u->threads.n];
	}
}

void unseen_open(struct unseen *u, pid_t program, uint64_t start_ns) {
	CLOSED_FOLDER *tasks = opendir(PROCESS_PATH(program, "task"));
	u->program = program;
	u->start_ns = start_ns;
	for (pid_t tid; (tid = process_next(tasks)) != 0;) {
		unseen_watch(u, tid, true);
	}
}

void unseen_name(struct unseen *u, const struct smaps *areas) {
	EACH(s, *u) {
		const struct smaps_area *of = s->code == 0
				? NULL
				: FIND_IN(a, *areas, a->start <= s->code && s->code < a->end);
		const size_t n = strlen(s->name);
		if (of) {
			(void)snprintf(s->name + n, sizeof s->name - n, " in %s", path_base_name(of->name));
			s->code = 0;
		}
	}
}

void unseen_ask_for_code(struct unseen *u) {
	char id[24] = "";
	(void)file_read_small("/sys/kernel/tracing/events/syscalls/sys_exit_mmap/id", id, sizeof id);
	u->call_ends = strtoull(id, NULL, 10);
	EACH_WHILE(t, u->threads, u->call_ends > 0) {
		struct perf_event_mmap_page *ring = t->ring ? open_ring(t->tid, u->call_ends) : NULL;
		if (ring) {
			take(u, t);
			close_ring(t->ring);
			t->ring = ring;
		}
	}
}

void unseen_finish(struct unseen *u) {
	EACH(t, u->threads) {
		close_ring(t->ring);
	}
	vec_finish(&u->threads);
	vec_finish(u);
}
