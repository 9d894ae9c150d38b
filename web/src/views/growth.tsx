// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { lacks, lacksCurves, LIVE, NOT_IN_FILE } from '../data/missing.ts';
import { isTree } from '../data/processes.ts';
import type { Finding, Profile } from '../data/profile.ts';
import { NEVER } from '../data/profile.ts';
import { ask, type Answer } from '../data/query.ts';
import { curvesOfGroups, isRuntime, sitesOf as namesOf } from '../data/series.ts';
import * as state from '../state.ts';
import { copyText } from '../ui/copy.ts';
import { bytes, count, moment, namesApart, percent } from '../ui/format.ts';
import { placeOf, rangeWords } from '../ui/labels.ts';
import { NameLink } from '../ui/name.tsx';
import { Panel } from '../ui/panel.tsx';
import { useValue } from '../ui/signals.ts';
import { Sparkline } from '../ui/sparkline.tsx';
import { Table } from '../ui/table.tsx';
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

function suppression(name: string): string {
	return `leak:${name.replace(/\(.*$/, '').replace(/<.*>/g, '*')}`;
}

const MOST = 200;

export function GrowthView() {
	const p = state.profile.value;
	const kept = useValue(state.kept);
	const hidden = useValue(state.suppressed);
	const sites = namesOf(p, 'never-freed');
	const lens = useValue(state.lens);
	const { range } = lens;
	const all = useMemo(
		() => sitesOf(p, kept, ask(p, { ...lens, metric: 'never-freed' }, kept)),
		[p, kept, range],
	);
	const isGraded = !range && all.some((site) => site.unreachable); // of the whole run
	// Which blocks processes left when they ended is not told
	const hasEnded = isTree(p);
	const lines = useMemo(() => {
		const top = all.slice(0, MOST).map(({ key }) => key);
		const keys = Int32Array.from(sites.keys, (key, s) => (!kept || kept[s] ? key : -1));
		const { from, until } = p.intervals;
		const [after, last] = range ? [range.from, range.to] : [-1, p.edges.n];
		const isLeft = (i: number) => until[i] === NEVER && from[i]! > after && from[i]! <= last;
		const found = curvesOfGroups(p, keys, top, hasEnded ? null : isLeft);
		return new Map(top.map((key, i) => [key, found[i]!]));
	}, [all]);
	const shown = useMemo(
		() => all.filter((site) => !hidden.includes(site.name)),
		[all, hidden],
	);
	const told = useMemo(() => namesApart(shown.map((site) => site.name)), [shown]);
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
		<Panel
			title="Never freed (leaks and what is still in use), by function"
			class="measures"
			hint={
				range
					? `allocated in ${rangeWords(p, range)} and never freed; moments and ` +
						'findings are of the whole run' +
						(hasEnded ? '; what ended with its process is not in it' : '')
					: isGraded
						? ''
						: p.stacks.others.unreachable
							? 'none of it was unreachable'
							: 'heaptrack --leaks records what nothing points to'
			}
		>
			<Table
				id="never-freed"
				class="data growth"
				rows={shown}
				columns={[
					[
						'function',
						(site) => told(site.name),
						(text, site) => (
							<td>
								<NameLink
									name={site.name}
									text={text}
									onClick={() => select(site)}
								/>{' '}
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
						),
					],
					['bytes', (site) => site.bytes, bytes],
					['% of never freed', (site) => site.bytes, (n) => percent(n, total)],
					[
						'blocks never freed',
						(site) => site.blocks,
						(n, site) => `${count(n)} of ${count(site.allocations)}`,
					],
					isGraded && [
						'unreachable',
						(site) => site.unreachable,
						(n, site) => (
							<td class="num graded" style={`--share:${(100 * n) / site.bytes}%`}>
								{bytes(n)}
							</td>
						),
					],
					hasCurves && [
						`${hasEnded ? 'alive' : 'never freed'} over time`,
						null,
						(_, site) => (
							<td>
								<Sparkline values={lines.get(site.key)} />
							</td>
						),
						'nowrap',
					],
					hasCurves && [
						'first, last allocation',
						(site) => site.first,
						(first, site) => (
							<td class="dim nowrap roomy">
								{first <= site.last && `${moment(first)}, ${moment(site.last)}`}
							</td>
						),
						'nowrap roomy',
					],
					shown.some((site) => site.findings.length) && [
						'finding',
						(site) => site.findings[0]?.text ?? null,
						(text, site) => (
							<td class="sentence">
								{text && <Sentence text={text} name={site.name} />}
							</td>
						),
					],
					[
						<span class="sr">suppress</span>,
						null,
						(_, site) => (
							<td>
								<button
									class="link"
									title="Hide it and copy its suppression"
									onClick={() => {
										state.suppressed.value = [...hidden, site.name];
										void copyText(suppression(site.name));
									}}
								>
									Suppress…
								</button>
							</td>
						),
					],
				]}
				most={MOST}
			/>
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
		</Panel>
	);
}
