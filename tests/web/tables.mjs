// SPDX-License-Identifier: MIT
// The tables of the overview as a person reads them: node tables.mjs MODULES ADDRESS. Prints, by metric, the cells
// of each row, and what stands below them; and what the list of all that was never freed says of each function.

import { launch, open } from './browser.mjs';

const [modules, address] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, address);
await page.locator('section.top').first().waitFor();
const tables = await page.evaluate(() => {
	const read = (table) => ({
		rows: [...table.querySelectorAll('tbody tr')].map((row) =>
			[...row.cells].map((cell) => (cell.querySelector('.name') ?? cell).innerText.trim()),
		),
		below: [...table.querySelectorAll('p')].map((p) => p.innerText).join(' '),
	});
	// "Never freed, by function", "Temporary allocations"
	const metricOf = (title) => title.toLowerCase().replace(/,.*| allocations$/, '').replace(' ', '-');
	const all = [...document.querySelectorAll('section.top')];
	return Object.fromEntries(all.map((table) => [metricOf(table.querySelector('h2').innerText), read(table)]));
});
await page.evaluate(() => (location.hash = 'v=never-freed&m=never-freed'));
const list = page.locator('table.growth tbody tr');
await list.or(page.locator('.empty')).first().waitFor();
const told = await list.evaluateAll((rows) =>
	rows.map((row) => ['.name', '.place', '.sentence'].map((part) => row.querySelector(part)?.innerText.trim() ?? '')),
);
await browser.close();
process.stdout.write(JSON.stringify({ tables, told, wrong }));
