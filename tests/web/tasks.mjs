// SPDX-License-Identifier: MIT
// "A person can ...": node tasks.mjs MODULES ADDRESS TASK,TASK... OPTIONS-AS-JSON
// Does what a person would do, by words and roles alone; each task in a fresh profile of the
// browser. Prints what they see: one JSON object, by task.

import { writeFileSync } from 'node:fs';
import { focusedBox, launch, open } from './browser.mjs';

const [modules, address, names, given] = process.argv.slice(2);
const options = JSON.parse(given ?? '{}');

const tab = (page, name) => page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name });
const card = (page, name) => page.getByRole('region', { name, exact: true }).first();
const lensOf = async (page) => {
	await page.waitForTimeout(150); // the address follows
	return decodeURIComponent(new URL(page.url()).hash.slice(1));
};

/** Drags over the heap's curve, from one share of its width to another. */
async function drag(page, from, to) {
	const plot = await page.locator('.timechart .u-over').first().boundingBox();
	const y = plot.y + plot.height / 2;
	await page.mouse.move(plot.x + plot.width * from, y);
	await page.mouse.down();
	await page.mouse.move(plot.x + (plot.width * (from + to)) / 2, y, { steps: 4 });
	await page.mouse.move(plot.x + plot.width * to, y, { steps: 4 });
	await page.mouse.up();
}

async function flameTotal(page) {
	await page.getByRole('tree').first().focus();
	await page.keyboard.press('Home');
	return focusedBox(page);
}

const tasks = {
	async peak_owner({ page }) {
		const peak = card(page, 'Peak');
		return { text: await peak.innerText(), isOnScreen: (await peak.boundingBox()).y < 600 };
	},

	async leak({ page }) {
		return { text: await card(page, 'Never freed').innerText() };
	},

	async range_of_peak({ page }) {
		await page.keyboard.press('p');
		await tab(page, 'Flame graph').click();
		return { lens: await lensOf(page), total: await flameTotal(page) };
	},

	async drag_range({ page }) {
		await drag(page, 0.4, 0.62);
		const whileThere = await page.getByRole('group', { name: 'Lens' }).innerText();
		await tab(page, 'Flame graph').click();
		return { lens: await lensOf(page), total: await flameTotal(page), chips: whileThere };
	},

	async kept({ page }) {
		await drag(page, 0.1, 0.5);
		await page.getByRole('button', { name: 'Kept', exact: true }).click();
		await tab(page, 'Flame graph').click();
		return { lens: await lensOf(page), total: await flameTotal(page) };
	},

	async callers({ page }) {
		await tab(page, 'Tree').click();
		await page.keyboard.press('/');
		await page.keyboard.type('leakyParse');
		await page.keyboard.press('Enter');
		await page.keyboard.press('c');
		const grid = (name) => page.getByRole('treegrid', { name }).getByRole('row');
		return {
			lens: await lensOf(page),
			callers: await grid(/^Callers/).allInnerTexts(),
			callees: await grid(/^Callees/).allInnerTexts(),
		};
	},

	async unfold({ page }) {
		await tab(page, 'Flame graph').click();
		const before = await flameTotal(page);
		const tree = await page.getByRole('tree').boundingBox();
		const at = { x: tree.x + 150, y: tree.y + 4.5 * 22 };
		await page.mouse.click(at.x, at.y);
		const folded = await focusedBox(page);
		await page.keyboard.down('Shift');
		await page.mouse.click(at.x, at.y);
		await page.keyboard.up('Shift');
		await page.mouse.click(at.x, at.y);
		const unfolded = await focusedBox(page);
		return { before, folded, unfolded, after: await flameTotal(page) };
	},

	async source({ page }) {
		await card(page, 'Never freed').getByRole('button', { name: 'Stacks' }).click();
		await page.getByRole('button', { name: 'leakyParse()', exact: true }).click();
		return { source: await page.getByRole('region', { name: /^Source of/ }).innerText() };
	},

	async link({ page, browser }) {
		await tab(page, 'Flame graph').click();
		await page.keyboard.press('p');
		await page.keyboard.press('l');
		await page.getByRole('button', { name: 'Never freed', exact: true }).click();
		await page.mouse.move(2, 2); // over nothing
		await page.evaluate(() => document.activeElement?.blur());
		await page.waitForTimeout(400);
		const first = await page.screenshot();
		const other = await open(browser, page.url(), options);
		await other.page.mouse.move(2, 2);
		await other.page.waitForTimeout(400);
		const second = await other.page.screenshot();
		if (!first.equals(second)) {
			writeFileSync(`${options.folder}/link-first.png`, first);
			writeFileSync(`${options.folder}/link-second.png`, second);
		}
		return { lens: await lensOf(other.page), isSame: first.equals(second) };
	},

	async all_views({ page }) {
		const seen = {};
		for (const view of await tab(page, /./).all()) {
			await view.click();
			seen[await view.innerText()] = (await page.locator('main').innerText()).length;
		}
		return { seen };
	},

	async keyboard_only({ page }) {
		const peak = await card(page, 'Peak').innerText();
		await page.keyboard.press('p');
		await page.keyboard.press('2');
		await page.getByRole('tree').waitFor();
		for (let i = 0; i < 40; i++) {
			if (await page.evaluate(() => document.activeElement?.getAttribute('role') === 'tree')) {
				break;
			}
			await page.keyboard.press('Tab');
		}
		const walked = [];
		await page.keyboard.press('Home');
		for (let i = 0; i < 4; i++) {
			await page.keyboard.press('ArrowDown');
			walked.push(await focusedBox(page));
		}
		await page.keyboard.press('Space');
		await page.keyboard.press('m');
		await page.keyboard.press('k');
		const kept = await lensOf(page);
		await page.keyboard.press('3');
		await page.keyboard.press('/');
		await page.keyboard.type('leakyParse');
		await page.keyboard.press('Enter');
		await page.keyboard.press('c');
		const callers = await page.getByRole('treegrid', { name: /^Callers/ }).innerText();
		await page.keyboard.press('6');
		await page.keyboard.press('s');
		const source = await page.getByRole('region', { name: /^Source of/ }).innerText();
		await page.keyboard.press('?');
		const help = await page.getByRole('dialog', { name: 'Keys and words' }).innerText();
		await page.keyboard.press('Escape');
		await page.keyboard.press('Control+k');
		await page.keyboard.type('threads');
		await page.keyboard.press('Enter');
		const heading = await page.getByRole('heading', { name: 'Threads', exact: true }).innerText();
		return { peak, walked, kept, callers, source, help, heading };
	},

	async compare({ page }) {
		await tab(page, 'Compare').click();
		await page.getByLabel('Page to compare with').setInputFiles(options.other);
		const table = page.getByRole('region', { name: 'Functions that changed' });
		await table.waitFor();
		return { rows: await table.getByRole('row').allInnerTexts() };
	},

	async whole_text({ page }) {
		return { text: await page.locator('main').innerText() };
	},
};

/** One task, and what went wrong on its way. */
async function run(browser, task) {
	const opened = await open(browser, address, options);
	const folder = address.split('#')[0].replace(/[^/]*$/, '');
	let seen = {};
	try {
		seen = await tasks[task]({ ...opened, browser });
	} catch (error) {
		opened.wrong.push(`${error.stack}`);
	}
	await opened.context.close();
	const foreign = opened.requests.filter((url) => !url.startsWith(folder));
	return { ...seen, wrong: opened.wrong, foreign, requests: opened.requests.length };
}

const browser = await launch(modules);
const seen = {};
for (const task of names.split(',')) {
	seen[task] = await run(browser, task);
}
await browser.close();
process.stdout.write(JSON.stringify(seen));
