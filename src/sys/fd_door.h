// SPDX-License-Identifier: MIT
#pragma once

/**
 * Passes a descriptor to processes that cannot open /proc/PID/fd/N: an abstract unix stream socket
 * that sends it, with one byte of data, to every process that connects, if the caller's rule
 * permits it.
 */

#include <stdbool.h>
#include <sys/types.h>

/**
 * Serve all connections waiting at a socket (listen_on_abstract). `may_have` (pid as this process
 * sees it, or 0) decides. Never waits.
 */
void fd_door_serve(int door, int fd, bool (*may_have)(void *user, pid_t pid, uid_t uid),
		void *user);
