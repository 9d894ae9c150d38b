// SPDX-License-Identifier: MIT
import type { Forest } from '../data/forest.ts';
import type { Profile } from '../data/profile.ts';
import { aliveOverTime } from '../data/query.ts';
import { kept } from '../state.ts';
import { LIFETIMES, lifetimesOf } from '../ui/mix.tsx';
import { stacksBelow, type Tree } from '../data/tree.ts';

/**
 * What is costly to find out about a tree node: kept while the tree and the lens's texts are the
 * same.
 */
interface Known {
	tree: Tree;
	kept: Uint8Array | null;
	below: (node: number) => Uint32Array;
	curves: Map<number, Float64Array>;
	lives: Map<number, string>;
}
let known: Known | null = null;

function knownOf(f: Forest): Known {
	if (known?.tree !== f.tree || known.kept !== kept.value) {
		const below = stacksBelow(f.tree, kept.value);
		known = { tree: f.tree, kept: kept.value, below, curves: new Map(), lives: new Map() };
	}
	return known;
}

/** It costs nothing to ask for them again. */
export function areKnown(f: Forest, node: number): boolean {
	const { curves, lives } = knownOf(f);
	return curves.has(node) || lives.has(node);
}

export function curveOf(p: Profile, f: Forest, node: number): Float64Array {
	const { curves, below } = knownOf(f);
	let curve = curves.get(node);
	if (!curve) {
		curve = aliveOverTime(p, below(node));
		curves.set(node, curve);
	}
	return curve;
}

/** The class of lifetimes in which half of the freed blocks are reached; '': none was freed. */
export function medianLife(p: Profile, f: Forest, node: number): string {
	const { lives, below } = knownOf(f);
	let life = lives.get(node);
	if (life === undefined) {
		const sums = lifetimesOf(p, below(node));
		let left = sums.reduce((sum, n) => sum + n, 0) / 2;
		const at = left > 0 ? sums.findIndex((n) => (left -= n) <= 0) : -1;
		life = LIFETIMES[at] ?? '';
		lives.set(node, life);
	}
	return life;
}
