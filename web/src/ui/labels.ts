// SPDX-License-Identifier: MIT
import type { Boxes } from '../data/forest.ts';
import type { Group, Lens, Metric } from '../data/lens.ts';
import type { Profile } from '../data/profile.ts';
import { groupName } from '../data/tree.ts';
import { baseName, bytes, count, shortCount, shortName } from './format.ts';

export const METRIC_NAMES: Record<Metric, string> = {
	peak: 'Peak',
	'never-freed': 'Never freed',
	kept: 'Kept',
	allocations: 'Allocations',
	bytes: 'Allocated bytes',
	temporary: 'Temporary',
};

/** What shares of a metric's total are of. */
export const SHARE_OF: Record<Metric, string> = {
	peak: 'peak',
	'never-freed': 'never freed',
	kept: 'kept',
	allocations: 'allocations',
	bytes: 'allocated',
	temporary: 'temporary',
};

/** "% of peak": the head of a column of shares, of what the lens shows. */
export function shareTitle(l: Lens): string {
	const isAll = !l.texts.length && !l.focus.length && !l.threads.length;
	return `% of ${isAll ? SHARE_OF[l.metric] : 'lens'}`;
}

export const METRIC_HELP: Record<Metric, string> = {
	peak: 'Bytes alive at the moment the heap was largest (in the range)',
	'never-freed': 'Still allocated at the end of the recording. What is called a leak may be in it',
	kept: 'Allocated in the selected range and alive at its end',
	allocations: 'Calls that handed out a block',
	bytes: 'The sum of the sizes of all allocations',
	temporary: 'Freed before the same thread allocated again',
};

export const METRIC_KEYS: Record<string, Metric> = {
	p: 'peak',
	n: 'never-freed',
	a: 'allocations',
	t: 'temporary',
	k: 'kept',
	y: 'bytes',
};

/** A weight with its unit: 38.5 MB, or a number of calls. */
export function weight(metric: Metric, value: number): string {
	return metric === 'allocations' || metric === 'temporary' ? count(value) : bytes(value);
}

/** A text with the sign of a number. */
export function signed(text: string, n: number): string {
	return n > 0 ? `+${text}` : n < 0 ? `−${text}` : text;
}

export function signedWeight(metric: Metric, value: number): string {
	return signed(weight(metric, Math.abs(value)), value);
}

export function shortWeight(metric: Metric, value: number): string {
	return metric === 'allocations' || metric === 'temporary' ? shortCount(value) : bytes(value);
}

/** What a symbol is called, alone or as what it is gathered under. */
export function symbolName(p: Profile, symbol: number, group: Group = 'function'): string {
	const name = groupName(p, symbol, group);
	return group === 'function' ? shortName(name) : group === 'package' ? name : baseName(name);
}

export function nodeName(p: Profile, f: Boxes, node: number): string {
	if (f.isRest[node]) {
		return `${count(f.more[node]!)} smaller`;
	}
	if (f.symbol[node] === 0) {
		return p.facts.program.name || 'program';
	}
	const name = symbolName(p, f.symbol[node]!, f.tree.group);
	return f.isRun[node] && f.more[node]! > 0 ? `${name} +${f.more[node]}` : name;
}

/** "demo.cpp:37", or the module where no file is known. */
export function placeOf(p: Profile, symbol: number, line: number): string {
	const file = p.symbols.file[symbol];
	if (file) {
		return line ? `${baseName(file)}:${line}` : baseName(file);
	}
	return baseName(p.symbols.module[symbol] ?? '');
}

/** What the dashed line is. */
export const residentMeans =
	"Memory of the whole process that was in RAM, the recorder's part included: sampled a few times a second, " +
	'and its peak as the kernel knows it. What was allocated and not yet written is not in it, so the heap can be higher.';
