// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { aliveOverTime } from '../data/query.ts';
import type { Profile } from '../data/profile.ts';
import { bytes, moment } from './format.ts';

/** The peak, if a function and what it calls had allocated nothing. Exact at the edges. */
export function peakWithout(p: Profile, own: Uint8Array): { bytes: number; edge: number } {
	const alive = aliveOverTime(p, (s) => own[s] === 1);
	let best = { bytes: 0, edge: 0 };
	for (let k = 0; k < p.edges.n; k++) {
		const left = p.edges.bytes[k]! - alive[k]!;
		if (left > best.bytes) {
			best = { bytes: left, edge: k };
		}
	}
	return best;
}

export function WhatIf({ p, own, name }: { p: Profile; own: Uint8Array; name: string }) {
	const without = useMemo(() => peakWithout(p, own), [p, own]);
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
