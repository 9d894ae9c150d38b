// SPDX-License-Identifier: MIT
import { render } from 'preact';
import { openBlob, type Opened } from '../data/decode.ts';
import { chunksOf, refusal } from '../load.ts';
import { keepOpened } from '../save.ts';
import { Loading } from '../ui/loading.tsx';
import { bytes } from '../ui/format.ts';

/** What the viewer shows until a file is chosen or dropped. */

function Start({ why, take }: { why: string; take: (file: File) => void }) {
	const choose = (event: Event) => {
		const file = (event.currentTarget as HTMLInputElement).files?.[0];
		if (file) {
			take(file);
		}
	};
	return (
		<main class="loading">
			<h1>Open a recording</h1>
			<p>
				Drop a file on this page, or choose one: of heaptrack (.zst), of KDE's heaptrack,
				massif, DHAT, pprof, V8, jemalloc or tcmalloc, or collapsed stacks; packed by gzip
				or zstd or as it is; or a page that heaptrack wrote.
			</p>
			<p>
				<input type="file" aria-label="Recording" onChange={choose} />
			</p>
			<p>It is read here, by this page. Nothing is sent anywhere or kept.</p>
			{why && (
				<p class="failed" role="alert">
					{why}
				</p>
			)}
		</main>
	);
}

/** The next file that somebody chooses or drops. */
function chosen(root: HTMLElement, why: string): Promise<File> {
	return new Promise((resolve) => {
		const over = (event: DragEvent) => event.preventDefault();
		const drop = (event: DragEvent) => {
			event.preventDefault();
			const file = event.dataTransfer?.files[0];
			if (file) {
				take(file);
			}
		};
		const take = (file: File) => {
			removeEventListener('dragover', over);
			removeEventListener('drop', drop);
			resolve(file);
		};
		addEventListener('dragover', over);
		addEventListener('drop', drop);
		render(<Start why={why} take={take} />, root);
	});
}

/** Asks until there is a file that can be opened. */
export async function openChosen(root: HTMLElement): Promise<Opened> {
	for (let why = ''; ; ) {
		const file = await chosen(root, why);
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
