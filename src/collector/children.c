// SPDX-License-Identifier: MIT
#include "collector/children.h"

#include "sys/process.h"

#include <string.h>

enum { GAP_NS = 250000000 };

// The table is the program's memory: texts may lack their end
static void copy_entry(struct child *to, uint32_t pid, const struct wire_child *from) {
	*to = (struct child){.pid = pid, .is_fork = from->is_fork != 0};
	memcpy(to->name, from->comm, sizeof to->name - 1);
	memcpy(to->exe, from->exe, sizeof to->exe - 1);
}

static struct child *find(struct children *c, uint32_t pid) {
	for (uint32_t i = 0; i < c->n; i++) {
		if (c->items[i].pid == pid) {
			return &c->items[i];
		}
	}
	return NULL;
}

static void read_table(struct children *c, const struct segment_header *header) {
	for (uint32_t i = 0; i < WIRE_N_CHILDREN; i++) {
		const struct wire_child *entry = &header->children[i];
		uint32_t pid = atomic_load_explicit(&entry->pid, memory_order_acquire);
		if (pid == 0 || pid == WIRE_CHILD_CLAIMED) {
			continue;
		}
		struct child *known = find(c, pid);
		if (!known && c->n < WIRE_N_CHILDREN) {
			known = &c->items[c->n++];
			copy_entry(known, pid, entry);
		} else if (known && known->is_fork && !entry->is_fork) {
			c->n_became++;
			copy_entry(known, pid, entry); // it went on to exec: the copy's size says nothing
		}
	}
}

void children_take(struct children *c, const struct segment_header *header, uint64_t now_ns) {
	if (now_ns < c->next_ns) {
		return;
	}
	c->next_ns = now_ns + GAP_NS;
	read_table(c, header);
	for (uint32_t i = 0; i < c->n; i++) {
		struct child *child = &c->items[i];
		struct process_memory memory;
		if (child->is_gone) {
			continue;
		}
		if (!process_memory((pid_t)child->pid, &memory)) {
			child->is_gone = true;
		} else if (memory.peak_rss_bytes > child->peak_rss_bytes) {
			child->peak_rss_bytes = memory.peak_rss_bytes;
		}
	}
}
