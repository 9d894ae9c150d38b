// SPDX-License-Identifier: MIT
#include "sys/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 64 };

static int new_socket(int family, struct err *err) {
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		(void)err_system(err, errno, "cannot create a socket");
	}
	return fd;
}

int listen_on_loopback(uint16_t port, uint16_t *got, struct err *err) {
	int fd = new_socket(AF_INET, err);
	if (fd < 0) {
		return -1;
	}
	struct sockaddr_in address = {.sin_family = AF_INET,
			.sin_port = htons(port),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	const int on = 1;
	// A port that an earlier server left a moment ago is free
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, BACKLOG) != 0 ||
			getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
		(void)err_system(err, errno, "127.0.0.1:%u", port);
		(void)close(fd);
		return -1;
	}
	*got = ntohs(address.sin_port);
	return fd;
}

/** Remove a socket that nobody answers at. False: the name is taken by something else. */
static bool make_way(const struct sockaddr_un *address, struct err *err) {
	struct stat st;
	if (lstat(address->sun_path, &st) != 0) {
		return errno == ENOENT || err_system(err, errno, "%s", address->sun_path);
	}
	if (!S_ISSOCK(st.st_mode)) {
		return err_set(err, ERR_USAGE, "%s: exists and is not a socket", address->sun_path);
	}
	int fd = new_socket(AF_UNIX, err);
	if (fd < 0) {
		return false;
	}
	bool answers = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0;
	(void)close(fd);
	if (answers) {
		return err_set(err, ERR_USAGE, "%s: another server is listening there", address->sun_path);
	}
	return unlink(address->sun_path) == 0 || err_system(err, errno, "%s", address->sun_path);
}

int listen_on_unix(const char *path, struct err *err) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) {
		(void)err_set(err, ERR_LIMIT, "%s: socket path too long (at most %zu bytes)", path,
				sizeof address.sun_path - 1);
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	if (!make_way(&address, err)) {
		return -1;
	}
	int fd = new_socket(AF_UNIX, err);
	if (fd < 0) {
		return -1;
	}
	mode_t mask = umask(0177);
	bool ok = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
	(void)umask(mask);
	if (!ok || listen(fd, BACKLOG) != 0) {
		(void)err_system(err, errno, "%s", path);
		(void)close(fd);
		return -1;
	}
	return fd;
}
