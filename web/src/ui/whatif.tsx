// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { aliveOverTime } from '../data/query.ts';
import type { Profile } from '../data/profile.ts';
import { bytes, moment } from './format.ts';

/** The peak, if a function and what it calls had allocated nothing. Exact at the edges. */
function peakWithout(p: Profile, stacks: Uint32Array): { bytes: number; edge: number } {
	const alive = aliveOverTime(p, stacks);
	let best = { bytes: 0, edge: 0 };
	for (let k = 0; k < p.edges.n; k++) {
		const left = p.edges.bytes[k]! - alive[k]!;
		if (left > best.bytes) {
			best = { bytes: left, edge: k };
		}
	}
	return best;
}

export function WhatIf({ p, stacks, name }: { p: Profile; stacks: Uint32Array; name: string }) {
	const without = useMemo(() => peakWithout(p, stacks), [p, stacks]);
	const peak = p.facts.summary.peak_bytes;
	if (!peak) {
		return null;
	}
	const saved = Math.round((100 * (peak - without.bytes)) / peak);
	return (
		<>
			<h3>What if</h3>
			<p>
				Without <code>{name}</code> and what it calls the peak would be at least <strong>{bytes(without.bytes)}</strong>
				{without.bytes > 0 && ` at ${moment(p.edges.timeNs[without.edge]!)}`} instead of {bytes(peak)} (−{saved} %).
			</p>
		</>
	);
}
