// SPDX-License-Identifier: MIT
/*
 * Corrects the places of functions in Nim programs. Nim writes C with #line directives, and those
 * of code expanded in place (copies, iterators, templates) name the file of the expanded code: a
 * line of the user's may seem to be in Nim's library. The linked name, "parse__app_12", has the
 * real module.
 */
#include "engine/names/parts.h"

bool names_nim_is_program(const struct recording *r) {
	// NimMain, or parts of it that were not inlined
	return FIND_IN(f, r->frames, starts_with(r->strings.items[f->function], "NimMain")) != NULL;
}

/**
 * Functions that the compiler calls by name have no module in it: memory, sequences and strings of
 * `system`, and what visits or initialises a module's globals. Old procs have a module prefix.
 */
static bool is_of_compiler(struct slice s) {
	static const char known[] =
			"|newObj|newSeq|rawNewString|mnewString|copyString|toNimStr|cstrToNimstr|setLengthSeq"
			"|setLengthStr|resizeString|prepareAdd|prepareSeqAdd|incrSeq|growObj|addChar|addInt"
			"|appendString|appendChar|echoBinSafe|alignedAlloc|alignedDealloc|rawAlloc|rawDealloc"
			"|dealloc|alloc0";
	static const char globals[] = "|Marker_|atmdotdot";
	static const char marks[] = "|nim|nsu|nos|npu|nuc|nto|ncr";
	const char *list = known;
	struct slice one;
	return starts_with_any(s, globals) ||
			SOME(next_text(&list, &one),
					begins_with(s, one) && (s.size == one.size || !islower(s.data[one.size]))) ||
			(s.size > 3 && isupper(s.data[3]) && starts_with_any(s, marks));
}

enum code names_nim_code(const struct name *f) {
	static const char runtime[] = "|system|stdZ|pureZ|coreZ|implZ|collectionsZ";
	struct slice module = nim_module_of(f->symbol);
	const struct slice s = f->symbol.size ? f->symbol : f->function;
	// Generated start-up code; the lines beside it may be any
	bool is_start_up = is_any(s, "|main|NimMain|NimMainInner|PreMain|PreMainInner");
	return starts_with_any(module, runtime) || is_of_compiler(s) || is_start_up ? CODE_RUNTIME
																				: CODE_UNSURE;
}

static bool is_of_user(const struct name *f) {
	return !f->is_inlined && nim_module_of(f->symbol).size > 0 && names_nim_code(f) == CODE_UNSURE;
}

static const struct name *find_symbol(const struct names *n, const struct index *known,
		struct slice symbol) {
	uint64_t h = slice_hash(SLICE_HASH, symbol);
	uint32_t found = INDEX_FIND(known, h, i, slice_equal(n->frames[i].symbol, symbol));
	return found == INDEX_NONE ? NULL : &n->frames[found];
}

void names_nim_correct_places(struct names *n) {
	SCOPED(index) known = {0};
	EACH_OF_THAT(f, n->frames, n->n_frames,
			f->owner == OWNER_YOURS && is_of_user(f) && !find_symbol(n, &known, f->symbol)) {
		(void)index_add(&known, slice_hash(SLICE_HASH, f->symbol), (uint32_t)(f - n->frames));
	}
	EACH_OF(f, n->frames, n->n_frames) {
		const struct name *own = f->is_runtime && is_of_user(f) && f->file.size > 0
				? find_symbol(n, &known, f->symbol)
				: NULL;
		if (own) {
			COPY_FIELDS(f, own, file, line);
			f->owner = OWNER_YOURS;
			f->is_runtime = false;
		}
	}
}
