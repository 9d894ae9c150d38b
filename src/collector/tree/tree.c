// SPDX-License-Identifier: MIT
/*
 * The processes of a tree, each with its cell, in one recording.
 *
 *   cells -> order (one for all) -> here: addresses, processes -> one aggregate
 *
 * Addresses of different processes are made different: each process has its own numbers for the
 * 4 MiB regions that it uses, as a page table has. So the aggregate knows one address space, in
 * which the blocks of a process end with it. Events come in runs of one process: what a run changes
 * in the totals, it changes in the process's, and the highest total within the run is its peak.
 *
 * A free of a block that a copy (fork) has not allocated is of one that it has inherited.
 */
#include "collector/tree/parts.h"

enum {
	REGION_SHIFT = 22,
	REGION_PAGE_SHIFT = 12,
	REGIONS_MAX = 1 << (47 - REGION_SHIFT),
};

/** Of the addresses of a process. As a number, 0: there is none. */
union region {
	struct {
		uint32_t to;             // its number among those of all
		uint16_t first, n_pages; // where blocks were
	};
	uint64_t packed;
};

static struct tree_process *process_of(struct tree *t, uint32_t thread) {
	return process_at(t, thread < t->process_of.n ? t->process_of.items[thread] : 0);
}

// ---- what they execute

/** Its calls go to its own allocator, not to the preloaded recorder. */
static void note_own_heap(struct run *run, const char *program) {
	CLOSED int fd = run->recorder ? open(program, O_RDONLY | O_CLOEXEC) : -1;
	struct launch_elf elf = {0};
	if (fd >= 0) {
		launch_elf_read(&elf, fd);
	}
	if (elf.has_allocator) {
		run->own_heaps.tell(run, program, "malloc", 1,
				"an allocator that a program brings is recorded only without --children");
	}
}

/** The row of what is executed, perhaps by a link that names it. 0: not known. */
static uint32_t command_of(struct run *run, uint32_t exe) {
	if (exe == 0) {
		return 0;
	}
	struct tree *t = run->tree;
	char real[PATH_MAX];
	const char *called = (const char *)run->texts.items[exe].data;
	const char *path = realpath(called, real) ?: called;
	const struct rec_command command = {.exe = texts_id_of(&run->texts, path),
			.name = texts_id_of(&run->texts, path_base_name(called))};
	const struct rec_command *known = FIND_IN(c, t->commands,
			c->exe == command.exe && c->name == command.name);
	if (known) {
		return (uint32_t)(known - t->commands.items);
	}
	(void)vec_add(&t->commands, command);
	note_own_heap(run, path);
	if (run->names) {
		namer_meet_program(run->names, path);
	}
	return (uint32_t)t->commands.n - 1;
}

void run_tree_image(struct member *m, uint32_t image, struct rec_image *row) {
	struct run *run = m->run;
	if (m->programs.n > 0 && image != m->programs.items[0].image) { // what it was a copy of is gone
		struct tree_process *p = process_at(run->tree, m->process);
		run->tree->late_frees += p->row.inherited_freed;
		p->row.inherited_bytes = p->row.inherited_blocks = p->row.inherited_freed = 0;
		p->fork = 0;
	}
	const struct program *program = FIND_IN(it, m->programs, it->image == image);
	// Its first events may come before its arrival is taken
	const uint32_t exe = program ? program->exe
								 : cells_exe(run->cells, m->cell, image, &run->texts);
	row->exe = exe ?: row->exe;
	row->process = m->process;
	run->meta.exe = m == &run->first ? row->exe : run->meta.exe;
	m->tries.command = command_of(run, row->exe);
	m->image = image;
	m->image_row = (uint32_t)(row - run->images.items) + 1;
}

// ---- events

/** Where an address of a process is among those of all. False: there is no place left. */
static bool move_address(struct tree *t, struct member *m, uint64_t *ptr, bool is_new) {
	const uint64_t number = *ptr >> REGION_SHIFT;
	const uint32_t at = (uint32_t)*ptr & ((1u << REGION_SHIFT) - 1);
	const uint16_t page = (uint16_t)(at >> REGION_PAGE_SHIFT);
	union region r = {.packed = m->last_packed};
	if (number != m->last || r.to == 0) {
		r.packed = map_get(&m->regions, number);
	}
	if (r.to == 0 && is_new) {
		if (t->unused.n == 0 && t->n_regions + 1 == REGIONS_MAX) {
			return false;
		}
		r.to = t->unused.n > 0 ? t->unused.items[--t->unused.n] : ++t->n_regions;
		r.first = page;
	}
	if (is_new && (uint16_t)(page - r.first) >= r.n_pages) {
		const uint16_t first = page < r.first ? page : r.first, end = r.first + r.n_pages;
		r.n_pages = (uint16_t)((page < end ? end : page + 1) - first);
		r.first = first;
		(void)map_put(&m->regions, number, r.packed);
	}
	m->last = number;
	m->last_packed = r.packed;
	*ptr = (uint64_t)r.to << REGION_SHIFT | at; // without one, no block is there
	return true;
}

#define LESS_FIELD(to, from, field) (to)->field -= (from)->field

/** Events of one process. */
static void take_run(struct run *run, struct aggregate *a, struct tree_process *p,
		const struct trace_event *events, size_t n) {
	struct trace_event *moved = run->feed.events; // which is not in use
	uint64_t unknown, unknown_now;
	const struct rec_summary *sums = aggregate_sums(a, &unknown);
	const uint64_t above = sums->live_bytes + p->row.peak_bytes - p->row.live_bytes;
	if (!p->member) {
		return; // no thread
	}
	size_t n_moved = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t ptr = events[i].ptr;
		bool is_new = events[i].kind == TRACE_ALLOC || events[i].kind == TRACE_MOVED;
		if (move_address(run->tree, p->member, &ptr, is_new)) {
			moved[n_moved] = events[i];
			moved[n_moved++].ptr = ptr;
		}
	}
	run->tree->lost_events += n - n_moved;
	(void)aggregate_watch(a, above);
	FOR_FIELDS(LESS_FIELD, &p->row, sums, live_bytes, live_blocks, allocations, allocated_bytes,
			temporary);
	aggregate_events(a, moved, n_moved);
	ADD_FIELDS(&p->row, sums, live_bytes, live_blocks, allocations, allocated_bytes, temporary);
	const uint64_t highest = aggregate_watch(a, UINT64_MAX);
	if (highest > above) {
		p->row.peak_bytes += highest - above;
		p->row.peak_time_ns = events[n - 1].time_ns;
	}
	(void)aggregate_sums(a, &unknown_now);
	const uint64_t frees = unknown_now - unknown;
	p->row.inherited_freed += p->fork && p->row.end_ns == 0 ? frees : 0;
	run->tree->late_frees += p->row.end_ns > 0 ? frees : 0;
}

void run_tree_events(struct run *run, const struct trace_event *events, size_t n) {
	struct tree *t = run->tree;
	struct aggregate *a = run_aggregate(run);
	for (size_t i = 0, end; i < n; i = end) {
		const uint32_t thread = events[i].thread;
		struct tree_process *p = process_of(t, thread);
		for (end = i + 1;
				end < n && (events[end].thread == thread || process_of(t, events[end].thread) == p);
				end++) {}
		take_run(run, a, p, events + i, end - i);
	}
}

/** Where the addresses of a process are among those of all mappings. By its cell: numbers grow. */
#define SPACE_MASK ((1ull << 48) - 1)
static uint64_t space_of(const struct member *m) {
	return (uint64_t)(m->segment->first_owner / CELL_SLOTS) << 48;
}

/** The blocks and mappings of a process end. `is_left`: with it, else as by an exec. */
static void end_blocks(struct member *m, bool is_left) {
	struct run *run = m->run;
	struct tree_process *p = process_at(run->tree, m->process);
	EACH_OF_THAT(e, m->regions.entries, m->regions.capacity, e->value != 0) {
		const union region r = {.packed = e->value};
		const uint64_t start = (uint64_t)r.to << REGION_SHIFT |
				(uint64_t)r.first << REGION_PAGE_SHIFT;
		aggregate_end_range(run_aggregate(run), start,
				start + ((uint64_t)r.n_pages << REGION_PAGE_SHIFT), run->now_ns, is_left);
		(void)vec_add(&run->tree->unused, r.to);
	}
	map_clear(&m->regions);
	m->last_packed = 0;
	const uint64_t space = space_of(m);
	mappings_end(run->mappings, space, space | SPACE_MASK, run->now_ns, is_left);
	if (!is_left) {
		p->row.live_bytes = p->row.live_blocks = 0;
	}
}

/** A process forks, or ends. */
static void take_fork(struct run *run, struct tree_process *p, const struct trace_event *event) {
	struct tree *t = run->tree;
	if (event->ptr != 0) {
		uint64_t key = (uint64_t)(p - t->processes.items) << 32 | (event->ptr >> 4 & UINT32_MAX);
		tree_inherit(t, p);
		(void)map_put(&t->forked_bytes, key, p->row.live_bytes + p->row.inherited_bytes + 1);
		(void)map_put(&t->forked_blocks, key, p->row.live_blocks + p->row.inherited_blocks + 1);
		return;
	}
	// Events are labelled by the last tick, which may be older than the process
	const uint64_t now_ns = run->now_ns > p->row.start_ns ? run->now_ns : p->row.start_ns + 1;
	p->row.end_ns = event->time_ns > p->row.start_ns ? event->time_ns : now_ns;
	if (p->member) {
		end_blocks(p->member, true);
	}
}

void run_tree_mapping(struct run *run, const struct trace_event *event) {
	struct tree_process *p = process_of(run->tree, event->thread);
	if (event->kind == KIND_FORK) {
		take_fork(run, p, event);
	} else if (p->member) {
		struct trace_event moved = *event;
		moved.ptr = space_of(p->member) | (event->ptr & SPACE_MASK);
		LOWER_TO(moved.size, SPACE_MASK - (event->ptr & SPACE_MASK));
		mappings_event(run->mappings, &moved);
	}
}

void run_tree_exec(struct member *m) {
	end_blocks(m, false);
}

void run_tree_thread(const struct member *m, uint32_t thread) {
	struct tree *t = m->run->tree;
	(void)EVERY(t->process_of.n <= thread, vec_push(&t->process_of));
	t->process_of.items[thread] = m->process;
}

// ---- joining

static void meet_module(void *user, uint32_t id, const struct wire_module *module) {
	struct member *m = user;
	struct modules *modules = &m->run->modules;
	uint32_t there = tries_share(&m->tries, id, module);
	const bool is_new = there >= modules->records.n;
	if (is_new) {
		const char *program = modules->exe;
		modules->pid = m->pid;
		modules->exe = m->process == 1 ? program : NULL;
		modules_add(modules, there, tries_module(&m->run->tries, there));
		modules->exe = program;
	}
	tree_meet_runtime(m, there, module, is_new);
}

static void drop_member(struct member *m) {
	struct run *run = m->run;
	tree_end_runtimes(m, false);
	tries_finish(&m->tries);
	map_finish(&m->regions);
	vec_finish(&m->programs);
	if (m != &run->first) {
		cells_give_back(run->cells, m->cell);
		free(m);
	}
}

/** The next one, which has its cell. */
static void add_member(struct member *m) {
	struct run *run = m->run;
	struct tree *t = run->tree;
	m->process = m->segment->process;
	tries_init(&m->tries, m->segment);
	tries_join(&m->tries, &run->tries, tree_share_unit, m);
	m->tries.meet = meet_module;
	(void)vec_add(&run->members, m);
	m->cell->member = m;
	(void)EVERY(t->processes.n <= m->process, vec_push(&t->processes));
	*process_at(t, m->process) = (struct tree_process){
			.row = {.pid = (uint32_t)m->pid,
					.parent = m->cell->parent,
					.start_ns = m->cell->time_ns - run->segment.start_ns,
					.exit_status = REC_STATUS_UNKNOWN},
			.fork = m->cell->fork,
			.member = m,
	};
}

/** Where the recorder was put into it, which is no module. */
static void pass_by_recorder(struct member *m) {
	struct segment_header *h = m->segment->header;
	const uint64_t code = atomic_load(&h->errand_code);
	if (m->run->join && code - m->tries.own_at >= m->tries.own_bytes) {
		EACH_OF_THAT(own, h->own, WIRE_N_OWN, code - own->at < own->bytes) {
			tries_pass_by(&m->tries, own->at, own->bytes);
		}
	}
}

void run_tree_find(void *user) {
	struct run *run = ((const struct member *)user)->run;
	for (struct arrival a; cells_take(run->cells, &a); free(a.exe)) {
		struct member *m = a.cell->member;
		const bool is_known = m;
		if (!is_known) {
			m = memory_new(1, sizeof *m);
			*m = (struct member){run, a.cell->segment, a.cell->pid, .cell = a.cell};
			add_member(m);
			order_add(run->order, m->segment, &m->tries, m);
		}
		struct tree_process *p = process_at(run->tree, m->process);
		const struct program program = {a.image, texts_id_of(&run->texts, a.exe)};
		p->has_executed = is_known;
		p->row.command = command_of(run, program.exe);
		(void)vec_add(&m->programs, program);
		if (run->join &&
				(is_known || m->cell->fork == 0)) { // other copies have their parent's layouts
			tree_expect_runtime(m, a.image);
		}
	}
	EACH(m, run->members) {
		tries_poll_modules(&(*m)->tries, meet_module, *m);
		tree_look_at_runtimes(*m);
		(*m)->segment->is_lived_in = run->end.time_ns > 0 || (*m)->has_ended;
		pass_by_recorder(*m);
	}
}

// ---- the ends

static void note_exec(const struct member *m) {
	const struct segment_header *h = m->segment->header;
	process_at(m->run->tree, m->process)->is_unrecorded = atomic_load(&h->exec_ns) != 0;
}

/** Take children that executed a program after a vfork. The newest `n_left` may still fail to. */
static void take_spawned(struct member *m, uint32_t n_left) {
	enum { MOST = 1 << 20 };
	struct tree *t = m->run->tree;
	struct segment_header *h = m->segment->header;
	const uint32_t n = atomic_load(&h->n_spawned);
	m->n_spawned = n - m->n_spawned > WIRE_N_SPAWNED ? n - WIRE_N_SPAWNED : m->n_spawned;
	for (; n - m->n_spawned > n_left && t->spawned.n < MOST; m->n_spawned++) {
		(void)vec_add(&t->spawned, atomic_load(&h->spawned[m->n_spawned % WIRE_N_SPAWNED]));
	}
	if (m->cell->fork == 0) {
		(void)map_put(&t->seen, h->program_pid, 1);
	}
	if (m != &m->run->first) {
		children_read(&m->run->children, h);
	}
}

/** It has ended, and nothing of it is left in the order. */
static void end_member(struct member *m) {
	struct run *run = m->run;
	struct tree_process *p = process_at(run->tree, m->process);
	const struct segment_header *h = m->segment->header;
	note_exec(m);
	take_spawned(m, 0);
	run->tree->forked += atomic_load(&h->n_children_forked);
	run->tree->executed += atomic_load(&h->n_children_executed);
	tree_look_at_runtimes(m);
	tree_end_runtimes(m, true);
	tree_inherit(run->tree, p);
	end_blocks(m, !p->is_unrecorded);
	p->row.end_ns = p->row.end_ns ?: run->now_ns;
	const int status = process_wait_status(m->cell->fd, m->pid);
	p->row.exit_status = status < 0 ? REC_STATUS_UNKNOWN
			: WIFSIGNALED(status)   ? 128 + WTERMSIG(status)
									: WEXITSTATUS(status);
	p->member = NULL;
	run->tree->lost_events += atomic_load(&h->lost_no_slot) + atomic_load(&h->lost_early);
	drop_member(m);
}

void tree_poll_ends(const struct run *run, struct pollfd fds[CELLS_MAX], size_t n) {
	for (size_t i = 0; i < n; i++) {
		fds[i] = (struct pollfd){.fd = run->members.items[i]->cell->fd, .events = POLLIN};
	}
	(void)poll(fds, n, 0);
}

void run_tree_see_ends(struct run *run) {
	struct pollfd fds[CELLS_MAX];
	const size_t n = run->members.n;
	tree_poll_ends(run, fds, n);
	for (size_t i = n; i-- > 1;) {
		struct member *m = run->members.items[i];
		take_spawned(m, WIRE_N_SPAWNED / 2);
		m->is_seen = m->has_ended;
		m->has_ended = fds[i].revents != 0;
		if (m->is_seen && order_remove(run->order, m->segment)) {
			run->members.items[i] = run->members.items[--run->members.n];
			end_member(m);
		}
	}
	tree_look_at_copies(run);
}

void run_tree_end(struct run *run) {
	struct tree *t = run->tree;
	struct rec_process *program = &process_at(t, 1)->row;
	if (!run->end.is_detached) {
		program->end_ns = run->now_ns;
		program->exit_status = run->end.is_signaled ? 128 + run->end.status : run->end.status;
	}
	EACH(m, run->members) {
		tree_end_runtimes(*m, true);
	}
	cells_close(run->cells);
	run_tree_see_ends(run);
	run_tree_see_ends(run); // of which there was nothing new
	if (run->members.n > 1 && !run->join) {
		run_say(run, "the program has ended; what it started goes on, unrecorded: %zu of %zu",
				run->members.n - 1, run->tree->processes.n - 2);
	}
	uint64_t n_refused = cells_refused(run->cells);
	if (n_refused > 0) {
		run_say(run,
				"%" PRIu64 " processes were not recorded: at most %d are at a time, with %d MB of "
				"shared memory in all",
				n_refused, CELLS_MAX, CELLS_TOUCHED_MOST / 1000000);
	}
}

// ---- for the file

/** Add up what is not recorded and, but for the listed ones, perhaps not known by name. */
static void count_unrecorded(struct run *run, struct rec_quality *q) {
	struct tree *t = run->tree;
	q->children_forked = t->forked;
	q->children_executed = t->executed;
	for (size_t i = 0; i < run->members.n; i++) {
		struct member *m = run->members.items[i];
		const struct segment_header *h = m->segment->header;
		const bool is_first = m == &run->first; // whose are counted with the listed ones
		note_exec(m);
		take_spawned(m, run->end.time_ns > 0 ? 0 : WIRE_N_SPAWNED / 2);
		q->children_forked += is_first ? 0 : atomic_load(&h->n_children_forked);
		q->children_executed += is_first ? 0 : atomic_load(&h->n_children_executed);
	}
	EACH_WHILE(pid, t->spawned, run->end.time_ns > 0) { // else some may still be seen
		struct child *child = FIND_IN(c, run->children, c->pid_inside == (*pid & ~SPAWN_FAILED));
		q->children_executed += !child && (*pid & SPAWN_FAILED) == 0 && !map_get(&t->seen, *pid);
		if (child && (*pid & SPAWN_FAILED) == 0) {
			child->is_fork = false; // as which it was seen before
		}
	}
	// Not a recorded process that was seen before the recorder was in it; nor a child of vfork
	// whose exec failed
	vec_keep(&run->children, 0, child,
			!FIND_IN(p, t->processes,
					p->row.pid == child->pid && (!p->is_unrecorded || child->is_fork)) &&
					!(child->is_fork &&
							FIND_IN(s, t->spawned, *s == (child->pid_inside | SPAWN_FAILED))));
}

void run_tree_put(struct run *run, struct recording *r) {
	struct tree *t = run->tree;
	uint32_t *first = &process_at(t, run->first.process)->row.command;
	*first = *first ?: command_of(run, run->end.time_ns ? run->meta.exe : 0); // not seen to start
	count_unrecorded(run, &r->quality);
	(void)RECORDING_ROOM(r, processes, t->processes.n);
	(void)RECORDING_PUT(r, commands, t->commands.items, t->commands.n);
	for (uint32_t i = 1; i < r->processes.n; i++) {
		const struct tree_process *p = process_at(t, i);
		struct rec_process *row = &r->processes.items[i];
		tree_inherit(t, process_at(t, i));
		*row = p->row;
		r->commands.items[row->command].n_processes++;
		r->quality.unknown_frees -= row->inherited_freed;
		r->quality.children_executed += i > 1 && p->is_unrecorded && // and nobody saw it
				!FIND_IN(child, run->children, child->pid == row->pid);
		if (p->has_executed) {
			row->inherited_bytes = row->inherited_blocks = row->inherited_freed = 0;
		}
	}
	(void)EVERY(run->tries.commands.n < run->tries.n_nodes, vec_push(&run->tries.commands));
	EACH(s, r->stacks) {
		s->command = run->tries.commands.items[s->node];
	}
	EACH(m, r->mappings) {
		m->command = run->tries.commands.items[m->node];
	}
	r->ranges.n = 0; // of several address spaces
	r->quality.unknown_frees -= t->late_frees;
	r->quality.lost_events += t->lost_events;
}

// ---- begin and end

void run_tree_create(struct run *run) {
	struct tree *t = run->tree = memory_new(1, sizeof *t);
	struct member *m = &run->first;
	run->units.is_of_tree = true;
	m->cell = cells_begin(run->cells, m->segment, m->pid, run->guardian.pid > 0);
	(void)vec_push(&t->commands);
	add_member(m);
	if (run->guardian.pid > 0) {
		tree_expect_runtime(m, 1);
	}
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1); // daemons stay descendants
}

void run_tree_destroy(struct run *run) {
	struct tree *t = run->tree;
	if (!t) {
		return;
	}
	EACH(at, run->members) {
		drop_member(*at);
	}
	EACH(p, t->processes) {
		vec_finish(&p->units);
	}
	CALL_FOR(vec_finish, t, processes, commands, process_of, unused, runtimes, spawned);
	CALL_FOR(map_finish, t, forked_bytes, forked_blocks, seen);
	free(t);
	run->tree = NULL;
}
