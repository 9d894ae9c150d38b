// SPDX-License-Identifier: MIT
/*
 * The segment is mapped as one, since each mapping costs several us; if the address space is
 * limited, in pieces, with fewer nodes and slots: [header, marks, modules, layouts], nodes, slots,
 * [units, excerpts]. Slots are made accessible one by one. In a tree, a copy of a recorded process
 * (fork) maps its own cell over its parent's: all that it knows by address or number, in private
 * memory as well, stays valid. The descriptor comes from /proc or the collector's socket.
 */
#include "recorder/core/segment.h"

#include "recorder/core/family.h"

#include <fcntl.h>
#include <linux/errno.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

struct segment segment;

static _Atomic uint32_t n_open_slots;

// ---- the descriptor that the environment variable SEGMENT_ENV describes

enum { TOKEN_DIGITS = 2 * sizeof((struct segment_header *)0)->token };

struct address {
	int32_t program_pid;
	int32_t collector_pid;
	int32_t fd;
	const char *token; // in hexadecimal
};

/** A decimal number and the colon behind it, or NULL. */
static const char *read_number(const char *text, int32_t *value) {
	enum { DIGITS_MAX = 10 };
	const char *end = text;
	uint64_t n = sys_take_number(&end);
	*value = (int32_t)n;
	bool is_number = end != text && end - text <= DIGITS_MAX && n <= INT32_MAX;
	return is_number && *end == ':' ? end + 1 : NULL;
}

/** Find and parse the variable. `environment` may be NULL. False: it is missing or invalid. */
static bool find_address(struct address *a, char **environment) {
	char **entry = sys_entry(environment, SEGMENT_ENV "=");
	const char *text = entry == NULL ? NULL : *entry + sizeof SEGMENT_ENV;
	text = text == NULL ? NULL : read_number(text, &a->program_pid);
	text = text == NULL ? NULL : read_number(text, &a->collector_pid);
	text = text == NULL ? NULL : read_number(text, &a->fd);
	a->token = text;
	return text != NULL && sys_text_length(text) == TOKEN_DIGITS;
}

/** By the collector's own descriptor. Checked first: opening some files has effects. */
static int open_by_proc(const struct address *a) {
	char path[64];
	sys_put_number(sys_put_text(sys_put_number(sys_put_text(path, "/proc/"), a->collector_pid),
						   "/fd/"),
			a->fd);
	char link[64];
	(void)sys_read_link(path, link, sizeof link);
	if (sys_after(link, "/memfd:" SEGMENT_MAPPING_NAME) == NULL) {
		return -1;
	}
	long fd = syscall_4(__NR_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC | O_NOCTTY, 0);
	return sys_failed(fd) ? -1 : (int)fd;
}

static long now_s(void) {
	struct timespec now = {0};
	(void)syscall_2(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&now);
	return now.tv_sec;
}

static bool connect_to_collector(long fd, const char *token, long patience_s) {
	const struct timeval most = {.tv_sec = patience_s};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	char *end = sys_put_text(sys_put_text(name.sun_path + 1, SEGMENT_SOCKET_PREFIX), token);
	(void)syscall_6(__NR_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&most, sizeof most, 0);
	(void)syscall_6(__NR_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&most, sizeof most, 0);
	return !sys_failed(syscall_3(__NR_connect, fd, (long)&name, end - (char *)&name));
}

enum { NO_ANSWER = -2 }; // closed without one, perhaps since we were slow to ask; -1: refused

static int receive_descriptor(long fd, long until_s) {
	char byte;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec data = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &data,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof control};
	long n;
	do { // a call with a time limit ends when a handler has run or a tracer has come
		n = syscall_3(__NR_recvmsg, fd, (long)&message, MSG_CMSG_CLOEXEC);
	} while (n == -EINTR && now_s() < until_s);
	const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (n != 1 || c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
			c->cmsg_len != CMSG_LEN(sizeof(int))) {
		return n == 0 || n == -ECONNRESET ? NO_ANSWER : -1;
	}
	int received;
	sys_copy(&received, CMSG_DATA(c), sizeof received);
	return received;
}

/** `join`, `common`: in a tree, else NULL. *common is a second descriptor, or -1. */
static int open_by_socket(const char *token, const struct wire_join *join, int *common) {
	const long patience_s = join == NULL ? 1 : 5;
	const long until_s = now_s() + patience_s;
	int received;
	do {
		long fd = syscall_3(__NR_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		received = -1;
		if (!sys_failed(fd) && connect_to_collector(fd, token, patience_s)) {
			if (join != NULL) { // else, and where that fails, the answer tells
				(void)syscall_6(__NR_sendto, fd, (long)join, sizeof *join, MSG_NOSIGNAL, 0, 0);
			}
			received = receive_descriptor(fd, until_s);
		}
		if (common != NULL) {
			*common = received < 0 ? -1 : receive_descriptor(fd, until_s);
		}
		(void)syscall_1(__NR_close, fd);
	} while (join != NULL && received == NO_ANSWER && now_s() < until_s);
	return received;
}

// ---- mapping

static bool table_is_valid(const struct segment_header *h, unsigned table, uint64_t n,
		uint64_t item_bytes) {
	const struct wire_table *t = &h->tables[table];
	return t->at % WIRE_PAGE_MOST == 0 && t->at >= sizeof *h && t->at <= h->segment_bytes &&
			t->bytes <= h->segment_bytes - t->at && t->bytes / item_bytes >= n;
}

static void put_token(const struct segment_header *h, char token[TOKEN_DIGITS]) {
	for (unsigned i = 0; i < TOKEN_DIGITS; i++) {
		token[i] = "0123456789abcdef"[h->token[i / 2] >> (i % 2 != 0 ? 0 : 4) & 15];
	}
}

static bool token_is(const struct segment_header *h, const char *token) {
	char own[TOKEN_DIGITS];
	put_token(h, own);
	return sys_equal(own, token, sizeof own);
}

/** `token`: what it must contain, or NULL if the descriptor proves enough. */
static bool header_is_valid(const struct segment_header *h, uint64_t bytes, const char *token) {
	const uint32_t page = h->page_bytes;
	return h->magic == SEGMENT_MAGIC && h->version == SEGMENT_VERSION &&
			h->segment_bytes <= bytes && (token == NULL || token_is(h, token)) &&
			page >= WIRE_PAGE_LEAST && page <= WIRE_PAGE_MOST && (page & (page - 1)) == 0 &&
			h->slot_bytes % WIRE_PAGE_MOST == 0 && h->slot_bytes >= SEGMENT_OPEN_BYTES &&
			h->n_slots > 0 &&
			table_is_valid(h, TABLE_MARKS, WIRE_N_MARKS, sizeof(struct wire_mark)) &&
			table_is_valid(h, TABLE_MODULES, h->module_capacity, sizeof(struct wire_module)) &&
			table_is_valid(h, TABLE_NODES, h->node_capacity, sizeof(struct wire_node)) &&
			table_is_valid(h, TABLE_SLOTS, h->n_slots, h->slot_bytes);
}

static void *map_piece(int fd, uint64_t offset, uint64_t bytes, int protection) {
	void *piece = sys_mmap(NULL, bytes, protection, MAP_SHARED | MAP_NORESERVE, fd, offset);
	if (piece != NULL) {
		(void)sys_madvise(piece, bytes, MADV_DONTDUMP);
	}
	return piece;
}

/** Map a piece of the segment at an address in use, in place of what is there. */
static bool map_over(int fd, uint64_t offset, void *at, uint64_t bytes, int protection) {
	return !sys_failed(syscall_6(__NR_mmap, (long)at, (long)bytes, protection,
				   MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, (long)offset)) &&
			sys_madvise(at, bytes, MADV_DONTDUMP);
}

/** The least number of slots: 8, if a quarter of the limit holds them, or 1. */
static uint32_t least_slots(const struct segment_header *h, uint64_t limit_bytes) {
	enum { N_LEAST_SLOTS = 8 };
	uint64_t n = limit_bytes / 4 / h->slot_bytes;
	n = n > N_LEAST_SLOTS ? N_LEAST_SLOTS : n < 1 ? 1 : n;
	return n < h->n_slots ? (uint32_t)n : h->n_slots;
}

/** Bytes rounded up to pages. */
static uint64_t in_pages(uint64_t bytes, uint32_t page_bytes) {
	return (bytes + page_bytes - 1) & ~(uint64_t)(page_bytes - 1);
}

/** Map up to `n` items of `item_bytes`, fewer if there is no room; 0: not even `n_least`. */
static uint32_t map_table(int fd, const struct segment_header *h, unsigned which,
		uint64_t item_bytes, uint32_t n, uint32_t n_least, uint64_t allowance, void **table) {
	if (n > allowance / item_bytes) {
		n = (uint32_t)(allowance / item_bytes);
	}
	for (n = n < n_least ? n_least : n; n >= n_least; n /= 2) {
		*table = map_piece(fd, h->tables[which].at,
				in_pages((uint64_t)n * item_bytes, h->page_bytes), PROT_NONE);
		if (*table != NULL) {
			return n;
		}
	}
	return 0;
}

/** Bytes of units and excerpts, which are adjacent. 0: without them, frames stay native. */
static uint64_t units_bytes(const struct segment_header *h) {
	const struct wire_table *units = &h->tables[TABLE_UNITS], *last = &h->tables[TABLE_EXCERPTS];
	return table_is_valid(h, TABLE_LAYOUTS, WIRE_N_LAYOUTS, sizeof(struct wire_layout)) &&
					table_is_valid(h, TABLE_UNITS, WIRE_N_UNITS, sizeof(struct wire_unit)) &&
					table_is_valid(h, TABLE_EXCERPTS, WIRE_EXCERPTS_BYTES, 1) &&
					last->at >= units->at
			? last->at + last->bytes - units->at
			: 0;
}

/** Open what comes after `from`, or close it. */
static bool open_table(void *table, uint64_t from, uint64_t bytes, bool opens) {
	from = in_pages(from < bytes ? from : bytes, segment.page_bytes);
	return from >= bytes ||
			sys_mprotect((unsigned char *)table + from, bytes - from,
					opens ? PROT_READ | PROT_WRITE : PROT_NONE);
}

bool segment_open_units(bool opens) {
	uint64_t n = atomic_load(&segment.header->n_units) + 1ull;
	uint64_t bytes = atomic_load(&segment.header->excerpt_used);
	if (segment.unit_hash == NULL) {
		segment.unit_hash = sys_map(sizeof *segment.unit_hash << SEGMENT_UNIT_HASH_BITS);
	}
	segment.n_units_open = opens || n > WIRE_N_UNITS ? WIRE_N_UNITS : (uint32_t)n;
	segment.excerpts_open = opens || bytes > WIRE_EXCERPTS_BYTES ? WIRE_EXCERPTS_BYTES : bytes;
	return segment.unit_hash != NULL &&
			open_table(segment.units, opens ? 0 : n * sizeof(struct wire_unit),
					WIRE_N_UNITS * sizeof(struct wire_unit), opens) &&
			open_table(segment.excerpts, opens ? 0 : bytes, WIRE_EXCERPTS_BYTES, opens);
}

static void say_what_is_mapped(struct segment_header *h) {
	// Of several images the narrowest counts; 0: none has said anything yet
	atomic_store_explicit(&h->mapped_slots, segment.n_slots, memory_order_relaxed);
	atomic_store_explicit(&h->mapped_nodes, segment.n_nodes, memory_order_relaxed);
}

void segment_count_stamps(void) {
	atomic_store(&segment.has_no_clock, true);
	atomic_store(&segment.common->stamps, STAMPS_COUNTED);
}

void segment_note_prctl(int option, uint64_t value) {
	if ((option == PR_SET_TSC && value == PR_TSC_SIGSEGV) ||
			(option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT)) {
		segment_count_stamps();
	}
	const bool filters = option == PR_SET_SECCOMP && value == SECCOMP_MODE_FILTER;
	atomic_fetch_or(&segment.header->has_filter, filters); // for what it forks at once
}

/** Another attempt, as of a search in PATH, takes the same entry. */
void segment_note_spawned(uint32_t pid, bool has_failed) {
	enum { LOOKED_AT = 64 }; // more vforks are not under way at a time
	struct segment_header *h = segment.header;
	if ((segment.options & SEGMENT_TREE) == 0) {
		return;
	}
	const uint32_t n = atomic_load(&h->n_spawned), entry = pid | (has_failed ? SPAWN_FAILED : 0);
	for (uint32_t i = n; i-- > 0 && n - i <= LOOKED_AT;) {
		_Atomic uint32_t *known = &h->spawned[i % WIRE_N_SPAWNED];
		if ((atomic_load(known) & ~SPAWN_FAILED) == pid) {
			atomic_store(known, entry);
			return;
		}
	}
	atomic_store(&h->spawned[atomic_fetch_add(&h->n_spawned, 1) % WIRE_N_SPAWNED], entry);
}

void segment_note_exec(uint64_t now_ns) {
	const long pid = segment_may_call_system() ? syscall_0(__NR_getpid) : 0;
	if (pid == (long)segment.header->program_pid) {
		atomic_store(&segment.header->exec_ns, now_ns ? now_ns - segment.header->start_ns : 0);
	} else if (pid > 0) {
		segment_note_spawned((uint32_t)pid, now_ns == 0);
	}
}

/** Map the segment in pieces, with fewer slots and nodes if need be. False: no room at all. */
static bool map_pieces(int fd, const struct segment_header *h, uint64_t limit_bytes,
		struct segment *s) {
	enum { N_LEAST_NODES = 1 << 14 };
	const uint64_t allowance = limit_bytes / 8, runtimes = units_bytes(h);
	const uint64_t base_bytes = h->tables[TABLE_NODES].at;
	unsigned char *base = map_piece(fd, 0, base_bytes, PROT_READ | PROT_WRITE);
	if (base == NULL) {
		return false;
	}
	uint32_t n_least_nodes = h->node_capacity < N_LEAST_NODES ? h->node_capacity : N_LEAST_NODES;
	void *nodes = NULL, *slots = NULL;
	s->n_slots = map_table(fd, h, TABLE_SLOTS, h->slot_bytes, h->n_slots,
			least_slots(h, limit_bytes), allowance / 2, &slots);
	s->n_nodes = map_table(fd, h, TABLE_NODES, sizeof *s->nodes, h->node_capacity, n_least_nodes,
			allowance / 2, &nodes);
	if (s->n_slots == 0 || s->n_nodes == 0 ||
			!sys_mprotect(nodes, s->n_nodes * sizeof *s->nodes, PROT_READ | PROT_WRITE)) {
		sys_munmap(base, base_bytes); // the program needs the room
		sys_munmap(slots, s->n_slots * h->slot_bytes);
		sys_munmap(nodes, s->n_nodes * sizeof *s->nodes);
		return false;
	}
	s->header = (struct segment_header *)base;
	s->nodes = nodes;
	s->slots = slots;
	s->units = runtimes > 0 && runtimes <= allowance / 4
			? map_piece(fd, h->tables[TABLE_UNITS].at, runtimes, PROT_NONE)
			: NULL;
	return true;
}

/** Make what is used from the start accessible in a segment that is mapped at `whole`. */
static bool open_whole(struct segment_header *h, unsigned char *whole, struct segment *s) {
	s->is_whole = true;
	s->header = h;
	s->nodes = (struct wire_node *)(whole + h->tables[TABLE_NODES].at);
	s->slots = whole + h->tables[TABLE_SLOTS].at;
	s->units = units_bytes(h) > 0 ? (struct wire_unit *)(whole + h->tables[TABLE_UNITS].at) : NULL;
	s->n_nodes = h->node_capacity;
	s->n_slots = h->n_slots;
	return sys_mprotect(whole, h->tables[TABLE_SLOTS].at, PROT_READ | PROT_WRITE);
}

/** `whole`: where all of it is mapped, or NULL. */
static bool map_program(int fd, struct segment_header *h, unsigned char *whole,
		uint64_t limit_bytes, int common_fd) {
	const struct wire_table *tables = h->tables;
	struct segment s = {
			.slot_bytes = h->slot_bytes,
			.n_modules = h->module_capacity <= WIRE_MODULE_MAX ? h->module_capacity
															   : WIRE_MODULE_MAX + 1,
			.page_bytes = h->page_bytes,
			.options = h->options,
	};
	if (!(whole != NULL ? open_whole(h, whole, &s) : map_pieces(fd, h, limit_bytes, &s))) {
		return false;
	}
	unsigned char *base = (unsigned char *)s.header;
	const bool is_cell = (h->options & SEGMENT_TREE) != 0;
	s.common = is_cell ? map_piece(common_fd, 0, WIRE_PAGE_MOST, PROT_READ | PROT_WRITE)
					   : &s.header->common;
	if (s.common == NULL) {
		return false;
	}
	own_begin(OWN_TOLD, s.header->own, WIRE_N_OWN);
	s.marks = (struct wire_mark *)(base + tables[TABLE_MARKS].at);
	s.modules = (struct wire_module *)(base + tables[TABLE_MODULES].at);
	if (s.units != NULL) {
		s.layouts = (struct wire_layout *)(base + tables[TABLE_LAYOUTS].at);
		s.excerpts = (unsigned char *)s.units + tables[TABLE_EXCERPTS].at - tables[TABLE_UNITS].at;
	}
	s.n_nodes_open = s.n_nodes;
	s.image = 1 + atomic_fetch_add(&s.header->n_images, 1);
	s.n_claims_before = atomic_load(&s.header->n_claims);
	segment = s;
	if (is_cell) {
		s.header->program_pid = (uint32_t)syscall_0(__NR_getpid);
	}
	say_what_is_mapped(s.header);
	atomic_store(&s.header->exec_ns, 0); // what the program became has been seen
	return true;
}

/** Map the segment behind `fd`, if we are its program, and close `fd`. */
static enum segment_role open_behind(int fd, const char *token, int32_t program_pid,
		int common_fd) {
	enum segment_role role = SEGMENT_ROLE_NONE;
	struct stat s;
	uint64_t bytes = sys_failed(syscall_2(__NR_fstat, fd, (long)&s)) ? 0 : (uint64_t)s.st_size;
	struct rlimit limit;
	bool is_limited = !sys_failed(syscall_4(__NR_prlimit64, 0, RLIMIT_AS, 0, (long)&limit)) &&
			limit.rlim_cur != RLIM_INFINITY;
	const uint64_t head = sizeof(struct segment_header);
	unsigned char *whole = is_limited || bytes < head ? NULL : map_piece(fd, 0, bytes, PROT_NONE);
	struct segment_header *h = whole != NULL || bytes < head
			? (struct segment_header *)whole
			: map_piece(fd, 0, head, PROT_READ | PROT_WRITE);
	if (h != NULL && (whole == NULL || sys_mprotect(h, head, PROT_READ | PROT_WRITE)) &&
			header_is_valid(h, bytes, token)) {
		if (syscall_0(__NR_getpid) != program_pid) {
			family_announce(h, false);
			role = SEGMENT_ROLE_CHILD;
		} else if (atomic_load(&h->state) == SEGMENT_OPEN &&
				(token == NULL || atomic_load(&h->exec) != EXEC_INJECTED)) {
			if (map_program(fd, h, whole, is_limited ? limit.rlim_cur : RLIM_INFINITY, common_fd)) {
				role = SEGMENT_ROLE_PROGRAM;
			} else {
				atomic_fetch_add(&h->n_too_narrow, 1);
			}
		}
	}
	if (h != NULL && segment.header != h) {
		sys_munmap(h, whole != NULL ? bytes : head);
	}
	(void)syscall_1(__NR_close, fd);
	return role;
}

enum segment_role segment_ask(const char *token) {
	int common = -1;
	int fd = open_by_socket(token, &(struct wire_join){0}, &common);
	enum segment_role role = fd < 0
			? SEGMENT_ROLE_NONE
			: open_behind(fd, token, (int32_t)syscall_0(__NR_getpid), common);
	(void)syscall_1(__NR_close, common); // if there is one
	return role;
}

enum segment_role segment_open(char **environment) {
	struct address address;
	if (!find_address(&address, environment)) {
		return SEGMENT_ROLE_NONE;
	}
	const bool is_tree = address.program_pid == 0;
	enum segment_role role = is_tree ? segment_ask(address.token) : SEGMENT_ROLE_NONE;
	if (role == SEGMENT_ROLE_NONE) {
		int fd = open_by_proc(&address);
		fd = fd >= 0 || is_tree ? fd : open_by_socket(address.token, NULL, NULL); // bounded in time
		role = fd < 0 ? role : open_behind(fd, address.token, address.program_pid, -1);
	}
	return role;
}

static uint64_t nodes_bytes(uint32_t n) {
	return in_pages((uint64_t)n * sizeof(struct wire_node), segment.page_bytes);
}

/** Bytes from the first node to the slots, if these follow, or to the last mapped node. */
static uint64_t nodes_room(void) {
	return segment.is_whole ? (uint64_t)(segment.slots - (unsigned char *)segment.nodes)
							: nodes_bytes(segment.n_nodes);
}

/** Map the cell behind `fd` where the parent's is mapped, the header last. */
static bool map_own(int fd) {
	const struct segment_header *h = segment.header;
	const struct wire_table *t = h->tables;
	const uint64_t units = segment.units != NULL ? units_bytes(h) : 0, slots_at = t[TABLE_SLOTS].at;
	const int open = PROT_READ | PROT_WRITE;
	atomic_store(&n_open_slots, 0);
	if (segment.is_whole) {
		return map_over(fd, 0, segment.header, h->segment_bytes, PROT_NONE) &&
				sys_mprotect(segment.header, slots_at, open);
	}
	return map_over(fd, slots_at, segment.slots, segment.n_slots * segment.slot_bytes, PROT_NONE) &&
			map_over(fd, t[TABLE_NODES].at, segment.nodes, nodes_bytes(segment.n_nodes), open) &&
			(units == 0 || map_over(fd, t[TABLE_UNITS].at, segment.units, units, PROT_NONE)) &&
			map_over(fd, 0, segment.header, t[TABLE_NODES].at, open);
}

/** What a copy of our parent knows by number must be in its own cell, too. */
static void copy_known(unsigned char *cell, uint32_t n_nodes) {
	const struct segment_header *from = segment.header;
	struct segment_header *to = (struct segment_header *)cell;
	const struct wire_table *tables = from->tables, *layouts = &tables[TABLE_LAYOUTS];
	uint32_t n_modules = atomic_load(&from->n_modules) + 1;
	n_modules = n_modules < segment.n_modules ? n_modules : segment.n_modules;
	if (segment.n_units_open > 0) { // before the modules that tell the collector of a runtime
		sys_copy(cell + layouts->at, segment.layouts, layouts->bytes);
	}
	sys_copy(cell + tables[TABLE_MODULES].at, segment.modules, n_modules * sizeof *segment.modules);
	sys_copy(cell + tables[TABLE_NODES].at, segment.nodes, n_nodes * sizeof *segment.nodes);
	atomic_store(&to->n_nodes, atomic_load(&from->n_nodes));
	atomic_store(&to->n_modules, n_modules - 1);
	atomic_store(&to->n_images, atomic_load(&from->n_images));
	atomic_store(&to->hash_bytes, atomic_load(&from->hash_bytes));
	// The parent's units keep their numbers, and stay where they are: ours come behind them
	atomic_store(&to->n_units, atomic_load(&from->n_units));
	atomic_store(&to->n_units_read, atomic_load(&from->n_units));
	atomic_store(&to->runtime_generation, atomic_load(&from->runtime_generation));
	sys_copy(to->own, from->own, sizeof to->own);
	atomic_store(&to->errand_code, atomic_load(&from->errand_code));
	to->program_pid = (uint32_t)syscall_0(__NR_getpid);
}

/** Join the cell behind `fd`, and close that. It is not written as a file: `ulimit -f` counts. */
static bool join(int fd) {
	const struct segment_header *from = segment.header;
	// In this order: a node named as a first child is among those taken
	uint32_t n_nodes = atomic_load(&from->n_nodes);
	n_nodes = n_nodes < segment.n_nodes ? n_nodes : segment.n_nodes;
	const uint64_t bytes = from->tables[TABLE_NODES].at + nodes_bytes(n_nodes);
	unsigned char *cell = map_piece(fd, 0, bytes, PROT_READ | PROT_WRITE);
	bool ok = cell != NULL &&
			sys_equal(((struct segment_header *)cell)->tables, from->tables, sizeof from->tables);
	if (ok) {
		copy_known(cell, n_nodes);
		segment.n_claims_before = 0;
		ok = map_own(fd) && (segment.n_units_open == 0 || segment_open_units(true));
	}
	sys_munmap(cell, cell != NULL ? bytes : 0);
	(void)syscall_1(__NR_close, fd);
	return ok;
}

bool segment_join(uint32_t fork) {
	struct segment_header *h = segment.header;
	char token[TOKEN_DIGITS + 1] = "";
	put_token(h, token);
	const struct wire_join message = {h->process, fork, segment.image};
	const bool may = atomic_load(&h->state) == SEGMENT_OPEN && segment_may_ask();
	int fd = may ? open_by_socket(token, &message, NULL) : -1;
	return fd >= 0 && join(fd);
}

enum segment_role segment_adopt(int fd) {
	return open_behind(fd, NULL, (int32_t)syscall_0(__NR_getpid), -1);
}

uint32_t segment_open_slots(void) {
	return atomic_load_explicit(&n_open_slots, memory_order_acquire);
}

bool segment_open_more_slots(void) {
	uint32_t n = segment_open_slots();
	if (n >= segment.n_slots ||
			!sys_mprotect(segment_slot(n), SEGMENT_OPEN_BYTES, PROT_READ | PROT_WRITE)) {
		return false;
	}
	(void)atomic_compare_exchange_strong(&n_open_slots, &n, n + 1); // or another thread has
	return true;
}

/** Nodes up to this one are in use, or may become so by an insert in progress. */
static uint32_t n_nodes_in_use(void) {
	enum { NODES_MARGIN = 1 << 16 };
	uint64_t n = atomic_load(&segment.header->n_nodes) + (uint64_t)NODES_MARGIN;
	n = in_pages(n * sizeof(struct wire_node), segment.page_bytes) / sizeof(struct wire_node);
	return n < segment.n_nodes ? (uint32_t)n : segment.n_nodes;
}

void segment_give_back(uint64_t limit_bytes) {
	const uint64_t share_bytes = limit_bytes / 16, room = nodes_room();
	const uint64_t n_slots = segment_open_slots() + share_bytes / segment.slot_bytes;
	const uint64_t n_nodes = share_bytes / segment.page_bytes * segment.page_bytes /
			sizeof(struct wire_node);
	if (n_slots < segment.n_slots) {
		uint32_t n_before = segment.n_slots;
		segment.n_slots = (uint32_t)n_slots;
		sys_munmap(segment_slot(segment.n_slots), (n_before - n_slots) * segment.slot_bytes);
	}
	if (n_nodes < segment.n_nodes) {
		const uint32_t n_in_use = n_nodes_in_use();
		segment.n_nodes = n_nodes > n_in_use ? (uint32_t)n_nodes : n_in_use;
		segment.n_nodes_open = segment.n_nodes;
	}
	void *const units = segment.n_units_open == 0 ? segment.units : NULL;
	if (units != NULL && units_bytes(segment.header) > limit_bytes / 8) {
		segment.units = NULL; // the functions of a runtime that comes later have no names
		sys_munmap(units, units_bytes(segment.header));
	}
	segment.is_whole = false; // it has a hole behind the nodes
	const uint64_t nodes_end = nodes_bytes(segment.n_nodes);
	sys_munmap((unsigned char *)segment.nodes + nodes_end, room - nodes_end);
	say_what_is_mapped(segment.header);
}

void segment_close_unused(bool closes) {
	uint32_t n = n_nodes_in_use();
	segment.n_nodes_open = closes ? n : segment.n_nodes;
	(void)open_table(segment.nodes, n * sizeof(struct wire_node), nodes_room(), !closes);
	if (segment.n_units_open > 0) {
		(void)segment_open_units(!closes);
	}
}

void segment_ring_bell(void) {
	_Atomic uint32_t *bell = &segment.common->bell;
	// Pairs with segment_arm(): either it sees in the rings what we published, or we see its 0
	atomic_thread_fence(memory_order_seq_cst);
	// Looking first keeps the line shared while the collector is awake
	if (atomic_load_explicit(bell, memory_order_relaxed) == 0 && segment_may_call_system() &&
			atomic_exchange(bell, 1) == 0) {
		(void)syscall_3(__NR_futex, (long)bell, FUTEX_WAKE, 1);
	}
}
