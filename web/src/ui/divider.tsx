// SPDX-License-Identifier: MIT
import { detailsWidth } from '../state.ts';
import { useValue } from './signals.ts';

const LEAST = 260;
const STEP = 24;

const most = () => Math.max(LEAST, Math.round(innerWidth * 0.6));

function setWidth(px: number): void {
	detailsWidth.value = Math.round(Math.min(most(), Math.max(LEAST, px)));
}

/** Between a view and its details: dragged, or moved by the arrow keys. */
export function Divider() {
	const width = useValue(detailsWidth);
	const own = (event: Event) =>
		(event.currentTarget as HTMLElement).nextElementSibling!.clientWidth;
	const onKey = (event: KeyboardEvent) => {
		const by = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key];
		if (by) {
			setWidth(own(event) + by);
			event.preventDefault();
		}
	};
	const onMove = (event: PointerEvent) => {
		const line = event.currentTarget as HTMLElement;
		if (line.hasPointerCapture(event.pointerId)) {
			setWidth(line.parentElement!.getBoundingClientRect().right - event.clientX);
		}
	};
	return (
		<div
			class="divider"
			role="separator"
			aria-orientation="vertical"
			aria-label="Width of the details"
			aria-valuemin={LEAST}
			aria-valuemax={most()}
			aria-valuenow={width || LEAST}
			title="Drag, or use the arrow keys"
			tabIndex={0}
			onKeyDown={onKey}
			onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
			onPointerMove={onMove}
			onDblClick={() => (detailsWidth.value = 0)}
		/>
	);
}
