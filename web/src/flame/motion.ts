// SPDX-License-Identifier: MIT
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Boxes } from '../data/forest.ts';

/** What of the width is seen: weights of a forest, and the node that fills it. */
export interface Window {
	forest: Boxes;
	zoom: number;
	from: number;
	to: number;
}

const ZOOM_MS = 120;

const reduced = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

const between = (a: number, b: number, share: number) => a + (b - a) * share;

/** The window on its way from where it was to where it is wanted; null: it is there. */
export function useMotion(wanted: Window): Window | null {
	const [moving, setMoving] = useState<Window | null>(null);
	const shown = useRef(wanted);
	useLayoutEffect(() => {
		const start = shown.current;
		const isThere = start.from === wanted.from && start.to === wanted.to;
		if (reduced() || start.forest !== wanted.forest || isThere) {
			shown.current = wanted; // of other costs there is no way from one to the other
			return;
		}
		const began = performance.now();
		let request = 0;
		const step = (now: number) => {
			const t = Math.min(1, (now - began) / ZOOM_MS);
			const ease = 1 - (1 - t) ** 3;
			const at = {
				from: between(start.from, wanted.from, ease),
				to: between(start.to, wanted.to, ease),
			};
			shown.current = t < 1 ? { ...start, ...at } : wanted;
			setMoving(t < 1 ? shown.current : null);
			if (t < 1) {
				request = requestAnimationFrame(step);
			}
		};
		setMoving(start);
		request = requestAnimationFrame(step);
		return () => cancelAnimationFrame(request);
	}, [wanted.forest, wanted.from, wanted.to]);
	return moving?.forest === wanted.forest ? moving : null;
}
