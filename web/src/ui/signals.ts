// SPDX-License-Identifier: MIT
import { effect } from '../signal.ts';
import { useEffect, useState } from 'preact/hooks';

export const REST_MS = 90;

let touched = 0;
// A wheel is known by what it scrolls: who listens to wheels has each looked up on the page first
for (const kind of ['keydown', 'pointerdown', 'scroll']) {
	addEventListener(kind, () => (touched = performance.now()), { capture: true, passive: true });
}

/** Runs something after `ms`, once no key, button or scrollbar has moved for a moment. */
function whenLeftAlone(run: () => void, ms = 0): () => void {
	const look = () => {
		const left = touched + REST_MS - performance.now();
		if (left > 0) {
			timer = setTimeout(look, left);
		} else {
			run();
		}
	};
	let timer = setTimeout(look, ms);
	return () => clearTimeout(timer);
}

type Signal<T> = { readonly value: T };

/** What a function of signals gives; the component is drawn again when it gives another. */
export function useRead<T>(read: () => T): T {
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

export const useValue = <T>(of: Signal<T>): T => useRead(() => of.value);

/**
 * The same, once it has been the same for a moment: while a range is dragged or rows are walked
 * through, what takes longer than a picture waits, and is not looked at.
 */
export function useResting<T>(of: Signal<T>): T {
	const [resting, setResting] = useState(of.value);
	useEffect(() => {
		let stop = () => {};
		const end = effect(() => {
			const now = of.value;
			stop();
			stop = whenLeftAlone(() => setResting(() => now), REST_MS);
		});
		return () => {
			end();
			stop();
		};
	}, []);
	return resting;
}

/**
 * A value so many turns after it came; undefined: none has yet. What takes a moment is done one
 * after the other then, and waits while keys are used.
 */
export function useTurn<T>(now: T, turn: number): T | undefined {
	const [then, set] = useState<T>();
	useEffect(() => whenLeftAlone(() => set(() => now), turn), [now]);
	return then;
}

const SLICE_MS = 3;

/** The same for what is worked out in steps, a few at a time. */
export function useSteps<T>(work: () => Generator<void, T>, of: unknown[]): T | undefined {
	const [done, set] = useState<T>();
	useEffect(() => {
		const steps = work();
		let stop = () => {};
		const run = () => {
			const end = performance.now() + SLICE_MS;
			let step = steps.next();
			while (!step.done && performance.now() < end) {
				step = steps.next();
			}
			if (step.done) {
				set(() => step.value as T);
			} else {
				stop = whenLeftAlone(run);
			}
		};
		run();
		return () => stop();
	}, of);
	return done;
}
