// SPDX-License-Identifier: MIT
import { batch } from '../signal.ts';
import { useMemo } from 'preact/hooks';
import {
	changeOf,
	compareSites,
	labelOf,
	sidesAt,
	sidesOf,
	type Change,
	type Difference,
	type Side,
} from '../data/compare.ts';
import type { Metric } from '../data/metrics.ts';
import {
	ALLOCATIONS,
	lacks,
	lacksMetric,
	LIVE,
	NOT_IN_FILE,
	PEAK,
	TEMPORARY,
	TIME,
} from '../data/missing.ts';
import type { Facts, Profile } from '../data/profile.ts';
import { endOf, sitesOf, type Sites } from '../data/series.ts';
import * as state from '../state.ts';
import { Metrics } from '../ui/chips.tsx';
import { compareWith } from '../ui/drop.ts';
import { baseName, bytes, count, duration, moment, namesApart, percent } from '../ui/format.ts';
import { metricName, rangeWords, signed, signedWeight, weight } from '../ui/labels.ts';
import { markName } from '../ui/marks.ts';
import { Name, NameLink } from '../ui/name.tsx';
import { Panel } from '../ui/panel.tsx';
import { useValue } from '../ui/signals.ts';
import { Table } from '../ui/table.tsx';
import { DiffFlame } from './diffflame.tsx';

/** Pairs of marks, each as a button. */
function ChooseMarks() {
	const p = state.profile.value;
	const marks = useValue(state.marks);
	const ends = [...marks, p.edges.n];
	if (!marks.length) {
		return (
			<p>
				Or compare two moments of this recording: set marks in the timeline (<kbd>M</kbd>).
			</p>
		);
	}
	return (
		<p class="pairs">
			Or two moments of this recording:{' '}
			{marks.flatMap((from, i) =>
				ends.slice(i + 1).map((to) => (
					<button
						key={`${from} ${to}`}
						class="pill"
						onClick={() => (state.compared.value = { from, to })}
					>
						{markName(p, from)} and {markName(p, to)}
					</button>
				)),
			)}
		</p>
	);
}

function Choose() {
	const missing = useValue(state.missing);
	const base = useValue(state.base);
	return (
		<Panel title="Compare with another recording" class="empty">
			{base && (
				<p>
					<button
						class="pill"
						onClick={() => (state.compared.value = base)}
					>
						Compare with {base.name}
					</button>
				</p>
			)}
			{missing && (
				<p class="notice">
					This address compares with <strong>{missing}</strong>, which is not here.
				</p>
			)}
			<p>
				Drop a page of heaptrack (<code>heaptrack_print --html OUT FILE</code>) anywhere on
				this one, or choose it. It is taken as what was <em>before</em>; nothing leaves your
				machine.
			</p>
			<input
				type="file"
				aria-label="Page to compare with"
				accept=".html,.bin"
				onChange={(e) => {
					const file = e.currentTarget.files?.[0];
					if (file) {
						void compareWith(file);
					}
				}}
			/>
			<ChooseMarks />
		</Panel>
	);
}

// NaN: not in the file
interface Total {
	name: string;
	before: number;
	now: number;
	text: (n: number) => string;
}

const TOTALS: [string, number, (f: Facts['summary']) => number, (n: number) => string][] = [
	['peak', PEAK, (s) => s.peak_bytes, bytes],
	['never freed', LIVE, (s) => s.never_freed_bytes, bytes],
	['allocations', ALLOCATIONS, (s) => s.allocations, count],
	['temporary', TEMPORARY, (s) => s.temporary, count],
	['runtime', TIME, (s) => s.duration_ns, duration],
];

function totalsOfFiles(before: Profile, now: Profile): Total[] {
	// Of programs' times those can be compared that are both known
	const known = lacks(before, TIME) || lacks(now, TIME) ? TOTALS.slice(0, -1) : TOTALS;
	return known.map(([name, bit, read, text]) => {
		const of = (p: Profile) => (lacks(p, bit) ? NaN : read(p.facts.summary));
		return { name, before: of(before), now: of(now), text };
	});
}

/** What was alive at two edges, and what had been made until then. */
function totalsOfMarks(p: Profile, from: number, to: number): Total[] {
	const { edges: e, facts } = p;
	const s = facts.summary;
	const end = endOf(p);
	const row = (
		name: string,
		column: Float64Array,
		atEnd: number,
		text: (n: number) => string,
	) => {
		const at = (edge: number) => (edge < 0 ? 0 : column[edge] ?? atEnd);
		return { name, before: at(from), now: at(to), text };
	};
	return [
		row('alive', e.bytes, end.bytes, bytes),
		row('blocks', e.blocks, end.blocks, count),
		row('allocations so far', e.allocations, s.allocations, count),
		row('temporary so far', e.temporary, s.temporary, count),
		row('time', e.timeNs, s.duration_ns, moment),
	];
}

/** Of a total; null: not in the file. */
const known = (n: number) => (isFinite(n) ? n : null);

const figure = (n: number | null, { text }: Total) => (n === null ? NOT_IN_FILE : text(n));

function Totals({ rows }: { rows: Total[] }) {
	return (
		<Table
			id="totals"
			class="data lines totals"
			rows={rows}
			columns={[
				['total', (row) => row.name, (name) => <th scope="row">{name}</th>],
				['before', (row) => known(row.before), figure],
				['now', (row) => known(row.now), figure],
				[
					'difference',
					(row) => known(row.now - row.before),
					(gain, { text }) => gain !== null && signed(text(Math.abs(gain)), gain),
				],
				[
					'% of before',
					(row) => known(row.now / row.before),
					(ratio, { before, now }) =>
						!before || !(now - before)
							? ''
							: ratio < 100
								? signed(percent(Math.abs(now - before), before), now - before)
								: `× ${count(ratio)}`,
				],
			]}
		/>
	);
}

const ROWS = 200;

/** A function of this recording, in the tree. */
function openSite({ keys, node, symbol }: Sites, key: number): void {
	batch(() => {
		const base = node[keys.indexOf(key)]!;
		state.selected.value = { symbol: symbol[key]!, base };
		state.view.value = 'tree';
	});
}

interface ChangedProps {
	all: Difference[];
	metric: Metric;
	hasBlocks: boolean;
}

function ChangedSites({ all, metric, hasBlocks }: ChangedProps) {
	const p = state.profile.value;
	const changed = useMemo(() => all.filter((d) => changeOf(d) !== 'same'), [all]);
	const sites = sitesOf(p, metric);
	const keys = useMemo(
		() =>
			new Map(
				sites.symbol.flatMap((symbol, key) =>
					symbol ? [[labelOf(p.symbolTable, symbol), key]] : [],
				),
			),
		[sites],
	);
	const told = useMemo(() => namesApart(changed.map((d) => d.name)), [changed]);
	const most = Math.max(1, ...changed.map((d) => Math.abs(d.now - d.before)));
	const of = (kind: Change) => count(all.filter((d) => changeOf(d) === kind).length);
	return (
		<Panel
			title="Functions that changed"
			hint={`${of('new')} new, ${of('gone')} gone, ${of('changed')} changed`}
		>
			<Table
				id="changed"
				class="data lines compare"
				rows={changed}
				columns={[
					[
						'function',
						(d) => told(d.name),
						(name, d) => (
							<td title={d.name}>
								{keys.has(d.label) ? (
									<NameLink
										name={d.name}
										text={name}
										onClick={() => openSite(sites, keys.get(d.label)!)}
									/>
								) : (
									<Name text={name} />
								)}{' '}
								{d.file && <span class="dim place">{baseName(d.file)}</span>}
							</td>
						),
					],
					['change', changeOf, (kind) => <td class={`kind ${kind}`}>{kind}</td>],
					['before', (d) => d.before, (n) => weight(metric, n)],
					['now', (d) => d.now, (n) => weight(metric, n)],
					[
						`difference in ${metricName(metric).toLowerCase()}`,
						(d) => d.now - d.before,
						(n) => signedWeight(metric, n),
					],
					[
						<span class="sr">as a bar</span>,
						null,
						(_, d) => (
							<td class="delta">
								<i
									class={d.now > d.before ? 'more' : 'less'}
									style={{
										width: `${(100 * Math.abs(d.now - d.before)) / most}%`,
									}}
								/>
							</td>
						),
					],
					hasBlocks && [
						'blocks',
						(d) => d.blocksNow - d.blocksBefore,
						(n) => signed(count(Math.abs(n)), n),
					],
				]}
				most={ROWS}
			/>
			{changed.length === 0 && <p class="dim">No function costs more or less than before.</p>}
		</Panel>
	);
}

function Compared({ other }: { other: NonNullable<typeof state.compared.value> }) {
	const p = state.profile.value;
	const lens = useValue(state.lens);
	const isFile = 'profile' in other;
	const sides = useMemo<[Side, Side]>(
		() => (isFile ? sidesOf(other.profile, p, lens) : sidesAt(p, lens, other.from, other.to)),
		[p, other, lens],
	);
	const sites = useMemo(() => compareSites(...sides), [sides]);
	const both = isFile ? [other.profile, p] : [p];
	const lacking = both.find((side) => lacksMetric(side, lens.metric));
	const names = isFile
		? [other.name, p.facts.program.called]
		: [markName(p, other.from), markName(p, other.to)];
	return (
		<>
			<Panel
				title={`Before (${names[0]}) and now (${names[1]})`}
				head={
					<button
						class="link"
						onClick={() => (state.compared.value = null)}
					>
						choose another
					</button>
				}
			>
				<Totals
					rows={
						isFile
							? totalsOfFiles(other.profile, p)
							: totalsOfMarks(p, other.from, other.to)
					}
				/>
			</Panel>
			<div class="toolbar flush">
				<Metrics />
				{isFile && lens.range && (
					<span class="dim hint">
						both from {rangeWords(p, lens.range)} after their start
					</span>
				)}
				{!isFile && (
					<span class="dim hint">
						Peak and never freed are what was live at each moment, the others what was
						allocated up to it
					</span>
				)}
			</div>
			{lacking ? (
				<p class="panel nothing">
					{metricName(lens.metric)}: {NOT_IN_FILE}, {names[lacking === p ? 1 : 0]}.
				</p>
			) : (
				<>
					<DiffFlame sides={sides} metric={lens.metric} />
					<ChangedSites
						all={sites}
						metric={lens.metric}
						hasBlocks={!both.some((side) => lacksMetric(side, lens.metric, 'blocks'))}
					/>
				</>
			)}
		</>
	);
}

export function CompareView() {
	const other = useValue(state.compared);
	return other ? <Compared other={other} /> : <Choose />;
}
