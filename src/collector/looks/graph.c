// SPDX-License-Identifier: MIT
/*
 * Grades what lives in a process that stands still.
 *
 * A child of ours reads and marks: a fault there costs the answer and not the recording, and its
 * memory is gone when it ends. It answers in a file: how it went, which is written last, and rows.
 */

#include "collector/looks/looks.h"
#include "sys/sys.h"

#include <dirent.h>
#include <poll.h>

/** How it went, in front of the rows. */
struct verdict {
	uint64_t n_rows;
	bool ok;
	struct err err;
};

static bool read_memory(void *user, uint64_t at, void *out, size_t bytes) {
	const int *memory = user;
	return pread(*memory, out, bytes, (off_t)at) == (ssize_t)bytes;
}

// ---- what the kernel keeps

struct words {
	VEC(uint64_t);
};

/** "tfd: 5 events: 19 data: 55d0f3a6b2c0 ...", a line for each that is waited for. */
static void take_events(struct words *out, pid_t pid, const char *fd) {
	char line[512], path[64];
	(void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%.16s", (int)pid, fd);
	CLOSED_FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof line, file)) {
		const char *data = strncmp(line, "tfd:", 4) == 0 ? strstr(line, "data:") : NULL;
		(void)(data && vec_add(out, strtoull(data + 5, NULL, 16)));
	}
}

/** What a program has given to epoll, to have it back with an event. */
static void take_kernels(struct words *out, pid_t pid) {
	char path[64], link[64];
	(void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	CLOSED_FOLDER *folder = opendir(path);
	for (struct dirent *e; folder && (e = readdir(folder));) {
		ssize_t n = readlinkat(dirfd(folder), e->d_name, link, sizeof link - 1);
		link[n > 0 ? n : 0] = '\0';
		if (strcmp(link, "anon_inode:[eventpoll]") == 0) {
			take_events(out, pid, e->d_name);
		}
	}
}

// ---- the child

static _Noreturn void grade(struct graph_input *in, pid_t pid, int answer) {
	int memory = open(PROCESS_PATH(pid, "mem"), O_RDONLY | O_CLOEXEC);
	struct words kernels = {0};
	take_kernels(&kernels, pid);
	in->kernel_words = kernels.items;
	in->n_kernel_words = kernels.n;
	in->user = &memory;
	struct graph graph = {0};
	struct verdict v = {0};
	v.ok = graph_grade(in, &graph, &v.err);
	v.n_rows = graph.grades.n;
	size_t bytes = v.n_rows * sizeof *graph.grades.items;
	_exit(pwrite(answer, graph.grades.items, bytes, sizeof v) != (ssize_t)bytes ||
			pwrite(answer, &v, sizeof v, 0) != sizeof v);
}

// ---- its parent

/** Has it ended by itself? The thread that watches the program may reap it. */
static bool wait_for_end(pid_t child, uint64_t within_ns) {
	CLOSED int fd = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};
	bool has_ended = fd < 0 || poll(&end, 1, (int)(within_ns / 1000000)) > 0;
	if (!has_ended) {
		(void)kill(child, SIGKILL);
	}
	(void)waitpid(child, NULL, 0);
	return has_ended;
}

static bool take_answer(struct view *v, int answer, struct err *err) {
	struct verdict end;
	if (pread(answer, &end, sizeof end, 0) != sizeof end) {
		return err_set(err, ERR_SYSTEM, "the process that read it has died");
	}
	if (!end.ok) {
		*err = end.err;
		return false;
	}
	size_t bytes = end.n_rows * sizeof *v->grades.items;
	v->has_grades = vec_reserve(&v->grades, end.n_rows) &&
			pread(answer, v->grades.items, bytes, sizeof end) == (ssize_t)bytes;
	v->grades.n = v->has_grades ? end.n_rows : 0;
	return v->has_grades || err_memory(err);
}

bool graph_read(struct view *v, const struct looks_known *known, const struct graph_thread *threads,
		size_t n_threads, pid_t pid, uint64_t within_ns, struct err *err) {
	if (!known->in.knows_all_blocks || v->pages.how == PAGEMAP_REFUSED ||
			v->pages.skipped_bytes > 0) {
		return err_set(err, ERR_UNSUPPORTED,
				known->in.knows_all_blocks ? "the kernel does not tell which pages are in memory"
										   : "not all blocks that live are known");
	}
	if (ANY(i, v->areas.n, v->areas.items[i].swap_bytes > 0)) {
		return err_set(err, ERR_UNSUPPORTED, "some of its memory is swapped out");
	}
	const struct parts_input parts = view_as_input(v, known);
	struct graph_input in = {&parts, threads, n_threads, NULL, 0, read_memory, NULL};
	CLOSED int answer = memfd_create("grades", MFD_CLOEXEC);
	pid_t child = answer < 0 ? -1 : fork();
	if (child == 0) {
		grade(&in, pid, answer);
	}
	if (child < 0) {
		return err_system(err, errno, "cannot start a process");
	}
	return wait_for_end(child, within_ns)
			? take_answer(v, answer, err)
			: err_set(err, ERR_LIMIT, "it takes longer than %s", HUMAN_DURATION(within_ns));
}
