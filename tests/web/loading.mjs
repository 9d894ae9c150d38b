// SPDX-License-Identifier: MIT
// The page while the second part of its profile is held back: node loading.mjs MODULES ADDRESS
// Prints what a person sees of the flame graph and of a range until then, and after.

import { focusedBox, launch, settle } from './browser.mjs';

const [modules, address] = process.argv.slice(2);
const browser = await launch(modules);
const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage();
const wrong = [];
page.on('pageerror', (error) => wrong.push(error.stack ?? error.message));

/** What comes out of the second stream waits until `goOn` is called. */
await page.addInitScript(() => {
	const held = new Promise((resolve) => (window.goOn = resolve));
	const Real = window.DecompressionStream;
	let streams = 0;
	window.DecompressionStream = class {
		constructor(format) {
			const real = new Real(format);
			const waits = ++streams === 2;
			const hold = new TransformStream({ transform: async (chunk, to) => (await (waits && held), to.enqueue(chunk)) });
			this.writable = real.writable;
			this.readable = real.readable.pipeThrough(hold);
		}
	};
});

const text = async (role, name) => {
	await settle(page);
	return page.getByRole(role, name ? { name } : {}).innerText();
};

await page.goto(`${address}#v=flame`);
const tree = page.getByRole('tree');
await tree.waitFor();
const seen = { wrong, isBusy: await page.locator('#app[aria-busy=true]').isVisible() };
await tree.focus();
await page.keyboard.press('Home');
seen.root = await focusedBox(page);
const canvas = await tree.boundingBox();
await page.mouse.move(canvas.x + 60, canvas.y + 33);
seen.tip = await text('tooltip');
await page.mouse.click(canvas.x + 60, canvas.y + 33);
seen.details = await text('complementary', 'Details');
await page.keyboard.press('p');
seen.range = await text('main');
await page.getByRole('button', { name: 'Timeline' }).click();
seen.timeline = await text('main');

await page.evaluate(() => window.goOn());
await page.locator('#app:not([aria-busy=true])').waitFor();
await page.getByRole('heading', { name: 'Consumed' }).waitFor();
await page.getByRole('button', { name: 'Flame graph' }).click();
await settle(page);
await tree.focus();
await page.keyboard.press('Home');
seen.said = await page.getByText(/^Range /).innerText();
seen.then = await focusedBox(page);
seen.detailsThen = await text('complementary', 'Details');
seen.lens = decodeURIComponent(new URL(page.url()).hash.slice(1));
await browser.close();
process.stdout.write(JSON.stringify(seen));
