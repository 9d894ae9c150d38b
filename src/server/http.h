// SPDX-License-Identifier: MIT
#pragma once
/**
 * As much of HTTP as one page for one person needs. Only http.c knows which library implements it.
 * A separate thread serves all connections; the handler runs there and must not block for long.
 *
 * Limits: 256 simultaneous connections, 16 KiB for the header of a request, 20 s without progress.
 * Request bodies are never read.
 */

#include "base/base.h"

struct http_request {
	struct slice method, path; // path: as sent, not unescaped, without the query
	struct slice host;         // its Host line; empty: none
	struct slice origin;       // its Origin line, which browsers send for other pages
	struct slice cookies;      // its Cookie line
	struct slice token;        // of the query: ?token=...
};

enum http_body {
	HTTP_BORROWED, // `bytes` live as long as the server
	HTTP_OWNED,    // malloc'ed: freed when they are sent
	HTTP_STREAM,   // no bytes: the connection stays open until the client leaves; see http_streams
};

struct http_answer {
	unsigned status;
	const char *type;    // Content-Type; NULL: text
	const char *save_as; // the name under which a browser saves it; NULL: it is shown
	struct slice bytes;
	enum http_body body;
	char cookie[128]; // Set-Cookie; empty: none
	char policy[512]; // Content-Security-Policy; empty: the strictest
};

typedef void http_handler(void *user, const struct http_request *q, struct http_answer *a);

/** Serves `fd`, a listening socket, which it owns from now on, also if it fails. */
struct http *http_start(int fd, http_handler *handler, void *user, struct err *err);

/** Ends all connections and the thread. NULL is fine. */
void http_stop(struct http *h);

/**
 * The number of open streams. To be called every few seconds: it also sends something on each,
 * because that is the only way to notice that a client has disconnected.
 */
unsigned http_streams(struct http *h);
