// SPDX-License-Identifier: MIT
/* Answers each address, and ends once no tab is open any more. */
#include "server/server.h"

#include "server/http.h"
#include "sys/clock.h"
#include "sys/signals.h"

#include <poll.h>

enum {
	TICK_MS = 2000,
	SECONDS_WITHOUT_TABS = 30, // a reload closes a tab and opens it again
};

struct server {
	struct http *http;
	struct guard guard;
	struct server_content content;
	char entrance[16 + GUARD_TOKEN_DIGITS];
	_Atomic bool was_entered;
	_Atomic uint64_t last_request_ns;
};

static void refuse(struct http_answer *a, unsigned status, const char *text) {
	a->status = status;
	a->bytes = slice_of_text(text);
}

/** What `out` holds becomes the answer if it was made, else it is freed. */
static void give(struct http_answer *a, struct buffer *out, bool is_made, const char *type,
		unsigned else_status, const char *else_text) {
	if (!is_made) {
		buffer_finish(out);
		refuse(a, else_status, else_text);
		return;
	}
	a->status = 200;
	a->type = type;
	a->bytes = buffer_view(out);
	a->body = HTTP_OWNED;
}

static bool make_page(struct server *s, struct buffer *out, struct http_answer *a) {
	char nonce[GUARD_TOKEN_DIGITS + 1];
	if (!guard_random(nonce, GUARD_TOKEN_DIGITS, NULL) ||
			!s->content.page(s->content.user, nonce, out, NULL)) {
		return false;
	}
	(void)snprintf(a->policy, sizeof a->policy,
			"default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src 'self'; "
			"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			nonce, nonce);
	atomic_store(&s->was_entered, true);
	return true;
}

static void give_bytes(struct slice bytes, struct http_answer *a) {
	if (bytes.size == 0) {
		refuse(a, 404, "no base recording to compare with\n");
		return;
	}
	a->status = 200;
	a->type = "application/octet-stream";
	a->bytes = bytes;
}

/** A plain decimal number that fits, without sign, space or leading zeros. */
static bool parse_id(struct slice s, uint32_t *out) {
	uint64_t id = 0;
	bool ok = s.size > 0 && is_digit(s.data[0]) && (s.size == 1 || s.data[0] != '0') &&
			take_decimal(&s, &id) && s.size == 0 && id <= UINT32_MAX;
	*out = (uint32_t)id;
	return ok;
}

/** Exact names only: nothing is joined, decoded or normalised. */
static void answer(struct server *s, struct slice path, struct http_answer *a) {
	static const char html[] = "text/html; charset=utf-8";
	const struct server_content *c = &s->content;
	struct buffer out = {0};
	uint32_t id;
	if (slice_is(path, "/")) {
		bool ok = make_page(s, &out, a);
		give(a, &out, ok, html, 500, "cannot generate the page\n");
	} else if (slice_is(path, "/profile.bin")) {
		give_bytes(c->profile, a);
	} else if (slice_is(path, "/base.bin")) {
		give_bytes(c->base, a);
	} else if (slice_is(path, "/save.html")) {
		bool ok = c->whole && c->whole(c->user, &out, NULL);
		give(a, &out, ok, html, 404, "cannot save the page\n");
		a->save_as = ok ? c->whole_name : NULL;
	} else if (slice_is(path, "/alive")) {
		a->status = 200;
		a->type = "text/event-stream";
		a->body = HTTP_STREAM;
	} else if (take_prefix(&path, "/source/") && parse_id(path, &id)) {
		bool ok = c->source && c->source(c->user, id, &out, NULL);
		give(a, &out, ok, NULL, 404, "source file not found\n");
	} else {
		refuse(a, 404, "page not found\n");
	}
}

static void handle(void *user, const struct http_request *q, struct http_answer *a) {
	struct server *s = user;
	if (guard_lets_in(&s->guard, q, a)) {
		atomic_store(&s->last_request_ns, clock_now_ns());
		answer(s, q->path, a);
	}
}

struct server *server_start(int fd, const struct server_content *content, struct err *err) {
	struct server *s = memory_new(1, sizeof *s);
	s->content = *content;
	if (guard_init(&s->guard, err)) {
		(void)snprintf(s->entrance, sizeof s->entrance, "/?token=%s", s->guard.token);
		s->http = http_start(fd, handle, s, err);
	}
	if (!s->http) {
		free(s);
		return NULL;
	}
	return s;
}

const char *server_entrance(const struct server *s) {
	return s->entrance;
}

/** Was somebody here, and for some time nobody? */
static bool is_deserted(struct server *s) {
	if (http_streams(s->http) > 0) {
		atomic_store(&s->last_request_ns, clock_now_ns());
		return false;
	}
	uint64_t quiet_ns = clock_now_ns() - atomic_load(&s->last_request_ns);
	return atomic_load(&s->was_entered) && quiet_ns > SECONDS_WITHOUT_TABS * UINT64_C(1000000000);
}

int server_wait(struct server *s, int signals_fd, bool stays, void (*entered)(void *), void *user) {
	struct signals_arrived arrived;
	struct pollfd wait = {.fd = signals_fd, .events = POLLIN};
	while (!is_deserted(s) || stays) {
		if (entered && atomic_load(&s->was_entered)) {
			entered(user);
			entered = NULL;
		}
		(void)poll(&wait, 1, TICK_MS);
		while (signals_next(signals_fd, &arrived)) {
			if (arrived.signal == SIGINT || arrived.signal == SIGTERM || arrived.signal == SIGHUP ||
					arrived.signal == SIGQUIT) {
				return arrived.signal;
			}
		}
	}
	return 0;
}

void server_stop(struct server *s) {
	if (s) {
		http_stop(s->http);
		free(s);
	}
}
