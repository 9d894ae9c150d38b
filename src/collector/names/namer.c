// SPDX-License-Identifier: MIT
/* One batch of a module's addresses at a time; `turn` says which of two threads owns its memory. */
#include "collector/names/namer.h"

enum {
	NICE = 10,
	FIRST_WAIT_NS = 200000000,  // for which a new module gathers addresses
	BATCH_WAIT_NS = 1000000000, // between two batches of a module,
	COST_FACTOR = 10,           // or that many times the cost of the last one
};

struct waiting {
	VEC(struct symbols_wanted);
	uint64_t due_ns;
	bool had_batch;
};

struct batch {
	uint32_t module;
	struct symbols_module file;
	struct symbols_wanted *wanted; // ascending
	size_t n;
	struct symbols_answer *answers;
	struct symbols_facts facts;
	bool is_first;             // of its module
	struct slice suppressions; // of the module, found with the first batch
	struct slice package;      // likewise
	struct arena arena;        // the rest of the batch
	uint64_t cost_ns;
};

struct namer {
	struct modules *modules;
	struct texts *texts;
	struct symbols_rows frames;
	VEC(struct waiting) waiting; // by module id
	size_t n_pending;
	struct batch batch;
	bool is_under_way; // the caller's view of the batch

	struct symbols *symbols;   // the worker's
	struct packages *packages; // likewise
	_Atomic bool is_of_system; // the program is where packages install: else it is of none
	pthread_t worker;
	_Atomic uint32_t turn; // a futex: who owns the batch
};

enum { TURN_CALLER, TURN_WORKER, TURN_END };

static void pass_turn(struct namer *n, uint32_t turn) {
	atomic_store(&n->turn, turn);
	futex_wake(&n->turn, 1);
}

// ---- the worker

static void answer(struct namer *n, struct batch *b) {
	uint64_t start_ns = clock_thread_cpu_ns();
	b->answers = arena_new(&b->arena, struct symbols_answer, b->n);
	symbols_resolve(n->symbols, &b->file, b->wanted, b->n, b->answers, &b->facts, &b->arena);
	if (b->is_first) {
		b->suppressions = symbols_suppressions(&b->file, &b->arena);
		const char *path = path_normal(b->file.path, &b->arena);
		b->package = n->is_of_system ? packages_source_of(n->packages, path) : (struct slice){0};
	}
	b->cost_ns = clock_thread_cpu_ns() - start_ns;
}

static void *work(void *user) {
	struct namer *n = user;
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	for (uint32_t turn; (turn = atomic_load(&n->turn)) != TURN_END;) {
		if (turn == TURN_CALLER) {
			futex_wait(&n->turn, turn, UINT64_MAX);
			continue;
		}
		answer(n, &n->batch);
		if (atomic_compare_exchange_strong(&n->turn, &turn, TURN_CALLER)) {
			futex_wake(&n->turn, 1);
		}
	}
	return NULL;
}

// ---- results

uint32_t namer_text(struct namer *n, struct slice text) {
	return texts_id(n->texts, text);
}

void namer_put(struct namer *n, struct rec_location *location, struct rec_frame frame) {
	if (location->n_frames < UINT16_MAX) {
		(void)vec_add(&n->frames, frame);
		location->n_frames++;
		location->first_frame = (uint32_t)n->frames.n - location->n_frames;
	}
}

static bool take_result(struct namer *n, struct tries *t, uint64_t now_ns) {
	if (atomic_load(&n->turn) == TURN_WORKER) {
		return false;
	}
	struct batch *b = &n->batch;
	for (size_t i = 0; i < b->n; i++) {
		symbols_put(&b->answers[i], &t->locations[b->wanted[i].place], &n->frames, n->texts);
	}
	struct rec_module *module = &n->modules->records.items[b->module];
	module->has_symbols |= b->facts.has_symbols;
	module->has_lines |= b->facts.has_lines;
	module->is_unresolved = b->facts.is_unresolved;
	if (b->is_first) {
		module->suppressions = texts_id(n->texts, b->suppressions);
		module->package = texts_id(n->texts, b->package);
	}
	n->modules->files.items[b->module].is_lent = false;
	uint64_t rest_ns = b->cost_ns * COST_FACTOR;
	n->waiting.items[b->module].due_ns = now_ns +
			(rest_ns > BATCH_WAIT_NS ? rest_ns : BATCH_WAIT_NS);
	n->n_pending -= b->n;
	arena_finish(&b->arena);
	free(b->wanted);
	b->wanted = NULL;
	n->is_under_way = false;
	return true;
}

// ---- work

void namer_add(struct namer *n, const struct rec_location *location, uint32_t id, uint64_t now_ns) {
	const struct modules *m = n->modules;
	if (location->module >= m->files.n || !m->files.items[location->module].announced) {
		return;
	}
	(void)EVERY(n->waiting.n <= location->module, vec_push(&n->waiting));
	struct waiting *waiting = &n->waiting.items[location->module];
	if (waiting->due_ns == 0) {
		waiting->due_ns = now_ns + FIRST_WAIT_NS;
	}
	uint64_t bias = m->records.items[location->module].bias;
	(void)vec_add(waiting, (struct symbols_wanted){location->pc - bias, id, location->is_exact});
	n->n_pending++;
}

ORDER_OF(compare_wanted, struct symbols_wanted, LOWEST(address) ?: LOWEST(is_exact));

// All that wait; the second of two that differ only in is_exact keeps waiting
static void fill_batch(struct waiting *from, struct batch *b) {
	qsort(from->items, from->n, sizeof *from->items, compare_wanted);
	struct waiting rest = {.due_ns = from->due_ns, .had_batch = true};
	b->is_first = !from->had_batch;
	size_t kept = 0;
	for (size_t i = 0; i < from->n; i++) {
		if (kept == 0 || from->items[kept - 1].address != from->items[i].address) {
			from->items[kept++] = from->items[i];
			continue;
		}
		(void)vec_add(&rest, from->items[i]);
	}
	b->wanted = from->items;
	b->n = kept;
	*from = rest;
}

void namer_step(struct namer *n, struct tries *t, uint64_t now_ns, bool is_last) {
	if (n->is_under_way && !take_result(n, t, now_ns)) {
		return;
	}
	// The one that waited longest; towards the end the largest
	struct waiting *best = NULL;
	EACH_THAT(w, n->waiting, w->n > 0 && (is_last || w->due_ns <= now_ns)) {
		bool is_better = !best || (is_last ? w->n > best->n : w->due_ns < best->due_ns);
		best = is_better ? w : best;
	}
	if (best) {
		const uint32_t module = (uint32_t)(best - n->waiting.items);
		n->batch = (struct batch){.module = module, .file = modules_lend(n->modules, module)};
		fill_batch(best, &n->batch);
		n->is_under_way = true;
		pass_turn(n, TURN_WORKER);
	}
}

size_t namer_pending(const struct namer *n) {
	return n->n_pending;
}

void namer_wait(struct namer *n, uint64_t timeout_ns) {
	futex_wait(&n->turn, TURN_WORKER, timeout_ns);
}

const struct symbols_rows *namer_frames(const struct namer *n) {
	return &n->frames;
}

// ---- begin and end

void namer_meet_program(struct namer *n, const char *exe) {
	n->is_of_system = n->is_of_system || packages_may_hold(exe);
}

struct namer *namer_create(struct modules *modules, struct texts *texts, struct err *err) {
	struct namer *n = memory_new(1, sizeof *n);
	n->modules = modules;
	n->texts = texts;
	n->symbols = symbols_create(NULL);
	n->packages = packages_create(fcntl(modules->root_fd, F_DUPFD_CLOEXEC, 0)); // -1 stays -1
	char exe[PATH_MAX];
	bool is_known = modules->exe || process_link(modules->pid, "exe", exe, sizeof exe);
	namer_meet_program(n, modules->exe ? modules->exe : is_known ? exe : "");
	int why = pthread_create(&n->worker, NULL, work, n);
	if (why != 0) {
		(void)err_system(err, why, "cannot start a thread");
		packages_destroy(n->packages);
		symbols_destroy(n->symbols);
		free(n);
		return NULL;
	}
	return n;
}

void namer_destroy(struct namer *n) {
	if (!n) {
		return;
	}
	pass_turn(n, TURN_END);
	(void)pthread_join(n->worker, NULL);
	packages_destroy(n->packages);
	symbols_destroy(n->symbols);
	arena_finish(&n->batch.arena);
	free(n->batch.wanted);
	for (size_t i = 0; i < n->waiting.n; i++) {
		vec_finish(&n->waiting.items[i]);
	}
	CALL_FOR(vec_finish, n, waiting, frames);
	free(n);
}
