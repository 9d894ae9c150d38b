// SPDX-License-Identifier: MIT

/**
 * The metrics, as the program has them (src/engine/metrics.h): they come with the recording, and
 * the page knows none by itself. What it knows are the rules by which they count over a range
 * (query.ts).
 */

export type Metric = string;

export type Rule = 'live-at-largest' | 'never-freed' | 'kept' | 'made' | 'made-temporary';

export interface MetricRow {
	name: Metric;
	title: string;
	share: string; // "% of" what
	unit: string; // what is counted: "blocks", "mappings"
	help: string;
	heading: string;
	key: string; // behind m; '': none
	counted: boolean; // weighed by number of blocks
	of_ranges: boolean; // offered where a range is chosen
	of_blocks: boolean; // else of mappings, or of what a look at memory saw: no range narrows it
	rule: Rule;
	bytes: string; // columns of stacks, over the whole recording; if not of blocks, of `others`
	blocks: string;
	place: number; // of its table on the overview; 0: it has none
	table: string | null;
}

let rows: readonly MetricRow[] = [];

/** All recordings that a page shows come from one program. */
export function learnMetrics(list: readonly MetricRow[]): void {
	rows = list;
}

export function metrics(): readonly MetricRow[] {
	return rows;
}

export function isMetric(name: string): boolean {
	return rows.some((m) => m.name === name);
}

export function metricOf(name: Metric): MetricRow {
	return rows.find((m) => m.name === name) ?? rows[0]!;
}

/** True for metrics whose weight is a number of blocks. */
export function isCounted(metric: Metric): boolean {
	return metricOf(metric).counted;
}
