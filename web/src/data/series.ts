// SPDX-License-Identifier: MIT
import type { Lens, Range } from './lens.ts';
import type { Metric } from './metrics.ts';
import type { Edges, Profile } from './profile.ts';
import { ends } from './names.ts';
import { listedUnder } from './query.ts';
import { heaviestOf } from './rank.ts';

/**
 * What is alive over time, by who made it. Value k holds during period k of the recording, which
 * begins at starts[k]; it is exact at the moment of the period's largest heap.
 */
export interface Series {
	label: string;
	symbol: number; // 0: several
	only?: Partial<Lens>; // that shows it alone, if it is no function
	values: Float64Array; // at each edge, and at the end
}

/**
 * When the period of each edge begins, and the moment of the last one's largest: from there on a
 * curve is drawn at what it has at the end, for that period may be as long as a program idles.
 */
export function periodStarts(e: Edges): Float64Array {
	const starts = new Float64Array(e.n + 1);
	starts.set(e.endNs, 1);
	if (e.n > 0) {
		starts[e.n] = e.timeNs[e.n - 1]!;
	}
	return starts;
}

/** The heap at each edge, and at the end as far as that is known. */
export function heapValues(p: Profile, e: Edges): Float64Array {
	const values = new Float64Array(e.n + 1);
	values.set(e.bytes);
	const isOurs = p.facts.quality.verdict !== ''; // others may not say what was left
	values[e.n] = isOurs ? endOf(p).bytes : (e.bytes[e.n - 1] ?? 0);
	return values;
}

/** The heap at the end: what a process never freed went with it. */
export function endOf({ facts: { summary, page } }: Profile): { bytes: number; blocks: number } {
	return {
		bytes: Math.max(0, summary.never_freed_bytes - page.left_bytes),
		blocks: Math.max(0, summary.never_freed_blocks - page.left_blocks),
	};
}

/** What stacks are listed under: functions, or the modules of runtimes. */
export interface Sites {
	node: Uint32Array; // by stack: that names it
	keys: Uint32Array; // by stack: a row of what follows
	name: string[];
	symbol: number[]; // 0: it is no function
}

const NO_STACK = '(no stack)';
const known = new WeakMap<Uint32Array, Sites>(); // by their nodes

export function sitesOf(p: Profile, metric: Metric = 'peak'): Sites {
	const under = listedUnder(p, metric);
	let sites = known.get(under.node);
	if (!sites) {
		sites = findSites(p, under);
		known.set(under.node, sites);
	}
	return sites;
}

function findSites(p: Profile, under: { node: Uint32Array; name: string[] }): Sites {
	const { node } = under;
	const sites: Sites = { node, keys: new Uint32Array(p.stacks.n), name: [], symbol: [] };
	const ofFunction = new Map<number, number>();
	const ofText = new Map<string, number>();
	const add = (name: string, symbol: number) =>
		sites.symbol.push(symbol) && sites.name.push(name) - 1;
	for (let s = 0; s < p.stacks.n; s++) {
		const text = under.name[s]!;
		const symbol = p.nodes.symbol[node[s]!]!;
		const own = p.symbolTable.function[symbol]!;
		let key = text ? ofText.get(text) : ofFunction.get(own);
		if (key === undefined) {
			key = text ? add(text, 0) : add(p.symbolTable.name[symbol] || NO_STACK, symbol);
			void (text ? ofText.set(text, key) : ofFunction.set(own, key));
		}
		sites.keys[s] = key;
	}
	return sites;
}

/** It is a runtime's module: what it has of its own. */
export function isRuntime(sites: Sites, key: number): boolean {
	return sites.symbol[key] === 0 && sites.name[key] !== NO_STACK;
}

/** What the stacks of each site have of a column. */
export function sumsBySite(
	{ keys, symbol }: Pick<Sites, 'keys' | 'symbol'>,
	column: Float64Array,
): Float64Array {
	const out = new Float64Array(symbol.length);
	for (let s = 0; s < keys.length; s++) {
		out[keys[s]!]! += column[s]!;
	}
	return out;
}

/**
 * What is alive at each edge and at the end, of groups of stacks with a key: one scan. `counts`:
 * of which intervals.
 */
export function curvesOfGroups(
	p: Profile,
	keys: ArrayLike<number>,
	wanted: number[],
	counts: ((interval: number) => boolean) | null = null,
): Float64Array[] {
	const { first, from, until, bytes } = p.intervals;
	const { n } = p.edges;
	const rows = new Map(wanted.map((key) => [key, new Float64Array(n + 1)]));
	for (let s = 0; s < p.stacks.n; s++) {
		const row = rows.get(keys[s]!);
		for (let i = row ? first[s]! : first[s + 1]!; i < first[s + 1]!; i++) {
			if (counts && !counts(i)) {
				continue;
			}
			row![from[i]!]! += bytes[i]!;
			if (until[i]! <= n) {
				row![until[i]!]! -= bytes[i]!;
			}
		}
	}
	return wanted.map((key) => {
		let alive = 0;
		return rows.get(key)!.map((change) => (alive += change));
	});
}

const CANDIDATES = 400;
const [OTHERS, NOBODY] = [-1, -2]; // among the keys of groups

/** Groups that may be seen: large at the peak, or large in what they ever asked for. */
function candidates(
	p: Profile,
	keys: ArrayLike<number>,
	kept: Uint8Array | null,
): number[] {
	let n = 0;
	for (let s = 0; s < p.stacks.n; s++) {
		n = Math.max(n, keys[s]! + 1);
	}
	const [peak, ever] = [new Float64Array(n), new Float64Array(n)];
	for (let s = 0; s < p.stacks.n; s++) {
		if (!kept || kept[s]) {
			peak[keys[s]!]! += p.stacks.peakBytes[s]!;
			ever[keys[s]!]! += p.stacks.allocatedBytes[s]!;
		}
	}
	return [...new Set([peak, ever].flatMap((sums) => heaviestOf(null, sums, CANDIDATES).ids))];
}

/**
 * The `most` groups that are largest at any moment (of `range`, if there is one), each with its
 * curve, and one for the rest.
 */
export function stackedSeries(
	p: Profile,
	keys: ArrayLike<number>,
	nameOf: (key: number) => Omit<Series, 'values'>,
	most: number,
	kept: Uint8Array | null,
	range: Range | null = null,
): Series[] {
	if (!kept && p.intervals.from.length === 0 && p.edges.bytes.some((v) => v > 0)) {
		// A file of another program (massif): it has the curve, but not whose it was
		return [
			{
				label: 'all functions (not told apart over time in this file)',
				symbol: 0,
				values: heapValues(p, p.edges),
			},
		];
	}
	const found = candidates(p, keys, kept);
	const isFound = new Set(found);
	const groups = Int32Array.from({ length: p.stacks.n }, (_, s) =>
		kept && !kept[s] ? NOBODY : isFound.has(keys[s]!) ? keys[s]! : OTHERS,
	);
	const [rest, ...all] = curvesOfGroups(p, groups, [OTHERS, ...found]);
	const curves = found.map((key, i) => {
		const values = all[i]!;
		const asked = range ? values.subarray(Math.max(0, range.from), range.to + 1) : values;
		return { key, values, top: asked.reduce((a, b) => Math.max(a, b), 0) };
	});
	curves.sort((a, b) => b.top - a.top);
	const out = curves
		.slice(0, most)
		.filter((c) => c.top > 0)
		.map((c) => ({ ...nameOf(c.key), values: c.values }));
	const isOne = ({ label }: Series) => out.filter((each) => each.label === label).length === 1;
	for (const same of out.filter((each) => !isOne(each))) {
		const name = ends(p.symbolTable.name[same.symbol]!, 49);
		const { file, module } = p.symbolTable;
		const where = file[same.symbol] || module[same.symbol]!;
		const [path] = /[^/]*\/?[^/]*$/.exec(where)!; // json/__init__.py, bin/make
		same.label = name === same.label ? `${name} ${path}` : name; // of a template
	}
	for (const c of curves.slice(most)) {
		c.values.forEach((v, k) => (rest![k]! += v));
	}
	if (rest!.some((v) => v > 0)) {
		out.push({ label: 'other', symbol: 0, values: rest! });
	}
	return out;
}
