// SPDX-License-Identifier: MIT
import { useState } from 'preact/hooks';
import { lacksMetric } from '../data/missing.ts';
import { isCounted, metricOf } from '../data/metrics.ts';
import type { Profile } from '../data/profile.ts';
import { sumOf, type Answer } from '../data/query.ts';
import { heaviestOf } from '../data/rank.ts';
import { ownerOf } from '../data/tree.ts';
import { copyText } from './copy.ts';
import { framesOf, stackText } from './details.tsx';
import { count, percent, plural, shortName } from './format.ts';
import { cost, metricUnit, placeOf } from './labels.ts';
import { useSteps } from './signals.ts';

interface Row {
	node: number; // 0: a run of library frames
	text: string;
	place: string;
	isLibrary: boolean;
}

/** Stacks whose rows say the same: of other instances of a template, or of several threads. */
interface Alike {
	heaviest: number; // stack
	n: number;
	weight: number;
	blocks: number;
}

const COMPARED = 2000; // the heaviest: a program's main has a hundred thousand

/** What the stack that ends in a node looks like. */
interface Look {
	id: number; // equal where all rows say the same
	before: number; // id of what is above the run that ends here
	text: string; // of the run's row
	n: number; // frames of the run
}

let finder: { p: Profile; folds: boolean; find: (node: number) => number } | null = null;

/** Gives the look of a node; each frame is looked at once, whatever is selected. */
function lookFinder(p: Profile, folds: boolean): (node: number) => number {
	if (finder?.p !== p || finder.folds !== folds) {
		finder = { p, folds, find: newFinder(p, folds) };
	}
	return finder.find;
}

function newFinder(p: Profile, folds: boolean): (node: number) => number {
	const known = new Map<number, Look>([[0, { id: 0, before: 0, text: '', n: 0 }]]);
	const ids = new Map<string, number>();
	const idOf = (text: string) => {
		const id = ids.get(text) ?? ids.size + 1;
		ids.set(text, id);
		return id;
	};
	const find = (node: number): Look => {
		let look = known.get(node);
		if (!look) {
			const above = find(p.nodes.parent[node]!);
			const symbol = p.nodes.symbol[node]!;
			const isInRun = folds && ownerOf(p, symbol) === 'library';
			const { before, n } = isInRun && above.n ? above : { before: above.id, n: 0 };
			const name = shortName(p.symbolTable.name[symbol]!);
			const text = n ? above.text : `${name}\t${placeOf(p, symbol, p.nodes.line[node]!)}`;
			const id = idOf(`${before}\t${n + 1}\t${text}`);
			look = { id, before, text, n: isInRun ? n + 1 : 0 };
			known.set(node, look);
		}
		return look;
	};
	return (node) => find(node).id;
}

const A_STEP = 16; // stacks

/** What is shown: all of one answer, also while the next one is worked out. */
interface Gathered {
	answer: Answer;
	all: Uint32Array;
	looks: Alike[];
	n: number; // stacks that weigh anything
	total: number;
}

/** Stacks by what they look like, heaviest first. */
function* gatherAlike(
	p: Profile,
	all: Uint32Array,
	answer: Answer,
	most: number,
): Generator<void, Gathered> {
	const { lens, weights, blocks } = answer;
	const folds = !lens.isUnfolded;
	const { n, ids } = heaviestOf(all, weights, most);
	const lookOf = lookFinder(p, folds);
	const looks = new Map<number, Alike>();
	for (const [i, s] of ids.entries()) {
		if (i % A_STEP === 0) {
			yield;
		}
		const look = lookOf(p.stacks.node[s]!);
		const known = looks.get(look);
		if (known) {
			known.n++;
			known.weight += weights[s]!;
			known.blocks += blocks[s]!;
		} else {
			looks.set(look, { heaviest: s, n: 1, weight: weights[s]!, blocks: blocks[s]! });
		}
	}
	return {
		answer,
		all,
		looks: [...looks.values()].sort((x, y) => y.weight - x.weight),
		n,
		total: sumOf(weights, all),
	};
}

/** Frames, innermost first; runs of library frames as one row. */
function rowsOf(p: Profile, node: number, folds: boolean): Row[] {
	const rows: Row[] = [];
	let run: number[] = [];
	const flush = () => {
		const last = run[run.length - 1];
		if (last !== undefined) {
			const name = shortName(p.symbolTable.name[p.nodes.symbol[last]!]!);
			const text = run.length > 1 ? `${name} +${run.length - 1}` : name;
			rows.push({
				node: 0,
				text,
				place: placeOf(p, p.nodes.symbol[last]!, p.nodes.line[last]!),
				isLibrary: true,
			});
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
			text: shortName(p.symbolTable.name[symbol]!),
			place: placeOf(p, symbol, p.nodes.line[at]!),
			isLibrary,
		});
	}
	flush();
	return rows;
}

const AT_ONCE = 5;

/** The stacks of a function, heaviest first; what a stack shares with the first is grey. */
export function Stacks({
	p,
	stacks: all,
	answer: a,
}: {
	p: Profile;
	stacks: Uint32Array;
	answer: Answer;
}) {
	const [most, setMost] = useState(AT_ONCE);
	const compared = Math.max(COMPARED, most);
	const gathered = useSteps(() => gatherAlike(p, all, a, compared), [p, all, a, compared]);
	if (!gathered) {
		return <p aria-busy="true" />;
	}
	const { looks, n, total } = gathered;
	const l = gathered.answer.lens;
	const isOld = gathered.answer !== a || gathered.all !== all;
	const top = looks.slice(0, most);
	const left = n - top.reduce((sum, look) => sum + look.n, 0);
	const first = top.length
		? new Set(framesOf(p, p.stacks.node[top[0]!.heaviest]!))
		: new Set<number>();
	return (
		<>
			<h3>{plural(n, 'stack')}</h3>
			<ol class="stacks" aria-busy={isOld}>
				{top.map(({ heaviest: s, n: alike, weight: sum, blocks }, i) => (
					<li key={s}>
						<p class="stack-head">
							<strong>{cost(l.metric, sum)}</strong>{' '}
							<span class="dim">
								{percent(sum, total)} of these
								{!isCounted(l.metric) &&
									!lacksMetric(p, l.metric, 'blocks') &&
									(blocks > 0 || metricOf(l.metric).of_blocks) &&
									` · ${plural(blocks, metricUnit(l.metric))}`}
								{alike > 1 && ` · ${count(alike)} stacks alike`}
							</span>
							<button
								class="link"
								onClick={() => void copyText(stackText(p, p.stacks.node[s]!))}
							>
								copy
							</button>
						</p>
						<ul class="frames">
							{rowsOf(p, p.stacks.node[s]!, !l.isUnfolded).map((row, k) => (
								<li
									key={k}
									class={
										(row.isLibrary ? 'library' : '') +
										(i > 0 && (row.node === 0 || first.has(row.node))
											? ' shared'
											: '')
									}
								>
									<code>{row.text}</code> <span class="dim">{row.place}</span>
								</li>
							))}
						</ul>
					</li>
				))}
			</ol>
			{left > 0 && (
				<button class="link" onClick={() => setMost(most + 20)}>
					{count(left)} more
				</button>
			)}
		</>
	);
}
