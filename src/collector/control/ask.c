// SPDX-License-Identifier: MIT
/* Sends a line to a control socket and reads the answer. */
#include "collector/control/serve.h"

enum {
	RETRY_NS = 20000000,
	LOOK_MS = 100,       // after that much silence, check whether the other end is stopped
	BORN_NS = 100000000, // a socket gets its name shortly before somebody listens
	CHUNK_BYTES = 4096,
};
enum { PATIENCE_S = 10, LOOK_PATIENCE_S = 40 };

struct call {
	const struct control_found *at;
	unsigned patience_s;
	uint64_t until_ns;
	int fd;
	struct ucred who;
	struct buffer in;
};

static bool say_late(const struct call *c, struct err *err) {
	return err_limit(err, "no answer within %u s", c->patience_s);
}

/** Is the process at the other end able to answer? Checked once. */
static bool is_awake(const struct call *c, struct err *err) {
	if (c->who.pid > 0 && process_is_stopped(c->who.pid)) {
		return err_limit(err, "heaptrack (process %d) is stopped; continue it with: kill -CONT %d",
				(int)c->who.pid, (int)c->who.pid);
	}
	return clock_now_ns() < c->until_ns || say_late(c, err);
}

/** A collector removes its socket when it ends: if nobody listens, it was killed. */
static bool say_gone(const struct control_found *at, int why, struct err *err) {
	if (why == ENOENT || !at->is_own) {
		return err_not_found(err, "nothing listens on %s", at->place.name);
	}
	clock_sleep_ns(BORN_NS);
	int fd = connect_to_unix(at->place.name);
	if (fd >= 0) {
		(void)close(fd);
		return err_limit(err, "heaptrack is just starting, try again");
	}
	if (errno == ECONNREFUSED) {
		(void)unlink(at->place.name);
	}
	return err_not_found(err, "heaptrack was killed; removed its socket %s", at->place.name);
}

static bool reach(struct call *c, struct err *err) {
	while ((c->fd = connect_to_unix(c->at->place.name)) < 0) {
		int why = errno;
		if (why == ECONNREFUSED || why == ENOENT) {
			return say_gone(c->at, why, err);
		}
		if (why != EAGAIN && why != EINTR) {
			return err_system(err, why, "%s", c->at->place.name);
		}
		if (clock_now_ns() >= c->until_ns) {
			return say_late(c, err);
		}
		clock_sleep_ns(RETRY_NS);
	}
	return (unix_peer(c->fd, &c->who) && (c->who.uid == c->at->owner || c->who.uid == 0)) ||
			err_unsupported(err, "the socket %s belongs to another user (uid %u)",
					c->at->place.name, (unsigned)c->who.uid);
}

/** Send all, or as much as the other end takes: its answer says why it took no more. */
static void send_all(const struct call *c, struct slice text) {
	while (text.size > 0) {
		struct pollfd p = {.fd = c->fd, .events = POLLOUT};
		ssize_t n = poll(&p, 1, LOOK_MS) > 0 ? send(c->fd, text.data, text.size, MSG_NOSIGNAL) : 0;
		if (n <= 0) {
			return;
		}
		text = slice_of(text.data + n, text.size - (size_t)n);
	}
}

static bool receive(struct call *c, struct err *err) {
	for (;;) {
		struct pollfd p = {.fd = c->fd, .events = POLLIN};
		if (poll(&p, 1, LOOK_MS) <= 0) {
			if (!is_awake(c, err)) {
				return false;
			}
			continue;
		}
		uint8_t *room = buffer_room(&c->in, CHUNK_BYTES);
		ssize_t n = recv(c->fd, room, CHUNK_BYTES, 0);
		if (n <= 0) {
			return true;
		}
		c->in.size += (size_t)n;
		if (c->in.size > CONTROL_ANSWER_BYTES + CHUNK_BYTES) {
			return err_limit(err, "the answer is too long");
		}
	}
}

/** Check the version in the first line. *rest: what follows; nothing if the other end gave up. */
static bool take_first(const struct call *c, struct slice *rest, struct err *err) {
	const uint8_t *end = c->in.size ? memchr(c->in.data, '\n', c->in.size) : NULL;
	uint64_t version = 0;
	*rest = (struct slice){0};
	if (!end) {
		return true;
	}
	SCOPED(json_reader) j;
	json_reader_init(&j, slice_of(c->in.data, (size_t)(end - c->in.data)));
	JSON_EACH(&j, '{') {
		if (json_key_is(&j, "version")) {
			version = json_take_number(&j);
		} else {
			json_skip(&j);
		}
	}
	*rest = slice_of(end + 1, c->in.size - (size_t)(end + 1 - c->in.data));
	return version == CONTROL_PROTOCOL ||
			err_unsupported(err,
					"that heaptrack uses version %u of the control protocol; this one needs %d",
					(unsigned)version, CONTROL_PROTOCOL);
}

static bool is_busy(struct slice rest) {
	return rest.size == 0 || memmem(rest.data, rest.size, CONTROL_BUSY, sizeof CONTROL_BUSY - 1);
}

static bool ask_once(struct call *c, struct slice line, struct slice *rest, struct err *err) {
	buffer_clear(&c->in);
	bool ok = reach(c, err);
	if (ok) {
		send_all(c, line);
		ok = receive(c, err) && take_first(c, rest, err);
	}
	file_close(c->fd);
	return ok;
}

bool control_ask(const struct control_found *at, const char *line, struct buffer *answer,
		struct err *err) {
	struct call c = {.at = at,
			.patience_s = strncmp(line, "look", 4) == 0 ? LOOK_PATIENCE_S : PATIENCE_S};
	c.until_ns = clock_now_ns() + c.patience_s * 1000000000ull;
	SCOPED(buffer) sent = {0};
	struct slice rest = {0};
	buffer_printf(&sent, "%s\n", line);
	bool ok;
	while ((ok = ask_once(&c, buffer_view(&sent), &rest, err)) && is_busy(rest)) {
		if (clock_now_ns() >= c.until_ns) {
			ok = say_late(&c, err);
			break;
		}
		clock_sleep_ns(RETRY_NS);
	}
	if (ok) {
		buffer_slice(answer, rest);
	}
	buffer_finish(&c.in);
	return ok;
}
