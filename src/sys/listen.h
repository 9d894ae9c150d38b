// SPDX-License-Identifier: MIT
#pragma once
/** Sockets that nobody outside this machine can reach. Close-on-exec, non-blocking. */

#include "base/base.h"

#include <sys/socket.h>

/** What a unix socket's name may have, the zero byte included. */
enum { UNIX_NAME_BYTES = 108 };

/**
 * Listens on 127.0.0.1. `port` 0: any that is free; `*got` is the port in use. Gives the
 * descriptor, or -1 (`err` says which port, and why not).
 */
int listen_on_loopback(uint16_t port, uint16_t *got, struct err *err);

/**
 * Listens on a unix socket that only its owner may connect to (mode 0600 from its first moment on).
 * A socket file on which nobody listens any more is replaced; anything else with that name is kept.
 * -1: `err` says why. The caller removes the file afterwards.
 */
int listen_on_unix(const char *path, struct err *err);

/** Listens at an abstract name: anybody can connect. -1: it is taken, or too long. */
int listen_on_abstract(const char *name);

/**
 * Connects to a unix socket; '@' before an abstract name. -1: see errno (EAGAIN: its row is full).
 */
int connect_to_unix(const char *name);

/** Who is at the other end; the pid is 0 if it cannot be seen from here. */
bool unix_peer(int connection, struct ucred *who);

/** Send `n` bytes and, unless it is -1, a descriptor with them. False: not all went. */
bool fd_send(int socket, const void *data, size_t n, int fd, int flags);

/**
 * Serve all connections waiting at a socket (listen_on_abstract): `serve` answers each, perhaps by
 * fd_send. Does not wait.
 */
void fd_door_serve(int door, void (*serve)(void *user, int connection, const struct ucred *who),
		void *user);
