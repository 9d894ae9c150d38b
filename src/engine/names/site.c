// SPDX-License-Identifier: MIT
/*
 * Finds the frame that each stack is named after: its best one, the innermost of equals.
 *
 *   the user's own > a dependency's, named > its allocation wrappers > the user's, unnamed >
 *   unnamed > a runtime's
 *
 * What a dependency only calls back is not its work: a frame of the user's own further in than all
 * named ones of dependencies names the stack even without a name (memcached below libevent). So
 * does one below main(), which a program without symbols may export, and which does all there is.
 *
 * If a runtime's is the best there is, the function means nothing to the reader (call_init,
 * v8::internal::Factory::New): the name is that of the module that asked for the memory. Parents
 * come before children, so each node takes its own frames' best or its caller's better.
 */
#include "engine/names/parts.h"

enum fitness {
	FIT_NOT,
	FIT_RUNTIME,
	FIT_UNNAMED,
	FIT_YOURS_UNNAMED,
	FIT_WRAPPER,
	FIT_LIBRARY,
	FIT_YOURS,
};

static enum fitness fitness_of(const struct name *f) {
	const bool is_yours = f->owner == OWNER_YOURS;
	return f->is_runtime || f->owner == OWNER_UNKNOWN ? FIT_RUNTIME
			: is_yours && f->has_name                 ? (f->is_wrapper ? FIT_WRAPPER : FIT_YOURS)
			: f->is_wrapper                           ? FIT_RUNTIME
			: f->has_name                             ? FIT_LIBRARY
			: is_yours                                ? FIT_YOURS_UNNAMED
													  : FIT_UNNAMED;
}

/** Generated code has a different address in each run, which names nothing. */
static uint32_t best_of_location(const struct names *n, uint32_t location, enum fitness *fitness) {
	uint32_t best = n->first[location];
	const bool is_generated = n->recording->locations.items[location].module == 0;
	*fitness = FIT_NOT;
	for (uint32_t i = n->first[location]; i < n->first[location + 1]; i++) {
		const struct name *f = &n->frames[i];
		enum fitness fit = is_generated && !f->has_name ? FIT_RUNTIME : fitness_of(f);
		if (fit > *fitness) {
			*fitness = fit;
			best = i;
		}
	}
	return best;
}

struct slice names_program(const struct recording *r) {
	return r->strings.items[r->meta.called ? r->meta.called : r->meta.exe];
}

struct slice names_module_path(const struct recording *r, uint32_t module) {
	if (module == 0 || r->modules.items[module].kind != 0) {
		return (struct slice){0};
	}
	struct slice path = r->strings.items[r->modules.items[module].path];
	bool is_program = path.size == 0 || slice_equal(path, r->strings.items[r->meta.exe]);
	return is_program ? names_program(r) : path;
}

struct slice names_title_stem(struct slice path, const char **end) {
	static const char tag[] = ".cpython-";
	struct slice base = path_base(path);
	const uint8_t *at = base.size ? memmem(base.data, base.size, tag, sizeof tag - 1) : NULL;
	size_t kept = at ? (size_t)(at - base.data) : 0;
	bool is_cut = at && ends_with(slice_of(at, base.size - kept), "-linux-gnu.so");
	*end = is_cut ? ".so" : "";
	return is_cut ? slice_of(base.data, kept) : base;
}

struct slice names_join(struct names *n, const char *before, struct slice text, const char *after) {
	return slice_of_text(arena_printf(&n->arena, "%s%.*s%s", before, SLICE_ARG(text), after));
}

struct slice names_title_of(struct names *n, struct slice path) {
	const char *end;
	struct slice stem = names_title_stem(path, &end);
	struct slice title = *end ? names_join(n, "", stem, end) : stem;
	return title.size > 0 ? title : path_base(path);
}

/** "bc, no symbols": all unnamed code of a module. */
static void name_unnamed(struct names *n) {
	const struct recording *r = n->recording;
	uint32_t n_ids = n->n_functions - n->frames[n->n_frames].function_id; // of modules
	n->n_functions += n_ids;
	for (uint32_t i = 0; i < r->modules.n; i++) {
		struct name *out = &n->frames[n->n_frames + r->modules.n + i];
		const struct name *module = &n->frames[n->n_frames + i];
		*out = (struct name){.module = module->module,
				.function = names_join(n, "", module->function, ", no symbols"),
				.owner = n->module_code[i] == CODE_YOURS ? OWNER_YOURS : OWNER_LIBRARY,
				.function_id = module->function_id + n_ids};
	}
}

/** Modules' names follow those of frames. A file that is loaded twice is one. */
static void name_modules(struct names *n, struct arena *scratch) {
	const struct recording *r = n->recording;
	uint32_t *ids = arena_new(scratch, uint32_t, (size_t)r->strings.n + 1); // by path: id + 1
	for (uint32_t i = 0; i < r->modules.n; i++) {
		struct name *out = &n->frames[n->n_frames + i];
		uint32_t *id = &ids[r->modules.items[i].path];
		out->module = names_module_path(r, i);
		out->function = names_title_of(n, out->module);
		if (i == 0 || out->function.size == 0) {
			out->function = slice_of_text("generated code");
			out->module = (struct slice){0};
		}
		out->owner = OWNER_LIBRARY;
		out->has_name = out->is_runtime = true;
		*id = *id ? *id : ++n->n_functions;
		out->function_id = *id - 1;
	}
}

// ---- allocator hooks: unnamed code that libraries call back only for memory

/*
 * What one function of a library calls back does work of its own (a callback of libevent). What
 * four functions of libraries call, directly or through others that call nothing else, only hands
 * out memory (given to libxml2's xmlMemSetup()): the library's function did the work.
 */

enum { CALLERS_ENOUGH = 4 };

#define MANY UINT32_MAX

// Per location
struct callee {
	uint32_t only; // the only location that it calls; 0: none, MANY
	uint32_t hook; // the hook that it is, or does nothing but call; 0: none
	uint32_t n_callers;
	uint32_t callers[CALLERS_ENOUGH]; // functions of libraries
};

static const struct name *innermost_of(const struct names *n, uint32_t location) {
	return &n->frames[n->first[location]];
}

static bool is_of_library(const struct names *n, uint32_t location) {
	const struct name *f = innermost_of(n, location);
	return location && f->owner == OWNER_LIBRARY && !f->is_runtime;
}

static void add_caller(struct callee *c, uint32_t function) {
	if (c->n_callers < CALLERS_ENOUGH && !ANY(i, c->n_callers, c->callers[i] == function)) {
		c->callers[c->n_callers++] = function;
	}
}

static void note_calls(const struct names *n, struct callee *of) {
	const struct recording *r = n->recording;
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct rec_node *node = &r->nodes.items[i];
		uint32_t outer = r->nodes.items[node->parent].location, inner = node->location;
		const struct name *f = innermost_of(n, inner);
		of[outer].only = of[outer].only == 0 || of[outer].only == inner ? inner : MANY;
		if (f->owner == OWNER_YOURS && !f->has_name && is_of_library(n, outer)) {
			of[inner].hook = inner;
		}
	}
	for (uint32_t i = 0; i < r->stacks.n; i++) {
		of[r->nodes.items[r->stacks.items[i].node].location].only = MANY;
	}
}

/** Per location: is it such a hook? */
static const bool *find_hooks(const struct names *n, struct arena *scratch) {
	const struct recording *r = n->recording;
	struct callee *of = arena_new(scratch, struct callee, r->locations.n + 1ul);
	bool *is_hook = arena_new(scratch, bool, r->locations.n + 1ul);
	note_calls(n, of);
	for (uint32_t i = r->nodes.n; i-- > 1;) { // callees follow their callers
		const struct rec_node *node = &r->nodes.items[i];
		uint32_t outer = r->nodes.items[node->parent].location, inner = node->location;
		bool is_part = of[outer].only == inner && of[outer].hook == 0;
		if (of[inner].hook && is_part && is_of_library(n, outer)) {
			of[outer].hook = of[inner].hook;
		}
	}
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const struct rec_node *node = &r->nodes.items[i];
		uint32_t outer = r->nodes.items[node->parent].location;
		struct callee *inner = &of[node->location];
		if (inner->hook && is_of_library(n, outer)) {
			add_caller(inner, innermost_of(n, outer)->function_id);
			is_hook[inner->hook] |= inner->n_callers == CALLERS_ENOUGH;
		}
	}
	return is_hook;
}

// ---- sites

// Per location, while sites are found
struct place {
	uint32_t best_frame;
	uint32_t module;
	uint8_t fitness;   // of that frame
	bool is_allocator; // all frames are wrappers
	bool is_hook;      // libraries call it for memory
};

// Per node: the same of the frames so far
struct best {
	uint32_t module : 27; // of the innermost frame that is not a wrapper
	uint32_t fitness : 3;
	uint32_t is_allocator : 1;
	uint32_t is_in_hook : 1;
};

enum { MODULES_MOST = 1 << 27 };

static struct place *find_places(const struct names *n, struct arena *scratch) {
	const struct recording *r = n->recording;
	struct place *places = arena_new(scratch, struct place, r->locations.n);
	const bool *is_hook = find_hooks(n, scratch);
	for (uint32_t i = 0; i < r->locations.n; i++) {
		enum fitness fit;
		places[i].best_frame = best_of_location(n, i, &fit);
		places[i].fitness = (uint8_t)fit;
		places[i].is_allocator = ALL(k, n->first[i + 1] - n->first[i],
				n->frames[n->first[i] + k].is_wrapper);
		places[i].is_hook = is_hook[i];
		places[i].module = r->locations.items[i].module;
	}
	return places;
}

static void find_site(struct names *n, uint32_t node, const struct place *places,
		struct best *best) {
	const struct rec_node *rec = &n->recording->nodes.items[node];
	const struct place *place = &places[rec->location];
	const struct best outer = best[rec->parent];
	bool asks_outer = place->is_allocator && rec->parent != 0;
	bool is_unnamed = place->fitness == FIT_YOURS_UNNAMED;
	bool is_in_hook = is_unnamed && (place->is_hook || outer.is_in_hook);
	bool is_below_main = outer.fitness == FIT_YOURS &&
			slice_is(n->frames[n->site[rec->parent] - 1].function, "main");
	bool is_called_back = is_unnamed && !is_in_hook &&
			(outer.fitness == FIT_LIBRARY || is_below_main);
	bool is_outer_better = rec->parent != 0 && outer.fitness > place->fitness && !is_called_back;
	best[node] = (struct best){
			.module = (asks_outer ? outer.module : place->module) & (MODULES_MOST - 1),
			.fitness = (is_outer_better ? outer.fitness : place->fitness) & 7u,
			.is_allocator = asks_outer ? outer.is_allocator : place->is_allocator,
			.is_in_hook = is_in_hook,
	};
	n->site[node] = best[node].fitness <= FIT_RUNTIME ? n->n_frames + best[node].module + 1
			: is_outer_better                         ? n->site[rec->parent]
													  : place->best_frame + 1;
}

void names_find_sites(struct names *n) {
	const struct recording *r = n->recording;
	SCOPED(arena) scratch = {0};
	const struct place *places = find_places(n, &scratch);
	struct best *best = arena_new(&scratch, struct best, r->nodes.n);
	n->site = arena_new(&n->arena, uint32_t, r->nodes.n);
	if (r->modules.n >= MODULES_MOST) {
		(void)memory_lacks();
	}
	name_modules(n, &scratch);
	name_unnamed(n);
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		find_site(n, i, places, best);
	}
}
