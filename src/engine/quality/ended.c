// SPDX-License-Identifier: MIT
/* Says how a recording ended: whether it has the whole program, and what ended that. */
#include "engine/lens/parts.h"
#include "engine/memory.h"
#include "engine/quality/parts.h"

enum { PARTS_SAID = 4 }; // of resident memory
enum { WORDS_MAX = 128 };

// Signals as numbered by Linux, and in files
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
	return lacks ? "incomplete: an allocator is not recorded" : "recording complete";
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
	} else if (last && last->rss_bytes > last->ours_bytes && !recording_is_tree(r)) {
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

/** The limit that it reached, or what failed because of one. */
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
