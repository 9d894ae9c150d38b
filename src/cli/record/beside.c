// SPDX-License-Identifier: MIT
/*
 * Records for the recorder library, and turns the recording into the raw stream. It is made beside
 * the requested file in heaptrack's format, so that whatever is killed, a recording is left.
 */
#include "cli/cli.h"
#include "cli/record/options.h"

#define VARIABLE "DUMP_HEAPTRACK_OUTPUT"

enum { READER_PATIENCE_MS = 10000, NAP_MS = 20 };

struct beside_target {
	struct buffer path;      // "-": stdout
	struct buffer recording; // as a name for the collector, which expands %
	bool has_failed;
};

/** "$$" is the program's pid, as always. */
static void put_path(struct buffer *out, const char *name, int pid) {
	for (const char *at = name; *at; at++) {
		if (at[0] == '$' && at[1] == '$') {
			buffer_printf(out, "%d", pid);
			at++;
		} else {
			buffer_u8(out, (uint8_t)*at);
		}
	}
	buffer_u8(out, 0);
}

static bool is_stream(const char *name) {
	return strcmp(name, "-") == 0 || strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0;
}

/** Where the recording is until it becomes the stream: beside a file, else in TMPDIR. */
static void put_recording(struct buffer *out, const char *path, int pid) {
	struct stat s;
	bool is_file = !is_stream(path) && (stat(path, &s) != 0 || S_ISREG(s.st_mode));
	const char *parts[] = {is_file ? path : TEMPORARY_FOLDER,
			is_file ? "" : FORMAT(64, "/heaptrack.%d", pid)};
	for (size_t i = 0; i < N_OF(parts); i++) {
		for (const char *at = parts[i]; *at; at++) {
			buffer_printf(out, *at == '%' ? "%%%%" : "%c", *at);
		}
	}
	buffer_text(out, ".recording.zst");
	buffer_u8(out, 0);
}

static bool choose(struct beside_target *target, int pid, struct err *err) {
	const char *name = getenv(VARIABLE);
	put_path(&target->path, name ? name : "heaptrack.$$", pid);
	const char *path = (const char *)target->path.data;
	struct stat s;
	if (!is_stream(path) && stat(path, &s) == 0 && S_ISDIR(s.st_mode)) {
		return err_usage(err, VARIABLE "=%s is a folder; name a file in it", path);
	}
	if (strcmp(path, "stderr") == 0) {
		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	put_recording(&target->recording, path, pid);
	return true;
}

/** A named pipe has a reader, or gets one soon. */
static bool has_reader(const char *path) {
	struct stat s;
	if (stat(path, &s) != 0 || !S_ISFIFO(s.st_mode)) {
		return true;
	}
	for (int ms = 0; ms < READER_PATIENCE_MS; ms += NAP_MS) {
		int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0) {
			// The reader must not see an end before the stream: this one stays open
			return true;
		}
		(void)usleep(NAP_MS * 1000);
	}
	return false;
}

static void write_stream(void *user, const struct run_result *result) {
	struct beside_target *target = user;
	struct err err = {0};
	const char *path = (const char *)target->path.data;
	bool ok = result->was_recorded ||
			err_not_found(&err, "nothing was recorded: the recorder never started in the program");
	ok = ok &&
			(has_reader(path) || err_not_found(&err, "%s: no process reads from this FIFO", path));
	ok = ok && interpret_to_raw(result->path, is_stream(path) ? "-" : path, &err);
	if (!ok && result->was_recorded) {
		(void)err_add(&err, "cannot write the raw stream; the recording is kept in %s",
				result->path);
	}
	if (!ok) {
		say_problem("heaptrack", "%s", err.text);
	}
	target->has_failed = !ok;
}

static void tell(void *user, const char *text) {
	(void)user;
	say_problem("heaptrack", "%s", text);
}

/** The program's descriptors are not ours: nobody who waits for their end shall wait for us. */
static void let_go(int fd) {
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing >= 0) {
		(void)dup2(nothing, STDIN_FILENO);
		(void)close(nothing);
	}
	if (fd > STDERR_FILENO + 1) {
		(void)close_range(STDERR_FILENO + 1, (unsigned)fd - 1, 0);
	}
	(void)close_range((unsigned)fd + 1, ~0u, 0);
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

int cli_beside(int pid, int fd) {
	let_go(fd);
	struct beside_target target = {0};
	struct err err = {0};
	FREED struct run_result *result = memory_new(1, sizeof *result);
	bool ok = choose(&target, pid, &err);
	const struct run_options run = {
			.environment = environ,
			.output = (const char *)target.recording.data,
			.version = HEAPTRACK_VERSION,
			.overwrite = true,
			.events_bytes = RECORD_ALL_EVENTS,
			.lacks_names = true,
			.say = tell,
	};
	const struct beside_options beside = {pid, fd, write_stream, &target};
	ok = ok && beside_program(&run, &beside, result, &err);
	if (!ok) {
		say_problem("heaptrack", "%s; the program runs unrecorded", err.text);
	} else {
		run_result_finish(result);
	}
	CALL_FOR(buffer_finish, &target, path, recording);
	return ok && !target.has_failed ? EXIT_SUCCESS : EXIT_FAILURE;
}
