// SPDX-License-Identifier: MIT
import { Engine } from './module.ts';

/** Reads one file beside the page, which stays smooth meanwhile; then it ends. */

/** What the page asks, and what it is told. */
export interface Task {
	engine: Uint8Array<ArrayBuffer>; // packed by gzip
	file: File;
}
export type Told = { profile: Uint8Array<ArrayBuffer> } | { why: string };

const tell = self.postMessage as (told: Told, transferred?: Transferable[]) => void;

async function read({ engine, file }: Task): Promise<Uint8Array<ArrayBuffer>> {
	const code = new Blob([engine]).stream().pipeThrough(new DecompressionStream('gzip'));
	const made = await Engine.of(await new Response(code).arrayBuffer());
	return made.open(file.name, new Uint8Array(await file.arrayBuffer()));
}

self.onmessage = ({ data }: MessageEvent<Task>) => {
	read(data).then(
		(profile) => tell({ profile }, [profile.buffer]),
		(why: unknown) => tell({ why: why instanceof Error ? why.message : String(why) }),
	);
};
