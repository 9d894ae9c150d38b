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
	const isThere = p.symbolTable.source.map((id) => +(id === source));
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

/** The text of a line is known. */
function hasLine(p: Profile, id: number, line: number): boolean {
	return (
		isServed.value ||
		p.sources.some(
			(s) =>
				s.source === id && line >= s.firstLine && line < s.firstLine + s.lines.length,
		)
	);
}

interface MinimapProps {
	lines: [line: number, cost: number][]; // that cost something, in order
	at: number;
	shown: [from: number, to: number]; // of the text, as far as it is near
	say: (cost: number) => string;
	onGo: (line: number) => void;
}

/** The lines of a file that cost something: a click goes to the nearest, arrows to the next. */
function Minimap({ lines, at, shown, say, onGo }: MinimapProps) {
	const end = lines[lines.length - 1]![0] + AROUND;
	const most = Math.max(...lines.map(([, cost]) => cost));
	const top = (line: number) => `${(100 * Math.max(0, line)) / end}%`;
	const own = lines.find(([line]) => line === at);
	return (
		<div
			class="lines-map"
			role="slider"
			tabIndex={0}
			aria-label="Lines of the file that cost something"
			aria-orientation="vertical"
			aria-valuemin={lines[0]![0]}
			aria-valuemax={lines[lines.length - 1]![0]}
			aria-valuenow={at}
			aria-valuetext={`line ${at}${own ? `, ${say(own[1])}` : ''}`}
			title={`${lines.length} lines cost something: arrow keys go from one to the next`}
			onClick={(event) => {
				const r = event.currentTarget.getBoundingClientRect();
				const wanted = ((event.clientY - r.top) / r.height) * end;
				const far = ([line]: [number, number]) => Math.abs(line - wanted);
				onGo(lines.reduce((best, next) => (far(next) < far(best) ? next : best))[0]);
			}}
			onKeyDown={(event) => {
				const to =
					event.key === 'ArrowDown'
						? lines.find(([line]) => line > at)
						: event.key === 'ArrowUp'
							? lines.findLast(([line]) => line < at)
							: null;
				if (to) {
					onGo(to[0]);
				}
				if (to !== null) {
					event.preventDefault();
					event.stopPropagation();
				}
			}}
		>
			<b
				style={{
					top: top(Math.max(shown[0], at - AROUND)),
					bottom: `calc(100% - ${top(Math.min(shown[1], at + AROUND))})`,
				}}
			/>
			{lines.map(([line, cost]) => (
				<i
					key={line}
					style={{ top: top(line), width: `${25 + (75 * cost) / most}%` }}
				/>
			))}
		</div>
	);
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
	const id = p.symbolTable.source[symbol]!;
	const file = p.symbolTable.file[symbol]!;
	const isWanted = !line || isServed.value || p.sources.some((s) => s.source === id);
	const costs = useMemo(
		() => (isWanted ? costsOfLines(p, id, a.weights) : new Map<number, number>()),
		[p, id, a, isWanted],
	);
	const first = line || lineOf(p, symbol, costs);
	const from = `${symbol} ${first}`;
	const [jump, setJump] = useState({ from, to: first });
	const at = jump.from === from ? jump.to : first;
	const text = useText(p, id, at);
	if (!file) {
		return null;
	}
	const say = (cost: number) => shortWeight(a.lens.metric, cost);
	const most = Math.max(1, ...costs.values());
	const lines = [...costs].filter(([n]) => n > 0 && hasLine(p, id, n));
	lines.sort(([a], [b]) => a - b);
	return (
		<>
			<h3 id="source">
				{baseName(file)}
				{at ? `:${at}` : ''}
				{costs.size > 0 && (
					<span class="dim"> · {metricName(a.lens.metric).toLowerCase()} by line</span>
				)}
			</h3>
			{/^(<|node:)/.test(file) || <OpenInEditor file={file} line={at} />}
			{typeof text === 'string' ? (
				<p class="dim">
					{text ||
						`The source is not in this file ` +
						`(heaptrack_print --with-source includes it); ` +
						`${file}${at ? `, line ${at}` : ''}.`}
				</p>
			) : (
				<div class="source-box">
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
									<span class="cost" title={cost ? say(cost) : ''}>
										{cost ? say(cost) : ''}
										{cost && <i style={{ width: `${(100 * cost) / most}%` }} />}
									</span>
									<span class="number">{number}</span>
									<code>{code || ' '}</code>
								</div>
							);
						})}
					</div>
					{lines.length > 1 && (
						<Minimap
							lines={lines}
							at={at}
							say={say}
							shown={[text.firstLine, text.firstLine + text.lines.length - 1]}
							onGo={(to) => setJump({ from, to })}
						/>
					)}
				</div>
			)}
		</>
	);
}
