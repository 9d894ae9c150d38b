// SPDX-License-Identifier: MIT
// Where a row of the comparison leads: node changed.mjs MODULES ADDRESS NAME
// Presses the name of the function that begins so, and prints what is seen then, as JSON.

import { launch, open, settle } from './browser.mjs';

const [modules, address, name] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, `${address}#v=compare`);
const rows = page.getByRole('region', { name: 'Functions that changed' }).getByRole('row');
await rows.getByRole('button', { name }).click();
await settle(page);
const hash = await page.evaluate(() => decodeURIComponent(location.hash.slice(1)));
const row = await page.locator('[role=row][aria-selected=true]').first().textContent();
await browser.close();
process.stdout.write(JSON.stringify({ hash, row, wrong }));
