// SPDX-License-Identifier: MIT
#include "sys/fd_door.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int fd_door_open(const char *name, struct err *err) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t n = strlen(name);
	if (n + 1 > sizeof address.sun_path) {
		(void)err_set(err, ERR_LIMIT, "socket name too long");
		return -1;
	}
	memcpy(address.sun_path + 1, name, n); // the zero byte before it makes it abstract
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		(void)err_system(err, errno, "socket");
		return -1;
	}
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
	if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 16) != 0) {
		(void)err_system(err, errno, "cannot listen at the socket \"@%s\"", name);
		(void)close(fd);
		return -1;
	}
	return fd;
}

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
		struct ucred who = {0};
		socklen_t size = sizeof who;
		if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
				may_have(user, who.pid, who.uid)) {
			hand_over(connection, fd);
		}
		(void)close(connection);
	}
}
