// SPDX-License-Identifier: MIT
// A browser for one page: what goes wrong in it is kept, and so is every request.
// Nothing here waits for a length of time alone: a busy machine may take as long as it needs.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const FLAGS = [
	'--headless',
	'--no-sandbox',
	'--disable-gpu',
	'--disable-dev-shm-usage',
	'--disable-quic',
	'--no-first-run',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-sync',
	// Of these the first three are pages of its own that it prepares for each window, which take as
	// long as ours; the others are what Playwright switches off, and says in the same option
	'--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,' +
		'DialMediaRouteProvider,GlobalMediaControls,HttpsUpgrades,LensOverlay,MediaRouter,' +
		'OptimizationHints,PaintHolding,Translate',
];
const PATIENCE_MS = 120_000;

export async function launch(modules, name = 'chromium') {
	const { chromium, firefox } = createRequire(join(modules, 'package.json'))('playwright-core');
	return name === 'firefox'
		? firefox.launch({ channel: 'moz-firefox', executablePath: '/usr/bin/firefox-esr', timeout: PATIENCE_MS })
		: chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS, timeout: PATIENCE_MS });
}

/** A fresh profile of the browser, with one tab; a page that is a file gets no network. */
export async function open(browser, address, { theme = 'light', width = 1440, height = 900 } = {}) {
	const context = await browser.newContext({
		viewport: { width, height },
		colorScheme: theme,
		reducedMotion: 'reduce',
		offline: address.startsWith('file:'),
	});
	context.setDefaultTimeout(PATIENCE_MS);
	const page = await context.newPage();
	const wrong = [];
	const requests = [];
	page.on('console', (message) => {
		// Chromium remarks on every 404; that a source file is not on this machine is no fault
		const isMissingSource = /\/source\/\d+$/.test(message.location().url);
		if (['error', 'warning'].includes(message.type()) && !isMissingSource) {
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
	await load(page, address);
	return { context, page, wrong, requests };
}

async function load(page, address) {
	await page.goto(address, { waitUntil: 'domcontentloaded' });
	await page.getByRole('navigation', { name: 'Views' }).waitFor();
	await page.locator('#app:not([aria-busy=true])').waitFor(); // all of the recording is there
	await settle(page);
}

/** An address in the same tab as if in a fresh profile, which takes half as long: nothing is kept, or known of before. */
export async function reopen({ context, page, wrong, requests }, address) {
	await page.evaluate(() => [localStorage, sessionStorage].forEach((storage) => storage.clear()));
	await context.clearCookies();
	await page.goto('about:blank');
	await page.mouse.move(0, 0);
	wrong.length = requests.length = 0;
	await load(page, address);
}

/** Until the page has drawn what it was asked for. */
export async function drawn(page) {
	await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** The same, with what it does only once it is left alone: details (90 ms, then part by part) and its address (50 ms). */
export async function settle(page) {
	await drawn(page);
	await page.evaluate(() => new Promise((done) => {
		const look = () =>
			document.querySelector('.details:is([aria-busy=true], :has([aria-busy=true]))')
				? setTimeout(look, 10)
				: requestAnimationFrame(done);
		setTimeout(look, 130);
	}));
}

/** The one live element of a canvas: what the arrow keys are at. */
export async function focusedBox(page) {
	await drawn(page);
	return (await page.locator('[role=treeitem]').last().textContent()).trim();
}

/** A picture of the page once it no longer changes. */
export async function picture(page) {
	let last = await page.screenshot();
	for (let i = 0; i < 20; i++) {
		await settle(page);
		const next = await page.screenshot();
		if (next.equals(last)) {
			break;
		}
		last = next;
	}
	return last;
}

/** True if two pictures are the same to the eye: edges that were drawn twice may be off by a shade, `most` values by more. */
export async function looksSame(browser, one, other, most = 0) {
	const page = await browser.newPage();
	const same = await page.evaluate(
		async ([pictures, most]) => {
			const pixels = pictures.map(async (base64) => {
				const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
				const image = await createImageBitmap(new Blob([bytes]));
				const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
				context.drawImage(image, 0, 0);
				return context.getImageData(0, 0, image.width, image.height).data;
			});
			const [a, b] = await Promise.all(pixels);
			const differ = a.reduce((n, v, i) => n + (Math.abs(v - b[i]) > 4 ? 1 : 0), 0);
			return a.length === b.length && differ <= most;
		},
		[[one.toString('base64'), other.toString('base64')], most],
	);
	await page.close();
	return same;
}
