// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count } from './format.ts';

/** The first of some rows, and what shows more of them. */
export function useMore<T>(rows: readonly T[], most = Infinity): [T[], ComponentChildren] {
	const [shown, setShown] = useState(most);
	const left = rows.length - shown;
	return [
		rows.slice(0, shown),
		left > 0 && (
			<button class="link" onClick={() => setShown(shown * 4)}>
				{count(left)} more
			</button>
		),
	];
}
