// SPDX-License-Identifier: MIT
import type { Profile } from './profile.ts';
import { isRuntime, type Sites } from './series.ts';

/** Functions that stacks belong to, also within runtimes. */
export interface Opened {
	keys: Uint32Array; // by stack: a row of what follows
	symbol: number[]; // 0: it is no function
	place: string[]; // a runtime's name for its native functions, and for what is no function
}

const SCRIPT = /^(node:|<frozen )|\.([cm]?[jt]sx?|pyw?)$/; // files
const SAYS_NOTHING = /alloc|strn?dup|^(\S+ )?std::|\+0x/i; // functions that only hand memory out

/** For each symbol: 1 for a function of a script, 2 for one that says nothing. */
function kindsOf({ symbolTable: symbols }: Profile): Uint8Array {
	return Uint8Array.from(symbols.name, (name, i) =>
		SCRIPT.test(symbols.file[i]!) ? 1 : SAYS_NOTHING.test(name) ? 2 : 0,
	);
}

const opened = new WeakMap<Sites, Opened>();

/**
 * What a runtime has of its own, too, by function: the innermost one of a script, or else the one
 * of native code that had a use for the memory.
 */
export function openRuntimes(p: Profile, sites: Sites): Opened {
	let found = opened.get(sites);
	if (!found) {
		found = findOpened(p, sites);
		opened.set(sites, found);
	}
	return found;
}

function findOpened(p: Profile, sites: Sites): Opened {
	const { symbol, parent } = p.nodes;
	const kinds = kindsOf(p);
	const out: Opened = {
		keys: sites.keys.slice(),
		symbol: [...sites.symbol],
		place: sites.name.map((name, key) => (sites.symbol[key] ? '' : name)),
	};
	const known = new Map<string, number>();
	const scriptAt = (from: number) => {
		let at = from;
		while (at > 0 && kinds[symbol[at]!] !== 1) {
			at = parent[at]!;
		}
		return at;
	};
	const nativeAt = (from: number) => {
		const { module } = p.symbolTable;
		let at = from;
		while (kinds[symbol[at]!] === 2 && module[symbol[at]!] === module[symbol[from]!]) {
			at = parent[at]!;
		}
		return module[symbol[at]!] === module[symbol[from]!] ? at : from;
	};
	for (let s = 0; s < p.stacks.n; s++) {
		const key = sites.keys[s]!;
		if (!isRuntime(sites, key)) {
			continue;
		}
		const script = scriptAt(p.stacks.node[s]!);
		const own = symbol[script || nativeAt(sites.node[s]!)]!;
		const text = `${key} ${p.symbolTable.function[own]!}`;
		let row = known.get(text);
		if (row === undefined) {
			row = out.symbol.push(own) - 1;
			out.place.push(script ? '' : sites.name[key]!);
			known.set(text, row);
		}
		out.keys[s] = row;
	}
	return out;
}

export interface Rect {
	x: number;
	y: number;
	width: number;
	height: number;
}

/**
 * Rectangles of such sizes that fill one, the largest first, each nearly a square: rows along the
 * shorter side, which take in a size as long as that makes their worst member no longer (Bruls,
 * Huizing and van Wijk, Squarified Treemaps, 2000).
 */
export function squarify(sizes: readonly number[], { x, y, width, height }: Rect): Rect[] {
	const out: Rect[] = [];
	let left = sizes.reduce((sum, n) => sum + n, 0);
	for (let i = 0; i < sizes.length; i = out.length) {
		const scale = (width * height) / left;
		const side = Math.min(width, height);
		let [row, worst, end] = [0, Infinity, i];
		for (; end < sizes.length; end++) {
			const square = (((row + sizes[end]!) * scale) / side) ** 2;
			const ratio = Math.max((sizes[i]! * scale) / square, square / (sizes[end]! * scale));
			if (ratio > worst) {
				break;
			}
			worst = ratio;
			row += sizes[end]!;
		}
		const thick = (row * scale) / side;
		const isColumn = side === height;
		let at = isColumn ? y : x;
		for (const size of sizes.slice(i, end)) {
			const long = (size / row) * side;
			out.push(
				isColumn
					? { x, y: at, width: thick, height: long }
					: { x: at, y, width: long, height: thick },
			);
			at += long;
		}
		left -= row;
		[x, width] = isColumn ? [x + thick, width - thick] : [x, width];
		[y, height] = isColumn ? [y, height] : [y + thick, height - thick];
	}
	return out;
}
