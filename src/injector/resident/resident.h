// SPDX-License-Identifier: MIT
#pragma once
/**
 * The memory that stays in a process (wire/resident.h, docs/attach.md), from making to cleaning.
 */

#include "injector/target/target.h"

/** Find one, and read it into `in`. False: an error; finding none is not one. */
bool resident_find(struct injector *in, struct err *err);

/** May it be used as it is? Not if a thread may still be on its last errand. */
bool resident_is_free(const struct injector *in);

/** Is it another heaptrack's, whose helper lives? */
bool resident_is_kept(const struct injector *in);

/** Is somebody recording by it now? Takes up to two seconds. */
bool resident_is_in_use(const struct injector *in);

/**
 * Wait some seconds until no thread is on an errand of a killed heaptrack. If sent on another, it
 * would come back to where it waits now, and never to its own work.
 */
bool resident_await_errands(struct injector *in, struct err *err);

/** Let errands begin in that resident. */
void resident_use_for_errands(struct injector *in);

/** Write the parts of the recorder with these protections (PROT_*) over zeros. */
bool resident_write_image(struct injector *in, int protection, struct err *err);

bool resident_write_head(struct injector *in, struct err *err);

/** Put all original bytes back. All threads are stopped. */
bool resident_restore(struct injector *in, struct err *err);

/**
 * Put a new one with the recorder into the process, or prepare the one that is there, and open a
 * memfd or the file `path` there; `*fd`: our descriptor of it, unless in a tree.
 */
bool resident_make_memory(struct injector *in, uint64_t clock, const char *path, int *fd,
		struct err *err);

/** Restore and clean, with some tries until all threads are outside. `*is_clean`: they were. */
bool resident_retire(struct injector *in, bool *is_clean, struct err *err);

/** Does a thread stand in one of the ranges, or may it return there? All threads are stopped. */
bool threads_touch(struct injector *in, const struct resident_range *ranges, size_t n);
