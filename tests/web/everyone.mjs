// SPDX-License-Identifier: MIT
// For everyone, and whatever comes: node everyone.mjs MODULES PAGE NAMES THREADS
// NAMES is a page of a recording with names that are very long or turn their surroundings. Prints what its tree and
// boxes say, and how wide and high they make it; which tables of THREADS scroll sideways on a phone, and where
// their heads are; how strong its marks are in the dark; what PAGE says of wrong files; how it looks with forced colours; and
// views that need more than a window of 200 %. As JSON.

import { focusedBox, launch, open, settle } from './browser.mjs';

const [modules, address, names, threads] = process.argv.slice(2);
const browser = await launch(modules);
const seen = { tooWide: [] };
const wrong = [];

const isTooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
const tabs = (page) => page.getByRole('navigation', { name: 'Views' }).getByRole('button').all();

const named = await open(browser, names);
seen.cardHeight = (await named.page.getByRole('region', { name: 'Peak', exact: true }).first().boundingBox()).height;
for (const view of await tabs(named.page)) {
	await view.click();
	await settle(named.page);
	if (await isTooWide(named.page)) {
		seen.tooWide.push(`names: ${await view.innerText()}`);
	}
}
await named.page.keyboard.press('3');
await settle(named.page);
seen.rows = await named.page.locator('.rows [role=row] .name').allTextContents();
await named.page.keyboard.press('2');
await named.page.getByRole('tree').focus();
seen.boxes = [];
for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight']) {
	await named.page.keyboard.press(key);
	seen.boxes.push(await focusedBox(named.page));
}
const box = await named.page.getByRole('tree').boundingBox();
await named.page.mouse.move(box.x + 20, box.y + 2.5 * 22);
seen.tipHeight = (await named.page.getByRole('tooltip').boundingBox()).height;
wrong.push(...named.wrong);

const { page, wrong: wrongHere } = await open(browser, `${address}#v=compare`);
seen.refused = {};
const files = { 'a.png': '\x89PNG\r\n\x1a\n', 'a.out': '\x7fELF\x02\x01', 'a.zst': '(\xb5/\xfd\x04', 'a.txt': 'hello, this is a note' };
for (const [name, text] of Object.entries(files)) {
	const buffer = Buffer.from(text, 'latin1');
	await page.getByLabel('Page to compare with').setInputFiles({ name, mimeType: 'text/plain', buffer });
	const notice = page.getByRole('list', { name: 'Notes on the figures' }).getByText(name);
	await notice.waitFor();
	seen.refused[name] = await notice.innerText();
}
wrong.push(...wrongHere);

const forced = await open(browser, `${address}#v=tree`);
await forced.page.emulateMedia({ forcedColors: 'active' });
await settle(forced.page);
seen.forced = await forced.page.evaluate(() => {
	const style = (selector) => getComputedStyle(document.querySelector(selector));
	return {
		bar: style('.rows .bar').backgroundImage,
		pill: style('.pill.on').outlineStyle,
		tab: style('nav [aria-current=page]').outlineStyle,
		other: style('nav button:not([aria-current])').outlineStyle,
		row: style('.tr.at').outlineStyle,
		ink: style(':root').getPropertyValue('--dim'),
	};
});
wrong.push(...forced.wrong);

const dark = await open(browser, `${threads}#v=tree`, { theme: 'dark' });
seen.dark = await dark.page.evaluate(() => {
	const style = getComputedStyle(document.documentElement);
	const token = (name) => style.getPropertyValue(`--${name}`).trim();
	const light = (hex) => {
		const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
		const [r, g, b] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const contrast = (one, other) => {
		const [low, high] = [light(token(one)), light(token(other))].sort((a, b) => a - b);
		return (high + 0.05) / (low + 0.05);
	};
	const marks = [...Array.from({ length: 9 }, (_, i) => `series-${i}`), 'more-3'];
	const texts = [['fg', 'more-3'], ['box-text', 'line'], ['box-text', 'series-3'], ['box-text', 'series-5']];
	return {
		marks: Object.fromEntries(marks.map((name) => [name, contrast(name, 'panel')])),
		texts: texts.map((pair) => [...pair, contrast(...pair)]),
		lens: contrast('accent', 'series-5'),
	};
});
const colour = (at, property) => dark.page.locator(at).first().evaluate((part, name) => getComputedStyle(part)[name], property);
seen.dark.bar = await colour('.rows .bar', 'backgroundImage');
await dark.page.evaluate(() => (location.hash = 'v=threads'));
await settle(dark.page);
seen.dark.cells = await dark.page.locator('.heat td:not(:empty)').evaluateAll((cells) =>
	cells.map((cell) => +(getComputedStyle(cell).backgroundColor.match(/\/ ([\d.]+)\)/)?.[1] ?? 1)));

const zoomed = await open(browser, address, { width: 720, height: 450 });
for (const view of await tabs(zoomed.page)) {
	await view.click();
	await settle(zoomed.page);
	if (await isTooWide(zoomed.page)) {
		seen.tooWide.push(`200 %: ${await view.innerText()}`);
	}
}

const phone = await open(browser, `${threads}#v=threads`, { width: 390, height: 800 });
seen.scrolls = {};
for (const view of ['threads', 'timeline', 'memory', 'compare&cmp=@0-50%']) {
	await phone.page.evaluate((hash) => (location.hash = hash), `v=${view}`);
	await settle(phone.page);
	seen.scrolls[view] = await phone.page.locator('main table:visible').evaluateAll((all) =>
		all.map((table) => table.scrollWidth - table.clientWidth));
}
// What a figure is, wherever the page is scrolled to
seen.heads = {};
for (const [of, view] of [[threads, 'threads'], [address, 'never-freed'], [address, 'compare&cmp=@0-50%']]) {
	const { page } = await open(browser, `${of}#v=${view}`, { width: 390, height: 200 });
	const table = page.locator('main table:is(.lines, .growth):visible').last();
	await table.locator('tr').last().scrollIntoViewIfNeeded();
	seen.heads[view] = await table.evaluate((shown) => ({
		tops: [shown, shown.tHead].map((part) => part.getBoundingClientRect().top),
		heads: [...shown.tHead.rows[0].cells].map((cell) => cell.innerText.trim()),
		said: [...[...shown.tBodies[0].rows].at(-1).cells].map((cell) => getComputedStyle(cell, '::before').content),
	}));
}
await phone.page.evaluate(() => (location.hash = 'v=tree&mode=fn&sel=main'));
await phone.page.getByRole('heading', { name: 'Callees of' }).waitFor();
await settle(phone.page);
seen.below = await phone.page.locator('.tree-panel, .sandwich, .sandwich-right').evaluateAll((all) =>
	all.map((part) => part.scrollHeight - part.clientHeight));
await phone.page.evaluate(() => (location.hash = 'v=timeline'));
await settle(phone.page);
await phone.page.locator('.legend code').first().evaluate((name) => (name.textContent = 'a_name'.repeat(30)));
if (await isTooWide(phone.page)) {
	seen.tooWide.push('phone: a long name in a legend');
}
await browser.close();
process.stdout.write(JSON.stringify({ ...seen, wrong }));
