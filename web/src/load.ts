// SPDX-License-Identifier: MIT

/**
 * Where the profile comes from: the page itself, or the program that serves it. All addresses of
 * the server are here.
 */

import { bytesOfBase64 } from './base64.ts';
import { decode, openBlob, type Opened } from './data/decode.ts';
import type { Profile } from './data/profile.ts';
import type { Base } from './state.ts';
import { keepText } from './save.ts';
import type { Viewer } from './viewer/viewer.ts';

/** What reads any recording; undefined: only the viewer has it. */
export const viewer: Viewer | undefined = globalThis.viewer;

const PROFILE = 'profile.bin';
const BASE = 'base.bin';
const SOURCE = 'source/';
const SAVE = 'save.html';
const ALIVE = 'alive';

/** What an element of the page holds; it is emptied, for it may be large. */
function takeText(id: string): string {
	const element = document.getElementById(id);
	const text = element?.textContent ?? '';
	keepText(id, text);
	element?.remove();
	return text;
}

export function isEmbedded(): boolean {
	return document.getElementById('profile')?.firstChild != null;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Once the browser has read all of the page. */
function whenParsed(): Promise<void> {
	return new Promise((resume) => {
		if (document.readyState === 'loading') {
			document.addEventListener('DOMContentLoaded', () => resume(), { once: true });
		} else {
			resume();
		}
	});
}

/** The profile's second part stands behind the script that reads it. */
async function* embedded(): AsyncGenerator<Bytes> {
	yield bytesOfBase64(takeText('profile'));
	await whenParsed();
	yield bytesOfBase64(takeText('rest'));
}

async function* fetched(address: string): AsyncGenerator<Bytes> {
	const answer = await fetch(address);
	if (!answer.ok) {
		throw new Error(
			`the server gave no profile: ${answer.status}`,
		);
	}
	const reader = answer.body!.getReader();
	for (;;) {
		const { done, value } = await reader.read();
		if (done) {
			return;
		}
		yield value;
	}
}

export function openProfile(say: (what: string) => void): Promise<Opened> {
	say(isEmbedded() ? 'unpacking the profile' : 'reading the profile');
	return openBlob(isEmbedded() ? embedded() : fetched(PROFILE));
}

/** The recording that this one is to be compared with; null: there is none. */
export async function loadBase(): Promise<Base | null> {
	const name = document.querySelector<HTMLElement>('meta[name=base]')?.getAttribute('content');
	if (!name) {
		return null;
	}
	await whenParsed();
	const text = takeText('base');
	return { name, profile: await decode(text ? [bytesOfBase64(text)] : fetched(BASE)) };
}

/** What an element of a page's HTML holds, as the page is written (web/index.html). */
function embeddedIn(html: string, id: string): string | null {
	const start = `id="${id}">`;
	const from = html.indexOf(start);
	const to = html.indexOf('</script>', from);
	return from < 0 || to < 0 ? null : html.slice(from + start.length, to);
}

/**
 * The profile that a file holds: the page's HTML, the profile alone, or where there is an engine
 * any recording.
 */
export async function chunksOf(file: File): Promise<Bytes[]> {
	const [head] = new Uint8Array(await file.slice(0, 1).arrayBuffer());
	if (head !== 0x3c) {
		return [(await viewer?.read(file)) ?? new Uint8Array(await file.arrayBuffer())];
	}
	const html = await file.text();
	const [profile, rest] = [embeddedIn(html, 'profile'), embeddedIn(html, 'rest')];
	if (!profile || !rest) {
		throw new Error(`${file.name} is neither a page nor a profile of heaptrack`);
	}
	return [bytesOfBase64(profile), bytesOfBase64(rest)];
}

const KINDS = {
	'\x89PNG': 'a picture',
	'%PDF': 'a PDF',
	PK: 'an archive',
	'\x7fELF': 'a program or core dump',
	PERFILE: 'a recording of perf',
	'(\xb5/\xfd': 'a recording: heaptrack_print --html makes a page of it',
};

/** Why a file could not be opened, and what it is. */
export async function refusal(file: File, why: unknown): Promise<string> {
	const words = why instanceof Error ? why.message : String(why);
	const head = String.fromCharCode(...new Uint8Array(await file.slice(0, 8).arrayBuffer()));
	const [, kind] = Object.entries(KINDS).find(([begin]) => head.startsWith(begin)) ?? [];
	const named = words.startsWith(file.name) ? words : `${file.name}: ${words}`;
	const isOurs = viewer && kind?.includes('heaptrack');
	return kind && !isOurs ? `${named}; it is ${kind}` : named;
}

/** A profile out of a file that somebody dropped. */
export async function loadFile(file: File): Promise<Profile> {
	return decode(await chunksOf(file));
}

/** The lines of a source file, by the number that the profile has for it. */
export async function loadSource(id: number): Promise<string[]> {
	const answer = await fetch(`${SOURCE}${id}`);
	if (!answer.ok) {
		throw new Error(await answer.text());
	}
	return (await answer.text()).replace(/\n$/, '').split('\n');
}

export const saveAddress = SAVE;

/** Tells the program that this tab is open, for as long as it is; `gone` when the program ends. */
export async function stayAlive(gone: () => void): Promise<void> {
	try {
		const answer = await fetch(ALIVE);
		const reader = answer.body?.getReader();
		while (reader && !(await reader.read()).done) {
			// it says nothing of interest
		}
	} catch {
		// the program is gone, too
	}
	gone();
}
