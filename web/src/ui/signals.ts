// SPDX-License-Identifier: MIT
import { effect } from '@preact/signals-core';
import { useEffect, useState } from 'preact/hooks';

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
