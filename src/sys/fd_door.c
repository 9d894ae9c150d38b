// SPDX-License-Identifier: MIT
/* Sends a descriptor over a unix socket. */
#include "sys/fd_door.h"

#include "sys/listen.h"

#include <string.h>
#include <unistd.h>

static void hand_over(int connection, int fd) {
	char byte = 0;
	struct iovec data = {&byte, 1};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr message = {
			.msg_iov = &data,
			.msg_iovlen = 1,
			.msg_control = control.room,
			.msg_controllen = sizeof control.room,
	};
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	(void)sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void fd_door_serve(int door, int fd, bool (*may_have)(void *user, pid_t pid, uid_t uid),
		void *user) {
	int connection;
	while ((connection = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct ucred who;
		if (unix_peer(connection, &who) && may_have(user, who.pid, who.uid)) {
			hand_over(connection, fd);
		}
		(void)close(connection);
	}
}
