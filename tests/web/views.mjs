// SPDX-License-Identifier: MIT
// Every view, looked at: node views.mjs MODULES ADDRESS FOLDER NAME OPTIONS-AS-JSON
// Keeps a picture of each in FOLDER, and prints what axe finds in it as JSON, by view.
//
// Options: theme, width, height; other (a page to compare with), of (a function to select), isLong (pictures are as
// high as the view), isUnjudged (pictures alone), isFlat (its main() has no callers, and calls nothing).

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { launch, open, settle } from './browser.mjs';

const [modules, address, folder, name, given] = process.argv.slice(2);
const options = { of: 'leakyParse', ...JSON.parse(given ?? '{}') };
const of = encodeURIComponent(options.of);
const axe = readFileSync(createRequire(join(modules, 'package.json')).resolve('axe-core/axe.min.js'), 'utf8');

const VIEWS = {
	overview: '',
	flame: 'v=flame',
	'flame-bottom-up': 'v=flame&dir=bu',
	'flame-around': 'v=flame&dir=around&sel=main',
	'flame-details': `v=flame&sel=${of}&m=allocations`,
	'flame-modules': 'v=flame&group=module',
	treemap: 'v=flame&dir=map&m=allocations',
	tree: 'v=tree&m=allocations',
	'tree-bottom-up': 'v=tree&mode=bu',
	'tree-functions': 'v=tree&mode=fn&sel=main',
	packages: 'v=tree&group=package',
	timeline: 'v=timeline&marks=0.1,0.2',
	river: 'v=timeline&river=1',
	range: 't=peak',
	sizes: 'v=sizes',
	'never-freed': 'v=never-freed&m=never-freed',
	threads: 'v=threads',
	memory: 'v=memory',
	'compare-choice': 'v=compare',
	compare: 'v=compare',
	nothing: 'v=flame&q=nothing-is-called-this',
};

/** Figures that stand on another line than their unit. */
function brokenFigures() {
	const wrong = [];
	const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
	for (let node = texts.nextNode(); node; node = texts.nextNode()) {
		for (const found of node.data.matchAll(/\d\s([kMG]?B|%|[mµn]?s)(?![a-z])/g)) {
			const range = document.createRange();
			range.setStart(node, found.index);
			range.setEnd(node, found.index + found[0].length);
			const tops = [...range.getClientRects()].filter((r) => r.width).map((r) => r.top);
			if (Math.max(...tops) > Math.min(...tops) + 8) {
				wrong.push(`broken: ${node.data}`);
			}
		}
	}
	return wrong;
}

/** Names and controls whose text does not fit where it stands, cells that do not stand beside each other. */
function cutTexts(isFlat) {
	const wrong = [];
	for (const part of document.querySelectorAll('button, h1, h2, h3, th, .number, .chip, .pill')) {
		const style = getComputedStyle(part);
		if (part.closest('.sr, nav') || part.title || style.overflow === 'visible' || part.clientWidth === 0) {
			continue;
		}
		if (part.scrollWidth > part.clientWidth + 1) {
			wrong.push(part.textContent);
		}
	}
	for (const row of document.querySelectorAll('.treegrid [role=row]')) {
		const tops = [...row.children].map((cell) => cell.getBoundingClientRect()).filter((r) => r.width);
		if (tops.some((r) => r.bottom > row.getBoundingClientRect().bottom + 1)) {
			wrong.push(`cells below each other: ${row.textContent}`);
		}
	}
	for (const panel of innerWidth < 600 ? document.querySelectorAll('.panel') : []) {
		const { right } = panel.getBoundingClientRect();
		const cells = [...panel.querySelectorAll('td, th')].filter((cell) => cell.getBoundingClientRect().right > right);
		wrong.push(...cells.map((cell) => `outside its panel: ${cell.textContent}`));
	}
	for (const name of document.querySelectorAll('.treegrid .rows [role=row] > :first-child')) {
		if (name.scrollWidth > name.clientWidth + 1 && getComputedStyle(name).overflow === 'visible') {
			wrong.push(`over its figures: ${name.textContent}`);
		}
	}
	for (const legend of document.querySelectorAll('.legend')) {
		const names = [...legend.querySelectorAll('code')].map((name) => name.textContent);
		wrong.push(...names.filter((name, i) => names.indexOf(name) < i).map((name) => `two of one name: ${name}`));
	}
	// A name is not cut beside an empty place, and a sentence is no column of single words
	for (const cell of innerWidth > 600 ? document.querySelectorAll('.top td:first-child') : []) {
		const parts = [...cell.querySelectorAll('.name, .scope')];
		const left = cell.clientWidth - [...cell.children].reduce((sum, part) => sum + part.offsetWidth, 0);
		if (left > 200 && parts.some((part) => part.scrollWidth > part.clientWidth + 1)) {
			wrong.push(`cut beside ${left} px: ${cell.textContent}`);
		}
	}
	for (const cell of innerWidth > 860 ? document.querySelectorAll('.growth .sentence') : []) {
		if (cell.textContent && cell.clientWidth < 140) {
			wrong.push(`a sentence in ${cell.clientWidth} px: ${cell.textContent}`);
		}
	}
	const values = document.querySelectorAll('.matrix td:empty');
	wrong.push(...(innerWidth < 600 ? [...values] : []).filter((cell) => cell.clientHeight).map((cell) => `empty: ${cell.dataset.by}`));
	const around = [...document.querySelectorAll('.around canvas')];
	if (around.length && !isFlat && around.every((graph) => graph.clientHeight < 30)) {
		wrong.push('a function without callers and callees');
	}
	wrong.push(...brokenFigures());
	for (const part of innerWidth < 600 ? document.querySelectorAll('main :not(.source)') : []) {
		if (/auto|scroll/.test(getComputedStyle(part).overflowX) && part.scrollWidth > part.clientWidth + 1) {
			wrong.push(`scrolls sideways: ${part.tagName} ${part.className} by ${part.scrollWidth - part.clientWidth} px`);
		}
	}
	if (document.documentElement.scrollWidth > innerWidth) {
		wrong.push(`the page is ${document.documentElement.scrollWidth - innerWidth} px too wide`);
	}
	return wrong;
}

async function keepPicture(page, view) {
	const path = join(folder, `${name}-${view}-${options.theme}-${options.width}.png`);
	await page.screenshot({ path, fullPage: options.isLong });
}

async function judge(page) {
	await page.evaluate(axe);
	const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
	await page.evaluate(`window.brokenFigures = ${brokenFigures}`);
	const cut = await page.evaluate(cutTexts, options.isFlat);
	return [
		...violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(' | ')}`),
		...cut.map((text) => `cut: ${text}`),
	];
}

const browser = await launch(modules);
const found = {};
const { page, wrong } = await open(browser, address, options);
const states = Object.entries(VIEWS);
for (const [view, words] of states) {
	await page.evaluate((hash) => (location.hash = hash), words || 'v=overview');
	await settle(page);
	const other = page.getByLabel('Page to compare with');
	if (view === 'compare' && options.other && (await other.count())) {
		await other.setInputFiles(options.other);
		await page.getByRole('region', { name: 'Functions that changed' }).waitFor();
		await settle(page);
	}
	await keepPicture(page, view);
	found[view] = options.isUnjudged ? [] : await judge(page);
}
await page.keyboard.press('?');
await page.getByRole('dialog').waitFor();
await settle(page);
await keepPicture(page, 'help');
await browser.close();
process.stdout.write(JSON.stringify({ found, wrong }));
