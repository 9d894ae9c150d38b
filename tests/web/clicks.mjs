// SPDX-License-Identifier: MIT
// What is clicked and typed is what happens: node clicks.mjs MODULES ADDRESS
// Prints what a person sees then, as JSON.

import { focusedBox, launch, open, settle } from './browser.mjs';

const [modules, address] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, address);
const seen = {};

const hash = () => page.evaluate(() => decodeURIComponent(location.hash.slice(1)));

/** Two presses at one place, the second once all that the first opens is there. */
async function doubleClick(x, y) {
	await page.mouse.move(x, y);
	for (const clickCount of [1, 2]) {
		await page.mouse.down({ clickCount });
		await page.mouse.up({ clickCount });
		await settle(page);
	}
}

await page.getByRole('button', { name: 'Heap at the peak' }).click();
await settle(page);
seen.peak = await hash();
await page.getByRole('tree').first().focus();
await page.keyboard.press('Home');
seen.peakRoot = await focusedBox(page);
await page.evaluate(() => (location.hash = 'v=overview'));
await settle(page);

// At the right of the row below the root: where the details come to stand
await page.keyboard.press('2');
await settle(page);
seen.focusInFlame = await page.evaluate(() => document.activeElement.getAttribute('role'));
const graph = await page.getByRole('tree').first().boundingBox();
await doubleClick(graph.x + graph.width * 0.9, graph.y + 33);
seen.hasDetails = await page.getByRole('complementary', { name: 'Details' }).isVisible();
seen.selected = new URLSearchParams(await hash()).get('sel');
seen.zoomedTo = (await page.locator('.crumbs button').allInnerTexts()).at(-1) ?? '';
seen.box = await focusedBox(page);

// Two keys before the next picture
seen.focusInSearch = await page.evaluate(async () => {
	['3', '/'].forEach((key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })));
	await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	return document.activeElement.id;
});
await page.keyboard.press('Escape');
await page.keyboard.press('3');
await settle(page);
seen.focusInTree = await page.evaluate(() => document.activeElement.getAttribute('role'));
await page.keyboard.press('7');
await settle(page);
seen.focusInThreads = await page.evaluate(() => document.activeElement.tagName);

const thread = page.getByRole('region', { name: 'Threads' }).getByRole('rowheader').getByRole('button').first();
if (await thread.count()) {
	await thread.click();
	await settle(page);
}
seen.withThread = new URLSearchParams(await hash()).get('threads');
await page.goBack();
await settle(page);
seen.back = await hash();
await page.goForward();
await settle(page);
seen.forward = new URLSearchParams(await hash()).get('threads');

// A lens with a quote, as the command that asks for it
await page.goto(`${address}#v=tree&m=allocations&q=!o%27b&t=0.5-2.1`);
await settle(page);
await page.keyboard.press('Control+k');
await page.keyboard.type('heaptrack_print');
await settle(page);
await page.keyboard.press('Enter');
await settle(page);
seen.copied = await page.locator('[aria-live=polite]').textContent();

/** Heads of the figures that a table is about, where they stand outside what it shows. */
function cutHeads() {
	const heads = [...document.querySelectorAll('main th, main [role=columnheader]')];
	return heads.filter((head) => {
		const { width, right } = head.getBoundingClientRect();
		const shown = head.closest('table, [role=treegrid]')?.getBoundingClientRect();
		return shown && width > 0 && right > shown.right + 1 && /^(total|bytes|peak|% of (all|RSS))$/.test(head.textContent);
	}).map((head) => head.textContent);
}

seen.tooWide = [];
seen.cut = [];
const phone = await open(browser, address, { width: 390, height: 800 });
const tabs = phone.page.getByRole('navigation', { name: 'Views' }).getByRole('button');
const look = async (view) => {
	await settle(phone.page);
	if (await phone.page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) {
		seen.tooWide.push(view);
	}
	seen.cut.push(...(await phone.page.evaluate(cutHeads)).map((head) => `${view}: ${head}`));
};
for (const view of await tabs.all()) {
	await view.click();
	await look(await view.innerText());
}
await phone.page.evaluate(() => (location.hash = 'v=tree&mode=fn&sel=main'));
await look('Callers and callees');
wrong.push(...phone.wrong);

await browser.close();
process.stdout.write(JSON.stringify({ ...seen, wrong }));
