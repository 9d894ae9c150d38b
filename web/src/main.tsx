// SPDX-License-Identifier: MIT
import { render } from 'preact';
import { App } from './app.tsx';
import { isEmbedded, loadBase, openProfile, stayAlive, viewer } from './load.ts';
import { isServed, isServerGone, isWhole, profile, view, views } from './state.ts';
import { bindAnnouncements } from './ui/announce.ts';
import { bindDrop, takeBase } from './ui/drop.ts';
import { useTimeUnit } from './ui/format.ts';
import { bindKeys } from './ui/keys.ts';
import { Loading, Failed } from './ui/loading.tsx';
import { dropPlain } from './save.ts';
import { bindAddress, readAddress } from './url.ts';
import { openChosen } from './viewer/start.tsx';
import { VIEWS } from './views/table.ts';

async function start(root: HTMLElement): Promise<void> {
	const title = document.title.split(' · ')[0]!;
	render(<Loading title={title} what="opening" />, root);
	isServed.value = !isEmbedded() && !viewer && location.protocol.startsWith('http');
	const opened = viewer
		? await openChosen(viewer, root)
		: await openProfile((what) => render(<Loading title={title} what={what} />, root));
	profile.value = opened.profile;
	useTimeUnit(opened.profile.facts.page.time_unit);
	views.value = VIEWS;
	forgetToken();
	readAddress();
	await showFirst(root);
	await opened.rest();
	isWhole.value = true;
	root.removeAttribute('aria-busy');
	dropPlain();
	bindDrop();
	void openBase();
	if (isServed.value) {
		void stayAlive(() => (isServerGone.value = true));
	}
}

/** What the first part answers can be asked for while the rest is read. */
async function showFirst(root: HTMLElement): Promise<void> {
	root.setAttribute('aria-busy', 'true');
	render(<App />, root);
	bindAddress();
	bindKeys();
	bindAnnouncements();
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
	root.removeAttribute('aria-busy');
	render(<Failed why={text} />, root);
}

const root = document.getElementById('app')!;
if (document.documentElement.classList.contains('js')) {
	start(root).catch((why: unknown) => giveUp(root, why));
} else {
	giveUp(
		root,
		'This browser is too old: use Chrome 103, Firefox 113, Safari 16.4 or later',
	);
}
