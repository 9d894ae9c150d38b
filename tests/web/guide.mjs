// SPDX-License-Identifier: MIT
// What a card of the first screen says, and a picture of the screen: node guide.mjs MODULES ADDRESS CARD [PICTURE]

import { launch, open, picture } from './browser.mjs';
import { writeFileSync } from 'node:fs';

const [modules, address, card, out] = process.argv.slice(2);
const browser = await launch(modules);
const { page } = await open(browser, address, { width: 1100, height: 720 });
const text = await page.locator(`[aria-labelledby=card-${card}]`).innerText();
if (out) {
	writeFileSync(out, await picture(page));
}
await browser.close();
process.stdout.write(text.replace(/\s+/g, ' ').replace(/[[\]]/g, '') + '\n');
