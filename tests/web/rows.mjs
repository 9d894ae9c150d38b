// SPDX-License-Identifier: MIT
// The rows of a tree that is scrolled: node rows.mjs MODULES ADDRESS BROWSER
// Prints for each place that it is scrolled to the numbers of its rows: as screen readers are told, as they stand below
// each other, and the first and last that can be seen, as JSON.

import { launch, open, settle } from './browser.mjs';

const [modules, address, name] = process.argv.slice(2);
const browser = await launch(modules, name);
const { page, wrong } = await open(browser, `${address}#v=tree`);
await page.getByRole('treegrid').focus();
await page.keyboard.press('*');
await settle(page);
const seen = [];
for (const top of [0, 100, 333, 1777, 5000, 200, 1e6, 50]) {
	await page.evaluate((y) => (document.querySelector('.treegrid').scrollTop = y), top);
	await settle(page);
	seen.push(
		await page.evaluate(() => {
			const box = document.querySelector('.treegrid');
			const rows = [...box.querySelectorAll('.rows > [role=row]')];
			const numberOf = (row) => Number(row.getAttribute('aria-rowindex')) - 2;
			const owned = box.querySelector('.rows').getAttribute('aria-owns').split(' ');
			const bottom = box.scrollTop + box.clientHeight - box.querySelector('.th').offsetHeight;
			return {
				told: owned.map((id) => numberOf(document.getElementById(id))),
				stand: rows.sort((a, b) => a.offsetTop - b.offsetTop).map(numberOf),
				tops: rows.map((row) => row.offsetTop),
				outside: rows
					.map((row) => row.querySelector('.name:not(.cut)'))
					.filter((name) => name && name.scrollWidth > name.clientWidth + 1)
					.map((name) => name.innerText),
				shortened: rows
					.map((row) => row.querySelector('.name'))
					.map((name) => [name.title, name.innerText.trim()])
					.filter(([, text]) => text.replaceAll('<…>', '').includes('…')),
				first: Math.floor(box.scrollTop / 24),
				last: Math.ceil(bottom / 24) - 1,
				all: Number(box.getAttribute('aria-rowcount')) - 1,
			};
		}),
	);
}
await browser.close();
process.stdout.write(JSON.stringify({ seen, wrong }));
