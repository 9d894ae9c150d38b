// SPDX-License-Identifier: MIT
// How the page does with a large profile: node page.mjs MODULES PAGE [ROUNDS]
// MODULES is the folder with the page's npm packages (src/web/page in the build). Prints medians
// and P95 in ms as JSON: opening to the first flame graph and to the overview, a query of a range,
// a whole frame of dragging, drawing while zooming, a keystroke of a search; and the JS heap.

import { launch } from '../tests/web/browser.mjs';

const [modules, page, rounds = '5'] = process.argv.slice(2);
const browser = await launch(modules);
const taken = {};
const note = (what, ms) => (taken[what] ??= []).push(ms);

async function fresh(hash) {
	const context = await browser.newContext({ viewport: { width: 1600, height: 900 }, reducedMotion: 'reduce' });
	const tab = await context.newPage();
	await tab.addInitScript(() => {
		window.taken = [];
		window.heaptrackMeasured = (what, ms) => window.taken.push([what, ms, performance.now()]);
	});
	await tab.goto(`file://${page}${hash}`);
	await tab.waitForFunction(() => window.taken.some(([what]) => what === 'draw'), null, { timeout: 120_000 });
	const opened = await tab.evaluate(() => window.taken.find(([what]) => what === 'draw')[2]);
	return { context, tab, opened };
}

for (let i = 0; i < Number(rounds); i++) {
	for (const [what, hash] of [['open to flame graph', '#v=flame'], ['open to overview', '']]) {
		const { context, opened } = await fresh(hash);
		note(what, opened);
		await context.close();
	}
}

const { tab } = await fresh('#v=flame');
const since = async (from) => (await tab.evaluate(() => window.taken)).slice(from);
const count = () => tab.evaluate(() => window.taken.length);

// Dragging over the strip: each move is a range, each range a query, a layout, a picture
const strip = await tab.locator('.timechart .u-over').first().boundingBox();
const y = strip.y + strip.height / 2;
await tab.mouse.move(strip.x + 100, y);
await tab.mouse.down();
let before = await count();
for (let i = 1; i <= 40; i++) {
	const start = Date.now();
	await tab.mouse.move(strip.x + 100 + i * 25, y);
	await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
	note('drag frame', Date.now() - start);
}
await tab.mouse.up();
(await since(before)).forEach(([what, ms]) => note(what, ms));
await tab.keyboard.press('Escape');

// Zooming into box after box
const tree = await tab.getByRole('tree').first().boundingBox();
before = await count();
for (let i = 0; i < 30; i++) {
	await tab.mouse.dblclick(tree.x + ((i * 997) % (tree.width - 40)) + 10, tree.y + 22 * (1 + (i % 12)) + 8);
	if (i % 5 === 4) {
		await tab.keyboard.press('Home');
		await tab.keyboard.press('Enter');
	}
}
(await since(before)).filter(([what]) => what === 'draw').forEach(([, ms]) => note('draw while zooming', ms));

before = await count();
await tab.keyboard.press('/');
await tab.keyboard.type('Component_12', { delay: 20 });
(await since(before)).filter(([what]) => what === 'search').forEach(([, ms]) => note('search keystroke', ms));

const heap = await tab.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
await browser.close();

const at = (list, share) => list.sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
const result = { heap_mb: Math.round(heap / 1e6) };
for (const [what, list] of Object.entries(taken)) {
	result[what] = { n: list.length, median: +at(list, 0.5).toFixed(1), p95: +at(list, 0.95).toFixed(1) };
}
process.stdout.write(`${JSON.stringify(result, null, 1)}\n`);
