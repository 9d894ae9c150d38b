// SPDX-License-Identifier: MIT
import type { Samples } from './profile.ts';

/** The most that was ever resident, when a sample knew of it, and the heap's peak. */
export interface Peaks {
	rssBytes: number;
	rssKnownNs: number;
	heapBytes: number;
	heapNs: number;
}

/**
 * The samples, and between two of them the most that was ever resident, which the kernel knows
 * although no sample saw it: a line through the samples alone goes below a heap that rose and fell
 * in between. It was at some time up to that of the sample that learned of it: at the heap's peak,
 * if that was then, else half-way.
 */
export function withPeak(s: Samples, peaks: Peaks): Samples {
	const { n, timeNs, rssBytes } = s;
	const { rssBytes: most, rssKnownNs, heapBytes, heapNs } = peaks;
	const found = timeNs.findIndex((ns) => ns >= rssKnownNs);
	const at = found < 0 ? n : found;
	const beforeNs = timeNs[at - 1] ?? 0;
	const afterNs = timeNs[at] ?? rssKnownNs;
	const isSampled = (rssBytes[at] ?? 0) >= most || (rssBytes[at - 1] ?? 0) >= most;
	if (!n || isSampled || beforeNs >= afterNs) {
		return s;
	}
	const isHeaps = heapNs > beforeNs && heapNs <= afterNs;
	const near = at < n ? at : at - 1;
	const put = (column: Float64Array, value = column[near]!) => {
		const out = new Float64Array(n + 1);
		out.set(column.subarray(0, at));
		out[at] = value;
		out.set(column.subarray(at), at + 1);
		return out;
	};
	return {
		n: n + 1,
		timeNs: put(timeNs, isHeaps ? heapNs : beforeNs + Math.floor((afterNs - beforeNs) / 2)),
		rssBytes: put(rssBytes, most),
		oursBytes: put(s.oursBytes),
		heapBytes: put(s.heapBytes, isHeaps ? heapBytes : undefined),
		threads: put(s.threads),
	};
}

/** RSS as it was sampled, and as looks found it: time and bytes, in order of time. */
export function rssRead(s: Samples, looks: { time_ns: number; rss_bytes: number }[]) {
	const sampled = Array.from(s.timeNs, (ns, i) => [ns, s.rssBytes[i]!] as const);
	const found = looks.map((look) => [look.time_ns, look.rss_bytes] as const);
	return [...sampled, ...found].sort(([a], [b]) => a - b);
}
