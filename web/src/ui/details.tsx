// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import { aliveOverTime } from '../data/query.ts';
import { nodesBelow } from '../data/match.ts';
import type { Profile } from '../data/profile.ts';
import { isDetailsOpen, answer, focusOn, hide, kept, profile, selected, type Selection } from '../state.ts';
import { copyText } from './copy.ts';
import { bytes, count, duration, percent, shortName } from './format.ts';
import { METRIC_NAMES, placeOf, weight } from './labels.ts';
import { Lifetimes, SizeMix } from './mix.tsx';
import { Source } from './source.tsx';
import { useValue } from './signals.ts';
import { Sparkline } from './sparkline.tsx';
import { Stacks } from './stacks.tsx';
import { WhatIf } from './whatif.tsx';

/** Stacks that have the selected function in them: those through its node, if one is selected. */
export function stacksOf(p: Profile, s: Selection): Uint8Array {
	const marked = new Uint8Array(p.symbols.n);
	const wanted = p.symbols.function[s.symbol]!;
	for (let i = 1; i < p.symbols.n; i++) {
		marked[i] = +(p.symbols.function[i] === wanted);
	}
	const below = nodesBelow(p, marked);
	return Uint8Array.from(p.stacks.node, (node) => below[node]!);
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
			return `${p.symbols.name[symbol]} ${placeOf(p, symbol, p.nodes.line[at]!)}`.trimEnd();
		})
		.join('\n');
}

function Costs({ p, own }: { p: Profile; own: Uint8Array }) {
	const a = answer.value;
	const add = (column: Float64Array) => column.reduce((sum, v, i) => sum + (own[i] ? v : 0), 0);
	const s = p.stacks;
	const isWhole = !a.lens.range && !a.lens.texts.length && !a.lens.focus.length && !a.lens.threads.length;
	const all: [string, string, string][] = [
		[
			`${METRIC_NAMES[a.lens.metric]} under the lens`,
			weight(a.lens.metric, add(a.weights)),
			percent(add(a.weights), a.weights.reduce((x, y) => x + y, 0)),
		],
		['Peak', bytes(add(s.peakBytes)), percent(add(s.peakBytes), p.facts.summary.peak_bytes)],
		['Never freed', bytes(add(s.liveBytes)), percent(add(s.liveBytes), p.facts.summary.never_freed_bytes)],
		['Allocations', count(add(s.allocations)), percent(add(s.allocations), p.facts.summary.allocations)],
		['Allocated', bytes(add(s.allocatedBytes)), percent(add(s.allocatedBytes), p.facts.summary.allocated_bytes)],
		['Temporary', count(add(s.temporary)), percent(add(s.temporary), p.facts.summary.temporary)],
	];
	const rows = isWhole ? all.slice(1) : all; // it says the same as one of the others
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

function Times({ p, own }: { p: Profile; own: Uint8Array }) {
	let first = Infinity;
	let last = 0;
	for (let s = 0; s < p.stacks.n; s++) {
		if (own[s]) {
			first = Math.min(first, p.stacks.firstNs[s]!);
			last = Math.max(last, p.stacks.lastNs[s]!);
		}
	}
	if (first > last) {
		return null;
	}
	return (
		<p class="dim">
			first allocation at {duration(first)}, last at {duration(last)}
		</p>
	);
}

/** All that is known of one function. */
export function Details() {
	const p = useValue(() => profile.value);
	const s = useValue(() => selected.value)!;
	const filter = useValue(() => kept.value);
	const a = useValue(() => answer.value);
	const own = useMemo(() => {
		const all = stacksOf(p, s);
		return filter ? all.map((v, i) => v & filter[i]!) : all;
	}, [p, s.symbol, filter]);
	const curve = useMemo(() => aliveOverTime(p, (i) => own[i] === 1), [own]);
	const name = p.symbols.name[s.symbol]!;
	const line = s.base ? p.nodes.line[s.base]! : 0;
	void a;
	return (
		<aside class="panel details" aria-label="Details">
			<div class="details-head">
				<h2 title={name}>
					<code>{shortName(name)}</code>
				</h2>
				<button type="button" class="pill round" aria-label="Close details" title="Close (d)" onClick={() => (isDetailsOpen.value = false)}>
					×
				</button>
			</div>
			{shortName(name) !== name && <p class="full dim">{name}</p>}
			<p class="dim">
				{placeOf(p, s.symbol, line)}
				{p.symbols.package[s.symbol] && ` · ${p.symbols.package[s.symbol]}`}
			</p>
			<p class="actions">
				<button type="button" class="link" title="Only what it and its callees cost (f)" onClick={() => focusOn(name)}>
					focus
				</button>
				<button type="button" class="link" title="Leave its frames out (x)" onClick={() => hide(name)}>
					hide
				</button>
				<button type="button" class="link" title="Copy the heaviest stack (y)" onClick={() => void copyText(stackText(p, s.base || heaviest(p, own)))}>
					copy stack
				</button>
			</p>
			<Costs p={p} own={own} />
			<h3>Alive over time</h3>
			<div class="wide-spark">
				<Sparkline values={curve} />
			</div>
			<Times p={p} own={own} />
			<Source symbol={s.symbol} line={line} />
			<Stacks p={p} own={own} />
			<h3>Sizes</h3>
			<SizeMix p={p} own={own} />
			<h3>Lifetimes of freed blocks</h3>
			<Lifetimes p={p} own={own} />
			<WhatIf p={p} own={own} name={shortName(name)} />
		</aside>
	);
}

export function heaviest(p: Profile, own: Uint8Array): number {
	const weights = answer.value.weights;
	let best = -1;
	for (let s = 0; s < p.stacks.n; s++) {
		if (own[s] && (best < 0 || weights[s]! > weights[best]!)) {
			best = s;
		}
	}
	return best < 0 ? 0 : p.stacks.node[best]!;
}
