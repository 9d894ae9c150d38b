// SPDX-License-Identifier: MIT
#pragma once
/**
 * From addresses in modules to names for people: function, file, line and the chain of inlined
 * calls. Built for many addresses of one module at once: sorted, each compile unit found by its
 * own ranges, walked once, dropped. elfutils and libiberty stay behind this header.
 *
 * One `struct symbols` may be used by one thread at a time; two of them are independent. Modules
 * that were asked about stay open, mapped and indexed until its end. The process's SIGBUS handler
 * is taken, so that a file that shrinks meanwhile is no danger.
 */

#include "trace/recording.h"

struct symbols_options {
	const char *sysroot;            // tried before the file system's root, or NULL
	const char *const *debug_paths; // NULL-terminated; more places for debug files, or NULL
	const char *const
			*extra_paths; // NULL-terminated; tried by base name, then as sysroots, or NULL
};

/** NULL options: all off. Their texts are borrowed until the end. */
struct symbols *symbols_create(const struct symbols_options *options);
void symbols_destroy(struct symbols *s);

struct symbols_module {
	int fd; // an open descriptor of the very file that was mapped, or -1; stays the caller's
	const char *path;      // as the program knew it; used if fd is -1, and to find debug files
	struct slice build_id; // of the mapped image; empty: not known, any file at `path` is taken
};

/** An address of a module. */
struct symbols_wanted {
	uint64_t address; // in the file: the program's less the bias
	uint32_t place;   // of the caller's: not looked at
	bool is_exact;    // false: a return address; the call before it is meant
};

struct symbols_frame {
	const char *function;  // demangled, hashes and clone suffixes dropped; NULL: unknown
	const char *symbol;    // raw linkage name; NULL: unknown
	const char *file;      // NULL: unknown
	uint32_t line;         // 0: unknown
	const char *allocates; // the type of what this call allocates; NULL: unknown
};

struct symbols_answer {
	uint32_t n_frames;                  // 0: nothing is known of this address
	const struct symbols_frame *frames; // innermost first; the last is the real function
};

struct symbols_facts {
	bool has_symbols, has_lines;
	bool is_unresolved; // no file, or only one with another build-id (which is never used)
};

/**
 * Look up `n` addresses of one module, ascending and distinct. Fills answers[0..n-1]; strings and
 * frames live in `arena`. A module that cannot be read is a fact, not an error.
 */
void symbols_resolve(struct symbols *s, const struct symbols_module *module,
		const struct symbols_wanted *wanted, size_t n, struct symbols_answer *answers,
		struct symbols_facts *facts, struct arena *arena);

/** What of a module's data an address belongs to. */
struct symbols_variable {
	uint64_t start;     // in the file
	const char *symbol; // raw linkage name, as long as the symbols live
};

/** False: nothing in the symbol tables has it. */
bool symbols_variable(struct symbols *s, const struct symbols_module *module, uint64_t address,
		struct symbols_variable *out);

/**
 * Where a variable that symbols_variable gave is declared, by debug data; its function is the
 * variable with its scopes ("f::table"). Texts as of symbols_resolve; NULL: not known. All that is
 * asked of a module takes a second of CPU time at most: with much debug data some are not found.
 */
void symbols_declared(struct symbols *s, const struct symbols_module *module, uint64_t start,
		struct symbols_frame *out, struct arena *arena);

/** A frame of a thread that stands still: registers by their numbers in DWARF. */
enum { SYMBOLS_PC = 16, SYMBOLS_REGISTERS };
struct symbols_caller {
	uint64_t called_end;                   // of the frame that was called, on the stack
	uint64_t called;                       // where its code begins, in the file
	uint64_t registers[SYMBOLS_REGISTERS]; // 0: not known; as the program counter at the end
	uint64_t saved_at[SYMBOLS_REGISTERS];  // where they lie in memory; 0: they do not
};

/**
 * From a frame's registers, in `c`, to those of its caller, by .eh_frame. `pc` is in the file, of
 * the call or of what comes next. False: the frame is of another form; also that of a signal.
 */
bool symbols_find_caller(struct symbols *s, const struct symbols_module *module, uint64_t pc,
		bool (*read)(void *user, uint64_t at, void *out, size_t bytes), void *user,
		struct symbols_caller *c);

/** Demangled as a function's would be. */
const char *symbols_for_people(const char *linkage_name, struct arena *arena);

/** Frames of places, as a recording has them. */
struct symbols_rows {
	VEC(struct rec_frame);
};

/** Those of an answer become those of a place; a longer chain is cut. */
void symbols_put(const struct symbols_answer *answer, struct rec_location *place,
		struct symbols_rows *rows, struct texts *texts);

/**
 * The suppressions for LeakSanitizer that a module brings along: the text of its function
 * __lsan_default_suppressions, read from the file behind `module->fd` and copied into `arena`; a
 * function that does more than return a constant has none. Empty: no rules, or none that can be
 * read. Any thread.
 */
struct slice symbols_suppressions(const struct symbols_module *module, struct arena *arena);

// ---- which source package an installed file was built from
//
// "ghostscript" for /usr/bin/gs and for libgs.so.10. Programs and libraries of one source package
// are one product.
//
// Formats: dpkg's status and info/NAME.list (deb-control(5), dpkg(1)) and apk's installed database
// (apk-package(5)). Other systems have no answer. One thread at a time.

struct packages;

/**
 * The packages of a root folder: a descriptor, which becomes ours; -1: our own root. Nothing is
 * read yet.
 */
struct packages *packages_create(int root_fd);
void packages_destroy(struct packages *p);

/** True for a path in a folder where packages put code. Reads nothing. */
bool packages_may_hold(const char *path);

/**
 * The name of the source package; lives as long as `p`. Empty: the file is of no package, or the
 * database could not be read. The first question about a file in a system folder reads the whole
 * database, some 30 ms for 1,000 packages: ask only if the program itself belongs to a package.
 */
struct slice packages_source_of(struct packages *p, const char *path);
