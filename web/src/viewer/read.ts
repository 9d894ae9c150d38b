// SPDX-License-Identifier: MIT
import { bytesOfBase64 } from '../base64.ts';
import type { Task, Told } from './worker.ts';

/**
 * The page that opens any recording (heaptrack_print --viewer): the engine and its worker stand in
 * its HTML. Scripts of a file cannot fetch anything, so the worker begins with what stands there.
 */

const MOST_BYTES = 1.5e9; // a module has 4 GB for the file and all that it holds

/** What an element of the page holds; it stays there for the next file. */
function textOf(id: string): string {
	return document.getElementById(id)!.textContent!.trim();
}

/** A file of heaptrack or of another tool as a profile. Throws an Error that says what is wrong. */
export async function readRecording(file: File): Promise<Uint8Array<ArrayBuffer>> {
	if (file.size > MOST_BYTES) {
		throw new Error(
			`${file.name} is larger than a browser can hold (1.5 GB); ` +
			`on the machine where it is: ` +
				`heaptrack_print --html page.html --html-limit 30M ${file.name}`,
		);
	}
	for (const needed of ['WebAssembly', 'Worker']) {
		if (!(needed in globalThis)) {
			throw new Error(
				`${file.name} cannot be read here: this browser has no ${needed}; ` +
				`on the machine where it is: heaptrack_print ${file.name}`,
			);
		}
	}
	const script = URL.createObjectURL(new Blob([textOf('worker')], { type: 'text/javascript' }));
	const worker = new Worker(script);
	try {
		const told = await new Promise<Told>((resolve, reject) => {
			worker.onmessage = ({ data }: MessageEvent<Told>) => resolve(data);
			worker.onerror = ({ message }) =>
				reject(new Error(message || 'this browser starts no worker'));
			worker.postMessage({ engine: bytesOfBase64(textOf('engine')), file } satisfies Task);
		});
		if ('why' in told) {
			throw new Error(told.why);
		}
		return told.profile;
	} finally {
		worker.terminate();
		URL.revokeObjectURL(script);
	}
}
