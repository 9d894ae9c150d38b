// SPDX-License-Identifier: MIT
import type { Boxes } from '../data/forest.ts';
import { childrenOf, type Children } from '../data/tree.ts';

/**
 * Where the boxes of a forest are: in pre-order, the heaviest child first, so that the boxes
 * below box i are those up to end[i], and a box that is too small to see is stepped over with
 * all of its own. Positions are weights; the root begins at 0.
 */
export interface Layout {
	n: number;
	node: Uint32Array;
	depth: Uint16Array;
	start: Float64Array;
	end: Uint32Array;
	of: Int32Array; // per node: its box; -1: it has no weight
	levels: number;
}

const known = new WeakMap<Uint32Array, Children>();

export function children(f: Boxes): Children {
	let c = known.get(f.parent);
	if (!c) {
		c = childrenOf(f);
		known.set(f.parent, c);
	}
	return c;
}

/** `minimum`: nodes below this weight get no box (they could not be seen). */
export function layOut(f: Boxes, minimum = 0): Layout {
	const { first, list } = children(f);
	const out = {
		n: 0,
		node: new Uint32Array(f.n),
		depth: new Uint16Array(f.n),
		start: new Float64Array(f.n),
		end: new Uint32Array(f.n),
		of: new Int32Array(f.n).fill(-1),
		levels: 0,
	};
	const total = f.total;
	const stack: number[] = [0];
	const starts: number[] = [0];
	const depths: number[] = [0];
	const open: number[] = []; // boxes whose end is not known yet
	while (stack.length) {
		const node = stack.pop()!;
		const start = starts.pop()!;
		const depth = depths.pop()!;
		while (open.length > depth) {
			out.end[open.pop()!] = out.n;
		}
		const box = out.n++;
		out.node[box] = node;
		out.depth[box] = depth;
		out.start[box] = start;
		out.of[node] = box;
		out.levels = Math.max(out.levels, depth + 1);
		open.push(box);
		const own: number[] = [];
		for (let k = first[node]!; k < first[node + 1]!; k++) {
			const child = list[k]!;
			if (total[child]! > minimum) {
				own.push(child);
			}
		}
		own.sort((a, b) => f.isRest[a]! - f.isRest[b]! || total[b]! - total[a]! || a - b);
		let at = start;
		for (const child of own) {
			at += total[child]!;
		}
		for (let k = own.length - 1; k >= 0; k--) { // the last is drawn first from the stack
			at -= total[own[k]!]!;
			stack.push(own[k]!);
			starts.push(at);
			depths.push(depth + 1);
		}
	}
	while (open.length) {
		out.end[open.pop()!] = out.n;
	}
	return out;
}

/** The box at a place: depth and weight. -1: none. */
export function boxAt(l: Layout, f: Boxes, depth: number, at: number): number {
	let i = 0;
	while (i < l.n) {
		const start = l.start[i]!;
		if (at < start || at >= start + f.total[l.node[i]!]!) {
			i = l.end[i]!;
		} else if (l.depth[i] === depth) {
			return i;
		} else {
			i++;
		}
	}
	return -1;
}
