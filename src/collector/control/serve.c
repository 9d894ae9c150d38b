// SPDX-License-Identifier: MIT
/*
 * The serving side of the control socket: one connection at a time, in phases, each of which waits
 * for one descriptor:
 *
 *   WAITING  the listener, for a connection
 *   READING  the connection, for the line of the request
 *   ASKING   the eventfd that says that the recording's thread has answered
 *   WRITING  the connection, until it takes more of the answer
 *   RESTING  nothing: too many files are open to accept a connection
 *
 * `turn` says which thread owns the buffer `answer`.
 */
#include "collector/control/serve.h"

#include <sys/eventfd.h>

enum {
	PATIENCE_NS = 500000000, // for a line; for the answer; until it has been taken
	// Times longer for a look: it takes some 50 ms per GB, and a second with --leaks
	LOOK_PATIENCE = 64,
	BACKLOG = 8, // beyond that, the kernel refuses connections
};

enum phase { WAITING, READING, ASKING, WRITING, RESTING };
enum turn { TURN_WATCH, TURN_ASKED, TURN_ANSWERED }; // ASKED: the recording's thread's turn

struct control {
	struct control_place place;
	int listener, visitor, answered;
	enum phase phase;
	uint64_t until_ns; // of the phase
	struct buffer in, out;
	size_t sent;
	_Atomic uint32_t *bell;
	// Each thread stores one and then loads the other, so one of them sees both
	_Atomic int turn;             // whose the answer is
	enum control_command command; // to be answered; constant during the other thread's turn
	_Atomic bool is_settled;      // then `last` is the watching thread's
	struct buffer answer, last;
};

// ---- the watching thread

static void send_off(struct control *c) {
	(void)close(c->visitor);
	c->visitor = -1;
	c->phase = WAITING;
}

static void enter(struct control *c, enum phase phase) {
	c->phase = phase;
	c->until_ns = clock_now_ns() + PATIENCE_NS;
}

static void answer_line(struct control *c, struct slice line) {
	buffer_clear(&c->out);
	buffer_slice(&c->out, line);
	c->sent = 0;
	enter(c, WRITING);
}

static void answer_error(struct control *c, const char *text) {
	answer_line(c, (struct slice){0});
	struct json j = json_init(&c->out);
	JSON_DOCUMENT(&j);
	json_text(&j, "error", text);
}

/** The first line of every answer. It fits into a new socket's buffer: never waits. */
static bool greet(struct control *c) {
	buffer_clear(&c->out);
	struct json j = json_init(&c->out);
	json_open(&j, NULL, '{');
	json_number(&j, "version", CONTROL_PROTOCOL);
	json_text(&j, "heaptrack", HEAPTRACK_VERSION);
	json_close(&j);
	buffer_u8(&c->out, '\n');
	return send(c->visitor, c->out.data, c->out.size, MSG_NOSIGNAL) == (ssize_t)c->out.size;
}

static void let_in(struct control *c) {
	struct ucred who;
	c->visitor = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (c->visitor >= 0) {
		buffer_clear(&c->in);
		enter(c, READING);
		if (!unix_peer(c->visitor, &who) || (who.uid != geteuid() && who.uid != 0) || !greet(c)) {
			send_off(c);
		}
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		enter(c, RESTING);
	}
}

static void ask(struct control *c, enum control_command command) {
	bool is_asked = atomic_load(&c->turn) == TURN_ASKED; // by one who did not wait for it
	if (!is_asked) {
		uint64_t n;
		(void)!read(c->answered, &n, sizeof n); // of an answer that came too late
		c->command = command;
		atomic_store(&c->turn, TURN_ASKED);
		atomic_store(c->bell, 1);
		futex_wake(c->bell, 1);
	}
	if (atomic_load(&c->is_settled)) {
		answer_line(c,
				command == CONTROL_STATUS ? buffer_view(&c->last)
										  : slice_of_text(CONTROL_TOO_LATE "\n"));
	} else if (is_asked) {
		answer_line(c, slice_of_text(CONTROL_BUSY "\n"));
	} else {
		enter(c, ASKING);
		c->until_ns += command == CONTROL_LOOK ? (LOOK_PATIENCE - 1) * (uint64_t)PATIENCE_NS : 0;
	}
}

static void take_line(struct control *c, size_t n) {
	struct err err;
	enum control_command command;
	if (n > CONTROL_LINE_BYTES) {
		answer_error(c, "the line is longer than 65536 bytes");
	} else if (!control_request(slice_of(c->in.data, n), &command, &err)) {
		answer_error(c, err.text);
	} else {
		ask(c, command);
	}
}

static void read_line(struct control *c) {
	size_t before = c->in.size;
	uint8_t *room = buffer_room(&c->in, CONTROL_LINE_BYTES + 1 - before);
	ssize_t n = recv(c->visitor, room, CONTROL_LINE_BYTES + 1 - before, 0);
	if (n == 0) {
		answer_error(c, "incomplete line");
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		send_off(c);
	}
	if (n <= 0) {
		return;
	}
	c->in.size = before + (size_t)n;
	const uint8_t *end = memchr(c->in.data + before, '\n', (size_t)n);
	if (end || c->in.size > CONTROL_LINE_BYTES) {
		take_line(c, end ? (size_t)(end - c->in.data) : c->in.size);
	}
}

static void take_answer(struct control *c) {
	uint64_t n;
	if (atomic_load(&c->turn) != TURN_ANSWERED) {
		return;
	}
	(void)!read(c->answered, &n, sizeof n);
	atomic_store(&c->turn, TURN_WATCH);
	if (c->answer.size > CONTROL_ANSWER_BYTES) {
		answer_error(c, "the answer is too long");
	} else {
		answer_line(c, buffer_view(&c->answer));
	}
}

static void write_answer(struct control *c) {
	ssize_t n = send(c->visitor, c->out.data + c->sent, c->out.size - c->sent, MSG_NOSIGNAL);
	c->sent += n > 0 ? (size_t)n : 0;
	if (c->sent == c->out.size || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		send_off(c);
	}
}

struct pollfd control_awaited(const struct control *c) {
	switch (c ? c->phase : RESTING) {
	case WAITING: return (struct pollfd){.fd = c->listener, .events = POLLIN};
	case READING: return (struct pollfd){.fd = c->visitor, .events = POLLIN};
	case ASKING: return (struct pollfd){.fd = c->answered, .events = POLLIN};
	case WRITING: return (struct pollfd){.fd = c->visitor, .events = POLLOUT};
	case RESTING: break;
	}
	return (struct pollfd){.fd = -1};
}

int control_patience_ms(const struct control *c, int most_ms) {
	if (!c || c->phase == WAITING) {
		return most_ms;
	}
	uint64_t now_ns = clock_now_ns();
	uint64_t ms = now_ns < c->until_ns ? (c->until_ns - now_ns) / 1000000 + 1 : 0;
	return ms < (uint64_t)most_ms ? (int)ms : most_ms;
}

static void lose_patience(struct control *c) {
	if (c->phase == ASKING) {
		answer_line(c, slice_of_text(CONTROL_BUSY "\n"));
	} else if (c->phase == RESTING) {
		c->phase = WAITING;
	} else {
		send_off(c);
	}
}

void control_step(struct control *c, short revents) {
	if (!c || (c->phase == WAITING && !revents)) {
		return;
	}
	enum phase before = c->phase;
	if (before == WAITING) {
		let_in(c);
	} else if (before == READING && revents) {
		read_line(c);
	} else if (before == ASKING) {
		take_answer(c);
	}
	if (c->phase == WRITING) {
		write_answer(c);
	}
	if (c->phase == before && before != WAITING && clock_now_ns() >= c->until_ns) {
		lose_patience(c);
	}
}

// ---- the recording's thread

enum control_command control_asked(const struct control *c) {
	return c && atomic_load(&c->turn) == TURN_ASKED ? c->command : CONTROL_COMMANDS;
}

void control_answer(struct control *c, void (*put)(void *user, struct buffer *out), void *user) {
	uint64_t one = 1;
	buffer_clear(&c->answer);
	put(user, &c->answer);
	atomic_store(&c->turn, TURN_ANSWERED);
	(void)!write(c->answered, &one, sizeof one);
}

static void put_too_late(void *user, struct buffer *out) {
	(void)user;
	buffer_text(out, CONTROL_TOO_LATE "\n");
}

void control_settle(struct control *c, void (*put)(void *user, struct buffer *out), void *user) {
	if (!c) {
		return;
	}
	put(user, &c->last);
	atomic_store(&c->is_settled, true);
	enum control_command asked = control_asked(c); // before it could see that
	if (asked != CONTROL_COMMANDS) {
		control_answer(c, asked == CONTROL_STATUS ? put : put_too_late, user);
	}
}

// ---- both

struct control *control_open(pid_t program, _Atomic uint32_t *bell) {
	struct control *c = memory_new(1, sizeof *c);
	*c = (struct control){.bell = bell, .visitor = -1, .answered = -1};
	c->listener = control_listen(&c->place, program);
	c->answered = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->listener < 0 || c->answered < 0 || listen(c->listener, BACKLOG) != 0) {
		control_close(c);
		return NULL;
	}
	return c;
}

void control_close(struct control *c) {
	if (!c) {
		return;
	}
	if (c->place.name[0] != '@') {
		(void)unlink(c->place.name);
	}
	CALL_FOR(file_close_at, c, listener, visitor, answered);
	CALL_FOR(buffer_finish, c, in, out, answer, last);
	free(c);
}
