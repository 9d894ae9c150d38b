// SPDX-License-Identifier: MIT
import { useMemo, useState } from 'preact/hooks';
import type { Look, MemoryPart, Profile } from '../data/profile.ts';
import * as state from '../state.ts';
import { FoldedTable } from '../ui/charttable.tsx';
import { moment } from '../ui/format.ts';
import { Legend, RSS_OFF } from '../ui/legend.tsx';
import { rssLine } from '../ui/lines.ts';
import { Panel } from '../ui/panel.tsx';
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

const isNear = (a: number, b: number) => Math.abs(a - b) <= Math.max(1e6, b / 10);

/**
 * When what a look found holds: from then until the next one, or until RSS or the heap was read a
 * tenth and a megabyte away from it. -1: no look tells.
 */
function spansOf(p: Profile): { ns: number; look: number }[] {
	const { n, timeNs, rssBytes, heapBytes } = p.samples;
	let at = 0;
	return p.facts.looks.flatMap((look, i) => {
		const until = p.facts.looks[i + 1]?.time_ns ?? Infinity;
		const begin = { ns: look.time_ns, look: i };
		while (
			at < n &&
			timeNs[at]! < until &&
			(timeNs[at]! <= look.time_ns ||
				(isNear(rssBytes[at]!, look.rss_bytes) && isNear(heapBytes[at]!, look.asked_bytes)))
		) {
			at++;
		}
		const isOver = at < n && timeNs[at]! < until;
		return isOver ? [begin, { ns: timeNs[at]!, look: -1 }] : [begin];
	});
}

/** Layers that stand on each other, the highest first. */
function linesOf(p: Profile, layers: number[][], off: number): Line[] {
	const spans = spansOf(p);
	const times = spans.map((span) => span.ns);
	const lines = LAYERS.map((label, layer): Line => ({
		label,
		colour: `series-${layer}`,
		times,
		values: spans.map(({ look }) =>
			(layers[look] ?? []).reduce(
				(sum, n, i) => (i <= layer && !(off & (1 << i)) ? sum + n : sum),
				0,
			),
		),
		kind: 'area',
	}))
		.filter((_, layer) => !(off & (1 << layer)))
		.reverse();
	return p.samples.n && !(off & RSS_OFF) ? [...lines, rssLine(p)] : lines;
}

/** RSS as it was sampled, and what it consisted of when somebody looked. */
export function MemoryChart({
	chosen,
	onChoose,
}: {
	chosen?: Look | undefined;
	onChoose: (look: Look) => void;
}) {
	const p = state.profile.value;
	const { looks, summary } = p.facts;
	const layers = useMemo(() => looks.map(layersOf), [p]);
	const [off, setOff] = useState(0);
	const lines = useMemo(() => linesOf(p, layers, off), [layers, off]);
	return (
		<Panel
			title="RSS over time"
			head={
				<Legend
					series={LAYERS.map((label) => ({ label }))}
					off={off}
					onSwitch={setOff}
				/>
			}
		>
			<TimeChart
				lines={lines}
				height={220}
				flag={
					chosen
						? { ns: chosen.time_ns, text: `shown below: ${moment(chosen.time_ns)}` }
						: null
				}
				onPick={(ns) =>
					onChoose(looks.findLast((look) => look.time_ns <= ns) ?? looks[0]!)
				}
				label={`RSS over time, in parts, as ${looks.length} looks found them`}
			/>
			<p class="dim">
				Each area is one of {looks.length} looks, for as long as RSS and the heap stayed
				within 10 % or 1 MB of it. Click to show the look before.
			</p>
			<FoldedTable
				label="RSS over time"
				columns={['RSS', ...LAYERS]}
				rows={looks.map((look, i) => [look.time_ns, look.rss_bytes, ...layers[i]!])}
				when={(ns) => moment(ns, summary.duration_ns)}
			/>
		</Panel>
	);
}
