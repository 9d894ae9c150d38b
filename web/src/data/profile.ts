// SPDX-License-Identifier: MIT

/**
 * A recording as the page has it: docs/page-format.md. Columns and indices; nothing here changes
 * once it is read, which happens in two steps: intervals, sizes and sources come a moment after the
 * rest, and are empty until then. Bytes, counts and times (ns) are exact as long as they stay below
 * 2^53.
 */

import type { MetricRow } from './metrics.ts';

/**
 * As in --json (docs/json.md), but what is suppressed is in no total; `metrics` and `page` are the
 * page's alone.
 */
export interface Facts {
	program: {
		name: string; // the last part of `executable`
		called: string; // the same of what people ran
		executable: string | null;
		command: string[];
		host: string | null;
		pid: number;
		started_ns: number;
	};
	summary: {
		duration_ns: number;
		allocations: number;
		failed: number;
		allocated_bytes: number;
		frees: number;
		reallocations: number;
		temporary: number;
		short_lived: number;
		peak_bytes: number;
		peak_blocks: number;
		peak_time_ns: number;
		never_freed_blocks: number;
		never_freed_bytes: number;
		suppressed_blocks: number;
		suppressed_bytes: number;
		peak_rss_bytes: number | null; // not known
	};
	quality: {
		verdict: string; // of the recording; '': a file of another program does not say
		sentences: { id: string; value: number; text: string }[];
	};
	findings: Finding[];
	marks: { name: string; time_ns: number }[]; // moments that the program named
	allocators: Allocator[]; // where the recorder was put in; none: it was preloaded
	children: { pid: number; name: string | null; peak_rss_bytes: number }[];
	processes: Process[]; // of a tree of them, by their rows from 1 on; else none
	commands: { name: string; processes: number }[]; // that they executed
	looks: Look[]; // at resident memory, in order of time
	leaks: Leaks;
	metrics: MetricRow[];
	page: {
		heaptrack_version: string;
		ended: number;
		source: number;
		time_unit: number; // ui/format.ts
		peak_rss_time_ns: number;
		left_bytes: number; // never freed, by processes that ended before the recording
		left_blocks: number;
		noise_bytes: number; // never freed by the runtime itself
		noise_blocks: number;
		parts: Record<string, string>; // of resident memory, by their ids: what people call them
		merged_stacks: number;
		merged_below_bytes: number;
		redacted: boolean;
	};
}

/** A process of a tree. */
export interface Process {
	id: number; // its row
	pid: number;
	parent: number | null; // its row
	command: string; // that it executed last
	started_ns: number;
	ended_ns: number | null; // it was still running
	exit_status: number | null;
	allocations: number;
	peak_bytes: number; // of its own blocks
	never_freed_bytes: number;
	inherited_bytes: number; // live in its parent when it was forked
	dirtied_bytes: number | null; // of pages that it shared with that at first; null: none seen
	peak_rss_bytes: number | null; // as far as seen
	pss_bytes: number | null; // when that was read last
}

/** What pointed to live blocks, by the looks that asked, the newest first (none: nobody did). */
export interface Leaks {
	looks: {
		look: number;
		time_ns: number;
		grades: { grade: string; bytes: number; blocks: number }[];
	}[];
	classes: {
		look: number;
		kind: string;
		name: string | null;
		bytes: number;
		blocks: number;
		retained_bytes: number | null; // with what nothing else leads to
		objects_in_arenas: number | null;
	}[];
	holders: {
		look: number;
		name: string | null;
		retained_bytes: number;
		retained_blocks: number;
	}[];
}

/** Where resident memory was at one moment: its parts add up to rss_bytes. */
export interface Look {
	at: 'end' | 'rss-peak' | 'detach' | 'request' | 'timer' | 'trigger' | 'sizes';
	time_ns: number;
	rss_bytes: number;
	swap_bytes: number; // beside it
	changed_bytes: number; // while it was read
	asked_bytes: number; // of all live blocks
	limit_used: string; // what a control group used of its limit, in words; '': it has none
	has_pages: boolean; // else what has several owners is not known
	parts: MemoryPart[];
	arenas: Arena[];
	// Of each its row, what was in memory, what of its blocks was not, how many; blocks first
	stacks: number[];
	untouched: (Partial<Place> & Absent)[];
}

/** What of live blocks was in memory. */
interface Absent {
	blocks: number;
	asked_bytes: number;
	resident_bytes: number;
}

export interface Arena {
	name: string;
	live_bytes: number;
	bytes_by_fullness: number[]; // of pages: empty, live by up to a tenth, ... up to ten tenths
}

export interface MemoryPart {
	id: string;
	bytes: number;
	rows: MemoryRow[]; // largest first
}

interface Place {
	function: string;
	file: string;
	line: number; // 0: not known
}

/** Of who mapped it, else of a file or module, else of others. */
export interface MemoryRow extends Partial<Place> {
	via?: string; // of a runtime: its function that mapped most of it
	name?: string;
	bytes: number;
	lazy_free_bytes: number; // given back by MADV_FREE, and not taken yet
}

/** Functions of one module that allocate or free: hooked, or why they could not be. */
export interface Allocator {
	module: string;
	functions: string[];
	hooked: boolean;
	why: string | null;
}

/** A sentence with its numbers and the lens that shows it: docs/findings.md. */
export interface Finding {
	id: string;
	title: string;
	text: string;
	lens: string;
	function: string | null;
	place?: string; // of the function
	numbers: Record<string, number>;
}

/** The findings that are not among the notes on the figures already. */
export function ownFindings({ findings, quality }: Facts): Finding[] {
	return findings.filter((f) => !quality.sentences.some((q) => q.id === f.id));
}

export const ENDED = { running: 0, exited: 1, signaled: 2, detached: 3 };

/** `until` of blocks that were never freed. */
export const NEVER = 0xffff;

export const FLAG_YOURS = 1;
export const FLAG_LIBRARY = 2;
export const FLAG_NAMED = 4;

export interface Symbols {
	n: number;
	name: string[];
	file: string[];
	module: string[];
	linkage: string[];
	package: string[];
	function: Uint32Array; // equal for one function of one file, else of one module
	source: Uint32Array; // what /source/ID is asked for
	flags: Uint8Array;
}

/** Frames in pre-order; 0 is the program. */
export interface Nodes {
	n: number;
	parent: Uint32Array;
	symbol: Uint32Array;
	line: Uint32Array;
}

/** What ends in one node, over the whole recording. */
export interface Stacks {
	n: number;
	node: Uint32Array;
	site: Uint32Array; // the node it is named after, or of a module it is named after
	siteName: string[]; // of that module; '': the node has the name
	keeper: Uint32Array; // the same of what is never freed, which a runtime may keep
	keeperName: string[];
	thread: Uint32Array; // 0: not told apart
	command: Uint32Array; // row of facts.commands; 0: there are none
	allocations: Float64Array;
	allocatedBytes: Float64Array;
	temporary: Float64Array;
	temporaryBytes: Float64Array;
	shortLived: Float64Array;
	peakBlocks: Float64Array;
	peakBytes: Float64Array;
	liveBlocks: Float64Array;
	liveBytes: Float64Array;
	reallocs: Float64Array;
	firstNs: Float64Array;
	lastNs: Float64Array;
	lifetimes: Uint32Array[]; // 16 classes: < 1 us, < 4 us, ...
	others: Record<string, OtherCosts>; // by metrics that are not of blocks, if recorded
}

export interface OtherCosts {
	momentNs: number;
	bytes: Float64Array;
	blocks: Float64Array;
}

export interface Edges {
	n: number;
	timeNs: Float64Array;
	endNs: Float64Array;
	bytes: Float64Array;
	blocks: Float64Array;
	minBytes: Float64Array;
	allocations: Float64Array;
	allocatedBytes: Float64Array;
	temporary: Float64Array;
}

/** Ordered by stack: those of stack s are first[s] .. first[s + 1]. */
export interface Intervals {
	n: number;
	first: Uint32Array;
	from: Uint16Array;
	until: Uint16Array;
	count: Uint32Array;
	temporary: Uint32Array;
	bytes: Float64Array;
}

export interface Sizes {
	n: number;
	first: Uint32Array;
	isClass: Uint8Array;
	size: Float64Array;
	count: Float64Array;
	bytes: Float64Array;
	live: Float64Array;
}

export interface Thread {
	id: number;
	tid: number;
	name: string;
	merged: number;
	firstNs: number;
	lastNs: number;
	allocations: number;
	allocatedBytes: number;
	frees: number;
	temporary: number;
	liveBytes: number;
	peakBytes: number;
	foreignFrees: number;
	process: number; // row of facts.processes; 0: there are none, or of several
}

export interface Handover {
	from: number;
	to: number;
	blocks: number;
	bytes: number;
}

export interface Samples {
	n: number;
	timeNs: Float64Array;
	rssBytes: Float64Array;
	oursBytes: Float64Array;
	heapBytes: Float64Array;
	threads: Float64Array;
}

export interface SourceExcerpt {
	source: number;
	firstLine: number;
	lines: string[];
}

export interface Profile {
	facts: Facts;
	symbolTable: Symbols;
	nodes: Nodes;
	stacks: Stacks;
	edges: Edges;
	curve: Edges; // the heap as a whole, as fine as it is known: the edges themselves, or more
	intervals: Intervals;
	sizes: Sizes;
	threads: Thread[];
	handovers: Handover[];
	samples: Samples;
	sources: SourceExcerpt[];
}
