// SPDX-License-Identifier: MIT
import { effect } from '@preact/signals-core';
import { useEffect, useState } from 'preact/hooks';

export const REST_MS = 60;

/** What a function of signals gives, once it has been the same for a moment: while a range is
 * dragged, what takes longer than a picture waits. */
export function useResting<T>(read: () => T): T {
	const now = useValue(read);
	const [resting, setResting] = useState(now);
	useEffect(() => {
		const timer = setTimeout(() => setResting(now), REST_MS);
		return () => clearTimeout(timer);
	}, [now]);
	return resting;
}

/** What a function of signals gives; the component is drawn again when it gives another. */
export function useValue<T>(read: () => T): T {
	const [, redraw] = useState(0);
	const value = read();
	useEffect(() => {
		let before = value;
		return effect(() => {
			const now = read();
			if (now !== before) {
				before = now;
				redraw((n) => n + 1);
			}
		});
	}, []);
	return value;
}
