// SPDX-License-Identifier: MIT
import { Details } from './ui/details.tsx';
import { Divider } from './ui/divider.tsx';
import { Header } from './ui/header.tsx';
import { Chips } from './ui/chips.tsx';
import { Help } from './ui/help.tsx';
import { PaletteDialog } from './ui/palette.tsx';
import { Strip } from './ui/strip.tsx';
import { useRead, useValue } from './ui/signals.ts';
import { Reading } from './ui/loading.tsx';
import { Notices } from './ui/notices.tsx';
import {
	announcement,
	detailsWidth,
	isAnswerable,
	isDetailsOpen,
	profile,
	selected,
	shownView,
} from './state.ts';
import { Empty } from './views/empty.tsx';

export function App() {
	const view = useValue(shownView);
	const p = profile.value;
	const said = useValue(announcement);
	const hasDetails = useRead(() => isDetailsOpen.value && selected.value !== null);
	const width = useValue(detailsWidth);
	const canAnswer = useValue(isAnswerable);
	const isEmpty = p.facts.summary.allocations === 0;
	const hasStrip = useRead(() => shownView.value.hasStrip?.() && p.edges.n > 0);
	const mayHaveDetails = useRead(() => shownView.value.hasDetails?.() ?? false);
	const isSplit = !isEmpty && canAnswer && hasDetails && mayHaveDetails;
	return (
		<>
			<Header />
			<main class={view.isFull ? 'full' : ''} tabIndex={-1}>
				<Notices />
				{isEmpty ? (
					<Empty />
				) : (
					<>
						<Chips />
						{hasStrip && <Strip />}
						<div
							class={isSplit ? 'split' : 'whole'}
							style={width ? { '--details': `${width}px` } : {}}
						>
							<div class="view">{canAnswer ? <view.Part /> : <Reading />}</div>
							{isSplit && <Divider />}
							{isSplit && <Details />}
						</div>
					</>
				)}
			</main>
			<div class="sr" aria-live="polite">
				{said}
			</div>
			<Help />
			<PaletteDialog />
		</>
	);
}
