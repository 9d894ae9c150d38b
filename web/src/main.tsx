// SPDX-License-Identifier: MIT
import { render } from 'preact';
import { App } from './app.tsx';
import { isEmbedded, loadBase, openProfile, stayAlive } from './load.ts';
import { isServed, isServerGone, isWhole, profile, view } from './state.ts';
import { bindDrop, takeBase } from './ui/drop.ts';
import { bindKeys } from './ui/keys.ts';
import { Loading, Failed } from './ui/loading.tsx';
import { bindAddress, isSoonDrawn, readAddress } from './url.ts';

async function start(root: HTMLElement): Promise<void> {
	const title = document.title.split(' · ')[0]!;
	render(<Loading title={title} what="opening" />, root);
	isServed.value = !isEmbedded() && location.protocol.startsWith('http');
	const opened = await openProfile((what) => render(<Loading title={title} what={what} />, root));
	profile.value = opened.profile;
	forgetToken();
	readAddress();
	if (isSoonDrawn()) {
		await showFirst(root);
	}
	await opened.rest();
	isWhole.value = true;
	setBusy(root, false);
	render(<App />, root);
	document.getElementById('plain')?.remove();
	bindAddress();
	bindKeys();
	bindDrop();
	void openBase();
	if (isServed.value) {
		void stayAlive(() => (isServerGone.value = true));
	}
}

function setBusy(root: HTMLElement, isBusy: boolean): void {
	root.inert = isBusy;
	root.setAttribute('aria-busy', String(isBusy));
}

/** A picture to look at while the rest is read; until then nothing can be asked of it. */
async function showFirst(root: HTMLElement): Promise<void> {
	setBusy(root, true);
	render(<App />, root);
	await new Promise((resume) => {
		requestAnimationFrame(() => setTimeout(resume));
		setTimeout(resume, 100); // a tab in the background draws nothing
	});
}

/** What it is compared with comes after what is looked at first. */
async function openBase(): Promise<void> {
	const hasView = /(^#|&)v=/.test(location.hash);
	const base = await loadBase();
	if (base) {
		takeBase(base.name, base.profile, hasView ? view.value : 'compare');
	}
}

/** The cookie has taken its place: a link that is copied from here lets nobody in. */
function forgetToken(): void {
	if (isServed.value && location.search) {
		history.replaceState(null, '', location.pathname + location.hash);
	}
}

/** The text report stays; above it stands why there is no more. */
function giveUp(root: HTMLElement, why: unknown): void {
	const text = why instanceof Error ? why.message : String(why);
	document.documentElement.classList.remove('js');
	setBusy(root, false);
	render(<Failed why={text} />, root);
}

const root = document.getElementById('app')!;
if (document.documentElement.classList.contains('js')) {
	start(root).catch((why: unknown) => giveUp(root, why));
} else {
	giveUp(root, 'This browser cannot unpack the profile (Chrome 103, Firefox 113 or Safari 16.4 can)');
}
