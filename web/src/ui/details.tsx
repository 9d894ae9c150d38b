// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { keepsAll } from '../data/lens.ts';
import { aliveOverTime, stacksWhere, sum, sumOf, type Answer } from '../data/query.ts';
import { nodesBelow } from '../data/match.ts';
import type { Profile } from '../data/profile.ts';
import {
	isDetailsOpen,
	isWhole,
	answer,
	focusOn,
	hide,
	kept,
	profile,
	selected,
	type Selection,
} from '../state.ts';
import {
	ALLOCATED,
	ALLOCATIONS,
	lacks,
	lacksCurves,
	LIVE,
	NOT_IN_FILE,
	PEAK,
	TEMPORARY,
} from '../data/missing.ts';
import { copyText } from './copy.ts';
import { bytes, count, moment, percent, shortName } from './format.ts';
import { metricName, placeOf, weight } from './labels.ts';
import { Lifetimes, SizeMix } from './mix.tsx';
import { Source } from './source.tsx';
import { useResting, useTurn, useValue } from './signals.ts';
import { Sparkline } from './sparkline.tsx';
import { Stacks } from './stacks.tsx';
import { WhatIf } from './whatif.tsx';

/** Stacks that have a function in them, of those that are kept. */
export function stacksOf(p: Profile, s: Selection, filter: Uint8Array | null): Uint32Array {
	const marked = new Uint8Array(p.symbolTable.n);
	const wanted = p.symbolTable.function[s.symbol]!;
	for (let i = 1; i < p.symbolTable.n; i++) {
		marked[i] = +(p.symbolTable.function[i] === wanted);
	}
	const below = nodesBelow(p, marked);
	return stacksWhere(p, (i) => below[p.stacks.node[i]!] === 1 && (!filter || filter[i] === 1));
}

/** The outermost frames of a stack first. */
export function framesOf(p: Profile, node: number): number[] {
	const out: number[] = [];
	for (let at = node; at > 0; at = p.nodes.parent[at]!) {
		out.push(at);
	}
	return out;
}

export function stackText(p: Profile, node: number): string {
	return framesOf(p, node)
		.map((at) => {
			const symbol = p.nodes.symbol[at]!;
			const name = p.symbolTable.name[symbol];
			return `${name} ${placeOf(p, symbol, p.nodes.line[at]!)}`.trimEnd();
		})
		.join('\n');
}

interface Part {
	p: Profile;
	stacks: Uint32Array;
}

/** What is selected, and what its parts are made from. */
interface Selected extends Part {
	s: Selection;
	answer: Answer;
	alive?: Float64Array; // over time
}

const aliveOf = (of: Selected) => (of.alive ??= aliveOverTime(of.p, of.stacks));

interface LaterProps {
	of: Selected;
	turn: number;
	children: (of: Selected) => ComponentChildren;
}

function Later({ of, turn, children }: LaterProps) {
	const then = useTurn(of, turn);
	return <>{then && children(then)}</>;
}

/** Name, value and share of each cost; first that of the lens, unless it is one of the others. */
function costRows(p: Profile, stacks: Uint32Array, a: Answer): [string, string, string][] {
	const { stacks: s, facts } = p;
	const row = (
		name: string,
		column: Float64Array,
		all: number,
		words: (n: number) => string,
		bit = 0,
	): [string, string, string] => {
		if (lacks(p, bit)) {
			return [name, NOT_IN_FILE, ''];
		}
		const part = sumOf(column, stacks);
		return [name, words(part), percent(part, all)];
	};
	const isAll = !a.lens.range && keepsAll(a.lens);
	const { metric } = a.lens;
	const ofLens = () =>
		row(`${metricName(metric)} under the lens`, a.weights, sum(a.weights), (n) =>
			weight(metric, n),
		);
	return [
		...(isAll ? [] : [ofLens()]),
		row('Peak', s.peakBytes, facts.summary.peak_bytes, bytes, PEAK),
		row('Never freed', s.liveBytes, facts.summary.never_freed_bytes, bytes, LIVE),
		row('Allocations', s.allocations, facts.summary.allocations, count, ALLOCATIONS),
		row('Allocated', s.allocatedBytes, facts.summary.allocated_bytes, bytes, ALLOCATED),
		row('Temporary', s.temporary, facts.summary.temporary, count, TEMPORARY),
		...Object.entries(s.others)
			.filter(([, { bytes }]) => sumOf(bytes, stacks) > 0)
			.map(([name, of]) => row(metricName(name), of.bytes, sum(of.bytes), bytes)),
	];
}

function Costs({ p, stacks, answer: a }: Part & { answer: Answer }) {
	const rows = useMemo(() => costRows(p, stacks, a), [p, stacks, a]);
	return (
		<table class="data">
			<thead class="sr">
				<tr>
					<th>cost, with all that it calls</th>
					<th>value</th>
					<th>share</th>
				</tr>
			</thead>
			<tbody>
				{rows.map(([name, value, share]) => (
					<tr key={name}>
						<td>{name}</td>
						<td class="num">{value}</td>
						<td class="num dim">{share}</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

function Times({ p, stacks }: Part) {
	const [first, last] = useMemo(() => {
		const { allocations, firstNs, lastNs } = p.stacks;
		let [least, most] = [Infinity, 0];
		for (const s of stacks) {
			if (allocations[s]) {
				least = Math.min(least, firstNs[s]!);
				most = Math.max(most, lastNs[s]!);
			}
		}
		return [least, most];
	}, [p, stacks]);
	if (first > last) {
		return null;
	}
	return (
		<p class="dim">
			first allocation at {moment(first)}, last at {moment(last)}
		</p>
	);
}

const WHOLE_RUN = ', of the whole run';

/** All that is known of one function. */
export function Details() {
	const p = profile.value;
	const s = useResting(selected)!; // who walks from box to box need not wait for it
	const filter = useValue(kept);
	const a = useResting(answer);
	const stacks = useMemo(() => stacksOf(p, s, filter), [p, s.symbol, filter]);
	const hasAll = useValue(isWhole);
	const of = useMemo<Selected>(() => ({ p, s, stacks, answer: a }), [stacks, s, a, hasAll]);
	const hasBlocks = lacks(p, ALLOCATIONS) || sumOf(p.stacks.allocations, stacks) > 0;
	const name = p.symbolTable.name[s.symbol]!;
	const line = s.base ? p.nodes.line[s.base]! : 0;
	const hasTime = !lacksCurves(p);
	return (
		<aside
			class="panel details"
			aria-label="Details"
			aria-busy={useTurn(of, 6) !== of}
		>
			<div class="details-head">
				<h2 title={name}>
					<code>{shortName(name)}</code>
				</h2>
				<button
					class="pill round"
					aria-label="Close details"
					title="Close (d)"
					onClick={() => (isDetailsOpen.value = false)}
				>
					×
				</button>
			</div>
			{shortName(name) !== name && <p class="full dim">{name}</p>}
			<p class="dim">
				{[...new Set([placeOf(p, s.symbol, line), p.symbolTable.package[s.symbol]])]
					.filter(Boolean)
					.join(' · ')}
			</p>
			<p class="actions">
				<button
					class="link"
					title="Show only this function and its callees (f)"
					onClick={() => focusOn(name)}
				>
					focus
				</button>
				<button
					class="link"
					title="Hide this function (x)"
					onClick={() => hide(name)}
				>
					hide
				</button>
				<button
					class="link"
					title="Copy the heaviest stack (y)"
					onClick={() => void copyText(stackText(p, s.base || heaviest(p, stacks)))}
				>
					copy stack
				</button>
			</p>
			<Costs p={p} stacks={stacks} answer={a} />
			{hasAll && hasTime && hasBlocks && (
				<Later of={of} turn={1}>
					{(of) => (
						<>
							<h3>Live over time</h3>
							<div class="wide-spark">
								<Sparkline values={aliveOf(of)} />
							</div>
						</>
					)}
				</Later>
			)}
			{hasTime && hasBlocks && <Times p={p} stacks={stacks} />}
			{hasAll && (
				<Later of={of} turn={2}>
					{({ s, answer }) => (
						<Source
							symbol={s.symbol}
							line={s.base && p.nodes.line[s.base]!}
							answer={answer}
						/>
					)}
				</Later>
			)}
			<Later of={of} turn={3}>
				{({ stacks, answer }) => <Stacks p={p} stacks={stacks} answer={answer} />}
			</Later>
			{hasAll && hasBlocks && hasTime && (
				<>
					<h3>Lifetimes of freed blocks{a.lens.range && WHOLE_RUN}</h3>
					<Later of={of} turn={4}>
						{({ stacks }) => <Lifetimes p={p} stacks={stacks} />}
					</Later>
					<h3>Sizes{a.lens.range && WHOLE_RUN}</h3>
					<Later of={of} turn={5}>
						{({ stacks }) => <SizeMix p={p} stacks={stacks} />}
					</Later>
					<Later of={of} turn={6}>
						{(of) => <WhatIf p={p} alive={aliveOf(of)} name={shortName(name)} />}
					</Later>
				</>
			)}
		</aside>
	);
}

/** The node in which the heaviest of some stacks ends; 0: there is none. */
export function heaviest(p: Profile, stacks: Uint32Array): number {
	const { weights } = answer.value;
	return stacks.length
		? p.stacks.node[stacks.reduce((best, s) => (weights[s]! > weights[best]! ? s : best))]!
		: 0;
}
