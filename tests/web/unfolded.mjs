// SPDX-License-Identifier: MIT
// A tree and a flame graph of library frames alone: node unfolded.mjs MODULES ADDRESS. Prints as JSON for each
// what the button says that shows them, and the rows of the tree before and after a click on it.

import { launch, open, settle } from './browser.mjs';

const [modules, address] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, `${address}#v=flame`);
const hint = page.getByRole('button', { name: 'not your code' });
const seen = { flame: await hint.innerText() };
await page.keyboard.press('3');
await settle(page);
seen.tree = await hint.innerText();
const rows = page.getByRole('treegrid').locator('.rows [role=row]');
seen.before = await rows.allInnerTexts();
await hint.click();
await settle(page);
seen.after = await rows.allInnerTexts();
seen.isLeft = await hint.isVisible();
await browser.close();
process.stdout.write(JSON.stringify({ ...seen, wrong }));
