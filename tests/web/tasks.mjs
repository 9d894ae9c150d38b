// SPDX-License-Identifier: MIT
// "A person can ...": node tasks.mjs MODULES ADDRESS TASK,TASK... OPTIONS-AS-JSON
// Does what a person would do, by words and roles alone; each task as if in a fresh profile of the
// browser. Prints what they see: one JSON object, by task.
//
// Options: theme, width, height; folder (for files), of (a function of the recording, in full),
// other (a recording's file or page to compare with).

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { focusedBox, launch, looksSame, open, picture, reopen, settle } from './browser.mjs';

const [modules, address, names, given] = process.argv.slice(2);
const options = JSON.parse(given ?? '{}');

const tab = (page, name) => page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name });
const card = (page, name) => page.getByRole('region', { name, exact: true }).first();
const main = (page) => page.locator('main');
const nothing = (page) => main(page).locator('.nothing').first();
const isEmpty = (page) => main(page).getByText('The recorder saw no allocation').isVisible();

async function lensOf(page) {
	await settle(page);
	return decodeURIComponent(new URL(page.url()).hash.slice(1));
}

/** Drags over the heap's curve, from one share of its width to another. */
async function drag(page, from, to) {
	const chart = page.locator('.timechart .plot').first();
	await chart.scrollIntoViewIfNeeded();
	const plot = await chart.boundingBox();
	const y = plot.y + plot.height / 2;
	await page.mouse.move(plot.x + plot.width * from, y);
	await page.mouse.down();
	await page.mouse.move(plot.x + (plot.width * (from + to)) / 2, y, { steps: 4 });
	await page.mouse.move(plot.x + plot.width * to, y, { steps: 4 });
	await page.mouse.up();
	await settle(page);
}

/** What the root of the flame graph says; or that nothing is left. */
async function flameTotal(page) {
	await settle(page);
	if (await nothing(page).isVisible()) {
		return nothing(page).innerText();
	}
	await page.getByRole('tree').first().focus();
	await page.keyboard.press('Home');
	return focusedBox(page);
}

async function inFlame(page) {
	await tab(page, 'Flame graph').click();
	return { lens: await lensOf(page), total: await flameTotal(page) };
}

/** Steps down from the root, at the heaviest, to a run of library frames; '': there is none. */
async function walkToRun(page) {
	await flameTotal(page);
	for (let i = 0, last = ''; i < 60; i++) {
		const box = await focusedBox(page);
		if (/ \+\d+, /.test(box)) {
			return box;
		}
		await page.keyboard.press('ArrowDown');
		if (box === last) {
			await page.keyboard.press('ArrowRight');
		}
		last = box;
	}
	return '';
}

async function rows(page, name) {
	const grid = page.getByRole('treegrid', { name });
	await grid.waitFor();
	return grid.getByRole('row').allInnerTexts();
}

async function findCallers(page) {
	await page.keyboard.press('/');
	await page.keyboard.type(options.of);
	await page.getByRole('status').getByText(/^\d+ functions?, .*%/).waitFor();
	await page.keyboard.press('Enter');
	await page.keyboard.press('c');
	await settle(page);
	return {
		lens: await lensOf(page),
		callers: await rows(page, /^Callers/),
		callees: await rows(page, /^Callees/),
	};
}

/** The pane beside a view, once what it reads from elsewhere is there. */
async function details(page) {
	const pane = page.getByRole('complementary', { name: 'Details' });
	await pane.waitFor();
	await settle(page);
	await pane.getByText('reading the source…').waitFor({ state: 'detached' });
	return pane.innerText();
}

/** What the comparison says: totals, functions, and the boxes of its flame graph down the left. */
async function comparison(page) {
	const table = page.getByRole('region', { name: 'Functions that changed' });
	await table.waitFor();
	await settle(page);
	const seen = {
		lens: await lensOf(page),
		totals: await page.getByRole('region', { name: /^Before/ }).getByRole('row').allInnerTexts(),
		rows: await table.getByRole('row').allInnerTexts(),
		boxes: [],
	};
	const graph = page.getByRole('tree', { name: /difference/ });
	if (await graph.isVisible()) {
		await graph.focus();
		await page.keyboard.press('Home');
		for (let i = 0, box = ''; i < 40 && box !== seen.boxes.at(-1); i++) {
			seen.boxes.push(...(box ? [box] : []));
			box = await focusedBox(page);
			await page.keyboard.press('ArrowDown');
		}
	}
	return seen;
}

async function compareWith(page, file) {
	await tab(page, 'Compare').click();
	await page.getByLabel('Page to compare with').setInputFiles(file);
	return comparison(page);
}

/** Sets a mark where the pointer is then: at a share of the heap's curve. */
async function setMark(page, share) {
	const chart = page.locator('.timechart .plot').first();
	const plot = await chart.boundingBox();
	await page.mouse.move(plot.x + plot.width * share, plot.y + plot.height / 2);
	await page.keyboard.press('M');
	await settle(page);
}

async function everyView(page) {
	const seen = {};
	for (const view of await tab(page, /./).all()) {
		await view.click();
		await settle(page);
		seen[await view.innerText()] = (await main(page).innerText()).length;
	}
	return seen;
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
		return inFlame(page);
	},

	async drag_range({ page }) {
		await drag(page, 0.4, 0.62);
		return inFlame(page);
	},

	async kept({ page }) {
		await drag(page, 0.1, 0.5);
		await page.getByRole('button', { name: 'Kept', exact: true }).click();
		return inFlame(page);
	},

	async callers({ page }) {
		await tab(page, 'Tree').click();
		return findCallers(page);
	},

	async unfold({ page }) {
		await tab(page, 'Flame graph').click();
		const before = await flameTotal(page);
		const folded = await walkToRun(page);
		const tree = await page.getByRole('tree').first().boundingBox();
		const level = Number(await page.locator('[role=treeitem]').last().getAttribute('aria-level'));
		if (folded) {
			await page.keyboard.down('Shift');
			await page.mouse.click(tree.x + 150, tree.y + (level - 0.5) * 22);
			await page.keyboard.up('Shift');
		}
		const unfolded = await focusedBox(page);
		return { before, folded, unfolded, after: await flameTotal(page) };
	},

	async source({ page }) {
		await tab(page, 'Never freed & growth').click();
		await settle(page);
		if (await nothing(page).isVisible()) {
			return { source: await nothing(page).innerText() };
		}
		await page.locator('main table').first().getByRole('row').nth(1).getByRole('button').first().click();
		return { source: await details(page) };
	},

	async link({ page, browser }) {
		await tab(page, 'Flame graph').click();
		await page.keyboard.press('p');
		await page.keyboard.press('l');
		await page.getByRole('button', { name: 'Never freed', exact: true }).click();
		await page.mouse.move(2, 2); // over nothing
		await page.evaluate(() => document.activeElement?.blur());
		const first = await picture(page);
		// The token is no part of the link: whom it is sent to has an entrance of their own
		const other = await open(browser, address + new URL(page.url()).hash, options);
		await other.page.mouse.move(2, 2);
		const second = await picture(other.page);
		const lens = await lensOf(other.page);
		await other.context.close();
		const isSame = await looksSame(browser, first, second);
		if (!isSame) {
			writeFileSync(join(options.folder, 'link-first.png'), first);
			writeFileSync(join(options.folder, 'link-second.png'), second);
		}
		return { lens, isSame, hasToken: page.url().includes('token') };
	},

	async one_file({ page, browser }) {
		let file = address;
		if (address.startsWith('http')) {
			const saved = page.waitForEvent('download');
			await page.getByRole('link', { name: 'Save as one file' }).click();
			const path = join(options.folder, `.saved-${process.pid}.html`);
			await (await saved).saveAs(path);
			file = `file://${path}`;
		}
		const alone = await open(browser, file, options);
		const seen = await everyView(alone.page);
		await alone.context.close();
		return { seen, wrongThere: alone.wrong, requestsThere: alone.requests.length };
	},

	async keyboard_only({ page }) {
		const peak = await card(page, 'Peak').innerText();
		await page.keyboard.press('p');
		await page.keyboard.press('2');
		await page.getByRole('tree').waitFor();
		for (let i = 0; i < 60; i++) {
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
		await page.keyboard.press('Escape');
		await page.keyboard.press('m');
		await page.keyboard.press('p');
		await page.keyboard.press('3');
		const { callers } = await findCallers(page);
		await page.keyboard.press('6');
		await page.keyboard.press('s');
		const source = (await nothing(page).isVisible()) ? '' : await details(page);
		await page.keyboard.press('?');
		await page.getByRole('dialog').waitFor();
		const help = await page.getByRole('dialog', { name: 'Keys and terms' }).innerText();
		await page.keyboard.press('Escape');
		await page.getByRole('dialog').waitFor({ state: 'hidden' });
		await page.keyboard.press('Control+k');
		await page.getByRole('dialog').waitFor();
		await settle(page);
		await page.keyboard.type('threads');
		await settle(page);
		await page.keyboard.press('Enter');
		const heading = await page.getByRole('heading', { name: 'Threads', exact: true }).innerText();
		return { peak, walked, kept, callers, source, help, heading };
	},

	async compare({ page }) {
		return compareWith(page, options.other);
	},

	async compare_marks({ page }) {
		await tab(page, 'Timeline').click();
		await settle(page);
		await setMark(page, 0.3);
		await setMark(page, 0.6);
		const between = page.getByRole('region', { name: 'Between marks' });
		const row = between.getByRole('row').filter({ hasText: 'A – B' });
		if (!(await row.isVisible())) {
			return { said: 'one moment' }; // it was over within one edge
		}
		const said = await row.innerText();
		await row.getByRole('button', { name: 'compare' }).click();
		return { said, ...(await comparison(page)) };
	},

	async base({ page }) {
		return comparison(page);
	},

	async allocators({ page }) {
		const said = page.getByText(/^Recorded: /);
		await said.click();
		const rows = page.getByRole('region', { name: 'Allocators' }).getByRole('row');
		return { said: await said.innerText(), rows: await rows.allInnerTexts() };
	},

	async understand({ page }) {
		return { text: await main(page).innerText() };
	},
};

/** A recording without an allocation: whatever is asked of it, the sentence stays, and nothing breaks. */
async function ofEmpty({ page }) {
	for (const key of ['p', '2', 'm', 'k', '3', 'c', 'l', '6', 's', '8', 'M', '[', 'n', 'y', 'Escape', '1']) {
		await page.keyboard.press(key);
	}
	await everyView(page);
	return { text: await main(page).innerText() };
}

/** One task, and what went wrong on its way. */
async function run(browser, opened, task) {
	const home = address.replace(/[^/]*$/, '');
	let seen = {};
	try {
		const isForAll = ['understand', 'one_file'].includes(task);
		const does = !isForAll && (await isEmpty(opened.page)) ? ofEmpty : tasks[task];
		seen = await does({ ...opened, browser });
	} catch (error) {
		opened.wrong.push(`${error.stack}`);
	}
	const foreign = opened.requests.filter((url) => !url.startsWith(home));
	return { ...seen, wrong: [...opened.wrong], foreign, requests: opened.requests.length };
}

const AT_ONCE = 2; // half of a task is waiting

const browser = await launch(modules);
const seen = {};
const left = names.split(',');
const work = async () => {
	const opened = await open(browser, address, options);
	for (let task = left.shift(); task; task = left.shift()) {
		seen[task] = await run(browser, opened, task);
		if (left.length) {
			await reopen(opened, address);
		}
	}
};
await Promise.all(Array.from({ length: Math.min(AT_ONCE, left.length) }, work));
await browser.close();
process.stdout.write(JSON.stringify(seen));
