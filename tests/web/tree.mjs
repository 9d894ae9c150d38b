// SPDX-License-Identifier: MIT
// A recording of several processes: node tree.mjs MODULES ADDRESS COMMAND
// Prints as JSON what is said of them, and what a click on one of COMMAND, on the command itself and on their bands shows.

import { launch, open, settle } from './browser.mjs';

const [modules, address, command] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, address);
const seen = { wrong };

const hash = () => page.evaluate(() => decodeURIComponent(location.hash.slice(1)));
const chip = () => page.locator('.chip').allInnerTexts();
const tab = async (name) => {
	await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name }).click();
	await settle(page);
};
const region = (name) => page.getByRole('region', { name });
const table = (name) =>
	region(name).locator('table').evaluate((of) => {
		const heads = [...of.tHead.rows[0].cells].map((cell) => cell.innerText.trim());
		return [...of.tBodies[0].rows].map((row) => ({
			...Object.fromEntries([...row.cells].map((cell, i) => [heads[i], cell.innerText.trim()])),
			indent: parseFloat(getComputedStyle(row.cells[0]).paddingLeft),
			curve: row.querySelector('.spark path')?.getAttribute('d'),
		}));
	});
const main = () => page.locator('main').innerText();
const click = async (button) => {
	await button.click();
	await settle(page);
};

seen.header = await page.locator('.title').innerText();
seen.overview = await main();
await click(page.getByRole('button', { name: /^\d+ processes$/ }));
seen.view = await hash();
seen.commands = await table('Commands');
seen.processes = await table(/^\d+ processes$/);
seen.threads = await table('Threads');

// A process: in every view, in the chip, and away again
const process_ = () => region(/^\d+ processes$/).getByRole('button', { name: `${command} (` }).first();
await click(process_());
seen.chosen = { hash: await hash(), chip: await chip(), isPressed: await process_().getAttribute('aria-pressed') };
seen.chosen.threads = await table('Threads');
await page.mouse.move(0, 0);
seen.chosen.colours = await region(/^\d+ processes$/).locator('tbody tr').evaluateAll((rows) =>
	rows.map((row) => [row.querySelector('button').ariaPressed, getComputedStyle(row).backgroundColor]));
await tab('Flame graph');
seen.chosen.flame = await page.locator('[role=treeitem]').last().textContent();
await tab('Never freed');
seen.chosen.neverFreed = await table(/^Never freed/);
await tab('Timeline');
seen.chosen.charts = await page.locator('.timechart').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
await page.evaluate(() => (navigator.clipboard.writeText = async (text) => (window.copied = text)));
await page.keyboard.press('Control+k');
await page.getByRole('dialog').waitFor();
await page.keyboard.type('heaptrack_print');
await page.keyboard.press('Enter');
await settle(page);
seen.chosen.copied = await page.evaluate(() => window.copied);
await page.getByRole('button', { name: /^Remove process/ }).click();
await settle(page);
seen.removed = await hash();
await page.goBack();
await settle(page);
seen.back = await hash();

// In a range
await page.evaluate(() => (location.hash = 'v=threads&t=start-peak'));
await settle(page);
seen.ranged = { processes: await table(/^\d+ processes$/), commands: await table('Commands') };

// A command beside it
await page.evaluate((words) => (location.hash = words), seen.chosen.hash);
await settle(page);
await tab('Processes');
await click(region('Commands').getByRole('button', { name: command, exact: true }));
seen.both = { hash: await hash(), chip: await chip() };
await click(page.getByRole('button', { name: 'reset' }));

// Bands by process and by command are links
await tab('Timeline');
await click(page.getByRole('button', { name: 'River', exact: true }));
seen.bands = {};
for (const by of ['process', 'command', 'thread']) {
	await page.getByLabel('Stacked by').selectOption(by);
	await settle(page);
	const links = page.locator('.river').getByRole('link');
	const labels = await links.evaluateAll((all) => all.map((link) => link.getAttribute('aria-label')));
	await links.first().focus();
	await page.keyboard.press('Enter');
	await settle(page);
	seen.bands[by] = { labels, hash: await hash() };
	await page.goBack();
	await settle(page);
}

await tab('Memory');
seen.memory = await main();
await page.evaluate(() => (location.hash = 'v=flame&process=99999999'));
await settle(page);
seen.unknown = await chip();

// On a phone nothing lies outside
await page.setViewportSize({ width: 390, height: 844 });
await tab('Processes');
seen.overflow = await page.evaluate(() => [
	document.documentElement.scrollWidth - innerWidth,
	...[...document.querySelectorAll('main table')].map((of) => of.scrollWidth - of.clientWidth),
]);
await browser.close();
process.stdout.write(JSON.stringify(seen));
