// SPDX-License-Identifier: MIT
import type { Lens } from './lens.ts';
import { START } from './lens.ts';
import { NEVER, type Profile } from './profile.ts';
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

export interface Answer extends Costs {
	lens: Lens;
	total: Totals;
	weights: Float64Array; // what ranks: bytes or blocks
	momentNs: number; // of the peak metric: when; else the end of the range
	edge: number; // the same as an edge; edges.n: the end
}

/** The edge of the largest heap in a range, the first of equals; edges.n if no edge is in it. */
export function peakOfRange(p: Profile, from: number, to: number): number {
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

function emptyCosts(n: number): Costs {
	return {
		bytes: new Float64Array(n),
		blocks: new Float64Array(n),
		allocations: new Float64Array(n),
		allocatedBytes: new Float64Array(n),
		temporary: new Float64Array(n),
	};
}

/** The whole recording: the exact columns. */
function wholeCosts(p: Profile, lens: Lens): Costs {
	const s = p.stacks;
	const made = {
		allocations: s.allocations,
		allocatedBytes: s.allocatedBytes,
		temporary: s.temporary,
	};
	switch (lens.metric) {
		case 'peak':
			return { bytes: s.peakBytes, blocks: s.peakBlocks, ...made };
		case 'never-freed':
		case 'kept':
			return { bytes: s.liveBytes, blocks: s.liveBlocks, ...made };
		case 'temporary':
			return { bytes: s.temporaryBytes, blocks: s.temporary, ...made };
		default:
			return { bytes: s.allocatedBytes, blocks: s.allocations, ...made };
	}
}

/** One range: those intervals that a block of it can be in. */
function rangeCosts(p: Profile, lens: Lens, from: number, to: number, moment: number): Costs {
	const { first, from: born, until, count, temporary, bytes } = p.intervals;
	const out = emptyCosts(p.stacks.n);
	const isPeak = lens.metric === 'peak';
	const isMade = lens.metric === 'allocations' || lens.metric === 'bytes';
	const isTemporary = lens.metric === 'temporary';
	// A block counts as live if it dies after this edge
	const lives = lens.metric === 'never-freed' ? NEVER - 1 : isPeak ? moment : to;
	for (let s = 0; s < p.stacks.n; s++) {
		let sumBytes = 0;
		let sumBlocks = 0;
		let made = 0;
		let madeBytes = 0;
		let short = 0;
		let shortBytes = 0;
		for (let i = first[s]!, end = first[s + 1]!; i < end; i++) {
			const at = born[i]!;
			if (at > to) {
				break; // those of a stack begin one after the other
			}
			const isInside = at > from;
			if (isInside) {
				made += count[i]!;
				madeBytes += bytes[i]!;
				short += temporary[i]!;
				if (isTemporary && temporary[i]! > 0) {
					shortBytes += shareOf(bytes[i]!, temporary[i]!, count[i]!);
				}
			}
			if ((isPeak ? at <= moment : isInside) && until[i]! > lives) {
				sumBytes += bytes[i]!;
				sumBlocks += count[i]!;
			}
		}
		out.allocations[s] = made;
		out.allocatedBytes[s] = madeBytes;
		out.temporary[s] = short;
		out.bytes[s] = isMade ? madeBytes : isTemporary ? shortBytes : sumBytes;
		out.blocks[s] = isMade ? made : isTemporary ? short : sumBlocks;
	}
	return out;
}

function without(costs: Costs, kept: Uint8Array): Costs {
	const only = (column: Float64Array) => column.map((v, i) => (kept[i] ? v : 0));
	return {
		bytes: only(costs.bytes),
		blocks: only(costs.blocks),
		allocations: only(costs.allocations),
		allocatedBytes: only(costs.allocatedBytes),
		temporary: only(costs.temporary),
	};
}

export function sum(column: Float64Array): number {
	let total = 0;
	for (let i = 0; i < column.length; i++) {
		total += column[i]!;
	}
	return total;
}

export function weightsOf(lens: Lens, costs: Costs): Float64Array {
	return lens.metric === 'allocations' || lens.metric === 'temporary' ? costs.blocks : costs.bytes;
}

/** `kept`: which stacks the lens's texts leave, if it has any; made once per set of texts. */
export function ask(p: Profile, lens: Lens, kept = stacksUnder(p, lens)): Answer {
	const n = p.edges.n;
	const { from, to } = lens.range ?? { from: START, to: n };
	const moment = lens.range ? peakOfRange(p, from, to) : -1;
	let costs = lens.range ? rangeCosts(p, lens, from, to, moment) : wholeCosts(p, lens);
	if (kept) {
		costs = without(costs, kept);
	}
	const isPeak = lens.metric === 'peak';
	const end = to < n ? p.edges.timeNs[to]! : p.facts.summary.duration_ns;
	const peakNs = lens.range
		? (p.edges.timeNs[moment] ?? p.facts.summary.duration_ns)
		: p.facts.summary.peak_time_ns;
	return {
		...costs,
		lens,
		weights: weightsOf(lens, costs),
		total: {
			bytes: sum(costs.bytes),
			blocks: sum(costs.blocks),
			allocations: sum(costs.allocations),
			allocatedBytes: sum(costs.allocatedBytes),
			temporary: sum(costs.temporary),
		},
		momentNs: isPeak ? peakNs : end,
		edge: isPeak ? (lens.range ? moment : -1) : to,
	};
}

/** What is alive at each edge, of some stacks: the difference of births and deaths, summed up. */
export function aliveOverTime(p: Profile, isWanted: (stack: number) => boolean): Float64Array {
	const { first, from, until, bytes } = p.intervals;
	const n = p.edges.n;
	const change = new Float64Array(n + 1);
	for (let s = 0; s < p.stacks.n; s++) {
		if (!isWanted(s)) {
			continue;
		}
		for (let i = first[s]!, end = first[s + 1]!; i < end; i++) {
			change[from[i]!]! += bytes[i]!;
			if (until[i]! < n) {
				change[until[i]!]! -= bytes[i]!;
			}
		}
	}
	let alive = 0;
	return change.subarray(0, n).map((c) => (alive += c));
}
