// SPDX-License-Identifier: MIT
// Tables are ordered by their heads: node ordered.mjs MODULES ADDRESS BROWSER
// Prints, for each table and column of each view, what the rows said in order, and what the address kept, as JSON.

import { launch, open, settle } from './browser.mjs';

const [modules, address, name] = process.argv.slice(2);
const browser = await launch(modules, name);
const { page, wrong } = await open(browser, address);
const seen = { tables: [], unordered: [] };

const HEADS = '[aria-sort]';
const hash = () => page.evaluate(() => decodeURIComponent(location.hash.slice(1)));

/** Each table of the view, each column that can be ordered by: how it says so, and its cells. */
async function orderAll(view) {
	const tables = page.locator('table:visible, [role=treegrid]:visible');
	for (let i = 0; i < (await tables.count()); i++) {
		const table = tables.nth(i);
		const title = await table.evaluate((t) => t.closest('section')?.querySelector('h2')?.textContent ?? t.ariaLabel);
		const heads = table.locator(HEADS);
		if (!(await heads.count())) {
			seen.unordered.push(`${view}: ${title}`);
		}
		for (let k = 0; k < (await heads.count()); k++) {
			const head = heads.nth(k);
			const said = [];
			for (let turn = 0; turn < 3; turn++) {
				await head.getByRole('button').focus();
				await page.keyboard.press('Enter');
				await settle(page);
				said.push([
					await head.getAttribute('aria-sort'),
					await table.evaluate((t, at) => {
						const column = [...t.querySelectorAll('[aria-sort]')][at];
						const place = [...column.parentElement.children].indexOf(column);
						// Of a tree those that it opens down to: they are below one node
						const rows = t.tBodies ? [...t.tBodies[0].rows] : [...t.querySelectorAll('.rows > [role=row]')];
						const deepest = Math.max(...rows.map((row) => row.ariaLevel ?? 0));
						return rows.filter((row) => (row.ariaLevel ?? 0) == deepest).map((row) => (row.children[place].querySelector('.name') ?? row.children[place]).textContent.trim());
					}, k),
				]);
			}
			seen.tables.push({ view, title, head: await head.textContent(), said });
		}
	}
}

const tabs = page.getByRole('navigation', { name: 'Views' }).getByRole('button');
for (const view of await tabs.all()) {
	await view.click();
	await settle(page);
	await orderAll(await view.textContent());
}

await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: 'Never freed' }).click();
await page.getByRole('columnheader', { name: 'blocks never freed' }).getByRole('button').click();
await settle(page);
seen.address = await hash();
await page.reload();
await page.locator('#app:not([aria-busy=true])').waitFor();
seen.kept = await page.getByRole('columnheader', { name: 'blocks never freed' }).getAttribute('aria-sort');

await browser.close();
process.stdout.write(JSON.stringify({ ...seen, wrong }));
