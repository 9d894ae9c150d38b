// SPDX-License-Identifier: MIT
#pragma once

/** Find the control sockets of recordings: the other side of place.h. */

#include "collector/control/place.h"

struct control_found {
	struct control_place place;
	pid_t pid;   // of the program, as the name says
	uid_t owner; // who must be at the other end, root aside
	bool is_own; // in a folder of ours: may be removed when nobody listens any more
};

struct control_list {
	struct control_found *items;
	size_t n, capacity;
};

/** All sockets of this user. False: out of memory. vec_finish releases the list. */
bool control_find_all(struct control_list *list);

/**
 * Where that of one program is: that of whoever recorded it, here or, in a container, where the program
 * has its own files. The most likely first; most often one.
 */
bool control_find(struct control_list *list, pid_t pid);
