// SPDX-License-Identifier: MIT
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Profile } from '../data/profile.ts';
import type { Answer } from '../data/query.ts';
import { loadSource } from '../load.ts';
import { isServed, profile } from '../state.ts';
import { baseName } from './format.ts';
import { metricName, shortWeight } from './labels.ts';
import { OpenInEditor } from './editor.tsx';

const AROUND = 20;

interface Text {
	firstLine: number;
	lines: string[];
}

const loaded = new Map<number, Text | string>();

function embedded(p: Profile, id: number, line: number): Text | null {
	const far = (s: Text) => Math.abs(s.firstLine + s.lines.length / 2 - line);
	const own = p.sources.filter((s) => s.source === id).sort((a, b) => far(a) - far(b));
	return own[0] ?? null;
}

const totalsOf = new WeakMap<Float64Array, Float64Array>(); // by the weights of stacks

/** What each frame and all below it cost. */
function frameTotals(p: Profile, weights: Float64Array): Float64Array {
	let totals = totalsOf.get(weights);
	if (!totals) {
		totals = new Float64Array(p.nodes.n);
		for (let s = 0; s < p.stacks.n; s++) {
			totals[p.stacks.node[s]!]! += weights[s]!;
		}
		for (let i = p.nodes.n - 1; i > 0; i--) {
			totals[p.nodes.parent[i]!]! += totals[i]!;
		}
		totalsOf.set(weights, totals);
	}
	return totals;
}

/**
 * What each line of a file costs under the lens, with all that it calls. A stack that passes
 * through a line several times (recursion, inlined calls) counts once: at its outermost frame
 * there.
 */
function costsOfLines(p: Profile, source: number, weights: Float64Array): Map<number, number> {
	const totals = frameTotals(p, weights);
	const { symbol, line, parent } = p.nodes;
	const isThere = p.symbols.source.map((id) => +(id === source));
	const out = new Map<number, number>();
	for (let i = 1; i < p.nodes.n; i++) {
		if (!isThere[symbol[i]!] || totals[i]! <= 0) {
			continue;
		}
		let outer = parent[i]!;
		while (outer > 0 && !(isThere[symbol[outer]!] && line[outer] === line[i])) {
			outer = parent[outer]!;
		}
		if (outer <= 0) {
			out.set(line[i]!, (out.get(line[i]!) ?? 0) + totals[i]!);
		}
	}
	return out;
}

/** The most expensive line of a function, where none is selected. */
function lineOf(p: Profile, symbol: number, costs: Map<number, number>): number {
	let best = 0;
	for (let i = 1; i < p.nodes.n; i++) {
		const line = p.nodes.line[i]!;
		if (p.nodes.symbol[i] === symbol && (costs.get(line) ?? 0) > (costs.get(best) ?? 0)) {
			best = line;
		}
	}
	return best;
}

function useText(p: Profile, id: number, line: number): Text | string {
	const [, redraw] = useState(0);
	const own = embedded(p, id, line);
	useEffect(() => {
		if (!own && id && isServed.value && !loaded.has(id)) {
			loadSource(id).then(
				(lines) => {
					loaded.set(id, { firstLine: 1, lines });
					redraw((n) => n + 1);
				},
				(why: Error) => {
					loaded.set(id, why.message);
					redraw((n) => n + 1);
				},
			);
		}
	}, [id]);
	return own ?? loaded.get(id) ?? (isServed.value ? 'reading the source…' : '');
}

/** The lines around a frame, each with what it costs. */
export function Source({
	symbol,
	line,
	answer: a,
}: {
	symbol: number;
	line: number;
	answer: Answer;
}) {
	const p = profile.value;
	const id = p.symbols.source[symbol]!;
	const file = p.symbols.file[symbol]!;
	const isWanted = !line || isServed.value || p.sources.some((s) => s.source === id);
	const costs = useMemo(
		() => (isWanted ? costsOfLines(p, id, a.weights) : new Map<number, number>()),
		[p, id, a, isWanted],
	);
	const at = line || lineOf(p, symbol, costs);
	const text = useText(p, id, at);
	if (!file) {
		return null;
	}
	const most = Math.max(1, ...costs.values());
	return (
		<>
			<h3 id="source">
				{baseName(file)}
				{at ? `:${at}` : ''}
				{costs.size > 0 && (
					<span class="dim"> · {metricName(a.lens.metric).toLowerCase()} by line</span>
				)}
			</h3>
			<OpenInEditor file={file} line={at} />
			{typeof text === 'string' ? (
				<p class="dim">
					{text ||
						`The source is not in this file ` +
						`(heaptrack_print --with-source includes it); ` +
						`${file}${at ? `, line ${at}` : ''}.`}
				</p>
			) : (
				<div
					class="source"
					tabIndex={0}
					role="region"
					aria-label={`Source of ${baseName(file)}`}
				>
					{text.lines.map((code, i) => {
						const number = text.firstLine + i;
						if (at && Math.abs(number - at) > AROUND) {
							return null;
						}
						const cost = costs.get(number);
						return (
							<div key={number} class={`code${number === at ? ' here' : ''}`}>
								<span
									class="cost"
									title={cost ? shortWeight(a.lens.metric, cost) : ''}
								>
									{cost ? shortWeight(a.lens.metric, cost) : ''}
									{cost && <i style={{ width: `${(100 * cost) / most}%` }} />}
								</span>
								<span class="number">{number}</span>
								<code>{code || ' '}</code>
							</div>
						);
					})}
				</div>
			)}
		</>
	);
}
