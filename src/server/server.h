// SPDX-License-Identifier: MIT
#pragma once
/**
 * Serves one recording's page to the person who opened it, until the last tab is closed. The caller
 * supplies the content; this module defines addresses, access (server/http.h) and when to end.
 *
 *   /                 the page
 *   /profile.bin      what the page reads
 *   /base.bin         the same of what it is compared with
 *   /source/ID        a source file that the recording names, by its number there
 *   /save.html        the page and the profile as one file
 *   /alive            stays open as long as a tab does
 */

#include "base/base.h"

/** Where the answers come from. Called in the server's thread, one at a time. */
struct server_content {
	void *user;
	struct slice profile; // borrowed while it is served
	struct slice base;    // the same; empty: none

	/** The page's HTML; its scripts and styles carry the attribute nonce="`nonce`". */
	bool (*page)(void *user, const char *nonce, struct buffer *out, struct err *err);

	/** A source file; false: no file has this number, or it is unreadable. NULL: none. */
	bool (*source)(void *user, uint32_t id, struct buffer *out, struct err *err);

	/** The one file; NULL: not available. */
	bool (*whole)(void *user, struct buffer *out, struct err *err);
	const char *whole_name; // to save it under: no quotes, line ends or slashes
};

/** Starts to serve on `fd`, a listening socket, and takes ownership of it. */
struct server *server_start(int fd, const struct server_content *content, struct err *err);

/** The path of the first address: "/?token=...". */
const char *server_entrance(const struct server *s);

/**
 * Waits until the last tab has been closed for 30 s, or a signal arrives at `signals_fd`
 * (sys/signals.h). Returns that signal, or 0. `stays`: only a signal ends it. `entered` (may be
 * NULL) is called once, when the first page is asked for.
 */
int server_wait(struct server *s, int signals_fd, bool stays, void (*entered)(void *), void *user);

void server_stop(struct server *s);
