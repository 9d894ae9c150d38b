// SPDX-License-Identifier: MIT
// How a page tells functions of one name apart: node alike.mjs MODULES ADDRESS NAME
// Prints the rows of the list of functions with that name, and the bands of the heap over time, as JSON.

import { launch, open } from './browser.mjs';

const [modules, address, name] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, `${address}#v=tree&mode=fn&m=bytes`);
const rows = await page.locator('.functions .name').evaluateAll(
	(cells, wanted) => cells.filter((cell) => cell.title === wanted).map((cell) => cell.innerText.trim()),
	name,
);
await page.getByRole('button', { name: 'Overview' }).click();
const bands = await page.locator('.legend code').allTextContents();
await browser.close();
process.stdout.write(JSON.stringify({ rows, bands, wrong }));
