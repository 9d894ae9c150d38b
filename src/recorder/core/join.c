// SPDX-License-Identifier: MIT

/* Takes the variable apart, and opens the descriptor by /proc or by the collector's socket. */

#include "recorder/core/join.h"

#include "recorder/core/sys.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

/** A decimal number and the colon behind it. NULL: there is none. */
static const char *read_number(const char *text, int32_t *value) {
	int64_t n = 0;
	const char *p = text;
	for (; *p >= '0' && *p <= '9' && n <= INT32_MAX; p++) {
		n = n * 10 + (*p - '0');
	}
	if (p == text || n > INT32_MAX || *p != ':') {
		return NULL;
	}
	*value = (int32_t)n;
	return p + 1;
}

static int hex_digit(char c) {
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_token(const char *text, struct join_address *a) {
	for (unsigned i = 0; i < sizeof a->token; i++) {
		int high = hex_digit(text[2 * i]);
		int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
		if (low < 0) {
			return false;
		}
		a->token[i] = (uint8_t)(high << 4 | low);
	}
	sys_copy(a->token_text, text, sizeof a->token_text - 1);
	a->token_text[sizeof a->token_text - 1] = '\0';
	return text[sizeof a->token_text - 1] == '\0';
}

bool join_address_find(struct join_address *a, char **environment) {
	for (char **e = environment; e != NULL && *e != NULL; e++) {
		const char *text = sys_after(*e, SEGMENT_ENV "=");
		if (text != NULL) {
			text = read_number(text, &a->program_pid);
			text = text == NULL ? NULL : read_number(text, &a->collector_pid);
			text = text == NULL ? NULL : read_number(text, &a->fd);
			return text != NULL && read_token(text, a);
		}
	}
	return false;
}

/**
 * By the collector's own descriptor. Checked before it is opened: opening some files has effects.
 */
static int open_by_proc(const struct join_address *a) {
	char path[64];
	sys_put_number(sys_put_text(sys_put_number(sys_put_text(path, "/proc/"), a->collector_pid),
						   "/fd/"),
			a->fd);
	char link[64];
	long n = syscall_4(__NR_readlinkat, AT_FDCWD, (long)path, (long)link, sizeof link - 1);
	if (sys_failed(n)) {
		return -1;
	}
	link[n] = '\0';
	if (sys_after(link, "/memfd:" SEGMENT_MAPPING_NAME) == NULL) {
		return -1;
	}
	long fd = syscall_4(__NR_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC | O_NOCTTY, 0);
	return sys_failed(fd) ? -1 : (int)fd;
}

static bool connect_to_collector(long fd, const char *token) {
	const struct timeval second = {.tv_sec = 1};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	char *end = sys_put_text(sys_put_text(name.sun_path + 1, SEGMENT_SOCKET_PREFIX), token);
	(void)syscall_6(__NR_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&second, sizeof second, 0);
	(void)syscall_6(__NR_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&second, sizeof second, 0);
	return !sys_failed(syscall_3(__NR_connect, fd, (long)&name, end - (char *)&name));
}

static int receive_descriptor(long fd) {
	char byte;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec data = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {.msg_iov = &data,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof control};
	long n = syscall_3(__NR_recvmsg, fd, (long)&message, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	if (n != 1 || c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
			c->cmsg_len != CMSG_LEN(sizeof(int))) {
		return -1;
	}
	int received;
	sys_copy(&received, CMSG_DATA(c), sizeof received);
	return received;
}

static int open_by_socket(const struct join_address *a) {
	long fd = syscall_3(__NR_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sys_failed(fd)) {
		return -1;
	}
	int received = connect_to_collector(fd, a->token_text) ? receive_descriptor(fd) : -1;
	(void)syscall_1(__NR_close, fd);
	return received;
}

int join_open(const struct join_address *a) {
	int fd = open_by_proc(a);
	return fd >= 0 ? fd : open_by_socket(a);
}
