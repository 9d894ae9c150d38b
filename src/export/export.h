// SPDX-License-Identifier: MIT
#pragma once

/**
 * Exports: an opened recording as a file for other tools. One row per format in exporters.c. An
 * exporter asks the engine, fills a format of formats/ and hands out its bytes; it knows no file.
 */

#include "engine/lens.h"
#include "session/session.h"

/** Where the bytes go, in any portions. False ends the export with what `err` says. */
struct export_sink {
	bool (*write)(void *user, struct slice bytes, struct err *err);
	void *user;
};

struct export_request {
	struct session *session;    // its file may be read; nothing else of it changes
	const struct lens *lens;    // never NULL; lens_whole() for everything
	const char *title;          // of the file that was opened, for formats that have a place for it
	const struct session *base; // what it is compared with, and the same lens for it; NULL: none
	const struct lens *base_lens;
	double massif_threshold; // percent
	uint32_t massif_detailed_every;
};

struct exporter {
	const char *name;   // as in --export NAME=OUT
	const char *suffix; // usual one of such files, with its dot: ".pb.gz"; ".gz": they are packed
						// already, whatever the file is called
	const char *about;  // one line for --help: what it is and who reads it
	bool (*write)(const struct export_request *request, const struct export_sink *sink,
			struct err *err);
};

/** All of them, for help. */
extern const struct exporter exporters[];
extern const size_t n_exporters;

/** NULL: `err` lists the names there are. */
const struct exporter *exporter_find(const char *name, struct err *err);
