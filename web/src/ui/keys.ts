// SPDX-License-Identifier: MIT
import { metrics } from '../data/metrics.ts';
import { actions, goToPeak } from './actions.ts';
import { isHelpOpen } from './help.tsx';
import { isPaletteOpen } from './palette.tsx';
import { setMetric } from '../state.ts';

/** Keys of the page. Views that have the focus take theirs first (arrows, Enter, Backspace). */

const FIELDS = new Set(['INPUT', 'TEXTAREA', 'SELECT']);

let pending = ''; // m or g: the next key completes it

function take(event: KeyboardEvent): boolean {
	const key = event.key;
	if (pending === 'm') {
		pending = '';
		const metric = metrics().find((m) => m.key === key);
		if (metric) {
			setMetric(metric.name);
			return true;
		}
		return false;
	}
	if (pending === 'g') {
		pending = '';
		if (key === 'p') {
			goToPeak();
		}
		return key === 'p';
	}
	if (key === 'm' || key === 'g') {
		pending = key;
		return true;
	}
	const action = actions().find((a) => a.key === key);
	action?.run();
	return action !== undefined;
}

export function bindKeys(): void {
	const onKey = (event: KeyboardEvent) => {
		if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
			isPaletteOpen.value = true;
			event.preventDefault();
			return;
		}
		const target = event.target as HTMLElement;
		const isInField = FIELDS.has(target.tagName) || isHelpOpen.value || isPaletteOpen.value;
		if (isInField || event.ctrlKey || event.metaKey || event.altKey) {
			return;
		}
		if (take(event)) {
			event.preventDefault();
		}
	};
	addEventListener('keydown', onKey);
}
