// SPDX-License-Identifier: MIT
import { keepsAll, type Lens } from './lens.ts';
import { namedProcesses, processOfStacks } from './processes.ts';
import type { Profile } from './profile.ts';

/** What is looked for. */
export interface Sought {
	text: string;
	isRegex: boolean;
}

/** By text, as far as it was looked at. */
interface Known {
	letters: Uint32Array; // how many were looked for
	behind: Uint32Array; // where that is, plus 1; 0: it is not in there
}

const NO = -1;

/**
 * Which symbols a rule speaks of. Each text is looked at when it is asked for, and once: what is on
 * the screen has few. While letters are added, what was found and what was not is kept; who had
 * fewer is not asked any more. Methods, as closures would be cold at each letter.
 */
export class Marks {
	private wanted: string;
	private regex: RegExp | null;
	private known: Known;
	private seen: Int32Array; // by symbol: how many letters it has, or NO; 0: not looked at
	private whole: Uint8Array | null = null;

	constructor(
		private rule: Sought,
		private of: Texts,
		before: Marks | null,
	) {
		this.wanted = lower(rule.text);
		this.regex = rule.isRegex ? new RegExp(rule.text) : null;
		const n = of.texts.length;
		const isLonger = before && rule.text.startsWith(before.rule.text);
		const goesOn = isLonger && !before.regex && !this.regex;
		this.known = goesOn
			? before.known
			: { letters: new Uint32Array(n), behind: new Uint32Array(n) };
		this.seen = goesOn ? before.seen : new Int32Array(of.name.length);
	}

	/** Looks at this one alone. */
	has(symbol: number): boolean {
		const { seen } = this;
		const n = this.wanted.length;
		if (seen[symbol] !== n && seen[symbol] !== NO && symbol > 0) {
			const { name, file, module } = this.of;
			seen[symbol] = this.holds(name[symbol]!) || this.holds(file[symbol]!) ||
					this.holds(module[symbol]!)
				? n
				: NO;
		}
		return seen[symbol] === n;
	}

	/** One byte each, 1 for those that hold the text. */
	all(): Uint8Array {
		return (this.whole ??= Uint8Array.from(this.of.name, (_, i) => +this.has(i)));
	}

	private holds(i: number): boolean {
		const { wanted, regex } = this;
		const { letters, behind } = this.known;
		if (!letters[i] || (behind[i] && letters[i] !== wanted.length)) {
			const text = this.of.lowered[i]!;
			let at = behind[i]! - 1;
			if (regex) {
				at = this.of.texts[i]!.search(regex);
			} else if (at < 0 || !text.startsWith(wanted, at)) {
				at = text.indexOf(wanted, at + 1);
			}
			letters[i] = wanted.length;
			behind[i] = at + 1;
		}
		return behind[i]! > 0;
	}
}

export function marksOf(p: Profile, rule: Sought, before: Marks | null = null): Marks {
	return new Marks(rule, textsOf(p), before);
}

export function matchSymbols(p: Profile, rule: Sought): Uint8Array {
	return marksOf(p, rule).all();
}

/** The texts that symbols are made of, each once, and which of them each symbol has. */
interface Texts {
	texts: string[];
	lowered: string[];
	name: Uint32Array;
	file: Uint32Array;
	module: Uint32Array;
}

const textsKnown = new WeakMap<Profile, Texts>();

/** Also called before anything is looked for: the first letter need not wait for it then. */
export function textsOf(p: Profile): Texts {
	let found = textsKnown.get(p);
	if (!found) {
		const ids = new Map<string, number>();
		const idOf = (text: string) => {
			const id = ids.get(text) ?? ids.size;
			ids.set(text, id);
			return id;
		};
		const column = (texts: string[]) => Uint32Array.from(texts, idOf);
		const s = p.symbolTable;
		const columns = { name: column(s.name), file: column(s.file), module: column(s.module) };
		const texts = [...ids.keys()];
		found = { texts, lowered: texts.map(lower), ...columns };
		textsKnown.set(p, found);
	}
	return found;
}

/** A to Z alone, as the program does it. */
function lower(text: string): string {
	return text.replace(/[A-Z]+/g, (part) => part.toLowerCase());
}

/** A function goes by its whole name, or by what stands before the first '(' or '<'. */
export function isNamed(name: string, wanted: string): boolean {
	if (name === wanted) {
		return true;
	}
	const short = wanted.length > 2 && wanted.endsWith('()') ? wanted.slice(0, -2) : wanted;
	if (!short || !name.startsWith(short)) {
		return false;
	}
	if (/[(<]/.test(short)) {
		return name.length === short.length;
	}
	return name.length === short.length || '(<'.includes(name[short.length]!);
}

/** Which symbols go by one of the names. null: there are no names. */
export function symbolsNamed(p: Profile, names: readonly string[]): Uint8Array | null {
	if (!names.length) {
		return null;
	}
	const out = new Uint8Array(p.symbolTable.n);
	for (let i = 1; i < p.symbolTable.n; i++) {
		out[i] = +names.some((name) => isNamed(p.symbolTable.name[i]!, name));
	}
	return out;
}

/** For each stack: 1 if all rules hold for it. null: no rule says anything. */
export function stacksUnder(p: Profile, lens: Lens): Uint8Array | null {
	const { texts: rules, focus, threads, processes } = lens;
	if (keepsAll(lens)) {
		return null;
	}
	const out = new Uint8Array(p.stacks.n).fill(1);
	for (const rule of rules) {
		keep(p, out, matchSymbols(p, rule), rule.isNegated);
	}
	if (focus.length) {
		keep(p, out, symbolsNamed(p, focus)!, false);
	}
	if (threads.length) {
		const isAsked = p.threads.map((t) => t.id > 0 && threads.includes(t.name));
		for (let s = 0; s < out.length; s++) {
			out[s]! &= +isAsked[p.stacks.thread[s]!]!;
		}
	}
	if (processes.length) {
		const asked = namedProcesses(p, processes);
		const own = processOfStacks(p);
		for (let s = 0; s < out.length; s++) {
			out[s]! &= +(asked.processes[own[s]!]! || asked.commands[p.stacks.command[s]!]!);
		}
	}
	return out;
}

/** Nodes whose own symbol or one above it is marked. */
export function nodesBelow(p: Profile, marked: Uint8Array): Uint8Array {
	const { n, parent, symbol } = p.nodes;
	const out = new Uint8Array(n);
	for (let i = 1; i < n; i++) {
		out[i] = out[parent[i]!]! | marked[symbol[i]!]!;
	}
	return out;
}

function keep(p: Profile, stacks: Uint8Array, marked: Uint8Array, isNegated: boolean): void {
	const nodes = nodesBelow(p, marked);
	for (let i = 0; i < stacks.length; i++) {
		stacks[i]! &= nodes[p.stacks.node[i]!]! ^ +isNegated;
	}
}
