// SPDX-License-Identifier: MIT
// The page's own arithmetic, run by node: node engine.mjs MODULES PAGE  < lenses, one per line
// For each lens one line of JSON: what the page computes under it. MODULES is web/src/data bundled.

import { createInterface } from 'node:readline';
import { profileOf } from './profile.mjs';

const [modules, page] = process.argv.slice(2);
const m = await import(modules);

const profile = await profileOf(m, page);

/** Nodes that are not the sum of what is below them and their own. */
function unevenNodes(f) {
	const left = Float64Array.from(f.total, (total, i) => total - f.self[i]);
	for (let i = 1; i < f.n; i++) {
		left[f.parent[i]] -= f.total[i];
	}
	return left.filter((v) => v !== 0).length;
}

/** Nodes that have other stacks below them than a walk up from each stack finds. */
function misplacedNodes(tree, kept) {
	const below = m.stacksBelow(tree, kept);
	const found = Array.from({ length: tree.n }, () => []);
	for (let s = 0; s < profile.stacks.n; s++) {
		for (let at = tree.ofStack[s]; !kept || kept[s]; at = tree.parent[at]) {
			found[at].push(s);
			if (at === 0) {
				break;
			}
		}
	}
	const isAlike = (stacks, others) => stacks.length === others.length && stacks.every((s, i) => s === others[i]);
	return found.filter((stacks, node) => !isAlike(stacks, below(node).slice().sort())).length;
}

/** What the curves over time say of a lens's total, where they can. */
function totalOfTimeline(lens, a) {
	const e = profile.edges;
	if (lens.metric === 'peak' && lens.range && a.edge < e.n) {
		const kept = m.stacksUnder(profile, lens);
		return m.aliveOverTime(profile, m.stacksWhere(profile, (s) => !kept || kept[s] === 1))[a.edge];
	}
	const isAll = !lens.texts.length && !lens.focus.length && !lens.threads.length;
	if (isAll && lens.range && lens.range.to < e.n && lens.metric === 'allocations') {
		return e.allocations[lens.range.to] - (e.allocations[lens.range.from] ?? 0);
	}
	return m.sum(a.weights);
}

function answer(text) {
	const { lens, rest } = m.parseLens(profile, text);
	const a = m.ask(profile, lens);
	const shape = { ...lens, foldsRecursion: false, opened: new Set() };
	const tree = m.buildTree(profile, shape);
	const columns = {
		bytes: a.bytes,
		blocks: a.blocks,
		allocations: a.allocations,
		allocated_bytes: a.allocatedBytes,
		temporary: a.temporary,
	};
	const own = {};
	const all = {};
	for (const [name, column] of Object.entries(columns)) {
		own[name] = m.selfCosts(tree, column);
		all[name] = m.totalCosts(tree, own[name]);
	}
	const nodes = [];
	for (let i = 0; i < tree.n; i++) {
		const costs = Object.fromEntries(Object.keys(columns).map((c) => [c, all[c][i]]));
		if (i > 0 && Object.values(costs).every((v) => v === 0)) {
			continue;
		}
		nodes.push({
			id: i,
			parent: i ? tree.parent[i] : null,
			label: i ? m.groupName(profile, tree.symbol[i], lens.group) : null,
			folded: tree.more[i],
			own_bytes: own.bytes[i],
			own_blocks: own.blocks[i],
			...costs,
		});
	}
	const up = m.bottomUp(tree, a);
	const sites = m.sitesOf(profile);
	let bySite = 0;
	a.weights.forEach((w) => (bySite += w));
	const functions = m.functionsOf(tree, a);
	return {
		text: m.lensText(profile, lens),
		rest,
		totals: Object.fromEntries(Object.entries(columns).map(([name, c]) => [name, m.sum(c)])),
		moment_ns: a.momentNs,
		tree: nodes,
		misplaced: misplacedNodes(tree, m.stacksUnder(profile, lens)),
		uneven: unevenNodes(m.topDown(tree, a)) + unevenNodes(up),
		unequal: ['allocations', 'temporary', 'blocks'].filter((of) => up[of][0] !== m.topDown(tree, a)[of][0]),
		sums: {
			timeline: totalOfTimeline(lens, a),
			topDown: m.sum(m.selfCosts(tree, a.weights)),
			bottomUp: up.total[0],
			bottomUpSelf: m.sum(up.self),
			// What is left of a stack without frames is the program's own
			functionsSelf: functions.reduce((sum, f) => sum + f.self, m.selfCosts(tree, a.weights)[0]),
			weight: m.sum(a.weights),
			bySite,
		},
		// As --by has them: what is named after each, and what it costs with what it calls
		functions: functions.map((f) => [m.groupName(profile, f.symbol, lens.group), f.self, f.total]),
		tid: profile.threads.map((t) => [t.merged ? 0 : t.tid, t.allocations, t.allocatedBytes]),
		size: m.classesOf(profile, null, sites.keys).map((c) => [Math.floor(2 ** (c.power - 1)), c.count, c.bytes]),
		sites: sites.keys.length,
	};
}

for await (const line of createInterface({ input: process.stdin })) {
	process.stdout.write(`${JSON.stringify(answer(line))}\n`);
}
