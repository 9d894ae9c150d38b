// SPDX-License-Identifier: MIT
/* Samples resident memory, with gaps that grow with the run; of too many, the higher ones stay. */
#include "collector/watch/watch.h"

enum {
	MS = 1000000,
	FIRST_GAP_NS = 4 * MS,
	USUAL_GAP_NS = 250 * MS,
	IDLE_GAP_NS = 2000 * MS,
	SAMPLES_MAX = 4096,
};

static uint64_t next_gap(const struct samples *s, uint64_t now_ns, bool is_idle) {
	uint64_t gap = now_ns / 8;
	gap = gap < FIRST_GAP_NS ? FIRST_GAP_NS : gap > USUAL_GAP_NS ? USUAL_GAP_NS : gap;
	gap = is_idle && now_ns > IDLE_GAP_NS ? IDLE_GAP_NS : gap;
	return gap < s->min_gap_ns ? s->min_gap_ns : gap;
}

static void thin_out(struct samples *s) {
	size_t kept = 0;
	for (size_t i = 0; i + 1 < s->n; i += 2) {
		const struct rec_sample *a = &s->items[i], *b = &s->items[i + 1];
		s->items[kept++] = b->rss_bytes >= a->rss_bytes ? *b : *a;
	}
	s->n = kept;
	s->min_gap_ns = s->min_gap_ns ? s->min_gap_ns * 2 : USUAL_GAP_NS * 2;
}

static uint64_t segment_bytes(const struct segment *s) {
	struct stat st;
	return fstat(s->memory.fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

/** Private memory of the recorder's node index. Its other memory is small and never grows. */
static uint64_t trie_bytes(const struct segment *s) {
	return atomic_load(&s->header->hash_bytes) +
			(uint64_t)WIRE_LINK_BYTES * atomic_load(&s->header->n_nodes);
}

static uint64_t at_most(uint64_t bytes, uint64_t most) {
	return bytes < most ? bytes : most;
}

uint64_t samples_ours(const struct segment *segment, const struct process_memory *memory) {
	return at_most(segment_bytes(segment), memory->rss_shmem_bytes) +
			at_most(trie_bytes(segment), memory->rss_anon_bytes);
}

bool samples_take(struct samples *s, pid_t pid, uint64_t now_ns, bool is_idle, uint64_t heap_bytes,
		const struct segment *segment) {
	s->next_ns = now_ns + next_gap(s, now_ns, is_idle);
	struct process_memory memory;
	struct process_usage usage;
	if (!process_memory(pid, &memory)) {
		return false;
	}
	(void)process_usage(pid, &usage);
	COPY_FIELDS(s, &memory, code_bytes, seccomp_mode);
	// An exec resets the kernel's high-water mark
	if (memory.peak_rss_bytes > s->peak_rss_bytes) {
		s->peak_rss_bytes = memory.peak_rss_bytes;
		s->peak_rss_time_ns = now_ns;
	}
	if (s->n >= SAMPLES_MAX) {
		thin_out(s);
	}
	const struct rec_sample sample = {
			FIELDS_OF(&memory, rss_bytes, rss_anon_bytes, rss_file_bytes, rss_shmem_bytes,
					n_threads),
			FIELDS_OF(&usage, minor_faults, major_faults),
			.time_ns = now_ns,
			.ours_bytes = samples_ours(segment, &memory),
			.heap_bytes = heap_bytes,
	};
	(void)vec_add(s, sample);
	return true;
}
