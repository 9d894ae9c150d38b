// SPDX-License-Identifier: MIT
import { useMemo, useState } from 'preact/hooks';
import { diffForest, type DiffBoxes, type Side, type Width } from '../data/compare.ts';
import type { Metric } from '../data/metrics.ts';
import { Colour } from '../flame/draw.ts';
import { Flame } from '../flame/flame.tsx';
import { tipRows, wordsOf, type Skin, type TipRow } from '../flame/skin.tsx';
import * as state from '../state.ts';
import { CopyAs } from '../ui/copyas.tsx';
import { percent } from '../ui/format.ts';
import { cost, nodeName, signedWeight } from '../ui/labels.ts';
import { Swatch } from '../ui/legend.tsx';
import { Panel } from '../ui/panel.tsx';
import { Select } from '../ui/pill.tsx';
import { matchedIn } from '../ui/search.ts';
import { useValue } from '../ui/signals.ts';

const LITTLE = 0.01; // of the larger of both: below this nothing has changed
const SOME = 1 / 3;

/**
 * More is orange, less is blue, the more of the box it is the stronger; new and gone are strongest.
 */
function colourOfChange(before: number, now: number): Colour {
	const share = Math.abs(now - before) / Math.max(before, now, 1);
	if (share < LITTLE) {
		return Colour.Same;
	}
	const step = share < SOME ? 0 : before > 0 && now > 0 ? 1 : 2;
	return (now > before ? Colour.More : Colour.Less) + step;
}

function diffSkin(f: DiffBoxes, metric: Metric): Skin {
	const change = (node: number) => signedWeight(metric, f.now[node]! - f.before[node]!);
	const kind = (node: number) =>
		f.before[node] === 0 && f.now[node]! > 0
			? 'new '
			: f.now[node] === 0 && f.before[node]! > 0
				? 'gone '
				: '';
	const costs = (node: number): TipRow[] => [
		[
			'before',
			cost(metric, f.before[node]!),
			percent(f.before[node]!, f.before[0]!),
		],
		['now', cost(metric, f.now[node]!), percent(f.now[node]!, f.now[0]!)],
		[
			'difference',
			change(node),
			kind(node) || percent(f.now[node]! - f.before[node]!, f.before[node]!),
		],
	];
	return {
		profile: f.profile,
		colour: (node) => colourOfChange(f.before[node]!, f.now[node]!),
		label: (node) => {
			const more = `${kind(node)}${change(node)}`;
			return {
				name: nodeName(f.profile, f, node),
				additions: [`${more} · now ${cost(metric, f.now[node]!)}`, more],
			};
		},
		weight: (sum) => cost(metric, sum),
		words: (node) =>
			wordsOf(
				f.profile,
				f,
				node,
				costs(node)
					.map(([name, value]) => `${name} ${value}`)
					.join(', '),
			),
		tip: (node) => tipRows(costs(node)),
	};
}

function Legend() {
	return (
		<ul class="legend right">
			<li>
				gone <Swatch of="less-3" /> <Swatch of="less-2" />{' '}
				<Swatch of="less-1" /> less
			</li>
			<li>
				<Swatch of="same" /> same
			</li>
			<li>
				more <Swatch of="more-1" /> <Swatch of="more-2" />{' '}
				<Swatch of="more-3" /> new
			</li>
		</ul>
	);
}

const WIDTHS: [Width, string][] = [
	['change', 'as wide as the change'],
	['size', 'as wide as the cost'],
];

/** The call trees of both sides as one flame graph, in colours of change. */
export function DiffFlame({ sides, metric }: { sides: [Side, Side]; metric: Metric }) {
	const shape = useValue(state.stableShape);
	const searched = useValue(state.searched);
	const hasBinary = useValue(state.isBinary);
	const [width, setWidth] = useState<Width>('change');
	const [zoom, setZoom] = useState(0);
	const forest = useMemo(() => {
		setZoom(0);
		return diffForest(sides[0], sides[1], { ...shape, opened: new Set() }, width);
	}, [sides, shape, width]);
	const skin = useMemo(() => diffSkin(forest, metric), [forest, metric, hasBinary]);
	const isMarked = useMemo(() => {
		const marked = matchedIn(forest.profile);
		return marked ? (node: number) => marked.has(forest.symbol[node]!) : null;
	}, [forest, searched]);
	return (
		<Panel
			title="What changed, by call tree"
			head={
				<>
					<Select label="Width of boxes" of={WIDTHS} now={width} onChoose={setWidth} />
					{zoom > 0 && (
						<button class="pill" onClick={() => setZoom(0)}>
							Zoom out
						</button>
					)}
					<Legend />
				</>
			}
		>
			{forest.total[0] === 0 ? (
				<p class="dim">
					{width === 'change'
						? 'No stack costs more or less than before.'
						: 'Both sides are empty.'}
				</p>
			) : (
				<>
					<Flame
						forest={forest}
						skin={skin}
						height="content"
						label="Flame graph of the difference"
						zoom={zoom < forest.n ? zoom : 0}
						onZoom={setZoom}
						isMarked={isMarked}
					/>
					<CopyAs />
				</>
			)}
		</Panel>
	);
}
