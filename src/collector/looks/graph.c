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

/** How it went, in front of grades, holders and texts. */
struct verdict {
	uint64_t n_rows, n_holders, n_text_bytes;
	bool ok;
	struct err err;
};

/** What a graph is asked with. */
struct reader {
	int memory;
	struct root_names names;
};

static bool read_memory(void *user, uint64_t at, void *out, size_t bytes) {
	const struct reader *r = user;
	return pread(r->memory, out, bytes, (off_t)at) == (ssize_t)bytes;
}

static uint64_t find_variable(void *user, uint32_t area, uint64_t at) {
	struct reader *r = user;
	return root_names_variable(&r->names, area, at);
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

static bool answer_with(int answer, const struct graph *graph, const struct buffer *texts,
		struct verdict *v) {
	SCOPED(buffer) rows = {0};
	*v = (struct verdict){graph->grades.n, graph->holders.n, texts->size, true, {0}};
	buffer_slice(&rows, slice_of(graph->grades.items, v->n_rows * sizeof(struct rec_grade)));
	EACH(holder, graph->holders) {
		buffer_slice(&rows, slice_of(&holder->row, sizeof holder->row));
	}
	buffer_slice(&rows, buffer_view(texts));
	return !rows.failed && !texts->failed &&
			pwrite(answer, rows.data, rows.size, sizeof *v) == (ssize_t)rows.size;
}

static _Noreturn void grade(struct graph_input *in, struct root_names *names, int answer) {
	struct reader reader = {open(PROCESS_PATH(names->pid, "mem"), O_RDONLY | O_CLOEXEC), *names};
	struct words kernels = {0};
	take_kernels(&kernels, names->pid);
	in->kernel_words = kernels.items;
	in->n_kernel_words = kernels.n;
	in->user = &reader;
	reader.names.symbols = symbols_create(NULL, NULL);
	struct graph graph = {0};
	struct buffer texts = {0};
	struct verdict v = {0};
	if (graph_grade(in, &graph, &v.err)) {
		root_names_put(&reader.names, &graph, &texts);
		v.ok = answer_with(answer, &graph, &texts, &v) || err_memory(&v.err);
	}
	_exit(pwrite(answer, &v, sizeof v, 0) != sizeof v);
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

static bool take(int answer, void *out, size_t bytes, size_t at) {
	return pread(answer, out, bytes, (off_t)at) == (ssize_t)bytes;
}

static bool take_answer(struct view *v, int answer, struct texts *texts, struct err *err) {
	struct verdict end;
	if (pread(answer, &end, sizeof end, 0) != sizeof end) {
		return err_set(err, ERR_SYSTEM, "the process that read it has died");
	}
	if (!end.ok) {
		*err = end.err;
		return false;
	}
	const size_t bytes = end.n_rows * sizeof *v->grades.items;
	const size_t holder_bytes = end.n_holders * sizeof *v->holders.items;
	FREED char *text = calloc(end.n_text_bytes + 1, 1);
	v->has_grades = text && vec_reserve(&v->grades, end.n_rows) &&
			vec_reserve(&v->holders, end.n_holders) &&
			take(answer, v->grades.items, bytes, sizeof end) &&
			take(answer, v->holders.items, holder_bytes, sizeof end + bytes) &&
			take(answer, text, end.n_text_bytes, sizeof end + bytes + holder_bytes);
	v->grades.n = v->has_grades ? end.n_rows : 0;
	v->holders.n = v->has_grades ? end.n_holders : 0;
	EACH(holder, v->holders) {
		holder->name = holder->name ? texts_id_of(texts, text + holder->name) : 0;
	}
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
	struct graph_input in = {.parts = &parts,
			.threads = threads,
			.n_threads = n_threads,
			.read = read_memory};
	in.variable = find_variable;
	in.nodes = known->tries->nodes;
	in.n_nodes = known->tries->n_nodes;
	struct root_names names = {.areas = &v->areas,
			.threads = known->in.threads,
			.modules = known->modules,
			.pid = pid,
			.area = UINT32_MAX};
	CLOSED int answer = memfd_create("grades", MFD_CLOEXEC);
	pid_t child = answer < 0 ? -1 : fork();
	if (child == 0) {
		grade(&in, &names, answer);
	}
	if (child < 0) {
		return err_system(err, errno, "cannot start a process");
	}
	return wait_for_end(child, within_ns)
			? take_answer(v, answer, known->texts, err)
			: err_set(err, ERR_LIMIT, "it takes longer than %s", HUMAN_DURATION(within_ns));
}
