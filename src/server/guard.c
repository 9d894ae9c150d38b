// SPDX-License-Identifier: MIT
/* Lets in only whoever opened the page: checks token, cookie, Host and Origin. */
#include "server/http.h"

#include <errno.h>
#include <sys/random.h>

bool guard_random(char *out, size_t digits, struct err *err) {
	uint8_t bytes[GUARD_TOKEN_DIGITS / 2];
	if (getrandom(bytes, digits / 2, 0) != (ssize_t)(digits / 2)) {
		return err_system(err, errno, "cannot get random numbers");
	}
	put_hexadecimal(out, bytes, digits / 2);
	return true;
}

bool guard_init(struct guard *g, struct err *err) {
	memcpy(g->name, "heaptrack-", 10);
	return guard_random(g->name + 10, 8, err) && guard_random(g->token, GUARD_TOKEN_DIGITS, err);
}

static bool is_token(const struct guard *g, struct slice text) {
	if (text.size != GUARD_TOKEN_DIGITS) {
		return false;
	}
	unsigned different = 0;
	for (size_t i = 0; i < GUARD_TOKEN_DIGITS; i++) {
		different |= (unsigned)(text.data[i] ^ (uint8_t)g->token[i]);
	}
	return different == 0;
}

/** The cookie line is "name=value; name=value". */
static bool has_cookie(const struct guard *g, struct slice cookies) {
	struct slice one;
	return SOME(take_part(&cookies, ';', &one),
			(one = skip_spaces(one), take_prefix(&one, g->name)) && take_prefix(&one, "=") &&
					is_token(g, one));
}

static bool is_port(struct slice s) {
	return s.size == 0 ||
			(s.data[0] == ':' && s.size >= 2 && s.size <= 6 &&
					ALL(i, s.size - 1, is_digit(s.data[i + 1])));
}

/** Any port: with `ssh -L` it is that of the other end. */
static bool is_own_host(struct slice host) {
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
	struct slice port;
	return ANY(i, N_OF(names), (port = host, take_prefix(&port, names[i])) && is_port(port));
}

/** No other page is asking: the request names no origin, or the page itself. */
static bool is_own_origin(struct slice origin, struct slice host) {
	return origin.size == 0 || (take_prefix(&origin, "http://") && slice_equal(origin, host));
}

bool guard_lets_in(const struct guard *g, const struct http_request *q, struct http_answer *a) {
	bool is_get = slice_is(q->method, "GET");
	bool is_known = has_cookie(g, q->cookies);
	const char *why = !is_get                    ? "method not allowed; use GET\n"
			: !is_own_host(q->host)              ? "the request names another host\n"
			: !is_own_origin(q->origin, q->host) ? "the request comes from another page\n"
			: !is_known && !is_token(g, q->token)
			? "not authorized; open the address that heaptrack_gui printed (it contains a token)\n"
			: NULL;
	if (why) {
		a->status = is_get ? 403 : 405;
		a->bytes = slice_of_text(why);
	} else if (!is_known) {
		(void)snprintf(a->cookie, sizeof a->cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/",
				g->name, g->token);
	}
	return !why;
}
