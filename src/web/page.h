// SPDX-License-Identifier: MIT
#pragma once
/** The page for a recording: one HTML document with styles and scripts, bundled from web/. */

#include "engine/names.h"

// ---- a recording as the page reads it: docs/page-format.md Served as /profile.bin, or contained
// in the page's HTML, in two separately packed parts: what the first picture needs, and the larger
// rest, read while that picture is being looked at

#define BLOB_MAGIC "heappage"

enum {
	BLOB_VERSION = 6,
	BLOB_HEAD_BYTES = 12, // magic, version (u32)
	BLOB_PART_BYTES = 16, // before each part: its size unpacked and packed (u64 each)
};

/** How well to pack: small to send far, or sooner done. */
enum blob_packing {
	BLOB_SMALL,   // to be kept, or sent to others
	BLOB_QUICKLY, // a third larger, in a quarter of the time: for a tunnel
	BLOB_AS_IS,   // for this machine
};

struct blob_options {
	enum blob_packing packing;
	bool is_redacted; // paths keep only their last part; no command, host, linkage names

	/** Stacks worth fewer bytes than this end at the nearest caller that is worth as many. */
	uint64_t least_bytes;

	/** Append a file's text (string id), quoted at heavy sites. False: none. NULL: no sources. */
	bool (*source)(void *user, uint32_t file, struct buffer *out);
	void *user;
};

void blob_write(struct buffer *out, const struct recording *r, const struct names *n,
		const struct blob_options *options);

/** The size of a blob's head and first part. */
size_t blob_first_size(struct slice blob);

// ---- the page that shows a recording

/** The earlier recording that the page compares with. */
struct page_base {
	const struct recording *recording;
	const struct names *names;
	const char *path; // of its file, for people
};

struct page_options {
	struct blob_options blob;
	struct slice text;    // the text report, for where scripts do not run
	uint64_t limit_bytes; // of the file; 0: none. What does not fit is merged, and the page says so
	const struct page_base *base; // NULL: none
};

/** False: this program was built without the page; everything below then fails and says so. */
bool page_is_there(void);

/** Append one file with everything in it. */
bool page_whole(struct buffer *out, const struct recording *r, const struct names *n,
		const struct page_options *options, struct err *err);

/** What is shown until the profile is there, and what the page needs to ask for it. */
struct page_frame {
	struct slice title, text;
	struct slice base_name; // not empty: it asks for /base.bin, too
	const char *nonce;      // its scripts and styles carry it
};

/** Append the bare page, which asks for /profile.bin. */
bool page_bare(struct buffer *out, const struct page_frame *frame, struct err *err);

/** Append one file that opens any recording, in the browser and without this program. */
bool page_viewer(struct buffer *out, struct err *err);

/** Names and licences of what the page contains besides our sources, for --version, or "". */
const char *page_licences(void);
