// SPDX-License-Identifier: MIT

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

	/** Zigzag: 0, -1, 1, -2, ... */
	signed(): number {
		const value = this.varint();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}

	/** n numbers below 2^32. */
	column32(n: number): Uint32Array {
		const out = new Uint32Array(n);
		for (let i = 0; i < n; i++) {
			out[i] = this.varint();
		}
		return out;
	}

	/** n numbers below 2^53. */
	column(n: number): Float64Array {
		const out = new Float64Array(n);
		for (let i = 0; i < n; i++) {
			out[i] = this.varint();
		}
		return out;
	}

	/** n numbers, each written as what it is more than the one before. */
	rising(n: number): Float64Array {
		const out = new Float64Array(n);
		let value = 0;
		for (let i = 0; i < n; i++) {
			value += this.varint();
			out[i] = value;
		}
		return out;
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
