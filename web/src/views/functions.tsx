// SPDX-License-Identifier: MIT
import { useMemo, useRef, useState } from 'preact/hooks';
import { functionsOf, type FunctionCosts } from '../data/functions.ts';
import * as state from '../state.ts';
import { percent } from '../ui/format.ts';
import { metricName, placeOf, shareTitle, symbolName, weight } from '../ui/labels.ts';
import { Name } from '../ui/name.tsx';
import { matched } from '../ui/search.ts';
import { useSize } from '../ui/size.ts';
import { inOrder, useHead, useOrder, useSheet } from '../ui/table.tsx';
import { useValue } from '../ui/signals.ts';
import { barOf } from './nodes.ts';

const ROW = 24;
const TITLES = { total: 'with callees', self: 'own' };

interface HeadProps {
	column: number;
	isOwn?: boolean;
	children: string;
}

function Head(props: HeadProps) {
	const isText = props.column === 1;
	const head = useHead({ table: 'functions', isText, ...props });
	return <span role="columnheader" class={isText ? '' : 'num'} {...head} />;
}

/** All functions, to choose one from; the others of its kind stand where they were. */
export function FunctionTable() {
	const p = state.profile.value;
	const t = useValue(state.tree);
	const a = useValue(state.answer);
	const picked = useValue(state.selected);
	const marked = useValue(matched);
	const order = useOrder('functions');
	const [main, other] =
		t.group === 'function' ? (['total', 'self'] as const) : (['self', 'total'] as const);
	const [top, setTop] = useState(0);
	const box = useRef<HTMLDivElement>(null);
	const { height } = useSize(box);
	const nameOf = (f: FunctionCosts) => symbolName(p, f.symbol, t.group);
	const all = useMemo(() => functionsOf(t, a), [t, a]);
	const rows = useMemo(() => {
		const kept = marked ? all.filter((f) => marked.has(f.symbol)) : all;
		return inOrder(kept, order || 2, (f) => [
			Math.abs(order) === 1 ? nameOf(f) : null,
			f[main],
			f[other],
		]);
	}, [all, order, marked]);
	const alike = useMemo(() => {
		const seen = new Set<string>();
		return new Set(all.map(nameOf).filter((name) => seen.size === seen.add(name).size));
	}, [all]);
	const metric = a.lens.metric;
	useSheet('functions', () => [
		[t.group, metricName(metric), 'own'],
		...rows.map((f) => [nameOf(f), f.total, f.self]),
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
				<Head column={1}>{t.group}</Head>
				<Head column={2} isOwn>
					{TITLES[main]}
				</Head>
				<span role="columnheader" class="num">
					{shareTitle(a.lens)}
				</span>
				<Head column={3}>{TITLES[other]}</Head>
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
							<Name text={nameOf(f)} />{' '}
							{alike.has(nameOf(f)) && (
								<span class="dim place">{placeOf(p, f.symbol, 0)}</span>
							)}
						</span>
						<span
							role="gridcell"
							class="num bar"
							style={barOf(f[main] / (total || 1))}
						>
							{weight(metric, f[main])}
						</span>
						<span role="gridcell" class="num">
							{percent(f[main], total)}
						</span>
						<span role="gridcell" class="num">
							{weight(metric, f[other])}
						</span>
					</div>
				))}
			</div>
		</div>
	);
}
