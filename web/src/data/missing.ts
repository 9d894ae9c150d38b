// SPDX-License-Identifier: MIT
import { metricOf, type Metric } from './metrics.ts';
import type { Profile } from './profile.ts';

/** What a file of another program may not say: bits of the quality line "not-in-file". */
export const ALLOCATIONS = 1;
export const ALLOCATED = 2;
export const TEMPORARY = 4;
export const PEAK_BLOCKS = 8;
export const PEAK = 16;
export const LIVE_BLOCKS = 32;
export const LIVE = 64;
export const TIME = 128;

export const NOT_IN_FILE = 'not in this file';

export function lacks(p: Profile, bit: number): boolean {
	const line = p.facts.quality.sentences.find((q) => q.id === 'not-in-file');
	return ((line?.value ?? 0) & bit) !== 0;
}

/** Whether it is not known what any stack had at any moment, be it known how long it took. */
export function lacksCurves(p: Profile): boolean {
	return isImported(p) && p.intervals.from.length === 0;
}

/** Whether it comes from a profile, which has no other numbers than its format's. */
export function isImported(p: Profile): boolean {
	return p.facts.page.source === 2;
}

const COLUMNS: Record<string, number> = {
	allocations: ALLOCATIONS,
	allocated_bytes: ALLOCATED,
	temporary: TEMPORARY,
	peak_blocks: PEAK_BLOCKS,
	peak_bytes: PEAK,
	live_blocks: LIVE_BLOCKS,
	live_bytes: LIVE,
};

/** Whether the file has no bytes, or no blocks, of a metric; by default what it ranks by. */
export function lacksMetric(
	p: Profile,
	metric: Metric,
	what: 'bytes' | 'blocks' = metricOf(metric).counted ? 'blocks' : 'bytes',
): boolean {
	const column = metricOf(metric)[what];
	return metricOf(metric).of_blocks
		? lacks(p, COLUMNS[column] ?? 0) || (column === 'temporary_bytes' && isImported(p))
		: !p.stacks.others[metric];
}
