// SPDX-License-Identifier: MIT
import { signal } from '../signal.ts';

export type Theme = 'system' | 'light' | 'dark';

const stored = document.documentElement.dataset['theme'];
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

/** Rises when colours change: charts are drawn again. */
export const themeTurn = signal(0);

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => themeTurn.value++);

function setTheme(next: Theme): void {
	theme.value = next;
	const root = document.documentElement;
	if (next === 'system') {
		delete root.dataset['theme'];
	} else {
		root.dataset['theme'] = next;
	}
	try {
		localStorage.setItem('heaptrack-theme', next);
	} catch {
		// it holds for this page
	}
	themeTurn.value++;
}

export function cycleTheme(): void {
	setTheme(theme.value === 'system' ? 'light' : theme.value === 'light' ? 'dark' : 'system');
}
