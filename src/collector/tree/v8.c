// SPDX-License-Identifier: MIT
/*
 * Functions of JavaScript in a tree of processes. Each process has a reader of its own, since what
 * is read moves, and goes with the process. Equal functions of two processes are not one.
 */
#include "collector/tree/parts.h"

/** Those of an earlier program are left out. */
static struct units *begin(struct member *m) {
	const uint32_t n = atomic_load(&m->segment->header->n_units);
	struct modules *modules = memory_new(1, sizeof *modules);
	struct units *u = memory_new(1, sizeof *u);
	modules->pid = m->pid;
	units_init(u, m->segment, modules, NULL);
	while (u->names.n < n && u->names.n + 1 < WIRE_N_UNITS) {
		(void)vec_add(&u->names, (struct unit_name){.is_read = true});
	}
	return u;
}

void tree_meet_v8(struct member *m, const char *path, const struct wire_module *module) {
	const struct segment *s = m->segment;
	const struct slice name = slice_of_text(path_base_name(path));
	bool is_v8 = starts_with(name, "libnode") || is_called_after(name, "node");
	if (!is_v8 || module->image <= m->v8_image || // of its parent's, or known
			FIND(l, s->layouts, WIRE_N_LAYOUTS,
					atomic_load(&l->is_in_force) && l->image == module->image)) {
		return;
	}
	tree_end_v8(m, true); // if it has executed another one
	m->v8 = begin(m);
	m->v8_image = module->image;
	atomic_store(&m->segment->header->end_wait_ms, 4 * RUN_END_WAIT_MS);
	path = FORMAT(PATH_MAX, "/proc/%d/root%s", (int)m->pid, path);
	CLOSED int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	units_meet(m->v8, fd, path, module);
}

void tree_look_at_v8(struct member *m) {
	struct units *u = m->v8;
	if (u) {
		u->is_last = segment_state(m->segment) == SEGMENT_ENDING;
		units_read(u, &m->run->units, &m->run->tries);
		(void)(u->is_last && segment_let_go_on(m->segment, SEGMENT_ENDING));
	}
}

void tree_end_v8(struct member *m, bool names_it) {
	struct units *u = m->v8, *all = &m->run->units;
	if (!u) {
		return;
	}
	u->is_last = true;
	if (names_it) {
		units_read(u, all, &m->run->tries);
		units_step(all, &m->run->tries, m->run->names, m->run->now_ns);
		all->v8_why = u->v8_why.code ? u->v8_why : all->v8_why;
	}
	EACH_THAT(name, all->names, name->of == u) {
		*name = (struct unit_name){.is_read = true};
	}
	free((struct modules *)(uintptr_t)u->modules);
	units_finish(u);
	free(u);
	m->v8 = NULL;
}
