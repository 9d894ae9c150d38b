// SPDX-License-Identifier: MIT
// Tables are ordered by their heads: node ordered.mjs MODULES ADDRESS BROWSER
// Prints, for each table and column of each view, what the rows said in order, and what the address kept, as JSON.

import { drawn, launch, open, settle } from './browser.mjs';

const [modules, address, name] = process.argv.slice(2);
const browser = await launch(modules, name);
const { page, wrong } = await open(browser, address);
const seen = { tables: [], unordered: [], byKey: [] };

const hash = () => page.evaluate(() => decodeURIComponent(location.hash.slice(1)));

/** What a table is called; for each head what it says when it is pressed three times: its order, and its cells. */
async function orderBy(table) {
	const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	const columns = () => [...table.querySelectorAll('[aria-sort]')];
	const read = (column) => {
		const place = [...column.parentElement.children].indexOf(column);
		// Of a tree those that it opens down to: they are below one node
		const rows = table.tBodies ? [...table.tBodies[0].rows] : [...table.querySelectorAll('.rows > [role=row]')];
		const deepest = Math.max(...rows.map((row) => row.ariaLevel ?? 0));
		const cells = rows.filter((row) => (row.ariaLevel ?? 0) == deepest).map((row) => row.children[place]);
		const texts = cells.map((cell) => (cell.querySelector('.name') ?? cell).textContent.trim());
		return [column.getAttribute('aria-sort'), texts];
	};
	const heads = [];
	for (let k = 0; k < columns().length; k++) {
		const said = [];
		for (let turn = 0; turn < 3; turn++) {
			columns()[k].querySelector('button').click();
			await drawn();
			said.push(read(columns()[k]));
		}
		heads.push({ head: columns()[k].textContent, said });
	}
	return { title: table.closest('section')?.querySelector('h2')?.textContent ?? table.ariaLabel, heads };
}

/** Each table of the view, by each column that it can be ordered by; by keyboard the first column of each. */
async function orderAll(view) {
	for (const table of await page.locator('table:visible, [role=treegrid]:visible, [role=grid]:visible').elementHandles()) {
		const { title, heads } = await table.evaluate(orderBy);
		if (!heads.length) {
			seen.unordered.push(`${view}: ${title}`);
			continue;
		}
		heads.forEach((column) => seen.tables.push({ view, title, ...column }));
		const button = await table.$('[aria-sort] button');
		const order = () => button.evaluate((of) => of.closest('[aria-sort]').getAttribute('aria-sort'));
		await button.press('Enter');
		await drawn(page);
		seen.byKey.push([heads[0].said[0][0], await order()]);
		await button.press('Enter');
		await button.press('Enter');
	}
}

const tabs = page.getByRole('navigation', { name: 'Views' }).getByRole('button');
for (const view of await tabs.all()) {
	await view.click();
	await settle(page);
	await orderAll(await view.textContent());
}

await page.evaluate(() => (location.hash = 'v=tree&mode=fn'));
await settle(page);
await orderAll('Functions');

await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: 'Never freed' }).click();
await page.getByRole('columnheader', { name: 'blocks never freed' }).getByRole('button').click();
await settle(page);
seen.address = await hash();
await page.reload();
await page.locator('#app:not([aria-busy=true])').waitFor();
seen.kept = await page.getByRole('columnheader', { name: 'blocks never freed' }).getAttribute('aria-sort');

await browser.close();
process.stdout.write(JSON.stringify({ ...seen, wrong }));
