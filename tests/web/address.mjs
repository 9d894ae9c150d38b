// SPDX-License-Identifier: MIT
// What is shown stands in the address, and in the file that is saved: node address.mjs MODULES ADDRESS BROWSER FOLDER
// Prints what a person sees, as JSON.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, looksSame, open, picture, settle } from './browser.mjs';

const [modules, address, name, folder] = process.argv.slice(2);
const browser = await launch(modules, name);
const { page, wrong } = await open(browser, `${address}#v=flame`);
const seen = { steps: [] };

const hash = (of = page) => of.evaluate(() => decodeURIComponent(location.hash.slice(1)));
const crumbs = (of = page) => of.locator('.crumbs button').allInnerTexts();
const step = async (what) => {
	await settle(page);
	seen.steps.push([what, await hash(), await crumbs()]);
};
/** Without the pointer and the focus, which are nobody's view. Playwright cannot take pictures of Firefox without a
    style sheet, which the page's policy forbids: there it is the graph alone. */
async function look(of) {
	await of.mouse.move(2, 2);
	await of.evaluate(() => document.activeElement?.blur());
	await settle(of);
	const graph = () => document.querySelector('.flame canvas').toDataURL();
	return name === 'firefox' ? Buffer.from((await of.evaluate(graph)).split(',')[1], 'base64') : picture(of);
}

await page.getByRole('tree').focus();
await page.keyboard.press('Home');
await page.keyboard.press('ArrowDown');
await page.keyboard.press('ArrowDown');
await page.keyboard.press('Enter');
await step('zoom');
await page.getByRole('button', { name: 'Flip' }).click();
await step('flip');
await page.getByLabel('Colours').selectOption('module');
await step('colour');
await page.getByRole('button', { name: 'Fold recursion' }).click();
await step('rec');
const shown = await look(page);
await page.reload();
await page.locator('#app:not([aria-busy=true])').waitFor();
await step('reload');
seen.sameAfterReload = await looksSame(browser, shown, await look(page));

/** The file that a press leads to. Playwright is not told of downloads by Firefox: there what would be saved is read. */
async function save(of, press, path) {
	if (name !== 'firefox') {
		const wanted = of.waitForEvent('download');
		await press();
		return (await wanted).saveAs(path);
	}
	await of.evaluate(() => {
		URL.createObjectURL = (blob) => ((window.saved = blob), 'blob:none');
		HTMLAnchorElement.prototype.click = () => {};
	});
	await press();
	writeFileSync(path, await of.evaluate(() => window.saved.text()));
}

seen.buttons = await page.getByRole('banner').getByRole('button').allInnerTexts();
const file = join(folder, `.saved-${name}-${process.pid}.html`);
await save(page, () => page.getByRole('button', { name: 'Save as one file' }).click(), file);
const saved = await open(browser, `file://${file}`);
seen.sameWhenSaved = await looksSame(browser, shown, await look(saved.page));
seen.savedCrumbs = await crumbs(saved.page);
await saved.page.getByRole('button', { name: 'Overview' }).click();
await settle(saved.page);
seen.overview = await hash(saved.page);
const second = `${file}.again.html`;
await save(saved.page, () => saved.page.keyboard.press('Y'), second);
const plain = (path) => {
	const html = readFileSync(path, 'utf8').replace(/\s*<meta name="view"[^>]*>/, '');
	const part = (id) => html.split(`id="${id}">`)[1]?.split('</script>')[0].trim();
	return { parts: ['profile', 'rest', 'licences'].map(part), text: html.split('<pre>')[1].split('</pre>')[0] };
};
const [first, ...copies] = [new URL(address).pathname, file, second].map(plain);
seen.isWholeFile = copies.map((copy) => JSON.stringify(copy) === JSON.stringify(first));
const reopened = await open(browser, `file://${second}`);
seen.viewOfSecond = await reopened.page.locator('nav[aria-label=Views] [aria-current=page]').innerText();
wrong.push(...saved.wrong, ...reopened.wrong);

for (const what of ['rec', 'colour', 'flip', 'zoom']) {
	await page.goBack();
	await step(`back from ${what}`);
}
await page.goForward();
await step('forward');
await page.getByRole('button', { name: 'Bottom-up' }).click();
await step('bottom-up');

await browser.close();
process.stdout.write(JSON.stringify({ ...seen, wrong }));
