// SPDX-License-Identifier: MIT
// What a treemap shows: node treemap.mjs MODULES ADDRESS BROWSER
// Prints as JSON the names of groups, and of each tile its text, its title and its share of the map; and what figures
// are cut; what it says of a metric that counts, and what a tip of the flame graph does.

import { launch, open, settle } from './browser.mjs';

const [modules, address, name] = process.argv.slice(2);
const browser = await launch(modules, name);
const seen = {};
for (const width of [1440, 390]) {
	const { page, context, wrong } = await open(browser, `${address}#v=flame&dir=map`, { width });
	seen[width] = await page.evaluate(() => {
		const map = document.querySelector('.treemap');
		const area = map.clientWidth * map.clientHeight;
		const tiles = [...map.querySelectorAll('button')].map((tile) => ({
			title: tile.title,
			texts: [...tile.querySelectorAll('span')].map((span) => span.textContent),
			share: (tile.offsetWidth * tile.offsetHeight) / area,
		}));
		const texts = [...map.querySelectorAll('h2, span')].filter((part) => part.scrollWidth > part.clientWidth + 1);
		const cut = texts.map((part) => part.textContent).filter((text) => /\d\s(kB|MB|B|%)/.test(text));
		return { groups: [...map.querySelectorAll('h2')].map((head) => head.title), tiles, cut };
	});
	// A tile of a runtime selects the function that it is of
	await page.locator('.treemap button').first().click();
	await settle(page);
	seen[width].selected = await page.locator('.details h2').first().textContent();
	seen[width].wrong = wrong;
	await page.evaluate(() => (location.hash = 'v=flame&dir=map&m=allocations'));
	await settle(page);
	seen[width].counted = await page.evaluate(() => [
		...[...document.querySelectorAll('.treemap button, .treemap h2')].map((part) => part.title.split('\n').at(-1)),
		...[...document.querySelectorAll('.treemap span:last-child')].map((part) => part.textContent).filter(Boolean),
	]);
	await page.evaluate(() => (location.hash = 'v=flame&m=allocations'));
	await settle(page);
	const box = await page.getByRole('tree').boundingBox();
	await page.mouse.move(box.x + 20, box.y + 10);
	seen[width].tip = await page.getByRole('tooltip').innerText();
	await context.close();
}
await browser.close();
process.stdout.write(JSON.stringify(seen));
