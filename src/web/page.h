// SPDX-License-Identifier: MIT
#pragma once

/**
 * The page: one HTML document, styles and scripts in it, that shows a recording. web/ has its
 * sources; the build bundles them into this library.
 */

#include "web/blob.h"

struct page_options {
	struct slice text;    // the text report: what is read where scripts do not run
	bool is_redacted;     // blob.h says what is left out
	uint64_t limit_bytes; // of the file; 0: none. What does not fit is merged, and the page says so
	bool (*source)(void *user, uint32_t file, struct buffer *out); // as in blob.h
	void *user;
};

/** False: this program was built without the page; everything below fails and says so. */
bool page_is_there(void);

/** Append one file that has it all. */
bool page_whole(struct buffer *out, const struct recording *r, const struct names *n,
		const struct page_options *options, struct err *err);

/**
 * Append the page alone: it asks for /profile.bin. Its scripts and styles carry `nonce`. `title`
 * and `text` are shown until the profile is there.
 */
bool page_bare(struct buffer *out, const char *nonce, struct slice title, struct slice text,
		struct err *err);

/** What the page is made of beside our own sources: names and licences, for --version. "": none. */
const char *page_licences(void);
