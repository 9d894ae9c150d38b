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
const list = page.getByRole('combobox', { name: 'Look' }); // instead, where there are many
const shown = await page.locator('#memory-title').innerText();
const isList = (await list.count()) > 0;
const n = isList ? await list.locator('option').count() : await pills.count();
for (let i = 0; i < Math.max(n, 1); i++) {
	if (isList) {
		await list.selectOption({ index: i });
	} else if (n) {
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
		remarks: (await page.locator('section[aria-labelledby=memory-title] p.dim').allInnerTexts()).join(' '),
		owners,
		untouched: (await untouched.count()) ? await cells(untouched) : [],
	});
}
const history = page.locator('section[aria-labelledby=memory-history]');
const hasHistory = (await history.count()) > 0;
if (hasHistory) {
	await history.getByText('Show as table').click();
}
const overTime = hasHistory ? await cells(history.locator('table')) : [];
await show('v=memory&t=0-0.005');
const without = await page.locator('main').innerText();
await browser.close();
process.stdout.write(JSON.stringify({ shown, looks, overTime, without, wrong }));
