// SPDX-License-Identifier: MIT
#pragma once
/**
 * The page that shows a recording: one HTML document, styles and scripts in it. web/ has its
 * sources; the build bundles them into this library.
 */

#include "web/blob.h"

/** The recording that the page compares with: what was before. */
struct page_base {
	const struct recording *recording;
	const struct names *names;
	struct slice name; // what people know it by: a file's
};

struct page_options {
	struct slice text;    // the text report: what is read where scripts do not run
	bool is_redacted;     // blob.h says what is left out
	uint64_t limit_bytes; // of the file; 0: none. What does not fit is merged, and the page says so
	bool (*source)(void *user, uint32_t file, struct buffer *out); // as in blob.h
	void *user;
	const struct page_base *base; // NULL: none
};

/**
 * False: this program was built without the page; everything below fails and says so, whatever it
 * is given.
 */
bool page_is_there(void);

/** Append one file that has it all. */
bool page_whole(struct buffer *out, const struct recording *r, const struct names *n,
		const struct page_options *options, struct err *err);

/** What is shown until the profile is there, and what the page needs to ask for it. */
struct page_frame {
	struct slice title, text;
	struct slice base_name; // not empty: it also asks for /base.bin
	const char *nonce;      // its scripts and styles carry it
};

/** Append the page alone: it asks for /profile.bin. */
bool page_bare(struct buffer *out, const struct page_frame *frame, struct err *err);

/** Append one file that opens any recording, in the browser and without this program. */
bool page_viewer(struct buffer *out, struct err *err);

/** What the page is made of besides our sources: names and licences, for --version. "": none. */
const char *page_licences(void);
