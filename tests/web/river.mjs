// SPDX-License-Identifier: MIT
// The river of the timeline: node river.mjs MODULES ADDRESS BROWSER
// Prints as JSON what its bands say and where they lead, by pointer and by keys.

import { drawn, launch, open, settle } from './browser.mjs';

const [modules, address, name] = process.argv.slice(2);
const browser = await launch(modules, name);
const seen = { wrong: [] };

const river = (page) => page.locator('.river');
const said = async (page) => (await drawn(page), (await river(page).locator('p').innerText()).trim());
const words = (page) => page.evaluate(() => decodeURIComponent(location.hash.slice(1)));
const bands = (page) => river(page).getByRole('link').evaluateAll((links) => links.map((link) => link.getAttribute('aria-label')));

/** A point of a band, where nothing stands above it. */
async function pointIn(page, label) {
	const at = await river(page).getByRole('link', { name: `Only ${label},` }).evaluate((link) => {
		const box = link.querySelector('path').getBoundingClientRect();
		for (let y = box.bottom - 3; y > box.top; y -= 2) {
			for (let x = box.left + 3; x < box.right; x += 4) {
				if (document.elementFromPoint(x, y)?.closest('a') === link) {
					return { x, y };
				}
			}
		}
		return null;
	});
	return at;
}

async function fresh(hash, options) {
	const one = await open(browser, `${address}#${hash}`, options);
	seen.wrong = one.wrong;
	return one.page;
}

let page = await fresh('v=timeline');
await page.getByRole('button', { name: 'River', exact: true }).click();
await settle(page);
seen.address = await words(page);
seen.bands = await bands(page);
seen.texts = await river(page).locator('text').allTextContents();

// By pointer
const at = await pointIn(page, 'spike()');
await page.mouse.move(at.x, at.y);
seen.hovered = await said(page);
await page.mouse.move(2, 2);
seen.left = await said(page);
await page.mouse.click(at.x, at.y);
await settle(page);
seen.clicked = await words(page);
seen.chip = await page.locator('.chip').innerText();
await page.goBack();
await settle(page);
seen.back = await words(page);

// By keys
const link = river(page).getByRole('link', { name: 'Only makeSession(),' });
await link.focus();
seen.focused = await said(page);
await page.keyboard.press('Enter');
await settle(page);
seen.entered = await words(page);
await page.goBack();
await settle(page);

// Its legend switches a band; its own link opens elsewhere
await page.locator('.legend').getByRole('button', { name: 'spike()' }).click();
await settle(page);
seen.switched = await bands(page);
const href = await link.getAttribute('href');
await page.context().close();

page = await fresh(`${href.slice(1)}`);
seen.elsewhere = await page.locator('.chip').innerText();
await page.context().close();

// Under a range; by thread; in other looks
page = await fresh('v=timeline&river=1&t=50%25-end', { theme: 'dark', width: 390, height: 844 });
seen.late = { title: await river(page).getByRole('group').getAttribute('aria-label'), bands: await bands(page) };
seen.overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
await page.getByLabel('Stacked by').selectOption('thread');
await settle(page);
await river(page).getByRole('link').first().focus();
await page.keyboard.press('Enter');
await settle(page);
seen.thread = await words(page);
await page.emulateMedia({ forcedColors: 'active' });
await settle(page);
seen.hasForcedColours = await page.evaluate(() => matchMedia('(forced-colors: active)').matches);
seen.stroke = await river(page).locator('path').first().evaluate((path) => getComputedStyle(path).stroke);
await browser.close();
process.stdout.write(JSON.stringify(seen));
