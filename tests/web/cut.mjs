// SPDX-License-Identifier: MIT
// A page whose profile is damaged: node cut.mjs MODULES ADDRESS. Prints as JSON what is read there.

import { launch } from './browser.mjs';

const [modules, address] = process.argv.slice(2);
const browser = await launch(modules);
const page = await browser.newPage();
await page.goto(address);
const alert = page.getByRole('alert');
await alert.waitFor({ timeout: 120_000 });
const report = page.locator('pre');
const seen = { why: await alert.innerText(), isShown: await report.isVisible(), report: await report.innerText() };
await browser.close();
process.stdout.write(JSON.stringify(seen));
