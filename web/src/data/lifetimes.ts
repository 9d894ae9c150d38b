// SPDX-License-Identifier: MIT
import type { Range } from './lens.ts';
import { NEVER, type Profile } from './profile.ts';

/**
 * When blocks were allocated and how long they lived, to the recording's periods: one that was
 * freed in the period in which it was allocated lived 0.
 */

const COLUMNS = 160;
const ROWS = 48;

/** Cells of time by lifetime that have blocks; of those never freed, up to the end. */
export interface Cells {
	times: number[]; // where each begins
	values: number[]; // the lifetime at its upper edge
	weights: number[]; // bytes
	width: number; // ns
	height: number;
}

function eachInterval(
	p: Profile,
	kept: Uint8Array | null,
	run: (bornNs: number, lifeNs: number, i: number, stack: number) => void,
): void {
	const { first, from, until } = p.intervals;
	const at = (edge: number) => p.edges.timeNs[edge] ?? p.facts.summary.duration_ns;
	for (let s = 0; s < p.stacks.n; s++) {
		for (let i = !kept || kept[s] ? first[s]! : Infinity; i < first[s + 1]!; i++) {
			run(at(from[i]!), at(until[i]!) - at(from[i]!), i, s);
		}
	}
}

/** Of blocks that were freed, and of the others. */
export function cellsOf(p: Profile, kept: Uint8Array | null): [freed: Cells, left: Cells] {
	const end = Math.max(1, p.facts.summary.duration_ns);
	const sums = [0, 1].map(() => new Float64Array(COLUMNS * ROWS));
	const cell = (ns: number, n: number) => Math.min(n - 1, Math.floor((ns / end) * n));
	eachInterval(p, kept, (born, life, i) => {
		const of = sums[+(p.intervals.until[i] === NEVER)]!;
		of[cell(born, COLUMNS) * ROWS + cell(life, ROWS)]! += p.intervals.bytes[i]!;
	});
	const [width, height] = [end / COLUMNS, end / ROWS];
	const gather = (of: Float64Array): Cells => {
		const out: Cells = { times: [], values: [], weights: [], width, height };
		of.forEach((weight, k) => {
			if (weight > 0) {
				out.times.push(Math.floor(k / ROWS) * width);
				out.values.push(((k % ROWS) + 1) * height);
				out.weights.push(weight);
			}
		});
		return out;
	};
	return [gather(sums[0]!), gather(sums[1]!)];
}

export interface Share {
	key: number; // of a site
	count: number;
	bytes: number;
}

/** Who allocated the blocks of a range that lived so long, the most bytes first. */
export function sharesIn(
	p: Profile,
	kept: Uint8Array | null,
	keys: Uint32Array,
	range: Range,
	[least, most]: readonly [number, number],
): Share[] {
	const sums = new Map<number, Share>();
	const { from, count, bytes } = p.intervals;
	eachInterval(p, kept, (_, life, i, s) => {
		if (from[i]! > range.from && from[i]! <= range.to && life >= least && life <= most) {
			const sum = sums.get(keys[s]!) ?? { key: keys[s]!, count: 0, bytes: 0 };
			sum.count += count[i]!;
			sum.bytes += bytes[i]!;
			sums.set(sum.key, sum);
		}
	});
	return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}
