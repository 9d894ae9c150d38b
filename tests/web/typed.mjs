// SPDX-License-Identifier: MIT
// A range of time that is typed: node typed.mjs MODULES ADDRESS BROWSER TEXT...
// Prints for each text what the address says of the range, what the field and the chip show, and if it is refused, as JSON.

import { launch, open, settle } from './browser.mjs';

const [modules, address, name, ...texts] = process.argv.slice(2);
const browser = await launch(modules, name);
const { page, wrong } = await open(browser, `${address}#v=flame`);
const field = () => page.getByRole('textbox', { name: 'Range of time' });
const seen = [];

async function type(text) {
	const before = await page.evaluate(() => location.hash);
	await field().fill(text);
	await field().press('Enter');
	await settle(page);
	// The address follows what is shown, on a busy machine later; what is typed again changes nothing
	await page
		.waitForFunction((was) => location.hash !== was, before, { timeout: 500 })
		.catch(() => undefined);
	const words = new URLSearchParams(await page.evaluate(() => location.hash.slice(1)));
	return {
		range: words.get('t'),
		shown: await field().inputValue(),
		chips: await page.locator('.chip').evaluateAll((all) => all.map((chip) => chip.innerText.replace(/\s+/g, ' '))),
		isRefused: (await field().getAttribute('aria-invalid')) === 'true',
	};
}

for (const text of texts) {
	const once = await type(text);
	seen.push({ text, ...once, again: once.isRefused ? null : (await type(once.shown)).range });
}
for (const view of ['Overview', 'Timeline', 'Threads']) {
	await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: view }).click();
	await field().waitFor();
}
await browser.close();
process.stdout.write(JSON.stringify({ seen, wrong }));
