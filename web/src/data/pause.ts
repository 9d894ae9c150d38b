// SPDX-License-Identifier: MIT

const LONG_MS = 12; // a picture of a screen is shown so long

let since = 0;

/** Lets the browser draw and listen, if it has not for a while. */
export function pause(): Promise<void> | void {
	const now = performance.now();
	if (now - since < LONG_MS) {
		return;
	}
	return new Promise((resume) => {
		const { port1, port2 } = new MessageChannel(); // timers wait for longer than asked for
		port1.onmessage = () => {
			port1.close();
			since = performance.now();
			resume();
		};
		port2.postMessage(null);
	});
}
