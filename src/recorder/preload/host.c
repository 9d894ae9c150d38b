// SPDX-License-Identifier: MIT
/* The thread-local words of the preloaded recorder, and its question to the loader. */
#include "recorder/preload/host.h"

_Thread_local struct thread_words thread_self;

MACHINE_ALIGNS_STACK bool host_find_object(uint64_t pc, struct host_object *object) {
	return loader_find_object((void *)pc, object) == 0;
}
