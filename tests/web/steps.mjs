// SPDX-License-Identifier: MIT
// What takes at most three steps: node steps.mjs MODULES BROWSER ADDRESS LONG OTHER HELD
// A step is a click, a drag, a choice, or what is typed at once. LONG is a page with a name that is cut, OTHER
// one to compare with, HELD one of a recording with --leaks. Prints what is seen after the last step of each task,
// and how many it took, as JSON.

import { launch, open, settle } from './browser.mjs';

const [modules, name, address, long, other, held] = process.argv.slice(2);
const browser = await launch(modules, name);
const seen = {};
const wrong = [];

/** A person on the page, whose steps are counted. */
class Person {
	steps = 0;

	constructor(page) {
		this.page = page;
	}

	async #step(does) {
		this.steps++;
		await does();
		await settle(this.page);
	}

	tab(name) {
		const views = this.page.getByRole('navigation', { name: 'Views' });
		return this.#step(() => views.getByRole('button', { name }).click());
	}

	click(element, options) {
		return this.#step(() => element.click(options));
	}

	doubleClick(element, options) {
		return this.#step(async () => {
			await element.click(options);
			await settle(this.page);
			// Playwright counts no presses in Debian's Firefox: the second is told as Firefox does
			await this.page.evaluate(({ position: { x, y } }) => {
				const target = document.elementFromPoint(x, y);
				for (const [type, detail] of [['mousedown', 2], ['mouseup', 2], ['click', 2]]) {
					target.dispatchEvent(new MouseEvent(type, { detail, bubbles: true }));
				}
			}, options);
		});
	}

	button(name) {
		return this.click(this.page.getByRole('button', { name, exact: true }).first());
	}

	choose(label, option) {
		return this.#step(() => this.page.getByLabel(label, { exact: true }).selectOption(option));
	}

	give(label, file) {
		return this.#step(() => this.page.getByLabel(label).setInputFiles(file));
	}

	back() {
		// goBack() waits for another page, in Firefox
		return this.#step(() =>
			this.page.evaluate(() => new Promise((done) => {
				addEventListener('hashchange', done, { once: true });
				history.back();
			})),
		);
	}

	press(key) {
		return this.#step(() => this.page.keyboard.press(key));
	}

	search(text) {
		return this.#step(async () => {
			await this.page.keyboard.press('/');
			await this.page.keyboard.type(text);
			await this.page.getByRole('status').getByText(/^\d+ functions?, .*%/).waitFor();
			await this.page.keyboard.press('Enter');
		});
	}

	command(text) {
		return this.#step(async () => {
			await this.page.keyboard.press('Control+k');
			await this.page.getByRole('dialog').waitFor();
			await settle(this.page);
			await this.page.keyboard.type(text);
			await settle(this.page);
			await this.page.keyboard.press('Enter');
		});
	}

	dragOverTime(from, to, chart = this.page, low = 0.5, high = 0.5) {
		return this.#step(async () => {
			const plot = chart.locator('.timechart .plot').first();
			await plot.scrollIntoViewIfNeeded();
			const { x, y, width, height } = await plot.boundingBox();
			await this.page.mouse.move(x + width * from, y + height * low);
			await this.page.mouse.down();
			await this.page.mouse.move(x + width * to, y + height * high, { steps: 4 });
			await this.page.mouse.up();
		});
	}

	region(name) {
		return this.page.getByRole('region', { name });
	}

	get details() {
		return this.page.getByRole('complementary', { name: 'Details' }).innerText();
	}

	get copied() {
		return this.page.evaluate(() => window.copied);
	}

	get lens() {
		return this.page.evaluate(() => decodeURIComponent(location.hash.slice(1)));
	}

	/** What the root of the flame graph says. */
	async total() {
		await this.page.getByRole('tree').first().focus();
		await this.page.keyboard.press('Home');
		await settle(this.page);
		return (await this.page.locator('[role=treeitem]').last().textContent()).trim();
	}
}

const tasks = {
	async peak_to_source_line(me) {
		await me.click(me.region('Peak, by function').getByRole('button', { name: 'spike()' }));
		return me.details;
	},

	async next_line_that_costs_something(me) {
		await me.click(me.region('Peak, by function').getByRole('button', { name: 'spike()' }));
		const map = me.page.getByRole('slider', { name: 'Lines of the file that cost something' });
		await map.focus();
		const before = await map.getAttribute('aria-valuetext');
		await me.press('ArrowDown');
		return { before, after: await map.getAttribute('aria-valuetext'), here: await me.page.locator('.code.here').innerText() };
	},

	async grew_from_30_to_60_percent(me) {
		await me.dragOverTime(0.3, 0.6);
		await me.button('Kept');
		await me.tab('Flame graph');
		return me.total();
	},

	async one_thread(me) {
		await me.tab('Threads');
		await me.click(me.region('Threads').getByRole('rowheader').getByRole('button').first());
		await me.tab('Flame graph');
		return me.total();
	},

	async never_freed_by_file(me) {
		await me.choose('Group frames', 'file');
		await me.tab('Flame graph');
		await me.button('Never freed');
		return me.total();
	},

	async who_allocated_what_lived_so_long(me) {
		await me.tab('Sizes');
		await me.dragOverTime(0.02, 0.3, me.region('Lifetime by time of allocation'), 0.9, 0.02);
		const said = await me.region(/^Who allocated the blocks/).innerText();
		await me.button('Show only these functions');
		return said;
	},

	async compare_builds(me) {
		await me.tab('Compare');
		await me.give('Page to compare with', other);
		await me.region('Functions that changed').waitFor();
		return me.region('Functions that changed').innerText();
	},

	async callers_by_name(me) {
		await me.search('leakyParse');
		await me.press('c');
		return me.page.getByRole('treegrid', { name: /^Callers/ }).innerText();
	},

	async zoom_and_back(me) {
		await me.tab('Flame graph');
		const graph = me.page.getByRole('tree').first();
		await me.doubleClick(graph, { position: { x: 60, y: 3.5 * 22 } });
		const zoomed = await me.page.getByRole('navigation', { name: 'Zoom' }).innerText();
		await me.back();
		return { zoomed, left: await me.page.getByRole('navigation', { name: 'Zoom' }).count() };
	},

	async share(me) {
		const saved = name === 'firefox' ? null : me.page.waitForEvent('download');
		await me.button('Save as one file');
		return saved ? (await saved).suggestedFilename() : 'not told of downloads';
	},

	async picture(me) {
		await me.tab('Flame graph');
		await me.command('copy the pictures');
		return me.copied;
	},

	async csv(me) {
		await me.tab('Threads');
		await me.command('tables as CSV');
		return me.copied;
	},

	async long_name(me) {
		await me.page.goto(long);
		await settle(me.page);
		await me.tab('Flame graph');
		await me.click(me.page.getByRole('tree').first(), { position: { x: 60, y: 2.5 * 22 } });
		return me.details;
	},

	async cost_of_a_package(me) {
		await me.choose('Group frames', 'package');
		await me.tab('Flame graph');
		await me.button('Treemap');
		const map = me.page.getByRole('group', { name: 'Treemap of Peak' });
		await map.getByRole('button').first().focus();
		await me.page.keyboard.press('ArrowRight');
		return {
			groups: await map.getByRole('heading').allInnerTexts(),
			tiles: await map.getByRole('button').evaluateAll((all) => all.map((tile) => tile.title)),
			focused: await me.page.evaluate(() => document.activeElement.title),
		};
	},

	async picture_of_the_treemap(me) {
		await me.tab('Flame graph');
		await me.button('Treemap');
		await me.command('copy the pictures');
		return me.copied;
	},

	async undo(me) {
		await me.search('leakyParse');
		const filtered = await me.lens;
		await me.back();
		return { filtered, undone: await me.lens };
	},

	async who_holds_this(me) {
		await me.page.goto(held);
		await settle(me.page);
		await me.tab('Memory');
		await me.click(me.region('Who held them').locator('tbody').getByRole('button').first());
		return me.total();
	},

	async the_rest_of_rss(me) {
		await me.tab('Memory');
		return me.page.locator('table.waterfall').innerText();
	},

	async rss_beside_the_heap(me) {
		await me.tab('Timeline');
		const legend = me.region('Consumed').getByRole('button', { name: 'RSS' });
		const before = await legend.getAttribute('aria-pressed');
		await me.click(legend);
		return { before, after: await legend.getAttribute('aria-pressed') };
	},
};

const { page, wrong: wrongHere } = await open(browser, address);
page.setDefaultTimeout(30_000);
for (const [task, does] of Object.entries(tasks)) {
	await page.goto('about:blank');
	await page.goto(address);
	await page.locator('#app:not([aria-busy=true])').waitFor();
	await settle(page);
	await page.evaluate(() => {
		const clipboard = { writeText: async (text) => void (window.copied = text) };
		Object.defineProperty(navigator, 'clipboard', { value: clipboard });
	});
	const me = new Person(page);
	try {
		seen[task] = { said: await does(me), lens: await me.lens, steps: me.steps };
	} catch (error) {
		wrong.push(`${task}: ${error.stack}`);
	}
}
await browser.close();
process.stdout.write(JSON.stringify({ seen, wrong: [...wrong, ...wrongHere] }));
