// SPDX-License-Identifier: MIT
import { isMetric, type Metric } from './metrics.ts';
import { isProcess } from './processes.ts';
import { firstWhere } from './search.ts';
import type { Edges, Profile } from './profile.ts';

/**
 * The lens: which part of a recording a question is about, with the meaning and the textual form
 * that docs/lens.md gives it. The program answers the same text with the same numbers.
 */

export const GROUPS = ['function', 'package', 'module', 'file'] as const;
export type Group = (typeof GROUPS)[number];

/** From just after edge `from` to edge `to`; START <= from < to <= edges.n (which is the end). */
export interface Range {
	from: number;
	to: number;
}

export const START = -1;

export interface TextRule {
	text: string;
	isRegex: boolean;
	isNegated: boolean;
}

export interface Lens {
	metric: Metric;
	group: Group;
	range: Range | null;
	isUnfolded: boolean;
	texts: readonly TextRule[];
	focus: readonly string[];
	hide: readonly string[];
	threads: readonly string[];
	processes: readonly string[]; // pids, #rows and names of commands
}

export const WHOLE: Lens = {
	metric: 'peak',
	group: 'function',
	range: null,
	isUnfolded: false,
	texts: [],
	focus: [],
	hide: [],
	threads: [],
	processes: [],
};

/** Whether it leaves out no stack. */
export const keepsAll = ({ texts, focus, threads, processes }: Lens) =>
	![texts, focus, threads, processes].some((rules) => rules.length);

const NS = 1e9;

/** The first edge at or after a moment; edges.n: behind the last. */
export function edgeAtOrAfter(edges: Edges, ns: number): number {
	return firstWhere(0, edges.n, (edge) => edges.timeNs[edge]! >= ns);
}

/** The last edge at or before a moment; START: there is none. */
function edgeAtOrBefore(edges: Edges, ns: number): number {
	return firstWhere(0, edges.n, (edge) => edges.timeNs[edge]! > ns) - 1;
}

/** A range of two moments: snapped outwards, never empty. */
export function rangeOf(edges: Edges, fromNs: number, toNs: number): Range {
	const from = Math.min(edgeAtOrBefore(edges, fromNs), edges.n - 1);
	const to = edgeAtOrAfter(edges, toNs);
	return { from, to: Math.max(to, from + 1) };
}

function peakEdge(edges: Edges): number {
	let best = 0;
	for (let i = 1; i < edges.n; i++) {
		if (edges.bytes[i]! > edges.bytes[best]!) {
			best = i;
		}
	}
	return best;
}

/** From the valley before the peak to the first edge at which what came with it is gone. */
export function peakRange(edges: Edges): Range | null {
	if (edges.n === 0) {
		return null;
	}
	const peak = peakEdge(edges);
	const top = edges.bytes[peak]!;
	let from = peak - 1;
	while (from >= 0 && edges.bytes[from]! * 2 > top) {
		from--;
	}
	while (from > 0 && edges.bytes[from - 1]! < edges.bytes[from]!) {
		from--;
	}
	const valley = from >= 0 ? edges.bytes[from]! : 0;
	const most = valley + Math.floor((top - valley) / 10);
	let to = peak + 1;
	while (to < edges.n && edges.bytes[to]! > most) {
		to++;
	}
	return { from, to };
}

/** Seconds as they stand in an address: few digits, and at least these. */
function seconds(ns: number, digits: number): string {
	return (ns / NS).toFixed(digits);
}

/** The shortest text of a moment, as it is rounded, that still stands for its edge. */
function shortest(
	ns: number,
	round: (n: number) => number,
	isSame: (ns: number) => boolean,
): string {
	for (let digits = 0; digits < 9; digits++) {
		const unit = 10 ** (9 - digits);
		const rounded = round(ns / unit) * unit;
		if (isSame(rounded)) {
			return seconds(rounded, digits);
		}
	}
	return seconds(ns, 9);
}

export function rangeText({ n, timeNs }: Edges, { from, to }: Range): string {
	const before = timeNs[to - 1] ?? -1;
	const next = timeNs[from + 1] ?? Infinity;
	const first = from < 0 ? 'start' : shortest(timeNs[from]!, Math.ceil, (ns) => ns < next);
	const last = to < n ? shortest(timeNs[to]!, Math.floor, (ns) => ns > before) : 'end';
	return `${first}-${last}`;
}

/** A moment in ns. null: the text is none. */
function parseMoment(p: Profile, text: string): number | null {
	const duration = p.facts.summary.duration_ns;
	if (text === 'peak') {
		return p.facts.summary.peak_time_ns;
	}
	const clock = /^(\d+):(\d+):(\d+(?:\.\d*)?)$/.exec(text);
	if (clock) {
		return byWallClock(p, Number(clock[1]), Number(clock[2]), nanoseconds(clock[3]!));
	}
	const number = /^(-?)(\d+(?:\.\d*)?)(s|%|%25)?$/.exec(text);
	if (!number) {
		return null;
	}
	const value = nanoseconds(number[2]!);
	if (number[3]?.startsWith('%')) {
		return Number((BigInt(duration) * BigInt(value)) / 100n / BigInt(NS));
	}
	return number[1] ? Math.max(0, duration - value) : value;
}

/** The first such time of the day after the beginning. */
function byWallClock(p: Profile, hours: number, minutes: number, ns: number): number {
	const started = p.facts.program.started_ns;
	const at = new Date(started / 1e6);
	const began =
		(at.getHours() * 3600 + at.getMinutes() * 60 + at.getSeconds()) * NS + (started % NS);
	const day = 86400 * NS;
	return ((hours * 3600 + minutes * 60) * NS + ns + day - began) % day;
}

/** Seconds as decimal digits, in ns, without the rounding of a product. */
function nanoseconds(text: string): number {
	const [whole, part = ''] = text.split('.');
	return Number(whole) * NS + Number(`${part}000000000`.slice(0, 9));
}

/** The edge of a moment that the program named: its own is the first of what follows it. */
export function markEdge(edges: Edges, ns: number): number {
	return edgeAtOrAfter(edges, ns) - 1;
}

interface End {
	ns: number;
	rest: string; // what stands behind it
}

/** What follows "mark:": the longest name that stands there, and which of several of that name. */
function takeMark(p: Profile, text: string): End | null {
	const { marks } = p.facts;
	const names = marks
		.map((m) => m.name)
		.filter((name) => text.startsWith(name) && /^([-#]|$)/.test(text.slice(name.length)));
	const name = names.reduce((best, n) => (n.length > best.length ? n : best), names[0] ?? '');
	const rest = /^(?:#(\d+))?(.*)$/s.exec(text.slice(name.length))!;
	const mark = marks.filter((m) => m.name === name)[Number(rest[1] ?? 1) - 1];
	return names.length && mark
		? { ns: p.edges.timeNs[markEdge(p.edges, mark.time_ns)] ?? 0, rest: rest[2]! }
		: null;
}

function takeEnd(p: Profile, text: string): End | null {
	if (text.startsWith('mark:')) {
		return takeMark(p, text.slice('mark:'.length));
	}
	const [word = ''] = /^-?[^-]+/.exec(text) ?? [];
	const ns = word === 'start' ? -1 : word === 'end' ? Infinity : parseMoment(p, word);
	return ns === null ? null : { ns, rest: text.slice(word.length) };
}

/** A range from its text; null: it is not one. */
export function parseRange(p: Profile, text: string): Range | null {
	if (text === 'peak') {
		return peakRange(p.edges);
	}
	const from = takeEnd(p, text);
	const to = from?.rest.startsWith('-') ? takeEnd(p, from.rest.slice(1)) : null;
	return from && to && !to.rest && from.ns <= to.ns ? rangeOf(p.edges, from.ns, to.ns) : null;
}

/** A text to look for, a /pattern/, either with a ! before it; null: neither. */
export function parseRule(text: string): TextRule | null {
	const isNegated = text.startsWith('!');
	const rest = isNegated ? text.slice(1) : text;
	const regex = /^\/(.*)\/$/s.exec(rest);
	if (regex) {
		try {
			RegExp(regex[1]!);
		} catch {
			return null;
		}
		return { text: regex[1]!, isRegex: true, isNegated };
	}
	return rest ? { text: rest, isRegex: false, isNegated } : null;
}

export function ruleText(rule: TextRule): string {
	return `${rule.isNegated ? '!' : ''}${rule.isRegex ? `/${rule.text}/` : rule.text}`;
}

function encode(text: string): string {
	return encodeURIComponent(text).replace(/%(2F|3A|2C|20)/g, (code) =>
		code === '%20' ? '%20' : decodeURIComponent(code),
	);
}

/** The words of a lens, without those that say what is so anyway. */
export function lensWords(p: Profile, l: Lens): string[] {
	const words: string[] = [];
	if (l.metric !== 'peak') {
		words.push(`m=${l.metric}`);
	}
	if (l.range) {
		words.push(`t=${rangeText(p.edges, l.range)}`);
	}
	words.push(...l.texts.map((rule) => `q=${encode(ruleText(rule))}`));
	words.push(...l.focus.map((name) => `focus=${encode(name)}`));
	words.push(...l.hide.map((name) => `hide=${encode(name)}`));
	if (l.isUnfolded) {
		words.push('fold=0');
	}
	for (const [key, names] of [
		['threads', l.threads],
		['process', l.processes],
	] as const) {
		if (names.length) {
			words.push(`${key}=${names.map(encodeURIComponent).join(',')}`);
		}
	}
	if (l.group !== 'function') {
		words.push(`group=${l.group}`);
	}
	return words;
}

export function lensText(p: Profile, l: Lens): string {
	return lensWords(p, l).join('&');
}

/** Takes in one word. False: it is none of the lens's, or its value makes no sense. */
function addWord(p: Profile, l: Lens, key: string, written: string): boolean {
	const value = decode(written);
	const names = written.split(',').map(decode); // one may have a comma in it
	switch (key) {
		case 'm':
			l.metric = isMetric(value) ? value : l.metric;
			return l.metric === value;
		case 't':
			l.range = parseRange(p, value);
			if (l.range?.from === START && l.range.to === p.edges.n) {
				l.range = null; // all of it is known better than by edges
				return true;
			}
			return l.range !== null;
		case 'q': {
			const rule = parseRule(value);
			l.texts = rule ? [...l.texts, rule] : l.texts;
			return rule !== null;
		}
		case 'focus':
			l.focus = [...l.focus, value];
			return true;
		case 'hide':
			l.hide = [...l.hide, value];
			return true;
		case 'fold':
			l.isUnfolded = value === '0';
			return value === '0' || value === '1';
		case 'threads':
			l.threads = [...l.threads, ...names.filter(Boolean)];
			return true;
		case 'process':
			if (!names.every((name) => isProcess(p, name))) {
				return false;
			}
			l.processes = [...l.processes, ...names];
			return true;
		case 'group':
			l.group = GROUPS.find((g) => g === value) ?? l.group;
			return l.group === value;
		default:
			return false;
	}
}

/** The lens of a text, and the words that are not the lens's or make no sense. */
export function parseLens(p: Profile, text: string): { lens: Lens; rest: [string, string][] } {
	const lens = { ...WHOLE };
	const rest: [string, string][] = [];
	for (const word of text.split('&').filter(Boolean)) {
		const at = word.indexOf('=');
		const key = at < 0 ? word : word.slice(0, at);
		const value = at < 0 ? '' : word.slice(at + 1);
		if (!addWord(p, lens, key, value)) {
			rest.push([key, decode(value)]);
		}
	}
	return { lens, rest };
}

/** A plus is a plus: functions and threads have some in their names. */
function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}
