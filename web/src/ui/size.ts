// SPDX-License-Identifier: MIT
import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

/** How large an element is, in px; 0 until it is there. */
export function useSize(of: RefObject<HTMLElement | null>): { width: number; height: number } {
	const [size, setSize] = useState({ width: 0, height: 0 });
	useLayoutEffect(() => {
		const measure = () =>
			setSize({ width: of.current!.clientWidth, height: of.current!.clientHeight });
		const watch = new ResizeObserver(measure);
		watch.observe(of.current!);
		measure(); // at once: the first picture need not wait
		return () => watch.disconnect();
	}, []);
	return size;
}
