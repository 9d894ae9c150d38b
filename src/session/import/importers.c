// SPDX-License-Identifier: MIT
/* The kinds of files, a row each, and how one is read. */
#include "formats/heaptrack.h"
#include "session/import/importer.h"

// The order matters only where two recognize the same head: those with magic bytes come first
static const struct importer importers[] = {
		{"KDE heaptrack", heaptrack_is_head, .read = import_heaptrack},
		{"heap dump", heap_dump_knows, .decode = heap_dump_decode},
		{"massif", massif_knows, .decode = massif_decode},
		{"DHAT", dhat_knows, .decode = dhat_decode},
		{"V8", v8_heap_profile_knows, .decode = v8_heap_profile_decode},
		{"pprof", pprof_knows, .decode = pprof_decode},
		{"collapsed stacks", folded_knows, .decode = folded_decode},
};

#define DEFAULT_MEMORY (sizeof(size_t) > 4 ? (size_t)(8ull << 30) : SIZE_MAX)

const struct importer *importer_for(struct slice head) {
	return FIND(item, importers, N_OF(importers), item->knows(head));
}

/** Always false, with an error that says what is wrong with a file that no row recognizes. */
static bool refuse(struct slice head, bool is_torn, struct err *err) {
	return err_format(err, "the file is %s",
			head.size > 0     ? "not a heaptrack recording, nor of another supported format"
					: is_torn ? "cut short: nothing in it can be read"
							  : "empty: nothing was recorded");
}

static bool read_as(const struct importer *importer, struct import *import, struct err *err) {
	if (!(importer->decode ? import_profile(import, importer->decode, err)
						   : importer->read(import, err))) {
		return false;
	}
	struct err why = {0};
	return recording_is_valid(import->out, &why) ||
			err_format(err, "inconsistent %s file: %s", importer->name, why.text);
}

bool import_file(const char *path, const struct import_options *options, struct recording *out,
		struct buffer *suppressions, struct err *err) {
	static const struct import_options defaults = {0};
	options = options ? options : &defaults;
	struct unpack *in = unpack_open(path, options->max_unpacked_bytes, err);
	if (!in) {
		return false;
	}
	struct import import = {in, path, options, out, suppressions};
	out->arena.max_bytes = options->max_memory_bytes ? options->max_memory_bytes : DEFAULT_MEMORY;
	struct slice head;
	bool ok = unpack_peek(in, IMPORT_HEAD_BYTES, &head, err);
	if (ok) {
		const struct importer *importer = importer_for(head);
		ok = importer ? read_as(importer, &import, err) : refuse(head, unpack_is_torn(in), err);
	}
	unpack_close(in);
	if (!ok) {
		recording_finish(out);
	}
	return ok;
}
