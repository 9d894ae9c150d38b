// SPDX-License-Identifier: MIT
import type { Edges, Profile } from './profile.ts';

/**
 * What is alive over time, by who made it. Value k holds during period k of the recording, which
 * begins at starts[k]; it is exact at the moment of the period's largest heap.
 */
export interface Series {
	label: string;
	symbol: number; // 0: several
	values: Float64Array;
}

export function periodStarts(e: Edges): Float64Array {
	return e.endNs.map((_, i) => (i === 0 ? 0 : e.endNs[i - 1]!));
}

/** What a stack is named after, as a number: a function's, or (below zero) a name of its own. */
export function siteKeys(p: Profile): { keys: Int32Array; symbol: Map<number, number>; name: Map<number, string> } {
	const keys = new Int32Array(p.stacks.n);
	const symbol = new Map<number, number>();
	const name = new Map<number, string>();
	const names = new Map<string, number>();
	for (let s = 0; s < p.stacks.n; s++) {
		const text = p.stacks.siteName[s]!;
		if (text) {
			let key = names.get(text);
			if (key === undefined) {
				key = -1 - names.size;
				names.set(text, key);
				name.set(key, text);
				symbol.set(key, 0);
			}
			keys[s] = key;
		} else {
			const own = p.nodes.symbol[p.stacks.site[s]!]!;
			const key = p.symbols.function[own]!;
			keys[s] = key;
			if (!symbol.has(key)) {
				symbol.set(key, own);
				name.set(key, p.symbols.name[own] ?? '');
			}
		}
	}
	return { keys, symbol, name };
}

const CANDIDATES = 400;

/** Groups that may be seen: large at the peak, or large in what they ever asked for. */
function candidates(p: Profile, keys: ArrayLike<number>, kept: Uint8Array | null): Map<number, number> {
	const sums = new Map<number, [number, number]>();
	for (let s = 0; s < p.stacks.n; s++) {
		if (!kept || kept[s]) {
			const sum = sums.get(keys[s]!) ?? [0, 0];
			sum[0] += p.stacks.peakBytes[s]!;
			sum[1] += p.stacks.allocatedBytes[s]!;
			sums.set(keys[s]!, sum);
		}
	}
	const all = [...sums.entries()];
	const found = new Map<number, number>();
	for (const column of [0, 1] as const) {
		all.sort((a, b) => b[1][column] - a[1][column]);
		for (const [key] of all.slice(0, CANDIDATES)) {
			if (!found.has(key)) {
				found.set(key, found.size);
			}
		}
	}
	return found;
}

/** The `most` groups that are largest at any moment, each with its curve, and one for the rest. */
export function stackedSeries(
	p: Profile,
	keys: ArrayLike<number>,
	nameOf: (key: number) => { label: string; symbol: number },
	most: number,
	kept: Uint8Array | null,
): Series[] {
	const rows = candidates(p, keys, kept);
	const n = p.edges.n;
	const width = n + 1;
	const change = new Float64Array((rows.size + 1) * width); // the last row: all others
	const { first, from, until, bytes } = p.intervals;
	for (let s = 0; s < p.stacks.n; s++) {
		const at = (rows.get(keys[s]!) ?? rows.size) * width;
		for (let i = !kept || kept[s] ? first[s]! : first[s + 1]!; i < first[s + 1]!; i++) {
			change[at + from[i]!]! += bytes[i]!;
			if (until[i]! < n) {
				change[at + until[i]!]! -= bytes[i]!;
			}
		}
	}
	const curve = (row: number) => {
		let sum = 0;
		return change.subarray(row * width, row * width + n).map((c) => (sum += c));
	};
	const curves = [...rows].map(([key, row]) => {
		const values = curve(row);
		return { key, values, top: values.reduce((a, b) => Math.max(a, b), 0) };
	});
	curves.sort((a, b) => b.top - a.top);
	const out = curves
		.slice(0, most)
		.filter((c) => c.top > 0)
		.map((c) => ({ ...nameOf(c.key), values: c.values }));
	const rest = curve(rows.size);
	for (const c of curves.slice(most)) {
		c.values.forEach((v, k) => (rest[k]! += v));
	}
	if (rest.some((v) => v > 0)) {
		out.push({ label: 'other', symbol: 0, values: rest });
	}
	return out;
}
