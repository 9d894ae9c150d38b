// SPDX-License-Identifier: MIT
// What a range is while it is dragged: node dragged.mjs MODULES ADDRESS
// Prints for each move how many queries there were so far and how wide what is shaded is, as JSON.

import { launch, open, settle } from './browser.mjs';

const [modules, address] = process.argv.slice(2);
const browser = await launch(modules);
const tab = await open(browser, `${address}#v=flame`);
const chart = await tab.page.locator('.timechart .plot').first().boundingBox();
const y = chart.y + chart.height / 2;
await tab.page.evaluate(() => {
	window.queries = 0;
	window.heaptrackMeasured = (what) => (window.queries += what === 'query');
});
const read = () =>
	tab.page.evaluate(() => [
		window.queries,
		document.querySelector('.timechart .range')?.getBoundingClientRect().width ?? 0,
		/[#&]t=/.test(location.hash),
	]);
const moves = [];
await tab.page.mouse.move(chart.x + 100, y);
await tab.page.mouse.down();
for (let i = 1; i <= 5; i++) {
	await tab.page.mouse.move(chart.x + 100 + i * 60, y);
	await tab.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
	moves.push(await read());
}
await tab.page.waitForTimeout(400);
const rested = await read();
await tab.page.mouse.move(chart.x + 500, y);
await tab.page.mouse.up();
await settle(tab.page);
process.stdout.write(JSON.stringify({ moves, rested, released: await read(), wrong: tab.wrong }));
await browser.close();
