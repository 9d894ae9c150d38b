// SPDX-License-Identifier: MIT

/**
 * Where the profile comes from: the page itself, or the program that serves it. All addresses of
 * the server are here.
 */

import { decode } from './data/decode.ts';
import type { Profile } from './data/profile.ts';
import type { Base } from './state.ts';

const PROFILE = 'profile.bin';
const BASE = 'base.bin';
const SOURCE = 'source/';
const SAVE = 'save.html';
const ALIVE = 'alive';

/** What an element of the page holds; it is emptied, for it may be large. */
function takeText(id: string): string {
	const element = document.getElementById(id);
	const text = element?.textContent ?? '';
	element?.remove();
	return text;
}

export function isEmbedded(): boolean {
	return document.getElementById('profile')?.firstChild != null;
}

interface FromBase64 {
	fromBase64?: (text: string) => Uint8Array<ArrayBuffer>;
}

export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
	const native = (Uint8Array as unknown as FromBase64).fromBase64;
	if (native) {
		return native.call(Uint8Array, text);
	}
	const binary = atob(text);
	const out = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++) {
		out[i] = binary.charCodeAt(i);
	}
	return out;
}

async function fetched(address: string): Promise<Uint8Array<ArrayBuffer>> {
	const answer = await fetch(address);
	if (!answer.ok) {
		throw new Error(`the program did not give the profile: ${answer.status} ${answer.statusText}`);
	}
	return new Uint8Array(await answer.arrayBuffer());
}

export async function loadProfile(say: (what: string) => void): Promise<Profile> {
	if (isEmbedded()) {
		const text = takeText('profile');
		say(`unpacking ${(text.length / 1e6).toFixed(1)} MB`);
		await new Promise((resume) => setTimeout(resume)); // the words are seen first
		return decode(bytesOfBase64(text));
	}
	say('reading the profile');
	return decode(await fetched(PROFILE));
}

/** The recording that this one is to be compared with; null: there is none. */
export async function loadBase(): Promise<Base | null> {
	const name = document.querySelector<HTMLElement>('meta[name=base]')?.getAttribute('content');
	if (!name) {
		return null;
	}
	const text = takeText('base');
	return { name, profile: await decode(text ? bytesOfBase64(text) : await fetched(BASE)) };
}

/** A profile out of a file that somebody dropped: the page's HTML, or the profile alone. */
export async function loadFile(file: File): Promise<Profile> {
	const bytes = new Uint8Array(await file.arrayBuffer());
	if (bytes[0] !== 0x3c) {
		return decode(bytes);
	}
	const html = new TextDecoder().decode(bytes);
	const from = html.indexOf('id="profile">');
	const to = html.indexOf('</script>', from);
	if (from < 0 || to < 0) {
		throw new Error(`${file.name} is neither a page nor a profile of heaptrack`);
	}
	return decode(bytesOfBase64(html.slice(from + 'id="profile">'.length, to).trim()));
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
