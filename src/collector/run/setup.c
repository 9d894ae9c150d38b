// SPDX-License-Identifier: MIT
/* Sets up the parts of a recording in order, and destroys them. */
#include "collector/run/parts.h"

enum { MODULES_OPEN_MAX = 4096 };

/** Out of memory: the recording is what the file has of it, the program goes on. Any thread. */
static void end_without_memory(void *user) {
	struct run *run = user;
	siginfo_t now;
	struct watch_end end = {.status = EXIT_FAILURE};
	const bool is_child = run->program > 0 &&
			waitid(P_PID, (id_t)run->program, &now, WEXITED | WNOHANG | WNOWAIT) == 0;
	if (run->options->say) {
		run->options->say(run->options->user,
				"out of memory: recording has stopped, the file is as it was last saved");
	}
	if (run->segment.header) {
		segment_close(&run->segment); // nobody waits for us
	}
	if (run->cells) {
		cells_close(run->cells);
	}
	if (run->guardian.pid > 0) {
		(void)shutdown(run->guardian.socket, SHUT_RDWR); // it leaves the program as it was
	}
	if (run->watch && (is_child || watch_has_ended(run->watch, NULL))) {
		watch_await(run->watch, &end);
	} else if (!run->watch && is_child) {
		(void)kill(run->program, SIGKILL); // nobody would see its end
	}
	_Exit(end.is_signaled ? 128 + end.status : end.status);
}

struct run *run_create(const struct run_options *options, struct run_result *result) {
	*result = (struct run_result){.exit_status = 1};
	struct run *run = memory_new(1, sizeof *run);
	memory_must_or(end_without_memory, run);
	run->options = options;
	run->argv = options->argv;
	run->output.fd = run->signals_fd = run->door_fd = run->guardian.socket = -1;
	run->jit.fd = -1;
	signals_save(&run->start_signals);
	return run;
}

/** Nodes, charged to the program's control group, may take that part of its limit. */
static uint32_t node_capacity(pid_t program) {
	enum { PART = 16, LEAST = 1 << 16 };
	struct cgroup group;
	uint64_t limit = cgroup_of_process(&group, program, "memory") ? cgroup_memory_limit(&group) : 0;
	uint64_t n = limit / PART / sizeof(struct wire_node) / LEAST * LEAST;
	return limit == 0 || n >= WIRE_MAX_NODES ? WIRE_MAX_NODES : n < LEAST ? LEAST : (uint32_t)n;
}

bool run_make_segment(struct run *run, uint32_t options, int memory_fd, struct err *err) {
	const struct run_options *o = run->options;
	struct segment_params params = {
			.options = options | (o->free_stacks ? SEGMENT_FREE_STACKS : 0u) |
					(o->exact_time ? SEGMENT_EXACT_TIME : 0u) |
					(o->no_memory ? SEGMENT_NO_MAPPINGS : 0u) |
					(o->leaks_before_exit ? SEGMENT_LOOKS_EARLY : 0u),
			.node_capacity = node_capacity(run->program ? run->program : getpid()),
			.start_ns = clock_now_ns(),
			.has_stamps = clock_has_stamps(),
			.has_memory = memory_fd >= 0,
			.memory_fd = memory_fd,
	};
	run->records_mappings = !o->no_memory && !o->children;
	struct rlimit before;
	// The limit on file sizes (ulimit -f) applies to shared memory, and the mapping takes address
	// space (ulimit -v). The program keeps its limits
	bool has_limit = getrlimit(RLIMIT_FSIZE, &before) == 0;
	rlim_t limit = own_limit_raise(RLIMIT_FSIZE, RLIM_INFINITY);
	(void)own_limit_raise(RLIMIT_AS, RLIM_INFINITY);
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	bool ok = (!o->children || (run->cells = cells_create(&params, err))) &&
			segment_init(&run->segment, &params, err);
	if (ok && run->records_mappings) {
		atomic_store(&run->segment.header->end_wait_ms,
				o->leaks ? RUN_LEAKS_WAIT_MS : RUN_END_WAIT_MS);
	}
	(void)signal(SIGXFSZ, handler);
	if (has_limit) {
		(void)setrlimit(RLIMIT_FSIZE, &before);
	}
	if (!ok && limit != RLIM_INFINITY) {
		(void)err_add(err, "the limit on the size of files (ulimit -f) may be too low");
	}
	return ok;
}

void run_tell_notes(struct run *run) {
	for (; run->n_notes_told < run->output.n_notes; run->n_notes_told++) {
		run->options->say(run->options->user, run->output.notes[run->n_notes_told]);
	}
}

bool run_open_output(struct run *run, struct err *err) {
	const struct run_options *o = run->options;
	struct output_request request = {
			.name = o->output,
			.program = run->argv[0],
			.pid = getpid() == 1 ? 1 : run->program, // a container's name for it stays the same
			.overwrite = o->overwrite,
	};
	if (!output_open(&run->output, &request, err)) {
		return false;
	}
	run_tell_notes(run);
	return true;
}

void run_tell_start(const struct run *run) {
	if (run->options->started) {
		run->options->started(run->options->user, run->output.path);
	}
}

/** The program was forked before: it keeps heaptrack's original limits. */
static uint32_t raise_file_limits(void) {
	(void)own_limit_raise(RLIMIT_FSIZE, RLIM_INFINITY);
	rlim_t half = own_limit_raise(RLIMIT_NOFILE, RLIM_INFINITY) / 2;
	return half < MODULES_OPEN_MAX ? (uint32_t)half : MODULES_OPEN_MAX;
}

static uint32_t put_arguments(struct run *run) {
	uint32_t n = 0;
	for (char *const *arg = run->argv; *arg; arg++, n++) {
		// Ids are consecutive: each argument gets a new one, known or not
		const char *copy = arena_text(&run->texts.arena, slice_of_text(*arg));
		(void)vec_add(&run->texts, slice_of(copy, strlen(copy)));
	}
	return n;
}

static void put_meta(struct run *run) {
	struct rec_meta *m = &run->meta;
	char text[4096] = "";
	m->argv_first = (uint32_t)run->texts.n;
	m->n_argv = put_arguments(run);
	if (getcwd(text, sizeof text)) {
		m->cwd = texts_id_of(&run->texts, text);
	}
	if (gethostname(text, sizeof text - 1) == 0) {
		m->host = texts_id_of(&run->texts, text);
	}
	m->version = texts_id_of(&run->texts, run->options->version);
	m->pid = (uint32_t)run->program;
	m->n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	m->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	m->system_memory_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * m->page_bytes;
	ending_look(&run->ending, run->program, 0);
	m->memory_limit_bytes = run->ending.limit_bytes;
	m->wall_start_ns = clock_wall_ns();
	m->wall_offset_s = clock_wall_offset_s(m->wall_start_ns);
	m->source = REC_LAUNCHED;
	m->has_free_stacks = run->options->free_stacks;
}

bool run_create_parts(struct run *run, const char *image, struct err *err) {
	(void)texts_id(&run->texts, (struct slice){0}); // id 0
	modules_init(&run->modules, &run->texts, run->program, image, raise_file_limits());
	(void)vec_push(&run->modules.records);
	put_meta(run);
	run_note_sandbox(run);
	if (run->records_mappings) {
		unseen_open(&run->unseen, run->program, run->segment.start_ns);
	}
	children_init(&run->children, run->program, (struct reason_context){0});
	run->own_heaps.tell = run_note_own_heap;
	run->own_heaps.user = run;
	// Generated code of several processes may have the same addresses: none is named
	jit_init(&run->jit, run->options->children ? 0 : run->program, run->program_inside);
	units_init(&run->units, &run->segment, &run->modules, &run->jit);
	run->meta.exe = texts_id_of(&run->texts, image);
	run->keeps_events = run->options->events_bytes > 0;
	const char *stages = getenv("HEAPTRACK_STAGES");
	run->stages = stages ? (enum stages)(*stages - '0') : STAGES_UNKNOWN;
	run->first = (struct member){.run = run, .segment = &run->segment, .pid = run->program};
	struct order_sink sink = run_sink;
	sink.user = &run->first;
	sink.find_segments = run->cells ? run_tree_find : NULL;
	tries_init(&run->tries, &run->segment);
	if (run->cells) {
		run_tree_create(run);
	}
	run->order = order_create(&run->segment, run->cells ? &run->first.tries : &run->tries, &sink,
			NULL);
	feed_init(&run->feed, aggregate_create(NULL));
	run->mappings = mappings_create(run->segment.header->page_bytes);
	return (run->names = namer_create(&run->modules, &run->texts, err)) &&
			(run->keeper = keeper_create(&run->output, run->options->events_bytes, err)) &&
			segment_hold(&run->segment, err);
}

void run_open_door(struct run *run) {
	enum { NAME = sizeof SEGMENT_SOCKET_PREFIX + sizeof run->segment.token };
	const char *name = FORMAT(NAME, SEGMENT_SOCKET_PREFIX "%s", run->segment.token);
	run->door_fd = listen_on_abstract(name); // few programs need it
}

bool run_start_watch(struct run *run, struct watch_params params, struct err *err) {
	COPY_FIELDS(&params, run, program, signals_fd);
	params.witness = &run->witness;
	params.guardian = run->guardian.pid;
	params.door_fd = run->door_fd;
	params.segment_fd = run->segment.memory.fd;
	params.bell = &run->segment.common->bell;
	params.heartbeat = &run->segment.common->heartbeat;
	params.cells = run->cells;
	params.control = run->control = control_open(run->program, params.bell);
	return (run->watch = watch_start(&params, err)) != NULL;
}

void run_destroy(struct run *run, bool keep_file) {
	output_close(&run->output, keep_file);
	keeper_destroy(run->keeper);
	namer_destroy(run->names);
	jit_finish(&run->jit);
	units_finish(&run->units);
	watch_stop(run->watch);
	control_close(run->control);
	witness_stop(&run->witness);
	spawn_cancel(&run->spawn);
	guardian_stop(&run->guardian);
	order_destroy(run->order);
	run_tree_destroy(run);
	tries_finish(&run->tries);
	feed_finish(&run->feed);
	mappings_destroy(run->mappings);
	modules_finish(&run->modules);
	texts_finish(&run->texts);
	CALL_FOR(vec_finish, run, samples, children, threads, images, allocators, members);
	CALL_FOR(map_finish, run, old_stacks, tried);
	vec_finish(&run->own_heaps.seen);
	looks_finish(&run->looks);
	unseen_finish(&run->unseen);
	smaps_finish(&run->before);
	segment_finish(&run->segment);
	cells_destroy(run->cells);
	file_close(run->door_fd);
	file_close(run->signals_fd);
	arena_finish(&run->arena);
	memory_must_or(NULL, NULL);
	free(run);
}
