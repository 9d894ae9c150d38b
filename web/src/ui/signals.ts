// SPDX-License-Identifier: MIT
import { effect } from '../signal.ts';
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

/**
 * A value so many turns after it came; undefined: none has yet. What takes a moment is done one
 * after the other then, at once, but keys in between come first.
 */
export function useTurn<T>(now: T, turn: number): T | undefined {
	const [then, set] = useState<T>();
	useEffect(() => {
		const timer = setTimeout(() => set(() => now), turn);
		return () => clearTimeout(timer);
	}, [now]);
	return then;
}

const SLICE_MS = 3;

/** The same for what is worked out in steps, a few at a time. */
export function useSteps<T>(work: () => Generator<void, T>, of: unknown[]): T | undefined {
	const [done, set] = useState<T>();
	useEffect(() => {
		const steps = work();
		let timer = 0;
		const run = () => {
			const end = performance.now() + SLICE_MS;
			let step = steps.next();
			while (!step.done && performance.now() < end) {
				step = steps.next();
			}
			if (step.done) {
				set(() => step.value as T);
			} else {
				timer = setTimeout(run);
			}
		};
		run();
		return () => clearTimeout(timer);
	}, of);
	return done;
}
