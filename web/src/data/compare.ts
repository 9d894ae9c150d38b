// SPDX-License-Identifier: MIT
import type { Metric } from './lens.ts';
import type { Profile } from './profile.ts';
import { ask } from './query.ts';
import { WHOLE } from './lens.ts';
import { siteKeys } from './series.ts';

/** A function in two recordings: what it costs in each. */
export interface Difference {
	name: string;
	file: string;
	before: number;
	after: number;
	blocksBefore: number;
	blocksAfter: number;
}

interface Sum {
	name: string;
	file: string;
	weight: number;
	blocks: number;
}

function sums(p: Profile, metric: Metric): Map<string, Sum> {
	const a = ask(p, { ...WHOLE, metric });
	const sites = siteKeys(p);
	const out = new Map<string, Sum>();
	for (let s = 0; s < p.stacks.n; s++) {
		if (a.weights[s] === 0) {
			continue;
		}
		const key = sites.keys[s]!;
		const symbol = sites.symbol.get(key)!;
		const name = sites.name.get(key)!;
		const file = p.symbols.file[symbol] ?? '';
		const id = `${name} ${file.slice(file.lastIndexOf('/') + 1)}`;
		const sum = out.get(id) ?? { name, file, weight: 0, blocks: 0 };
		sum.weight += a.weights[s]!;
		sum.blocks += a.blocks[s]!;
		out.set(id, sum);
	}
	return out;
}

/** Functions that are in either, by name and file; the largest difference first. */
export function compareProfiles(before: Profile, after: Profile, metric: Metric): Difference[] {
	const [x, y] = [sums(before, metric), sums(after, metric)];
	const ids = new Set([...x.keys(), ...y.keys()]);
	const out = [...ids].map((id) => {
		const [b, a] = [x.get(id), y.get(id)];
		const one = (a ?? b)!;
		return {
			name: one.name,
			file: one.file,
			before: b?.weight ?? 0,
			after: a?.weight ?? 0,
			blocksBefore: b?.blocks ?? 0,
			blocksAfter: a?.blocks ?? 0,
		};
	});
	return out.sort((d, e) => Math.abs(e.after - e.before) - Math.abs(d.after - d.before));
}
