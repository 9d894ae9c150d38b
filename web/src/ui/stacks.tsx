// SPDX-License-Identifier: MIT
import { useMemo, useState } from 'preact/hooks';
import { isCounted } from '../data/lens.ts';
import type { Profile } from '../data/profile.ts';
import { sumOf, type Answer } from '../data/query.ts';
import { heaviestOf } from '../data/rank.ts';
import { ownerOf } from '../data/tree.ts';
import { copyText } from './copy.ts';
import { framesOf, stackText } from './details.tsx';
import { count, percent, plural, shortName } from './format.ts';
import { placeOf, weight } from './labels.ts';

interface Row {
	node: number; // 0: a run of library frames
	text: string;
	place: string;
	isLibrary: boolean;
}

/** Frames, innermost first; runs of library frames as one row. */
function rowsOf(p: Profile, node: number, folds: boolean): Row[] {
	const rows: Row[] = [];
	let run: number[] = [];
	const flush = () => {
		const last = run[run.length - 1];
		if (last !== undefined) {
			const name = shortName(p.symbols.name[p.nodes.symbol[last]!]!);
			const text = run.length > 1 ? `${name} +${run.length - 1}` : name;
			rows.push({ node: 0, text, place: placeOf(p, p.nodes.symbol[last]!, p.nodes.line[last]!), isLibrary: true });
		}
		run = [];
	};
	for (const at of framesOf(p, node)) {
		const symbol = p.nodes.symbol[at]!;
		const isLibrary = ownerOf(p, symbol) === 'library';
		if (isLibrary && folds) {
			run.push(at);
			continue;
		}
		flush();
		rows.push({
			node: at,
			text: shortName(p.symbols.name[symbol]!),
			place: placeOf(p, symbol, p.nodes.line[at]!),
			isLibrary,
		});
	}
	flush();
	return rows;
}

const AT_ONCE = 5;

/** The stacks of a function, heaviest first; what a stack shares with the first is grey. */
export function Stacks({ p, stacks: all, answer: a }: { p: Profile; stacks: Uint32Array; answer: Answer }) {
	const [most, setMost] = useState(AT_ONCE);
	const l = a.lens;
	const { n, ids: top } = useMemo(() => heaviestOf(all, a.weights, most), [all, a, most]);
	const total = useMemo(() => sumOf(a.weights, all), [all, a]);
	const first = top.length ? new Set(framesOf(p, p.stacks.node[top[0]!]!)) : new Set<number>();
	return (
		<>
			<h3>
				{plural(n, 'stack')}
			</h3>
			<ol class="stacks">
				{top.map((s, i) => (
					<li key={s}>
						<p class="stack-head">
							<strong>{weight(l.metric, a.weights[s]!)}</strong>{' '}
							<span class="dim">
								{percent(a.weights[s]!, total)} · {plural(a.blocks[s]!, isCounted(l.metric) ? 'call' : 'block')}
							</span>
							<button type="button" class="link" onClick={() => void copyText(stackText(p, p.stacks.node[s]!))}>
								copy
							</button>
						</p>
						<ul class="frames">
							{rowsOf(p, p.stacks.node[s]!, !l.isUnfolded).map((row, k) => (
								<li
									key={k}
									class={`${row.isLibrary ? 'library' : ''}${i > 0 && (row.node === 0 || first.has(row.node)) ? ' shared' : ''}`}
								>
									<code>{row.text}</code> <span class="dim">{row.place}</span>
								</li>
							))}
						</ul>
					</li>
				))}
			</ol>
			{n > most && (
				<button type="button" class="link" onClick={() => setMost(most + 20)}>
					{count(n - most)} more
				</button>
			)}
		</>
	);
}
