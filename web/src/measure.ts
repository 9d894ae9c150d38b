// SPDX-License-Identifier: MIT

/** Runs something; a benchmark that listens is told how long it took. */
export function measured<T>(what: string, run: () => T): T {
	const listen = (globalThis as { heaptrackMeasured?: (what: string, ms: number) => void })
		.heaptrackMeasured;
	if (!listen) {
		return run();
	}
	const start = performance.now();
	const result = run();
	listen(what, performance.now() - start);
	return result;
}
