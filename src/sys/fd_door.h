// SPDX-License-Identifier: MIT
#pragma once

/**
 * Passes descriptors over unix sockets.
 *
 * A door serves processes that cannot open /proc/PID/fd/N: an abstract stream socket that sends the
 * descriptor, with one byte of data, to every process that connects, if the caller's rule permits
 * it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Send `n` bytes and, unless it is -1, a descriptor with them. False: not all went. */
bool fd_send(int socket, const void *data, size_t n, int fd, int flags);

/**
 * Serve all connections waiting at a socket (listen_on_abstract). `may_have` (pid as this process
 * sees it, or 0) decides. Never waits.
 */
void fd_door_serve(int door, int fd, bool (*may_have)(void *user, pid_t pid, uid_t uid),
		void *user);
