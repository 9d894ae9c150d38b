// SPDX-License-Identifier: MIT
import { Details } from './ui/details.tsx';
import { Divider } from './ui/divider.tsx';
import { Header } from './ui/header.tsx';
import { Chips } from './ui/chips.tsx';
import { Help } from './ui/help.tsx';
import { PaletteDialog } from './ui/palette.tsx';
import { Strip } from './ui/strip.tsx';
import { useValue } from './ui/signals.ts';
import { Reading } from './ui/loading.tsx';
import { Notices } from './ui/notices.tsx';
import { announcement, detailsWidth, isAnswerable, isDetailsOpen, profile, selected, treeMode, view, type View } from './state.ts';
import { Overview } from './views/overview.tsx';
import { FlameView } from './views/flame.tsx';
import { TreeView } from './views/tree.tsx';
import { TimelineView } from './views/timeline.tsx';
import { SizesView } from './views/sizes.tsx';
import { GrowthView } from './views/growth.tsx';
import { ThreadsView } from './views/threads.tsx';
import { CompareView } from './views/compare.tsx';
import { Empty } from './views/empty.tsx';

const VIEW_PARTS: Record<View, () => preact.JSX.Element> = {
	overview: Overview,
	flame: FlameView,
	tree: TreeView,
	timeline: TimelineView,
	sizes: SizesView,
	'never-freed': GrowthView,
	threads: ThreadsView,
	compare: CompareView,
};

/** Views beside which the details of what is selected stand. */
const WITH_DETAILS: View[] = ['flame', 'tree', 'never-freed', 'sizes', 'timeline'];

export function App() {
	const now = useValue(() => view.value);
	const p = useValue(() => profile.value);
	const said = useValue(() => announcement.value);
	const hasDetails = useValue(() => isDetailsOpen.value && selected.value !== null);
	const width = useValue(() => detailsWidth.value);
	const canAnswer = useValue(() => isAnswerable.value);
	const isEmpty = p.facts.summary.allocations === 0;
	const Part = VIEW_PARTS[now];
	const mode = useValue(() => treeMode.value);
	const isSplit =
		!isEmpty && canAnswer && hasDetails && WITH_DETAILS.includes(now) && !(now === 'tree' && mode === 'functions');
	return (
		<>
			<Header />
			<main class={`view-${now}`}>
				<Notices />
				{isEmpty ? (
					<Empty />
				) : (
					<>
						<Chips />
						{now !== 'overview' && now !== 'timeline' && now !== 'compare' && <Strip />}
						<div class={isSplit ? 'split' : 'whole'} style={width ? { '--details': `${width}px` } : {}}>
							<div class="view">
								{canAnswer ? <Part /> : <Reading />}
							</div>
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
