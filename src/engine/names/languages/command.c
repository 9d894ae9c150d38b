// SPDX-License-Identifier: MIT
/*
 * Finds the package that an installed command is. Commands (borg, npm) are scripts of a few lines
 * that call a package, so that by folders nothing is the user's own. Then the package that most
 * stacks reach first, from the outermost function inwards, is the program.
 */
#include "engine/names/parts.h"

enum { OF_NO_PACKAGE = UINT32_MAX };

static bool is_of_script(const struct names *n, uint32_t location) {
	const struct rec_location *l = &n->recording->locations.items[location];
	return l->module != 0 && n->recording->modules.items[l->module].kind != 0 && !l->is_mark;
}

/** A function of the command's script, which may be in a user's folder. */
static bool is_command(const struct name *f) {
	const size_t n = path_base(f->file).size;
	return ends_with(slice_of(f->file.data, f->file.size - n), "/bin/");
}

/** The package of a location's outermost function that has one; or empty. */
static struct slice package_at(const struct names *n, uint32_t location) {
	struct slice package = {0};
	for (uint32_t i = n->first[location + 1]; i-- > n->first[location] && package.size == 0;) {
		const struct name *f = &n->frames[i];
		package = f->is_runtime ? package : owner_package_of_file(f->file);
		package.size = slice_is(package, "python") ? 0 : package.size;
	}
	return package;
}

/** Per node: 1 + the first location with a package; OF_NO_PACKAGE: code from -c or -e. */
static void find_first(const struct names *n, uint32_t *first) {
	const struct recording *r = n->recording;
	for (uint32_t i = 1; i < r->nodes.n; i++) {
		const uint32_t location = r->nodes.items[i].location;
		first[i] = first[r->nodes.items[i].parent];
		if (first[i] == 0 && is_of_script(n, location)) {
			struct slice file = n->frames[n->first[location]].file;
			bool is_typed = starts_with(file, "<string>") || starts_with(file, "[eval]");
			first[i] = is_typed                        ? OF_NO_PACKAGE
					: package_at(n, location).size > 0 ? location + 1
													   : 0;
		}
	}
}

/** The package that a stack reaches first; empty: none. */
static struct slice first_package(const struct names *n, const uint32_t *first,
		const struct rec_stack *s) {
	const uint32_t at = first[s->node];
	return at == 0 || at == OF_NO_PACKAGE ? (struct slice){0} : package_at(n, at - 1);
}

/** The package of more than half of all such allocations, or empty. */
static struct slice find_package(const struct names *n, const uint32_t *first) {
	struct slice found = {0};
	uint64_t lead = 0, all = 0;
	EACH(s, n->recording->stacks) { // majority vote (Boyer-Moore)
		struct slice package = first_package(n, first, s);
		const uint64_t weight = package.size ? s->allocations : 0;
		if (slice_equal(package, found)) {
			lead += weight;
		} else if (lead > weight) {
			lead -= weight;
		} else if (weight > 0) {
			found = package;
			lead = weight - lead;
		}
		all += weight;
	}
	const struct rec_stack *s = n->recording->stacks.items;
	uint64_t its = SUM(i, n->recording->stacks.n,
			slice_equal(first_package(n, first, &s[i]), found) ? s[i].allocations : 0);
	return its > all / 2 ? found : (struct slice){0};
}

void names_find_command(struct names *n) {
	const struct recording *r = n->recording;
	bool has_own = false, has_script = false;
	for (uint32_t i = 0; i < r->locations.n && !has_own; i++) {
		const struct name *f = &n->frames[n->first[i]];
		has_script |= is_of_script(n, i);
		has_own = is_of_script(n, i) && f->owner == OWNER_YOURS && !is_command(f);
	}
	if (has_own || !has_script) {
		return;
	}
	FREED uint32_t *first = memory_new(r->nodes.n, sizeof *first);
	find_first(n, first);
	struct slice package = find_package(n, first);
	EACH_OF_THAT(f, n->frames, n->n_frames,
			package.size > 0 && !f->is_runtime &&
					slice_equal(owner_package_of_file(f->file), package)) {
		f->owner = OWNER_YOURS;
	}
}
