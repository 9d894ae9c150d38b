// SPDX-License-Identifier: MIT
// The details of main(): node details.mjs MODULES ADDRESS
// Prints what is said of its stacks while the cost is changed, however short, and how many rows its sizes have before
// and after a press on "N more", with that text, as JSON.

import { launch, open, settle } from './browser.mjs';

const [modules, address] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, `${address}#v=tree&sel=main`);
await page.evaluate(() => {
	globalThis.said = [];
	const listen = () =>
		globalThis.said.push(
			...[...document.querySelectorAll('.stack-head')].map((head) => head.textContent),
		);
	const how = { subtree: true, childList: true, characterData: true };
	new MutationObserver(listen).observe(document.querySelector('.details'), how);
});
for (const cost of ['Allocations', 'Allocated bytes', 'Never freed', 'Temporary', 'Peak']) {
	await page.getByRole('group', { name: 'Cost' }).getByRole('button', { name: cost, exact: true }).click();
	await settle(page);
}
const said = await page.evaluate(() => globalThis.said);
const sizes = page.locator('.details h3', { hasText: /^Sizes/ }).locator('~ table').first();
const more = sizes.locator('+ button');
const rows = [await sizes.locator('tr').count()];
const text = await more.textContent();
await more.click();
rows.push(await sizes.locator('tr').count());
await browser.close();
process.stdout.write(JSON.stringify({ said, more: { rows, text }, wrong }));
