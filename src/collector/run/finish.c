// SPDX-License-Identifier: MIT
/* Finishes a recording: looks up the missing names, writes the last state and the final file. */
#include "collector/run/parts.h"
#include "sys/clock.h"

#include <stdio.h>

enum { FINISH_PATIENCE_NS = 50000000 };

static void finish_names(struct run *run) {
	size_t n_all = namer_pending(run->names);
	uint64_t start_ns = clock_now_ns();
	jit_step(&run->jit, &run->tries, run->names, run->now_ns, true);
	namer_step(run->names, &run->tries, run->now_ns, true);
	while (namer_pending(run->names) > 0 && !watch_is_hurried(run->watch)) {
		namer_wait(run->names, FINISH_PATIENCE_NS);
		namer_step(run->names, &run->tries, run->now_ns, true);
		if (clock_now_ns() - start_ns > 1000000000) {
			run->options->progress(run->options->user, namer_pending(run->names), n_all);
		}
	}
}

static bool end(struct run *run, struct run_result *result, struct err *err) {
	if (!run->options->lacks_names) {
		finish_names(run);
	}
	keeper_wait(run->keeper); // two states at a time would take twice the memory
	struct recording *r = run_state(run, true, err);
	if (!r) {
		return false;
	}
	// The last state is a copy of these; the memory that writing it takes is not added to theirs
	aggregate_destroy(run->aggregate);
	run->aggregate = NULL;
	mappings_destroy(run->mappings);
	run->mappings = NULL;
	tries_finish(&run->tries);
	result->file_is_whole = keeper_finish(run->keeper, r, err);
	result->recording = *r;
	free(r);
	return result->file_is_whole;
}

void run_close(struct run *run, struct run_result *result) {
	result->was_recorded = atomic_load(&run->segment.header->n_images) > 0;
	result->why = run->exec_why;
	result->was_too_narrow = atomic_load(&run->segment.header->n_too_narrow) > 0;
	if (result->was_recorded) {
		struct err why = {0};
		if (!end(run, result, &why)) {
			result->is_lost = !output_is_there(&run->output);
			(void)err_add(&why,
					result->is_lost ? "the recording is lost"
									: "cannot finish the file; it holds the last saved state");
			run_say(run, "%s", why.text);
		}
		run_tell_notes(run);
		result->texts = run->texts.arena; // what the recording's texts point into
		run->texts.arena = (struct arena){0};
	}
	(void)snprintf(result->path, sizeof result->path, "%s", run->output.path);
}

void run_result_finish(struct run_result *result) {
	recording_finish(&result->recording);
	arena_finish(&result->texts);
}
