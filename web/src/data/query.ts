// SPDX-License-Identifier: MIT
import { START, type Lens, type Range } from './lens.ts';
import { metricOf, type Metric } from './metrics.ts';
import { NEVER, type Look, type Profile } from './profile.ts';
import { stacksUnder } from './match.ts';

/**
 * Costs of every stack under a lens: exact columns for the whole recording, one scan over the
 * intervals for a range. `bytes` and `blocks` are the metric's; the rest is what was made in the
 * range. All of it adds up: to the total here, and to that of the program for the same lens.
 */
export interface Costs {
	bytes: Float64Array;
	blocks: Float64Array;
	allocations: Float64Array;
	allocatedBytes: Float64Array;
	temporary: Float64Array;
}

export interface Totals {
	bytes: number;
	blocks: number;
	allocations: number;
	allocatedBytes: number;
	temporary: number;
}

/**
 * What was made in the range is added up when it is asked for: a flame graph of the peak never
 * does.
 */
export interface Answer extends Costs {
	lens: Lens;
	total: Totals;
	weights: Float64Array; // what ranks: bytes or blocks
	momentNs: number; // of the peak metric: when; else the end of the range
	edge: number; // the same as an edge; edges.n: the end
}

/** The edge of the largest heap in a range, the first of equals; edges.n if no edge is in it. */
function peakOfRange(p: Profile, from: number, to: number): number {
	const { bytes, n } = p.edges;
	let best = from + 1;
	for (let k = best + 1; k <= to && k < n; k++) {
		if (bytes[k]! > bytes[best]!) {
			best = k;
		}
	}
	return Math.min(best, n);
}

/** Of an interval's bytes those of its temporary blocks: their share by number. */
function shareOf(bytes: number, part: number, whole: number): number {
	if (part === whole || bytes * part <= Number.MAX_SAFE_INTEGER) {
		return part === whole ? bytes : Math.floor((bytes * part) / whole);
	}
	return Number((BigInt(bytes) * BigInt(part)) / BigInt(whole));
}

/** What ranks, beside which the rest stands. */
interface Ranked {
	bytes: Float64Array;
	blocks: Float64Array;
}

type Made = Pick<Costs, 'allocations' | 'allocatedBytes' | 'temporary'>;

/** A metric that is asked of a look at memory. */
export function isOfLook(metric: Metric): boolean {
	const { of_blocks, unit } = metricOf(metric);
	return !of_blocks && unit === 'blocks';
}

/** The newest look until the end of a range that knows it, as in the program. */
export function lookAt(p: Profile, metric: Metric, range: Range): Look | undefined {
	const end = p.edges.timeNs[range.to] ?? p.facts.summary.duration_ns;
	return p.facts.looks
		.filter((look) => look.time_ns <= end)
		.filter((look) => (metric === 'resident' ? look.has_pages : look.stacks[3]))
		.pop();
}

/** What has no row of its own has no stack: row 0. */
function rankedAt(p: Profile, metric: Metric, look: Look | undefined): Ranked {
	const out = { bytes: new Float64Array(p.stacks.n), blocks: new Float64Array(p.stacks.n) };
	const { parts = [], stacks = [] } = look ?? {};
	const isResident = metric === 'resident';
	for (const { id, bytes } of parts) {
		out.bytes[0]! += isResident && (id === 'heap_live' || id === 'mapped') ? bytes : 0;
	}
	for (let i = 0; i < stacks.length; i += 4) {
		const [stack, resident, absent, blocks] = stacks.slice(i, i + 4);
		const size = isResident ? resident! : absent!;
		out.bytes[0]! -= isResident ? size : 0;
		if (isResident || size >= 4096) {
			out.bytes[stack!]! += size;
			out.blocks[stack!]! += blocks!;
		}
	}
	return out;
}

/** The whole recording: the exact columns. */
export function wholeRanked(p: Profile, metric: Metric): Ranked {
	const { bytes, blocks, of_blocks } = metricOf(metric);
	if (!of_blocks) {
		const none = () => new Float64Array(p.stacks.n);
		const { bytes, blocks } = p.stacks.others[metric] ?? { bytes: none(), blocks: none() };
		return { bytes, blocks };
	}
	const column = (name: string) => {
		const key = name.replace(/_./g, (c) => c[1]!.toUpperCase()) as keyof Profile['stacks'];
		return p.stacks[key] as Float64Array;
	};
	return { bytes: column(bytes), blocks: column(blocks) };
}

/** What was made after `from` and up to `to`, and dies after `lives`. */
function living(p: Profile, from: number, to: number, lives: number): Ranked {
	const { first, from: born, until, count, bytes } = p.intervals;
	const out = { bytes: new Float64Array(p.stacks.n), blocks: new Float64Array(p.stacks.n) };
	for (let s = 0, i = first[0]!; s < p.stacks.n; s++) {
		const end = first[s + 1]!;
		let sum = 0;
		let blocks = 0;
		for (; i < end && born[i]! <= to; i++) { // those of a stack begin one after the other
			if (until[i]! > lives && born[i]! > from) {
				sum += bytes[i]!;
				blocks += count[i]!;
			}
		}
		i = end;
		out.bytes[s] = sum;
		out.blocks[s] = blocks;
	}
	return out;
}

/** The first interval of a stack that begins after an edge. */
function firstAfter(p: Profile, stack: number, edge: number): number {
	let low = p.intervals.first[stack]!;
	let high = p.intervals.first[stack + 1]!;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (p.intervals.from[middle]! <= edge) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

function madeIn(p: Profile, from: number, to: number): Made {
	const { first, from: born, count, temporary, bytes } = p.intervals;
	const column = () => new Float64Array(p.stacks.n);
	const out = { allocations: column(), allocatedBytes: column(), temporary: column() };
	for (let s = 0; s < p.stacks.n; s++) {
		let [made, sum, short] = [0, 0, 0];
		for (let i = firstAfter(p, s, from), end = first[s + 1]!; i < end && born[i]! <= to; i++) {
			made += count[i]!;
			sum += bytes[i]!;
			short += temporary[i]!;
		}
		out.allocations[s] = made;
		out.allocatedBytes[s] = sum;
		out.temporary[s] = short;
	}
	return out;
}

function temporaryBytesIn(p: Profile, from: number, to: number): Float64Array {
	const { first, from: born, count, temporary, bytes } = p.intervals;
	return Float64Array.from({ length: p.stacks.n }, (_, s) => {
		let sum = 0;
		for (let i = firstAfter(p, s, from), end = first[s + 1]!; i < end && born[i]! <= to; i++) {
			sum += temporary[i] ? shareOf(bytes[i]!, temporary[i]!, count[i]!) : 0;
		}
		return sum;
	});
}

function rangeRanked(
	p: Profile,
	metric: Metric,
	range: Range,
	moment: number,
	made: () => Made,
): Ranked {
	const { from, to } = range;
	switch (metricOf(metric).rule) {
		case 'live-at-largest':
			return living(p, START, Math.min(moment, to), moment);
		case 'never-freed':
			return living(p, from, to, NEVER - 1);
		case 'kept':
			return living(p, from, to, to);
		case 'made-temporary':
			return { bytes: temporaryBytesIn(p, from, to), blocks: made().temporary };
		case 'made':
			return { bytes: made().allocatedBytes, blocks: made().allocations };
	}
}

/** Whom stacks are listed under: a node each, or the name of the module that it is of. */
export function listedUnder(p: Profile, metric: Metric): { node: Uint32Array; name: string[] } {
	const { site, siteName, keeper, keeperName } = p.stacks;
	return metricOf(metric).rule === 'never-freed'
		? { node: keeper, name: keeperName }
		: { node: site, name: siteName };
}

export function sum(column: Float64Array): number {
	let total = 0;
	for (let i = 0; i < column.length; i++) {
		total += column[i]!;
	}
	return total;
}

/** What some stacks have of a column. */
export function sumOf(column: ArrayLike<number>, stacks: Uint32Array): number {
	let total = 0;
	for (let i = 0; i < stacks.length; i++) {
		total += column[stacks[i]!]!;
	}
	return total;
}

/** Gives what `make` gives, which is called once, when it is asked for. */
function once<T>(make: () => T): () => T {
	let made: T | null = null;
	return () => (made ??= make());
}

/** The columns of `costs`, without the stacks that the lens's texts leave out. */
function without<T extends object>(costs: T, kept: Uint8Array | null): T {
	if (!kept) {
		return costs;
	}
	const only = (column: Float64Array) => column.map((v, i) => (kept[i] ? v : 0));
	return Object.fromEntries(
		Object.entries(costs).map(([name, column]) => [name, only(column)]),
	) as T;
}

/** `kept`: which stacks the lens's texts leave, if it has any; made once per set of texts. */
export function ask(p: Profile, asked: Lens, kept = stacksUnder(p, asked)): Answer {
	const { metric } = asked;
	const { rule, counted, of_blocks } = metricOf(metric);
	const lens = of_blocks ? asked : { ...asked, range: null };
	const isLargest = rule === 'live-at-largest';
	const n = p.edges.n;
	const range = lens.range ?? { from: START, to: n };
	const moment = lens.range ? peakOfRange(p, range.from, range.to) : -1;
	const allMade = once(() => (lens.range ? madeIn(p, range.from, range.to) : p.stacks));
	const made = once((): Made => {
		const { allocations, allocatedBytes, temporary } = allMade();
		return without({ allocations, allocatedBytes, temporary }, kept);
	});
	const isLook = asked.range && isOfLook(metric);
	const look = isLook ? lookAt(p, metric, asked.range!) : undefined;
	const ranked = without(
		isLook
			? rankedAt(p, metric, look)
			: lens.range
				? rangeRanked(p, metric, range, moment, allMade)
				: wholeRanked(p, metric),
		kept,
	);
	const end = range.to < n ? p.edges.timeNs[range.to]! : p.facts.summary.duration_ns;
	const peakNs = lens.range
		? (p.edges.timeNs[moment] ?? p.facts.summary.duration_ns)
		: (look?.time_ns ??
			p.stacks.others[metric]?.momentNs ?? p.facts.summary.peak_time_ns);
	const total = once(() => ({
		bytes: sum(ranked.bytes),
		blocks: sum(ranked.blocks),
		allocations: sum(made().allocations),
		allocatedBytes: sum(made().allocatedBytes),
		temporary: sum(made().temporary),
	}));
	return {
		...ranked,
		get allocations() {
			return made().allocations;
		},
		get allocatedBytes() {
			return made().allocatedBytes;
		},
		get temporary() {
			return made().temporary;
		},
		get total() {
			return total();
		},
		lens,
		weights: counted ? ranked.blocks : ranked.bytes,
		momentNs: isLargest ? peakNs : end,
		edge: isLargest ? (lens.range ? moment : -1) : range.to,
	};
}

export function stacksWhere(p: Profile, isWanted: (stack: number) => boolean): Uint32Array {
	const found: number[] = [];
	for (let s = 0; s < p.stacks.n; s++) {
		if (isWanted(s)) {
			found.push(s);
		}
	}
	return Uint32Array.from(found);
}

/** What had been made by each edge and the end, of the stacks that are kept. */
export function madeOverTime(
	p: Profile,
	kept: Uint8Array,
	column: 'count' | 'temporary',
): Float64Array {
	const { first, from, [column]: made } = p.intervals;
	const out = new Float64Array(p.edges.n + 1);
	for (let s = 0; s < p.stacks.n; s++) {
		for (let i = kept[s] ? first[s]! : first[s + 1]!; i < first[s + 1]!; i++) {
			out[from[i]!]! += made[i]!;
		}
	}
	let sum = 0;
	return out.map((n) => (sum += n));
}

/** What is alive at each edge and at the end, of some stacks: births and deaths, summed up. */
export function aliveOverTime(p: Profile, stacks: Iterable<number>): Float64Array {
	const { first, from, until, bytes } = p.intervals;
	const n = p.edges.n;
	const change = new Float64Array(n + 1);
	for (const s of stacks) {
		for (let i = first[s]!, end = first[s + 1]!; i < end; i++) {
			change[from[i]!]! += bytes[i]!;
			if (until[i]! <= n) {
				change[until[i]!]! -= bytes[i]!;
			}
		}
	}
	let alive = 0;
	return change.map((c) => (alive += c));
}
