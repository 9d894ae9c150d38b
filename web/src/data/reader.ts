// SPDX-License-Identifier: MIT

function isAscii(bytes: Uint8Array): boolean {
	for (let i = 0; i < bytes.length; i++) {
		if (bytes[i]! > 127) {
			return false;
		}
	}
	return true;
}

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
	private fill<T extends Uint32Array | Float64Array>(out: T, first: number): T {
		const b = this.bytes;
		let at = this.at;
		for (let i = first; i < out.length; i++) {
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

	/** n numbers below 2^32. */
	column32(n: number): Uint32Array {
		return this.fill(new Uint32Array(n), 0);
	}

	/** The same of a table that has no row 0, which is 0 here. */
	column32From1(n: number): Uint32Array {
		return this.fill(new Uint32Array(n), 1);
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

	/** Texts, each its length and its bytes. */
	texts(n: number): string[] {
		const b = this.bytes;
		const all = new TextDecoder('latin1').decode(b.subarray(this.at, this.end)); // a character per byte
		const start = this.at;
		const utf8 = new TextDecoder();
		return Array.from({ length: n }, () => {
			const bytes = this.bytesOf(this.varint());
			const to = this.at - start;
			return isAscii(bytes) ? all.slice(to - bytes.length, to) : utf8.decode(bytes);
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
