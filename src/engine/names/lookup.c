// SPDX-License-Identifier: MIT

/* Answers what others ask of the finished names. */

#include "base/text.h"
#include "engine/names/parts.h"

const struct name *names_of(const struct names *n, uint32_t location, uint32_t *n_frames) {
	*n_frames = n->first[location + 1] - n->first[location];
	return &n->frames[n->first[location]];
}

struct stack_walk stack_walk_init(const struct recording *r, const struct names *n, uint32_t node) {
	return (struct stack_walk){.recording = r, .names = n, .node = node};
}

const struct name *stack_walk_next(struct stack_walk *w) {
	if (w->i == w->n) {
		if (w->node == 0) {
			return NULL;
		}
		const struct rec_node *node = &w->recording->nodes.items[w->node];
		w->location = node->location;
		w->frames = names_of(w->names, node->location, &w->n);
		w->i = 0;
		w->node = node->parent;
	}
	return &w->frames[w->i++];
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

const struct name *names_site_frame(const struct names *n, uint32_t node) {
	const struct name *site = names_site(n, node);
	if (!site || site < n->frames + n->n_frames) {
		return site;
	}
	struct stack_walk w = stack_walk_init(n->recording, n, node);
	const struct name *frame;
	while ((frame = stack_walk_next(&w)) && !slice_equal(frame->module, site->module)) {}
	return frame;
}

const struct name *names_without_symbols(const struct names *n, const struct name *unnamed) {
	uint32_t n_modules = n->recording->modules.n;
	const struct name *modules = &n->frames[n->n_frames + n_modules];
	for (uint32_t i = 1; i < n_modules; i++) {
		if (slice_equal(modules[i].module, unnamed->module)) {
			return &modules[i];
		}
	}
	return unnamed;
}

struct slice names_package(const struct name *name) {
	struct slice package = owner_package_of_file(name->file);
	if (package.size == 0) {
		package = owner_package_of_file(name->module);
	}
	if (package.size == 0 && (owner_is_rust_symbol(name->symbol) || ends_with(name->file, ".rs"))) {
		package = owner_crate_of(name->function);
	}
	if (package.size == 0) {
		package = name->module.size ? path_base(name->module) : names_jit_package(name);
	}
	return package.size ? package : slice_of_text("generated code");
}
