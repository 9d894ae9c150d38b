// SPDX-License-Identifier: MIT
import { readRecording } from './read.ts';

/**
 * What only the page that opens any recording has (heaptrack_print --viewer): a script of its own,
 * before the page's (web/build.mjs), so that pages with a recording are smaller.
 */

const START =
	'<h1>Open a recording</h1>' +
	'<p>Drop a file on this page, or choose one: of heaptrack (.zst), of KDE\'s heaptrack, ' +
	'massif, DHAT, pprof, V8, jemalloc or tcmalloc, or collapsed stacks; packed by gzip ' +
	'or zstd or as it is; or a page that heaptrack wrote.</p>' +
	'<p><input type="file" aria-label="Recording"></p>' +
	'<p>It is read in this page. Nothing is sent or kept.</p>';

/** The next file that somebody chooses or drops. */
function choose(root: HTMLElement, why: string): Promise<File> {
	return new Promise((resolve) => {
		const main = document.createElement('main');
		main.className = 'loading';
		main.innerHTML = START;
		if (why) {
			const failed = document.createElement('p');
			failed.className = 'failed';
			failed.role = 'alert';
			failed.textContent = why;
			main.append(failed);
		}
		const over = (event: DragEvent) => event.preventDefault();
		const take = (file: File | undefined) => {
			if (file) {
				removeEventListener('dragover', over);
				removeEventListener('drop', drop);
				main.remove();
				resolve(file);
			}
		};
		const drop = (event: DragEvent) => {
			event.preventDefault();
			take(event.dataTransfer?.files[0]);
		};
		const input = main.querySelector('input')!;
		input.onchange = () => take(input.files?.[0]);
		addEventListener('dragover', over);
		addEventListener('drop', drop);
		root.append(main);
	});
}

const viewer = { choose, read: readRecording };

export type Viewer = typeof viewer;

declare global {
	var viewer: Viewer | undefined;
}

globalThis.viewer = viewer;
