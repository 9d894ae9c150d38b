// SPDX-License-Identifier: MIT
/* Answers each address, and ends when no tab is open any more. */
#include "server/server.h"

#include "server/http.h"
#include "sys/clock.h"
#include "sys/signals.h"

#include <poll.h>
#include <stdatomic.h>

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

/** What `out` holds becomes the answer's if it was made, else it goes. */
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

static void give_page(struct server *s, struct http_answer *a) {
	char nonce[GUARD_TOKEN_DIGITS + 1];
	struct buffer out = {0};
	struct err err = {0};
	bool ok = guard_random(nonce, GUARD_TOKEN_DIGITS, &err) &&
			s->content.page(s->content.user, nonce, &out, &err);
	give(a, &out, ok, "text/html; charset=utf-8", 500, "cannot generate the page\n");
	if (!ok) {
		return;
	}
	(void)snprintf(a->policy, sizeof a->policy,
			"default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src 'self'; "
			"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			nonce, nonce);
	atomic_store(&s->was_entered, true);
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

static void give_source(struct server *s, uint32_t id, struct http_answer *a) {
	struct buffer out = {0};
	struct err err = {0};
	bool ok = s->content.source && s->content.source(s->content.user, id, &out, &err);
	give(a, &out, ok, NULL, 404, "source file not found\n");
}

static void give_whole(struct server *s, struct http_answer *a) {
	struct buffer out = {0};
	struct err err = {0};
	bool ok = s->content.whole && s->content.whole(s->content.user, &out, &err);
	give(a, &out, ok, "text/html; charset=utf-8", 404, "cannot save the page\n");
	a->save_as = ok ? s->content.whole_name : NULL;
}

static void give_route(struct server *s, const struct http_request *q, struct http_answer *a) {
	struct route route = route_of(q->path);
	switch (route.to) {
	case ROUTE_PAGE: give_page(s, a); break;
	case ROUTE_PROFILE: give_bytes(s->content.profile, a); break;
	case ROUTE_BASE: give_bytes(s->content.base, a); break;
	case ROUTE_SOURCE: give_source(s, route.id, a); break;
	case ROUTE_WHOLE: give_whole(s, a); break;
	case ROUTE_ALIVE:
		a->status = 200;
		a->type = "text/event-stream";
		a->body = HTTP_STREAM;
		break;
	case ROUTE_NOWHERE: refuse(a, 404, "page not found\n"); break;
	}
}

static void handle(void *user, const struct http_request *q, struct http_answer *a) {
	struct server *s = user;
	switch (guard_check(&s->guard, q)) {
	case GUARD_METHOD: refuse(a, 405, "method not allowed; use GET\n"); return;
	case GUARD_HOST: refuse(a, 403, "the request names another host\n"); return;
	case GUARD_ORIGIN: refuse(a, 403, "the request comes from another page\n"); return;
	case GUARD_STRANGER:
		refuse(a, 403,
				"not authorized; open the address that heaptrack_gui printed (it contains a "
				"token)\n");
		return;
	case GUARD_NEWCOMER: guard_cookie(&s->guard, a->cookie); break;
	case GUARD_WELCOME: break;
	}
	atomic_store(&s->last_request_ns, clock_now_ns());
	give_route(s, q, a);
}

struct server *server_start(int fd, const struct server_content *content, struct err *err) {
	struct server *s = calloc(1, sizeof *s);
	if (!s) {
		return err_memory_null(err);
	}
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

/** Somebody was here, and for some time nobody is. */
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
