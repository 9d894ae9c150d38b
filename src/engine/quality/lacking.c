// SPDX-License-Identifier: MIT
/* Says what a recording lacks: how it ended, and which processes and allocators are not in it. */
#include "engine/lens/parts.h"
#include "engine/memory.h"
#include "engine/quality/parts.h"

enum { PARTS_SAID = 4 }; // of resident memory
enum { WORDS_MAX = 128 };

// Signals as Linux numbers them, and a file says them
enum { SIGNAL_KILL = 9, SIGNAL_CPU_TIME = 24, SIGNAL_FILE_SIZE = 25 };

static bool is_imported(const struct recording *r) {
	return r->meta.source == REC_IMPORTED || r->meta.source == REC_FROM_KDE;
}

// ---- the recording

static void say_recording(struct quality_writer *w) {
	const struct recording *r = w->recording;
	const struct rec_meta *m = &r->meta;
	const char *all = HUMAN_DURATION(m->duration_ns);
	if (r->quality.recording_stopped_early && m->is_complete) {
		quality_say(w, "stopped-early", r->quality.stopped_ns,
				"the recording ended at %s, the program ran on to %s: what it did then is missing",
				HUMAN_DURATION(r->quality.stopped_ns), all);
	} else if (m->is_complete) {
		return;
	} else if (is_imported(r)) {
		quality_say(w, "incomplete", m->duration_ns,
				"the recording has no end: the file is cut, or still being written (state after "
				"%s)",
				all);
	} else {
		quality_say(w, "incomplete", m->duration_ns,
				"still recording, state at %s, %s after the start (or the collector was killed "
				"then)",
				CLOCK_TIME(m, m->written_ns), all);
	}
}

const char *quality_verdict(const struct recording *r, char out[QUALITY_VERDICT_MAX]) {
	const struct rec_quality *q = &r->quality;
	if (is_imported(r)) {
		return r->meta.is_complete ? "" : "incomplete: the file has no end";
	} else if (!r->meta.is_complete) {
		return "incomplete: the recording has no end";
	} else if (q->recording_stopped_early) {
		return format_text(out, QUALITY_VERDICT_MAX, "incomplete: recorded to %s of %s",
				HUMAN_DURATION(q->stopped_ns), HUMAN_DURATION(r->meta.duration_ns));
	} else if (ANY(i, r->images.n, r->images.items[i].is_unrecorded)) {
		return "incomplete: not recorded after an exec";
	} else if (q->lost_events) {
		return format_text(out, QUALITY_VERDICT_MAX, "incomplete: %s lost",
				COUNTED(q->lost_events, "event"));
	} else if (q->detail_ends_ns) {
		return format_text(out, QUALITY_VERDICT_MAX, "incomplete: no detail after %s",
				HUMAN_DURATION(q->detail_ends_ns));
	}
	bool lacks = ANY(i, r->allocators.n, quality_lacks(r, &r->allocators.items[i]));
	return lacks ? "incomplete: an allocator is not recorded" : "recording whole";
}

// ---- the program

/** "; 80 ms before, RSS was 97.1 MB: 80.2 MB live blocks, 3.1 MB code and files, 9.9 MB others". */
static void put_last_look(const struct recording *r, struct buffer *out) {
	struct memory_look m = memory_at_end(r);
	uint64_t rest = m.look->rss_bytes, end = r->meta.duration_ns;
	uint64_t before = end > m.look->time_ns ? end - m.look->time_ns : 0; // the look may be later
	buffer_printf(out, "; %s before, RSS was %s:", HUMAN_DURATION(before), HUMAN_BYTES(rest));
	uint64_t *most;
	for (int i = 0; i < PARTS_SAID && (most = MOST_OF(b, m.bytes, REC_PARTS, *b)); i++) {
		buffer_printf(out, "%s %s %s", i > 0 ? "," : "", HUMAN_BYTES(*most),
				memory_part_texts[most - m.bytes].words);
		rest -= *most;
		*most = 0;
	}
	if (rest > 0) {
		buffer_printf(out, ", %s others", HUMAN_BYTES(rest));
	}
	if (m.group) {
		buffer_text(out, "; its control group used ");
		memory_put_group(out, m.group);
	}
}

static void say_killed_for_memory(struct quality_writer *w, const char *at) {
	const struct recording *r = w->recording;
	const struct rec_meta *m = &r->meta;
	const struct rec_sample *last = r->samples.n ? &r->samples.items[r->samples.n - 1] : NULL;
	SCOPED(buffer) seen = {0};
	const char *why = m->end_limit > 0
			? FORMAT(WORDS_MAX, "its control group had used up its memory limit of %s",
					  HUMAN_BYTES(m->end_limit))
			: "memory had run out";
	if (r->looks.n > 0) {
		put_last_look(r, &seen);
	} else if (last && last->rss_bytes > last->ours_bytes) {
		buffer_printf(&seen, ", the last RSS seen %s",
				HUMAN_BYTES(last->rss_bytes - last->ours_bytes));
	}
	quality_say(w, "killed", m->end_limit,
			"the kernel killed the program at %s (SIGKILL), because %s; the heap was %s then%.*s",
			at, why, HUMAN_BYTES(r->summary.live_bytes), SLICE_ARG(buffer_view(&seen)));
}

/** "was ended by SIGABRT", or "exited with status 1". */
static const char *put_end(const struct rec_meta *m, char out[WORDS_MAX]) {
	const char *name = sigabbrev_np(m->exit_status);
	if (m->ended != REC_SIGNALED) {
		return format_text(out, WORDS_MAX, "exited with status %d", m->exit_status);
	}
	return name ? format_text(out, WORDS_MAX, "was ended by SIG%s", name)
				: format_text(out, WORDS_MAX, "was ended by signal %d", m->exit_status);
}

/** What it had reached, or what failed for it. */
static const char *put_limit(const struct recording *r, char out[WORDS_MAX]) {
	const struct rec_meta *m = &r->meta;
	bool is_signaled = m->ended == REC_SIGNALED;
	if (is_signaled && (m->exit_status == SIGNAL_CPU_TIME || m->exit_status == SIGNAL_KILL)) {
		return format_text(out, WORDS_MAX,
				": it had reached its limit of CPU time, %" PRIu64 " s (ulimit -t)", m->end_limit);
	} else if (is_signaled && m->exit_status == SIGNAL_FILE_SIZE) {
		return format_text(out, WORDS_MAX,
				": it had reached its limit of file size, %s (ulimit -f)",
				HUMAN_BYTES(m->end_limit));
	}
	return format_text(out, WORDS_MAX, "; %s failed: its memory is limited to %s (ulimit -v or -d)",
			COUNTED(r->summary.failed, "allocation"), HUMAN_BYTES(m->end_limit));
}

static void say_program(struct quality_writer *w) {
	const struct rec_meta *m = &w->recording->meta;
	const char *at = HUMAN_DURATION(m->duration_ns);
	char end[WORDS_MAX], limit[WORDS_MAX];
	bool is_limit = m->end_reason == REC_END_LIMIT;
	if (m->end_reason == REC_END_MEMORY) {
		say_killed_for_memory(w, at);
	} else if (is_limit || (m->ended == REC_SIGNALED && !is_imported(w->recording))) {
		quality_say(w, "killed", is_limit ? m->end_limit : (uint64_t)m->exit_status,
				"the program %s at %s%s", put_end(m, end), at,
				is_limit ? put_limit(w->recording, limit)
						 : ": \"never freed\" is what was live then");
	}
}

void quality_say_ending(struct quality_writer *w) {
	say_recording(w);
	say_program(w);
}

void quality_say(struct quality_writer *w, const char *id, uint64_t value, const char *fmt, ...) {
	char text[QUALITY_TEXT_MAX];
	(void)FORMAT_ARGS(text, sizeof text, fmt);
	const char *kept = arena_text(w->arena, slice_of_text(text));
	if (w->n < QUALITY_LINES_MAX) {
		w->out[w->n++] = (struct quality_line){id, kept ? kept : "(out of memory)", value};
	}
}

// ---- which processes were not recorded, why, and what records them, and whether an allocator was
//
// Advice is given only where it works.

/** What can be done about a process that was not recorded. */
enum advice { ADVICE_NONE, ADVICE_BY_ITSELF, ADVICE_ATTACH };

static const struct reason {
	const char *id;        // for scripts
	const char *predicate; // of "the program ..."
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

/** A path as a shell takes it. */
static void put_word(struct buffer *out, struct slice word) {
	const uint8_t *c = word.data;
	if (word.size > 0 &&
			ALL(i, word.size,
					isascii(c[i]) && c[i] && (isalnum(c[i]) || strchr("/._-+@%:,=", c[i])))) {
		buffer_slice(out, word);
		return;
	}
	buffer_u8(out, '\'');
	for (size_t i = 0; i < word.size; i++) {
		buffer_printf(out, c[i] == '\'' ? "'\\''" : "%c", c[i]);
	}
	buffer_u8(out, '\'');
}

static bool is_program_itself(const struct recording *r, uint32_t exe) {
	struct slice name = r->strings.items[exe];
	return slice_equal(name, r->strings.items[r->meta.exe]) ||
			ANY(i, r->images.n, slice_equal(name, r->strings.items[r->images.items[i].exe]));
}

/** "; the largest, NAME (pid, RSS), why: what records it"; alone, "; NAME (pid, RSS) why". */
static void put_largest(struct buffer *out, const struct recording *r, const struct rec_child *c,
		bool is_only) {
	struct slice exe = r->strings.items[c->exe];
	const struct reason *reason = &reasons[c->why < REC_WHYS ? c->why : REC_WHY_UNKNOWN];
	// Starting a program again does not record the processes that it starts by itself
	bool is_worker = c->is_fork || is_program_itself(r, c->exe);
	enum advice advice = reason->advice;
	advice = advice == ADVICE_BY_ITSELF && (is_worker || exe.size == 0) ? ADVICE_ATTACH : advice;
	buffer_printf(out, "; %s%.*s (pid %u", is_only ? "" : "the largest, ",
			SLICE_ARG(r->strings.items[c->name]), c->pid);
	if (c->peak_rss_bytes) {
		buffer_printf(out, ", %s RSS", HUMAN_BYTES(c->peak_rss_bytes));
	}
	buffer_text(out, ")");
	const char *comma = is_only ? "" : ",";
	const char *clause = c->is_fork && c->why == REC_WHY_NONE ? "is a fork" : reason->predicate;
	if (clause) {
		buffer_printf(out, "%s %s", comma, clause);
	}
	if (advice == ADVICE_ATTACH) {
		buffer_text(out,
				"; to record one, start the program without heaptrack and attach: heaptrack -p "
				"PID");
	} else if (advice == ADVICE_BY_ITSELF) {
		buffer_printf(out, "%s is recorded by: heaptrack ",
				reason->predicate ? "; by itself it" : comma);
		put_word(out, exe);
		buffer_text(out, " ...");
	}
}

static const struct rec_child *largest_child(const struct recording *r) {
	return MOST(c, r->children, c->name != 0 ? c->peak_rss_bytes + 1 : 0);
}

/**
 * A launcher (a shim of pyenv, Rscript) runs small helpers before it executes the intended program.
 * They do not affect the figures.
 */
static bool are_minor(const struct recording *r) {
	const struct rec_child *largest = largest_child(r);
	return r->meta.n_images > 1 && largest &&
			largest->peak_rss_bytes < r->summary.peak_rss_bytes / 10;
}

/** How many there are, if they are minor or not; else 0. */
static uint64_t put_children(struct buffer *text, const struct recording *r, bool is_minor) {
	uint64_t n = r->quality.children_forked + r->quality.children_executed;
	if (n == 0 || are_minor(r) != is_minor) {
		return 0;
	}
	buffer_printf(text, "%s child process%s not recorded", HUMAN_COUNT(n),
			n == 1 ? " was" : "es were");
	const struct rec_child *largest = largest_child(r);
	if (largest) {
		put_largest(text, r, largest, n == 1);
	}
	return n;
}

static void say_children(struct quality_writer *w) {
	SCOPED(buffer) text = {0};
	uint64_t n = put_children(&text, w->recording, false);
	buffer_u8(&text, 0);
	QUALITY_SAY_IF_ANY(w, "children", n, "%s",
			text.failed ? "(out of memory)" : (const char *)text.data);
}

uint64_t quality_minor_children(const struct recording *r, struct buffer *text) {
	return put_children(text, r, true);
}

/** The program only started what is worth looking at. */
static bool is_launcher(const struct recording *r) {
	const struct rec_child *largest = largest_child(r);
	return largest && largest->peak_rss_bytes > 2 * r->summary.peak_rss_bytes;
}

void quality_say_launched(struct quality_writer *w) {
	if (is_launcher(w->recording)) {
		say_children(w);
	}
}

void quality_say_unrecorded(struct quality_writer *w) {
	const struct recording *r = w->recording;
	EACH_THAT(image, r->images, image->is_unrecorded) {
		say_image(w, image);
	}
	if (!is_launcher(r)) {
		say_children(w);
	}
}

/** Does a stack that maps memory lead through functions of mimalloc in that module? */
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
	enum { WHOLE = 16 }; // who only has some functions of these names may do anything
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
