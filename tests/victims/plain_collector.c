// SPDX-License-Identifier: MIT

/**
 * The other side of the wire, plain and obvious: makes the segment, starts a program with the
 * recorder, drains the rings, puts all events in order, checks them against the blocks
 * that are alive, and writes what it counted as JSON. It is the recorder's test, not a product.
 *
 *   plain_collector [options] RECORDER REPORT PROGRAM [ARGS...]
 *     --count        only count: no order, no blocks (for speed)
 *     --slots N      thread slots                --nodes N   node capacity
 *     --page N       as if the machine's pages had so many bytes
 *     --socket       offer the descriptor by socket only (/proc is of no use)
 *     --stop-after N  stop draining for good after N entries, heart beating
 *     --free-stacks, --exact-time   the options of the segment
 */

#include "plain_blocks.h"
#include "wire/event.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
	bool counts_only, by_socket_only;
	uint32_t options, n_slots, node_capacity, page_bytes;
	uint64_t stop_after;
} wanted = {.n_slots = 2048,
		.node_capacity = 1 << 22,
		.page_bytes = 4096,
		.stop_after = UINT64_MAX};

static struct segment_header *header;
static int segment_fd;

// ---- what is counted

static struct {
	uint64_t kinds[16];
	uint64_t n_entries, n_bytes, n_labels_back;
	uint64_t n_wrong_allocs, n_orphan_frees, n_stray_answers, n_threads;
	uint64_t failed, lost, truncated, abandoned;
} counted;

static void die(const char *what) {
	perror(what);
	exit(125);
}

// ---- order: all events by epoch and stamp

static uint64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct event {
	uint64_t image, epoch, stamp, n; // n: in the order in which they were found
	enum wire_kind kind;
	uint64_t ptr, size;
};
static struct event *events;
static size_t n_events, event_capacity;

static void apply(const struct event *e) {
	switch (e->kind) {
	case KIND_ALLOC:
	case KIND_MOVED:
	case KIND_STAYED: counted.n_wrong_allocs += !block_add(e->ptr, e->size); break;
	case KIND_FREE:
	case KIND_REALLOC: counted.n_orphan_frees += !block_remove(e->ptr); break;
	default: break;
	}
}

static int by_stamp(const void *a, const void *b) {
	const struct event *x = a, *y = b;
	if (x->image != y->image) {
		return x->image < y->image ? -1 : 1;
	}
	if (x->epoch != y->epoch) {
		return x->epoch < y->epoch ? -1 : 1;
	}
	if (x->stamp != y->stamp) {
		return x->stamp < y->stamp ? -1 : 1;
	}
	return (x->n > y->n) - (x->n < y->n);
}

/** All that is older than `horizon` in `epoch`. */
static void apply_all(uint64_t epoch, uint64_t horizon) {
	qsort(events, n_events, sizeof *events, by_stamp);
	size_t n = 0;
	while (n < n_events &&
			(events[n].epoch < epoch || (events[n].epoch == epoch && events[n].stamp < horizon))) {
		apply(&events[n++]);
	}
	n_events -= n;
	memmove(events, events + n, n_events * sizeof *events);
}

static void order(const struct event *event) {
	static uint64_t n;
	if (n_events == event_capacity) {
		event_capacity = n_events == 0 ? 1 << 16 : n_events * 2;
		events = realloc(events, event_capacity * sizeof *events);
	}
	events[n_events] = *event;
	events[n_events++].n = n++;
}

// ---- draining

enum { REALLOCS_MAX = 64 };
struct drain {
	uint64_t label_ns, epoch, stamp, image, wide_ptr, wide_size;
	bool has_wide, is_seen;
	uint64_t reallocs[REALLOCS_MAX];
	unsigned n_reallocs;
};
static struct drain *drains;
static unsigned char *slots;

static struct thread_slot *slot_at(uint32_t i) {
	return (struct thread_slot *)(slots + i * header->slot_bytes);
}

static void take_event(struct drain *d, struct event *e) {
	if (e->kind == KIND_REALLOC && d->n_reallocs < REALLOCS_MAX) {
		d->reallocs[d->n_reallocs++] = e->ptr;
	} else if (e->kind == KIND_MOVED || e->kind == KIND_STAYED) {
		if (d->n_reallocs == 0) {
			counted.n_stray_answers++;
		} else {
			uint64_t old = d->reallocs[--d->n_reallocs];
			counted.n_stray_answers += e->kind == KIND_STAYED && old != e->ptr;
		}
	}
	if (e->kind == KIND_ALLOC || e->kind == KIND_MOVED) {
		counted.n_bytes += e->size;
	}
	if (!wanted.counts_only) {
		order(e);
	}
}

static void take_entry(struct drain *d, uint64_t head, uint64_t body) {
	enum wire_kind kind = wire_head_kind(head);
	counted.kinds[kind]++;
	if (kind == KIND_STAMP) {
		d->stamp = body;
	} else if (kind == KIND_EPOCH) {
		d->epoch = body;
		d->stamp = 0;
	} else if (kind == KIND_TIME) {
		counted.n_labels_back += body < d->label_ns;
		d->label_ns = body;
	} else if (kind == KIND_WIDE) {
		d->wide_ptr = wire_wide_ptr(head, body);
		d->wide_size = wire_wide_size(body);
		d->has_wide = true;
		return;
	} else if (kind != KIND_VOID) {
		struct event e = {.kind = kind,
				.image = d->image,
				.epoch = d->epoch,
				.stamp = d->stamp == 0 ? 0 : wire_stamp(d->stamp, head, body),
				.ptr = d->has_wide ? d->wide_ptr : wire_head_ptr(head),
				.size = d->has_wide ? d->wide_size : wire_body_size(body)};
		take_event(d, &e);
	}
	d->has_wide = false;
}

static uint64_t drain_ring(struct thread_slot *slot, struct drain *d, unsigned which) {
	struct wire_ring *ring = &slot->rings[which];
	struct wire_event *entries = (struct wire_event *)((unsigned char *)slot + wire_ring_at(which));
	uint32_t n = wire_ring_entries(which);
	uint64_t taken = atomic_load(&ring->taken);
	uint64_t first = taken;
	for (; counted.n_entries < wanted.stop_after; taken++) {
		struct wire_event *e = &entries[taken % n];
		uint64_t head = atomic_load_explicit(&e->head, memory_order_acquire);
		if ((head & 1ull << 63) != wire_phase(taken, wire_ring_log2(which))) {
			break;
		}
		take_entry(d, head, e->body);
		counted.n_entries++;
	}
	if (taken != first) {
		atomic_store(&ring->taken, taken);
		if (atomic_load(&ring->owner_waits) != 0) {
			atomic_fetch_add(&ring->room, 1);
			syscall(SYS_futex, &ring->room, FUTEX_WAKE, 1, NULL, NULL, 0);
		}
	}
	return taken - first;
}

static void add_up(struct thread_slot *slot) {
	counted.failed += slot->failed;
	counted.lost += slot->lost;
	counted.truncated += slot->truncated;
	counted.abandoned += slot->abandoned;
}

static bool has_ended(const struct thread_slot *slot) {
	return syscall(SYS_tgkill, slot->pid, slot->tid, 0) != 0 && errno == ESRCH;
}

static void release(struct thread_slot *slot, uint32_t i) {
	add_up(slot);
	uint64_t at = header->tables[TABLE_SLOTS].at + i * header->slot_bytes;
	uint32_t generation = slot->generation;
	fallocate(segment_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)at + header->page_bytes, (off_t)header->slot_bytes - header->page_bytes);
	memset((unsigned char *)slot + 8, 0, header->page_bytes - 8);
	memset(&drains[i], 0, sizeof drains[i]);
	slot->generation = generation + 1;
	atomic_store(&slot->state, SLOT_FREE);
}

static uint64_t drain_slot(uint32_t i) {
	struct thread_slot *slot = slot_at(i);
	uint64_t n = 0;
	if (atomic_load(&slot->state) != SLOT_LIVE) {
		return 0;
	}
	if (!drains[i].is_seen) {
		drains[i].is_seen = true;
		drains[i].image = slot->image;
		counted.n_threads++;
	}
	bool ended = has_ended(slot);
	bool is_big = atomic_load_explicit(&slot->ring, memory_order_acquire) == RING_BIG;
	n += drain_ring(slot, &drains[i], RING_SMALL);
	if (is_big &&
			atomic_load(&slot->rings[RING_SMALL].taken) ==
					atomic_load(&slot->rings[RING_SMALL].reserved)) {
		n += drain_ring(slot, &drains[i], RING_BIG);
	}
	if (ended && n == 0) {
		release(slot, i);
	}
	return n;
}

static bool is_drained(const struct thread_slot *slot) {
	return atomic_load(&slot->rings[RING_BIG].reserved) == slot->rings[RING_BIG].taken &&
			atomic_load(&slot->rings[RING_SMALL].reserved) == slot->rings[RING_SMALL].taken;
}

/** All before it are complete: it was seen 50 ms ago. */
static uint64_t settled_epoch(void) {
	static uint64_t epoch, next, next_ns;
	if (next != epoch && now_ns() - next_ns > 50000000) {
		epoch = next;
	}
	if (next == epoch && (next = atomic_load(&header->common.epoch)) != epoch) {
		next_ns = now_ns();
	}
	return epoch;
}

static uint64_t drain_all(void) {
	uint64_t n = 0;
	uint64_t epoch = settled_epoch();
	uint64_t horizon = wire_epoch_owner(epoch) == 0 ? atomic_load(&header->common.stamp)
													: UINT64_MAX;
	bool is_all = true;
	for (uint32_t i = 0; i < header->n_slots; i++) {
		n += drain_slot(i);
		is_all &= is_drained(slot_at(i));
	}
	if (is_all) {
		apply_all(epoch, horizon); // else some of them may be there that is older than others here
	}
	return n;
}

// ---- the segment

static uint64_t page_up(uint64_t n) {
	return (n + WIRE_PAGE_MOST - 1) & ~(uint64_t)(WIRE_PAGE_MOST - 1);
}

static void make_segment(void) {
	const uint32_t module_capacity = 1024;
	const uint64_t private_bytes = 1 << 20;
	uint64_t marks_at = page_up(sizeof *header);
	uint64_t modules_at = page_up(marks_at + WIRE_N_MARKS * sizeof(struct wire_mark));
	uint64_t nodes_at = page_up(modules_at + module_capacity * sizeof(struct wire_module));
	uint64_t slots_at = nodes_at + page_up(wanted.node_capacity * sizeof(struct wire_node));
	uint64_t slot_bytes = page_up(SLOT_PRIVATE_AT + private_bytes);
	uint64_t bytes = slots_at + wanted.n_slots * slot_bytes;
	segment_fd = memfd_create(SEGMENT_MAPPING_NAME, MFD_CLOEXEC);
	if (segment_fd < 0 || ftruncate(segment_fd, (off_t)bytes) != 0) {
		die("memfd");
	}
	header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment_fd, 0);
	if (header == MAP_FAILED) {
		die("mmap");
	}
	slots = (unsigned char *)header + slots_at;
	drains = calloc(wanted.n_slots, sizeof *drains);
	*header = (struct segment_header){.magic = SEGMENT_MAGIC,
			.version = SEGMENT_VERSION,
			.options = wanted.options,
			.segment_bytes = bytes,
			.tables = {[TABLE_MARKS] = {marks_at, WIRE_N_MARKS * sizeof(struct wire_mark)},
					[TABLE_MODULES] = {modules_at, module_capacity * sizeof(struct wire_module)},
					[TABLE_NODES] = {nodes_at, wanted.node_capacity * sizeof(struct wire_node)},
					[TABLE_SLOTS] = {slots_at, wanted.n_slots * slot_bytes}},
			.page_bytes = wanted.page_bytes,
			.slot_bytes = slot_bytes,
			.n_slots = wanted.n_slots,
			.module_capacity = module_capacity,
			.node_capacity = wanted.node_capacity,
			.start_ns = now_ns(),
			.state = SEGMENT_OPEN,
			.common = {.stamps = STAMPS_COUNTED, .stamp = STAMPS_COUNTED_FROM},
			.n_nodes = 1};
	if (getrandom(header->token, sizeof header->token, 0) != sizeof header->token) {
		die("getrandom");
	}
}

/** The kernel stores FUTEX_OWNER_DIED into header->common.owner when this thread dies. */
static void hold_owner_word(void) {
	static struct robust_list node;
	static struct robust_list_head head;
	head.list.next = &node;
	node.next = &head.list;
	head.futex_offset = (char *)&header->common.owner - (char *)&node;
	atomic_store(&header->common.owner, (uint32_t)gettid());
	if (syscall(SYS_set_robust_list, &head, sizeof head) != 0) {
		die("set_robust_list");
	}
}

static void token_text(char text[33]) {
	for (unsigned i = 0; i < sizeof header->token; i++) {
		sprintf(text + 2 * i, "%02x", header->token[i]);
	}
}

/** Before the program starts: it may ask at once. */
static int open_socket(void) {
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	strcpy(name.sun_path + 1, SEGMENT_SOCKET_PREFIX);
	token_text(name.sun_path + 1 + strlen(SEGMENT_SOCKET_PREFIX));
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			strlen(name.sun_path + 1));
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&name, bytes) != 0 || listen(listener, 64) != 0) {
		die("socket");
	}
	return listener;
}

/** Hand the descriptor to whoever connects. */
static void *serve_socket(void *arg) {
	int listener = *(int *)arg;
	for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
		_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
		char byte = 0;
		struct iovec data = {.iov_base = &byte, .iov_len = 1};
		struct msghdr m = {.msg_iov = &data,
				.msg_iovlen = 1,
				.msg_control = control,
				.msg_controllen = sizeof control};
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		*c = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(c), &segment_fd, sizeof segment_fd);
		(void)sendmsg(fd, &m, MSG_NOSIGNAL);
		close(fd);
	}
	return NULL;
}

/** Heart and clock, apart from the draining. */
static void *beat(void *arg) {
	(void)arg;
	for (unsigned n = 0;; n++) {
		const struct timespec pause = {.tv_nsec = 1000000};
		nanosleep(&pause, NULL);
		atomic_store(&header->common.tick_ns, now_ns() - header->start_ns);
		if (n % 256 == 0) {
			atomic_fetch_add(&header->common.heartbeat, 1);
		}
	}
	return NULL;
}

static pid_t start_program(char **command, const char *recorder) {
	pid_t collector = getpid();
	pid_t pid = fork();
	if (pid == 0) {
		char value[128];
		char token[33];
		token_text(token);
		header->program_pid = (uint32_t)getpid();
		snprintf(value, sizeof value, "%d:%d:%d:%s", (int)getpid(), (int)collector,
				wanted.by_socket_only ? 9999 : segment_fd, token);
		setenv(SEGMENT_ENV, value, 1);
		char preload[4096];
		const char *others = getenv("MORE_PRELOAD");
		snprintf(preload, sizeof preload, "%s%s%s", recorder, others != NULL ? ":" : "",
				others != NULL ? others : "");
		setenv("LD_PRELOAD", preload, 1);
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	return pid;
}

// ---- the run

static void sleep_on_bell(void) {
	const struct timespec at_most = {.tv_nsec = 10000000};
	atomic_store(&header->common.bell, 0);
	syscall(SYS_futex, &header->common.bell, FUTEX_WAIT, 0, &at_most, NULL, 0);
}

static int collect(pid_t program) {
	int status = 0;
	while (waitpid(program, &status, WNOHANG) == 0) {
		if (drain_all() == 0 || counted.n_entries >= wanted.stop_after) {
			sleep_on_bell();
		}
	}
	while (drain_all() != 0) {}
	for (uint32_t i = 0; i < header->n_slots; i++) {
		if (atomic_load(&slot_at(i)->state) != SLOT_FREE) {
			add_up(slot_at(i));
		}
	}
	apply_all(UINT64_MAX, 0);
	return status;
}

static void report(const char *path, int status) {
	FILE *f = fopen(path, "w");
	uint64_t live_bytes = 0;
	for (size_t i = 0; i < block_capacity; i++) {
		live_bytes += blocks[i].ptr != 0 ? blocks[i].size : 0;
	}
#define SAY(name, value) fprintf(f, "  \"%s\": %llu,\n", name, (unsigned long long)(value))
	fprintf(f, "{\n");
	// Of the epochs none is given to a thread here: when the first one ends, its owner may have reserved
	// an entry that does not do
	uint64_t n_given_up = wire_epoch_number(header->common.epoch) > 1;
	uint64_t n_voids = counted.kinds[KIND_VOID];
	SAY("voids", n_voids > n_given_up ? n_voids - n_given_up : 0);
	SAY("allocs", counted.kinds[KIND_ALLOC]);
	SAY("frees", counted.kinds[KIND_FREE]);
	SAY("reallocs", counted.kinds[KIND_REALLOC]);
	SAY("moved", counted.kinds[KIND_MOVED]);
	SAY("stayed", counted.kinds[KIND_STAYED]);
	SAY("wide", counted.kinds[KIND_WIDE]);
	SAY("times", counted.kinds[KIND_TIME]);
	SAY("bytes", counted.n_bytes);
	SAY("live_blocks", n_blocks);
	SAY("live_bytes", live_bytes);
	SAY("wrong_allocs", counted.n_wrong_allocs);
	SAY("orphan_frees", counted.n_orphan_frees);
	SAY("stray_answers", counted.n_stray_answers);
	SAY("labels_back", counted.n_labels_back);
	SAY("threads", counted.n_threads);
	SAY("failed", counted.failed);
	SAY("lost", counted.lost);
	SAY("truncated", counted.truncated);
	SAY("abandoned", counted.abandoned);
	SAY("images", header->n_images);
	SAY("nodes", header->n_nodes);
	SAY("modules", header->n_modules);
	SAY("children_forked", header->n_children_forked);
	SAY("children_executed", header->n_children_executed);
	SAY("lost_no_slot", header->lost_no_slot);
	SAY("lost_early", header->lost_early);
	SAY("mapped_slots", header->mapped_slots);
	SAY("mapped_nodes", header->mapped_nodes);
	SAY("state", header->state);
	fprintf(f, "  \"children\": [");
	for (unsigned i = 0, n = 0; i < WIRE_N_CHILDREN; i++) {
		const struct wire_child *c = &header->children[i];
		if (c->pid != 0 && c->pid != WIRE_CHILD_CLAIMED) {
			fprintf(f, "%s[%u, \"%s\", \"%s\"]", n++ == 0 ? "" : ", ", c->is_fork, c->comm, c->exe);
		}
	}
	fprintf(f, "],\n  \"status\": %d\n}\n",
			WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	fclose(f);
}

static int read_options(char **argv) {
	int i = 1;
	for (; argv[i] != NULL && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--count") == 0) {
			wanted.counts_only = true;
		} else if (strcmp(argv[i], "--socket") == 0) {
			wanted.by_socket_only = true;
		} else if (strcmp(argv[i], "--free-stacks") == 0) {
			wanted.options |= SEGMENT_FREE_STACKS;
		} else if (strcmp(argv[i], "--exact-time") == 0) {
			wanted.options |= SEGMENT_EXACT_TIME;
		} else if (strcmp(argv[i], "--slots") == 0) {
			wanted.n_slots = (uint32_t)atoi(argv[++i]);
		} else if (strcmp(argv[i], "--nodes") == 0) {
			wanted.node_capacity = (uint32_t)atoi(argv[++i]);
		} else if (strcmp(argv[i], "--page") == 0) {
			wanted.page_bytes = (uint32_t)atoi(argv[++i]);
		} else if (strcmp(argv[i], "--stop-after") == 0) {
			wanted.stop_after = (uint64_t)atoll(argv[++i]);
		} else {
			fprintf(stderr, "what is %s?\n", argv[i]);
			exit(125);
		}
	}
	return i;
}

int main(int argc, char **argv) {
	int i = read_options(argv);
	if (argc < i + 3) {
		fprintf(stderr, "plain_collector [options] RECORDER REPORT PROGRAM [ARGS...]\n");
		return 125;
	}
	make_segment();
	int listener = open_socket();
	pid_t program = start_program(argv + i + 2, argv[i]);
	hold_owner_word();
	pthread_t thread;
	if (pthread_create(&thread, NULL, beat, NULL) != 0 ||
			pthread_create(&thread, NULL, serve_socket, &listener) != 0) {
		die("pthread_create");
	}
	int status = collect(program);
	report(argv[i + 1], status);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
