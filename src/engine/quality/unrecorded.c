// SPDX-License-Identifier: MIT
/* Says which processes and allocators were not recorded, why, and what would really record them. */
#include "engine/quality/parts.h"

/** How to record a process that was not. */
enum advice { ADVICE_NONE, ADVICE_BY_ITSELF, ADVICE_ATTACH };

static const struct reason {
	const char *id;        // for scripts
	const char *predicate; // after "the program ..."
	enum advice advice;
} reasons[REC_WHYS] = {
		[REC_WHY_NONE] = {NULL, NULL, ADVICE_BY_ITSELF},
		[REC_WHY_UNKNOWN] = {"unknown", NULL, ADVICE_NONE},
		[REC_WHY_STATIC] = {"static", "is linked statically", ADVICE_BY_ITSELF},
		[REC_WHY_STRIPPED] = {"stripped", "is linked statically and stripped", ADVICE_NONE},
		[REC_WHY_32_BIT] = {"32-bit", "is a 32-bit program and cannot be recorded", ADVICE_NONE},
		[REC_WHY_RIGHTS] = {"rights",
				"is set-uid, set-gid or has file capabilities, so that the system keeps the "
				"recorder out",
				ADVICE_NONE},
		[REC_WHY_ROOT] = {"root", "runs under another root directory, where the recorder is not",
				ADVICE_ATTACH},
		[REC_WHY_ENVIRONMENT] = {"environment",
				"was started without LD_PRELOAD or HEAPTRACK_SEGMENT in its environment",
				ADVICE_BY_ITSELF},
		[REC_WHY_PRELOAD] = {"preload", "was started with LD_PRELOAD set anew", ADVICE_BY_ITSELF},
		[REC_WHY_VALGRIND] = {"valgrind", "is valgrind, under which nothing can be recorded",
				ADVICE_NONE},
		[REC_WHY_PARENT] = {"parent",
				"was started by a program into which the recorder had been injected, and children "
				"do not inherit it",
				ADVICE_BY_ITSELF},
		[REC_WHY_REFUSED] = {"refused", "could not be attached to", ADVICE_NONE},
};

const char *quality_why_id(uint32_t why) {
	return why < REC_WHYS ? reasons[why].id : NULL;
}

const char *quality_why(uint32_t why) {
	return why < REC_WHYS ? reasons[why].predicate : NULL;
}

// ---- images of the process

static void say_image(struct quality_writer *w, const struct rec_image *m) {
	const struct recording *r = w->recording;
	struct slice exe = r->strings.items[m->exe];
	const char *at = HUMAN_DURATION(m->time_ns);
	bool may_inherit = r->allocators.n == 0 || m->why == REC_WHY_STATIC ||
			m->why == REC_WHY_STRIPPED || m->why == REC_WHY_32_BIT || m->why == REC_WHY_RIGHTS ||
			m->why == REC_WHY_VALGRIND;
	const char *predicate = may_inherit ? quality_why(m->why)
										: "the recorder did not get into (a recorder that was "
										  "injected into one program does not follow to the next)";
	predicate = predicate ? predicate : "the recorder did not get into";
	quality_say(w, "unrecorded-image", m->time_ns,
			"%s after the start the program became %.*s, %s%s: what that allocated is missing%s",
			at, SLICE_ARG(exe), m->is_too_narrow ? "" : "which ",
			m->is_too_narrow ? "whose address space is too narrow for the recorder (ulimit -v)"
							 : predicate,
			m->is_too_narrow ? "; with 100 MB more it is recorded" : "");
}

// ---- children

static void put_word(struct buffer *out, struct slice word) {
	const uint8_t *c = word.data;
	const bool is_plain = word.size > 0 &&
			ALL(i, word.size,
					isascii(c[i]) && c[i] && (isalnum(c[i]) || strchr("/._-+@%:,=", c[i])));
	buffer_text(out, is_plain ? "" : "'");
	for (size_t i = 0; i < word.size; i++) {
		buffer_printf(out, c[i] == '\'' ? "'\\''" : "%c", c[i]);
	}
	buffer_text(out, is_plain ? "" : "'");
}

static bool is_program_itself(const struct recording *r, uint32_t exe) {
	struct slice name = r->strings.items[exe];
	return slice_equal(name, r->strings.items[r->meta.exe]) ||
			ANY(i, r->images.n, slice_equal(name, r->strings.items[r->images.items[i].exe]));
}

/** "; the largest, NAME (pid, RSS), why: what records it", without "the largest," if `is_only`. */
static void put_largest(struct buffer *out, const struct recording *r, const struct rec_child *c,
		bool is_only) {
	struct slice exe = r->strings.items[c->exe];
	const struct reason *reason = &reasons[c->why < REC_WHYS ? c->why : REC_WHY_UNKNOWN];
	// Running a program again does not record the processes that it starts
	bool is_worker = c->is_fork || is_program_itself(r, c->exe);
	bool may_join = c->why == REC_WHY_NONE && r->meta.source == REC_LAUNCHED &&
			r->allocators.n + r->processes.n == 0;
	enum advice advice = reason->advice;
	advice = advice == ADVICE_BY_ITSELF && (is_worker || exe.size == 0) ? ADVICE_ATTACH : advice;
	buffer_printf(out, "; %s%.*s (pid %u", is_only ? "" : "the largest, ",
			SLICE_ARG(r->strings.items[c->name]), c->pid);
	if (c->peak_rss_bytes) {
		buffer_printf(out, ", %s RSS", HUMAN_BYTES(c->peak_rss_bytes));
	}
	buffer_text(out, ")");
	const char *comma = is_only ? "" : ",";
	static const char no_memory[] =
			"got no memory from heaptrack to be recorded into (a sandbox may forbid to ask for it)";
	const char *clause = c->why != REC_WHY_NONE ? reason->predicate
			: c->is_fork                        ? "is a fork"
			: r->processes.n > 0                ? no_memory
												: NULL;
	if (clause) {
		buffer_printf(out, "%s %s", comma, clause);
	}
	if (advice == ADVICE_ATTACH) {
		buffer_printf(out, "; to record one, start the program %s",
				may_join ? "with: heaptrack --children"
						 : "without heaptrack and attach: heaptrack -p PID");
	} else if (advice == ADVICE_BY_ITSELF) {
		buffer_printf(out, "%s is recorded by: heaptrack ", clause ? "; by itself it" : comma);
		put_word(out, exe);
		buffer_text(out, may_join ? " ..., and perhaps all by: heaptrack --children" : " ...");
	}
}

static const struct rec_child *largest_child(const struct recording *r) {
	return MOST(c, r->children, c->name != 0 ? c->peak_rss_bytes + 1 : 0);
}

/** A launcher (a shim of pyenv, Rscript) first runs small helpers, which do not affect figures. */
static bool are_minor(const struct recording *r) {
	const struct rec_child *largest = largest_child(r);
	return r->meta.n_images > 1 && largest &&
			largest->peak_rss_bytes < r->summary.peak_rss_bytes / 10;
}

/** How many there are, if are_minor() is `is_minor`; else 0. */
static uint64_t put_children(struct buffer *text, const struct recording *r, bool is_minor) {
	uint64_t n = r->quality.children_forked + r->quality.children_executed;
	if (n == 0 || are_minor(r) != is_minor) {
		return 0;
	}
	// Those without the recorder do not count what they start, and what ends soon is not seen
	bool is_least = r->processes.n > 0 || ANY(i, r->children.n, r->children.items[i].why != 0);
	buffer_printf(text, "%s%s child process%s not recorded", is_least ? "at least " : "",
			HUMAN_COUNT(n), n == 1 ? " was" : "es were");
	const struct rec_child *largest = largest_child(r);
	if (largest) {
		put_largest(text, r, largest, n == 1);
	}
	return n;
}

static void say_children(struct quality_writer *w) {
	SCOPED(buffer) text = {0};
	uint64_t n = put_children(&text, w->recording, false);
	QUALITY_SAY_IF_ANY(w, "children", n, "%.*s", SLICE_ARG(buffer_view(&text)));
}

uint64_t quality_minor_children(const struct recording *r, struct buffer *text) {
	return put_children(text, r, true);
}

/** Did the program only start what is worth looking at? */
static bool is_launcher(const struct recording *r) {
	const struct rec_child *largest = largest_child(r);
	return largest && largest->peak_rss_bytes > 2 * r->summary.peak_rss_bytes;
}

void quality_say_launched(struct quality_writer *w) {
	if (is_launcher(w->recording)) {
		say_children(w);
	}
}

/** In a tree, linked allocators are not recorded: names a process without events for 100 ms. */
static void say_silent(struct quality_writer *w) {
	const struct recording *r = w->recording;
	const struct rec_process *longest = MOST(p, r->processes,
			p->allocations + p->inherited_blocks == 0 && p->end_ns > p->start_ns + 100000000u &&
							!ANY(i, r->allocators.n,
									r->allocators.items[i].module ==
											r->commands.items[p->command].exe)
					? p->end_ns - p->start_ns
					: 0);
	if (longest && r->meta.source != REC_ATTACHED) { // whose allocators are hooked
		quality_say(w, "silent-process", longest->pid,
				"%.*s (pid %u) made no allocation that was recorded: if it has an allocator of its "
				"own, that is missing; heaptrack records it by itself, without --children",
				SLICE_ARG(r->strings.items[r->commands.items[longest->command].name]),
				longest->pid);
	}
}

void quality_say_unrecorded(struct quality_writer *w) {
	const struct recording *r = w->recording;
	// In a tree, the recording ends with the program, or by a detach
	const uint64_t n = SUM(i, r->processes.n, i > 0 && r->processes.items[i].end_ns == 0);
	QUALITY_SAY_IF_ANY(w, "still-running", r->meta.is_complete ? n : 0,
			"%s process%s still ran when the recording ended: what %s held then counts as never "
			"freed",
			HUMAN_COUNT(n), n == 1 ? "" : "es", n == 1 ? "it" : "they");
	EACH_THAT(image, r->images, image->is_unrecorded) {
		say_image(w, image);
	}
	if (!is_launcher(r)) {
		say_children(w);
	}
	say_silent(w);
}

/** Does a stack that maps memory go through mimalloc in that module? */
static bool is_through_mimalloc(const struct recording *r, uint32_t node, uint32_t module) {
	for (; node != 0; node = r->nodes.items[node].parent) {
		const struct rec_location *l = &r->locations.items[r->nodes.items[node].location];
		const struct rec_frame *frames = &r->frames.items[l->first_frame];
		if (r->modules.items[l->module].path == module &&
				ANY(i, l->n_frames,
						starts_with(r->strings.items[frames[i].function], "mi_") ||
								starts_with(r->strings.items[frames[i].function], "_mi_"))) {
			return true;
		}
	}
	return false;
}

bool quality_lacks(const struct recording *r, const struct rec_allocator *a) {
	enum { WHOLE = 16 }; // a module with only some of these functions may do anything
	struct slice names = r->strings.items[a->functions], name;
	bool may_be_unused = r->meta.source == REC_LAUNCHED && r->mapping_edges.n > 0 &&
			a->n_functions >= WHOLE;
	while (may_be_unused && take_part(&names, ' ', &name)) {
		may_be_unused = starts_with(name, "mi_");
	}
	return a->why != 0 &&
			(!may_be_unused ||
					ANY(i, r->mappings.n,
							is_through_mimalloc(r, r->mappings.items[i].node, a->module)));
}
