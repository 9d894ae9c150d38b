// SPDX-License-Identifier: MIT
#include "session/session.h"

#include "session/find.h"
#include "sys/reader.h"

#include <stdlib.h>

static bool read_file(void *user, uint64_t offset, void *out, size_t n, size_t *got,
		struct err *err) {
	return file_reader_read(user, offset, out, n, got, err);
}

static bool is_packed_text(struct slice head) {
	bool is_gzip = head.size >= 2 && head.data[0] == 0x1f && head.data[1] == 0x8b;
	bool is_zstd = head.size >= 4 && memcmp(head.data, "\x28\xb5\x2f\xfd", 4) == 0;
	return is_gzip || is_zstd;
}

/** Say what a file is that is not ours. */
static bool refuse(struct slice head, struct err *err) {
	if (head.size == 0) {
		return err_set(err, ERR_FORMAT, "the file is empty: nothing was recorded into it");
	}
	if (is_packed_text(head)) {
		return err_set(err, ERR_UNSUPPORTED,
				"the file is compressed, but not by this heaptrack; files of KDE's heaptrack "
				"cannot be read yet");
	}
	return err_set(err, ERR_FORMAT, "the file is not a heaptrack recording");
}

static bool read_recording(struct session *s, struct file_reader *file, struct err *err) {
	uint8_t head[64];
	size_t got;
	if (!file_reader_read(file, 0, head, sizeof head, &got, err)) {
		return false;
	}
	if (!trace_is_ours(slice_of(head, got))) {
		return refuse(slice_of(head, got), err);
	}
	struct trace_source source = {read_file, file->size_bytes, file};
	return trace_read(&s->recording, &s->facts, &source, 0, err);
}

bool session_open(struct session *s, const char *name, struct err *err) {
	*s = (struct session){.path = find_recording(name, err)};
	if (!s->path) {
		return false;
	}
	struct file_reader file = {.fd = -1};
	bool ok = file_reader_open(&file, s->path, err) && read_recording(s, &file, err) &&
			(s->names = names_create(&s->recording, err));
	file_reader_close(&file);
	if (!ok) {
		(void)err_add(err, "%s", s->path);
		session_close(s);
	}
	return ok;
}

void session_close(struct session *s) {
	if (s) {
		names_destroy(s->names);
		recording_finish(&s->recording);
		free(s->path);
		*s = (struct session){0};
	}
}
