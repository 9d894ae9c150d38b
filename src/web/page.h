// SPDX-License-Identifier: MIT
#pragma once
/**
 * The page that shows a recording: one HTML document, styles and scripts in it. web/ has its
 * sources; the build bundles them into this library.
 */

#include "engine/names.h"

// ---- a recording as the page reads it: docs/page-format.md
//
// Served as /profile.bin, or kept in the page's HTML. Two parts, each packed by itself: what the
// first picture needs, and the rest, which is the larger and is read while that picture is looked
// at.

#define BLOB_MAGIC "heappage"

enum {
	BLOB_VERSION = 5,
	BLOB_HEAD_BYTES = 12, // magic, version (u32)
	BLOB_PART_BYTES = 16, // before each part: its bytes unpacked and packed (u64 each)
};

/** What is made small travels far; what is not is there sooner. */
enum blob_packing {
	BLOB_SMALL,   // to be kept, or sent to others
	BLOB_QUICKLY, // a third larger, in a quarter of the time: for a tunnel
	BLOB_AS_IS,   // for this machine
};

struct blob_options {
	enum blob_packing packing;
	bool is_redacted; // of paths only the last part; no command, host, linkage names

	/** Stacks worth less than this many bytes end at the nearest caller that is worth it. */
	uint64_t least_bytes;

	/** The text of a file that frames name, by its string id; false: it cannot be had. NULL: no
	 * sources. Lines around the heaviest sites are put in. */
	bool (*source)(void *user, uint32_t file, struct buffer *out);
	void *user;
};

/** Append the blob to `out`. */
void blob_write(struct buffer *out, const struct recording *r, const struct names *n,
		const struct blob_options *options);

/** How many bytes of a blob are its head and its first part. */
size_t blob_first_size(struct slice blob);

// ---- the page that shows a recording

/** The recording that the page compares with: what was before. */
struct page_base {
	const struct recording *recording;
	const struct names *names;
	const char *path; // of its file, by whose name people know it
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
