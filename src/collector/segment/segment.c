// SPDX-License-Identifier: MIT
/* Lays the segment out, smaller if the address space is limited (slots first), and frees slots. */
#include "collector/segment/segment.h"

#include <sys/random.h>

enum {
	OWN_BYTES = 600 << 20, // heaptrack's own; half of it is the engine's table of addresses
	LEAST_SLOTS = 64,
	LEAST_OF_ALL_SLOTS = 8,
	LEAST_SLOT_BYTES = 1 << 20,
	LEAST_NODES = 1 << 18,
	LEAST_MODULES = 1 << 12,
	DEFAULT_SLOT_BYTES = 32 << 20,
	SLOTS_ALIGN = 2 << 20, // of huge pages, if the system uses them for shared memory
	TICK_NS = 50 * 1000,   // each store takes the cache line from all of the target's cores
};

struct plan {
	struct wire_table tables[WIRE_N_TABLES];
	uint64_t bytes; // of all
};

static void place(struct plan *p, unsigned table, uint64_t bytes, uint64_t to) {
	p->tables[table] = (struct wire_table){round_up(p->bytes, to), bytes};
	p->bytes = round_up(p->tables[table].at + bytes, WIRE_PAGE_MOST);
}

static void lay_out(const struct segment *s, struct plan *p) {
	*p = (struct plan){.bytes = sizeof(struct segment_header)};
	place(p, TABLE_MARKS, WIRE_N_MARKS * sizeof(struct wire_mark), WIRE_PAGE_MOST);
	place(p, TABLE_MODULES, s->module_capacity * sizeof(struct wire_module), WIRE_PAGE_MOST);
	if (s->has_runtimes) {
		place(p, TABLE_LAYOUTS, WIRE_N_LAYOUTS * sizeof(struct wire_layout), WIRE_PAGE_MOST);
	}
	place(p, TABLE_NODES, (uint64_t)s->node_capacity * sizeof(struct wire_node), WIRE_PAGE_MOST);
	place(p, TABLE_SLOTS, s->n_slots * s->slot_bytes, SLOTS_ALIGN);
	if (s->has_runtimes) {
		place(p, TABLE_UNITS, WIRE_N_UNITS * sizeof(struct wire_unit), WIRE_PAGE_MOST);
		place(p, TABLE_EXCERPTS, WIRE_EXCERPTS_BYTES, WIRE_PAGE_MOST);
	}
}

#define HALVE(x, least) ((x) / 2 >= (least) ? (x) /= 2 : 0)

/** Halve what takes the most. False: everything is as small as it can be. */
static bool shrink(struct segment *s) {
	bool had_runtimes = s->has_runtimes;
	s->has_runtimes = false;
	return had_runtimes || HALVE(s->n_slots, LEAST_SLOTS) ||
			HALVE(s->slot_bytes, LEAST_SLOT_BYTES) || HALVE(s->node_capacity, LEAST_NODES) ||
			HALVE(s->module_capacity, LEAST_MODULES) ||
			(s->n_slots > LEAST_OF_ALL_SLOTS ? s->n_slots /= 2 : 0);
}

/** Heaptrack needs its own part of a limited address space. */
static bool is_within_limit(uint64_t bytes, rlim_t *limit_bytes) {
	struct rlimit limit;
	bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
	*limit_bytes = is_limited ? limit.rlim_cur : 0;
	return !is_limited || (limit.rlim_cur > OWN_BYTES && bytes <= (limit.rlim_cur - OWN_BYTES) / 2);
}

static bool map(struct segment *s, const struct segment_params *params, struct plan *plan,
		struct err *err) {
	for (;;) {
		lay_out(s, plan);
		rlim_t limit_bytes;
		bool fits = is_within_limit(plan->bytes, &limit_bytes);
		if (!fits) {
			(void)err_limit(err,
					"the address space is limited to %" PRIu64
					" MB (ulimit -v), too little for heaptrack; limit only the program: "
					"heaptrack sh -c 'ulimit -v N; exec PROGRAM'",
					(uint64_t)limit_bytes / 1000000);
		} else {
			int fd = params->has_memory
					? fcntl(params->memory_fd, F_DUPFD_CLOEXEC, 3) // the original is the caller's
					: memfd_create(SEGMENT_MAPPING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
			if (shared_memory_init(&s->memory, fd, plan->bytes, err)) {
				return true;
			}
		}
		if (!shrink(s)) {
			return false;
		}
	}
}

bool segment_init(struct segment *s, const struct segment_params *params, struct err *err) {
	*s = (struct segment){
			.n_slots = params->n_slots ?: WIRE_MAX_SLOTS,
			.slot_bytes = params->slot_bytes ?: DEFAULT_SLOT_BYTES,
			.node_capacity = params->node_capacity ?: WIRE_MAX_NODES,
			.module_capacity = params->module_capacity ?: WIRE_MODULE_MAX + 1,
			.page_bytes = params->page_bytes ?: (uint32_t)sysconf(_SC_PAGESIZE),
			.start_ns = params->start_ns,
			.has_runtimes = true,
			FIELDS_OF(params, process, first_owner),
	};
	check(s->page_bytes >= WIRE_PAGE_LEAST && s->page_bytes <= WIRE_PAGE_MOST);
	check(s->slot_bytes % WIRE_PAGE_MOST == 0 && s->slot_bytes > SLOT_PRIVATE_AT);
	check(s->n_slots <= WIRE_MAX_SLOTS && s->node_capacity <= WIRE_MAX_NODES);
	struct plan plan;
	if (!map(s, params, &plan, err)) {
		return false;
	}

	uint8_t *base = s->memory.base;
	s->header = (struct segment_header *)(void *)base;
	s->common = params->common ?: &s->header->common;
	s->marks = (struct wire_mark *)(void *)(base + plan.tables[TABLE_MARKS].at);
	s->modules = (struct wire_module *)(void *)(base + plan.tables[TABLE_MODULES].at);
	s->nodes = (struct wire_node *)(void *)(base + plan.tables[TABLE_NODES].at);
	if (s->has_runtimes) {
		s->layouts = (struct wire_layout *)(void *)(base + plan.tables[TABLE_LAYOUTS].at);
		s->units = (struct wire_unit *)(void *)(base + plan.tables[TABLE_UNITS].at);
		s->excerpts = base + plan.tables[TABLE_EXCERPTS].at;
	}
	s->slots_at = plan.tables[TABLE_SLOTS].at;
	s->slots = base + s->slots_at;

	struct segment_header *h = s->header;
	h->magic = SEGMENT_MAGIC;
	h->version = SEGMENT_VERSION;
	h->options = params->options;
	if (params->first) {
		memcpy(h->token, params->first->header->token, sizeof h->token);
	} else if (getrandom(h->token, sizeof h->token, 0) != sizeof h->token) {
		segment_finish(s);
		return err_system(err, errno, "cannot get random bytes for the token");
	}
	put_hexadecimal(s->token, h->token, sizeof h->token);
	h->segment_bytes = plan.bytes;
	memcpy(h->tables, plan.tables, sizeof h->tables);
	COPY_FIELDS(h, s, page_bytes, slot_bytes, n_slots, module_capacity, node_capacity, start_ns);
	COPY_FIELDS(h, s, process, first_owner);
	atomic_store(&h->mapped_slots, s->n_slots);
	atomic_store(&h->mapped_nodes, s->node_capacity);
	atomic_store(&h->n_nodes, 1);
	if (!params->first) {
		atomic_store(&s->common->stamps, params->has_stamps ? STAMPS_CLOCK : STAMPS_COUNTED);
		atomic_store(&s->common->stamp, STAMPS_COUNTED_FROM);
		atomic_store(&s->common->bell, 1);
	}
	atomic_store(&h->state, SEGMENT_OPEN);
	return true;
}

void segment_finish(struct segment *s) {
	if (!s) {
		return;
	}
	if (s->is_held) {
		robust_release(&s->common->owner);
	}
	if (s->header) {
		shared_memory_finish(&s->memory);
	}
	*s = (struct segment){0};
}

bool segment_hold(struct segment *s, struct err *err) {
	return s->is_held = robust_hold(&s->common->owner, err);
}

void segment_address(struct segment *s, uint32_t program_pid, uint32_t collector_pid,
		char out[SEGMENT_ENV_BYTES]) {
	s->header->program_pid = program_pid;
	(void)snprintf(out, SEGMENT_ENV_BYTES, "%s=%u:%u:%d:%s", SEGMENT_ENV, program_pid,
			collector_pid, s->memory.fd, s->token);
}

void segment_tick(struct segment *s, uint64_t now_ns) {
	if (now_ns - s->last_tick_ns < TICK_NS) {
		return;
	}
	s->last_tick_ns = now_ns;
	uint64_t tick = now_ns - s->start_ns;
	atomic_store_explicit(&s->common->tick_ns, tick ? tick : 1, memory_order_relaxed);
}

void segment_arm(struct segment *s) {
	s->last_tick_ns = 0;
	atomic_store_explicit(&s->common->tick_ns, 0, memory_order_relaxed);
	atomic_store(&s->common->bell, 0); // pairs with the target's exchange
	// ... and, before the rings are looked at, with the fence in segment_ring_bell()
	atomic_thread_fence(memory_order_seq_cst);
}

void segment_wait(struct segment *s, uint64_t timeout_ns) {
	if (atomic_load(&s->common->bell) == 0) {
		futex_wait(&s->common->bell, 0, timeout_ns);
	}
	atomic_store(&s->common->bell, 1);
}

void segment_close(struct segment *s) {
	atomic_store(&s->header->state, SEGMENT_CLOSED);
}

void segment_free_slot(struct segment *s, uint32_t index) {
	struct thread_slot *slot = segment_slot(s, index);
	uint64_t at = s->slots_at + index * s->slot_bytes;
	uint32_t generation = slot->generation + 1;

	// The first page stays: its `state` keeps others away while the rest is zeroed
	atomic_store_explicit(&slot->state, SLOT_CLAIMED, memory_order_relaxed);
	if (s->is_lived_in) {
		return; // finished, but its thread may still look into it
	}
	uint8_t *after_state = (uint8_t *)slot + sizeof slot->state;
	memset(after_state, 0, s->page_bytes - sizeof slot->state);
	if (!shared_memory_clear(&s->memory, at + s->page_bytes, s->slot_bytes - s->page_bytes)) {
		return; // it stays claimed: one slot less
	}
	slot->generation = generation;
	atomic_store_explicit(&slot->state, SLOT_FREE, memory_order_release);

	// Low slots first: slots never used take no memory
	uint32_t hint = atomic_load_explicit(&s->header->slot_hint, memory_order_relaxed);
	if (index < hint) {
		atomic_store_explicit(&s->header->slot_hint, index, memory_order_relaxed);
	}
}

void segment_add_layout(struct segment *s, const struct wire_layout *layout) {
	while (s->n_layouts < WIRE_N_LAYOUTS && atomic_load(&s->layouts[s->n_layouts].is_in_force)) {
		s->n_layouts++; // of a copy's parent
	}
	if (s->n_layouts < WIRE_N_LAYOUTS) {
		struct wire_layout *to = &s->layouts[s->n_layouts++];
		memcpy(to, layout, sizeof *to);
		atomic_store_explicit(&to->is_in_force, 1, memory_order_release);
		atomic_fetch_add(&s->header->runtime_generation, 1);
	}
}

bool segment_let_go_on(struct segment *s, uint32_t waiting) {
	_Atomic uint32_t *state = &s->header->state;
	segment_tick(s, clock_now_ns()); // what it still does is later than the look
	bool has_waited = atomic_compare_exchange_strong(state, &waiting, SEGMENT_OPEN);
	futex_wake(state, INT32_MAX);
	return has_waited;
}

bool segment_unit(const struct segment *s, uint32_t id, struct wire_unit *out) {
	bool is_whole = id != 0 && id < WIRE_N_UNITS && s->has_runtimes &&
			atomic_load_explicit(&s->units[id].is_whole, memory_order_acquire) != 0;
	if (is_whole) {
		memcpy(out, &s->units[id], sizeof *out);
	}
	return is_whole;
}
