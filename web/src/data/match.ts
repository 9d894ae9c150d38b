// SPDX-License-Identifier: MIT
import { keepsAll, type Lens } from './lens.ts';
import { namedProcesses, processOfStacks } from './processes.ts';
import type { Profile } from './profile.ts';

/** What is looked for. */
export interface Sought {
	text: string;
	isRegex: boolean;
}

/** Which symbols a rule speaks of. */
export interface Marks {
	rule: Sought;
	found: Int32Array; // by text: where from 1; 0: not looked for yet, -1: it is not in there
	has: (symbol: number) => boolean; // looks at this one alone
	all: () => Uint8Array; // one byte each, 1 for those that hold the text
}

/** Where the texts are that were looked for before a letter was added: the longer is not before. */
function foundBefore(rule: Sought, before: Marks | null): Int32Array | null {
	return before && !before.rule.isRegex && rule.text.startsWith(before.rule.text)
		? before.found
		: null;
}

/** Each text is looked at when it is asked for, and once: what is on the screen has few. */
export function marksOf(p: Profile, rule: Sought, before: Marks | null = null): Marks {
	const { texts, lowered, name, file, module } = textsOf(p);
	const regex = rule.isRegex ? new RegExp(rule.text) : null;
	const wanted = lower(rule.text);
	const shorter = foundBefore(rule, before);
	const found = new Int32Array(texts.length);
	const find = (i: number) => {
		const from = shorter ? shorter[i]! : 0;
		const at = regex
			? texts[i]!.search(regex)
			: from < 0
				? -1
				: lowered[i]!.indexOf(wanted, Math.max(0, from - 1));
		return at < 0 ? -1 : at + 1;
	};
	const holds = (i: number) => (found[i] ||= find(i)) > 0;
	// 0: not looked for yet, 1: not marked, 2: marked
	const known = new Uint8Array(p.symbolTable.n);
	const isMarked = (symbol: number) =>
		symbol > 0 && (holds(name[symbol]!) || holds(file[symbol]!) || holds(module[symbol]!));
	const has = (symbol: number) => (known[symbol] ||= 1 + +isMarked(symbol)) > 1;
	let all: Uint8Array | null = null;
	return {
		rule,
		found,
		has,
		all: () => (all ??= Uint8Array.from(p.symbolTable.name, (_, i) => +has(i))),
	};
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
