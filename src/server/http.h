// SPDX-License-Identifier: MIT
#pragma once
/**
 * As much of HTTP as one page for one person needs. Only http.c knows which library implements it.
 * A separate thread serves all connections; the handler runs there and must not block for long.
 * Limits: 256 simultaneous connections, 16 KiB for a request's header, 20 s without progress.
 * Request bodies are never read.
 */

#include "base/base.h"

#include <microhttpd.h>

struct http_request {
	struct slice method, path; // path: as sent, undecoded, without the query
	struct slice host;         // its Host line; empty: none
	struct slice origin;       // its Origin line, which browsers send for other pages
	struct slice cookies;      // its Cookie line
	struct slice token;        // from the query: ?token=...
};

enum http_body {
	HTTP_BORROWED, // `bytes` live as long as the server
	HTTP_OWNED,    // malloc'ed: freed once sent
	HTTP_STREAM,   // no bytes: the connection stays open until the client leaves; see http_streams
};

struct http_answer {
	unsigned status;
	const char *type;    // Content-Type; NULL: text
	const char *save_as; // the file name with which a browser saves it; NULL: it is shown
	struct slice bytes;
	enum http_body body;
	char cookie[128]; // Set-Cookie; empty: none
	char policy[512]; // Content-Security-Policy; empty: the strictest
};

typedef void http_handler(void *user, const struct http_request *q, struct http_answer *a);

/** Serves `fd`, a listening socket, and takes ownership of it, even on failure. */
struct http *http_start(int fd, http_handler *handler, void *user, struct err *err);

/** Ends all connections and the thread. NULL is fine. */
void http_stop(struct http *h);

/**
 * The number of open streams. Call it every few seconds: it also sends something on each, which is
 * the only way to notice that a client has disconnected.
 */
unsigned http_streams(struct http *h);

// ---- lets in only a browser that has the token, and that asks for this machine The token (128
// bits from the kernel) is in the address that is printed or opened; the first request with it gets
// a cookie, which all others carry. Tokens are compared in constant time.
//
// Kept out are other users of this machine (no token), other pages in the same browser
// (SameSite=Strict; no CORS answer; an Origin line must be the page's own), names made to point
// here (DNS rebinding: the Host line must name the loopback), and anything but GET.

enum { GUARD_TOKEN_DIGITS = 32 };

struct guard {
	char token[GUARD_TOKEN_DIGITS + 1]; // in hexadecimal
	char name[24];                      // of the cookie, so that two servers do not share one
};

bool guard_init(struct guard *g, struct err *err);

/** Up to GUARD_TOKEN_DIGITS unpredictable digits, and a zero byte. */
bool guard_random(char *out, size_t digits, struct err *err);

/** With the token but no cookie, the answer sets one. False: the answer says why not. */
bool guard_lets_in(const struct guard *g, const struct http_request *q, struct http_answer *a);

// ---- the calls of libmicrohttpd that http.c makes A program that serves no page does not pay for
// the library, and the ten it brings with it if built with TLS

#define LIBRARY_CALLS(X)                              \
	X(add_response_header)                            \
	X(create_response_from_buffer)                    \
	X(create_response_from_buffer_with_free_callback) \
	X(create_response_from_callback)                  \
	X(destroy_response)                               \
	X(lookup_connection_value)                        \
	X(queue_response)                                 \
	X(resume_connection)                              \
	X(start_daemon)                                   \
	X(stop_daemon)                                    \
	X(suspend_connection)

struct library {
#define CALL(name) __typeof__(MHD_##name) *name;
	LIBRARY_CALLS(CALL)
#undef CALL
};

/** Fills `library`, for the life of the process. */
bool library_load(struct library *library, struct err *err);
