// SPDX-License-Identifier: MIT
// A browser for one page: what goes wrong in it is kept, and so is every request.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const FLAGS = [
	'--headless',
	'--no-sandbox',
	'--disable-gpu',
	'--disable-quic',
	'--no-first-run',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-sync',
];

export async function launch(modules) {
	const { chromium } = createRequire(join(modules, 'package.json'))('playwright-core');
	return chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS });
}

/** A fresh profile of the browser, with one tab. */
export async function open(browser, address, { theme = 'light', width = 1440, height = 900 } = {}) {
	const context = await browser.newContext({
		viewport: { width, height },
		colorScheme: theme,
		reducedMotion: 'reduce',
		offline: address.startsWith('file:'),
	});
	const page = await context.newPage();
	const wrong = [];
	const requests = [];
	page.on('console', (message) => {
		if (['error', 'warning'].includes(message.type())) {
			wrong.push(message.text());
		}
	});
	page.on('pageerror', (error) => wrong.push(error.stack ?? error.message));
	page.on('request', (request) => {
		if (!/^(data|blob):/.test(request.url())) {
			requests.push(request.url());
		}
	});
	await page.addInitScript(() => {
		addEventListener('securitypolicyviolation', (event) =>
			console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
		);
	});
	await page.goto(address);
	await page.getByRole('navigation', { name: 'Views' }).waitFor({ timeout: 60_000 });
	return { context, page, wrong, requests };
}

/** The one live element of a canvas: what the arrow keys are at. */
export async function focusedBox(page) {
	return (await page.locator('[role=treeitem]').last().textContent()).trim();
}
