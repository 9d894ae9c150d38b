// SPDX-License-Identifier: MIT
/*
 * Grades the live blocks of a process that is stopped, or of a copy. A child of ours reads and
 * marks them: a fault there costs the answer but not the recording, its memory is gone at its end,
 * and its view of ours stays as of its start. It answers in a file: rows, and last how it went.
 */
#include "collector/looks/looks.h"
#include "injector/space.h"

enum { NICE = 10 }; // beside a program that goes on

/** How it went; before grades, classes, holders and texts. */
struct verdict {
	uint64_t n_rows, n_classes, n_holders, n_text_bytes;
	bool ok;
	struct err err;
};

// ---- what the kernel keeps

void kept_find(struct kept *k, pid_t pid) {
	char link[64];
	CLOSED_FOLDER *folder = opendir(PROCESS_PATH(pid, "fd"));
	for (struct dirent *e; folder && (e = readdir(folder));) {
		ssize_t n = readlinkat(dirfd(folder), e->d_name, link, sizeof link - 1);
		link[n > 0 ? n : 0] = '\0';
		if (strcmp(link, "anon_inode:[eventpoll]") == 0) {
			(void)vec_add(&k->files, atoi(e->d_name));
		}
	}
}

/** "tfd: 5 events: 19 data: 55d0f3a6b2c0 ...", a line per awaited file. */
void kept_read(struct kept *k, pid_t pid) {
	char line[512];
	EACH(fd, k->files) {
		CLOSED_FILE *file = fopen(PROCESS_PATH(pid, "fdinfo/%d", *fd), "re");
		while (file && fgets(line, sizeof line, file)) {
			const char *data = strncmp(line, "tfd:", 4) == 0 ? strstr(line, "data:") : NULL;
			(void)(data && vec_add(&k->words, strtoull(data + 5, NULL, 16)));
		}
	}
}

// ---- the child

/** A copy lacks untouched pages of files and shared memory: take those of the running process. */
static void add_shared(struct view *v, const struct view *running) {
	size_t n = 0;
	v->modules = running->modules; // lent: neither is finished here
	EACH(p, running->pages) {
		while (n < v->areas.n && v->areas.items[n].end <= p->start) {
			n++;
		}
		const struct smaps_area *a = n < v->areas.n ? &v->areas.items[n] : NULL;
		if (a && a->start <= p->start && p->end <= a->end && a->is_shared && a->is_writable) {
			(void)vec_add(&v->pages, *p);
		}
	}
	vec_sort(&v->pages, by_number);
}

static bool read_view(struct view *v, const struct scan *scan, struct err *err) {
	if (!view_read(v, scan->pid, scan->memory, NULL, scan->own)) {
		return err_failed(err, "its memory cannot be read");
	}
	if (scan->running) {
		add_shared(v, scan->running);
	}
	if (v->pages.how == PAGEMAP_REFUSED || v->pages.skipped_bytes > 0) {
		return err_unsupported(err, "the kernel does not tell which pages are in memory");
	}
	return !ANY(i, v->areas.n, v->areas.items[i].swap_bytes > 0) ||
			err_unsupported(err, "some of its memory is swapped out");
}

/** `texts`: names of roots. */
static bool grade(const struct scan *scan, struct graph *out, struct buffer *texts,
		struct err *err) {
	struct view v = {0};
	struct stat s;
	const struct looks_known *known = scan->known;
	if (!read_view(&v, scan, err)) {
		return false;
	}
	struct heap_walk heap = {0};
	if (known->has_old && (!heap_walk(&heap, scan->pid) || heap.n_unsure > 0)) {
		return err_unsupported(err, "its heap was just being changed; look again");
	}
	(void)fstat(scan->threads, &s);
	const size_t n_bytes = (size_t)s.st_size;
	struct graph_thread *threads = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			scan->threads, 0);
	const size_t n_threads = n_bytes / sizeof *threads;
	struct parts_thread *stacks = memory_new(n_threads + 1, sizeof *stacks);
	if (threads == MAP_FAILED) {
		return err_memory(err);
	}
	qsort(threads, n_threads, sizeof *threads, by_number);
	for (size_t i = 0; i < n_threads; i++) {
		stacks[i] = (struct parts_thread){FIELDS_OF(&threads[i], sp, fs_base, tid)};
	}
	struct parts_input parts = view_as_input(&v, known);
	parts.threads = stacks;
	parts.n_threads = n_threads;
	struct root_names names = {.areas = &v.areas,
			.threads = stacks,
			.modules = known->modules,
			.symbols = symbols_create(NULL),
			.memory = scan->memory,
			.pid = scan->program,
			.area = UINT32_MAX};
	const struct graph_input in = {.parts = &parts,
			FIELDS_OF(known->tries, nodes, n_nodes),
			.threads = threads,
			.n_threads = n_threads,
			.heap = heap.blocks.items,
			.n_heap = heap.blocks.n,
			.kernel_words = scan->kept->words.items,
			.n_kernel_words = scan->kept->words.n,
			.read = root_names_read,
			.variable = root_names_variable,
			.frame = root_names_frame,
			.class_of = root_names_class,
			.user = &names};
	for (size_t i = 0; i < n_threads; i++) {
		root_names_find_frames(&names, i, &threads[i]);
	}
	bool ok = graph_grade(&in, out, err);
	root_names_put(&names, out, texts);
	return ok;
}

static bool answer_with(int answer, const struct graph *graph, const struct buffer *texts,
		struct verdict *v) {
	SCOPED(buffer) rows = {0};
	*v = (struct verdict){graph->grades.n, graph->classes.n, graph->holders.n, texts->size, true,
			{0}};
	buffer_slice(&rows, slice_of(graph->grades.items, v->n_rows * sizeof(struct rec_grade)));
	buffer_slice(&rows, slice_of(graph->classes.items, v->n_classes * sizeof(struct rec_class)));
	EACH(holder, graph->holders) {
		buffer_slice(&rows, slice_of(&holder->row, sizeof holder->row));
	}
	buffer_slice(&rows, buffer_view(texts));
	return pwrite(answer, rows.data, rows.size, sizeof *v) == (ssize_t)rows.size;
}

static void answer_that_memory_lacks(void *user) {
	const int *answer = user;
	struct verdict v = {0};
	(void)err_memory(&v.err);
	_exit(pwrite(*answer, &v, sizeof v, 0) != sizeof v);
}

static _Noreturn void scan_and_answer(const struct scan *scan, int answer) {
	struct graph graph = {0};
	struct buffer texts = {0};
	struct verdict v = {0};
	memory_must_or(answer_that_memory_lacks, &answer);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_DUMPABLE, 0); // no core dump with what it read
	(void)setpriority(PRIO_PROCESS, 0, scan->running ? NICE : 0);
	if (grade(scan, &graph, &texts, &v.err)) {
		v.ok = answer_with(answer, &graph, &texts, &v) || err_memory(&v.err);
	}
	_exit(pwrite(answer, &v, sizeof v, 0) != sizeof v);
}

// ---- its parent

bool scanner_start(struct scanner *s, const struct scan *scan, struct err *err) {
	*s = (struct scanner){.answer = memfd_create("grades", MFD_CLOEXEC), .ended = -1};
	s->pid = s->answer < 0 ? -1 : fork();
	if (s->pid == 0) {
		scan_and_answer(scan, s->answer);
	}
	if (s->pid < 0) {
		(void)err_system(err, errno, "cannot start a process");
		file_close(s->answer);
		s->pid = 0;
		return false;
	}
	s->ended = (int)syscall(SYS_pidfd_open, s->pid, 0);
	return true;
}

bool scanner_has_ended(const struct scanner *s, uint64_t within_ns) {
	struct pollfd end = {.fd = s->ended, .events = POLLIN};
	return s->ended < 0 || poll(&end, 1, (int)(within_ns / 1000000)) > 0;
}

/** Take what comes next in the answer, from *at on. */
static bool take(int answer, void *out, size_t bytes, off_t *at) {
	*at += (off_t)bytes;
	return pread(answer, out, bytes, *at - (off_t)bytes) == (ssize_t)bytes;
}

/** Take rows into an empty array. */
#define TAKE_ROWS(answer, rows, count, at) \
	(vec_reserve((rows), (count)) &&       \
			take((answer), (rows)->items, ((rows)->n = (count)) * sizeof *(rows)->items, (at)))

static bool take_answer(int answer, struct graded *out, struct texts *texts, struct err *err) {
	struct verdict end;
	off_t at = 0;
	if (!take(answer, &end, sizeof end, &at)) {
		return err_failed(err, "the process that read it has died");
	}
	if (!end.ok) {
		*err = end.err;
		return false;
	}
	FREED char *text = memory_new(end.n_text_bytes + 1, 1);
	if (!TAKE_ROWS(answer, &out->grades, end.n_rows, &at) ||
			!TAKE_ROWS(answer, &out->classes, end.n_classes, &at) ||
			!TAKE_ROWS(answer, &out->holders, end.n_holders, &at) ||
			!take(answer, text, end.n_text_bytes, &at)) {
		return err_failed(err, "the process that read it has died");
	}
	EACH(class, out->classes) {
		class->name = texts_id_of(texts, text + class->name);
	}
	EACH(holder, out->holders) {
		holder->name = holder->name ? texts_id_of(texts, text + holder->name) : 0;
		holder->file = holder->file ? texts_id_of(texts, text + holder->file) : 0;
	}
	return true;
}

/** The watching thread may have reaped it. */
bool scanner_finish(struct scanner *s, struct graded *out, struct texts *texts, struct err *err) {
	bool has_ended = scanner_has_ended(s, 0);
	if (!has_ended) {
		(void)kill(s->pid, SIGKILL);
	}
	(void)waitpid(s->pid, NULL, 0);
	bool ok = has_ended && take_answer(s->answer, out, texts, err);
	file_close(s->ended);
	file_close(s->answer);
	*s = (struct scanner){0};
	return ok;
}
