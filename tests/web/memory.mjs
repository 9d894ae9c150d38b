// SPDX-License-Identifier: MIT
// The view of resident memory: node memory.mjs MODULES ADDRESS. Prints as JSON what its tables say of each look, and
// what is said where the lens's time has none.

import { launch, open, settle } from './browser.mjs';

const [modules, address] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, address, { width: 1280, height: 900 });
const show = async (words) => {
	await page.evaluate((hash) => (location.hash = hash), words);
	await settle(page);
};
const cells = (table) =>
	table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText.trim())));
const looks = [];
await show('v=memory');
const pills = page.getByRole('group', { name: 'Look' }).getByRole('button');
const shown = await page.locator('#memory-title').innerText();
const n = await pills.count();
for (let i = 0; i < Math.max(n, 1); i++) {
	if (n) {
		await pills.nth(i).click();
	}
	const owners = {};
	const parts = page.locator('table.waterfall').getByRole('button');
	for (let k = 0; k < (await parts.count()); k++) {
		await parts.nth(k).click();
		owners[await parts.nth(k).innerText()] = await cells(page.locator('section[aria-labelledby=owners-title] table'));
	}
	const untouched = page.locator('section[aria-labelledby=untouched-title] table');
	looks.push({
		title: await page.locator('#memory-title').innerText(),
		parts: await cells(page.locator('table.waterfall')),
		owners,
		untouched: (await untouched.count()) ? await cells(untouched) : [],
	});
}
await show('v=memory&t=0-0.005');
const without = await page.locator('main').innerText();
await browser.close();
process.stdout.write(JSON.stringify({ shown, looks, without, wrong }));
