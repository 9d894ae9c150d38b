// SPDX-License-Identifier: MIT
import type { Profile } from '../data/profile.ts';
import { aliveOverTime, stacksWhere } from '../data/query.ts';
import { rssRead } from '../data/samples.ts';
import { heapValues, periodStarts } from '../data/series.ts';
import { bytes, moment } from './format.ts';
import { colourOf, RSS_OFF } from './legend.tsx';
import type { Line } from './plot.ts';

/** The heap as a whole. */
export function heapLine(p: Profile): Line {
	return {
		label: 'heap',
		colour: 'series-3',
		times: periodStarts(p.curve),
		values: heapValues(p, p.curve),
		kind: 'area',
	};
}

/** What is alive of the stacks that are kept, and its largest. */
export function keptLine(p: Profile, kept: Uint8Array): { line: Line; top: number; ns: number } {
	const times = periodStarts(p.edges);
	const values = aliveOverTime(p, stacksWhere(p, (s) => kept[s] === 1));
	const at = values.reduce((best, v, k) => (v > values[best]! ? k : best), 0);
	return {
		line: { label: 'under the lens', colour: 'accent', times, values, kind: 'area' },
		top: values[at]!,
		ns: p.edges.timeNs[at] ?? p.facts.summary.duration_ns,
	};
}

/** The largest of what is alive, of all stacks or those that are kept, as charts flag it. */
export function peakOf(p: Profile, kept: Uint8Array | null) {
	const { peak_bytes, peak_time_ns } = p.facts.summary;
	const { top, ns } = kept ? keptLine(p, kept) : { top: peak_bytes, ns: peak_time_ns };
	return {
		flag: { ns, text: `peak ${bytes(top)} · ${moment(ns)}` },
		label: `Heap over time: largest ${bytes(top)} at ${moment(ns)}`,
	};
}

/** RSS as it was sampled, and as looks found it. */
export function rssLine(p: Profile): Line {
	const read = rssRead(p.samples, p.facts.looks);
	return {
		label: 'RSS',
		colour: 'dim',
		times: read.map(([ns]) => ns),
		values: read.map(([, rss]) => rss),
		kind: 'dashed',
	};
}

/**
 * Curves that stand on each other, the highest first: each is drawn over the one before. The heap
 * as a whole may be known in finer steps than its parts: then it has a line of its own. `off` has
 * the bits of series that are left out.
 */
export function stacked(
	p: Profile,
	series: { label: string; values: Float64Array }[],
	hasAll: boolean,
	off = 0,
): Line[] {
	const times = periodStarts(p.edges);
	const sums = new Float64Array(p.edges.n + 1);
	const lines = series.flatMap((s, i): Line[] => {
		if (off & (1 << i)) {
			return [];
		}
		for (let k = 0; k < sums.length; k++) {
			sums[k]! += s.values[k]!;
		}
		return [
			{
				label: s.label,
				colour: colourOf(s.label, i),
				times,
				values: sums.slice(),
				kind: 'area',
			},
		];
	});
	lines.reverse();
	if (hasAll && !(off & ~RSS_OFF) && p.curve !== p.edges) {
		lines.push({ ...heapLine(p), colour: 'fg', kind: 'line' });
	}
	return lines;
}

/** What is switched off at first: RSS where it is much more, for the heap to have its own scale. */
export function offAtFirst({ samples, facts }: Profile): number {
	const most = 2 * facts.summary.peak_bytes;
	return samples.rssBytes.some((rss) => rss > most) ? RSS_OFF : 0;
}

/** The heap by its parts, or as a whole while they are not known; and RSS. */
export function heapAndRss(
	p: Profile,
	series: { label: string; values: Float64Array }[] | null,
	hasAll: boolean,
	off: number,
): Line[] {
	const lines = series ? stacked(p, series, hasAll, off) : [heapLine(p)];
	return p.samples.n && !(off & RSS_OFF) ? [...lines, rssLine(p)] : lines;
}
