// SPDX-License-Identifier: MIT
// What every view says of a recording, as a person reads it: node foreign.mjs MODULES ADDRESS...
// Prints for each address the text of the head and of each view, of the tree where the address asks for allocations, and
// of the third compared with the second, as JSON.

import { fileURLToPath } from 'node:url';
import { launch, open, settle } from './browser.mjs';

const [modules, ...addresses] = process.argv.slice(2);
const browser = await launch(modules);
const all = [];
const wrong = [];
for (const address of addresses) {
	const tab = await open(browser, address);
	const seen = { head: await tab.page.getByRole('banner').innerText() };
	for (const view of await tab.page.getByRole('navigation', { name: 'Views' }).getByRole('button').all()) {
		await view.click();
		await settle(tab.page);
		seen[await view.innerText()] = await tab.page.locator('main').innerText();
	}
	await tab.page.evaluate(() => (location.hash = 'v=tree&m=allocations'));
	await settle(tab.page);
	seen.asked = await tab.page.locator('main').innerText();
	if (address === addresses[2]) {
		await tab.page.evaluate(() => (location.hash = 'v=compare'));
		await tab.page.getByLabel('Page to compare with').setInputFiles(fileURLToPath(addresses[1]));
		const totals = tab.page.getByRole('region', { name: /^Before/ });
		await totals.waitFor();
		seen.totals = await totals.getByRole('row').allInnerTexts();
		await tab.page.getByRole('button', { name: 'Never freed', exact: true }).click();
		await settle(tab.page);
		seen.changed = await tab.page.locator('main').innerText();
	}
	wrong.push(...tab.wrong);
	all.push(seen);
	await tab.context.close();
}
await browser.close();
process.stdout.write(JSON.stringify({ all, wrong }));
