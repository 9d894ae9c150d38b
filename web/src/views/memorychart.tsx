// SPDX-License-Identifier: MIT
import { useMemo } from 'preact/hooks';
import type { Look, MemoryPart, Profile } from '../data/profile.ts';
import * as state from '../state.ts';
import { FoldedTable } from '../ui/charttable.tsx';
import { bytes, moment } from '../ui/format.ts';
import { Legend } from '../ui/legend.tsx';
import { rssLine } from '../ui/lines.ts';
import { useValue } from '../ui/signals.ts';
import { themeTurn } from '../ui/theme.ts';
import { TimeChart, type Line } from '../ui/timechart.tsx';

/** What is heap, what is mapped, and what every program has: a colour each. */
const LAYERS = [
	'live blocks',
	"malloc's own",
	'mapped and shared',
	'modules, files, stacks',
	'not known',
];

export function layerOf(part: MemoryPart): number {
	if (part.id === 'heap_live' || part.id === 'heap') {
		return 0;
	}
	if (part.id.startsWith('heap') || part.id === 'allocator_tables') {
		return 1;
	}
	if (part.id === 'mapped' || part.id === 'shared') {
		return 2;
	}
	return part.id === 'unknown' ? 4 : 3;
}

/** The bytes of each layer at a look. */
function layersOf(look: Look): number[] {
	const sums = LAYERS.map(() => 0);
	for (const part of look.parts) {
		sums[layerOf(part)]! += part.bytes;
	}
	return sums;
}

/** Layers that stand on each other, the highest first; each look's hold until the next one. */
function linesOf(p: Profile, layers: number[][]): Line[] {
	const times = p.facts.looks.map((look) => look.time_ns);
	const lines = LAYERS.map((label, layer): Line => ({
		label,
		colour: `series-${layer}`,
		times,
		values: layers.map((of) => of.slice(0, layer + 1).reduce((sum, n) => sum + n, 0)),
		kind: 'area',
	})).reverse();
	return p.samples.n ? [...lines, rssLine(p)] : lines;
}

/** RSS as it was sampled, and what it consisted of when somebody looked. */
export function MemoryChart({ chosen }: { chosen: Look }) {
	const p = useValue(() => state.profile.value);
	const range = useValue(() => state.lens.value.range);
	const clock = useValue(() => state.isClock.value);
	const turn = useValue(() => themeTurn.value);
	const { looks, summary } = p.facts;
	const layers = useMemo(() => looks.map(layersOf), [p]);
	const lines = useMemo(() => linesOf(p, layers), [layers]);
	return (
		<section class="panel" aria-labelledby="memory-history">
			<div class="panel-head">
				<h2 id="memory-history">RSS over time</h2>
				<Legend profile={p} series={LAYERS.map((label) => ({ label }))} />
			</div>
			<TimeChart
				profile={p}
				lines={lines}
				height={220}
				range={range}
				onRange={state.setRange}
				isClock={clock}
				theme={String(turn)}
				flag={{ ns: chosen.time_ns, text: `shown below: ${moment(chosen.time_ns)}` }}
				label={`RSS over time, in parts, as ${looks.length} looks found them`}
			/>
			<p class="dim">
				The areas are what {looks.length} looks found, each until the next one. RSS was read
				more often.
			</p>
			<FoldedTable
				label="RSS over time"
				columns={['RSS', ...LAYERS]}
				rows={looks.map((look, i) => [
					moment(look.time_ns, summary.duration_ns),
					bytes(look.rss_bytes),
					...layers[i]!.map(bytes),
				])}
			/>
		</section>
	);
}
