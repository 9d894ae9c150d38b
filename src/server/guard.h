// SPDX-License-Identifier: MIT
#pragma once
/**
 * Lets in only who opened the page: only a browser that has the token, and that asks for this
 * machine. The token (128 bits from the kernel) is in the address that is printed or opened; the
 * first request with it gets a cookie, which all other requests carry. Tokens are compared in
 * constant time.
 *
 * What is kept out: other users of this machine (no token), other pages in the same browser
 * (SameSite=Strict; no CORS answer; an Origin line must be the page's own), names that were made to
 * point here (DNS rebinding: the Host line must name the loopback), anything but GET.
 */

#include "server/http.h"

enum { GUARD_TOKEN_DIGITS = 32 };

struct guard {
	char token[GUARD_TOKEN_DIGITS + 1]; // in hexadecimal
	char name[24];                      // of the cookie: two servers at once don't share one
};

enum guard_says {
	GUARD_WELCOME,  // the cookie is right
	GUARD_NEWCOMER, // the token is right: set the cookie
	GUARD_METHOD,   // not GET
	GUARD_HOST,     // another name than this machine's own
	GUARD_ORIGIN,   // a page of somewhere else asks
	GUARD_STRANGER, // neither token nor cookie
};

bool guard_init(struct guard *g, struct err *err);

/** At most GUARD_TOKEN_DIGITS digits that nobody can guess, and a zero byte. */
bool guard_random(char *out, size_t digits, struct err *err);

enum guard_says guard_check(const struct guard *g, const struct http_request *q);

/** The Set-Cookie line for a newcomer. */
void guard_cookie(const struct guard *g, char out[128]);

// ---- what its path means: exact names only, nothing is joined, decoded or normalised

enum route_to {
	ROUTE_NOWHERE,
	ROUTE_PAGE,
	ROUTE_PROFILE,
	ROUTE_BASE,
	ROUTE_SOURCE, // `id` is the file's
	ROUTE_WHOLE,
	ROUTE_ALIVE,
};

struct route {
	enum route_to to;
	uint32_t id;
};

struct route route_of(struct slice path);
