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
if (name !== 'firefox') {
	await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: 'Flame graph' }).click();
	await settle(page);
	const wanted = page.waitForEvent('download');
	await command('as PNG');
	seen.picture = readFileSync(await (await wanted).path()).subarray(0, 8).toString('latin1');
}
await browser.close();
process.stdout.write(JSON.stringify({ ...seen, wrong }));
