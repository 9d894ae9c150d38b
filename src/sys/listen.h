// SPDX-License-Identifier: MIT
#pragma once
/** Sockets that cannot be reached from outside this machine. Close-on-exec, non-blocking. */

#include "base/base.h"

#include <sys/socket.h>

/** The size limit of a unix socket's name, with the NUL. */
enum { UNIX_NAME_BYTES = 108 };

/**
 * Listen on 127.0.0.1. `port` 0: any; *got: the port in use. Returns a descriptor; -1: see `err`.
 */
int listen_on_loopback(uint16_t port, uint16_t *got, struct err *err);

/**
 * Listen on a unix socket to which only its owner can connect (mode 0600). Replaces a socket file
 * on which nobody listens, but nothing else. -1: see `err`. The caller removes the file afterwards.
 */
int listen_on_unix(const char *path, struct err *err);

/** Listen at an abstract name: anybody can connect. -1: taken, or too long. */
int listen_on_abstract(const char *name);

/** Connect to a unix socket; '@' before an abstract name. -1: see errno (EAGAIN: full backlog). */
int connect_to_unix(const char *name);

/** The peer; pid 0 if it is not visible from here. */
bool unix_peer(int connection, struct ucred *who);

/** Send `n` bytes with a descriptor, unless that is -1. False: incomplete. */
bool fd_send(int socket, const void *data, size_t n, int fd, int flags);

/** Let `serve` answer each connection waiting at a listen_on_abstract() socket. Does not wait. */
void fd_door_serve(int door, void (*serve)(void *user, int connection, const struct ucred *who),
		void *user);
