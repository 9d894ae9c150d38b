// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { bottomUp, nodeAt, pathOf, topDown, type Forest } from '../data/forest.ts';
import { groupName } from '../data/tree.ts';
import * as state from '../state.ts';
import { CopyAs } from '../ui/copyas.tsx';
import { percent } from '../ui/format.ts';
import { metricName, nodeName, rootName } from '../ui/labels.ts';
import { spanOf } from '../flame/layout.ts';
import { Metrics } from '../ui/chips.tsx';
import { Pills, Select, Switch } from '../ui/pill.tsx';
import { useValue } from '../ui/signals.ts';
import { CostFlame } from './costflame.tsx';
import { FoldHint } from './foldhint.tsx';
import { Nothing, Unseen } from './empty.tsx';
import { useAround } from './nodes.ts';
import { Treemap } from './treemap.tsx';

function boxName(f: Forest, node: number): string {
	return groupName(state.profile.value, f.symbol[node]!, f.tree.group);
}

/** A node fills the width; 0: all do. */
function zoomTo(f: Forest, node: number): void {
	state.zoomed.value = node ? { name: boxName(f, node), path: pathOf(f, node) } : null;
}

/** The node that fills the width; 0: all, or what filled it is not there under this lens. */
function useZoom(f: Forest): number {
	const wanted = useValue(state.zoomed);
	return useMemo(() => {
		const node = wanted ? nodeAt(f, wanted.path) : 0;
		return node && boxName(f, node) === wanted!.name ? node : 0;
	}, [f, wanted]);
}

const DIRECTIONS: [state.Direction, string][] = [
	['top-down', 'Top-down'],
	['bottom-up', 'Bottom-up'],
	['around', 'Callers and callees'],
	['map', 'Treemap'],
];

const COLOURINGS = [
	['owner', 'colour by owner'],
	['module', 'colour by module'],
] as const;

/** One that can be zoomed into. */
const isGraph = (direction: state.Direction) => direction !== 'around' && direction !== 'map';

function Toolbar({ forest, zoom }: { forest: Forest; zoom: number }) {
	const direction = useValue(state.direction);
	const colouring = useValue(state.colouring);
	return (
		<div class="toolbar">
			<Metrics />
			<Pills
				label="Direction"
				of={DIRECTIONS}
				now={direction}
				onChoose={(id) => (state.direction.value = id)}
			/>
			{direction !== 'map' && (
				<>
					<Switch of={state.foldsRecursion} title="Fold recursive calls into one box (r)">
						Fold recursion
					</Switch>
					<Switch of={state.isFlipped} title="The root at the bottom (o)">
						Flip
					</Switch>
					<Select
						label="Colours"
						of={COLOURINGS}
						now={colouring}
						onChoose={(by) => (state.colouring.value = by)}
					/>
					<FoldHint forest={forest} />
				</>
			)}
			{isGraph(direction) && zoom > 0 && (
				<button class="pill" onClick={() => zoomTo(forest, 0)}>
					Zoom out ({percent(forest.total[zoom]!, forest.total[0]!)} shown)
				</button>
			)}
			<CopyAs />
		</div>
	);
}

/** A function between those who call it and those it calls. */
function Around() {
	const around = useAround();
	if (!around) {
		return (
			<p class="nothing">Select a function first: click a box, or search for it with /.</p>
		);
	}
	const { name, callers, callees } = around;
	if (!callers.total[0]) {
		return <Unseen name={name} />;
	}
	return (
		<div class="around">
			<h2>
				Callers of <code>{name}</code>
			</h2>
			<CostFlame forest={callers} label={`Callers of ${name}`} height="content" isFlipped />
			<h2>
				Callees of <code>{name}</code>
			</h2>
			<CostFlame forest={callees} label={`Callees of ${name}`} height="content" />
		</div>
	);
}

/** Where in the whole the zoomed part is. */
function Minimap({ forest, zoom }: { forest: Forest; zoom: number }) {
	const path: number[] = [];
	for (let at = zoom; at > 0; at = forest.parent[at]!) {
		path.unshift(at);
	}
	const p = state.profile.value;
	const [from, to] = spanOf(forest, zoom);
	return (
		<nav class="crumbs" aria-label="Zoom">
			<div
				class="minimap"
				title={`${percent(forest.total[zoom]!, forest.total[0]!)} of the whole width`}
			>
				<i style={{ left: `${100 * from}%`, width: `${100 * (to - from)}%` }} />
			</div>
			<button class="link" onClick={() => zoomTo(forest, 0)}>
				{rootName(p)}
			</button>
			{path.map((node) => (
				<span key={node}>
					{' › '}
					<button class="link" onClick={() => zoomTo(forest, node)}>
						<code>{nodeName(p, forest, node)}</code>
					</button>
				</span>
			))}
		</nav>
	);
}

export function FlameView() {
	const t = useValue(state.tree);
	const a = useValue(state.answer);
	const direction = useValue(state.direction);
	const flipped = useValue(state.isFlipped);
	const forest = useMemo(
		() => (direction === 'bottom-up' ? bottomUp(t, a) : topDown(t, a)),
		[t, a, direction],
	);
	const zoom = useZoom(forest);
	const title = `Flame graph, ${direction}, of ${metricName(a.lens.metric)}`;
	return (
		<section class="panel flame-panel" aria-label="Flame graph">
			<Toolbar forest={forest} zoom={zoom} />
			{zoom > 0 && isGraph(direction) && <Minimap forest={forest} zoom={zoom} />}
			{forest.total[0] === 0 ? (
				<Nothing />
			) : direction === 'around' ? (
				<Around />
			) : direction === 'map' ? (
				<Treemap />
			) : (
				<CostFlame
					forest={forest}
					label={title}
					height="fill"
					zoom={zoom}
					isFlipped={flipped}
					onZoom={(node) => zoomTo(forest, node)}
				/>
			)}
		</section>
	);
}
