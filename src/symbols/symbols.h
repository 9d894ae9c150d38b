// SPDX-License-Identifier: MIT
#pragma once
/**
 * From addresses in modules to names: function, file, line and the chain of inlined calls. Made for
 * many addresses of one module at once: sorted, each compile unit found by its ranges, walked once,
 * dropped. elfutils and libiberty stay behind this header. A `struct symbols` may be used by one
 * thread at a time; several are independent. Modules asked about stay open, mapped and indexed
 * until its end. Takes over the process's SIGBUS handler, so that files may shrink meanwhile.
 */

#include "trace/recording.h"

struct symbols_options {
	const char *sysroot;            // tried before the real root; or NULL
	const char *const *debug_paths; // NULL-terminated; more places for debug files; or NULL
	const char *const
			*extra_paths; // NULL-terminated; tried by base name, then as sysroots; or NULL
};

/** NULL options: all off. Their texts are borrowed until the end. */
struct symbols *symbols_create(const struct symbols_options *options);
void symbols_destroy(struct symbols *s);

struct symbols_module {
	int fd;                // an open descriptor of the file that was mapped, or -1; borrowed
	const char *path;      // as the program knew it; used if fd is -1, and to find debug files
	struct slice build_id; // of the mapped image; empty: not known, any file at `path` is used
};

/** An address of a module. */
struct symbols_wanted {
	uint64_t address; // in the file: the program's minus the bias
	uint32_t place;   // the caller's, unused here
	bool is_exact;    // false: a return address; refers to the call before it
};

struct symbols_frame {
	const char *function;  // demangled, without hashes and clone suffixes; or NULL
	const char *symbol;    // raw linkage name; or NULL
	const char *file;      // or NULL
	uint32_t line;         // 0: unknown
	const char *allocates; // the type that this call allocates; or NULL
};

struct symbols_answer {
	uint32_t n_frames;                  // 0: nothing is known
	const struct symbols_frame *frames; // innermost first; the last is the real function
};

struct symbols_facts {
	bool has_symbols, has_lines;
	bool is_unresolved; // no file, or only one with another build-id (never used)
};

/**
 * Look up `n` addresses of one module, ascending and distinct. Fills answers[0..n-1]; strings and
 * frames live in `arena`. An unreadable module is a fact, not an error.
 */
void symbols_resolve(struct symbols *s, const struct symbols_module *module,
		const struct symbols_wanted *wanted, size_t n, struct symbols_answer *answers,
		struct symbols_facts *facts, struct arena *arena);

/** The variable of a module at an address. */
struct symbols_variable {
	uint64_t start;     // in the file
	const char *symbol; // raw linkage name; lives as long as the symbols
};

/** False: not in the symbol tables. */
bool symbols_variable(struct symbols *s, const struct symbols_module *module, uint64_t address,
		struct symbols_variable *out);

/**
 * Where a variable from symbols_variable is declared, by debug data; its function is the variable
 * with its scopes ("f::table"). Texts as in symbols_resolve, or NULL. All calls for a module take
 * at most a second of CPU time: with much debug data some are not found.
 */
void symbols_declared(struct symbols *s, const struct symbols_module *module, uint64_t start,
		struct symbols_frame *out, struct arena *arena);

/** A frame of a stopped thread: registers by their DWARF numbers. */
enum { SYMBOLS_PC = 16, SYMBOLS_REGISTERS };
struct symbols_caller {
	uint64_t called_end;                   // the callee's frame end on the stack
	uint64_t called;                       // the start of the callee's code, in the file
	uint64_t registers[SYMBOLS_REGISTERS]; // 0: not known; the program counter is last
	uint64_t saved_at[SYMBOLS_REGISTERS];  // their addresses in memory; 0: not there
};

/**
 * Step from a frame's registers, in `c`, to its caller's, by .eh_frame. `pc` is in the file, of the
 * call or after it. False: unknown kind of frame, or a signal's.
 */
bool symbols_find_caller(struct symbols *s, const struct symbols_module *module, uint64_t pc,
		bool (*read)(void *user, uint64_t at, void *out, size_t bytes), void *user,
		struct symbols_caller *c);

/** Demangled as a function's would be. */
const char *symbols_for_people(const char *linkage_name, struct arena *arena);

/** Frames of places, as in a recording. */
struct symbols_rows {
	VEC(struct rec_frame);
};

/** Make an answer's frames those of a place; a longer chain is cut. */
void symbols_put(const struct symbols_answer *answer, struct rec_location *place,
		struct symbols_rows *rows, struct texts *texts);

/**
 * The LeakSanitizer suppressions built into a module: the text of its __lsan_default_suppressions,
 * read from the file `module->fd` and copied into `arena`. Empty: no rules, or the function does
 * more than return a constant. Any thread.
 */
struct slice symbols_suppressions(const struct symbols_module *module, struct arena *arena);

// ---- the source package of an installed file
//
// "ghostscript" for /usr/bin/gs and for libgs.so.10. Programs and libraries of one source package
// are one product.
//
// Formats: dpkg's status and info/NAME.list (deb-control(5), dpkg(1)) and apk's installed database
// (apk-package(5)). Other systems have no answer. One thread at a time.

struct packages;

/** The packages below a root folder, a descriptor that it owns; -1: our root. Reads nothing yet. */
struct packages *packages_create(int root_fd);
void packages_destroy(struct packages *p);

/** Is it in a folder where packages put code? Reads nothing. */
bool packages_may_hold(const char *path);

/**
 * The name of the source package; lives as long as `p`. Empty: in no package, or the database is
 * unreadable. The first query for a file in a system folder reads the whole database, some 30 ms
 * for 1,000 packages: ask only if the program itself is in a package.
 */
struct slice packages_source_of(struct packages *p, const char *path);
