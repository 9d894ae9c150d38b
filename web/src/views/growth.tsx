// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import type { Range } from '../data/lens.ts';
import { lacks, lacksCurves, LIVE, NOT_IN_FILE } from '../data/missing.ts';
import type { Finding, Profile } from '../data/profile.ts';
import { NEVER } from '../data/profile.ts';
import { ask, type Answer } from '../data/query.ts';
import { isRuntime, sitesOf as namesOf } from '../data/series.ts';
import * as state from '../state.ts';
import { copyText } from '../ui/copy.ts';
import { bytes, count, moment, percent, shortName } from '../ui/format.ts';
import { placeOf } from '../ui/labels.ts';
import { Name } from '../ui/name.tsx';
import { useValue } from '../ui/signals.ts';
import { Sparkline } from '../ui/sparkline.tsx';
import { Table } from '../ui/table.tsx';
import { rangeWords } from '../ui/timechart.tsx';
import { Sentence } from './cards.tsx';
import { Nothing } from './empty.tsx';

interface Site {
	key: number;
	name: string;
	symbol: number;
	stack: number;
	bytes: number;
	blocks: number;
	unreachable: number; // bytes, at the look that asked
	allocations: number;
	first: number;
	last: number;
	findings: Finding[];
}

/** What is listed: of a range what was made in it, and was never freed. */
function sitesOf(p: Profile, kept: Uint8Array | null, a: Answer): Site[] {
	const sites = namesOf(p, 'never-freed');
	const found = new Map<number, Site>();
	const s = p.stacks;
	const told = p.facts.findings.filter((f) => /never-freed|growing|start|once/.test(f.id));
	const isTold = new Set(a.lens.range ? [] : told.map((f) => f.function));
	for (let i = 0; i < s.n; i++) {
		const key = sites.keys[i]!;
		const name = sites.name[key]!;
		if ((kept && !kept[i]) || (!a.blocks[i] && !isTold.has(name))) {
			continue;
		}
		const site = found.get(key) ?? {
			key,
			name,
			symbol: sites.symbol[key]!,
			stack: i,
			bytes: 0,
			blocks: 0,
			unreachable: 0,
			allocations: 0,
			first: Infinity,
			last: 0,
			findings: [],
		};
		site.bytes += a.bytes[i]!;
		site.blocks += a.blocks[i]!;
		site.unreachable += s.others.unreachable?.bytes[i] ?? 0;
		if (s.allocations[i]) {
			site.first = Math.min(site.first, s.firstNs[i]!);
			site.last = Math.max(site.last, s.lastNs[i]!);
		}
		if (a.bytes[i]! > a.bytes[site.stack]!) {
			site.stack = i;
		}
		found.set(key, site);
	}
	for (let i = 0; i < s.n; i++) {
		const site = found.get(sites.keys[i]!);
		if (site && (!kept || kept[i])) {
			site.allocations += a.allocations[i]!;
		}
	}
	const all = [...found.values()];
	for (const site of all) { // top levels of scripts are called alike
		const isOnly = all.every((other) => other === site || other.name !== site.name);
		const place = placeOf(p, site.symbol, p.nodes.line[sites.node[site.stack]!]!);
		site.findings = told.filter(
			(f) => f.function === site.name && (isOnly || f.place === place),
		);
	}
	return all
		.filter((site) => site.blocks > 0 || site.findings.length > 0)
		.sort((a, b) => b.bytes - a.bytes);
}

/** Over the run, what of the never freed was there already; and what is alive. */
function curves(
	p: Profile,
	sites: Site[],
	keys: Uint32Array,
	range: Range | null,
): Map<number, Float64Array> {
	const n = p.edges.n;
	const [after, last] = range ? [range.from, range.to] : [-1, n];
	const out = new Map(sites.map((site) => [site.key, new Float64Array(n + 1)]));
	const { first, from, until, bytes: size } = p.intervals;
	for (let s = 0; s < p.stacks.n; s++) {
		const curve = out.get(keys[s]!);
		for (let i = curve ? first[s]! : first[s + 1]!; i < first[s + 1]!; i++) {
			if (until[i] === NEVER && from[i]! > after && from[i]! <= last) {
				curve![from[i]!]! += size[i]!;
			}
		}
	}
	for (const [key, curve] of out) {
		let sum = 0;
		out.set(key, curve.map((v) => (sum += v)));
	}
	return out;
}

function suppression(name: string): string {
	return `leak:${name.replace(/\(.*$/, '').replace(/<.*>/g, '*')}`;
}

const CURVES: [string, string][] = [
	['never freed over time', 'nowrap'],
	['first, last allocation', 'nowrap roomy'],
];

export function GrowthView() {
	const p = useValue(() => state.profile.value);
	const kept = useValue(() => state.kept.value);
	const hidden = useValue(() => state.suppressed.value);
	const sites = namesOf(p, 'never-freed');
	const lens = useValue(() => state.lens.value);
	const { range } = lens;
	const isGraded = !range && !!p.stacks.others.unreachable; // which is of the whole run
	const all = useMemo(
		() => sitesOf(p, kept, ask(p, { ...lens, metric: 'never-freed' }, kept)),
		[p, kept, range],
	);
	const lines = useMemo(() => curves(p, all.slice(0, 200), sites.keys, range), [all]);
	const shown = useMemo(
		() => all.filter((site) => !hidden.includes(site.name)),
		[all, hidden],
	);
	const hasCurves = !lacksCurves(p);
	const total = all.reduce((sum, site) => sum + site.bytes, 0);
	const suppressed = all.filter((site) => hidden.includes(site.name));
	if (lacks(p, LIVE)) {
		return <p class="panel nothing">What was never freed is {NOT_IN_FILE}.</p>;
	}
	if (!all.length) {
		return kept || range ? (
			<Nothing />
		) : (
			<p class="panel nothing">Every block was freed before the end of the recording.</p>
		);
	}
	const select = (site: Site) => {
		state.change({ metric: 'never-freed' });
		const node = sites.node[site.stack]! || p.stacks.node[site.stack]!;
		state.selected.value = { symbol: site.symbol || p.nodes.symbol[node]!, base: node };
		state.isDetailsOpen.value = true;
	};
	return (
		<section class="panel measures" aria-labelledby="never-title">
			<div class="panel-head">
				<h2 id="never-title">
					Never freed (leaks and what is still in use), by your functions
				</h2>
				<span class="dim hint">
					{range
						? `allocated in ${rangeWords(p, range)} and never freed; what was ` +
							'measured, first and last allocation are of the whole run'
						: !p.stacks.others.unreachable &&
							'heaptrack --leaks records what nothing points to'}
				</span>
			</div>
			<Table
				id="never-freed"
				class="data growth"
				heads={[
					'function',
					'bytes',
					'% of never freed',
					'blocks never freed',
					...(isGraded ? ['unreachable'] : []),
					...(hasCurves ? CURVES : []),
					'what was measured',
					[<span class="sr">suppress</span>],
				]}
				rows={shown}
				values={(site) => [
					shortName(site.name),
					site.bytes,
					site.bytes,
					site.blocks,
					...(isGraded ? [site.unreachable] : []),
					...(hasCurves ? [undefined, site.first] : []),
					site.findings[0]?.text ?? null,
				]}
				most={200}
			>
				{(site) => (
					<tr key={site.key}>
						<td>
							<button
								class="link name"
								title={site.name}
								onClick={() => select(site)}
							>
								<Name text={shortName(site.name)} />
							</button>{' '}
							<span class="dim place">
								{site.symbol > 0
									? placeOf(
											p,
											site.symbol,
											p.nodes.line[sites.node[site.stack]!]!,
										)
									: isRuntime(sites, site.key) && 'the runtime itself'}
							</span>
						</td>
						<td class="num">{bytes(site.bytes)}</td>
						<td class="num">{percent(site.bytes, total)}</td>
						<td class="num">
							{count(site.blocks)} of {count(site.allocations)}
						</td>
						{isGraded && (
							<td
								class="num graded"
								style={`--share:${(100 * site.unreachable) / site.bytes}%`}
							>
								{bytes(site.unreachable)}
							</td>
						)}
						{hasCurves && (
							<>
								<td>
									{lines.has(site.key) && (
										<Sparkline values={lines.get(site.key)!} />
									)}
								</td>
								<td class="dim nowrap roomy">
									{site.first <= site.last &&
										`${moment(site.first)}, ${moment(site.last)}`}
								</td>
							</>
						)}
						<td class="sentence">
							{site.findings[0] && (
								<Sentence text={site.findings[0].text} name={site.name} />
							)}
						</td>
						<td>
							<button
								class="link"
								title="Hide it here, and copy the line for a suppressions file"
								onClick={() => {
									state.suppressed.value = [...hidden, site.name];
									void copyText(suppression(site.name));
								}}
							>
								Suppress…
							</button>
						</td>
					</tr>
				)}
			</Table>
			{suppressed.length > 0 && (
				<div class="suppressed">
					<h3>Suppressed here</h3>
					<pre>{suppressed.map((site) => suppression(site.name)).join('\n')}</pre>
					<p class="dim">
						{bytes(suppressed.reduce((sum, site) => sum + site.bytes, 0))} in{' '}
						{count(suppressed.reduce((sum, site) => sum + site.blocks, 0))} blocks.{' '}
						<button
							class="link"
							onClick={() => (state.suppressed.value = [])}
						>
							show again
						</button>
					</p>
				</div>
			)}
		</section>
	);
}
