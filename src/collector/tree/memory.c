// SPDX-License-Identifier: MIT
/*
 * Samples the memory of all processes of a tree, as sums of what the kernel says of each. A page
 * that several of them share is in the RSS of each; Pss divides it among those that map it, but is
 * expensive, as the kernel visits every page.
 */
#include "collector/tree/parts.h"

enum {
	RETRY_NS = 5000000,       // after a sample in which a process was ending
	PSS_MOST_NS = 1000000000, // if it takes longer it is given up
};

static struct rec_process *row_of(const struct member *m) {
	return &process_at(m->run->tree, m->process)->row;
}

/** Add up the others. False: one is neither readable nor gone. */
static bool add_others(struct run *run, struct rec_sample *sum) {
	const size_t n = run->members.n;
	FREED struct process_memory *memory = memory_new(n, sizeof *memory);
	struct pollfd fds[CELLS_MAX];
	bool is_whole = true;
	for (size_t i = 1; i < n; i++) {
		const struct member *m = run->members.items[i];
		(void)(m->has_ended || process_memory(m->pid, &memory[i]));
	}
	tree_poll_ends(run, fds, n);
	for (size_t i = 1; i < n; i++) {
		const struct member *m = run->members.items[i];
		if (fds[i].revents == 0) { // else what was read may be of a later process with its pid
			is_whole &= memory[i].rss_bytes > 0;
			ADD_FIELDS(sum, &memory[i], rss_bytes, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes,
					n_threads);
			sum->ours_bytes += samples_ours(m->segment, &memory[i]);
			RAISE_TO(row_of(m)->peak_rss_bytes, memory[i].peak_rss_bytes);
		}
	}
	return is_whole;
}

/** The Pss of all. False: that of one is missing. `cost_ns`: CPU time. */
static bool add_pss(struct run *run, struct rec_sample *sum, uint64_t *cost_ns) {
	const uint64_t until_ns = clock_now_ns() + PSS_MOST_NS;
	const size_t n = run->members.n;
	FREED uint64_t *pss = memory_new(n, sizeof *pss);
	struct pollfd fds[CELLS_MAX];
	bool is_whole = true;
	*cost_ns = 0;
	for (size_t i = 0; i < n && is_whole; i++) {
		const struct member *m = run->members.items[i];
		char text[4096] = "";
		const uint64_t start_ns = clock_thread_cpu_ns();
		is_whole = m->has_ended || process_read(m->pid, "smaps_rollup", text, sizeof text) > 0;
		*cost_ns += clock_thread_cpu_ns() - start_ns;
		pss[i] = process_status_number(text, "Pss", 10) * 1024;
		is_whole &= clock_now_ns() < until_ns && !watch_has_ended(run->watch, NULL);
		run_drain(run);
	}
	tree_poll_ends(run, fds, n);
	is_whole = is_whole && ALL(i, n, pss[i] == 0 || fds[i].revents == 0);
	for (size_t i = 0; i < n && is_whole; i++) {
		sum->pss_bytes += pss[i];
		if (pss[i] > 0) {
			struct rec_process *row = row_of(run->members.items[i]);
			row->pss_bytes = pss[i];
			row->pss_time_ns = sum->time_ns;
		}
	}
	return is_whole;
}

void run_tree_sample(struct run *run) {
	struct samples *s = &run->samples;
	struct rec_sample *sum = &s->items[s->n - 1];
	uint64_t cost_ns, start_ns = clock_thread_cpu_ns(), now_ns = run->now_ns;
	sum->minor_faults = sum->major_faults = 0; // not read of the others
	row_of(&run->first)->peak_rss_bytes = s->peak_rss_bytes;
	const bool is_whole = add_others(run, sum);
	if (!is_whole) {
		s->n--;
		s->next_ns = run->tree->lacks_sample ? s->next_ns : now_ns + RETRY_NS;
	}
	RAISE_TO(s->next_ns, now_ns + (clock_thread_cpu_ns() - start_ns) * TREE_COST);
	run->tree->lacks_sample = !is_whole;
	uint64_t *next_ns = &run->tree->pss_ns;
	if (is_whole && run->members.n > 1 && now_ns >= (*next_ns ?: tree_gap_ns(0))) {
		*next_ns = now_ns + tree_gap_ns(add_pss(run, sum, &cost_ns) ? now_ns : 0);
		RAISE_TO(*next_ns, now_ns + cost_ns * TREE_COST);
	}
}
