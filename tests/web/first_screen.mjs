// SPDX-License-Identifier: MIT
// What can be read of a page before anything is scrolled: node first_screen.mjs MODULES ADDRESS. Prints as JSON
// the texts that end above the lower edge of a window of 1280 x 800.

import { launch, open, settle } from './browser.mjs';

const [modules, address] = process.argv.slice(2);
const browser = await launch(modules);
const { page } = await open(browser, address, { width: 1280, height: 800 });
await settle(page);
const seen = await page.evaluate(() => {
	const PARTS = { head: 'header', peak: '[aria-labelledby=card-peak]', growing: '[aria-labelledby=card-growing]' };
	/** Only what is in the window, word by word of a card's number and its sentences. */
	const read = (part) =>
		[...part.querySelectorAll('h1, h2, .number, .main, .more, span, p')]
			.filter((one) => one.getBoundingClientRect().bottom <= innerHeight && one.getBoundingClientRect().height > 0)
			.map((one) => one.innerText)
			.join('\n');
	return Object.fromEntries(Object.entries(PARTS).map(([name, path]) => [name, read(document.querySelector(path))]));
});
await browser.close();
process.stdout.write(JSON.stringify(seen));
