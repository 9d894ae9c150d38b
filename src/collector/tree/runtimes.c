// SPDX-License-Identifier: MIT
/*
 * Functions of runtimes in a tree of processes. Each process numbers those that it meets, and a
 * copy continues its parent's numbers. Python's of the same name, file and lines are one, whichever
 * process met them. V8's are read by each process's own reader, since they move, and go with it.
 */
#include "collector/tree/parts.h"

static uint32_t unit_of(struct run *run, uint32_t process, uint32_t id) {
	struct tree_process *p = process_at(run->tree, process);
	if (id < p->units.n && p->units.items[id] > 0) {
		return p->units.items[id];
	}
	struct member *m = p->member;
	uint32_t unit = m ? units_share(&run->units, m->units, m->segment, id) : 0;
	if (unit == 0 && p->fork) { // it has been its parent's already
		unit = unit_of(run, p->row.parent, id);
	}
	if (unit > 0) {
		(void)EVERY(p->units.n <= id, vec_push(&p->units));
		p->units.items[id] = unit;
	}
	return unit;
}

uint32_t tree_share_unit(void *user, uint32_t id) {
	const struct member *m = user;
	return id < WIRE_N_UNITS ? unit_of(m->run, m->process, id) : 0;
}

/** From that image on. False: an earlier one's, or a copy that has its parent's layouts. */
static bool begin(struct member *m, uint32_t image) {
	if (image < m->units_image ||
			(!m->units &&
					FIND(l, m->segment->layouts, WIRE_N_LAYOUTS,
							atomic_load(&l->is_in_force) && l->image == image))) {
		return false;
	}
	if (image > m->units_image) {
		tree_end_runtimes(m, true);
	}
	if (!m->units) {
		struct modules *modules = memory_new(1, sizeof *modules);
		struct units *u = m->units = memory_new(1, sizeof *u);
		const uint32_t n = atomic_load(&m->segment->header->n_units);
		modules->pid = m->pid;
		units_init(u, m->segment, modules, NULL);
		while (u->names.n < n && u->names.n + 1 < WIRE_N_UNITS) { // of an earlier one
			(void)vec_add(&u->names, (struct unit_name){.is_read = true});
		}
	}
	m->units_image = image;
	return true;
}

/** V8's heap is read as long as it is there. */
static void ask_to_wait(const struct member *m) {
	if (m->units->v8_layout.major != 0) {
		atomic_store(&m->segment->header->end_wait_ms, 4 * RUN_END_WAIT_MS);
	}
}

void tree_meet_runtime(struct member *m, uint32_t there, const struct wire_module *module,
		bool is_new) {
	struct tree *t = m->run->tree;
	const struct module_file *file = &m->run->modules.files.items[there];
	if (is_new && units_may_meet(file->fd, file->path, module)) {
		(void)vec_add(&t->runtimes, there);
	}
	if (FIND_IN(r, t->runtimes, *r == there) && begin(m, module->image)) {
		const char *path = FORMAT(PATH_MAX, "/proc/%d/root%s", (int)m->pid, file->path);
		CLOSED int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		units_meet(m->units, fd, file->path, module);
		ask_to_wait(m);
	}
}

void tree_expect_runtime(struct member *m, uint32_t image) {
	SCOPED(smaps) maps = {0};
	if (smaps_read(&maps, m->pid, "maps") && begin(m, image)) {
		units_expect(m->units, &maps, image);
		ask_to_wait(m);
	}
}

void tree_look_at_runtimes(struct member *m) {
	struct segment_header *h = m->segment->header;
	const uint32_t awaited = atomic_load(&h->module_awaited);
	struct units *u = m->units;
	if (u) {
		u->is_last = segment_state(m->segment) == SEGMENT_ENDING;
		units_read(u, &m->run->units, &m->run->tries, m->run->now_ns);
		(void)(u->is_last && segment_let_go_on(m->segment, SEGMENT_ENDING));
	}
	if (awaited != 0 && awaited <= m->tries.n_modules) {
		atomic_store(&h->module_awaited, 0);
		futex_wake(&h->module_awaited, INT32_MAX);
	}
	const uint32_t n = m->segment->has_runtimes ? atomic_load(&h->n_units) : 0;
	for (; m->n_units < n && m->n_units + 1 < WIRE_N_UNITS; m->n_units++) {
		(void)unit_of(m->run, m->process, m->n_units + 1);
	}
	if (n > 0 && atomic_exchange(&h->n_units_read, n) != n) {
		futex_wake(&h->n_units_read, INT32_MAX);
	}
}

void tree_end_runtimes(struct member *m, bool names_it) {
	struct units *u = m->units, *all = &m->run->units;
	if (!u) {
		return;
	}
	if (names_it) {
		u->is_last = true;
		units_read(u, all, &m->run->tries, m->run->now_ns);
		units_step(all, &m->run->tries, m->run->names, m->run->now_ns);
		all->v8_why = u->v8_why.code ? u->v8_why : all->v8_why;
	}
	EACH_THAT(name, all->names, name->of == u) {
		*name = (struct unit_name){.is_read = true};
	}
	free((struct modules *)(uintptr_t)u->modules);
	units_finish(u);
	free(u);
	m->units = NULL;
}
