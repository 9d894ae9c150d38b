// SPDX-License-Identifier: MIT
// Processes that are not told apart: node crowd.mjs MODULES ADDRESS PID-APART PID-NOT-APART
// Prints as JSON what an address with each says, and the latest process of the table, of the whole run and in a range.

import { launch, open, settle } from './browser.mjs';

const [modules, address, apart, other] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, address);
const seen = { wrong, notes: {}, chips: {}, latest: {} };

const go = async (words) => {
	await page.evaluate((hash) => (location.hash = hash), words);
	await settle(page);
};
for (const pid of [apart, other]) {
	await go(`v=flame&process=${pid}`);
	seen.notes[pid] = await page.getByRole('list', { name: 'Notes on the figures' }).allInnerTexts();
	seen.chips[pid] = await page.locator('.chip').allInnerTexts();
}
for (const range of ['', '&t=10%-90%']) {
	await go(`v=threads&sort=processes:3${range}`);
	const row = page.getByRole('region', { name: /^[\d,]+ processes$/ }).locator('tbody tr').first();
	seen.latest[range] = { text: await row.innerText(), links: await row.getByRole('button').count() };
}
await go('v=flame');
seen.afterwards = await page.getByText('not told apart').count();
await browser.close();
process.stdout.write(JSON.stringify(seen));
