// SPDX-License-Identifier: MIT
// The page that opens any recording, in a browser: node viewer.mjs MODULES ADDRESS BAD FIRST SECOND PAGE BROWSER.
// Prints what it says of a file that it cannot open, its overview of the first, chosen, and its comparison after the
// second was dropped; what it asked the network for; and the overview of PAGE, which is of the first.

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { launch, open, settle } from './browser.mjs';

const [modules, address, bad, first, second, pageOfFirst, name] = process.argv.slice(2);
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
