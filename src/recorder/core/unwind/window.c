// SPDX-License-Identifier: MIT

/*
 * Windows grow page by page, and only after the kernel has been asked whether a page is readable.
 */

#include "recorder/core/segment.h"
#include "recorder/core/sys.h"
#include "recorder/core/unwind/walk.h"

enum {
	HOPS_MAX = 16,
	REACH_MAX = 1 << 20, // one function's frame on a foreign stack
};

static bool is_in(const struct window *w, uint64_t address) {
	return address >= w->low && address < w->high;
}

/** What was found readable reaches the thread's own stack: it is a deeper part of that. */
static void become_own(struct walk *w) {
	w->own->low = w->window.low;
	w->window = *w->own;
	w->is_foreign = false;
	w->foreign->low = 0;
	w->foreign->high = 0;
}

static void probe(struct walk *w, uint64_t address) {
	while (w->is_foreign && !window_has(&w->window, address)) {
		if (!segment_may_call_system() || !sys_is_readable(w->window.high)) {
			return;
		}
		w->window.high += MACHINE_PAGE_LEAST;
		if (w->window.high >= w->own->low && w->window.low < w->own->low) {
			become_own(w);
		}
	}
}

bool walk_reach(struct walk *w, uint64_t address) {
	if (!w->is_foreign || address < w->window.low ||
			(address >= w->window.high && address - w->window.high > REACH_MAX)) {
		return false;
	}
	probe(w, address);
	if (w->is_foreign) {
		*w->foreign = w->window;
	}
	return window_has(&w->window, address);
}

/** Make the window that `sp` lies in. */
static bool enter(struct walk *w, uint64_t sp) {
	w->is_foreign = !is_in(w->own, sp);
	if (!w->is_foreign) {
		w->window = *w->own;
		return true;
	}
	if (is_in(w->foreign, sp)) {
		w->window = *w->foreign;
		return true;
	}
	w->window.low = sp & ~(MACHINE_PAGE_LEAST - 1ull);
	w->window.high = w->window.low;
	return walk_reach(w, sp & ~7ull);
}

bool walk_hop(struct walk *w, uint64_t sp) {
	w->is_odd = true;
	return ++w->n_hops < HOPS_MAX && enter(w, sp);
}

bool walk_begin(struct walk *w, struct window *own, struct window *foreign) {
	w->own = own;
	w->foreign = foreign;
	w->n_hops = 0;
	w->is_odd = false;
	w->n_tail = 0;
	if (!enter(w, w->sp)) {
		return false;
	}
	// A few pages below what is known of the thread's stack: most likely just deeper
	enum { NEAR = 16 * MACHINE_PAGE_LEAST };
	if (w->is_foreign && w->sp < own->low && own->low - w->sp < NEAR) {
		(void)walk_reach(w, own->low);
	}
	return true;
}
