// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { metrics, type MetricRow } from '../data/metrics.ts';
import type { Profile } from '../data/profile.ts';
import { sum, wholeRanked } from '../data/query.ts';
import { heaviestOf } from '../data/rank.ts';
import { curvesOfGroups, sitesOf, sumsBySite } from '../data/series.ts';
import { change, profile, selected, view } from '../state.ts';
import { bytes, count, duration, percent, shortName } from '../ui/format.ts';
import { placeOf, weight } from '../ui/labels.ts';
import { Name } from '../ui/name.tsx';
import { Sparkline } from '../ui/sparkline.tsx';
import { useValue } from '../ui/signals.ts';

const ROWS = 10;

interface Site {
	key: number;
	name: string;
	symbol: number;
	stack: number; // its heaviest
	weight: number;
	blocks: number;
}

/** The heaviest sites; and how many weigh anything. */
function rankSites(
	p: Profile,
	weights: Float64Array,
	blocks: Float64Array,
): { n: number; rows: Site[] } {
	const { keys, name, symbol } = sitesOf(p);
	const sums = sumsBySite(p, weights);
	const ofBlocks = sumsBySite(p, blocks);
	const { n, ids } = heaviestOf(null, sums, ROWS);
	const rows = ids.map((key) => ({
		key,
		name: name[key]!,
		symbol: symbol[key]!,
		stack: -1,
		weight: sums[key]!,
		blocks: ofBlocks[key]!,
	}));
	const rowOf = new Map(rows.map((site) => [site.key, site]));
	for (let s = 0; s < p.stacks.n; s++) {
		const site = weights[s] ? rowOf.get(keys[s]!) : undefined;
		if (site && (site.stack < 0 || weights[s]! > weights[site.stack]!)) {
			site.stack = s;
		}
	}
	return { n, rows };
}

/** What ranks, and the other of bytes and blocks beside it. */
function TopTable({ profile: p, kind }: { profile: Profile; kind: MetricRow }) {
	const { counted, share } = kind;
	const whole = wholeRanked(p, kind.name);
	const [weights, blocks] = counted ? [whole.blocks, whole.bytes] : [whole.bytes, whole.blocks];
	const { n, rows } = useMemo(() => rankSites(p, weights, blocks), [p]);
	const total = sum(weights);
	const curves = useMemo(
		() =>
			curvesOfGroups(
				p,
				sitesOf(p).keys,
				rows.map((site) => site.key),
			),
		[p],
	);
	const rest = total - rows.reduce((sum, s) => sum + s.weight, 0);
	return (
		<section class="panel top" aria-labelledby={`top-${kind.name}`}>
			<h2 id={`top-${kind.name}`}>{kind.table}</h2>
			{rows.length === 0 ? (
				<p class="dim">None.</p>
			) : (
				<table class="data">
					<thead>
						<tr>
							<th>function</th>
							<th class="num">{counted ? 'calls' : 'bytes'}</th>
							<th class="num">% of {share}</th>
							<th class="num">{counted ? 'bytes' : 'blocks'}</th>
							<th>alive over time</th>
						</tr>
					</thead>
					<tbody>
						{rows.map((site, i) => {
							const node = p.stacks.site[site.stack]!;
							return (
								<tr key={site.key}>
									<td>
										<button
											type="button"
											class="link name"
											title={site.name}
											onClick={() => {
												change({ metric: kind.name });
												selected.value = {
													symbol:
														site.symbol ||
														p.nodes.symbol[p.stacks.node[site.stack]!]!,
													base: node || p.stacks.node[site.stack]!,
												};
												view.value = 'tree';
											}}
										>
											<Name text={shortName(site.name)} />
										</button>{' '}
										<span class="dim place">
											{site.symbol > 0 &&
												placeOf(p, site.symbol, p.nodes.line[node]!)}
										</span>
									</td>
									<td class="num">{weight(kind.name, site.weight)}</td>
									<td class="num">{percent(site.weight, total)}</td>
									<td class="num">
										{counted ? bytes(site.blocks) : count(site.blocks)}
									</td>
									<td>
										<Sparkline values={curves[i]!} />
									</td>
								</tr>
							);
						})}
					</tbody>
				</table>
			)}
			{n > ROWS && (
				<p class="dim">
					… {count(n - ROWS)} more, {weight(kind.name, rest)}{' '}
					({percent(rest, total)} of{' '}
					{share})
				</p>
			)}
		</section>
	);
}

function RunFacts({ profile: p }: { profile: Profile }) {
	const { summary: s, program, children } = p.facts;
	const rate =
		s.duration_ns >= 1e9 ? ` (${count(s.allocations / (s.duration_ns / 1e9))} per second)` : '';
	const facts: [string, string][] = [
		['runtime', duration(s.duration_ns)],
		['allocations', count(s.allocations) + rate],
		['allocated', bytes(s.allocated_bytes)],
		['frees', count(s.frees)],
		['reallocations', count(s.reallocations)],
		['peak RSS', s.peak_rss_bytes ? bytes(s.peak_rss_bytes) : 'unknown'],
		[
			'process',
			program.pid
				? `${program.pid}${program.host ? ` on ${program.host}` : ''}`
				: 'not known',
		],
		['executable', program.executable || 'not known'],
	];
	if (s.failed) {
		facts.push(['failed calls', count(s.failed)]);
	}
	if (children.length) {
		facts.push(['not recorded', children.map((c) => `${c.name} (${c.pid})`).join(', ')]);
	}
	return (
		<section class="panel" aria-labelledby="run-title">
			<h2 id="run-title">The run</h2>
			<dl class="facts-list">
				{facts.map(([name, value]) => (
					<div key={name}>
						<dt>{name}</dt>
						<dd>{value}</dd>
					</div>
				))}
			</dl>
		</section>
	);
}

/** Below the fold: the ten largest of each cost, and what the run was. */
export function TopTables() {
	const p = useValue(() => profile.value);
	return (
		<>
			<div class="tops">
				{[...metrics()]
					.filter((m) => m.place)
					.sort((a, b) => a.place - b.place)
					.map((kind) => (
						<TopTable key={kind.name} profile={p} kind={kind} />
					))}
			</div>
			<RunFacts profile={p} />
		</>
	);
}
