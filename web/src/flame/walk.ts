// SPDX-License-Identifier: MIT
import { heaviest, type Boxes } from '../data/forest.ts';

/** The sibling that stands `by` places behind a node; the node itself: there is none. */
function sibling(f: Boxes, node: number, by: number): number {
	const all = node ? heaviest(f, f.parent[node]!) : [];
	return all[all.indexOf(node) + by] ?? node;
}

/**
 * The node that an arrow key leads to; null: the key leads nowhere. Small boxes are no obstacle.
 */
export function walk(f: Boxes, node: number, key: string, isFlipped: boolean): number | null {
	switch (key) {
		case isFlipped ? 'ArrowDown' : 'ArrowUp':
			return f.parent[node]!;
		case isFlipped ? 'ArrowUp' : 'ArrowDown':
			return heaviest(f, node)[0] ?? node;
		case 'ArrowRight':
			return sibling(f, node, 1);
		case 'ArrowLeft':
			return sibling(f, node, -1);
		case 'Home':
			return 0;
		default:
			return null;
	}
}

/** How far a node is from the root. */
export function depthOf(f: Boxes, node: number): number {
	let depth = 0;
	for (let at = node; at > 0; at = f.parent[at]!) {
		depth++;
	}
	return depth;
}
