// SPDX-License-Identifier: MIT
/* Makes loopback and unix sockets, and sends descriptors over the latter. */
#include "sys/listen.h"

#include "sys/file.h"

#include <arpa/inet.h>
#include <sys/un.h>

enum { BACKLOG = 64 };

static int new_socket(int family, struct err *err) {
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		(void)err_system(err, errno, "cannot create a socket");
	}
	return fd;
}

/** A listening socket. -1: `err` has `name` and the reason. */
static int listen_at(const struct sockaddr *address, socklen_t size, const char *name,
		struct err *err) {
	int fd = new_socket(address->sa_family, err);
	const int on = 1;
	if (fd < 0) {
		return -1;
	}
	// Reuse a port that an earlier server just left
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	// The socket's own mode becomes the file's; umask would affect the whole process
	bool ok = fchmod(fd, 0600) == 0 && bind(fd, address, size) == 0 && listen(fd, BACKLOG) == 0;
	return file_keep(fd, ok || err_system(err, errno, "%s", name));
}

int listen_on_loopback(uint16_t port, uint16_t *got, struct err *err) {
	struct sockaddr_in address = {.sin_family = AF_INET,
			.sin_port = htons(port),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	struct sockaddr *at = (struct sockaddr *)&address;
	int fd = listen_at(at, size, FORMAT(32, "127.0.0.1:%u", port), err);
	*got = fd >= 0 && getsockname(fd, at, &size) == 0 ? ntohs(address.sin_port) : port;
	return fd;
}

static int connect_at(const struct sockaddr_un *address, socklen_t size) {
	int fd = new_socket(AF_UNIX, NULL);
	return fd < 0 ? fd : file_keep(fd, connect(fd, (const struct sockaddr *)address, size) == 0);
}

/** Remove a socket on which nobody listens. False: the name is in use. */
static bool make_way(const struct sockaddr_un *address, struct err *err) {
	struct stat st;
	if (lstat(address->sun_path, &st) != 0) {
		return errno == ENOENT || err_system(err, errno, "%s", address->sun_path);
	}
	if (!S_ISSOCK(st.st_mode)) {
		return err_usage(err, "%s: exists and is not a socket", address->sun_path);
	}
	int fd = connect_at(address, sizeof *address);
	if (fd >= 0 || errno != ECONNREFUSED) {
		file_close(fd);
		return err_usage(err, "%s: another server is listening there", address->sun_path);
	}
	return unlink(address->sun_path) == 0 || err_system(err, errno, "%s", address->sun_path);
}

/** False: too long. The byte before an abstract name is zero. */
static bool put_name(struct sockaddr_un *address, socklen_t *size, const char *name,
		bool is_abstract) {
	size_t n = strlen(name);
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	*size = is_abstract ? (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)
						: (socklen_t)sizeof *address;
	if (n >= sizeof address->sun_path) {
		return false;
	}
	memcpy(address->sun_path + is_abstract, name, n);
	return true;
}

int listen_on_unix(const char *path, struct err *err) {
	struct sockaddr_un address;
	socklen_t size;
	if (!put_name(&address, &size, path, false)) {
		(void)err_limit(err, "%s: socket path too long (at most %zu bytes)", path,
				sizeof address.sun_path - 1);
		return -1;
	}
	return make_way(&address, err) ? listen_at((struct sockaddr *)&address, size, path, err) : -1;
}

int listen_on_abstract(const char *name) {
	struct sockaddr_un address;
	socklen_t size;
	bool fits = put_name(&address, &size, name, true);
	return fits ? listen_at((struct sockaddr *)&address, size, name, NULL) : -1;
}

int connect_to_unix(const char *name) {
	struct sockaddr_un address;
	socklen_t size;
	bool is_abstract = name[0] == '@';
	if (!put_name(&address, &size, name + is_abstract, is_abstract)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return connect_at(&address, size);
}

bool unix_peer(int connection, struct ucred *who) {
	socklen_t size = sizeof *who;
	*who = (struct ucred){.uid = (uid_t)-1, .gid = (gid_t)-1};
	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, who, &size) == 0;
}

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

void fd_door_serve(int door, void (*serve)(void *user, int connection, const struct ucred *who),
		void *user) {
	int connection;
	while ((connection = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct ucred who;
		if (unix_peer(connection, &who)) {
			serve(user, connection, &who);
		}
		(void)close(connection);
	}
}
