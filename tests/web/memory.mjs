// SPDX-License-Identifier: MIT
// The view of resident memory: node memory.mjs MODULES ADDRESS. Prints as JSON what its tables say of each look, and
// what is said where the lens's time has none.

import { launch, open, settle } from './browser.mjs';

const [modules, address] = process.argv.slice(2);
const browser = await launch(modules);
const { page, wrong } = await open(browser, address, { width: 1280, height: 900 });
const show = async (words) => {
	await page.evaluate((hash) => (location.hash = hash), words);
	await settle(page);
};
const cells = (table) =>
	table.locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.innerText.trim())));
const looks = [];
await show('v=memory');
const pills = page.getByRole('group', { name: 'Look' }).getByRole('button');
const list = page.getByRole('combobox', { name: 'Look' }); // instead, where there are many
const shown = await page.getByRole('heading', { name: /^RSS was/ }).innerText();
const isList = (await list.count()) > 0;
const n = isList ? await list.locator('option').count() : await pills.count();
for (let i = 0; i < Math.max(n, 1); i++) {
	if (isList) {
		await list.selectOption({ index: i });
	} else if (n) {
		await pills.nth(i).click();
	}
	const owners = {};
	const parts = page.locator('table.waterfall tbody').getByRole('button');
	for (let k = 0; k < (await parts.count()); k++) {
		await parts.nth(k).click();
		owners[await parts.nth(k).innerText()] = await cells(page.getByRole('region', { name: 'Who owns' }).locator('table'));
	}
	const strips = page.getByRole('region', { name: "How full the heap's pages are" }).locator('table');
	const untouched = page.getByRole('region', { name: 'Live blocks that are not in memory' }).locator('table');
	looks.push({
		title: await page.getByRole('heading', { name: /^RSS was/ }).innerText(),
		parts: await cells(page.locator('table.waterfall')),
		remarks: (await page.getByRole('region', { name: /^RSS was/ }).locator('p.dim').allInnerTexts()).join(' '),
		owners,
		arenas: (await strips.count()) ? await cells(strips) : [],
		untouched: (await untouched.count()) ? await cells(untouched) : [],
	});
}
const history = page.getByRole('region', { name: 'RSS over time' }).first();
const picked = [];
let hovered = '';
const hasHistory = (await history.count()) > 0;
if (hasHistory) {
	const live = history.getByRole('button', { name: 'live blocks' });
	const canvas = () => history.locator('canvas').first().evaluate((c) => c.toDataURL());
	const before = await canvas();
	const pictures = [];
	for (const isOn of [false, true]) {
		await live.click();
		await settle(page);
		pictures.push(await canvas());
		if ((await live.getAttribute('aria-pressed')) !== String(isOn)) {
			wrong.push('the layer is not switched');
		}
	}
	if (pictures[0] === before || pictures[1] !== before) {
		wrong.push('a layer that is switched off is shown, or one that is on is not');
	}
	await history.getByText('Show as table').click();
	const plot = history.locator('.plot');
	const { width, height } = await plot.boundingBox();
	for (const x of [1, width - 1]) {
		await plot.click({ position: { x, y: height - 2 } });
		await settle(page);
		picked.push(await page.getByRole('heading', { name: /^RSS was/ }).innerText());
	}
	hovered = await plot.innerText();
}
const overTime = hasHistory ? await cells(history.locator('table')) : [];
await show('v=memory&t=0-0.005');
const without = await page.locator('main').innerText();
if (hasHistory && !(await history.isVisible())) {
	wrong.push('where no look was taken in the range, nothing says when one was');
}
await show('v=tree&m=resident&t=0-100%');
const chips = await page.getByRole('group', { name: 'Lens' }).innerText();
await browser.close();
process.stdout.write(JSON.stringify({ shown, looks, overTime, without, chips, picked, hovered, hasHistory, wrong }));
