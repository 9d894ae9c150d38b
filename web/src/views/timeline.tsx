// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { edgeAtOrAfter, type Lens, type Range } from '../data/lens.ts';
import {
	ALLOCATIONS,
	lacks,
	lacksCurves,
	LIVE,
	NOT_IN_FILE,
	TEMPORARY,
	TIME,
} from '../data/missing.ts';
import { isTree, processName, processOfStacks, processWord } from '../data/processes.ts';
import type { Profile } from '../data/profile.ts';
import { ask, madeOverTime } from '../data/query.ts';
import { heaviestOf } from '../data/rank.ts';
import { endOf, sitesOf, stackedSeries, sumsBySite, type Series } from '../data/series.ts';
import * as state from '../state.ts';
import { ChartTable, RateTable } from '../ui/charttable.tsx';
import {
	baseName,
	bytes,
	count,
	duration,
	namesApart,
	shortCount,
	shortName,
} from '../ui/format.ts';
import { Legend, RSS_OFF } from '../ui/legend.tsx';
import { heapAndRss, offAtFirst, peakOf } from '../ui/lines.ts';
import { markLabel } from '../ui/marks.ts';
import { Panel } from '../ui/panel.tsx';
import { Pill, Select, Switch } from '../ui/pill.tsx';
import { RangeField } from '../ui/rangefield.tsx';
import { River } from '../ui/river.tsx';
import { Table } from '../ui/table.tsx';
import { useRead, useValue } from '../ui/signals.ts';
import { TimeChart, type Line, type TimeChartProps } from '../ui/timechart.tsx';
import { Absent } from './empty.tsx';

type Stacking = 'site' | 'module' | 'thread' | 'process' | 'command' | 'size';

const STACKINGS: [Stacking, string][] = [
	['site', 'by function'],
	['module', 'by module'],
	['thread', 'by thread'],
	['size', 'by size'],
	['process', 'by process'],
	['command', 'by command'],
];

/** Powers of two of the usual size: what a stack asks for on average. */
function sizeClassOf(p: Profile, s: number): number {
	const n = p.stacks.allocations[s]!;
	return n ? Math.max(0, Math.ceil(Math.log2(p.stacks.allocatedBytes[s]! / n || 1))) : 0;
}

/** Stacks by a text of each. */
function byText(p: Profile, textOf: (stack: number) => string) {
	const texts: string[] = [];
	const ids = new Map<string, number>();
	const keys = Int32Array.from({ length: p.stacks.n }, (_, s) => {
		const text = textOf(s);
		const id = ids.get(text) ?? texts.push(text) - 1;
		ids.set(text, id);
		return id;
	});
	return { keys, texts };
}

const NONE = { label: 'not told apart', symbol: 0 };

/** What is no function, and the lens that shows it alone. */
const alone = (label: string, only: Partial<Lens>) => (label ? { label, symbol: 0, only } : NONE);

function grouping(
	p: Profile,
	by: Stacking,
): { keys: ArrayLike<number>; name: (key: number) => Omit<Series, 'values'> } {
	const sites = sitesOf(p);
	if (by === 'site') {
		return {
			keys: sites.keys,
			name: (key) => ({ label: shortName(sites.name[key]!), symbol: sites.symbol[key]! }),
		};
	}
	if (by === 'thread') {
		const { keys, texts } = byText(p, (s) => p.threads[p.stacks.thread[s]!]!.name);
		return {
			keys,
			name: (key) => alone(texts[key]!, { threads: [texts[key]!] }),
		};
	}
	if (by === 'process') {
		return {
			keys: processOfStacks(p),
			name: (key) => {
				const own = p.facts.processes[key - 1];
				return own ? alone(processName(own), { processes: [processWord(p, own)] }) : NONE;
			},
		};
	}
	if (by === 'command') {
		return {
			keys: p.stacks.command,
			name: (key) => {
				const { name = '' } = p.facts.commands[key - 1] ?? {};
				return alone(name, { processes: [name] });
			},
		};
	}
	if (by === 'size') {
		return {
			keys: Int32Array.from({ length: p.stacks.n }, (_, s) => sizeClassOf(p, s)),
			name: (key) => ({ label: `up to ${bytes(2 ** key)}`, symbol: 0 }),
		};
	}
	const { keys, texts } = byText(p, (s) => {
		const symbol = p.nodes.symbol[p.stacks.site[s]! || p.stacks.node[s]!]!;
		return baseName(p.symbolTable.module[symbol]!);
	});
	return { keys, name: (key) => ({ label: texts[key] || '(unknown)', symbol: 0 }) };
}

const BINS = 240;

/**
 * Per second or millisecond, of a column that counts up, over stretches of one length: points may
 * be nanoseconds apart, and the rate between two of those says nothing. Between points it counts up
 * evenly.
 */
function rates(
	p: Profile,
	timeNs: Float64Array,
	column: Float64Array,
): { times: Float64Array; values: Float64Array } {
	const width = Math.max(1, p.facts.summary.duration_ns / BINS);
	const values = new Float64Array(BINS);
	let from = 0;
	let before = 0;
	for (let i = 0; i < column.length; i++) {
		const to = Math.max(from, timeNs[i] ?? p.facts.summary.duration_ns);
		const made = column[i]! - before;
		const last = Math.min(BINS - 1, Math.floor(to / width));
		for (let bin = Math.min(BINS - 1, Math.floor(from / width)); bin <= last; bin++) {
			const inside = Math.min(to, (bin + 1) * width) - Math.max(from, bin * width);
			values[bin]! += to > from ? (made * Math.max(0, inside)) / (to - from) : made;
		}
		from = to;
		before = column[i]!;
	}
	return {
		times: values.map((_, bin) => bin * width),
		values: values.map((n) => (n * paceOf(p).ns) / width),
	};
}

/** Of a run of less than a second, per millisecond. */
function paceOf(p: Profile) {
	const [ns, name, short] =
		p.facts.summary.duration_ns < 1e9
			? ([1e6, 'millisecond', 'ms'] as const)
			: ([1e9, 'second', 's'] as const);
	return { ns, name, unit: (n: number) => `${shortCount(n)}/${short}` };
}

const isMissing = (p: Profile, bit: number) => lacks(p, bit | TIME) || lacksCurves(p);

/** What came and stayed between two marks. */
interface Between {
	name: string;
	range: Range;
	ns: number | null; // null: not in the file
	growth: number | null;
	kept: number | null;
	freed: number | null;
	allocations: number | null;
	top: string; // who keeps most
}

function between(p: Profile, range: Range, name: string): Between {
	const { total, weights } = ask(
		p,
		{ ...state.lens.value, range, metric: 'kept' },
		state.kept.value,
	);
	const { edges, facts } = p;
	const { duration_ns } = facts.summary;
	const at = (edge: number, column: Float64Array, end: number) =>
		edge < 0 ? 0 : (column[edge] ?? end);
	const gain = (column: Float64Array, end: number) =>
		at(range.to, column, end) - at(range.from, column, end);
	const ofBlocks = (n: number) => (isMissing(p, ALLOCATIONS) ? null : n);
	const sites = sitesOf(p);
	const sums = sumsBySite(sites, weights);
	const { ids } = heaviestOf(null, sums, 3);
	const told = namesApart(ids.map((key) => sites.name[key]!));
	const top = ids.map((key) => `${told(sites.name[key]!)} ${bytes(sums[key]!)}`);
	return {
		name,
		range,
		ns: lacks(p, TIME) ? null : gain(edges.timeNs, duration_ns),
		growth:
			range.to < edges.n || !lacks(p, LIVE) ? gain(edges.bytes, endOf(p).bytes) : null,
		kept: ofBlocks(total.bytes),
		freed: ofBlocks(total.allocatedBytes - total.bytes),
		allocations: ofBlocks(total.allocations),
		top: top.join(', ') || (isMissing(p, ALLOCATIONS) ? NOT_IN_FILE : 'nothing'),
	};
}

/** What came and stayed between the marks: generations of a finished recording. */
function Generations() {
	const p = state.profile.value;
	const marks = useValue(state.marks);
	const a = useValue(state.answer);
	const hasBinary = useValue(state.isBinary);
	const ends = [-1, ...marks, p.edges.n];
	const name = (i: number) =>
		i === 0 ? 'start' : i > marks.length ? 'end' : markLabel(p, i - 1);
	const rows = useMemo(
		() =>
			ends
				.slice(1)
				.map((to, i) => between(p, { from: ends[i]!, to }, `${name(i)} – ${name(i + 1)}`)),
		[p, a, marks, hasBinary],
	);
	const figure = (text: (n: number) => string) => (n: number | null) =>
		n === null ? NOT_IN_FILE : text(n);
	return (
		<Panel
			title="Between marks"
			head={
				marks.length > 0 && (
					<button class="link" onClick={() => (state.marks.value = [])}>
						remove all
					</button>
				)
			}
			hint="M sets a mark at the pointer, or at the end of the range"
		>
			<Table
				id="marks"
				class="data lines"
				rows={rows}
				columns={[
					[
						'from – to',
						(row) => rows.indexOf(row),
						(_, row) => (
							<th scope="row" class="nowrap">
								<button
									class="link"
									onClick={() =>
									state.change({ range: row.range, metric: 'kept' })
								}
								>
									{row.name}
								</button>
							</th>
						),
						'nowrap',
					],
					['time', (row) => row.ns, figure(duration)],
					[
						'growth',
						(row) => row.growth,
						figure((n) => `${n > 0 ? '+' : ''}${bytes(n)}`),
					],
					['kept', (row) => row.kept, figure(bytes)],
					[
						`allocated and ${isTree(p) ? 'gone' : 'freed'}`,
						(row) => row.freed,
						figure(bytes),
					],
					['allocations', (row) => row.allocations, figure(count)],
					[
						<span class="sr">compare</span>,
						null,
						(_, row) =>
							row.range.from >= 0 && (
								<button
									class="link"
									title="Flame graph and functions of the difference"
									onClick={() => state.compareEdges(row.range)}
								>
									compare
								</button>
							),
					],
					['who keeps most', (row) => row.top, (top) => <td>{top}</td>],
				]}
			/>
		</Panel>
	);
}

/** The lens that shows only what a series stands for; null: there is none. */
function lensOf({ symbol, only }: Series): Lens | null {
	const p = state.profile.value;
	const lens = state.lens.value;
	const name = p.symbolTable.name[symbol]!;
	if (only) {
		const is = { ...lens, ...only };
		return JSON.stringify(is) === JSON.stringify(lens) ? null : is;
	}
	return symbol && !lens.focus.includes(name) ? { ...lens, focus: [name] } : null;
}

const BANDS = 8; // of a river

interface RateProps {
	name: string;
	bit: number; // of what a file may lack
	line: Line[];
	chart: Omit<TimeChartProps, 'lines' | 'height' | 'label'>;
	unit: (n: number) => string;
	children?: ComponentChildren;
}

/** How many there were, by time or up to each moment. */
function Rate({ name, bit, line, chart, unit, children }: RateProps) {
	const p = state.profile.value;
	const pace = paceOf(p);
	const title = `${name} ${unit === shortCount ? 'so far' : `per ${pace.name}`}`;
	if (isMissing(p, bit)) {
		return <Absent title={title} />;
	}
	return (
		<Panel
			title={title}
			head={children}
		>
			<TimeChart
				{...chart}
				lines={line}
				height={140}
				unit={unit}
				label={`${name} per ${pace.name}`}
			/>
			<RateTable label={name} line={line[0]!} unit={unit} />
		</Panel>
	);
}

export function TimelineView() {
	const p = state.profile.value;
	const range = useRead(() => state.lens.value.range);
	const kept = useValue(state.kept);
	const river = useValue(state.isRiver);
	const [by, setBy] = useState<Stacking>('site');
	const [isCumulative, setCumulative] = useState(false);
	const [off, setOff] = useState(() => offAtFirst(p));
	const [cursor, setCursor] = useState<number | null>(null);
	const series = useMemo(() => {
		const { keys, name } = grouping(p, by);
		return stackedSeries(p, keys, name, river ? BANDS : 5, kept, river ? range : null);
	}, [p, by, kept, river, river && range]);
	useEffect(() => setOff((now) => now & RSS_OFF), [series]); // the others are other series
	const heap = useMemo(() => heapAndRss(p, series, kept === null, off), [series, off]);
	const line = (of: 'count' | 'temporary', colour: string): Line[] => {
		const all = of === 'count' ? p.curve.allocations : p.curve.temporary;
		const values = kept ? madeOverTime(p, kept, of) : all;
		const times = kept ? p.edges.timeNs : p.curve.timeNs;
		const curve = isCumulative ? { times, values } : rates(p, times, values);
		return [{ label: colour, colour, kind: 'area', ...curve }];
	};
	const made = useMemo(() => line('count', 'series-2'), [p, kept, isCumulative]);
	const short = useMemo(() => line('temporary', 'temporary'), [p, kept, isCumulative]);
	const common = {
		cursor,
		onCursor: (ns: number | null) => {
			setCursor(ns);
			state.cursorEdge.value = ns === null ? -1 : edgeAtOrAfter(p.edges, ns);
		},
	};
	const hasBinary = useValue(state.isBinary);
	const peak = useMemo(() => peakOf(p, kept), [p, kept, hasBinary]);
	const unit = isCumulative ? shortCount : paceOf(p).unit;
	return (
		<>
			{p.edges.n === 0 ? (
				<Absent title="Consumed" />
			) : (
				<Panel
					title="Consumed"
					head={
						<>
							<Legend
								series={series}
								off={off}
								onSwitch={setOff}
								hasRss={!river}
							/>
							<div class="controls">
								{!river && <RangeField />}
								<Select
									label="Stacked by"
									of={isTree(p) ? STACKINGS : STACKINGS.slice(0, 4)}
									now={by}
									onChoose={setBy}
								/>
								<Switch
									of={state.isRiver}
									title="More bands, each a link, over the range alone"
								>
									River
								</Switch>
								{p.facts.program.started_ns > 0 && (
									<Switch of={state.isClock} title="Time of day (w)">
										Time of day
									</Switch>
								)}
							</div>
						</>
					}
				>
					{river ? (
						<River
							series={series}
							off={off}
							range={range}
							lensOf={lensOf}
						/>
					) : (
						<TimeChart
							{...common}
							lines={heap}
							height={260}
							{...peak}
						/>
					)}
					<ChartTable series={series} />
				</Panel>
			)}
			<Rate
				name="Allocations"
				bit={ALLOCATIONS}
				line={made}
				chart={common}
				unit={unit}
			>
				<Pill isOn={isCumulative} onClick={() => setCumulative(!isCumulative)}>
					Cumulative
				</Pill>
			</Rate>
			<Rate
				name="Temporary allocations"
				bit={TEMPORARY}
				line={short}
				chart={common}
				unit={unit}
			/>
			<Generations />
		</>
	);
}
