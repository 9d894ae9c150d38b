// SPDX-License-Identifier: MIT
import type { Forest } from '../data/forest.ts';
import type { Profile } from '../data/profile.ts';
import { aliveOverTime } from '../data/query.ts';
import { kept } from '../state.ts';
import type { Tree } from '../data/tree.ts';

/** Curves of tree nodes, kept as long as the tree and the lens's texts are the same. */
let known: { tree: Tree; kept: Uint8Array | null; curves: Map<number, Float64Array> } | null = null;

export function curveOf(p: Profile, f: Forest, node: number): Float64Array {
	if (known?.tree !== f.tree || known.kept !== kept.value) {
		known = { tree: f.tree, kept: kept.value, curves: new Map() };
	}
	let curve = known.curves.get(node);
	if (!curve) {
		const isBelow = new Uint8Array(f.n);
		isBelow[node] = 1;
		for (let i = node + 1; i < f.n; i++) {
			isBelow[i]! |= isBelow[f.parent[i]!]!;
		}
		const ends = f.tree.ofStack;
		const filter = kept.value;
		curve = aliveOverTime(p, (s) => isBelow[ends[s]!] === 1 && (!filter || filter[s] === 1));
		known.curves.set(node, curve);
	}
	return curve;
}
