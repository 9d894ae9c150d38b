// SPDX-License-Identifier: MIT
#pragma once
/** Exports of an opened recording to other tools' formats (formats/), as bytes: opens no file. */

#include "engine/lens.h"
#include "formats/formats.h"
#include "session/session.h"

/** Where the bytes go, in any portions. False ends the export, with `err`. */
struct export_sink {
	bool (*write)(void *user, struct slice bytes, struct err *err);
	void *user;
};

struct export_request {
	struct session *session;    // its file may be read; otherwise unchanged
	const struct lens *lens;    // never NULL; lens_whole() for everything
	const struct session *base; // the base of a comparison, with the same lens for it; or NULL
	const struct lens *base_lens;
	struct write_options options;
	bool has_shown; // options.shown is set, whatever the lens ranks by
};

typedef bool export_fn(const struct export_request *request, const struct export_sink *sink,
		struct err *err);

/**
 * All exports, as listed. OWN(ID, name of the format, usual suffix, what it is and who reads it)
 * reads the recording itself, in export_ID(); WRITERs take a profile of it (formats/formats.h).
 */
#define EXPORTS(OWN, WRITER)                                                                     \
	OWN(heaptrack, "heaptrack", ".heaptrack", "for KDE's heaptrack_print and heaptrack_gui")     \
	OWN(heaptrack_raw, "heaptrack-raw", ".raw", "the raw stream, for KDE's heaptrack_interpret") \
	PROFILE_WRITERS(WRITER)                                                                      \
	OWN(massif_pages, "massif-pages", ".massif",                                                 \
			"massif of what calls that map have mapped, for ms_print")                           \
	OWN(histogram, "histogram", ".txt", "sizes of blocks and how many were allocated")

#define EXPORT_DECLARE(id, ...) export_fn export_##id;
#define EXPORT_NOTHING(...)
EXPORTS(EXPORT_DECLARE, EXPORT_NOTHING)

struct exporter {
	const char *name, *suffix;
	export_fn *write;       // of the recording; or
	profile_writer *encode; // of a profile of it
};

/** NULL: `err` lists the names. */
const struct exporter *exporter_find(struct slice name, struct err *err);

/** The output is uncompressed; a suffix ".gz" asks the caller to compress it. */
bool exporter_write(const struct exporter *e, const struct export_request *request,
		const struct export_sink *sink, struct err *err);

/** For the texts of options: " heaptrack ...", a paragraph each, and what a shell completes. */
#define EXPORT_NAME(id, name, ...)            " " name
#define EXPORT_ABOUT(id, name, suffix, about) "\n" name ": " about
#define EXPORT_WORD(id, name, ...)            name "= "
#define EXPORT_NAMES_TEXT                     EXPORTS(EXPORT_NAME, EXPORT_NAME)
#define EXPORT_ABOUT_TEXT                     EXPORTS(EXPORT_ABOUT, EXPORT_ABOUT)
#define EXPORT_WORDS                          EXPORTS(EXPORT_WORD, EXPORT_WORD)

// ---- a recording under a lens as a neutral profile

/**
 * Make the requested profile. In a comparison, frames are only functions, without lines and
 * addresses, which mean nothing across builds. Everything is in the arena.
 */
bool profile_of_request(struct profile *out, const struct export_request *request,
		struct arena *arena, struct err *err);

/**
 * The value that a lens ranks by, known or not; for a missing peak, the most important known one.
 */
enum profile_value profile_value_shown(const struct lens *lens, const struct profile *p);
