// SPDX-License-Identifier: MIT
import { render } from 'preact';
import { App } from './app.tsx';
import { isEmbedded, loadBase, loadProfile, stayAlive } from './load.ts';
import { isServed, isServerGone, profile, view } from './state.ts';
import { takeBase } from './ui/drop.ts';
import { Loading, Failed } from './ui/loading.tsx';
import { bindAddress } from './url.ts';

async function start(root: HTMLElement): Promise<void> {
	const title = document.title.split(' · ')[0]!;
	render(<Loading title={title} what="opening" />, root);
	isServed.value = !isEmbedded() && location.protocol.startsWith('http');
	profile.value = await loadProfile((what) => render(<Loading title={title} what={what} />, root));
	forgetToken();
	bindAddress();
	document.getElementById('plain')?.remove();
	render(<App />, root);
	void openBase();
	if (isServed.value) {
		void stayAlive(() => (isServerGone.value = true));
	}
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
	render(<Failed why={text} />, root);
}

const root = document.getElementById('app')!;
if (document.documentElement.classList.contains('js')) {
	start(root).catch((why: unknown) => giveUp(root, why));
} else {
	giveUp(root, 'This browser cannot unpack the profile (Chrome 103, Firefox 113 or Safari 16.4 can)');
}
