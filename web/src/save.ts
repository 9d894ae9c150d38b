// SPDX-License-Identifier: MIT
import { base64OfBytes } from './base64.ts';

/**
 * A page that was opened as a file, as a file again: a link to it works for nobody else. What was
 * taken out of the page is kept where it costs this tab nothing, and the view is written into it.
 */

const kept = new Map<string, Blob>(); // by the element that held it
let opened: { name: string; bytes: Uint8Array<ArrayBuffer> } | null = null; // by the viewer
let plain: Element | null = null;

/** What an element of the page held, before it is emptied. */
export function keepText(id: string, text: string): void {
	if (location.protocol === 'file:') {
		kept.set(id, new Blob([text]));
	}
}

/** A profile that the viewer has read, in one piece or several: a page of its own holds it. */
export async function keepOpened(file: string, chunks: Uint8Array<ArrayBuffer>[]): Promise<void> {
	const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer());
	opened = { name: `${file.replace(/\.html$/, '')}.html`, bytes };
}

/** The parts of a page in which that profile stands: both elements hold something. */
function keepParts(bytes: Uint8Array<ArrayBuffer>): void {
	const half = 3 * Math.ceil(bytes.length / 6); // bytes of which letters are whole
	for (const [id, part] of Object.entries({
		profile: bytes.subarray(0, half),
		rest: bytes.subarray(half),
	})) {
		kept.set(id, new Blob([base64OfBytes(part)]));
	}
}

/** The report as text is only for those who see nothing else. */
export function dropPlain(): void {
	plain = document.getElementById('plain');
	plain?.remove();
}

export function canSave(): boolean {
	return opened !== null || kept.has('rest');
}

/** The words of the view that a page was saved with; '': none. */
export function savedView(): string {
	return document.querySelector<HTMLMetaElement>('meta[name=view]')?.content ?? '';
}

/** The page as it was before it was opened, with an empty element for each that was taken. */
function unopened(view: string): string {
	const root = document.documentElement.cloneNode(true) as HTMLElement;
	root.removeAttribute('class');
	root.removeAttribute('data-theme');
	root.querySelector('#app')!.replaceWith(
		Object.assign(document.createElement('div'), { id: 'app' }),
		...(plain ? [plain.cloneNode(true)] : []),
	);
	const taken = 'meta[name=view], #profile, #rest, #engine, #worker, #engine-licences, #viewer';
	root.querySelectorAll(taken).forEach((element) => element.remove());
	const meta = document.createElement('meta');
	Object.assign(meta, { name: 'view', content: view });
	root.querySelector('title')!.after(meta);
	const script = [...root.querySelectorAll('body > script')].find((s) => !s.id)!;
	const empty = (id: string) =>
		Object.assign(document.createElement('script'), { type: 'application/octet-stream', id });
	script.before(empty('profile'));
	script.after(...['rest', 'base'].filter((id) => kept.has(id)).map(empty));
	return `<!doctype html>\n${root.outerHTML}\n`;
}

/** Saves this page, so that it opens with a view. */
export function savePage(view: string): void {
	if (opened) {
		keepParts(opened.bytes);
	}
	const starts = /(?<=<script type="application\/octet-stream" id="\w+">)/;
	const parts = unopened(view)
		.split(starts)
		.flatMap((part) => [part, kept.get(/id="(\w+)">$/.exec(part)?.[1] ?? '') ?? '']);
	const name = opened?.name ?? decodeURIComponent(location.pathname.split('/').pop()!);
	download(new Blob(parts, { type: 'text/html' }), name);
}

function download(blob: Blob, name: string): void {
	const link = document.createElement('a');
	link.href = URL.createObjectURL(blob);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function savePictures(picture: Blob): void {
	download(picture, `pictures.${picture.type === 'image/png' ? 'png' : 'svg'}`);
}
