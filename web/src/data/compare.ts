// SPDX-License-Identifier: MIT
import { lensText, parseLens, START, type Lens } from './lens.ts';
import { metricOf, type Metric } from './metrics.ts';
import { baseOf, matchName } from './names.ts';
import { FLAG_NAMED, type Profile, type Symbols } from './profile.ts';
import { ask, type Answer } from './query.ts';
import { sitesOf } from './series.ts';
import { buildTree, selfCosts, totalCosts, type Shape, type Tree } from './tree.ts';
import type { Boxes } from './forest.ts';

/**
 * Two recordings compared, or one at two moments, by the rules of the program's --diff: functions
 * are matched by their names without parameters, code without a name by its module.
 */

export interface Side {
	profile: Profile;
	answer: Answer;
}

/** Both sides under one lens: the base's has the same words, also of processes that it lacks. */
export function sidesOf(before: Profile, now: Profile, lens: Lens): [Side, Side] {
	const { lens: same } = parseLens(before, lensText(now, lens));
	return [
		{ profile: before, answer: ask(before, { ...same, processes: lens.processes }) },
		{ profile: now, answer: ask(now, lens) },
	];
}

/**
 * One recording as it was at two of its edges: what was alive there, or what was made until then.
 */
export function sidesAt(p: Profile, lens: Lens, from: number, to: number): [Side, Side] {
	const isMade = metricOf(lens.metric).rule.startsWith('made');
	const metric: Metric = isMade ? lens.metric : 'kept';
	const at = (edge: number) => ({ ...lens, metric, range: { from: START, to: edge } });
	return [
		{ profile: p, answer: ask(p, at(from)) },
		{ profile: p, answer: ask(p, at(to)) },
	];
}

/** Else it is all the code of its module that has no names. */
function isNamed(s: Symbols, symbol: number): boolean {
	return !s.module[symbol] || (s.flags[symbol]! & FLAG_NAMED) !== 0;
}

/** What a function is matched by. */
export function labelOf(s: Symbols, symbol: number): string {
	return isNamed(s, symbol) ? matchName(s.name[symbol]!) : baseOf(s.module[symbol]!);
}

// --- sites

/** A function that stacks are named after, with what it costs in each. */
export interface Difference {
	name: string; // as it is now, else as it was
	label: string; // what it is matched by
	file: string;
	before: number;
	now: number;
	blocksBefore: number;
	blocksNow: number;
}

export type Change = 'new' | 'gone' | 'changed' | 'same';

export function changeOf(d: Difference): Change {
	const [was, is] = [d.before !== 0 || d.blocksBefore !== 0, d.now !== 0 || d.blocksNow !== 0];
	return was !== is ? (is ? 'new' : 'gone') : d.before === d.now ? 'same' : 'changed';
}

function addSites(found: Map<string, Difference>, side: Side, isNow: boolean): void {
	const { profile: p, answer: a } = side;
	const sites = sitesOf(p, a.lens.metric);
	const labels = sites.symbol.map((symbol, key) =>
		symbol ? labelOf(p.symbolTable, symbol) : sites.name[key]!,
	);
	for (let s = 0; s < p.stacks.n; s++) {
		const [weight, blocks] = [a.weights[s]!, a.blocks[s]!];
		if (weight === 0 && blocks === 0) {
			continue;
		}
		const key = sites.keys[s]!;
		const label = labels[key]!;
		const symbol = sites.symbol[key]!;
		const isOwn = isNamed(p.symbolTable, symbol);
		const file = isOwn ? p.symbolTable.file[symbol]! : 'code without names';
		let d = found.get(label);
		if (!d) {
			d = {
				name: isOwn ? sites.name[key]! : label,
				label,
				file,
				before: 0,
				now: 0,
				blocksBefore: 0,
				blocksNow: 0,
			};
			found.set(label, d);
		} else if (d.file !== file) {
			d.file = ''; // several of that name
		}
		if (isNow) {
			d.now += weight;
			d.blocksNow += blocks;
		} else {
			d.before += weight;
			d.blocksBefore += blocks;
		}
	}
}

/** All sites of both, the largest difference first. */
export function compareSites(before: Side, now: Side): Difference[] {
	const found = new Map<string, Difference>();
	addSites(found, now, true);
	addSites(found, before, false);
	return [...found.values()].sort(
		(d, e) => Math.abs(e.now - e.before) - Math.abs(d.now - d.before),
	);
}

// --- call trees

/** Both call trees as one, each box with what it held before and what it holds now. */
export interface DiffBoxes extends Boxes {
	profile: Profile; // whose symbols the boxes have
	before: Float64Array;
	now: Float64Array;
}

/** What makes a box wide: by how much the stacks in it changed, or the larger of what they cost. */
export type Width = 'change' | 'size';

function joinedSymbols(now: Symbols, before: Symbols): Symbols {
	const both = <T>(x: T[], y: T[]) => [...x, ...y.slice(1)];
	const bytes = (x: ArrayLike<number>, y: ArrayLike<number>) =>
		both(Array.from(x), Array.from(y));
	const joined = {
		n: now.n + before.n - 1,
		name: both(now.name, before.name),
		file: both(now.file, before.file),
		module: both(now.module, before.module),
		linkage: both(now.linkage, before.linkage),
		package: both(now.package, before.package),
		function: new Uint32Array(now.n + before.n - 1),
		source: Uint32Array.from(bytes(now.source, before.source)),
		flags: Uint8Array.from(bytes(now.flags, before.flags)),
	};
	const ids = new Map<string, number>();
	for (let i = 1; i < joined.n; i++) {
		const label = labelOf(joined, i);
		const id = ids.get(label) ?? ids.size + 1;
		ids.set(label, id);
		joined.function[i] = id;
	}
	return joined;
}

const joinedBefore = new WeakMap<Profile, { now: Profile; joined: Profile }>();

/**
 * One profile with the stacks of both, those of now first; only what trees are made of is in it.
 */
function join(before: Profile, now: Profile): Profile {
	const known = joinedBefore.get(before);
	if (known?.now === now) {
		return known.joined;
	}
	const [a, b] = [now.nodes, before.nodes];
	const shift = a.n - 1; // node 0 is both's
	const moved = (x: Uint32Array, y: Uint32Array, by: number) => {
		const out = new Uint32Array(x.length + y.length - 1);
		out.set(x);
		for (let i = 1; i < y.length; i++) {
			out[x.length + i - 1] = y[i]! && y[i]! + by;
		}
		return out;
	};
	const nodes = {
		n: a.n + b.n - 1,
		parent: moved(a.parent, b.parent, shift),
		symbol: moved(a.symbol, b.symbol, now.symbolTable.n - 1),
		line: moved(a.line, b.line, 0),
	};
	const node = new Uint32Array(now.stacks.n + before.stacks.n);
	node.set(now.stacks.node);
	before.stacks.node.forEach((at, s) => (node[now.stacks.n + s] = at && at + shift));
	const joined = {
		...now,
		nodes,
		symbolTable: joinedSymbols(now.symbolTable, before.symbolTable),
		stacks: { ...now.stacks, n: node.length, node },
	};
	joinedBefore.set(before, { now, joined });
	return joined;
}

/** Weights of one side in the tree of both. */
function selfOf(t: Tree, weights: Float64Array, from: number): Float64Array {
	return selfCosts({ ...t, ofStack: t.ofStack.subarray(from, from + weights.length) }, weights);
}

export function diffForest(before: Side, now: Side, shape: Shape, width: Width): DiffBoxes {
	const isOne = before.profile === now.profile;
	const profile = isOne ? now.profile : join(before.profile, now.profile);
	const t = buildTree(profile, shape);
	const was = selfOf(t, before.answer.weights, isOne ? 0 : now.profile.stacks.n);
	const is = selfOf(t, now.answer.weights, 0);
	const self = is.map((w, i) =>
		width === 'size' ? Math.max(w, was[i]!) : Math.abs(w - was[i]!),
	);
	return {
		...t,
		isRest: t.noRest,
		total: totalCosts(t, self),
		self,
		kind: 'down',
		tree: t,
		profile,
		before: totalCosts(t, was),
		now: totalCosts(t, is),
	};
}
