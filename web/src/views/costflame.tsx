// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import type { Forest } from '../data/forest.ts';
import { Flame, type FlameProps } from '../flame/flame.tsx';
import { costSkin } from '../flame/skin.tsx';
import * as state from '../state.ts';
import { matched } from '../ui/search.ts';
import { useValue } from '../ui/signals.ts';
import { hideNode, openRun, selectNode } from './nodes.ts';

type Props = Pick<FlameProps, 'label' | 'height' | 'zoom' | 'isFlipped' | 'onZoom'> & { forest: Forest };

/** A flame graph of this recording under the lens: what is clicked is selected. */
export function CostFlame({ forest, onZoom, ...rest }: Props) {
	const picked = useValue(() => state.selected.value);
	const marked = useValue(() => matched.value);
	const colouring = useValue(() => state.colouring.value);
	const metric = useValue(() => state.lens.value.metric);
	const hasBinary = useValue(() => state.isBinary.value);
	const skin = useMemo(
		() => costSkin(state.profile.value, forest, metric, colouring === 'module'),
		[forest, metric, colouring, hasBinary],
	);
	const isMarked = useMemo(
		() => (marked ? (node: number) => marked[forest.symbol[node]!] === 1 : null),
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
