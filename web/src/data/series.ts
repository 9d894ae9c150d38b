// SPDX-License-Identifier: MIT
import { aliveOverTime } from './query.ts';
import type { Profile } from './profile.ts';

/**
 * What is alive over time, by who made it. Value k holds during period k of the recording, which
 * begins at starts[k]; it is exact at the moment of the period's largest heap.
 */
export interface Series {
	label: string;
	symbol: number; // 0: several
	values: Float64Array;
}

export function periodStarts(p: Profile): Float64Array {
	const e = p.edges;
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

/** The `most` groups with the largest weight, each with its curve, and one for the rest. */
export function stackedSeries(
	p: Profile,
	keys: ArrayLike<number>,
	weights: Float64Array,
	nameOf: (key: number) => { label: string; symbol: number },
	most: number,
	kept: Uint8Array | null,
): Series[] {
	const sums = new Map<number, number>();
	for (let s = 0; s < p.stacks.n; s++) {
		if (!kept || kept[s]) {
			sums.set(keys[s]!, (sums.get(keys[s]!) ?? 0) + weights[s]!);
		}
	}
	const top = [...sums.entries()]
		.filter(([, w]) => w > 0)
		.sort((a, b) => b[1] - a[1])
		.slice(0, most)
		.map(([key]) => key);
	const isTop = new Set(top);
	const out = top.map((key) => ({
		...nameOf(key),
		values: aliveOverTime(p, (s) => keys[s] === key && (!kept || kept[s] === 1)),
	}));
	const rest = aliveOverTime(p, (s) => !isTop.has(keys[s]!) && (!kept || kept[s] === 1));
	if (rest.some((v) => v > 0)) {
		out.push({ label: 'other', symbol: 0, values: rest });
	}
	return out;
}
