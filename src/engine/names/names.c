// SPDX-License-Identifier: MIT
/* Makes the frames of a recording, with their names and whose code each is. */
#include "engine/names/parts.h"

static struct slice text(const struct recording *r, uint32_t id) {
	return r->strings.items[id];
}

static struct slice command(const struct recording *r, uint32_t id) {
	return text(r, r->commands.items[id].exe);
}

/** A module's code, where neither file nor function decides. */
static enum code code_of_module(struct names *n, uint32_t id) {
	const struct recording *r = n->recording;
	if (id == 0) {
		// An interpreter's generated code belongs to its scripts; any other is unknown
		return n->is_runtime ? CODE_YOURS : CODE_UNSURE;
	}
	if (r->modules.items[id].kind != 0) {
		return CODE_YOURS; // scripts are the program's own, whatever it is
	}
	struct slice path = text(r, r->modules.items[id].path);
	const struct slice exe = path.size == 0 ? text(r, r->meta.exe) : path;
	if (slice_equal(exe, text(r, r->meta.exe)) || // or of a tree
			ANY(i, r->commands.n, slice_equal(exe, command(r, i)))) {
		return owner_is_runtime(exe) ? CODE_RUNTIME : CODE_YOURS;
	}
	const char *as_is = memmem(path.data, path.size, "/.", 2) ? arena_text(&n->arena, path) : NULL;
	// A RUNPATH with "$ORIGIN/../lib" finds the system's libraries as /usr/bin/../lib/libfoo.so
	path = as_is ? slice_of_text(path_normal(as_is, &n->arena)) : path;
	enum code code = owner_of_module(path);
	bool is_product = (n->product && r->modules.items[id].package == n->product) ||
			(n->product_folder.size > 0 && begins_with(path, n->product_folder));
	if (code == CODE_LIBRARY && is_product) {
		return n->is_runtime ? CODE_RUNTIME : CODE_YOURS; // libjava.so; Ruby's encdb.so
	}
	// Programs of a tree share the system's libraries: they are a runtime's if all are runtimes
	bool is_beside = owner_is_of_system(path)
			? n->is_runtime && ALL(i, r->commands.n, i == 0 || owner_is_runtime(command(r, i)))
			: owner_is_in_prefix_of(text(r, r->meta.exe), path) ||
					ANY(i, r->commands.n, owner_is_in_prefix_of(command(r, i), path));
	if (is_beside && (code == CODE_LIBRARY || code == CODE_UNSURE)) {
		return CODE_RUNTIME; // libcrypto of Debian's node, which other builds contain
	}
	return code ? code : CODE_YOURS;
}

/** Its own are libraries of its source package, and what lies in its folder (/usr/lib/R/). */
static void find_product(struct names *n) {
	const struct recording *r = n->recording;
	struct slice exe = text(r, r->meta.exe);
	for (uint32_t i = 1; i < r->modules.n; i++) {
		struct slice path = text(r, r->modules.items[i].path);
		n->product = path.size == 0 || slice_equal(path, exe) ? r->modules.items[i].package
															  : n->product;
	}
	n->product_folder = owner_product_folder_of(exe);
}

/** Asks once per string: files and functions recur in many frames. */
static enum code ask(uint8_t *known, uint32_t id, enum code (*judge)(struct slice),
		struct slice s) {
	known[id] = known[id] ?: (uint8_t)(judge(s) + 1);
	return known[id] - 1;
}

/** Without a file, a Rust name tells its crate; the program's is the user's. */
static enum code code_of_rust(const struct names *n, const struct name *f) {
	struct slice crate = owner_crate_of(f->function), root = n->root_crate;
	enum code code = owner_of_crate(crate);
	bool is_roots = begins_with(crate, root) &&
			(crate.size == root.size || crate.data[root.size] == '_');
	return code || crate.size == 0 ? code : is_roots ? CODE_YOURS : CODE_LIBRARY;
}

static enum code code_of(struct names *n, const struct rec_frame *rec, const struct name *f,
		const struct rec_location *l) {
	enum code by_module = n->module_code[l->module];
	bool is_virtual = l->module == 0 || n->recording->modules.items[l->module].kind != 0;
	if (l->is_mark && f->has_name) {
		return CODE_YOURS; // no code: only the name is known
	}
	if (is_virtual && !l->is_mark) {
		// Unnamed generated code counts as a runtime's: its address is useless
		return f->has_name ? names_jit_code(f, by_module) : CODE_RUNTIME;
	}
	if (!f->has_name || by_module == CODE_RUNTIME) {
		// An unnamed place in the user's own program is the best that is known
		return by_module;
	}
	enum code by_file = rec->file ? ask(n->file_code, rec->file, owner_of_file, f->file)
								  : CODE_UNSURE;
	if (by_file != CODE_UNSURE) {
		return by_file;
	}
	// A runtime's functions come without a file, or with a folder that tells nothing; its templates
	// are in any library that uses them
	enum code code = ask(n->function_code, rec->function, owner_of_function, f->function);
	if (by_module == CODE_LIBRARY) {
		return code == CODE_RUNTIME ? code : by_module;
	}
	if (!rec->file && owner_is_rust_symbol(f->symbol)) {
		enum code by_crate = code_of_rust(n, f);
		code = by_crate ? by_crate : code;
	} else if (code == CODE_UNSURE && n->is_nim) {
		code = names_nim_code(f);
	}
	return code ? code : by_module;
}

static void judge(struct names *n, const struct rec_frame *rec, struct name *f,
		const struct rec_location *l) {
	const struct naming_rule *rule = naming_rules_find(n->rules, f->function, f->file, f->module);
	enum code code = !rule               ? code_of(n, rec, f, l)
			: rule->kind == NAMING_YOURS ? CODE_YOURS
										 : CODE_LIBRARY;
	f->owner = code == CODE_YOURS ? OWNER_YOURS
			: code == CODE_UNSURE ? OWNER_UNKNOWN
								  : OWNER_LIBRARY;
	f->is_runtime = code == CODE_RUNTIME;
	f->is_wrapper = rule ? rule->kind == NAMING_FOLD
						 : f->has_name && owner_is_allocation_function(f->function);
}

/** "libfoo.so+0x4f20", "generated code": the file address of the call, not of its return. */
static void name_by_address(struct names *n, const struct rec_location *l, struct name *out) {
	if (l->is_mark) {
		out->function = slice_of_text("(callers not recorded)");
		return;
	}
	const struct rec_module *m = &n->recording->modules.items[l->module];
	struct slice title = names_title_of(n, names_module_path(n->recording, l->module));
	if (title.size == 0) { // one name for all: addresses vary between runs
		out->function = slice_of_text(l->module ? "(function not read)" : "generated code");
	} else {
		uint64_t address = l->pc - m->bias - (l->is_exact ? 0 : 1);
		out->function = names_join(n, "", title, FORMAT(32, "+0x%" PRIx64, address));
	}
}

/** "static initializers of app.cpp" for debug data's names; files of KDE's heaptrack keep KDE's. */
static void name_initializers(struct names *n, struct name *f) {
	static const char begins[] =
			"|static initializers|__static_initialization_and_destruction_|__cxx_global_var_init";
	if (starts_with_any(f->function, begins) && f->file.size > 0 &&
			n->recording->meta.source != REC_FROM_KDE) {
		f->function = names_join(n, "static initializers of ", path_base(f->file), "");
	}
}

static void name_location(struct names *n, uint32_t id) {
	static const struct rec_frame unnamed = {0};
	const struct recording *r = n->recording;
	const struct rec_location *l = &r->locations.items[id];
	struct name *out = &n->frames[n->first[id]];
	uint32_t count = n->first[id + 1] - n->first[id];
	for (uint32_t i = 0; i < count; i++) {
		const struct rec_frame *f = i < l->n_frames ? &r->frames.items[l->first_frame + i]
													: &unnamed;
		out[i].module = names_module_path(r, l->module);
		out[i].is_inlined = i + 1 < count;
		out[i].function = text(r, f->function);
		out[i].symbol = text(r, f->symbol);
		out[i].file = text(r, f->file);
		out[i].type = text(r, f->allocates);
		out[i].line = f->line;
		out[i].has_name = out[i].function.size > 0;
		if (out[i].has_name && l->module == 0) {
			names_jit_read(&out[i]);
		}
		if (!out[i].has_name) {
			name_by_address(n, l, &out[i]);
		}
		judge(n, f, &out[i], l);
		name_initializers(n, &out[i]);
		// A Rust thread's function is inlined into its start; only debug data would name it
		if (out[i].file.size == 0 && ends_with(out[i].function, "::__rust_begin_short_backtrace")) {
			out[i].function = slice_of_text("what a thread runs");
			out[i].is_runtime = false;
		}
	}
}

/** Equal ids for frames of equal function and file; without a file, of one module. */
static void number_functions(struct names *n) {
	SCOPED(index) known = {0};
	FREED const struct name **of = memory_new(n->n_frames, sizeof *of); // per function: a frame
	for (uint32_t i = 0; i < n->n_frames; i++) {
		struct name *f = &n->frames[i];
		uint64_t h = slice_hash(slice_hash(SLICE_HASH, f->function), f->file);
		f->function_id = INDEX_FIND_OR_PUT(&known, h, k,
				slice_equal(f->function, of[k]->function) && slice_equal(f->file, of[k]->file) &&
						(f->file.size || slice_equal(f->module, of[k]->module)),
				of, n->n_functions, f);
	}
}

/** The crate of a Rust program's main, according to its names; else the program's name. */
static void find_root_crate(struct names *n) {
	const struct recording *r = n->recording;
	struct slice exe = path_base(text(r, r->meta.exe));
	char *like_exe = arena_text(&n->arena, exe);
	for (char *c = like_exe; *c; c++) {
		*c = *c == '-' ? '_' : *c;
	}
	n->root_crate = slice_of(like_exe, exe.size);
	struct slice found = {0};
	for (uint32_t i = 0; i < r->frames.n; i++) {
		struct slice f = text(r, r->frames.items[i].function);
		struct slice crate = owner_crate_of(f);
		if (crate.size > 0 && crate.size + 6 == f.size && ends_with(f, "::main") &&
				owner_is_rust_symbol(text(r, r->frames.items[i].symbol))) {
			if (slice_equal(crate, n->root_crate)) {
				return;
			}
			found = crate;
		}
	}
	n->root_crate = found.size ? found : n->root_crate;
}

static void make_room(struct names *n) {
	const struct recording *r = n->recording;
	n->first = arena_new(&n->arena, uint32_t, (size_t)r->locations.n + 1);
	n->module_code = arena_new(&n->arena, uint8_t, (size_t)r->modules.n + 1);
	n->file_code = arena_new(&n->arena, uint8_t, (size_t)r->strings.n + 1);
	n->function_code = arena_new(&n->arena, uint8_t, (size_t)r->strings.n + 1);
	uint64_t total = 0;
	for (uint32_t i = 0; i < r->locations.n; i++) {
		n->first[i] = (uint32_t)total;
		uint32_t count = r->locations.items[i].n_frames;
		total += count ? count : 1;
	}
	if (total > UINT32_MAX - 2ull * r->modules.n - 1) {
		(void)memory_lacks();
	}
	n->first[r->locations.n] = n->n_frames = (uint32_t)total;
	n->frames = arena_new(&n->arena, struct name, total + 2ull * r->modules.n + 1);
}

static void build(struct names *n) {
	const struct recording *r = n->recording;
	n->is_runtime = owner_is_runtime(text(r, r->meta.exe));
	n->is_nim = names_nim_is_program(r);
	find_product(n);
	make_room(n);
	find_root_crate(n);
	for (uint32_t i = 0; i < r->modules.n; i++) {
		n->module_code[i] = (uint8_t)code_of_module(n, i);
	}
	for (uint32_t i = 0; i < r->locations.n; i++) {
		name_location(n, i);
	}
	if (n->is_nim) {
		names_nim_correct_places(n);
	}
	names_cpp_find_start_up(n);
	names_find_command(n);
	number_functions(n);
	names_find_wrappers(n);
	names_find_sites(n);
}

struct names *names_create(const struct recording *r, const struct naming_rules *rules) {
	struct names *n = memory_new(1, sizeof *n);
	n->recording = r;
	n->rules = rules;
	build(n);
	n->rules = NULL;
	return n;
}

void names_destroy(struct names *n) {
	if (n) {
		arena_finish(&n->arena);
		free(n);
	}
}

// ---- queries

struct name_list names_of(const struct names *n, uint32_t location) {
	const uint32_t first = n->first[location];
	return (struct name_list){&n->frames[first], n->first[location + 1] - first};
}

struct stack_walk stack_walk_init(const struct recording *r, const struct names *n, uint32_t node) {
	return (struct stack_walk){r, n, names_site(n, node), .node = node};
}

const struct name *stack_walk_next(struct stack_walk *w) {
	if (w->i == w->frames.n) {
		if (w->node == 0) {
			return NULL;
		}
		const struct rec_node *node = &w->recording->nodes.items[w->node];
		w->location = node->location;
		w->frames = names_of(w->names, node->location);
		w->i = 0;
		w->node = node->parent;
	}
	return &w->frames.items[w->i++];
}

bool names_is_of_nim(const struct names *n) {
	return n->is_nim;
}

uint32_t names_n_functions(const struct names *n) {
	return n->n_functions;
}

uint32_t names_n_frames(const struct names *n) {
	return n->n_frames;
}

uint32_t names_number(const struct names *n, const struct name *frame) {
	return (uint32_t)(frame - n->frames);
}

const struct name *names_site(const struct names *n, uint32_t node) {
	uint32_t site = n->site[node];
	return site ? &n->frames[site - 1] : NULL;
}

const struct name *names_site_frame(const struct names *n, uint32_t node, const struct name *site) {
	if (!site || site < n->frames + n->n_frames) {
		return site;
	}
	struct stack_walk w = stack_walk_init(n->recording, n, node);
	return NEXT_FRAME_THAT(f, &w, slice_equal(f->module, site->module));
}

const struct name *names_without_symbols(const struct names *n, const struct name *unnamed) {
	uint32_t n_modules = n->recording->modules.n;
	const struct name *modules = &n->frames[n->n_frames + n_modules];
	return FIND(m, modules + 1, n_modules - 1ul, slice_equal(m->module, unnamed->module))
			?: unnamed;
}

struct slice names_package(const struct name *name) {
	struct slice package = owner_package_of_file(name->file);
	package = package.size ? package : owner_package_of_file(name->module);
	if (package.size == 0 && (owner_is_rust_symbol(name->symbol) || ends_with(name->file, ".rs"))) {
		package = owner_crate_of(name->function);
	}
	package = package.size      ? package
			: name->module.size ? path_base(name->module)
								: names_jit_package(name);
	return package.size ? package : slice_of_text("generated code");
}
