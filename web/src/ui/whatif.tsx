// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import type { Profile } from '../data/profile.ts';
import { bytes, moment } from './format.ts';

/** The peak, if a function and what it calls had allocated nothing. Exact at the edges. */
function peakWithout(p: Profile, alive: Float64Array): { bytes: number; edge: number } {
	let best = { bytes: 0, edge: 0 };
	for (let k = 0; k < p.edges.n; k++) {
		const left = p.edges.bytes[k]! - alive[k]!;
		if (left > best.bytes) {
			best = { bytes: left, edge: k };
		}
	}
	return best;
}

/** `alive`: what the function and what it calls hold at each edge. */
export function WhatIf({ p, alive, name }: { p: Profile; alive: Float64Array; name: string }) {
	const without = useMemo(() => peakWithout(p, alive), [p, alive]);
	const peak = p.facts.summary.peak_bytes;
	if (!peak) {
		return null;
	}
	const saved = Math.round((100 * (peak - without.bytes)) / peak);
	return (
		<>
			<h3>What if</h3>
			<p>
				Without <code>{name}</code> and what it calls the peak would be at least{' '}
				<strong>{bytes(without.bytes)}</strong>
				{without.bytes > 0 && ` at ${moment(p.edges.timeNs[without.edge]!)}`},{' '}
				{saved}{'\u00a0'}% less.
			</p>
		</>
	);
}
