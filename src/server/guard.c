// SPDX-License-Identifier: MIT
/*
 * Lets in only who opened the page: checks token, cookie, Host and Origin, and compares the path
 * with each of the names there are.
 */
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

/** Any port: through `ssh -L` it is that of the other end. */
static bool is_own_host(struct slice host) {
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
	struct slice port;
	return ANY(i, sizeof names / sizeof *names,
			(port = host, take_prefix(&port, names[i])) && is_port(port));
}

/** No other page asks: it says nothing of where it comes from, or that it is the page itself. */
static bool is_own_origin(struct slice origin, struct slice host) {
	return origin.size == 0 || (take_prefix(&origin, "http://") && slice_equal(origin, host));
}

enum guard_says guard_check(const struct guard *g, const struct http_request *q) {
	if (!slice_equal(q->method, slice_of_text("GET"))) {
		return GUARD_METHOD;
	}
	if (!is_own_host(q->host)) {
		return GUARD_HOST;
	}
	if (!is_own_origin(q->origin, q->host)) {
		return GUARD_ORIGIN;
	}
	if (has_cookie(g, q->cookies)) {
		return GUARD_WELCOME;
	}
	return is_token(g, q->token) ? GUARD_NEWCOMER : GUARD_STRANGER;
}

void guard_cookie(const struct guard *g, char out[128]) {
	(void)snprintf(out, 128, "%s=%s; HttpOnly; SameSite=Strict; Path=/", g->name, g->token);
}

// ---- what its path means

/** A plain decimal number that fits, without sign, space or leading zeros. */
static bool parse_id(struct slice s, uint32_t *out) {
	uint64_t id = 0;
	bool ok = s.size > 0 && is_digit(s.data[0]) && (s.size == 1 || s.data[0] != '0') &&
			take_decimal(&s, &id) && s.size == 0 && id <= UINT32_MAX;
	*out = (uint32_t)id;
	return ok;
}

struct route route_of(struct slice path) {
	static const struct {
		const char *path;
		enum route_to to;
	} exact[] = {
			{"/", ROUTE_PAGE},
			{"/profile.bin", ROUTE_PROFILE},
			{"/base.bin", ROUTE_BASE},
			{"/save.html", ROUTE_WHOLE},
			{"/alive", ROUTE_ALIVE},
	};
	__auto_type known = FIND(e, exact, sizeof exact / sizeof *exact,
			slice_equal(path, slice_of_text(e->path)));
	uint32_t id = 0;
	bool is_source = take_prefix(&path, "/source/") && parse_id(path, &id);
	return (struct route){known ? known->to : is_source ? ROUTE_SOURCE : ROUTE_NOWHERE, id};
}
