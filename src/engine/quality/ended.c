// SPDX-License-Identifier: MIT
/* Says how a recording ended: whether all of the program is in it, and what ended it. */
#include "engine/lens/parts.h"
#include "engine/memory.h"
#include "engine/quality/parts.h"

enum { PARTS_SAID = 4 }; // of resident memory

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

static const char *signal_name(int signal, char out[16]) {
	const char *name = sigabbrev_np(signal);
	(void)(name ? snprintf(out, 16, "SIG%s", name) : snprintf(out, 16, "signal %d", signal));
	return out;
}

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
	char why[128];
	if (m->end_limit > 0) {
		(void)snprintf(why, sizeof why, "its control group had used up its memory limit of %s",
				HUMAN_BYTES(m->end_limit));
	} else {
		(void)snprintf(why, sizeof why, "memory had run out");
	}
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
static void put_end(const struct rec_meta *m, char *out, size_t size) {
	char name[16];
	if (m->ended == REC_SIGNALED) {
		(void)snprintf(out, size, "was ended by %s", signal_name(m->exit_status, name));
	} else {
		(void)snprintf(out, size, "exited with status %d", m->exit_status);
	}
}

static void say_limit(struct quality_writer *w, const char *at) {
	const struct rec_meta *m = &w->recording->meta;
	char end[64];
	put_end(m, end, sizeof end);
	bool is_signaled = m->ended == REC_SIGNALED;
	if (is_signaled && (m->exit_status == SIGNAL_CPU_TIME || m->exit_status == SIGNAL_KILL)) {
		quality_say(w, "killed", m->end_limit,
				"the program %s at %s: it had reached its limit of CPU time, %" PRIu64
				" s (ulimit -t)",
				end, at, m->end_limit);
	} else if (is_signaled && m->exit_status == SIGNAL_FILE_SIZE) {
		quality_say(w, "killed", m->end_limit,
				"the program %s at %s: it had reached its limit of file size, %s (ulimit -f)", end,
				at, HUMAN_BYTES(m->end_limit));
	} else {
		uint64_t failed = w->recording->summary.failed;
		quality_say(w, "killed", m->end_limit,
				"the program %s at %s; %s failed: its memory is limited to %s (ulimit "
				"-v or -d)",
				end, at, COUNTED(failed, "allocation"), HUMAN_BYTES(m->end_limit));
	}
}

static void say_program(struct quality_writer *w) {
	const struct rec_meta *m = &w->recording->meta;
	const char *at = HUMAN_DURATION(m->duration_ns);
	char end[64];
	if (m->end_reason == REC_END_MEMORY) {
		say_killed_for_memory(w, at);
	} else if (m->end_reason == REC_END_LIMIT) {
		say_limit(w, at);
	} else if (m->ended == REC_SIGNALED && !is_imported(w->recording)) {
		put_end(m, end, sizeof end);
		quality_say(w, "killed", (uint64_t)m->exit_status,
				"the program %s at %s: \"never freed\" is what was live then", end, at);
	}
}

void quality_say_ending(struct quality_writer *w) {
	say_recording(w);
	say_program(w);
}
