// SPDX-License-Identifier: MIT
import { ends } from '../data/names.ts';

/**
 * Numbers and names for people. Decimal units: 1 kB is 1000 bytes; `useBinary` makes it 1 KiB. A
 * figure and its unit stay in one line.
 */

let base = 1000;
let units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

export function useBinary(isBinary: boolean): void {
	base = isBinary ? 1024 : 1000;
	units = isBinary
		? ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
		: ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
}

let timeUnit = 0;

/** What a file of massif has in place of ns: 'i'nstructions or 'B'ytes, as ASCII. 0: ns. */
export function useTimeUnit(unit: number): void {
	timeUnit = unit;
}

function inTimeUnit(n: number): string {
	return timeUnit === 66 ? bytes(n) : `${shortCount(n)}\u00a0instr.`;
}

/** As the report rounds: of two that are as near, the even one. `value` is no less than 0. */
function rounded(value: number, digits: number): string {
	if ((value * 2 ** (digits + 1)) % 2 !== 1) {
		return value.toFixed(digits);
	}
	const below = Math.floor(value * 10 ** digits);
	return ((below + (below % 2)) / 10 ** digits).toFixed(digits);
}

function oneDigit(value: number): string {
	return rounded(value, 1);
}

export function bytes(n: number): string {
	const sign = n < 0 ? '−' : '';
	let value = Math.abs(n);
	let unit = 0;
	while (unit + 1 < units.length && value >= (unit === 0 ? base : base - 0.05)) {
		value /= base;
		unit++;
	}
	return `${sign}${unit === 0 ? Math.round(value) : oneDigit(value)}\u00a0${units[unit]}`;
}

/** A power of two: "512 B", "64 KiB". */
export function inBinary(n: number): string {
	const power = n < 1024 ? 0 : Math.floor(Math.log2(n) / 10);
	return `${n / 1024 ** power}\u00a0${['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][power]}`;
}

/** By hand: the browser's own takes ten times as long, and a flame graph says hundreds at once. */
export function count(n: number): string {
	const digits = String(Math.abs(Math.round(n)));
	const grouped = digits.length > 3 ? digits.replace(/\B(?=(\d{3})+$)/g, ',') : digits;
	return n < 0 ? `−${grouped}` : grouped;
}

/** "1 block", "2,000 blocks". */
export function plural(n: number, what: string): string {
	return `${count(n)} ${what}${n === 1 ? '' : 's'}`;
}

/** For boxes and axes: 118,943 as 119k. */
export function shortCount(n: number): string {
	if (Math.abs(n) < 10000) {
		return count(n);
	}
	const power = Math.min(3, Math.floor(Math.log10(Math.abs(n)) / 3));
	const value = n / 1000 ** power;
	return `${Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1)}` +
		`${['', 'k', 'M', 'G'][power]}`;
}

export function percent(part: number, whole: number): string {
	if (whole === 0 || part === 0) {
		return '0\u00a0%';
	}
	const share = (100 * part) / whole;
	if (part === whole) {
		return '100\u00a0%';
	}
	if (Math.abs(share) < 0.1) {
		return share > 0 ? '<\u00a00.1\u00a0%' : '>\u00a0−0.1\u00a0%';
	}
	if (Math.abs(share) < 9.95) {
		return `${share < 0 ? '−' : ''}${oneDigit(Math.abs(share))}\u00a0%`;
	}
	const near = Number(rounded(Math.abs(share), 0));
	return `${share < 0 ? '−' : ''}` +
		`${count(share > 0 && share < 100 ? Math.min(99, near) : near)}\u00a0%`;
}

const two = (n: number) => String(n).padStart(2, '0');

/** From a millisecond on as the report writes it. */
export function duration(ns: number): string {
	if (timeUnit) {
		return inTimeUnit(ns);
	}
	if (ns < 1000) {
		return `${Math.round(ns)}\u00a0ns`;
	}
	if (ns < 1e6) {
		return `${(ns / 1e3).toFixed(1)}\u00a0µs`;
	}
	if (ns < 999.5e6) {
		const ms = ns / 1e6;
		return `${rounded(ms, ms < 10 ? 1 : 0)}\u00a0ms`;
	}
	if (ns < 119.995e9) {
		return `${rounded(ns / 1e9, 2)}\u00a0s`;
	}
	const s = Math.floor(ns / 1e9);
	if (s < 3600) {
		return `${Math.floor(s / 60)}\u00a0min\u00a0${two(s % 60)}\u00a0s`;
	}
	if (s < 86400) {
		return `${Math.floor(s / 3600)}\u00a0h\u00a0${two(Math.floor((s % 3600) / 60))}\u00a0min`;
	}
	return `${Math.floor(s / 86400)}\u00a0d\u00a0${two(Math.floor((s % 86400) / 3600))}\u00a0h`;
}

/** A length of time, as exact as an event's time is known. */
export function span(ns: number): string {
	return ns < 1e6 ? 'less than 1\u00a0ms' : duration(ns);
}

/**
 * A moment as the report writes it; among others that are less than `span` apart, with as many
 * digits as they need.
 */
export function moment(ns: number, span = 0): string {
	if (timeUnit || !span) {
		return ns || timeUnit ? duration(ns) : '0\u00a0s';
	}
	const [unit, name] = Math.max(ns, span) < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
	const digits = Math.max(unit === 1e9 ? 2 : 0, 2 - Math.floor(Math.log10(span / unit)));
	return `${ns === 0 ? 0 : (ns / unit).toFixed(Math.min(digits, 4))}\u00a0${name}`;
}

const WITH_UNIT = /(?:< )?\d[\d.,]* (?:[kMGT]?B|%|[mµn]?s)(?![a-z])/g;

/** A text of the program, in which no figure stands apart from its unit. */
export const unbroken = (text: string) =>
	text.replace(WITH_UNIT, (figure) => figure.replaceAll(' ', '\u00a0'));

export function clock(startedNs: number, ns: number): string {
	const at = new Date((startedNs + ns) / 1e6);
	return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function date(ns: number): string {
	const at = new Date(ns / 1e6);
	const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
	return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

export { baseOf as baseName } from '../data/names.ts';

/** Where the bracket that opens at `at` closes; the end if it does not. */
function closing(text: string, at: number, open: string, close: string): number {
	let depth = 0;
	for (let i = at; i < text.length; i++) {
		if (text[i] === open) {
			depth++;
		} else if (text[i] === close && text[i - 1] !== '-' && --depth === 0) {
			return i;
		}
	}
	return text.length - 1;
}

const known = new Map<string, string>();

/** "void f<int>(char, int)" as "f<…>()"; other names as they are. */
export function shortName(name: string): string {
	let short = known.get(name);
	if (short === undefined) {
		short = harmless(shorten(name));
		known.set(name, short);
	}
	return short;
}

const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** A name as it is, whatever is in it: what would turn or move its surroundings does not. */
function harmless(name: string): string {
	const seen = name.replace(
		CONTROLS,
		(c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
	);
	return RIGHT_TO_LEFT.test(seen) ? `\u2068${seen}\u2069` : seen;
}

const OPERATOR =
	/operator(\(\)|\[\]|<<?=?|>>?=?|->\*?|"" ?\w+| (new|delete)(\[\])?|[-+*/%^&|~!=,]+| (?=\w))/y;

function shorten(name: string): string {
	if (/^operator (new|delete)/.test(name)) {
		return name.replace(/\(.*$/, '()');
	}
	const end = name.startsWith('<') ? closing(name, 0, '<', '>') + 1 : 0;
	if (name.startsWith('::', end) && end) {
		// <Map as Index>::index::<u8>
		return ends(name.slice(0, end), 40) + shorten(name.slice(end));
	}
	if (end || name.startsWith('(')) {
		return ends(name, 40);
	}
	if (/^decltype ?\(/.test(name)) {
		name = name.slice(closing(name, name.indexOf('('), '(', ')') + 1).trimStart();
	}
	name = name.replace(/\[abi:\w+\]/g, ''); // which of the library's strings it returns
	let out = '';
	let isCall = false;
	let isOperator = false;
	for (let i = 0; i < name.length; i++) {
		const c = name[i]!;
		OPERATOR.lastIndex = i;
		const operator = c === 'o' && !/\w/.test(name[i - 1] ?? '') && OPERATOR.exec(name);
		if (operator) {
			isOperator = true;
			out += operator[0];
			i = OPERATOR.lastIndex - 1;
			if (name.startsWith(' <', OPERATOR.lastIndex)) {
				i = closing(name, i + 2, '<', '>'); // or "operator<<" reads as one with three
			}
		} else if (c === '<') {
			const from = i;
			i = closing(name, i, '<', '>');
			// "load.<locals>.<listcomp>" says what Python made it of
			out += name[from - 1] === '.' ? name.slice(from, i + 1) : '<…>';
		} else if (c === '(' && name.startsWith('(anonymous namespace)', i)) {
			out += '(anonymous)';
			i += '(anonymous namespace)'.length - 1;
		} else if (c === '(') {
			i = closing(name, i, '(', ')');
			isCall = true;
			out += '()';
			if (name[i + 1] === ' ' || i + 1 >= name.length || name[i + 1] === '[') {
				break;
			}
		} else if (
			c === ' ' &&
			!isCall &&
			!isOperator &&
			/^[\w:<>…*& ]+$/.test(out) &&
			name.includes('(', i)
		) {
			out = ''; // what stood before was the type
		} else {
			out += c;
		}
	}
	return out || name;
}

// Text between brackets, with others in it
const BETWEEN = /([^<>()[\]]|<[^<>]*>|\([^()]*\)|\[[^[\]]*\])*/y;

/** From the first word on that others do not have there, to where the brackets around it close. */
function unlike(name: string, others: readonly string[]): string {
	let from = 0;
	while (others.every((other) => other[from] === name[from])) {
		from++;
	}
	while (/\w/.test(name.charAt(from - 1))) {
		from--;
	}
	BETWEEN.lastIndex = from;
	return BETWEEN.exec(name)![0];
}

/** What functions of one table are called: those with one short name, with what differs. */
export function namesApart(names: readonly string[]): (name: string) => string {
	const groups = new Map<string, Set<string>>();
	for (const name of names) {
		const short = shortName(name);
		groups.set(short, (groups.get(short) ?? new Set()).add(name));
	}
	return (name) => {
		const short = shortName(name);
		const alike = [...groups.get(short)!];
		const own = alike.length > 1 ? unlike(name, alike) : '';
		return own ? `${short} [${harmless(ends(own, 9))}]` : short;
	};
}

/** Where a function's own name begins, behind the last :: of its scope. */
export function ownFrom(name: string): number {
	const behind = name.search(/::[<{]| \[/); // f::<…>, f::{closure#0}, f() [int]
	const at = name.lastIndexOf('::', behind > 0 ? behind - 1 : undefined);
	return at < 0 || name.endsWith('::') ? 0 : at + 2;
}

/**
 * For tight places: of a name its scope goes first, then its end. '': a letter or two say nothing.
 */
export function elide(name: string, chars: number): string {
	if (name.length <= chars) {
		return name;
	}
	if (chars < 4) {
		return '';
	}
	const own = name.slice(ownFrom(name));
	const left = chars - own.length - 1;
	return left >= 0 ? `${name.slice(0, left)}…${own}` : `${own.slice(0, chars - 1)}…`;
}
