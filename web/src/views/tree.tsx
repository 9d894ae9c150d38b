// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { bottomUp, calleesOf, callersOf, topDown } from '../data/forest.ts';
import * as state from '../state.ts';
import { Metrics } from '../ui/chips.tsx';
import { METRIC_NAMES, symbolName } from '../ui/labels.ts';
import { useValue } from '../ui/signals.ts';
import { Nothing } from './empty.tsx';
import { keyOfSymbol } from './flame.tsx';
import { FunctionTable } from './functions.tsx';
import { TreeGrid } from './treegrid.tsx';

const MODES: [state.TreeMode, string][] = [
	['top-down', 'Top-down'],
	['bottom-up', 'Bottom-up'],
	['functions', 'Functions: callers/callees'],
];

/** A list of functions; beside it who calls the selected one, and what it calls. */
function Sandwich() {
	const p = state.profile.value;
	const t = useValue(() => state.tree.value);
	const a = useValue(() => state.answer.value);
	const picked = useValue(() => state.selected.value);
	const key = picked ? keyOfSymbol(picked.symbol) : -1;
	const callers = useMemo(() => (key >= 0 ? callersOf(t, a, key) : null), [t, a, key]);
	const callees = useMemo(() => (key >= 0 ? calleesOf(t, a, key) : null), [t, a, key]);
	const name = picked ? symbolName(p, picked.symbol, t.group) : '';
	return (
		<div class="sandwich">
			<FunctionTable />
			<div class="sandwich-right">
				<h2>
					Callers <code>{name}</code>
				</h2>
				{callers && picked ? (
					<TreeGrid forest={callers} rootSymbol={picked.symbol} label={`Callers of ${name}`} isNarrow />
				) : (
					<p class="nothing">Select a function on the left.</p>
				)}
				<h2>
					Callees <code>{name}</code>
				</h2>
				{callees && picked ? (
					<TreeGrid forest={callees} rootSymbol={picked.symbol} label={`Callees of ${name}`} isNarrow />
				) : (
					<p class="nothing">Select a function on the left.</p>
				)}
			</div>
		</div>
	);
}

export function TreeView() {
	const t = useValue(() => state.tree.value);
	const a = useValue(() => state.answer.value);
	const mode = useValue(() => state.treeMode.value);
	const forest = useMemo(() => (mode === 'bottom-up' ? bottomUp(t, a) : topDown(t, a)), [t, a, mode]);
	return (
		<section class="panel tree-panel" aria-label="Tree">
			<div class="toolbar">
				<Metrics />
				<div role="group" aria-label="Tree">
					{MODES.map(([id, name]) => (
						<button
							key={id}
							type="button"
							class={`pill${mode === id ? ' on' : ''}`}
							aria-pressed={mode === id}
							onClick={() => (state.treeMode.value = id)}
						>
							{name}
						</button>
					))}
				</div>
			</div>
			{forest.total[0] === 0 ? (
				<Nothing />
			) : mode === 'functions' ? (
				<Sandwich />
			) : (
				<TreeGrid forest={forest} label={`${mode} tree of ${METRIC_NAMES[a.lens.metric]}`} />
			)}
		</section>
	);
}
