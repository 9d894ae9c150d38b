// SPDX-License-Identifier: MIT
import { pause } from './pause.ts';

type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array;

const PIECE = 100_000; // numbers: some ms

/** Reads the blob's numbers: LEB128, below 2^53. Past the end it throws: the blob was cut. */
export class Reader {
	private at: number;
	private readonly end: number;

	constructor(
		private readonly bytes: Uint8Array,
		start = 0,
		end = bytes.length,
	) {
		this.at = start;
		this.end = end;
	}

	get offset(): number {
		return this.at;
	}

	get left(): number {
		return this.end - this.at;
	}

	get isDone(): boolean {
		return this.at >= this.end;
	}

	varint(): number {
		const b = this.bytes;
		let at = this.at;
		let byte = b[at++]!;
		let value = byte & 127;
		let scale = 128;
		while (byte & 128) {
			byte = b[at++]!;
			value += (byte & 127) * scale;
			scale *= 128;
		}
		if (at > this.end) {
			throw new Error(`the profile ends at byte ${this.end} in the middle of a table`);
		}
		this.at = at;
		return value;
	}

	/** Numbers for the rows of `out` from `first` on. */
	private fill<T extends Column>(out: T, first: number, last = out.length): T {
		const b = this.bytes;
		let at = this.at;
		for (let i = first; i < last; i++) {
			let byte = b[at++]!;
			let value = byte & 127;
			for (let scale = 128; byte > 127; scale *= 128) {
				byte = b[at++]!;
				value += (byte & 127) * scale;
			}
			out[i] = value;
		}
		if (at > this.end) {
			throw new Error(`the profile ends at byte ${this.end} in the middle of a table`);
		}
		this.at = at;
		return out;
	}

	/** Numbers for all rows of a long column, with pauses. */
	async fillSlowly<T extends Column>(out: T): Promise<T> {
		for (let i = 0; i < out.length; i += PIECE) {
			await pause();
			this.fill(out, i, Math.min(out.length, i + PIECE));
		}
		return out;
	}

	/** n numbers below 2^32. */
	column32(n: number): Uint32Array {
		return this.fill(new Uint32Array(n), 0);
	}

	/** The same of a table that has no row 0, which is 0 here. */
	column32From1(n: number): Uint32Array {
		return this.fill(new Uint32Array(n), 1);
	}

	/**
	 * n numbers below 2^32 but for row 0, each written as how far it is from the one before:
	 * zigzag.
	 */
	steppingFrom1(n: number): Uint32Array {
		const out = this.column32From1(n);
		for (let i = 1; i < n; i++) {
			const by = out[i]!;
			out[i] = out[i - 1]! + (by & 1 ? -(by + 1) / 2 : by / 2);
		}
		return out;
	}

	/** n numbers below 2^53. */
	column(n: number): Float64Array {
		return this.fill(new Float64Array(n), 0);
	}

	/** n numbers, each written as what it is more than the one before. */
	rising(n: number): Float64Array {
		const out = this.column(n);
		for (let i = 1; i < n; i++) {
			out[i]! += out[i - 1]!;
		}
		return out;
	}

	/** A column with its length before it: what follows is read from there when it is asked for. */
	sized(): Reader {
		const bytes = this.varint();
		const start = this.at;
		this.bytesOf(bytes);
		return new Reader(this.bytes, start, this.at);
	}

	/** Texts: how long each is, then all of them. */
	texts(n: number): string[] {
		const ends = this.column32(n);
		for (let i = 1; i < n; i++) {
			ends[i]! += ends[i - 1]!;
		}
		const bytes = this.bytesOf(ends[n - 1]!);
		const utf8 = new TextDecoder();
		const all = utf8.decode(bytes);
		const isAscii = all.length === bytes.length; // else a letter has more bytes than units
		return Array.from(ends, (end, i) => {
			const start = i ? ends[i - 1]! : 0;
			return isAscii ? all.slice(start, end) : utf8.decode(bytes.subarray(start, end));
		});
	}

	bytesOf(n: number): Uint8Array {
		const at = this.at;
		if (at + n > this.end) {
			throw new Error(`the profile ends at byte ${this.end} in the middle of a text`);
		}
		this.at += n;
		return this.bytes.subarray(at, at + n);
	}
}
