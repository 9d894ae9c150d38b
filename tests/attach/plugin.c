// SPDX-License-Identifier: MIT

/*
 * A plugin of combinations_plugins.c. With OWN it has an allocator of its own, under the names of
 * mimalloc's; else it uses that of its C library.
 */

#include <stdatomic.h>
#include <stdlib.h>

void *plugin_make(size_t size);
void plugin_release(void *block);

#ifdef OWN
void *mi_malloc(size_t size);
void mi_free(void *block);

/** Nothing is used again. */
void *mi_malloc(size_t size) {
	static _Alignas(16) char pool[1 << 20];
	static atomic_size_t used;
	return pool + atomic_fetch_add(&used, (size + 15) & ~(size_t)15);
}

void mi_free(void *block) {
	*(volatile char *)block = 0;
}
#else
#define mi_malloc malloc
#define mi_free   free
#endif

void *plugin_make(size_t size) {
	void *block = mi_malloc(size);
	__asm__ volatile("" : : : "memory"); // no tail call
	return block;
}

void plugin_release(void *block) {
	mi_free(block);
	__asm__ volatile("" : : : "memory");
}
