// SPDX-License-Identifier: MIT
import { heaviest, type Boxes } from '../data/forest.ts';

/**
 * Where the boxes of a forest are: in pre-order, the heaviest child first, so that the boxes
 * below box i are those up to end[i], and a box that is too small to see is stepped over with
 * all of its own. Positions are weights; the root begins at 0.
 *
 * Only what can be seen has a box: what is in a box is laid out if that box is wide enough for it.
 * So the work follows the picture, not the recording.
 */
export interface Layout {
	n: number;
	node: number[];
	depth: number[];
	start: number[];
	end: number[];
	levels: number;
}

/** What part of a graph is looked at, and how closely. */
export interface Focus {
	zoom: number; // the node that fills the width
	pixels: number; // how many that are
}

export const SMALL_PX = 1.5; // boxes below this have no others in them

const NEGLIGIBLE = 1e-6; // of all: many of these are still nothing to see

/** What is to be placed, the last one next. */
interface Waiting {
	node: number;
	start: number;
	depth: number;
	isNear: boolean; // in what fills the width
}

export function layOut(f: Boxes, focus: Focus): Layout {
	const out: Layout = { n: 0, node: [], depth: [], start: [], end: [], levels: 0 };
	const minimum = f.total[0]! * NEGLIGIBLE;
	const small = (node: number) => (f.total[node]! * SMALL_PX) / Math.max(1, focus.pixels);
	const [far, near] = [small(0), small(focus.zoom)];
	const path = new Set<number>([0]);
	for (let node = focus.zoom; node > 0; node = f.parent[node]!) {
		path.add(node);
	}
	const open: number[] = []; // boxes whose end is not known yet
	const close = (depth: number) => {
		while (open.length > depth) {
			out.end[open.pop()!] = out.n;
		}
	};
	const waiting: Waiting[] = [{ node: 0, start: 0, depth: 0, isNear: focus.zoom === 0 }];
	for (let next = waiting.pop(); next; next = waiting.pop()) {
		const { node, depth, isNear } = next;
		close(depth);
		open.push(out.n++);
		out.node.push(node);
		out.depth.push(depth);
		out.start.push(next.start);
		out.end.push(0);
		out.levels = Math.max(out.levels, depth + 1);
		if (f.total[node]! < (isNear ? near : far) && !path.has(node)) {
			continue;
		}
		const inside = heaviest(f, node, minimum);
		let start = next.start + inside.reduce((sum, child) => sum + f.total[child]!, 0);
		for (let child = inside.pop(); child !== undefined; child = inside.pop()) {
			start -= f.total[child]!;
			waiting.push({
				node: child,
				start,
				depth: depth + 1,
				isNear: isNear || child === focus.zoom,
			});
		}
	}
	close(0);
	return out;
}

/** What stands beside a box that is too small to be told apart, with it; null: it is not. */
export function smallBeside(
	f: Boxes,
	node: number,
	scale: number,
): { n: number; total: number } | null {
	const isSmall = (other: number) => f.total[other]! * scale < SMALL_PX;
	if (!isSmall(node) || node === 0) {
		return null;
	}
	const all = heaviest(f, f.parent[node]!).filter(isSmall);
	return { n: all.length, total: all.reduce((sum, other) => sum + f.total[other]!, 0) };
}

/** Where a node is in the whole width: from 0 to 1. */
export function spanOf(f: Boxes, node: number): [from: number, to: number] {
	let before = 0;
	for (let at = node; at > 0; at = f.parent[at]!) {
		for (const other of heaviest(f, f.parent[at]!)) {
			if (other === at) {
				break;
			}
			before += f.total[other]!;
		}
	}
	return [before / f.total[0]!, (before + f.total[node]!) / f.total[0]!];
}

/** The box of a node; -1: it has none. */
export function boxOf(l: Layout, node: number): number {
	return l.node.indexOf(node);
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
