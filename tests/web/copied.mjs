// SPDX-License-Identifier: MIT
// What is copied out of the page: node copied.mjs MODULES ADDRESS BROWSER VIEW...
// Prints for each view its tables as CSV and as Markdown; what the pictures of others are as SVG and as PNG; and how
// what is saved begins, where Playwright is told of downloads. As JSON.

import { readFileSync } from 'node:fs';
import { launch, open, settle } from './browser.mjs';

const [modules, address, name, ...views] = process.argv.slice(2);
const browser = await launch(modules, name);
const { page, wrong } = await open(browser, address);
await page.evaluate(() => {
	const clipboard = {
		writeText: async (text) => void (window.copied = text),
		write: async ([item]) => void (window.copiedPng = await item.getType('image/png')),
	};
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
/** How large a PNG is, how many colours it has, and how much of its upper part looks as what is drawn on the canvas. */
async function asPng(canvas) {
	const image = await createImageBitmap(window.copiedPng);
	const seen = { type: window.copiedPng.type, width: image.width, height: image.height };
	delete window.copiedPng;
	const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
	context.drawImage(image, 0, 0);
	const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
	seen.colours = new Set(pixels).size;
	seen.isOpaque = pixels.every((pixel) => pixel >>> 24 === 255);
	if (!canvas) {
		return seen;
	}
	const [width, height] = [canvas.clientWidth, canvas.clientHeight];
	const [one, other] = [[image, 26], [canvas, 0]].map(([source, top]) => {
		const small = new OffscreenCanvas(width, height).getContext('2d');
		small.fillStyle = getComputedStyle(canvas.closest('.panel')).backgroundColor;
		small.fillRect(0, 0, width, height);
		const scale = source.width / width;
		small.drawImage(source, 0, top * scale, width * scale, height * scale, 0, 0, width, height);
		return small.getImageData(0, 0, width, height).data;
	});
	seen.alike = one.filter((v, i) => Math.abs(v - other[i]) < 32).length / one.length;
	return seen;
}
for (const view of ['Flame graph', 'Timeline']) {
	await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: view }).click();
	await settle(page);
	await command('copy the pictures');
	seen[`${view} as SVG`] = await page.evaluate(drawnAgain, await page.evaluate(() => window.copied));
	await command('copy the pictures of this view as PNG');
	await page.waitForFunction(() => window.copiedPng);
	seen[`${view} as PNG`] = await page.locator('.view canvas').first().evaluate(asPng);
}
// Each picture by itself, by the button beside it
seen.charts = [];
for (const button of await page.getByRole('button', { name: 'Copy the picture as PNG' }).all()) {
	await button.click();
	await page.waitForFunction(() => window.copiedPng);
	const canvas = page.locator('section:has(canvas)').nth(seen.charts.length).locator('canvas');
	seen.charts.push({ ...(await canvas.evaluate(asPng)), shown: (await canvas.boundingBox()).height });
}
await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: 'Flame graph' }).click();
await page.getByRole('button', { name: 'Treemap' }).click();
await settle(page);
await page.getByRole('button', { name: 'Copy the picture as PNG' }).click();
await page.waitForFunction(() => window.copiedPng);
seen.treemap = await page.evaluate(asPng);
// A browser whose clipboard takes no pictures saves them
await page.evaluate(() => delete navigator.clipboard.write);
if (name !== 'firefox') {
	const wanted = page.waitForEvent('download');
	await page.getByRole('button', { name: 'Copy the picture as PNG' }).click();
	const file = await wanted;
	seen.saved = [file.suggestedFilename(), readFileSync(await file.path()).subarray(0, 8).toString('latin1')];
} else {
	await page.getByRole('button', { name: 'Copy the picture as PNG' }).click();
}
await page.getByText('Saved as PNG').waitFor({ state: 'attached' });
if (name !== 'firefox') {
	await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: 'Flame graph' }).click();
	await settle(page);
	const wanted = page.waitForEvent('download');
	await command('Save the pictures of this view as PNG');
	seen.picture = readFileSync(await (await wanted).path()).subarray(0, 8).toString('latin1');
}
await browser.close();
process.stdout.write(JSON.stringify({ ...seen, wrong }));
