// SPDX-License-Identifier: MIT
// A recording as its own page and in the viewer, opened in turns: node viewer.mjs MODULES PAGE VIEWER RECORDING [ROUNDS]
// Prints as JSON, for both: the median ms to the first flame graph (of the page from its opening, of the viewer from
// the choice of the file), the P95 of a query while a range is dragged, and the private memory of the tab then, in MB.

import { readFileSync } from 'node:fs';
import { launch } from '../tests/web/browser.mjs';

const [modules, page, viewer, recording, rounds = '5'] = process.argv.slice(2);
const PATIENCE = { timeout: 120_000 };
const taken = { page: { open: [], query: [], tab: [] }, viewer: { open: [], query: [], tab: [] } };

/** Private memory of the browser's tabs, in MB: there is one. */
async function tabMegabytes(browser) {
	const session = await browser.newBrowserCDPSession();
	const { processInfo } = await session.send('SystemInfo.getProcessInfo');
	const anonymous = ({ id }) => Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, 'latin1'))[1]);
	return processInfo.filter(({ type }) => type === 'renderer').reduce((sum, p) => sum + anonymous(p), 0) / 1e3;
}

async function drag(tab) {
	const strip = await tab.locator('.timechart .plot').first().boundingBox();
	const y = strip.y + strip.height / 2;
	await tab.mouse.move(strip.x + 100, y);
	await tab.mouse.down();
	for (let i = 1; i <= 40; i++) {
		await tab.mouse.move(strip.x + 100 + i * 25, y);
		await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
	}
	await tab.mouse.up();
}

async function look(what) {
	const browser = await launch(modules);
	const context = await browser.newContext({ viewport: { width: 1600, height: 900 }, reducedMotion: 'reduce' });
	const tab = await context.newPage();
	await tab.addInitScript(() => {
		window.taken = [];
		window.heaptrackMeasured = (what, ms) => window.taken.push([what, ms, performance.now()]);
	});
	await tab.goto(`file://${what === 'page' ? page : viewer}#v=flame`, { waitUntil: 'commit' });
	let start = 0;
	if (what === 'viewer') {
		const input = tab.getByLabel('Recording');
		await input.waitFor();
		await input.evaluate((element) => {
			element.addEventListener('change', () => (window.chosen = performance.now()), { capture: true });
		});
		await input.setInputFiles(recording);
		start = await tab.evaluate(() => window.chosen);
	}
	const isThere = () => document.querySelector('[role=alert]') ?? window.taken.some(([what]) => what === 'draw');
	await tab.waitForFunction(isThere, null, PATIENCE);
	if (await tab.getByRole('alert').count()) {
		throw new Error(await tab.getByRole('alert').innerText());
	}
	taken[what].open.push((await tab.evaluate(() => window.taken.find(([what]) => what === 'draw')[2])) - start);
	await tab.waitForFunction(() => !document.querySelector('#app[aria-busy=true]'), null, PATIENCE);
	await drag(tab);
	const queries = await tab.evaluate(() => window.taken.filter(([what]) => what === 'query').map(([, ms]) => ms));
	taken[what].query.push(...queries);
	taken[what].tab.push(await tabMegabytes(browser));
	await browser.close();
}

for (let i = 0; i < Number(rounds); i++) {
	await look('page');
	await look('viewer');
}

const at = (list, share) => list.sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * share))];
const result = {};
for (const [what, { open, query, tab }] of Object.entries(taken)) {
	result[what] = { open: at(open, 0.5), query_p95: at(query, 0.95), tab_mb: at(tab, 0.5) };
}
process.stdout.write(`${JSON.stringify(result, null, 1)}\n`);
