// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import {
	ALLOCATED,
	ALLOCATIONS,
	isImported,
	lacks,
	lacksCurves,
	lacksMetric,
	NOT_IN_FILE,
	TIME,
} from '../data/missing.ts';
import { metrics, type MetricRow } from '../data/metrics.ts';
import { isTree } from '../data/processes.ts';
import type { Profile } from '../data/profile.ts';
import { ask, sum } from '../data/query.ts';
import { heaviestOf } from '../data/rank.ts';
import { curvesOfGroups, isRuntime, sitesOf, sumsBySite, type Sites } from '../data/series.ts';
import { change, kept, lens, profile, selected, view } from '../state.ts';
import { bytes, count, duration, namesApart, percent } from '../ui/format.ts';
import { placeOf, weight } from '../ui/labels.ts';
import { NameLink } from '../ui/name.tsx';
import { Panel } from '../ui/panel.tsx';
import { useResting } from '../ui/signals.ts';
import { Sparkline } from '../ui/sparkline.tsx';
import { Table } from '../ui/table.tsx';

const ROWS = 10;

interface Site {
	key: number; // -1: the runtime itself
	name: string;
	symbol: number;
	stack: number; // its heaviest
	weight: number;
	blocks: number;
}

/**
 * The heaviest of your functions and the dependencies'; how many weigh anything; and what runtimes
 * have for themselves, as one, if they have anything.
 */
function rankSites(
	p: Profile,
	sites: Sites,
	weights: Float64Array,
	blocks: Float64Array,
): { n: number; rows: Site[]; runtime: Site | null } {
	const sums = sumsBySite(sites, weights);
	const ofBlocks = sumsBySite(sites, blocks);
	const of = (isWanted: boolean) =>
		[...sums.keys()].filter((key) => isRuntime(sites, key) === isWanted);
	const { n, ids } = heaviestOf(of(false), sums, ROWS);
	const rows = ids.map((key) => ({
		key,
		name: sites.name[key]!,
		symbol: sites.symbol[key]!,
		stack: -1,
		weight: sums[key]!,
		blocks: ofBlocks[key]!,
	}));
	const rowOf = new Map(rows.map((site) => [site.key, site]));
	for (let s = 0; s < p.stacks.n; s++) {
		const site = weights[s] ? rowOf.get(sites.keys[s]!) : undefined;
		if (site && (site.stack < 0 || weights[s]! > weights[site.stack]!)) {
			site.stack = s;
		}
	}
	const own = heaviestOf(of(true), sums, sums.length).ids;
	const names = own.slice(0, 3).map((key) => sites.name[key]!);
	const runtime = {
		key: -1,
		name: `the runtime itself: ${names.join(', ')}${own.length > 3 ? ', …' : ''}`,
		symbol: 0,
		stack: -1,
		weight: own.reduce((sum, key) => sum + sums[key]!, 0),
		blocks: own.reduce((sum, key) => sum + ofBlocks[key]!, 0),
	};
	return { n, rows, runtime: own.length ? runtime : null };
}

/** What ranks, and the other of bytes and blocks beside it. */
function TopTable({ kind }: { kind: MetricRow }) {
	const p = profile.value;
	const { counted, share } = kind;
	const hasCurves = !lacksCurves(p);
	const l = useResting(lens); // not while a range is dragged
	const stacks = useResting(kept);
	const sites = sitesOf(p, kind.name);
	const { n, rows, runtime, total } = useMemo(() => {
		const a = ask(p, { ...l, metric: kind.name }, stacks);
		const ranked = rankSites(p, sites, a.weights, counted ? a.bytes : a.blocks);
		return { ...ranked, total: sum(a.weights) };
	}, [p, l.range, stacks]);
	const listed = useMemo(() => (runtime ? [...rows, runtime] : rows), [rows]);
	const curves = useMemo(() => {
		const rowOf = sites.name.map((_, key) => (isRuntime(sites, key) ? -1 : key));
		const keys = Int32Array.from(sites.keys, (key, s) =>
			!stacks || stacks[s] ? rowOf[key]! : -2,
		);
		return curvesOfGroups(p, keys, [...rows.map((site) => site.key), -1]);
	}, [rows]);
	const told = namesApart(rows.map((site) => site.name));
	const rest = total - [...rows, runtime].reduce((sum, s) => sum + (s?.weight ?? 0), 0);
	const select = (site: Site) => {
		const node = sites.node[site.stack]! || p.stacks.node[site.stack]!;
		change({ metric: kind.name });
		selected.value = { symbol: site.symbol || p.nodes.symbol[node]!, base: node };
		view.value = 'tree';
	};
	return (
		<Panel
			title={kind.table!}
			class="top"
		>
			{lacksMetric(p, kind.name) || (rows.length === 0 && !runtime) ? (
				<p class="dim">{lacksMetric(p, kind.name) ? NOT_IN_FILE : 'None.'}</p>
			) : (
				<Table
					id={`top-${kind.name}`}
					class="data lines"
					rows={listed}
					columns={[
						[
							'function',
							(site) => (site === runtime ? null : told(site.name)),
							(text, site) => (
								<td>
									{site === runtime ? (
										<span class="dim">({site.name})</span>
									) : (
										<NameLink
											name={site.name}
											text={text}
											onClick={() => select(site)}
										/>
									)}{' '}
									<span class="dim place">
										{site.symbol > 0 &&
											placeOf(
												p,
												site.symbol,
												p.nodes.line[sites.node[site.stack]!]!,
											)}
									</span>
								</td>
							),
						],
						[
							counted ? 'calls' : 'bytes',
							(site) => site.weight,
							(n) => weight(kind.name, n),
						],
						[`% of ${share}`, (site) => site.weight, (n) => percent(n, total)],
						[
							counted ? 'bytes' : 'blocks',
							(site) => site.blocks,
							(n) =>
								lacksMetric(p, kind.name, counted ? 'bytes' : 'blocks')
									? NOT_IN_FILE
									: counted
										? bytes(n)
										: count(n),
						],
						hasCurves && [
							'alive over time',
							null,
							(_, site) => (
								<td>
									<Sparkline
										values={curves.at(
											site === runtime ? -1 : rows.indexOf(site),
										)}
									/>
								</td>
							),
						],
					]}
				/>
			)}
			{n > ROWS && (
				<p class="dim">
					… {count(n - ROWS)} more, {weight(kind.name, rest)}{' '}
					({percent(rest, total)} of{' '}
					{share})
				</p>
			)}
		</Panel>
	);
}

function RunFacts() {
	const p = profile.value;
	const { summary: s, program, children, commands } = p.facts;
	const rate =
		s.duration_ns >= 1e9 ? ` (${count(s.allocations / (s.duration_ns / 1e9))} per second)` : '';
	const host = program.host ? ` on ${program.host}` : '';
	const facts = [
		['runtime', !lacks(p, TIME) && duration(s.duration_ns)],
		['allocations', !lacks(p, ALLOCATIONS) && count(s.allocations) + rate],
		['allocated', !lacks(p, ALLOCATED) && bytes(s.allocated_bytes)],
		['frees', !lacks(p, ALLOCATIONS) && count(s.frees)],
		['reallocations', !isImported(p) && count(s.reallocations)],
		['peak RSS' + (isTree(p) ? ', added up' : ''), s.peak_rss_bytes && bytes(s.peak_rss_bytes)],
		[isTree(p) ? 'first process' : 'process', program.pid && program.pid + host],
		['executable', program.executable],
	];
	if (isTree(p)) {
		const of = commands
			.filter((own) => own.processes) // else all of them executed another
			.map((own) => `${count(own.processes)} ${own.name}`);
		facts.push(['processes', of.join(', ')]);
	}
	if (s.failed) {
		facts.push(['failed calls', count(s.failed)]);
	}
	if (children.length) {
		facts.push(['not recorded', children.map((c) => `${c.name ?? ''} (${c.pid})`).join(', ')]);
	}
	return (
		<Panel title="The run">
			<dl class="facts-list">
				{facts.map(([name, value]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{value || NOT_IN_FILE}</dd>
					</div>
				))}
			</dl>
		</Panel>
	);
}

/** Below the fold: the ten largest of each cost, and what the run was. */
export function TopTables() {
	return (
		<>
			<div class="tops">
				{[...metrics()]
					.filter((m) => m.place)
					.sort((a, b) => a.place - b.place)
					.map((kind) => (
						<TopTable key={kind.name} kind={kind} />
					))}
			</div>
			<RunFacts />
		</>
	);
}
