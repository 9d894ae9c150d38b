// SPDX-License-Identifier: MIT
// Files that the viewer cannot open: node refused.mjs MODULES ADDRESS LARGE RECORDING
// Prints what it says of one that is too large; and of RECORDING where the browser has no workers, where it has no
// WebAssembly, and where it runs no scripts.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { launch } from './browser.mjs';

const [modules, address, large, recording] = process.argv.slice(2);
const { chromium } = createRequire(join(modules, 'package.json'))('playwright-core');

async function said(browser, file, prepare = () => {}) {
	const page = await browser.newPage();
	await page.addInitScript(prepare);
	await page.goto(address);
	await page.getByLabel('Recording').setInputFiles(file);
	const text = await page.getByRole('alert').innerText();
	await browser.close();
	return text;
}

const withoutWasm = await chromium.launch({
	executablePath: '/usr/bin/chromium',
	args: ['--headless', '--no-sandbox', '--disable-gpu', '--js-flags=--jitless'],
});
const seen = {
	large: await said(await launch(modules), large),
	workers: await said(await launch(modules), recording, () => delete window.Worker),
	wasm: await said(withoutWasm, recording),
};
const browser = await launch(modules);
const page = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
await page.goto(address);
seen.scripts = await page.locator('body').innerText();
await browser.close();
process.stdout.write(JSON.stringify(seen));
