// SPDX-License-Identifier: MIT
#pragma once

/**
 * Which module (executable, library, vdso) a program counter lies in, with its unwind tables.
 * A module is announced in the segment when it is first asked for. Any thread, any signal
 * handler, no lock: the loader is asked by _dl_find_object (glibc 2.35); elsewhere the table is
 * made from /proc/self/maps (or the host's copy of it), because dl_iterate_phdr would wait for a dlopen on the same thread.
 */

#include "recorder/core/unwind/eh.h"

struct module {
	uint32_t id; // in the segment's table; WIRE_MODULE_MAX + 1: the table was full
	struct eh_tables tables;
};

/** Prepare the tables. False: no memory. */
bool modules_setup(void);

/** The module that `pc` lies in. False: in none that is known (now). */
bool module_find(uint64_t pc, struct module *module);

/** As module_find, but only says whether there is one: a few nanoseconds. */
bool module_covers(uint64_t pc);

/** Look which modules are gone; if one is, raise the generation. */
void modules_check(void);

/** Tables that were registered: the next that may cover `pc`. `*place` is 0 at first. False: no more. */
bool frames_next(uint64_t pc, uint32_t *place, struct eh_tables *tables);
