// SPDX-License-Identifier: MIT
#include "replay/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file {
	uint8_t *data;
	size_t size;
};

static bool read_file(const char *path, struct file *out, struct err *err) {
	FILE *in = fopen(path, "rb");
	if (!in) {
		return err_set(err, ERR_SYSTEM, "cannot be opened");
	}
	size_t capacity = 0;
	for (size_t got = 1; got > 0; out->size += got) {
		if (out->size == capacity) {
			capacity = capacity * 2 + 65536;
			uint8_t *grown = realloc(out->data, capacity);
			if (!grown) {
				(void)fclose(in);
				return err_memory(err);
			}
			out->data = grown;
		}
		got = fread(out->data + out->size, 1, capacity - out->size, in);
	}
	(void)fclose(in);
	return true;
}

static bool read_at(void *user, uint64_t offset, void *out, size_t n, size_t *got,
		struct err *err) {
	(void)err;
	const struct file *file = user;
	*got = offset >= file->size ? 0 : file->size - offset < n ? file->size - offset : n;
	if (*got) {
		memcpy(out, file->data + offset, *got);
	}
	return true;
}

static bool read_source(const struct trace_source *source, trace_each_events *each, void *user,
		struct recording *rec, struct err *err) {
	struct trace_facts facts = {0};
	if (!trace_read(rec, &facts, source, 0, err)) {
		return false;
	}
	if (facts.n_events == 0 && rec->summary.allocations > 0) {
		return err_set(err, ERR_USAGE, "has no single events: record with --events");
	}
	if (facts.first_event > 0 || rec->quality.events_dropped) {
		return err_set(err, ERR_USAGE, "%" PRIu64 " of its single events were dropped",
				rec->quality.events_dropped);
	}
	return trace_read_events(source, rec, each, user, err);
}

bool replay_read(const char *path, trace_each_events *each, void *user, struct recording *rec,
		struct err *err) {
	struct file file = {0};
	bool ok = read_file(path, &file, err);
	if (ok) {
		struct trace_source source = {.read = read_at, .size = file.size, .user = &file};
		ok = read_source(&source, each, user, rec, err);
	}
	free(file.data);
	return ok;
}

static bool feed(void *user, const struct trace_event *events, size_t n) {
	replay_events(user, events, n);
	return true;
}

bool replay_file(const char *path, struct replay *replay, struct recording *rec, struct err *err) {
	return replay_read(path, feed, replay, rec, err);
}
