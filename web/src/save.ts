// SPDX-License-Identifier: MIT

/**
 * A page that was opened as a file, as a file again: a link to it works for nobody else. What was
 * taken out of the page is kept where it costs this tab nothing, and the view is written into it.
 */

const kept = new Map<string, Blob>(); // by the element that held it
let plain: Element | null = null;

/** What an element of the page held, before it is emptied. */
export function keepText(id: string, text: string): void {
	if (location.protocol === 'file:') {
		kept.set(id, new Blob([text]));
	}
}

/** The report as text is only for those who see nothing else. */
export function dropPlain(): void {
	plain = document.getElementById('plain');
	plain?.remove();
}

export function canSave(): boolean {
	return kept.has('rest');
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
	root.querySelector('meta[name=view]')?.remove();
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
	const starts = /(?<=<script type="application\/octet-stream" id="\w+">)/;
	const parts = unopened(view)
		.split(starts)
		.flatMap((part) => [part, kept.get(/id="(\w+)">$/.exec(part)?.[1] ?? '') ?? '']);
	const name = decodeURIComponent(location.pathname.split('/').pop()!);
	download(new Blob(parts, { type: 'text/html' }), name);
}

function download(blob: Blob, name: string): void {
	const link = document.createElement('a');
	link.href = URL.createObjectURL(blob);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Saves the flame graph that is shown, as far as it is on the screen. */
export function savePicture(): void {
	const canvas = document.querySelector<HTMLCanvasElement>('.flame canvas');
	canvas?.toBlob((blob) => download(blob!, 'flame-graph.png'));
}

export function savePictures(svg: string): void {
	if (svg) {
		download(new Blob([svg], { type: 'image/svg+xml' }), 'pictures.svg');
	}
}
