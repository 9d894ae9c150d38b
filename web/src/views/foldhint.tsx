// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import type { Forest } from '../data/forest.ts';
import type { Profile } from '../data/profile.ts';
import { ownerOf, type Tree } from '../data/tree.ts';
import * as state from '../state.ts';
import { percent } from '../ui/format.ts';
import { useValue } from '../ui/signals.ts';

const known = new WeakMap<Uint32Array, Uint8Array>(); // by the parents of nodes

/** Nodes that are the user's own code, or have some above them. */
function belowYours(p: Profile, f: Tree): Uint8Array {
	let below = known.get(f.parent);
	if (!below) {
		below = new Uint8Array(f.n);
		for (let i = 1; i < f.n; i++) {
			below[i] = below[f.parent[i]!]! | +(ownerOf(p, f.symbol[i]!) === 'yours');
		}
		known.set(f.parent, below);
	}
	return below;
}

/** Where nearly all of it is library code, its frames are what there is to see. */
export function FoldHint({ forest }: { forest: Forest }) {
	const p = state.profile.value;
	const t = useValue(state.tree);
	const self = useValue(state.treeSelf);
	const share = useMemo(() => {
		const below = belowYours(p, t);
		let sum = 0;
		for (let i = 1; i < t.n; i++) {
			sum += below[i] ? 0 : self[i]!;
		}
		return sum;
	}, [t, self]);
	const isMost = share > forest.total[0]! / 2;
	if (state.lens.value.isUnfolded || forest.tree.group !== 'function' || !isMost) {
		return null;
	}
	return (
		<button class="link" onClick={() => state.change({ isUnfolded: true })}>
			{percent(share, forest.total[0]!)} is not your code: show library frames (l)
		</button>
	);
}
