// SPDX-License-Identifier: MIT
import { Gunzip } from 'fflate';
import { decompress, Decompress } from 'fzstd';

/** Files of other tools, unpacked: gzip and zstd are known by their first bytes. */

type Bytes = Uint8Array<ArrayBuffer>;

/** Gives the next bytes, as many as there is room for; none at the end. */
export interface Unpacked {
	next(room: number): Bytes;
	isTorn: boolean; // the file could not be unpacked to its end
}

interface Stream {
	push(part: Bytes, isLast: boolean): void;
	isWhole?: () => boolean; // for who is not told by an exception
}

const CHUNK = 1 << 16;

/**
 * The last four bytes of a member say how many it unpacks to: not every cut file makes this library
 * throw.
 */
function gunzip(file: Bytes, give: (part: Uint8Array) => void): Stream {
	let ofMember = 0;
	const stream = new Gunzip((part) => {
		ofMember += part.length;
		give(part);
	});
	stream.onmember = () => (ofMember = 0);
	return {
		push: (part, isLast) => stream.push(part, isLast),
		isWhole: () =>
			ofMember % 2 ** 32 === new DataView(file.slice(-4).buffer).getUint32(0, true),
	};
}

function streamOf(file: Bytes, take: (part: Bytes) => void): Stream | null {
	const [a, b, c, d] = file;
	// What is lent is written over later
	const give = (part: Uint8Array) => take(part.slice() as Bytes);
	if (a === 0x1f && b === 0x8b && c === 8) {
		return gunzip(file, give);
	}
	const isSkippable = a! >> 4 === 5 && b === 0x2a && c === 0x4d && d === 0x18;
	return isSkippable || (a === 0x28 && b === 0xb5 && c === 0x2f && d === 0xfd)
		? new Decompress(give)
		: null;
}

export function unpack(file: Bytes): Unpacked {
	let here: Bytes[] = [];
	let at = 0;
	const stream = streamOf(file, (part) => here.push(part));
	const more = () => {
		const part = file.subarray(at, at + CHUNK);
		at += part.length;
		if (!stream) {
			here.push(part);
			return;
		}
		try {
			stream.push(part, at >= file.length);
			out.isTorn = at >= file.length && stream.isWhole?.() === false;
		} catch {
			at = file.length; // damage behind good bytes: those hold
			out.isTorn = true;
		}
	};
	const out: Unpacked = {
		isTorn: false,
		next(room) {
			here = here.filter((part) => part.length);
			while (!here.length && at < file.length) {
				more();
				here = here.filter((part) => part.length);
			}
			const part = here[0] ?? new Uint8Array();
			here[0] = part.subarray(room);
			return part.subarray(0, room);
		},
	};
	return out;
}

/** One zstd frame of a recording, which unpacks to `size` bytes; null: it is damaged. */
export function unpackFrame(frame: Bytes, size: number): Uint8Array | null {
	try {
		const out = decompress(frame);
		return out.length === size ? out : null;
	} catch {
		return null;
	}
}
