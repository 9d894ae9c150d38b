// SPDX-License-Identifier: MIT
import type { Answer } from './query.ts';
import { selfCosts, totalCosts, type Tree } from './tree.ts';

/** A function with all its calls: what it costs itself, and with what it calls, recursion once. */
export interface FunctionCosts {
	key: number;
	symbol: number;
	node: number; // its heaviest in the tree
	total: number;
	self: number;
	allocations: number;
	temporary: number;
}

/** All functions of a tree that cost anything, the most expensive first. */
export function functionsOf(t: Tree, a: Answer): FunctionCosts[] {
	const self = selfCosts(t, a.weights);
	const total = totalCosts(t, self);
	const allocations = totalCosts(t, selfCosts(t, a.allocations));
	const temporary = totalCosts(t, selfCosts(t, a.temporary));
	const found = new Map<number, FunctionCosts>();
	for (let i = 1; i < t.n; i++) {
		if (total[i] === 0 && allocations[i] === 0) {
			continue;
		}
		const key = t.key[i]!;
		let f = found.get(key);
		if (!f) {
			f = { key, symbol: t.symbol[i]!, node: i, total: 0, self: 0, allocations: 0, temporary: 0 };
			found.set(key, f);
		}
		f.self += self[i]!;
		if (!isBelowItself(t, i)) {
			f.total += total[i]!;
			f.allocations += allocations[i]!;
			f.temporary += temporary[i]!;
			if (total[i]! > total[f.node]!) {
				f.node = i;
			}
		}
	}
	return [...found.values()].sort((x, y) => y.total - x.total || y.self - x.self);
}

function isBelowItself(t: Tree, node: number): boolean {
	const key = t.key[node];
	for (let at = t.parent[node]!; at > 0; at = t.parent[at]!) {
		if (t.key[at] === key) {
			return true;
		}
	}
	return false;
}
