// SPDX-License-Identifier: MIT
import type { Lens } from './lens.ts';
import { stacksUnder } from './match.ts';
import type { Profile } from './profile.ts';
import { ask } from './query.ts';

export interface Sums {
	allocations: number;
	allocatedBytes: number;
	temporary: number;
	peakBytes: number;
	liveBytes: number; // never freed
}

/** What groups of stacks have under a lens: by their keys, which are below n. */
export function sumsUnder(p: Profile, l: Lens, keys: ArrayLike<number>, n: number): Sums[] {
	const kept = stacksUnder(p, l);
	const peak = ask(p, { ...l, metric: 'peak' }, kept);
	const left = ask(p, { ...l, metric: 'never-freed' }, kept);
	const out = Array.from({ length: n }, () => ({
		allocations: 0,
		allocatedBytes: 0,
		temporary: 0,
		peakBytes: 0,
		liveBytes: 0,
	}));
	for (let s = 0; s < p.stacks.n; s++) {
		const sums = out[keys[s]!]!;
		sums.allocations += peak.allocations[s]!;
		sums.allocatedBytes += peak.allocatedBytes[s]!;
		sums.temporary += peak.temporary[s]!;
		sums.peakBytes += peak.bytes[s]!;
		sums.liveBytes += left.bytes[s]!;
	}
	return out;
}
