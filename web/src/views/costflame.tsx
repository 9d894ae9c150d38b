// SPDX-License-Identifier: MIT
import { useEffect, useMemo } from 'preact/hooks';
import type { Forest } from '../data/forest.ts';
import { metricOf } from '../data/metrics.ts';
import { Flame, type FlameProps } from '../flame/flame.tsx';
import { costSkin, type Skin } from '../flame/skin.tsx';
import * as state from '../state.ts';
import { matched } from '../ui/search.ts';
import { useRead, useTurn, useValue } from '../ui/signals.ts';
import { Sparkline } from '../ui/sparkline.tsx';
import { curveOf, medianLife } from './curves.ts';
import { hideNode, openRun, selectNode } from './nodes.ts';

type Props = Pick<FlameProps, 'label' | 'height' | 'zoom' | 'isFlipped' | 'onZoom'> & {
	forest: Forest;
};

const IDLE_MS = 200;

/** When a box's blocks were alive, and for how long. */
function Life({ forest: f, node }: { forest: Forest; node: number }) {
	const p = state.profile.value;
	const isWhole = useValue(state.isWhole);
	const { of_blocks } = metricOf(state.lens.value.metric);
	if (!isWhole || !of_blocks || f.kind !== 'down' || f.tree.parent !== f.parent) {
		return null; // its stacks are not known
	}
	const life = medianLife(p, f, node);
	return (
		<div class="life">
			<Sparkline values={curveOf(p, f, node)} />
			<span class="dim nowrap">alive over time{life && ` · median life ${life}`}</span>
		</div>
	);
}

/** A flame graph of this recording under the lens: what is clicked is selected. */
export function CostFlame({ forest, onZoom, ...rest }: Props) {
	const picked = useValue(state.selected);
	const marked = useValue(matched);
	const colouring = useValue(state.colouring);
	const metric = useRead(() => state.lens.value.metric);
	const hasBinary = useValue(state.isBinary);
	const isWhole = useValue(state.isWhole);
	const idle = useTurn(isWhole ? forest : null, IDLE_MS);
	useEffect(() => void (idle && [idle.allocations, idle.temporary]), [idle]); // for the first tip
	const skin = useMemo<Skin>(
		() => ({
			...costSkin(state.profile.value, forest, metric, colouring === 'module'),
			more: (node) => <Life forest={forest} node={node} />,
		}),
		[forest, metric, colouring, hasBinary],
	);
	const isMarked = useMemo(
		() => (marked ? (node: number) => marked.has(forest.symbol[node]!) : null),
		[forest, marked],
	);
	return (
		<Flame
			{...rest}
			forest={forest}
			skin={skin}
			selectedBase={picked?.base ?? 0}
			isMarked={isMarked}
			onSelect={(node) => selectNode(forest, node)}
			onZoom={(node) => {
				selectNode(forest, node);
				onZoom?.(node);
			}}
			onOpenRun={(node) => openRun(forest, node)}
			onHide={(node) => hideNode(forest, node)}
		/>
	);
}
