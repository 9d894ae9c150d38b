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

/** The nodes of list[from] .. list[to - 1], the heaviest first; what is left over comes last. */
function sortByWeight(f: Boxes, list: Uint32Array, from: number, to: number): void {
	const isBefore = (a: number, b: number) =>
		f.isRest[a] !== f.isRest[b] ? f.isRest[a]! < f.isRest[b]! : f.total[a]! > f.total[b]!;
	if (to - from > 24) {
		const sorted = Array.from(list.subarray(from, to));
		list.set(sorted.sort((a, b) => +isBefore(b, a) - +isBefore(a, b)), from);
		return;
	}
	for (let i = from + 1; i < to; i++) {
		const node = list[i]!;
		let at = i;
		for (; at > from && isBefore(node, list[at - 1]!); at--) {
			list[at] = list[at - 1]!;
		}
		list[at] = node;
	}
}

interface Scratch {
	own: Uint32Array; // children of the node at hand
	waiting: Uint32Array; // nodes to be placed, the last one next
	starts: Float64Array;
	depths: Uint16Array;
}

let scratch: Scratch | null = null;

/** Room for n nodes; what is in it is of no use. */
function scratchFor(n: number): Scratch {
	if (!scratch || scratch.own.length < n) {
		scratch = {
			own: new Uint32Array(n),
			waiting: new Uint32Array(n),
			starts: new Float64Array(n),
			depths: new Uint16Array(n),
		};
	}
	return scratch;
}

/** `minimum`: nodes below this weight get no box (they could not be seen). */
export function layOut(f: Boxes, minimum = 0): Layout {
	const { first, list } = children(f);
	const { total } = f;
	const out = {
		n: 0,
		node: new Uint32Array(f.n),
		depth: new Uint16Array(f.n),
		start: new Float64Array(f.n),
		end: new Uint32Array(f.n),
		of: new Int32Array(f.n).fill(-1),
		levels: 0,
	};
	const { own, waiting, starts, depths } = scratchFor(f.n);
	waiting[0] = starts[0] = depths[0] = 0;
	const open: number[] = []; // boxes whose end is not known yet
	for (let left = 1; left > 0; ) {
		const node = waiting[--left]!;
		const start = starts[left]!;
		const depth = depths[left]!;
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
		let n = 0;
		let at = start;
		for (let k = first[node]!; k < first[node + 1]!; k++) {
			const child = list[k]!;
			if (total[child]! > minimum) {
				own[n++] = child;
				at += total[child]!;
			}
		}
		sortByWeight(f, own, 0, n);
		while (n > 0) {
			const child = own[--n]!;
			at -= total[child]!;
			waiting[left] = child;
			starts[left] = at;
			depths[left++] = depth + 1;
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
