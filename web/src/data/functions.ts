// SPDX-License-Identifier: MIT
import type { Answer } from './query.ts';
import { selfCosts, totalCosts, type Tree } from './tree.ts';

/**
 * A function with all its calls: what is named after it, and what it costs with what it calls,
 * recursion once.
 */
export interface FunctionCosts {
	key: number;
	symbol: number;
	node: number; // its heaviest in the tree
	total: number;
	self: number;
	allocations: number;
	temporary: number;
}

/** What the stacks cost that are listed under each node. */
function siteCosts(t: Tree, a: Answer): Float64Array {
	const out = new Float64Array(t.n);
	t.ofSite(a.lens.metric).forEach((node, s) => (out[node]! += a.weights[s]!));
	return out;
}

/**
 * All functions of a tree that cost anything, those that cost most with what they call first;
 * groups by what is named after them. The root stands for stacks without a frame. As
 * src/engine/views/call_tree.c has it.
 */
export function functionsOf(t: Tree, a: Answer): FunctionCosts[] {
	const own = siteCosts(t, a);
	const total = totalCosts(t, selfCosts(t, a.weights));
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
			f = {
				key,
				symbol: t.symbol[i]!,
				node: i,
				total: 0,
				self: 0,
				allocations: 0,
				temporary: 0,
			};
			found.set(key, f);
		}
		f.self += own[i]!;
		if (!isBelowItself(t, i)) {
			f.total += total[i]!;
			f.allocations += allocations[i]!;
			f.temporary += temporary[i]!;
			if (total[i]! > total[f.node]!) {
				f.node = i;
			}
		}
	}
	const byTotal = (x: FunctionCosts, y: FunctionCosts) => y.total - x.total;
	const bySelf = (x: FunctionCosts, y: FunctionCosts) => y.self - x.self;
	const [first, then] = t.group === 'function' ? [byTotal, bySelf] : [bySelf, byTotal];
	return [...found.values()].sort((x, y) => first(x, y) || then(x, y));
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
