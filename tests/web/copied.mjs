// SPDX-License-Identifier: MIT
// What is copied out of the page: node copied.mjs MODULES ADDRESS BROWSER VIEW...
// Prints for each view its tables as CSV and as Markdown; and how the picture of the flame graph begins, where
// Playwright is told of downloads. As JSON.

import { readFileSync } from 'node:fs';
import { launch, open, settle } from './browser.mjs';

const [modules, address, name, ...views] = process.argv.slice(2);
const browser = await launch(modules, name);
const { page, wrong } = await open(browser, address);
await page.evaluate(() => {
	const clipboard = { writeText: async (text) => void (window.copied = text) };
	Object.defineProperty(navigator, 'clipboard', { value: clipboard });
});
const seen = {};

async function command(text) {
	await page.keyboard.press('Control+k');
	await page.getByRole('dialog').waitFor();
	await settle(page);
	await page.keyboard.type(text);
	await settle(page);
	await page.keyboard.press('Enter');
	await page.getByRole('dialog').waitFor({ state: 'hidden' });
	await settle(page);
}

for (const view of views) {
	await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: view }).click();
	await settle(page);
	seen[view] = {};
	for (const form of ['CSV', 'Markdown']) {
		await command(`tables as ${form}`);
		seen[view][form] = await page.evaluate(() => window.copied);
	}
}
/** The SVG that is copied, as the browser draws it; how much of the first picture looks as the canvas does. */
async function drawnAgain(text) {
	const svg = new DOMParser().parseFromString(text, 'image/svg+xml');
	const image = Object.assign(new Image(), { src: `data:image/svg+xml,${encodeURIComponent(text)}` });
	await image.decode();
	const canvas = document.querySelector('.view canvas');
	const width = canvas.clientWidth;
	const height = canvas.clientHeight;
	const pixels = [[image, -26], [canvas, 0]].map(([source, top]) => {
		const context = new OffscreenCanvas(width, height).getContext('2d');
		context.fillStyle = getComputedStyle(canvas.closest('.panel, .chart, section')).backgroundColor;
		context.fillRect(0, 0, width, height);
		context.drawImage(source, 0, top, ...(source === canvas ? [width, height] : []));
		return context.getImageData(0, 0, width, height).data;
	});
	const alike = pixels[0].filter((v, i) => Math.abs(v - pixels[1][i]) < 32).length / pixels[0].length;
	const texts = [...svg.querySelectorAll('text')].map((t) => t.textContent);
	return { root: svg.documentElement.nodeName, pictures: svg.querySelectorAll('svg > g').length, texts, alike };
}
for (const view of ['Flame graph', 'Timeline']) {
	await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: view }).click();
	await settle(page);
	await command('copy the pictures');
	seen[`${view} as SVG`] = await page.evaluate(drawnAgain, await page.evaluate(() => window.copied));
}
if (name !== 'firefox') {
	await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: 'Flame graph' }).click();
	await settle(page);
	const wanted = page.waitForEvent('download');
	await command('as PNG');
	seen.picture = readFileSync(await (await wanted).path()).subarray(0, 8).toString('latin1');
}
await browser.close();
process.stdout.write(JSON.stringify({ ...seen, wrong }));
