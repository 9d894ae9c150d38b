// SPDX-License-Identifier: MIT
// How the page does with a large profile: node page.mjs MODULES PAGE [ROUNDS]
// MODULES is the folder with the page's npm packages (src/web/page in the build). Prints medians
// and P95 in ms as JSON: opening to the first flame graph, to the overview and to the moment when
// all can be asked for; a query of a range, a whole frame of dragging, drawing while zooming, a search;
// each step of page_steps.mjs; and the JS heap.
// What ends in "CPU" is what the page's main thread took of a processor: other programs on the
// machine do not stretch it. That of a zoom is all it takes, drawing the largest part of it.

import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch } from '../tests/web/browser.mjs';
import { profileOf } from '../tests/web/profile.mjs';
import { STEPS } from './page_steps.mjs';

const [modules, page, rounds = '5'] = process.argv.slice(2);
const browser = await launch(modules);
const taken = {};
const note = (what, ms) => (taken[what] ??= []).push(ms);

/** Gives the ms of CPU that the main thread of a tab has taken so far. */
async function meter(context, tab) {
	const session = await context.newCDPSession(tab);
	await session.send('Performance.enable', { timeDomain: 'threadTicks' });
	return async () => {
		const { metrics } = await session.send('Performance.getMetrics');
		return 1000 * metrics.find(({ name }) => name === 'TaskDuration').value;
	};
}

const drawn = (tab) =>
	tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Runs something and notes what it took of the processor, with all that it leads to on the page. */
async function noteCpu(what, run) {
	const start = await cpu();
	await run();
	await drawn(tab);
	note(`${what} CPU`, (await cpu()) - start);
}

async function fresh(hash, first = 'draw') {
	const context = await browser.newContext({ viewport: { width: 1600, height: 900 }, reducedMotion: 'reduce' });
	const tab = await context.newPage();
	await tab.addInitScript(() => {
		window.taken = [];
		window.heaptrackMeasured = (what, ms) => window.taken.push([what, ms, performance.now()]);
	});
	const spent = await meter(context, tab);
	await tab.goto(`file://${page}${hash}`, { waitUntil: 'commit' });
	await tab.waitForFunction((is) => window.taken.some(([what]) => what === is), first, { timeout: 120_000 });
	const opened = await tab.evaluate((is) => window.taken.find(([what]) => what === is)[2], first);
	const openedCpu = await spent();
	const isWhole = () => !document.querySelector('#app[aria-busy=true]') && performance.now();
	const whole = await (await tab.waitForFunction(isWhole, null, { timeout: 120_000 })).jsonValue();
	return { context, tab, opened, openedCpu, whole, spent };
}

for (let i = 0; i < Number(rounds); i++) {
	for (const [what, hash] of [['open to flame graph', '#v=flame'], ['open to overview', '']]) {
		const { context, opened, openedCpu, whole, spent } = await fresh(hash);
		note(what, opened);
		note(`${what} CPU`, openedCpu);
		note('open to all of it', whole);
		note('open to all of it CPU', await spent());
		await context.close();
	}
}

const { tab, spent: cpu } = await fresh('#v=flame');
const since = async (from) => (await tab.evaluate(() => window.taken)).slice(from);
const count = () => tab.evaluate(() => window.taken.length);

// Dragging over the strip: each move is a range, each range a query, a layout, a picture
const strip = await tab.locator('.timechart .plot').first().boundingBox();
const y = strip.y + strip.height / 2;
await tab.mouse.move(strip.x + 100, y);
await tab.mouse.down();
let before = await count();
for (let i = 1; i <= 40; i++) {
	const start = Date.now();
	await noteCpu('drag frame', () => tab.mouse.move(strip.x + 100 + i * 25, y));
	note('drag frame', Date.now() - start);
}
await tab.mouse.up();
(await since(before)).forEach(([what, ms]) => note(what, ms));
await tab.keyboard.press('Escape');

// Zooming into box after box
const tree = await tab.getByRole('tree').first().boundingBox();
before = await count();
for (let i = 0; i < 30; i++) {
	const at = { x: tree.x + ((i * 997) % (tree.width - 40)) + 10, y: tree.y + 22 * (1 + (i % 12)) + 8 };
	await noteCpu('zoom', () => tab.mouse.dblclick(at.x, at.y));
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

const tabs = new Map();
for (const [what, { hash, first, n, prepare, step }] of Object.entries(STEPS)) {
	const on = tabs.get(hash) ?? (await fresh(hash, first));
	tabs.set(hash, on);
	const place = await prepare(on.tab);
	await drawn(on.tab);
	for (let i = 0; i < n; i++) {
		const start = await on.spent();
		await step(on.tab, place, i);
		await drawn(on.tab);
		note(`${what} CPU`, (await on.spent()) - start);
	}
}

/** The same queries in this process, which is told what they take of the processor. */
async function queriesAlone() {
	const { buildSync } = createRequire(join(modules, 'package.json'))('esbuild');
	const entry = join(dirname(fileURLToPath(import.meta.url)), '../web/src/data/index.ts');
	const [code] = buildSync({ entryPoints: [entry], bundle: true, format: 'esm', write: false }).outputFiles;
	const m = await import(`data:text/javascript;base64,${Buffer.from(code.contents).toString('base64')}`);
	const profile = await profileOf(m, page);
	for (let i = 1; i <= 40; i++) {
		const { lens } = m.parseLens(profile, `t=5%-${5 + 2 * i}%`);
		const before = process.cpuUsage();
		m.ask(profile, lens, null);
		const { user, system } = process.cpuUsage(before);
		note('query CPU', (user + system) / 1000);
	}
}

const session = await tab.context().newCDPSession(tab);
await session.send('HeapProfiler.collectGarbage');
// With array buffers; what the page itself is told comes in steps of 6 %
const { usedSize, backingStorageSize = 0 } = await session.send('Runtime.getHeapUsage');
const heap = usedSize + backingStorageSize;
await browser.close();
await queriesAlone();

const at = (list, share) => list.sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
const result = { heap_mb: Math.round(heap / 1e6) };
for (const [what, list] of Object.entries(taken)) {
	const [least, median, p95] = [0, 0.5, 0.95].map((share) => +at(list, share).toFixed(1));
	result[what] = { n: list.length, least, median, p95 };
}
process.stdout.write(`${JSON.stringify(result, null, 1)}\n`);
