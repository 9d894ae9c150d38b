// SPDX-License-Identifier: MIT
import type { Answer } from './query.ts';
import { childrenOf, selfCosts, totalCosts, type Children, type Tree } from './tree.ts';

/**
 * A tree with what it is drawn by, as a flame graph has it. What is too small to be built stands in
 * one node, `rest`, whose `more` says how many were left: so children and self always sum to their
 * node.
 */
export interface Boxes {
	n: number;
	parent: Uint32Array;
	key: Int32Array;
	symbol: Uint32Array;
	base: Uint32Array; // a node of the profile, for lines and stacks
	line: Uint32Array;
	more: Uint32Array | Uint16Array;
	isRun: Uint8Array;
	isRest: Uint8Array;
	total: Float64Array;
	self: Float64Array;
	kind: 'down' | 'up';
	tree: Tree;
}

const known = new WeakMap<Uint32Array, Children>();

function children(f: Boxes): Children {
	let c = known.get(f.parent);
	if (!c) {
		c = childrenOf(f);
		known.set(f.parent, c);
	}
	return c;
}

/**
 * The children of a node that weigh more than this, the heaviest first; what is left over comes
 * last.
 */
export function heaviest(f: Boxes, node: number, minimum = 0): number[] {
	const { first, list } = children(f);
	const { total, isRest } = f;
	const found: number[] = [];
	for (let k = first[node]!; k < first[node + 1]!; k++) {
		if (total[list[k]!]! > minimum) {
			found.push(list[k]!);
		}
	}
	return found.sort((a, b) => isRest[a]! - isRest[b]! || total[b]! - total[a]!);
}

/** The keys from the root to a node. */
export function pathOf(f: Boxes, node: number): number[] {
	const path: number[] = [];
	for (let at = node; at > 0; at = f.parent[at]!) {
		path.unshift(f.key[at]!);
	}
	return path;
}

/** The node at the end of a path; 0: there is none. */
export function nodeAt(f: Boxes, path: readonly number[]): number {
	let node = 0;
	for (const key of path) {
		node = heaviest(f, node).find((child) => f.key[child] === key) ?? 0;
		if (!node) {
			break;
		}
	}
	return node;
}

export function hasChildren(f: Boxes, node: number): boolean {
	const { first } = children(f);
	return first[node + 1]! > first[node]!;
}

/**
 * A tree with its costs: from the program down, from the innermost frames up, or around a function.
 */
export interface Forest extends Boxes {
	allocations: Float64Array; // with what is below
	temporary: Float64Array;
	blocks: Float64Array;
}

export function topDown(t: Tree, a: Answer): Forest {
	const self = selfCosts(t, a.weights);
	return {
		n: t.n,
		parent: t.parent,
		key: t.key,
		symbol: t.symbol,
		base: t.base,
		line: t.line,
		more: t.more,
		isRun: t.isRun,
		isRest: t.noRest,
		total: totalCosts(t, self),
		self,
		get allocations() {
			return onDemand(this, 'allocations', t, a.allocations);
		},
		get temporary() {
			return onDemand(this, 'temporary', t, a.temporary);
		},
		get blocks() {
			return onDemand(this, 'blocks', t, a.blocks);
		},
		kind: 'down',
		tree: t,
	};
}

/** Columns that a flame graph does not show are added up when they are looked at. */
function onDemand(f: object, name: string, t: Tree, ofStacks: Float64Array): Float64Array {
	const value = totalCosts(t, selfCosts(t, ofStacks));
	Object.defineProperty(f, name, { value });
	return value;
}

/** Columns that grow. */
class Growing {
	n = 0;
	parent: number[] = [];
	key: number[] = [];
	symbol: number[] = [];
	base: number[] = [];
	line: number[] = [];
	more: number[] = [];
	isRun: number[] = [];
	isRest: number[] = [];
	total: number[] = [];
	self: number[] = [];
	allocations: number[] = [];
	temporary: number[] = [];
	blocks: number[] = [];

	add(t: Tree, parent: number, of: number): number {
		this.parent.push(parent);
		this.key.push(of ? t.key[of]! : -1);
		this.symbol.push(t.symbol[of]!);
		this.base.push(t.base[of]!);
		this.line.push(t.line[of]!);
		this.more.push(of ? t.more[of]! : 0);
		this.isRun.push(of ? t.isRun[of]! : 0);
		this.isRest.push(0);
		for (const column of [
			this.total,
			this.self,
			this.allocations,
			this.temporary,
			this.blocks,
		]) {
			column.push(0);
		}
		return this.n++;
	}

	finish(kind: 'down' | 'up', tree: Tree): Forest {
		return {
			n: this.n,
			parent: Uint32Array.from(this.parent),
			key: Int32Array.from(this.key),
			symbol: Uint32Array.from(this.symbol),
			base: Uint32Array.from(this.base),
			line: Uint32Array.from(this.line),
			more: Uint32Array.from(this.more),
			isRun: Uint8Array.from(this.isRun),
			isRest: Uint8Array.from(this.isRest),
			total: Float64Array.from(this.total),
			self: Float64Array.from(this.self),
			allocations: Float64Array.from(this.allocations),
			temporary: Float64Array.from(this.temporary),
			blocks: Float64Array.from(this.blocks),
			kind,
			tree,
		};
	}
}

/** Something that walks: where it stands in the tree, and what it carries. */
interface Walker {
	at: number;
	weight: number;
	allocations: number;
	temporary: number;
	blocks: number;
}

interface Costs {
	weight: Float64Array;
	allocations: Float64Array;
	temporary: Float64Array;
	blocks: Float64Array;
}

function walker(at: number, from: number, c: Costs): Walker {
	return {
		at,
		weight: c.weight[from]!,
		allocations: c.allocations[from]!,
		temporary: c.temporary[from]!,
		blocks: c.blocks[from]!,
	};
}

function addTo(g: Growing, node: number, w: Walker): void {
	g.total[node]! += w.weight;
	g.allocations[node]! += w.allocations;
	g.temporary[node]! += w.temporary;
	g.blocks[node]! += w.blocks;
}

const NODES_MAX = 300_000;
const SMALL = 20_000; // trees below this are built whole
const SHARE = 0.0005;

/**
 * Merges walkers that stand on equal keys, step by step. `step` gives where each goes next; those
 * with nowhere to go have arrived, and are the self of the node they left. Upwards, what has no
 * weight counts in the root alone.
 */
function merge(
	t: Tree,
	walkers: Walker[],
	kind: 'down' | 'up',
	step: (w: Walker) => Walker[],
): Forest {
	const g = new Growing();
	const root = g.add(t, 0, 0);
	const heavy = walkers.filter((w) => kind === 'down' || w.weight > 0);
	const queue = [{ node: root, walkers: heavy }];
	for (const w of walkers) {
		addTo(g, root, w);
	}
	const least = heavy.length < SMALL ? 0 : g.total[root]! * SHARE;
	for (let head = 0; head < queue.length; head++) {
		const { node, walkers: here } = queue[head]!;
		const groups = new Map<number, Walker[]>();
		for (const w of here) {
			if (w.at === 0) {
				g.self[node]! += w.weight;
				continue;
			}
			const key = t.key[w.at]! * 2 + t.isRun[w.at]!;
			const group = groups.get(key);
			if (group) {
				group.push(w);
			} else {
				groups.set(key, [w]);
			}
		}
		let rest = -1;
		for (const group of groups.values()) {
			const weight = group.reduce((sum, w) => sum + w.weight, 0);
			if (weight < least || g.n > NODES_MAX) {
				if (rest < 0) {
					rest = g.add(t, node, 0);
					g.isRest[rest] = 1;
				}
				g.more[rest]!++;
				group.forEach((w) => addTo(g, rest, w));
				g.self[rest]! += weight;
				continue;
			}
			const heaviest = group.reduce((best, w) => (w.weight > best.weight ? w : best));
			const child = g.add(t, node, heaviest.at);
			group.forEach((w) => addTo(g, child, w));
			queue.push({ node: child, walkers: group.flatMap(step) });
		}
		queue[head] = { node, walkers: [] };
	}
	return g.finish(kind, t);
}

function costsOf(t: Tree, a: Answer): Costs {
	return {
		weight: selfCosts(t, a.weights),
		allocations: selfCosts(t, a.allocations),
		temporary: selfCosts(t, a.temporary),
		blocks: selfCosts(t, a.blocks),
	};
}

/**
 * From the innermost frames up. A folded run at the inner end is left out: its caller stands for
 * it.
 */
export function bottomUp(t: Tree, a: Answer): Forest {
	const self = costsOf(t, a);
	const walkers: Walker[] = [];
	for (let i = 0; i < t.n; i++) {
		const isFolded = t.isRun[i] && t.parent[i]! > 0;
		walkers.push(walker(isFolded ? t.parent[i]! : i, i, self));
	}
	return merge(t, walkers, 'up', (w) => [{ ...w, at: t.parent[w.at]! }]);
}

/** Nodes with this key that have no other of it above them. */
export function outermost(t: Tree, key: number): number[] {
	const isBelow = new Uint8Array(t.n);
	const found: number[] = [];
	for (let i = 1; i < t.n; i++) {
		const above = isBelow[t.parent[i]!]!;
		const is = t.key[i] === key;
		if (is && !above) {
			found.push(i);
		}
		isBelow[i] = above | +is;
	}
	return found;
}

function totalsOf(t: Tree, a: Answer): Costs {
	const self = costsOf(t, a);
	return {
		weight: totalCosts(t, self.weight),
		allocations: totalCosts(t, self.allocations),
		temporary: totalCosts(t, self.temporary),
		blocks: totalCosts(t, self.blocks),
	};
}

/** Who calls a function, outwards from it. The root is the function. */
export function callersOf(t: Tree, a: Answer, key: number): Forest {
	const totals = totalsOf(t, a);
	const walkers = outermost(t, key)
		.filter((i) => totals.weight[i]! > 0)
		.map((i) => walker(t.parent[i]!, i, totals));
	return merge(t, walkers, 'up', (w) => [{ ...w, at: t.parent[w.at]! }]);
}

/** What a function calls, wherever it is called from. The root is the function. */
export function calleesOf(t: Tree, a: Answer, key: number): Forest {
	const self = costsOf(t, a);
	const totals = totalsOf(t, a);
	const children: Children = childrenOf(t);
	const inside = (at: number): Walker[] => {
		const out: Walker[] = [];
		for (let k = children.first[at]!; k < children.first[at + 1]!; k++) {
			const child = children.list[k]!;
			if (totals.weight[child]! > 0) {
				out.push(walker(child, child, totals));
			}
		}
		if (self.weight[at]! > 0) {
			out.push(walker(0, at, self));
		}
		return out;
	};
	return merge(t, outermost(t, key).flatMap(inside), 'down', (w) => inside(w.at));
}
