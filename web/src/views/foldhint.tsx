// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import type { Forest } from '../data/forest.ts';
import { ownerOf } from '../data/tree.ts';
import * as state from '../state.ts';
import { percent } from '../ui/format.ts';

/** Where nearly all of it is library code, its frames are what there is to see. */
export function FoldHint({ forest }: { forest: Forest }) {
	const p = state.profile.value;
	const share = useMemo(() => {
		const hasYours = new Uint8Array(forest.n);
		let sum = 0;
		for (let i = 1; i < forest.n; i++) {
			const isYours = ownerOf(p, forest.symbol[i]!) === 'yours';
			hasYours[i] = hasYours[forest.parent[i]!]! | +isYours;
			sum += hasYours[i] ? 0 : forest.self[i]!;
		}
		return sum;
	}, [forest]);
	const isMost = forest.kind === 'down' && share > forest.total[0]! / 2;
	if (state.lens.value.isUnfolded || forest.tree.group !== 'function' || !isMost) {
		return null;
	}
	return (
		<button type="button" class="link" onClick={() => state.change({ isUnfolded: true })}>
			{percent(share, forest.total[0]!)} has no frame of yours: show the library's (l)
		</button>
	);
}
