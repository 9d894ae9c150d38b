// SPDX-License-Identifier: MIT
/*
 * Finds memory that holds blocks without being one: what the process wrote, except the allocator's
 * memory and heaptrack's. File pages count once copied, as they may then hold a block's address.
 */
#include "engine/graph/parts.h"

static bool is_root(uint8_t part) {
	return part == REC_PART_MAPPED || part == REC_PART_STACKS || part == REC_PART_MODULES_WRITTEN ||
			part == REC_PART_FILES || part == REC_PART_SHARED || part == REC_PART_UNKNOWN;
}

static bool is_libcs(const struct parts_input *in, const struct owner_span *span) {
	const char *name = in->areas->items[span->area].name;
	bool is_bss = !*name && span->owner.area < in->areas->n;
	name = path_base_name(is_bss ? in->areas->items[span->owner.area].name : name);
	return in->is_glibc && span->owner.part == REC_PART_MODULES_WRITTEN &&
			strncmp(name, "libc.so", 7) == 0;
}

/** Of a stack, the part in use: from the stack pointer nearest to the span's start. */
static uint64_t start_of(const struct graph_input *in, const struct owner_span *span) {
	const struct graph_thread *all = in->threads;
	const size_t i = sorted_first_of(all, in->n_threads, sizeof *all, span->start);
	const bool is_its = i < in->n_threads && all[i].sp < span->end;
	return is_its ? all[i].sp & -(uint64_t)8 : span->start;
}

static struct graph_root root_of(const struct parts_input *in, const struct owner_span *span) {
	const bool has_file = span->owner.area < in->areas->n;
	struct graph_root root = {.mapping = span->owner.mapping,
			.area = has_file ? span->owner.area : span->area,
			.kind = REC_HOLDER_MAPPING};
	root.at = in->areas->items[root.area].start;
	if (span->owner.part == REC_PART_STACKS) {
		root.kind = REC_HOLDER_STACK;
		for (uint32_t i = 0; i < in->n_threads; i++) {
			const struct parts_thread *t = &in->threads[i];
			bool is_its = (t->sp >= span->start && t->sp < span->end) ||
					(t->fs_base >= span->start && t->fs_base < span->end);
			root.thread = is_its ? i + 1 : root.thread;
		}
	} else if (span->owner.part == REC_PART_MODULES_WRITTEN || span->owner.part == REC_PART_FILES) {
		root.kind = REC_HOLDER_GLOBAL;
	}
	return root;
}

/** Leaves out blocks inside, which hold only if held: large ones have their own mappings. */
static void add_root(struct sources *out, struct source s, const struct live_blocks *blocks) {
	size_t i = sorted_first_of(blocks->items, blocks->n, sizeof *blocks->items, s.start);
	for (i -= i > 0; i < blocks->n && blocks->items[i].start < s.end; i++) {
		struct source before = s;
		before.end = blocks->items[i].start;
		(void)(before.start < before.end && vec_add(out, before));
		RAISE_TO(s.start, before.end + blocks->items[i].bytes);
	}
	(void)(s.start < s.end && vec_add(out, s));
}

/** Does a register point into this range? */
static bool is_pointed_to(const struct graph_input *in, uint64_t start, uint64_t end) {
	return ANY(i, in->n_threads * GRAPH_WORDS,
			in->threads[i / GRAPH_WORDS].words[i % GRAPH_WORDS] - start < end - start);
}

/**
 * Where the part of a span that holds blocks ends; 0: none. In front of the first block of [heap],
 * a static program has its first thread's variables, to which a register points.
 */
static uint64_t root_end(const struct graph_input *in, const struct owner_span *span,
		const struct live_blocks *blocks) {
	const struct smaps_area *a = &in->parts->areas->items[span->area];
	size_t i = sorted_first_of(blocks->items, blocks->n, sizeof *blocks->items, a->start);
	uint64_t first = i < blocks->n ? blocks->items[i].start : a->end;
	LOWER_TO(first, span->end);
	return a->kind == SMAPS_DEVICE || a->kind == SMAPS_KERNEL ? 0
			: is_root(span->owner.part)                       ? span->end
			: a->kind == SMAPS_HEAP && span->start < first && is_pointed_to(in, span->start, first)
			? first
			: 0;
}

void roots_find(const struct graph_input *graph, const struct live_blocks *blocks,
		struct sources *out) {
	const struct parts_input *in = graph->parts;
	struct owners owners = {0};
	size_t page = 0;
	owners_find(in, blocks->items, blocks->n, &owners);
	for (size_t i = 0; i < owners.spans.n; i++) {
		const struct owner_span *span = &owners.spans.items[i];
		const struct smaps_area *a = &in->areas->items[span->area];
		const uint64_t start = start_of(graph, span), end = root_end(graph, span, blocks);
		if (start >= end) {
			continue;
		}
		while (page < in->pages->n && in->pages->items[page].end <= start) {
			page++;
		}
		for (size_t k = page; k < in->pages->n && in->pages->items[k].start < end; k++) {
			const struct pagemap_range *p = &in->pages->items[k];
			if (p->is_file && !(a->is_shared && a->is_writable)) {
				continue;
			}
			add_root(out,
					(struct source){p->start > start ? p->start : start,
							p->end < end ? p->end : end, root_of(in, span), NO_BLOCK,
							is_libcs(in, span)},
					blocks);
		}
	}
	vec_finish(&owners.spans);
}
