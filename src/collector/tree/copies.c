// SPDX-License-Identifier: MIT
/*
 * What a copy (fork) has of its parent: the blocks that it inherits, and the pages that the two no
 * longer share.
 */
#include "collector/tree/parts.h"

void tree_inherit(struct tree *t, struct tree_process *p) {
	const uint64_t key = (uint64_t)p->row.parent << 32 | p->fork;
	if (p->fork) {
		p->row.inherited_bytes = (map_get(&t->forked_bytes, key) ?: 1) - 1;
		p->row.inherited_blocks = (map_get(&t->forked_blocks, key) ?: 1) - 1;
	}
}

/** Pages that it shared at first and has for itself now: no more than either change. */
static void look_at_copy(struct member *m, struct tree_process *p) {
	enum { INHERITED_LEAST = 8000000 };
	const struct member *parent = process_at(m->run->tree, p->row.parent)->member;
	char text[4096] = "";
	tree_inherit(m->run->tree, p);
	if (p->row.inherited_bytes < INHERITED_LEAST || !parent || parent->has_ended ||
			(m->look_ns > 0 && parent->image != m->parent_image) ||
			process_read(m->pid, "smaps_rollup", text, sizeof text) <= 0) {
		return;
	}
	const uint64_t shared_bytes = process_status_number(text, "Shared_Dirty", 10) * 1024;
	const uint64_t private_bytes = process_status_number(text, "Private_Dirty", 10) * 1024;
	if (m->look_ns == 0) {
		m->shared_bytes = shared_bytes;
		m->private_bytes = private_bytes;
		m->parent_image = parent->image;
	} else if (shared_bytes < m->shared_bytes && private_bytes > m->private_bytes) {
		const uint64_t gone = m->shared_bytes - shared_bytes,
					   come = private_bytes - m->private_bytes;
		RAISE_TO(p->row.dirtied_bytes, gone < come ? gone : come);
	}
	m->look_ns = m->run->now_ns + tree_gap_ns(m->run->now_ns - p->row.start_ns);
}

/** New copies at once; of the others the one that is due longest, if that is not too expensive. */
void tree_look_at_copies(struct run *run) {
	struct tree *t = run->tree;
	struct member *due = NULL;
	EACH(at, run->members) {
		struct member *m = *at;
		struct tree_process *p = process_at(t, m->process);
		if (!p->fork || m->has_ended || m->look_ns > run->now_ns) {
			continue;
		}
		if (m->look_ns == 0) {
			look_at_copy(m, p);
		} else if (!due || m->look_ns < due->look_ns) {
			due = m;
		}
	}
	if (due && run->now_ns >= t->copies_ns) {
		const uint64_t look_ns = due->look_ns, start_ns = clock_thread_cpu_ns();
		look_at_copy(due, process_at(t, due->process));
		due->look_ns = due->look_ns == look_ns ? UINT64_MAX : due->look_ns; // not readable any more
		t->copies_ns = run->now_ns + (clock_thread_cpu_ns() - start_ns) * TREE_COST;
	}
}
