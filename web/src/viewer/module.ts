// SPDX-License-Identifier: MIT
import { unpack, unpackFrame, type Unpacked } from './unpack.ts';

/**
 * The engine of the program, compiled for browsers (src/wasm): bytes of a file go in, a profile as
 * the page reads it comes out. One instance reads one file; its memory goes with its worker.
 */

type Bytes = Uint8Array<ArrayBuffer>;

interface Exports {
	memory: WebAssembly.Memory;
	_initialize(): void;
	module_room(nameBytes: number, bytes: number): number;
	module_open(): number;
	module_blob(): number;
	module_blob_bytes(): number;
	module_said(): number;
	module_said_bytes(): number;
}

const WASI_BAD_DESCRIPTOR = 8;

export class Engine {
	private ex!: Exports;
	private unpacked: Unpacked | null = null;
	private file: Bytes = new Uint8Array();
	private printed = ''; // of a check that failed

	static async of(code: BufferSource | WebAssembly.Module): Promise<Engine> {
		const engine = new Engine();
		const made = await WebAssembly.instantiate(code as BufferSource, engine.imports());
		const instance = made instanceof WebAssembly.Instance ? made : made.instance;
		engine.ex = instance.exports as unknown as Exports;
		engine.ex._initialize();
		return engine;
	}

	/** The profile of a file. Throws an Error that says what is wrong with it. */
	open(name: string, file: Bytes): Bytes {
		const title = new TextEncoder().encode(name);
		this.file = file;
		let isOpen = false;
		try {
			const at = this.ex.module_room(title.length, file.length);
			if (!at) {
				throw new Error('there is not enough memory');
			}
			this.bytes(at, title.length).set(title);
			this.bytes(at + title.length, 1)[0] = 0;
			this.bytes(at + title.length + 1, file.length).set(file);
			isOpen = this.ex.module_open() === 1;
		} catch (why) {
			throw new Error(
				`${name}: the engine failed: ` +
				`${this.printed || (why instanceof Error ? why.message : String(why))}`,
			);
		}
		if (!isOpen) {
			const said = this.bytes(this.ex.module_said(), this.ex.module_said_bytes());
			throw new Error(new TextDecoder().decode(said));
		}
		return this.bytes(this.ex.module_blob(), this.ex.module_blob_bytes()).slice();
	}

	/** Made anew for each use: the memory may have grown, and moved, with each call. */
	private bytes(at: number, n: number): Bytes {
		return new Uint8Array(this.ex.memory.buffer as ArrayBuffer, at >>> 0, n >>> 0);
	}

	private number(at: number, value: number): void {
		new DataView(this.ex.memory.buffer).setUint32(at >>> 0, value, true);
	}

	private imports(): WebAssembly.Imports {
		const page = {
			unzstd: (out: number, room: number, at: number, n: number): number => {
				const frame = unpackFrame(this.bytes(at, n).slice(), room >>> 0);
				if (frame) {
					this.bytes(out, room).set(frame);
				}
				return frame ? 1 : 0;
			},
			next: (out: number, room: number): number => {
				this.unpacked ??= unpack(this.file);
				const part = this.unpacked.next(room >>> 0);
				this.bytes(out, part.length).set(part);
				return part.length;
			},
			isTorn: (): number => (this.unpacked?.isTorn ? 1 : 0),
			clockOffset: (seconds: number): number =>
				-60 * new Date(1000 * seconds).getTimezoneOffset() || 0,
		};
		return { page, wasi_snapshot_preview1: this.wasi() };
	}

	/** What the C library asks for. There is nothing but its standard error. */
	private wasi(): WebAssembly.ModuleImports {
		return {
			environ_get: () => 0,
			environ_sizes_get: (count: number, size: number) => {
				this.number(count, 0);
				this.number(size, 0);
				return 0;
			},
			fd_close: () => WASI_BAD_DESCRIPTOR,
			fd_seek: () => WASI_BAD_DESCRIPTOR,
			fd_write: (_fd: number, vectors: number, n: number, written: number) => {
				let total = 0;
				for (let i = 0; i < n; i++) {
					const [at, size] = new Uint32Array(
						this.bytes(vectors + 8 * i, 8).slice().buffer,
					);
					this.printed += new TextDecoder().decode(this.bytes(at!, size!));
					total += size!;
				}
				this.number(written, total);
				return 0;
			},
			proc_exit: (status: number) => {
				throw new Error(`the engine ended with status ${status}`);
			},
		};
	}
}
