// SPDX-License-Identifier: MIT
// What points to live blocks: node held.mjs MODULES ADDRESS BROWSER [SIDE=INDEX ...]
// Prints as JSON the tables of the Memory view, after looks were chosen; without choices, also where a
// holder and a grade lead, and what Never freed says.

import { launch, open, settle } from './browser.mjs';

const [modules, address, name, ...choices] = process.argv.slice(2);
const browser = await launch(modules, name);
const { page, wrong } = await open(browser, `${address}#v=memory`);
const rowsOf = (title) =>
	page
		.getByRole('region', { name: title })
		.locator('tbody tr')
		.evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText.trim())));
for (const choice of choices) {
	const [side, index] = choice.split('=');
	await page.getByLabel(side).selectOption({ index: Number(index) });
	await settle(page);
}
const seen = {
	wrong,
	heads: await page
		.getByRole('region', { name: 'Who held them' })
		.locator('thead th')
		.allInnerTexts(),
	grades: await rowsOf('What pointed to live blocks'),
	holders: await rowsOf('Who held them'),
	classes: await rowsOf('Their C++ classes'),
};
if (choices.length) {
	console.log(JSON.stringify(seen));
	await browser.close();
	process.exit();
}
await page.getByRole('button', { name: seen.holders[0][0], exact: true }).click();
await settle(page);
seen.holder = await page.evaluate(() => decodeURIComponent(location.hash.slice(1)));
await page.goBack();
await settle(page);
await page.getByRole('region', { name: 'What pointed to live blocks' }).getByRole('button').last().click();
await settle(page);
seen.grade = await page.evaluate(() => decodeURIComponent(location.hash.slice(1)));
await page.evaluate(() => (location.hash = '#v=never-freed'));
await settle(page);
seen.neverFreed = await rowsOf('Never freed');
console.log(JSON.stringify(seen));
await browser.close();
