// SPDX-License-Identifier: MIT
import { pause } from './pause.ts';
import type { Profile } from './profile.ts';
import { readFirst, readRest } from './tables.ts';

const MAGIC = 'heappage';
const VERSION = 6;
const HEAD_BYTES = 12;
const PART_BYTES = 16;
const CHUNK = 1 << 20;

type Bytes = Uint8Array<ArrayBuffer>;

/** A blob's bytes, as they come. */
export type Chunks = AsyncIterable<Bytes> | Iterable<Bytes>;

/** Gives the next bytes, as many as are asked for. */
type Take = (n: number) => Promise<Bytes>;

function taker(chunks: Chunks): Take {
	const source =
		Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
	let here: Bytes = new Uint8Array();
	return async (n) => {
		const parts: Bytes[] = [];
		let left = n;
		while (here.length < left) {
			parts.push(here);
			left -= here.length;
			const { done, value } = await source.next();
			if (done) {
				throw new Error(`the profile is cut: ${left} bytes are missing`);
			}
			here = value;
		}
		const last = here.subarray(0, left);
		here = here.subarray(left);
		return parts.some((part) => part.length) ? joined([...parts, last], n) : last;
	};
}

function joined(parts: Bytes[], n: number): Bytes {
	const out = new Uint8Array(n);
	let at = 0;
	for (const part of parts) {
		out.set(part, at);
		at += part.length;
	}
	return out;
}

/** In pieces: what is inflated at once holds the page up. */
async function feed(stream: WritableStream<Bytes>, packed: Bytes): Promise<void> {
	const writer = stream.getWriter();
	for (let at = 0; at < packed.length; at += CHUNK) {
		await writer.ready;
		await pause();
		void writer.write(packed.subarray(at, at + CHUNK)).catch(() => {}); // whoever reads is told
	}
	await writer.close();
}

async function inflate(packed: Bytes, size: number): Promise<Bytes> {
	const stream = new DecompressionStream('deflate-raw');
	const fed = feed(stream.writable as WritableStream<Bytes>, packed);
	fed.catch(() => {});
	const reader = (stream.readable as ReadableStream<Bytes>).getReader();
	const out = new Uint8Array(size);
	let at = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) {
			break;
		}
		if (at + value.length > size) {
			throw new Error('the profile is larger than its head says');
		}
		out.set(value, at);
		at += value.length;
	}
	if (at !== size) {
		throw new Error(`the profile is cut: ${at} of ${size} bytes`);
	}
	return out;
}

async function takePart(take: Take): Promise<Bytes> {
	const head = await take(PART_BYTES);
	const view = new DataView(head.buffer, head.byteOffset, PART_BYTES);
	const number = (at: number) =>
		view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
	return inflate(await take(number(8)), number(0));
}

async function takeHead(take: Take): Promise<void> {
	const head = await take(HEAD_BYTES);
	if (new TextDecoder().decode(head.subarray(0, MAGIC.length)) !== MAGIC) {
		throw new Error('these bytes are no profile of heaptrack');
	}
	const version = new DataView(head.buffer, head.byteOffset).getUint32(MAGIC.length, true);
	if (version !== VERSION) {
		throw new Error(`the profile has version ${version}; this page reads version ${VERSION}`);
	}
}

/** A profile whose second part is yet to come: `rest` adds it. */
export interface Opened {
	profile: Profile;
	rest: () => Promise<void>;
}

/** What `heaptrack` wrote for the page. Throws an Error that says what is wrong. */
export async function openBlob(chunks: Chunks): Promise<Opened> {
	const take = taker(chunks);
	await takeHead(take);
	const profile = readFirst(await takePart(take));
	return { profile, rest: async () => readRest(profile, await takePart(take)) };
}

/** The same, all of it. */
export async function decode(chunks: Chunks): Promise<Profile> {
	const { profile, rest } = await openBlob(chunks);
	await rest();
	return profile;
}
