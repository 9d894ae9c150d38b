// SPDX-License-Identifier: MIT
/*
 * Samples the memory of all processes of a tree, as sums of what the kernel says of each. A page
 * that several of them share is in the RSS of each.
 */
#include "collector/tree/parts.h"

#include <poll.h>

enum {
	COST = 100,         // samples take a 100th of a CPU
	RETRY_NS = 5000000, // after one that was not whole
};

/** Add up the others. False: one is neither readable nor gone. */
static bool add_others(struct run *run, struct rec_sample *sum) {
	const size_t n = run->members.n;
	FREED struct process_memory *memory = memory_new(n, sizeof *memory);
	struct pollfd fds[CELLS_MAX];
	bool is_whole = true;
	for (size_t i = 1; i < n; i++) {
		const struct member *m = run->members.items[i];
		fds[i] = (struct pollfd){.fd = m->cell->fd, .events = POLLIN};
		(void)(m->has_ended || process_memory(m->pid, &memory[i]));
	}
	(void)poll(fds + 1, n - 1, 0);
	for (size_t i = 1; i < n; i++) {
		if (fds[i].revents == 0) { // else what was read may be of a later process with its pid
			is_whole &= memory[i].rss_bytes > 0;
			ADD_FIELDS(sum, &memory[i], rss_bytes, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes,
					n_threads);
			sum->ours_bytes += samples_ours(run->members.items[i]->segment, &memory[i]);
		}
	}
	return is_whole;
}

void run_tree_sample(struct run *run) {
	struct samples *s = &run->samples;
	struct rec_sample *sum = &s->items[s->n - 1];
	const uint64_t start_ns = clock_thread_cpu_ns();
	sum->minor_faults = sum->major_faults = 0; // not read of the others
	const bool is_whole = add_others(run, sum);
	const uint64_t rest_ns = (clock_thread_cpu_ns() - start_ns) * COST;
	if (!is_whole) { // it is ending
		s->n--;
		s->next_ns = run->now_ns + RETRY_NS;
	}
	RAISE_TO(s->next_ns, run->now_ns + rest_ns);
}
