// SPDX-License-Identifier: MIT
// What each view says under a lens: node under_lens.mjs MODULES ADDRESS VIEW:LENS...
// Prints for each the rows of its tables, by their heads, what its charts are called, its hints, notes and cards, as JSON.

import { launch, open, settle } from './browser.mjs';

const [modules, address, ...wanted] = process.argv.slice(2);
const browser = await launch(modules);
const views = [];
const wrong = [];

function read() {
	const text = (element) => element.textContent.trim();
	const tableOf = (table) => {
		const heads = [...table.tHead.rows[0].cells].map(text);
		const rows = [...table.tBodies[0].rows].map((row) =>
			Object.fromEntries([...row.cells].map((cell, i) => [heads[i], text(cell)])),
		);
		return [table.closest('section')?.querySelector('h2')?.textContent ?? '', rows];
	};
	const all = (selector) => [...document.querySelectorAll(selector)];
	return {
		tables: all('table.data').map(tableOf),
		charts: all('.timechart').map((chart) => chart.getAttribute('aria-label')),
		hints: all('.hint').map(text),
		notes: all('.notices li').map(text),
		costs: all('.metrics button').map(text),
		cards: all('.card').map((card) => ['h2', '.number'].map((of) => text(card.querySelector(of)))),
	};
}

for (const words of wanted) {
	const [view, lens] = words.split(/:(.*)/s);
	const tab = await open(browser, `${address}#v=${view}&${lens}`);
	if (view === 'timeline') {
		await tab.page.getByRole('button', { name: 'Cumulative' }).click();
		await settle(tab.page);
	}
	views.push(await tab.page.evaluate(read));
	wrong.push(...tab.wrong);
	await tab.context.close();
}
await browser.close();
process.stdout.write(JSON.stringify({ views, wrong }));
