// SPDX-License-Identifier: MIT
import type { Boxes } from '../data/forest.ts';
import { keepsAll, rangeText, type Group, type Lens, type Range } from '../data/lens.ts';
import { isCounted, metricOf, type Metric } from '../data/metrics.ts';
import { isTree } from '../data/processes.ts';
import type { Profile } from '../data/profile.ts';
import { groupName } from '../data/tree.ts';
import { baseName, bytes, count, plural, shortCount, shortName } from './format.ts';

export function metricName(metric: Metric): string {
	return capital(metricOf(metric).title);
}

/** The begin of a sentence. */
export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** A sentence of the program; where it begins with its name, that stays as it is. */
export function sentence(p: Profile, text: string): string {
	const { name } = p.facts.program;
	return name && text.startsWith(name) ? text : capital(text);
}

/** One of what a metric counts. */
export function metricUnit(metric: Metric): string {
	const { of_blocks, unit } = metricOf(metric);
	return of_blocks ? (isCounted(metric) ? 'call' : 'block') : unit.replace(/s$/, '');
}

/** "% of peak": the head of a column of shares, of what the lens shows. */
export function shareTitle(l: Lens): string {
	return `% of ${keepsAll(l) ? metricOf(l.metric).share : 'lens'}`;
}

/** 38.5 MB, or a number in a column of calls. */
export function weight(metric: Metric, value: number): string {
	return isCounted(metric) ? count(value) : bytes(value);
}

/** A text with the sign of a number. */
export function signed(text: string, n: number): string {
	return !n || text.startsWith('<') ? text : `${n > 0 ? '+' : '−'}${text}`;
}

export function signedWeight(metric: Metric, value: number): string {
	return signed(weight(metric, Math.abs(value)), value);
}

export function shortWeight(metric: Metric, value: number): string {
	return isCounted(metric) ? shortCount(value) : bytes(value);
}

/** A weight with its unit, where no head says what is counted: "2,000 calls". */
export function cost(metric: Metric, value: number): string {
	return isCounted(metric) ? plural(value, 'call') : bytes(value);
}

export function shortCost(metric: Metric, value: number): string {
	const isMany = isCounted(metric) && value > 1;
	return isMany ? `${shortCount(value)} calls` : cost(metric, value);
}

/** What a symbol is called, alone or as what it is gathered under. */
export function symbolName(p: Profile, symbol: number, group: Group = 'function'): string {
	const name = groupName(p, symbol, group);
	return group === 'function' ? shortName(name) : group === 'package' ? name : baseName(name);
}

/** All that was recorded. */
export function rootName(p: Profile): string {
	const { called } = p.facts.program;
	return isTree(p) ? `tree of ${called}` : called || 'program';
}

export function nodeName(p: Profile, f: Boxes, node: number): string {
	if (f.isRest[node]) {
		return `${count(f.more[node]!)} smaller`;
	}
	if (f.symbol[node] === 0) {
		return rootName(p);
	}
	const name = symbolName(p, f.symbol[node]!, f.tree.group);
	return f.isRun[node] && f.more[node]! > 0 ? `${name} +${f.more[node]}` : name;
}

/** "demo.cpp:37", or the module where no file is known. */
export function placeOf(p: Profile, symbol: number, line: number): string {
	const file = p.symbolTable.file[symbol];
	if (file) {
		return line ? `${baseName(file)}:${line}` : baseName(file);
	}
	return baseName(p.symbolTable.module[symbol] ?? '');
}

/** Those of a range's text; shares have none. */
export const SECONDS = /\d[\d.]*(?![\d.]*%)/g;

/** A range as it is read, and as it can be typed: in the unit of the axes. */
export function rangeWords(p: Profile, range: Range): string {
	const isShort = p.facts.summary.duration_ns < 1e9;
	return rangeText(p.edges, range)
		.replace(SECONDS, (s) =>
			p.facts.page.time_unit
				? String(Math.round(Number(s) * 1e9))
				: isShort
					? `${+(Number(s) * 1e3).toFixed(6)} ms`
					: `${s} s`,
		)
		.replace('-', ' - ');
}

/** What the dashed line is. */
export const residentMeans =
	"Memory in RAM, with the recorder's; of processes the sum, with what they share in each. " +
	'What was never written is not in it: the heap can be higher.';
