// SPDX-License-Identifier: MIT
/* Sends a descriptor over a unix socket. */
#include "sys/fd_door.h"

#include "sys/listen.h"

#include <string.h>
#include <unistd.h>

bool fd_send(int socket, const void *data, size_t n, int fd, int flags) {
	struct iovec part = {(void *)(uintptr_t)data, n};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (fd >= 0) {
		message.msg_control = control.room;
		message.msg_controllen = sizeof control.room;
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL | flags) == (ssize_t)n;
}

void fd_door_serve(int door, int fd, bool (*may_have)(void *user, pid_t pid, uid_t uid),
		void *user) {
	int connection;
	while ((connection = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct ucred who;
		if (unix_peer(connection, &who) && may_have(user, who.pid, who.uid)) {
			(void)fd_send(connection, "", 1, fd, MSG_DONTWAIT);
		}
		(void)close(connection);
	}
}
