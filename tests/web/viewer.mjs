// SPDX-License-Identifier: MIT
// The page that opens any recording, in a browser: node viewer.mjs MODULES ADDRESS BAD FIRST SECOND PAGE SAVED BROWSER.
// Prints what it says of a file that it cannot open, its overview of the first, chosen, and its comparison after the
// second was dropped; what it asked the network for; the overview of PAGE, which is of the first,
// and of the page that the viewer saved as SAVED, where Playwright is told of downloads.

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { launch, open, settle } from './browser.mjs';

const [modules, address, bad, first, second, pageOfFirst, saved, name] = process.argv.slice(2);
const browser = await launch(modules, name);
const context = await browser.newContext({
	viewport: { width: 1440, height: 900 },
	reducedMotion: 'reduce',
	offline: true,
});
context.setDefaultTimeout(120_000);
const page = await context.newPage();
const seen = { wrong: [], requests: [] };
page.on('pageerror', (error) => seen.wrong.push(error.stack ?? error.message));
page.on('console', (message) => seen.wrong.push(message.text()));
page.on('request', (request) => {
	if (!/^(data|blob):/.test(request.url()) && request.url() !== address) {
		seen.requests.push(request.url());
	}
});

await page.goto(address);
await page.getByLabel('Recording').setInputFiles(bad);
seen.refused = await page.getByRole('alert').innerText();
await page.getByLabel('Recording').setInputFiles(first);
await page.getByRole('navigation', { name: 'Views' }).waitFor();
await page.locator('#app:not([aria-busy=true])').waitFor();
await settle(page);
seen.title = await page.title();
seen.overview = await page.getByRole('main').innerText();

if (name !== 'firefox') {
	const wanted = page.waitForEvent('download');
	await page.getByRole('button', { name: 'Save as one file' }).click();
	const download = await wanted;
	seen.savedAs = download.suggestedFilename();
	await download.saveAs(saved);
	const alone = await open(browser, `file://${saved}`);
	seen.saved = await alone.page.getByRole('main').innerText();
	seen.wrong.push(...alone.wrong);
	seen.parts = await alone.page.evaluate(() => document.querySelectorAll('#engine, #worker, #profile, #rest').length);
	await alone.context.close();
}

const dropped = await page.evaluateHandle(
	([base64, name]) => {
		const transfer = new DataTransfer();
		transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
		return transfer;
	},
	[readFileSync(second).toString('base64'), basename(second)],
);
await page.dispatchEvent('body', 'drop', { dataTransfer: dropped });
await page.locator('main', { hasText: basename(second) }).waitFor();
await settle(page);
seen.compared = await page.getByRole('main').innerText();
const other = await open(browser, pageOfFirst);
seen.expected = await other.page.getByRole('main').innerText();
await browser.close();
process.stdout.write(JSON.stringify(seen));
