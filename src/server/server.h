// SPDX-License-Identifier: MIT
#pragma once
/**
 * Serves one recording's page to the person who opened it, until the last tab is closed. The caller
 * supplies the content; this module defines the addresses, access control (server/http.h), and
 * when the server ends.
 *
 *   /                 the page
 *   /profile.bin      what the page reads
 *   /base.bin         the same of what it is compared with
 *   /source/ID        a source file that the recording names, by its number there
 *   /save.html        the page and the profile as one file
 *   /alive            stays open as long as a tab does
 */

#include "base/base.h"

/** Where the answers come from. They are called in the server's thread, one at a time. */
struct server_content {
	void *user;
	struct slice profile; // borrowed as long as it is served
	struct slice base;    // the same; empty: none

	/** The page's HTML; its scripts and styles carry the attribute nonce="`nonce`". */
	bool (*page)(void *user, const char *nonce, struct buffer *out, struct err *err);

	/** A source file; false: there is none of this number, or it cannot be read. NULL: none. */
	bool (*source)(void *user, uint32_t id, struct buffer *out, struct err *err);

	/** The one file; NULL: it cannot be had. */
	bool (*whole)(void *user, struct buffer *out, struct err *err);
	const char *whole_name; // under which it is saved: without quotes, line ends and slashes
};

/** Starts to serve on `fd`, a listening socket, which is owned from now on. */
struct server *server_start(int fd, const struct server_content *content, struct err *err);

/** What the first address ends in: "/?token=...". */
const char *server_entrance(const struct server *s);

/**
 * Waits until the last tab has been closed for 30 s, or until a signal arrives at `signals_fd`
 * (sys/signals.h): gives that signal, or 0. `stays`: only a signal ends it. `entered` (may be NULL)
 * is called once, when the first page was asked for.
 */
int server_wait(struct server *s, int signals_fd, bool stays, void (*entered)(void *), void *user);

void server_stop(struct server *s);
