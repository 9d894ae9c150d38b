// SPDX-License-Identifier: MIT
#pragma once
/**
 * The trie of stacks in the segment (struct wire_node): a stack is the node of its innermost frame;
 * a node's parent is its caller. Any thread, any signal handler, no lock.
 */

#include <stdbool.h>
#include <stdint.h>

/** Make the first hash table. False: no memory. */
bool trie_setup(void);

/** The child of `parent` at `where`, made if it is new. 0: the node budget is exhausted. */
uint32_t trie_child(uint32_t parent, uint64_t where);
