// SPDX-License-Identifier: MIT
/*
 * Functions of Python in a tree of processes. Each process numbers those that it meets; functions
 * of the same name, file and lines are one, whichever process met them. A copy continues its
 * parent's numbers, and its own segment has only what it met itself.
 */
#include "collector/tree/parts.h"

static uint32_t unit_of(struct run *run, uint32_t process, uint32_t id) {
	struct tree_process *p = process_at(run->tree, process);
	if (id < p->units.n && p->units.items[id] > 0) {
		return p->units.items[id];
	}
	uint32_t unit = p->member ? units_share(&run->units, p->member->v8, p->member->segment, id) : 0;
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

static void note_python(struct run *run, uint32_t there, const struct wire_module *module) {
	struct tree_python found = {there, module->bias, {0}};
	const struct module_file *file = &run->modules.files.items[there];
	if (units_find_python(file->fd, file->path, module, &found.layout)) {
		(void)vec_add(&run->tree->pythons, found);
	}
}

/** Its layout is that of another process, elsewhere in memory; a copy has that of its parent. */
static void expect_python(struct member *m, uint32_t there, const struct wire_module *module) {
	const struct segment *s = m->segment;
	const struct tree_python *known = FIND_IN(p, m->run->tree->pythons, p->module == there);
	if (!known ||
			FIND(l, s->layouts, WIRE_N_LAYOUTS,
					atomic_load(&l->is_in_force) && l->image == module->image)) {
		return;
	}
	struct wire_layout *l = m->python = m->python ?: memory_new(1, sizeof *l);
	const uint64_t moved = module->bias - known->bias;
	*l = known->layout;
	l->image = module->image;
	l->state += moved;
	l->code_type += moved;
	for (uint32_t i = 0; i < l->n_ranges && i < WIRE_N_RANGES; i++) {
		l->ranges[i].start += moved;
		l->ranges[i].end += moved;
	}
	m->prove_ns = 0;
}

void tree_meet_python(struct member *m, uint32_t there, const struct wire_module *module,
		bool is_new) {
	if (is_new) {
		note_python(m->run, there, module);
	}
	expect_python(m, there, module);
	if (module->kind == MODULE_FILE && there > 0) {
		tree_meet_v8(m, m->run->modules.files.items[there].path, module);
	}
}

void tree_expect_python(struct member *m, uint32_t image) {
	SCOPED(smaps) maps = {0};
	struct wire_layout found;
	bool ok = smaps_read(&maps, m->pid, "maps");
	EACH_WHILE(area, maps, ok && !m->python) {
		const struct wire_module module = {.bias = area->start, .image = image, .path = "/"};
		bool may_be = area->kind == SMAPS_FILE && area->offset == 0;
		if (may_be) {
			tree_meet_v8(m, area->name, &module);
		}
		may_be = may_be && strstr(area->name, "python");
		const char *path = FORMAT(PATH_MAX, "/proc/%d/root%s", (int)m->pid, area->name);
		CLOSED int fd = may_be ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
		if (units_find_python(fd, area->name, &module, &found)) {
			found.image = image;
			m->python = memory_new(1, sizeof found);
			*m->python = found;
		}
	}
}

static void prove_python(struct member *m) {
	enum { GAP_NS = 2000000 };
	if (!m->python || m->run->now_ns < m->prove_ns) {
		return;
	}
	const char *why = python_prove(m->python,
			&(struct program_memory){modules_read, &(struct modules){.pid = m->pid}});
	m->prove_ns = m->run->now_ns + GAP_NS;
	if (!why || why == python_not_begun) {
		segment_add_layout(m->segment, m->python);
		free(m->python);
		m->python = NULL;
	}
}

void tree_look_at_python(struct member *m) {
	struct segment_header *h = m->segment->header;
	const uint32_t awaited = atomic_load(&h->module_awaited);
	prove_python(m);
	if (awaited != 0 && awaited <= m->tries.n_modules) {
		atomic_store(&h->module_awaited, 0);
		futex_wake(&h->module_awaited, INT32_MAX);
	}
	const uint32_t n = m->segment->has_runtimes ? atomic_load(&h->n_units) : 0;
	tree_look_at_v8(m);
	for (; m->n_units < n && m->n_units + 1 < WIRE_N_UNITS; m->n_units++) {
		(void)unit_of(m->run, m->process, m->n_units + 1);
	}
	if (n > 0 && atomic_exchange(&h->n_units_read, n) != n) {
		futex_wake(&h->n_units_read, INT32_MAX);
	}
}
