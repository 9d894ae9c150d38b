// SPDX-License-Identifier: MIT
import type { Group } from './lens.ts';
import { symbolsNamed } from './match.ts';
import type { Metric } from './metrics.ts';
import { FLAG_LIBRARY, FLAG_YOURS, type Profile } from './profile.ts';
import { listedUnder } from './query.ts';

/**
 * The stacks as a tree to look at: lines of one function are one node, library frames are folded,
 * hidden ones left out, all as the lens says. It depends on the words of the lens, not on its
 * times: a new range only brings new costs (costs.ts).
 *
 * A run of library frames is one node, named after its outermost function; `more` is how many
 * frames stand in it besides that. Parents have smaller indices than their children; 0 is the root.
 */
export interface Tree {
	n: number;
	parent: Uint32Array;
	key: Int32Array; // equal for what is shown as the same thing, wherever it stands
	symbol: Uint32Array; // what it is called; 0 for the root
	line: Uint32Array; // of the first frame in it
	more: Uint16Array;
	isRun: Uint8Array;
	noRest: Uint8Array; // zeros, as many as nodes
	base: Uint32Array; // a node of the profile that is in it
	ofStack: Uint32Array; // per stack: where it ends
	ofBase: Uint32Array; // per node of the profile: where it is
	// Per stack: the node it is listed under; else, and unfolded, where it ends
	ofSite: (metric: Metric) => Uint32Array;
	group: Group;
}

export interface Shape {
	group: Group;
	isUnfolded: boolean;
	hide: readonly string[];
	focus: readonly string[];
	foldsRecursion: boolean;
	opened: ReadonlySet<number>; // keys of runs that are shown frame by frame
}

/** What a group of frames is called; code without a source file is of its program or library. */
export function groupName(p: Profile, symbol: number, group: Group): string {
	const s = p.symbolTable;
	switch (group) {
		case 'function':
			return s.name[symbol]!;
		case 'package':
			return s.package[symbol]!;
		case 'file':
			return s.file[symbol] || s.module[symbol] || '(unknown)';
		case 'module':
			return s.module[symbol] || '(unknown)';
	}
}

/** What frames are gathered under: a number per symbol, equal for those that belong together. */
function keysOf(p: Profile, group: Group): Int32Array {
	if (group === 'function') {
		return Int32Array.from(p.symbolTable.function);
	}
	const known = new Map<string, number>();
	return Int32Array.from({ length: p.symbolTable.n }, (_, i) => {
		const text = groupName(p, i, group);
		let id = known.get(text);
		if (id === undefined) {
			id = known.size;
			known.set(text, id);
		}
		return id;
	});
}

const FEW = 12; // children that are looked through one by one

class Builder {
	n = 1;
	private readonly first: Uint32Array; // child
	private readonly next: Uint32Array; // sibling
	// By parent: its children by key
	private readonly many = new Map<number, Map<number, number>>();
	readonly parent: Uint32Array;
	readonly key: Int32Array;
	readonly symbol: Uint32Array;
	readonly line: Uint32Array;
	readonly more: Uint16Array;
	readonly isRun: Uint8Array;
	readonly base: Uint32Array;

	constructor(capacity: number) {
		this.first = new Uint32Array(capacity);
		this.next = new Uint32Array(capacity);
		this.parent = new Uint32Array(capacity);
		this.key = new Int32Array(capacity);
		this.symbol = new Uint32Array(capacity);
		this.line = new Uint32Array(capacity);
		this.more = new Uint16Array(capacity);
		this.isRun = new Uint8Array(capacity);
		this.base = new Uint32Array(capacity);
	}

	/** The child of `parent` with this key. */
	child(
		parent: number,
		key: number,
		isRun: number,
		base: number,
		symbol: number,
		line: number,
	): number {
		return this.find(parent, key) || this.add(parent, key, isRun, base, symbol, line);
	}

	/** 0: there is none. */
	private find(parent: number, key: number): number {
		let steps = 0;
		for (let at = this.first[parent]!; at; at = this.next[at]!) {
			if (this.key[at] === key) {
				return at;
			}
			if (++steps === FEW) {
				return this.childrenByKey(parent).get(key) ?? 0;
			}
		}
		return 0;
	}

	private childrenByKey(parent: number): Map<number, number> {
		let found = this.many.get(parent);
		if (!found) {
			found = new Map();
			for (let at = this.first[parent]!; at; at = this.next[at]!) {
				found.set(this.key[at]!, at);
			}
			this.many.set(parent, found);
		}
		return found;
	}

	private add(
		parent: number,
		key: number,
		isRun: number,
		base: number,
		symbol: number,
		line: number,
	): number {
		const added = this.n++;
		this.next[added] = this.first[parent]!;
		this.first[parent] = added;
		this.parent[added] = parent;
		this.key[added] = key;
		this.isRun[added] = isRun;
		this.base[added] = base;
		this.symbol[added] = symbol;
		this.line[added] = line;
		if (this.many.size) {
			this.many.get(parent)?.set(key, added);
		}
		return added;
	}
}

/** Per stack: the innermost node that is the frame it is listed under; else where it ends. */
function findSites(
	p: Profile,
	b: Builder,
	keys: Int32Array,
	ofBase: Uint32Array,
	site: Uint32Array,
): Uint32Array {
	return p.stacks.node.map((end, s) => {
		const key = keys[p.nodes.symbol[site[s]!]!]!;
		let at = ofBase[end]!;
		while (at > 0 && b.key[at] !== key) {
			at = b.parent[at]!;
		}
		return at || ofBase[end]!;
	});
}

/** The nearest node at or above `node` with this key, or -1. */
function findAbove(b: Builder, node: number, key: number): number {
	for (let at = node; at > 0; at = b.parent[at]!) {
		if (b.key[at] === key && !b.isRun[at]) {
			return at;
		}
	}
	return -1;
}

export function buildTree(p: Profile, shape: Shape): Tree {
	const { n, parent, symbol, line } = p.nodes;
	const flags = p.symbolTable.flags;
	const keys = keysOf(p, shape.group);
	const hidden = symbolsNamed(p, shape.hide);
	const focus = symbolsNamed(p, shape.focus);
	const isInFocus = focus ? new Uint8Array(n) : null;
	const isGathered = shape.group !== 'function';
	const folds = !shape.isUnfolded && !isGathered;
	const ofBase = new Uint32Array(n);
	const boxed = new Uint16Array(n); // frames of the run that a base node ends, so far; 0: none
	const b = new Builder(n + 1);

	for (let i = 1; i < n; i++) {
		const s = symbol[i]!;
		const above = ofBase[parent[i]!]!;
		if (isInFocus) {
			// Also a hidden one: its callees are shown
			isInFocus[i] = isInFocus[parent[i]!]! | focus![s]!;
			if (!isInFocus[i]) {
				continue; // cut: ofBase is the root
			}
		}
		if (hidden?.[s]) {
			ofBase[i] = above;
			boxed[i] = boxed[parent[i]!]!;
			continue;
		}
		const key = keys[s]!;
		if (isGathered) {
			const isSame = above > 0 && b.key[above] === key;
			ofBase[i] = isSame ? above : b.child(above, key, 0, i, s, line[i]!);
			continue;
		}
		if (folds && flags[s]! & FLAG_LIBRARY) {
			const before = boxed[parent[i]!]!;
			if (before > 0) {
				ofBase[i] = above;
				boxed[i] = before + 1;
				b.more[above] = Math.max(b.more[above]!, before);
				continue;
			}
			if (!shape.opened.has(key)) {
				ofBase[i] = b.child(above, key, 1, i, s, line[i]!);
				boxed[i] = 1;
				continue;
			}
		}
		if (shape.foldsRecursion) {
			const same = findAbove(b, above, key);
			if (same > 0) {
				ofBase[i] = same;
				continue;
			}
		}
		ofBase[i] = b.child(above, key, 0, i, s, line[i]!);
	}
	const cut = b.n;
	const ofStack = p.stacks.node.map((node) => ofBase[node]!);
	const sites = new Map<Uint32Array, Uint32Array>();
	return {
		ofSite: (metric) => {
			const { node } = listedUnder(p, metric);
			const known = sites.get(node);
			const found =
				known ?? (shape.isUnfolded ? ofStack : findSites(p, b, keys, ofBase, node));
			sites.set(node, found);
			return found;
		},
		n: cut,
		parent: b.parent.subarray(0, cut),
		key: b.key.subarray(0, cut),
		symbol: b.symbol.subarray(0, cut),
		line: b.line.subarray(0, cut),
		more: b.more.subarray(0, cut),
		isRun: b.isRun.subarray(0, cut),
		base: b.base.subarray(0, cut),
		noRest: new Uint8Array(cut),
		ofStack,
		ofBase,
		group: shape.group,
	};
}

/** What the stacks that end in each node cost. */
export function selfCosts(t: Tree, ofStacks: Float64Array): Float64Array {
	const out = new Float64Array(t.n);
	for (let s = 0; s < ofStacks.length; s++) {
		out[t.ofStack[s]!]! += ofStacks[s]!;
	}
	return out;
}

/** What each node and all below it cost. */
export function totalCosts(t: Tree, self: Float64Array): Float64Array {
	const out = self.slice();
	for (let i = t.n - 1; i > 0; i--) {
		out[t.parent[i]!]! += out[i]!;
	}
	return out;
}

/** Children of each node: those of i are list[first[i]] .. list[first[i + 1] - 1]. */
export interface Children {
	first: Uint32Array;
	list: Uint32Array;
}

export function childrenOf(t: { n: number; parent: Uint32Array }): Children {
	const first = new Uint32Array(t.n + 2);
	for (let i = 1; i < t.n; i++) {
		first[t.parent[i]! + 2]!++;
	}
	for (let i = 2; i < first.length; i++) {
		first[i]! += first[i - 1]!;
	}
	const list = new Uint32Array(Math.max(0, t.n - 1));
	for (let i = 1; i < t.n; i++) {
		list[first[t.parent[i]! + 1]!++] = i;
	}
	return { first: first.subarray(0, t.n + 1), list };
}

/**
 * Gives the stacks that end at a node or below it, and are under the lens: in the order of a walk
 * they stand side by side. Places are counted by stacks, those of a node before its children's.
 */
export function stacksBelow(
	t: Tree,
	filter: Uint8Array | null,
): (node: number) => Uint32Array {
	const ends = t.ofStack;
	const sizes = new Uint32Array(t.n);
	for (let s = 0; s < ends.length; s++) {
		sizes[ends[s]!]! += filter ? filter[s]! : 1;
	}
	const next = sizes.slice();
	for (let i = t.n - 1; i > 0; i--) {
		sizes[t.parent[i]!]! += sizes[i]!;
	}
	const first = new Uint32Array(t.n);
	for (let i = 1; i < t.n; i++) {
		const parent = t.parent[i]!;
		first[i] = first[parent]! + next[parent]!;
		next[parent]! += sizes[i]!;
	}
	const stacks = new Uint32Array(sizes[0]!);
	const place = first.slice();
	for (let s = 0; s < ends.length; s++) {
		if (!filter || filter[s]) {
			stacks[place[ends[s]!]!++] = s;
		}
	}
	return (node) => stacks.subarray(first[node]!, first[node]! + sizes[node]!);
}

export type Owner = 'yours' | 'library' | 'unknown';

export function ownerOf(p: Profile, symbol: number): Owner {
	const flags = p.symbolTable.flags[symbol]!;
	return flags & FLAG_YOURS ? 'yours' : flags & FLAG_LIBRARY ? 'library' : 'unknown';
}
