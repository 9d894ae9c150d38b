// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { bottomUp, topDown, type Forest } from '../data/forest.ts';
import * as state from '../state.ts';
import { Metrics } from '../ui/chips.tsx';
import { CopyAs } from '../ui/copyas.tsx';
import { metricName } from '../ui/labels.ts';
import { Pills } from '../ui/pill.tsx';
import { useValue } from '../ui/signals.ts';
import { CostFlame } from './costflame.tsx';
import { Nothing, Unseen } from './empty.tsx';
import { FoldHint } from './foldhint.tsx';
import { FunctionTable } from './functions.tsx';
import { useAround } from './nodes.ts';
import { TreeGrid } from './treegrid.tsx';

const MODES: [state.TreeMode, string][] = [
	['top-down', 'Top-down'],
	['bottom-up', 'Bottom-up'],
	['functions', 'Functions: callers/callees'],
];

interface HalfProps {
	title: string;
	forest: Forest;
	name: string;
	symbol: number;
	isFlipped?: boolean;
}

/** Callers or callees of a function: a small flame graph, and the same as a tree. */
function Half({ title, forest, name, symbol, isFlipped = false }: HalfProps) {
	const hasAny = forest.n > 1;
	return (
		<section class="half" aria-label={`${title} of ${name}`}>
			<h2>
				{title} of <code>{name}</code>
			</h2>
			{hasAny && (
				<>
					<CostFlame
						forest={forest}
						label={`${title} of ${name} as a flame graph`}
						height="content"
						isFlipped={isFlipped}
					/>
					<CopyAs />
				</>
			)}
			<TreeGrid forest={forest} rootSymbol={symbol} label={`${title} of ${name}`} isNarrow />
		</section>
	);
}

/** A list of functions; beside it who calls the selected one, and what it calls. */
function Sandwich() {
	const around = useAround();
	return (
		<div class="sandwich">
			<FunctionTable />
			<div class="sandwich-right">
				{!around ? (
					<p class="nothing">
						Select a function to see its callers and callees.
					</p>
				) : !around.callers.total[0] ? (
					<Unseen name={around.name} />
				) : (
					<>
						<Half title="Callers" forest={around.callers} isFlipped {...around} />
						<Half title="Callees" forest={around.callees} {...around} />
					</>
				)}
			</div>
		</div>
	);
}

export function TreeView() {
	const t = useValue(state.tree);
	const a = useValue(state.answer);
	const mode = useValue(state.treeMode);
	const forest = useMemo(
		() => (mode === 'bottom-up' ? bottomUp(t, a) : topDown(t, a)),
		[t, a, mode],
	);
	return (
		<section class="panel tree-panel" aria-label="Tree">
			<div class="toolbar">
				<Metrics />
				<Pills
					label="Tree"
					of={MODES}
					now={mode}
					onChoose={(id) => (state.treeMode.value = id)}
				/>
				<FoldHint forest={forest} />
			</div>
			{forest.total[0] === 0 ? (
				<Nothing />
			) : mode === 'functions' ? (
				<Sandwich />
			) : (
				<TreeGrid forest={forest} label={`${mode} tree of ${metricName(a.lens.metric)}`} />
			)}
		</section>
	);
}
