// SPDX-License-Identifier: MIT
// The page's comparison, run by node: node difference.mjs MODULES PAGE BASE-PAGE  < lenses, one per line
// For each lens one line of JSON: the functions that changed, and the call trees of both as one.

import { createInterface } from 'node:readline';
import { profileOf } from './profile.mjs';

const [modules, page, basePage] = process.argv.slice(2);
const m = await import(modules);
const now = await profileOf(m, page);
const base = await profileOf(m, basePage);

function answer(text) {
	const { lens } = m.parseLens(now, text);
	const [before, after] = m.sidesOf(base, now, lens);
	const sites = m.compareSites(before, after).filter((d) => m.changeOf(d) !== 'same');
	const f = m.diffForest(before, after, { ...lens, foldsRecursion: false, opened: new Set() }, 'change');
	const nodes = Array.from({ length: f.n }, (_, i) => ({
		parent: i ? f.parent[i] : null,
		function: i ? m.labelOf(f.profile.symbolTable, f.symbol[i]) : null,
		base: f.before[i],
		this: f.now[i],
		width: f.total[i],
	}));
	return {
		text: m.lensText(now, lens),
		sites: sites.map((d) => [d.label, m.changeOf(d), d.now - d.before, d.blocksBefore, d.blocksNow]),
		nodes,
	};
}

for await (const line of createInterface({ input: process.stdin })) {
	process.stdout.write(`${JSON.stringify(answer(line))}\n`);
}
