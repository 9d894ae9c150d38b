// SPDX-License-Identifier: MIT
import { useMemo, useRef, useState } from 'preact/hooks';
import { functionsOf, type FunctionCosts } from '../data/functions.ts';
import * as state from '../state.ts';
import { percent } from '../ui/format.ts';
import { metricName, shareTitle, symbolName, weight } from '../ui/labels.ts';
import { Name } from '../ui/name.tsx';
import { matched } from '../ui/search.ts';
import { useSize } from '../ui/size.ts';
import { useSheet } from '../ui/table.tsx';
import { useValue } from '../ui/signals.ts';
import { barOf } from './nodes.ts';

const ROW = 24;
type Order = 'total' | 'self';

/** All functions, to choose one from; the others of its kind stand where they were. */
export function FunctionTable() {
	const p = state.profile.value;
	const t = useValue(state.tree);
	const a = useValue(state.answer);
	const picked = useValue(state.selected);
	const marked = useValue(matched);
	const [asked, setOrder] = useState<Order | null>(null);
	const order = asked ?? (t.group === 'function' ? 'total' : 'self');
	const second = order === 'total' ? 'self' : 'total';
	const [top, setTop] = useState(0);
	const box = useRef<HTMLDivElement>(null);
	const { height } = useSize(box);
	const all = useMemo(() => functionsOf(t, a), [t, a]);
	const rows = useMemo(() => {
		const kept = marked ? all.filter((f) => marked.has(f.symbol)) : all;
		return [...kept].sort((x, y) => y[order] - x[order]);
	}, [all, order, marked]);
	const metric = a.lens.metric;
	useSheet('functions', () => [
		[t.group, metricName(metric), 'self'],
		...rows.map((f) => [symbolName(p, f.symbol, t.group), f.total, f.self]),
	]);
	const total = state.totalWeight.value;
	const key = picked ? p.symbolTable.function[picked.symbol] : -1;
	const at = rows.findIndex((f) =>
		t.group === 'function' ? f.key === key : f.symbol === picked?.symbol,
	);
	const pick = (f: FunctionCosts | undefined) => {
		if (f) {
			state.selected.value = { symbol: f.symbol, base: t.base[f.node]! };
		}
	};
	const onKey = (event: KeyboardEvent) => {
		const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 20, PageUp: -20 }[event.key];
		if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) {
			return;
		}
		const next = Math.max(0, Math.min(rows.length - 1, at + by));
		pick(rows[next]);
		const scroller = box.current!;
		const y = next * ROW;
		if (y < scroller.scrollTop || y + 2 * ROW > scroller.scrollTop + scroller.clientHeight) {
			scroller.scrollTop = y - scroller.clientHeight / 2;
		}
		event.preventDefault();
		event.stopPropagation();
	};
	const first = Math.max(0, Math.floor(top / ROW) - 4);
	const shown = rows.slice(first, Math.ceil((top + height) / ROW) + 4);
	const header = (id: Order) => (
		<span role="columnheader" class="num" aria-sort={order === id ? 'descending' : 'none'}>
			<button class="link" onClick={() => setOrder(id)}>
				{{ total: 'with callees', self: 'self' }[id]}
				{order === id ? ' ▾' : ''}
			</button>
		</span>
	);
	return (
		<div
			class="treegrid functions"
			role="grid"
			aria-label={`Functions by ${metricName(metric)}`}
			aria-rowcount={rows.length + 1}
			tabIndex={0}
			ref={box}
			onKeyDown={onKey}
			onScroll={(e) => setTop((e.target as HTMLElement).scrollTop)}
		>
			<div class="tr th" role="row" aria-rowindex={1}>
				<span role="columnheader">{t.group}</span>
				{header(order)}
				<span role="columnheader" class="num">
					{shareTitle(a.lens)}
				</span>
				{header(second)}
			</div>
			<div role="rowgroup" class="rows" style={{ height: `${rows.length * ROW}px` }}>
				{shown.map((f, i) => (
					<div
						key={f.key}
						role="row"
						class={`tr${first + i === at ? ' at' : ''}`}
						aria-rowindex={first + i + 2}
						aria-selected={first + i === at}
						style={{ top: `${(first + i) * ROW}px` }}
						onClick={() => pick(f)}
					>
						<span
							role="gridcell"
							class={`name cut ${t.isRun[f.node] ? 'run library' : ''}`}
							title={p.symbolTable.name[f.symbol]}
						>
							<Name text={symbolName(p, f.symbol, t.group)} />
						</span>
						<span
							role="gridcell"
							class="num bar"
							style={barOf(f[order] / (total || 1))}
						>
							{weight(metric, f[order])}
						</span>
						<span role="gridcell" class="num">
							{percent(f[order], total)}
						</span>
						<span role="gridcell" class="num">
							{weight(metric, f[second])}
						</span>
					</div>
				))}
			</div>
		</div>
	);
}
