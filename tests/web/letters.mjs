// SPDX-License-Identifier: MIT
// What the letters of a search fade: node letters.mjs MODULES ADDRESS TEXT
// Prints as JSON for each letter if the flame graph, in which boxes alone were drawn anew, looks as one that is drawn
// as a whole; and how many pictures differed.

import { drawn, launch, looksSame, open, picture, settle } from './browser.mjs';

const [modules, address, text] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, `${address}#v=flame`);
const ROW = 22; // points
const pictures = [];
const seen = [];
await page.keyboard.press('/');
for (const letter of text) {
	await page.keyboard.press(letter);
	await settle(page);
	pictures.push(await picture(page));
	// A canvas of another size is an empty one
	for (const width of [1400, 1440]) {
		await page.setViewportSize({ width, height: 900 });
		await drawn(page);
	}
	// A box that is drawn anew lies above what is less wide than a point beside it
	seen.push(await looksSame(browser, pictures.at(-1), await picture(page), 30 * 3 * ROW));
}
await browser.close();
const differed = pictures.filter((one, i) => i > 0 && !one.equals(pictures[i - 1])).length;
process.stdout.write(JSON.stringify({ seen, differed, wrong }));
