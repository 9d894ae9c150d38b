// SPDX-License-Identifier: MIT
#pragma once

/**
 * Hand a descriptor to processes that cannot open /proc/PID/fd/N: an abstract unix stream socket
 * that gives it, with one byte of data, to whoever connects, if the caller's rule agrees.
 */

#include <stdbool.h>
#include <sys/types.h>

/**
 * Serve all who wait at a socket (listen_on_abstract). `may_have` (pid as this process sees it: 0 if it cannot) decides.
 * Nobody is waited for.
 */
void fd_door_serve(int door, int fd, bool (*may_have)(void *user, pid_t pid, uid_t uid),
		void *user);
