// SPDX-License-Identifier: MIT
import { render } from 'preact';
import { openBlob, type Opened } from '../data/decode.ts';
import { chunksOf, refusal } from '../load.ts';
import { keepOpened } from '../save.ts';
import { Loading } from '../ui/loading.tsx';
import { bytes } from '../ui/format.ts';
import type { Viewer } from './viewer.ts';

/** Asks until there is a file that can be opened. */
export async function openChosen(viewer: Viewer, root: HTMLElement): Promise<Opened> {
	for (let why = ''; ; ) {
		render(null, root);
		const file = await viewer.choose(root, why);
		render(<Loading title={file.name} what={`reading ${bytes(file.size)}`} />, root);
		try {
			const chunks = await chunksOf(file);
			const opened = await openBlob(chunks);
			await keepOpened(file.name, chunks);
			document.title = `${file.name} · heaptrack`;
			return opened;
		} catch (reason) {
			why = await refusal(file, reason);
		}
	}
}
