// SPDX-License-Identifier: MIT

/**
 * Values that can be watched, what is computed of them, and what runs when they change. Whatever
 * reads a value while it runs is run again when that is another: a computed value once somebody
 * asks for it, an effect at the end of the batch.
 */

type Any = Watched<unknown>;

let reader: Any | null = null; // that runs
let depth = 0; // of batches
const waiting = new Set<Any>(); // effects

class Watched<T> {
	readers = new Set<Any>();
	seen = new Map<Any, unknown>(); // what it read, and the value that it had
	isStale = true;

	constructor(
		private now: T,
		private work: (() => T) | null,
		private isEffect = false,
	) {}

	get value(): T {
		const value = this.fresh();
		if (reader) {
			reader.seen.set(this, value);
			this.readers.add(reader);
		}
		return value;
	}

	set value(next: T) {
		if (next !== this.now) {
			this.now = next;
			batch(() => this.tell());
		}
	}

	private tell(): void {
		for (const other of this.readers) {
			if (!other.isStale) {
				other.isStale = true;
				if (other.isEffect) {
					waiting.add(other);
				} else {
					other.tell();
				}
			}
		}
	}

	/** Runs it if something that it read has another value now. */
	fresh(): T {
		if (this.work && this.isStale) {
			this.isStale = false;
			const { seen } = this;
			if (!seen.size || [...seen].some(([other, value]) => other.fresh() !== value)) {
				this.forget();
				const outer = reader;
				reader = this;
				try {
					this.now = this.work();
				} catch (error) {
					this.isStale = true;
					throw error;
				} finally {
					reader = outer;
				}
			}
		}
		return this.now;
	}

	forget(): void {
		this.seen.forEach((_, other) => other.readers.delete(this));
		this.seen.clear();
	}
}

export function signal<T>(value: T): { value: T } {
	return new Watched(value, null);
}

export function computed<T>(work: () => T): { readonly value: T } {
	return new Watched(undefined as T, work);
}

/** Gives what ends it. */
export function effect(work: () => void): () => void {
	const own = new Watched(undefined, work, true);
	own.fresh();
	return () => {
		own.forget();
		waiting.delete(own);
	};
}

/** Effects run once all of it is done. */
export function batch(change: () => void): void {
	depth++;
	try {
		change();
		if (depth === 1) {
			for (const one of waiting) {
				waiting.delete(one);
				one.fresh();
			}
		}
	} finally {
		depth--;
	}
}
