// SPDX-License-Identifier: MIT
#pragma once
/**
 * Which module (executable, library, vdso) a program counter lies in, with its unwind tables. A
 * module is announced in the segment when it is first asked for. Any thread, any signal handler, no
 * lock: the loader is asked by _dl_find_object (glibc 2.35). Without that the table is made from
 * /proc/self/maps, or the host's copy: dl_iterate_phdr would wait for a dlopen of this thread.
 */

#include "recorder/core/attr.h"
#include "recorder/core/unwind/eh.h"
#include "recorder/core/unwind/mapped_image.h"

struct module {
	uint32_t id; // in the segment's table; WIRE_MODULE_MAX + 1: the table was full
	struct eh_tables tables;
};

/** Prepare the tables. False: no memory. */
bool modules_setup(void);

/** Announce a runtime's virtual module. Returns its id; 0: the table is full. */
uint32_t modules_add_virtual(uint8_t kind, uint16_t layout);

/** The module that `pc` lies in. False: in none that is known (now). */
bool module_find(uint64_t pc, struct module *module);

/** As module_find, but only whether there is one: a few nanoseconds. */
bool module_covers(uint64_t pc);

/** Find out which modules are gone. If any is, raise the generation. */
void modules_check(void);

/**
 * Raised when what was learned of code may be wrong: a module is gone, or tables of generated code
 * came or went. Rules and remembered stacks of an earlier generation are invalid.
 */
extern LOCAL _Atomic uint32_t code_generation;

/** Where glibc's loader lies; 0 bytes: not known. Set once per image. */
extern LOCAL struct address_range module_loader;

/** Is `pc` in glibc's loader? A free() from there may belong to an unload. */
static inline bool module_is_loader(uint64_t pc) {
	return pc - module_loader.start < module_loader.bytes;
}

/**
 * Unwind tables of generated code, as given to __register_frame and __deregister_frame: records,
 * the last of length 0. Code without tables is unwound by frame pointers.
 */
void registered_add(const void *eh_frame);
void registered_remove(const void *eh_frame);

/** The record of one of them that covers `pc`. False: none does. */
bool registered_find(uint64_t pc, struct eh_fde *fde);
